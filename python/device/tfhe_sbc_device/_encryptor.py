"""Device keys, and readings as a device encrypts them.

The packages ``tfhe-sbc`` and ``tfhe-sbc-device`` both have this file; whatever it imports is of
the one that it is in.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NoReturn, Union

from . import _native
from ._column import Column, Compact, Optional, Use
from ._readings import PerColumn, Readings, readings_of, table_of

__all__ = [
    "Column",
    "Compact",
    "DeviceKey",
    "DevicePublicKey",
    "Encryptor",
    "PathLike",
    "PerColumn",
    "Readings",
    "readings_of",
    "table_of",
]


PathLike = Union[str, "os.PathLike[str]"]


class _KeyOfDevice:
    """The part that both kinds of device keys share."""

    _key: _native.DeviceKey

    def __init__(self, key: _native.DeviceKey) -> None:
        self._key = key

    @property
    def fingerprint(self) -> str:
        """The fingerprint of this key, which is no secret. Uploads carry it."""
        return self._key.fingerprint

    @property
    def parameter_set(self) -> str:
        """The name of its parameter set."""
        return self._key.parameter_set

    def to_bytes(self) -> bytes:
        """The bytes of its key file. Nobody wipes those of a secret: prefer :meth:`save`."""
        return self._key.to_bytes()

    def save(self, path: PathLike) -> None:
        """Writes a new file; of a secret, one that only its owner can read (mode 0600)."""
        self._key.save(os.fspath(path))

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} {self.fingerprint} of {self.parameter_set}, "
            f"{self._key.size} bytes>"
        )


class DeviceKey(_KeyOfDevice):
    """The key with which a device encrypts.

    It is secret: whoever has it can decrypt what devices send. It cannot be pickled; :meth:`save` writes a file that only its owner can read.
    """

    @classmethod
    def from_bytes(cls, data: bytes) -> DeviceKey:
        """Reads the bytes of a key file, such as ``tfhe-sbc keygen`` writes."""
        return cls._secret(_native.DeviceKey(data))

    @classmethod
    def load(cls, path: PathLike) -> DeviceKey:
        """Reads a key file."""
        return cls._secret(_native.DeviceKey.load(os.fspath(path)))

    @classmethod
    def _secret(cls, key: _native.DeviceKey) -> DeviceKey:
        if key.is_public:
            raise _native.FormatError(
                "this is a device public key: read it with DevicePublicKey.from_bytes"
            )
        return cls(key)

    def __reduce__(self) -> NoReturn:
        _refuse_pickling(self)


class DevicePublicKey(_KeyOfDevice):
    """A key with which a device encrypts but cannot decrypt. It is public; uploads are larger."""

    @classmethod
    def from_bytes(cls, data: bytes) -> DevicePublicKey:
        """Reads the bytes of a key file, such as ``tfhe-sbc device-key --public`` writes."""
        key = _native.DeviceKey(data)
        if not key.is_public:
            raise _native.FormatError(
                "this is a device key, which is a secret: read it with DeviceKey.from_bytes"
            )
        return cls(key)

    @classmethod
    def load(cls, path: PathLike) -> DevicePublicKey:
        """Reads a key file."""
        return cls.from_bytes(Path(path).read_bytes())

    def __reduce__(self) -> tuple[Callable[[bytes], DevicePublicKey], tuple[bytes]]:
        return (type(self).from_bytes, (self.to_bytes(),))


def _refuse_pickling(secret: object) -> NoReturn:
    raise TypeError(
        f"a {type(secret).__name__} is a secret and is not pickled: write it with save(path), and "
        "read it with load(path) where it is needed"
    )


class Encryptor:
    """Encrypts readings.

    Args:
        key: a :class:`DeviceKey` or :class:`DevicePublicKey`.
        plan: what is kept in memory: ``"small"``, ``"balanced"`` or ``"fast"``; the fastest of
            the machine if not given. Uploads are the same.
        expander: the generator of masks and noise; ``"ChaCha20"`` if not given.
    """

    def __init__(
        self,
        key: DeviceKey | DevicePublicKey,
        *,
        plan: str | None = None,
        expander: str | None = None,
    ) -> None:
        if not isinstance(key, (DeviceKey, DevicePublicKey)):
            raise TypeError(
                f"a device key is needed to encrypt, not a {type(key).__name__}: give keys.device "
                "or keys.public"
            )
        self._session = _native.Session(key._key, plan, expander)
        self._key = key

    def encrypt(
        self,
        data: Readings,
        *,
        scale: PerColumn[float] = None,
        offset: PerColumn[float] = None,
        bits: PerColumn[int] = None,
        name: str | Sequence[str] | None = None,
        unit: PerColumn[str] = "",
        use: PerColumn[Use] = None,
        compact: PerColumn[Compact] = None,
        optional: PerColumn[Optional] = None,
        columns: Sequence[Column] | None = None,
        rows: Iterable[object] | str | None = None,
    ) -> bytes:
        """Encrypts readings into one upload.

        Args:
            data: readings of one column (1-D), or of several: a mapping from names to columns, a
                structured array, a 2-D array with a column of readings in each column, a DataFrame of
                pandas or polars, a table of Arrow or whatever has its PyCapsule interface, or the path
                of a Parquet file. Whole or floating-point numbers; NaN, null, None, pandas' ``NA`` and
                masked readings only in columns that are ``optional``.
            scale: the step between codes, in the column's unit; 1 if not given, which readings with
                decimals are refused for.
            offset: the lowest reading, in the column's unit; 0 if not given.
            bits: the width of a code, 1 to 52.
            name: the column's name, if it has none; a list of names for a 2-D array.
            unit: the column's unit, for people.
            use: what the readings are mostly used for: ``"means"``, ``"alarms"``, ``"fleet"`` or
                ``"radix"``, see :class:`Column`; ``"means"`` where that is possible if not given.
            compact: the compact form in numbers, a :class:`Compact`, instead of ``use``.
            optional: whether readings may be missing, see :class:`Column`.
            columns: definitions of all columns, instead of the arguments above.
            rows: one label a row, such as its time, or the name of the column that has them; pandas'
                index, or numbers from 0, if not given. Moments of a time zone are in UTC. Labels, names and units are not encrypted.

        Each of ``scale``, ``offset``, ``bits``, ``unit``, ``use``, ``compact`` and ``optional`` is
        one for all columns, a mapping from names or a list with one for each column. Names that
        there are not are refused.

        Returns:
            The bytes of an upload, as ``tfhe-sbc encrypt`` writes them.

        Raises:
            RangeError: a reading is infinite or out of its column's range, or missing in a column
                that is not optional.
            TypeError: readings that are no numbers.
            ValueError: columns or labels that cannot be sent.
        """
        table = table_of(
            data, scale, offset, bits, name, unit, columns, rows, use, compact, optional
        )
        return self._session.encrypt_table(*table)

    def encrypt_scalar(
        self,
        value: float,
        *,
        scale: float = 1.0,
        offset: float = 0.0,
        bits: int,
        name: str = "value",
        unit: str = "",
    ) -> bytes:
        """Encrypts one number, such as a threshold that the server is not to see.

        ``Server.load_scalar`` reads it. Give it the encoding of the column that it meets.
        """
        return self.encrypt(
            [value], scale=scale, offset=offset, bits=bits, name=name, unit=unit, use="radix"
        )

    def __repr__(self) -> str:
        return f"<Encryptor with {self._key!r}>"
