"""Encrypt readings on a board, compute on them blindly, read the answer.

    >>> import tfhe_sbc as ts
    >>> keys = ts.keygen()
    >>> box = ts.Encryptor(keys.device).encrypt(temps, scale=0.1, offset=-40, bits=12)
    >>> col = ts.Server(keys.server).load(box)
    >>> keys.secret.decrypt(col.max())

The key owner has ``keys.secret``, boards have ``keys.device``, the server has ``keys.server`` and
decrypts nothing with it.
"""

from . import params, sklearn
from ._client import Client, StandingQuery
from ._encrypted import (
    Cost,
    EncryptedColumn,
    EncryptedMask,
    EncryptedOptionalColumn,
    EncryptedRolling,
    EncryptedScalar,
    EncryptedSelection,
    EncryptedStatistic,
    EncryptedSummary,
    EncryptedSummaryTable,
    EncryptedTable,
    EncryptedTableSelection,
    GroupedColumn,
    GroupedTable,
    compute,
    cost,
    maximum,
    minimum,
    to_bytes,
    where,
)
from ._encryptor import Column, Compact, DeviceKey, DevicePublicKey, Encryptor
from ._fit import Encodings, Fit, fit_encoding
from ._keys import Keys, SecretKey, ServerKey, keygen
from ._native import FormatError, KeyMismatch, RangeError, TfheSbcError, __version__
from ._server import Rehearsal, Server
from .fleet import Fleet, FleetError
from .params import Parameters

__all__ = [
    "Client",
    "Column",
    "Compact",
    "Cost",
    "DeviceKey",
    "DevicePublicKey",
    "EncryptedColumn",
    "EncryptedMask",
    "EncryptedOptionalColumn",
    "EncryptedRolling",
    "EncryptedScalar",
    "EncryptedSelection",
    "EncryptedStatistic",
    "EncryptedSummary",
    "EncryptedSummaryTable",
    "EncryptedTable",
    "EncryptedTableSelection",
    "Encodings",
    "Encryptor",
    "Fit",
    "Fleet",
    "FleetError",
    "FormatError",
    "GroupedColumn",
    "GroupedTable",
    "KeyMismatch",
    "Keys",
    "Parameters",
    "RangeError",
    "Rehearsal",
    "SecretKey",
    "Server",
    "ServerKey",
    "StandingQuery",
    "TfheSbcError",
    "__version__",
    "compute",
    "cost",
    "fit_encoding",
    "keygen",
    "maximum",
    "minimum",
    "params",
    "sklearn",
    "to_bytes",
    "where",
]
