"""The extension module: not for users."""

from typing import final

from numpy import float64
from numpy.typing import NDArray

__version__: str
__all__ = [
    "DeviceKey",
    "FormatError",
    "KeyMismatch",
    "RangeError",
    "Session",
    "TfheSbcError",
    "__version__",
    "write_new",
]

class TfheSbcError(ValueError): ...
class KeyMismatch(TfheSbcError): ...
class FormatError(TfheSbcError): ...
class RangeError(TfheSbcError): ...

_Declared = tuple[bool, list[float], list[float], list[float], str]
_Column = tuple[str, str, float, float, int, str | None, tuple[int, int, bool] | None, _Declared]

@final
class DeviceKey:
    def __new__(cls, bytes: bytes) -> DeviceKey: ...
    @staticmethod
    def load(path: str) -> DeviceKey: ...
    def save(self, path: str) -> None: ...
    def to_bytes(self) -> bytes: ...
    @property
    def is_public(self) -> bool: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def parameter_set(self) -> str: ...
    @property
    def size(self) -> int: ...

@final
class Session:
    def __new__(cls, key: DeviceKey, plan: str | None, expander: str | None) -> Session: ...
    def encrypt_table(
        self,
        columns: list[_Column],
        labels: list[str],
        readings: list[NDArray[float64]],
    ) -> bytes: ...

def write_new(path: str, bytes: bytes, private: bool) -> None: ...
