"""Encrypted columns, numbers and truth values, and what can be done with them.

Operators compute nothing: they write down what is to be computed. :func:`compute`, or whatever
needs ciphertexts (``decrypt``, ``to_bytes``), does it, and does what several results have in
common once.

The modules use each other: an operator of one class gives another (a comparison of columns is a
mask, a count of a mask is a number, numpy's functions take all of them). Imports that only types
need are under ``TYPE_CHECKING``.
"""

from .base import Columns_, Cost, Encrypted, Encrypted_, Reader, compute, cost, to_bytes
from .column import EncryptedColumn
from .functions import maximum, minimum, where
from .groups import GroupedColumn, GroupedTable
from .mask import EncryptedMask
from .numeric import EncryptedScalar
from .optional import EncryptedOptionalColumn
from .selection import EncryptedSelection
from .statistic import EncryptedStatistic
from .summary import EncryptedSummary, EncryptedSummaryTable
from .table import EncryptedTable, EncryptedTableSelection
from .windows import EncryptedRolling

__all__ = [
    "Columns_",
    "Cost",
    "Encrypted",
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
    "Encrypted_",
    "GroupedColumn",
    "GroupedTable",
    "Reader",
    "compute",
    "cost",
    "maximum",
    "minimum",
    "to_bytes",
    "where",
]
