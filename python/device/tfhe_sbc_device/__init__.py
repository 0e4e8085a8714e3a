"""Encrypt readings on a board for a tfhe-sbc server.

This is the client alone: keys and encryption, without the engine that computes on what is
encrypted. The package ``tfhe-sbc`` has both, under the same names.

    >>> import tfhe_sbc_device as ts
    >>> key = ts.DeviceKey.load("device.tsbc")
    >>> box = ts.Encryptor(key).encrypt([21.5, 22.0], scale=0.5, bits=8)
"""

from ._encryptor import Column, Compact, DeviceKey, DevicePublicKey, Encryptor
from ._native import FormatError, KeyMismatch, RangeError, TfheSbcError, __version__

__all__ = [
    "Column",
    "Compact",
    "DeviceKey",
    "DevicePublicKey",
    "Encryptor",
    "FormatError",
    "KeyMismatch",
    "RangeError",
    "TfheSbcError",
    "__version__",
]
