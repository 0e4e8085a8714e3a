"""Device keys, and readings as a device encrypts them.

The packages ``tfhe-sbc`` and ``tfhe-sbc-device`` both have this file; whatever it imports is of
the one that it is in.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn, Union

import numpy as np
from numpy.typing import NDArray

from . import _native

PathLike = Union[str, "os.PathLike[str]"]
#: What is derived from a column as the extension module takes it.
_Declared = tuple[bool, list[float], list[float], list[float], str]
#: A column as the extension module takes it.
_Parts = tuple[
    str, str, float, float, int, Union[str, None], Union[tuple[int, int, bool], None], _Declared
]


@dataclass(frozen=True)
class Compact:
    """The compact form of a column in numbers: a whole code in one coefficient of a ciphertext.

    Sums, means and differences of compact columns need no bootstrap, and readings take fewer bytes than
    radix blocks. The form of a column follows from its ``use``; these are numbers for other uses.

    Args:
        headroom: the number of bits above a code. Sums of codes stay below
            ``2**(bits + headroom)``: ``2**headroom`` rows can be added.
        body_bits: the number of bits of each coefficient that are sent: more than ``bits + headroom``,
            at most 56. The more, the more exact are sums and comparisons.
        feedback: whether the rounding error of a coefficient is added to the next one, so that the
            error of a sum of neighbouring rows does not grow with their number.
    """

    headroom: int
    body_bits: int
    feedback: bool = False

    def _parts(self) -> tuple[int, int, bool]:
        return (int(self.headroom), int(self.body_bits), bool(self.feedback))


@dataclass(frozen=True)
class Column:
    """The encoding of the readings of a column.

    A reading ``v`` is the code ``round((v - offset) / scale)``, a whole number of ``bits`` bits.
    So readings go from ``offset`` to ``offset + scale * (2**bits - 1)``.

    Args:
        name: 1 to 64 letters, digits and underscores.
        scale: the step between codes, in the column's unit.
        offset: the lowest reading, in the column's unit.
        bits: the width of a code, 1 to 52.
        unit: for people; at most 64 characters.
        use: what the readings are mostly used for. ``"means"``, ``"alarms"`` (comparisons) and
            ``"fleet"`` (sums over many boards) are compact forms; ``"radix"`` are radix blocks, for
            extremes, sorts and products. If not given, ``"means"`` where that is possible.
        compact: the compact form in numbers, instead of ``use``.
        square: whether squares are sent beside the readings, so that variances and standard
            deviations take no bootstrap. Only compact columns have this and what follows.
        bins: edges, which increase. Histograms with these edges take no bootstrap. The last bin has
            its upper edge too, as numpy's has.
        above: thresholds ``t`` of the conditions ``x > t`` and ``x <= t``, whose counts then take no
            bootstrap.
        below: thresholds ``t`` of the conditions ``x < t`` and ``x >= t``, likewise.
        optional: whether readings may be missing: NaN, None, pandas' ``NA`` or masked. With ``True``
            it is encrypted which are; with ``"clear"`` the server learns it, so that nothing is sent
            for it and no bootstrap is spent on it. Questions leave them out as SQL and pandas do. Only
            compact columns have this.
    """

    name: str
    scale: float = 1.0
    offset: float = 0.0
    bits: int = 16
    unit: str = ""
    compact: Compact | None = None
    use: str | None = None
    square: bool = False
    bins: Sequence[float] = ()
    above: Sequence[float] = ()
    below: Sequence[float] = ()
    optional: bool | Literal["clear"] = False

    def __post_init__(self) -> None:
        if self.optional not in (True, False, "clear"):
            raise ValueError(
                f"column '{self.name}': optional is {self.optional!r}: give True, False or \"clear\""
            )
        for argument in ("bins", "above", "below"):
            # Tuples, so that columns of the same definition are equal and can be keys of dicts.
            numbers = _numbers_of(getattr(self, argument), self.name, argument)
            object.__setattr__(self, argument, numbers)

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and the highest reading that have a code."""
        return (self.offset, self.offset + self.scale * (2**self.bits - 1))

    def _parts(self) -> _Parts:
        if self.compact is not None and not isinstance(self.compact, Compact):
            raise TypeError(
                f"the compact form of column '{self.name}' is a {type(self.compact).__name__}: give "
                "a Compact(headroom, body_bits)"
            )
        return (
            self.name,
            self.unit,
            float(self.offset),
            float(self.scale),
            int(self.bits),
            None if self.use is None else str(self.use),
            None if self.compact is None else self.compact._parts(),
            (
                bool(self.square),
                list(self.bins),
                list(self.above),
                list(self.below),
                "clear" if self.optional == "clear" else "encrypted" if self.optional else "never",
            ),
        )


def _numbers_of(given: Any, name: str, argument: str) -> tuple[float, ...]:
    """The edges or thresholds of a column."""
    array = _array(given, f"column '{name}': {argument} is")
    if array.ndim != 1 or (array.size > 0 and array.dtype.kind not in "iuf"):
        raise TypeError(
            f"column '{name}': {argument} is no list of numbers: give a list, such as [0.0, 10.0]"
        )
    return tuple(array.astype(np.float64).tolist())


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

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self).from_bytes, (self.to_bytes(),))


def _refuse_pickling(secret: object) -> NoReturn:
    raise TypeError(
        f"a {type(secret).__name__} is a secret and is not pickled: write it with save(path), and "
        "read it with load(path) where it is needed"
    )


#: Readings: a list or array of one column, or columns as a mapping from names, a structured
#: array, a 2-D array or a pandas DataFrame.
Readings = Any
#: A value for all columns, or one for each by name or in their order.
PerColumn = Any


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
        scale: PerColumn = None,
        offset: PerColumn = None,
        bits: PerColumn = None,
        name: str | Sequence[str] | None = None,
        unit: PerColumn = "",
        use: PerColumn = None,
        compact: PerColumn = None,
        optional: PerColumn = None,
        columns: Sequence[Column] | None = None,
        rows: Iterable[object] | None = None,
    ) -> bytes:
        """Encrypts readings into one upload.

        Args:
            data: readings of one column (1-D), or of several: a mapping from names to columns, a
                structured array, a 2-D array with a column of readings in each column, or a
                pandas DataFrame. Whole or floating-point numbers; NaN, None, pandas' ``NA`` and
                masked readings only in columns that are ``optional``.
            scale: the step between codes, in the column's unit; 1 if not given.
            offset: the lowest reading, in the column's unit; 0 if not given.
            bits: the width of a code, 1 to 52.
            name: the column's name; a list of names for a 2-D array.
            unit: the column's unit, for people.
            use: what the readings are mostly used for: ``"means"``, ``"alarms"``, ``"fleet"`` or
                ``"radix"``, see :class:`Column`; ``"means"`` where that is possible if not given.
            compact: the compact form in numbers, a :class:`Compact`, instead of ``use``.
            optional: whether readings may be missing, see :class:`Column`.
            columns: definitions of the columns, instead of the arguments above.
            rows: one label a row, such as its time; numbers from 0 if not given. Labels, names
                and units are not encrypted.

        Each of ``scale``, ``offset``, ``bits``, ``unit``, ``use``, ``compact`` and ``optional`` is
        one for all columns, a mapping from names or a list.

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


Table = tuple[list[_Parts], list[str], list[NDArray[np.float64]]]


def table_of(
    data: Readings,
    scale: PerColumn,
    offset: PerColumn,
    bits: PerColumn,
    name: str | Sequence[str] | None,
    unit: PerColumn,
    columns: Sequence[Column] | None,
    rows: Iterable[object] | None,
    use: PerColumn = None,
    compact: PerColumn = None,
    optional: PerColumn = None,
) -> Table:
    """Columns, labels and readings of what a user gives as readings."""
    named = _named_columns(data, name, columns)
    if columns is None:
        if bits is None:
            raise ValueError(
                "bits is missing: give the width of a code, so that readings go from offset to "
                "offset + scale * (2**bits - 1)"
            )
        columns = [
            Column(
                name=column,
                scale=_of(scale, place, column, 1.0),
                offset=_of(offset, place, column, 0.0),
                bits=_of(bits, place, column, None),
                unit=_of(unit, place, column, ""),
                use=_optional_of(use, place, column),
                compact=_optional_of(compact, place, column),
                optional=_optional_of(optional, place, column) or False,
            )
            for place, (column, _) in enumerate(named)
        ]
    elif any(given is not None for given in (scale, offset, bits, use, compact, optional)):
        raise ValueError("give columns, or scale, offset, bits, use, compact and optional, not both")
    by_name = dict(named)
    for column in columns:
        if column.name not in by_name:
            raise ValueError(
                f"there are no readings of a column '{column.name}': there are "
                f"{', '.join(by_name) or 'none'}"
            )
    readings = [
        readings_of(by_name[column.name], column.name, bool(column.optional))
        for column in columns
    ]
    labels = _labels(data, rows, len(readings[0]) if readings else 0)
    return ([column._parts() for column in columns], labels, readings)


def _named_columns(
    data: Readings, name: str | Sequence[str] | None, columns: Sequence[Column] | None
) -> list[tuple[str, Any]]:
    if isinstance(data, Mapping) or hasattr(data, "iloc") and hasattr(data, "columns"):
        return [(str(key), data[key]) for key in data]
    array = data if hasattr(data, "__array__") else _array(data, "the readings are")
    structure = getattr(getattr(array, "dtype", None), "names", None)
    if structure is not None:
        return [(field, array[field]) for field in structure]
    names = [name] if isinstance(name, str) else list(name or ())
    if not names and columns is not None:
        names = [column.name for column in columns]
    if getattr(array, "ndim", 1) == 2:
        array = np.asarray(array)
        count = array.shape[1]
        if not names:
            names = [f"value_{place}" for place in range(count)]
        if len(names) != count:
            raise ValueError(f"{count} columns of readings have {len(names)} names")
        return [(column, array[:, place]) for place, column in enumerate(names)]
    if not names:
        names = [str(getattr(data, "name", None) or "value")]
    if len(names) != 1:
        raise ValueError(
            f"one column of readings has {len(names)} names: give several columns as a mapping"
        )
    return [(names[0], array)]


def _of(given: PerColumn, place: int, name: str, default: Any) -> Any:
    """The value for one column of what was given for all."""
    if given is None:
        return default
    if isinstance(given, Mapping):
        if name in given:
            return given[name]
        if default is not None:
            return default
        raise ValueError(f"column '{name}' has no entry: there are {', '.join(map(str, given))}")
    if isinstance(given, (list, tuple)):
        if place < len(given):
            return given[place]
        raise ValueError(f"column '{name}' has no entry: {len(given)} are given")
    return given


def _optional_of(given: PerColumn, place: int, name: str) -> Any:
    """The use or the form of one column; columns without an entry in a mapping have the default."""
    if isinstance(given, Mapping):
        return given.get(name)
    return _of(given, place, name, None)


def _array(values: Any, what: str) -> NDArray[Any]:
    try:
        return np.asarray(values)
    except ValueError as error:
        raise TypeError(f"{what} no list of numbers: {error}") from None


def _with_gaps(values: Any, name: str) -> Any:
    """Readings some of which may be missing, as an array with NaN for those if there are any."""
    if np.ma.isMaskedArray(values):
        mask = np.ma.getmaskarray(values)
        # Whole numbers stay whole numbers if none is missing.
        return np.where(mask, np.nan, values.data) if mask.any() else values.data
    array = _array(values, f"column '{name}' is")
    if array.dtype.kind != "O":
        return array
    # None and pandas' NA, which is neither equal to itself nor different.
    missing = np.array([value is None or not _is_itself(value) for value in array.ravel()], bool)
    missing = missing.reshape(array.shape)
    there = array[~missing]
    if any(isinstance(value, str) for value in there):
        return array
    try:
        numbers = np.asarray(there.tolist(), dtype=np.float64)
    except (TypeError, ValueError):
        return array
    if any(isinstance(value, int) and int(number) != value for value, number in zip(there, numbers)):
        raise _native.RangeError(
            f"column '{name}': a whole number needs more than 53 bits and would be rounded: subtract "
            "a whole number from all of them before, such as the first, or give them in larger units"
        )
    filled = np.full(array.shape, np.nan)
    filled[~missing] = numbers
    return filled


def _is_itself(value: Any) -> bool:
    """Whether a value is equal to itself, which NaN and pandas' NA are not."""
    try:
        return bool(value == value)
    except TypeError:
        return False


def readings_of(values: Any, name: str, optional: bool = False) -> NDArray[np.float64]:
    """Readings as 64-bit floating-point numbers; NaN for those that are missing.

    Raises:
        TypeError: if they are no numbers.
        ValueError: if they are none, or no list.
    """
    if optional:
        values = _with_gaps(values, name)
    elif np.ma.isMaskedArray(values) and np.ma.getmaskarray(values).any():
        raise TypeError(
            f"column '{name}' has masked readings: fill or remove them, or declare the column "
            "optional=True, with which readings may be missing"
        )
    array = _array(values, f"column '{name}' is")
    kind = array.dtype.kind
    if kind == "O":
        raise TypeError(
            f"column '{name}' has dtype object, that is values that are no plain numbers (None, "
            "texts, Decimal): convert it with .astype(float), and remove what is missing or declare "
            "the column optional=True"
        )
    if kind not in "biuf":
        raise TypeError(
            f"column '{name}' has dtype {array.dtype}: give whole or floating-point numbers"
        )
    if array.ndim != 1:
        raise ValueError(
            f"column '{name}' has {array.ndim} dimensions: give a list of readings; several "
            "columns are a mapping or a 2-D array"
        )
    if array.size == 0:
        raise ValueError(f"column '{name}' has no readings: give at least one")
    readings = np.ascontiguousarray(array, dtype=np.float64)
    if kind in "iu" and np.any(np.abs(readings) > 2.0**53):
        # Whole numbers that have no 64-bit floating-point number would be rounded.
        changed = [place for place, value in enumerate(array) if int(value) != int(readings[place])]
        if changed:
            raise _native.RangeError(
                f"column '{name}': the whole number in row {changed[0] + 1} needs more than 53 "
                "bits and would be rounded: subtract a whole number from all of them before, such "
                "as the first, or give them in larger units"
            )
    return readings


def _labels(data: Any, rows: Iterable[object] | None, count: int) -> list[str]:
    if rows is None:
        index = getattr(data, "index", None)
        # An index that pandas numbers by itself has no labels.
        is_numbered = hasattr(index, "start") and hasattr(index, "step")
        if index is None or callable(index) or is_numbered:
            return [str(row) for row in range(count)]
        rows = index
    if isinstance(rows, np.ndarray) and rows.dtype.kind == "M":
        rows = np.datetime_as_string(rows)
    labels = [str(row) for row in rows]
    if len(labels) != count:
        raise ValueError(f"{count} rows have {len(labels)} labels: give one for each")
    return labels
