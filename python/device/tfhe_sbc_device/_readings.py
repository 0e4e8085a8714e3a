"""Readings and labels as arrays, of whatever users give.

The packages ``tfhe-sbc`` and ``tfhe-sbc-device`` both have this file; whatever it imports is of
the one that it is in.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, Protocol, TypeVar, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native
from ._column import Column, Compact, Optional, Parts, Use, did_you_mean

_Of = TypeVar("_Of")


class ArrowStream(Protocol):
    """What gives a stream of Arrow's PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object = None, /) -> object: ...


class ArrowArray(Protocol):
    """What gives an array of Arrow's PyCapsule interface."""

    def __arrow_c_array__(self, requested_schema: object = None, /) -> tuple[object, object]: ...


class Series(Protocol):
    """What a Series of pandas has."""

    @property
    def index(self) -> object: ...
    @property
    def iloc(self) -> object: ...


#: Readings of one column. None is missing.
_Values = Union[ArrayLike, Sequence[Union[float, None]], Series, ArrowStream, ArrowArray]
#: Readings: a list or array of one column, or columns as a mapping from names, a structured array, a 2-D
#: array, a DataFrame of pandas or polars, a table of Arrow, or the path of a Parquet file.
Readings = Union[_Values, Mapping[str, _Values], "os.PathLike[str]"]
#: A value for all columns, or one for each by name or in their order; None is what it is if not given.
PerColumn = Union[_Of, Mapping[str, _Of], Sequence[Union[_Of, None]], None]
#: Definitions, labels and readings, as the extension module takes them.
Table = tuple[list[Parts], list[str], list[NDArray[np.float64]]]
#: What is given for each column in place of a definition, and what it is where it is not given.
_DEFAULTS: dict[str, Any] = {
    "scale": 1.0,
    "offset": 0.0,
    "bits": None,
    "unit": "",
    "use": None,
    "compact": None,
    "optional": False,
}


def table_of(
    data: Readings,
    scale: PerColumn[float],
    offset: PerColumn[float],
    bits: PerColumn[int],
    name: str | Sequence[str] | None,
    unit: PerColumn[str],
    columns: Sequence[Column] | None,
    rows: Iterable[object] | str | None,
    use: PerColumn[Use] = None,
    compact: PerColumn[Compact] = None,
    optional: PerColumn[Optional] = None,
) -> Table:
    """Columns, labels and readings of what a user gives as readings."""
    data = read(data)
    named = named_columns(data, name, columns)
    labels_given = taken_labels(named, data, rows)
    given = dict(
        scale=scale,
        offset=offset,
        bits=bits,
        unit=unit,
        use=use,
        compact=compact,
        optional=optional,
    )
    if isinstance(given["unit"], str) and not given["unit"]:
        given["unit"] = None
    unscaled: set[str] = set()
    if columns is None:
        columns = _defined(given, list(named))
        steps = each_of("scale", scale, list(named), None)
        unscaled = {column for column, step in zip(named, steps) if step is None}
    else:
        columns = list(columns)
        both = [argument for argument, value in given.items() if value is not None]
        if both:
            raise ValueError(
                f"columns defines the columns, so {' and '.join(both)} cannot be given as well: give "
                "columns, or scale, offset, bits, unit, use, compact and optional, not both"
            )
        _check_defined(columns, list(named))
    readings = [
        readings_of(named[column.name], column.name, bool(column.optional)) for column in columns
    ]
    labels = labels_of(data, labels_given, len(readings[0]) if readings else 0)
    for column, values in zip(columns, readings):
        _check_there(column, values, labels)
        if column.name in unscaled:
            _check_steps(column, values)
    return ([column._parts() for column in columns], labels, readings)


def _defined(given: Mapping[str, Any], names: list[str]) -> list[Column]:
    """Definitions of columns from what is given for each."""
    if given["bits"] is None:
        raise ValueError(
            "bits is missing: give the width of a code, so that readings go from offset to "
            "offset + scale * (2**bits - 1), or columns=tfhe_sbc.fit_encoding(data)"
        )
    each = {
        argument: each_of(argument, given[argument], names, default)
        for argument, default in _DEFAULTS.items()
    }
    return [
        Column(name, **{argument: values[place] for argument, values in each.items()})
        for place, name in enumerate(names)
    ]


def each_of(argument: str, given: Any, names: list[str], default: Any) -> list[Any]:
    """The values for the columns of what was given for all, by name or in their order."""
    if given is None:
        return [default] * len(names)
    # A Series of pandas has values by name, too.
    if isinstance(given, Mapping) or hasattr(given, "items") and hasattr(given, "index"):
        entries = {str(key): value for key, value in given.items()}
        for name in entries:
            if name not in names:
                raise ValueError(
                    f"{argument} has an entry for '{name}', but there are no readings of a column of "
                    f"this name{_instead(name, names)}"
                )
        for name in names:
            if name not in entries and argument == "bits":
                raise ValueError(
                    f"bits has no entry for column '{name}': give the width of its code"
                )
        return [entries.get(name, default) for name in names]
    if isinstance(given, (list, tuple)) or isinstance(given, np.ndarray) and given.ndim == 1:
        if len(given) != len(names):
            raise ValueError(
                f"{argument} has {len(given)} entries, but the columns are {_listed(names)}: give one "
                "entry for each, or a mapping from names"
            )
        return [default if value is None else value for value in given]
    return [given] * len(names)


def _check_defined(columns: Sequence[Column], names: list[str]) -> None:
    """Checks that definitions are those of the readings' columns."""
    defined: set[str] = set()
    for column in columns:
        if not isinstance(column, Column):
            raise TypeError(
                f"columns has a {type(column).__name__}: give definitions, such as "
                "Column('t', scale=0.1, bits=12)"
            )
        if column.name in defined:
            raise ValueError(f"columns defines '{column.name}' twice: define it once")
        if column.name not in names:
            raise ValueError(
                f"there are no readings of a column '{column.name}'{_instead(column.name, names)}"
            )
        defined.add(column.name)
    dropped = [name for name in names if name not in defined]
    if dropped:
        raise ValueError(
            f"columns does not define {_listed(dropped)}, whose readings would be lost: define them, or "
            "leave them out of the readings"
        )


def _instead(name: str, names: Sequence[str]) -> str:
    """The end of an error about a name that there is not."""
    near = did_you_mean(name, names)
    return f"{near} There are {_listed(names)}" if near else f": there are {_listed(names)}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names) or "none"


def _check_there(column: Column, values: NDArray[np.float64], labels: list[str]) -> None:
    """Refuses readings that are no finite numbers, but for those that may be missing, and those out of range."""
    wrong = np.isinf(values) if column.optional else ~np.isfinite(values)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        missing = not column.optional and np.isnan(values[row])
        advice = (
            "remove or fill it, or give optional=True if readings of this column may be missing"
            if missing
            else "correct the reading"
        )
        raise _native.RangeError(
            f"row {row + 1} ({labels[row]}), column '{column.name}': the reading is not a finite "
            f"number: {advice}"
        )
    codes = np.rint((values - column.offset) / column.scale)
    outside = (codes < 0) | (codes > 2.0**column.bits - 1)
    if outside.any():
        row = int(np.flatnonzero(outside)[0])
        low, high = column.range
        raise _native.RangeError(
            f"row {row + 1} ({labels[row]}), column '{column.name}': the reading is outside the declared "
            f"range {low:.15g} to {high:.15g}: correct the reading, or widen the column's range: its "
            "offset, scale and bits"
        )


def _check_steps(column: Column, values: NDArray[np.float64]) -> None:
    """Refuses readings that a scale of 1, which nobody has given, would round."""
    steps = values - column.offset
    rounded = np.abs(steps - np.round(steps)) > 1e-6
    if rounded.any():
        row = int(np.flatnonzero(rounded)[0])
        raise _native.RangeError(
            f"column '{column.name}' has no scale, and a scale of 1 would round its readings, such as "
            f"that in row {row + 1}: give the step between readings, such as scale=0.1 for one decimal, "
            "or scale=1 to round them; tfhe_sbc.fit_encoding(data) finds it"
        )


def named_columns(
    data: Readings, name: str | Sequence[str] | None, columns: Sequence[Column] | None
) -> dict[str, Any]:
    """Readings by the names of their columns."""
    tabular = _tabular(data)
    if tabular is not None:
        _no_name(name, "of a table")
        named: dict[str, Any] = {}
        for key, values in tabular:
            if str(key) in named:
                raise ValueError(f"two columns are called '{key}': give each a name of its own")
            named[str(key)] = values
        return named
    array: Any = data if hasattr(data, "__array__") else array_of(data, "the readings are")
    structure = getattr(getattr(array, "dtype", None), "names", None)
    if structure is not None:
        _no_name(name, "of a structured array")
        return {field: array[field] for field in structure}
    names = [name] if isinstance(name, str) else list(name or ())
    if not names and columns is not None:
        names = [column.name for column in columns if isinstance(column, Column)]
    if getattr(array, "ndim", 1) == 2:
        array = np.asarray(array)
        count = array.shape[1]
        if not names:
            names = [f"value_{place}" for place in range(count)]
        if len(names) != count:
            raise ValueError(
                f"{count} columns of readings have {len(names)} names: give one for each"
            )
        if len(set(names)) != count:
            raise ValueError(f"two columns have one name ({_listed(names)}): give each its own")
        return {column: array[:, place] for place, column in enumerate(names)}
    if not names:
        own = getattr(data, "name", None)
        names = ["value" if own is None else str(own)]
    if len(names) != 1:
        raise ValueError(
            f"one column of readings has {len(names)} names: give several columns as a mapping"
        )
    return {names[0]: array}


def read(data: Readings) -> Any:
    """The readings of a file or of Arrow's PyCapsule interface; others as they are.

    Raises:
        ImportError: if no library that reads them is installed.
        TypeError: if a path is none of Parquet.
    """
    if isinstance(data, (str, os.PathLike)):
        if not os.fspath(data).endswith(".parquet"):
            raise TypeError(
                f"the readings are the text {os.fspath(data)!r}: give numbers, or the path of a .parquet file"
            )
        return _library("pyarrow.parquet", "Parquet files are read with").read_table(data)
    if hasattr(data, "collect") and hasattr(data, "lazy"):
        raise TypeError("a LazyFrame has no readings yet: give lazy_frame.collect()")
    has_capsule = hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")
    if not has_capsule or hasattr(data, "__array__") or hasattr(data, "__getitem__"):
        return data
    arrow = _library("pyarrow", "what has only the interface of Arrow is read with")
    try:
        return arrow.table(data)
    except (TypeError, ValueError):
        return arrow.chunked_array(data)


def _library(name: str, what: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise ImportError(
            f"{what} {package}, which is not installed: pip install {package}, or give arrays"
        ) from None


def _tabular(data: Readings) -> Iterable[tuple[object, Any]] | None:
    """The names and columns of a mapping, or of a table of pandas, polars or Arrow; `None` of other readings."""
    if isinstance(data, Mapping):
        return data.items()
    table: Any = data
    if hasattr(table, "iloc") and hasattr(table, "columns"):
        return ((key, table.iloc[:, place]) for place, key in enumerate(table.columns))
    # Arrow's tables have names of columns in `column_names`, those of polars in `columns`.
    names = getattr(data, "column_names", getattr(data, "columns", None))
    if hasattr(data, "__getitem__") and isinstance(names, list):
        return (
            (key, data[place if hasattr(data, "column_names") else key])
            for place, key in enumerate(names)
        )
    return None


def _no_name(name: str | Sequence[str] | None, whose: str) -> None:
    if name is not None:
        raise ValueError(
            f"name is {name!r}, but the columns {whose} have names: rename them there, and leave name out"
        )


def array_of(values: Any, what: str) -> NDArray[Any]:
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
    array = array_of(values, f"column '{name}' is")
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
    if any(
        isinstance(value, int) and int(number) != value for value, number in zip(there, numbers)
    ):
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
    array = array_of(values, f"column '{name}' is")
    kind = array.dtype.kind
    if kind == "O":
        raise TypeError(
            f"column '{name}' has dtype object, that is values that are no plain numbers (None, "
            "texts, Decimal): convert it with .astype(float), and remove what is missing or declare "
            "the column optional=True"
        )
    if kind == "M":
        raise TypeError(
            f"column '{name}' has dtype {array.dtype}, that is moments, which label rows: give "
            f"rows='{name}', or leave it out"
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


def taken_labels(named: dict[str, Any], data: Readings, rows: Iterable[object] | None) -> Any:
    """The labels that are given, or those in the column of this name, which is taken out of the readings."""
    if not isinstance(rows, str):
        return rows
    if _tabular(data) is None:
        raise TypeError(f"rows is the text {rows!r}: give a list of labels, one for each row")
    if rows not in named:
        raise ValueError(
            f"rows names a column '{rows}' of labels, which there is not{_instead(rows, list(named))}"
        )
    return named.pop(rows)


def labels_of(data: Any, rows: Iterable[object] | None, count: int) -> list[str]:
    """One label a row: those that are given, those of pandas' index, or numbers from 0."""
    given: Any = _index(data) if rows is None else rows
    if given is None:
        return [str(row) for row in range(count)]
    if isinstance(given, np.ndarray) and given.dtype.kind == "M":
        given = np.datetime_as_string(given)
    labels = [_label(row) for row in given]
    if len(labels) != count:
        raise ValueError(f"{count} rows have {len(labels)} labels: give one for each")
    return labels


def _label(row: object) -> str:
    """The text of a label. A moment of a time zone is in UTC, as the labels of boards are."""
    if hasattr(row, "as_py"):
        # A scalar of pyarrow.
        row = row.as_py()
    if isinstance(row, datetime) and row.tzinfo is not None:
        moment = row.astimezone(timezone.utc).replace(tzinfo=None)
        return f"{moment.isoformat()}Z"
    return str(row)


def _index(data: Any) -> Any:
    """The index of a DataFrame or a Series, or of Series in a mapping."""
    if not isinstance(data, Mapping):
        index = getattr(data, "index", None)
        return None if callable(index) else index
    indexes = [
        series.index
        for series in data.values()
        if hasattr(series, "iloc") and hasattr(series, "index")
    ]
    if any(not indexes[0].equals(index) for index in indexes):
        raise ValueError(
            "the Series have different indexes, so that their rows do not belong together: align them "
            "before, such as with pandas.DataFrame(data), or give their values"
        )
    return indexes[0] if indexes else None
