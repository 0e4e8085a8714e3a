"""Columns and tables in the clear, in the forms of the libraries that people use."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Literal, Protocol, Union

import numpy as np
from numpy.typing import NDArray

#: What columns and tables become: arrays and dicts of them, Series and DataFrames of pandas, DataFrames of
#: polars, or Tables of pyarrow.
Form = Literal["numpy", "pandas", "polars", "arrow"]

_NUMBER = re.compile("0|-?[1-9][0-9]{0,17}")
_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.(?P<fraction>[0-9]{1,9}))?)?"
    r"(?P<zone>Z|[+-][0-9]{2}:[0-9]{2})?)?"
)


@dataclass(frozen=True)
class Keys:
    """What tells rows that are groups: the values of each key, one for each row, and the keys' names as far as they
    have some."""

    levels: Sequence[Sequence[object]]
    names: Sequence[str | None]

    def beside(self, columns: Mapping[str, object]) -> dict[str, Sequence[object]]:
        """The keys by names, of which each has one that no column has."""
        taken, named = set(columns), {}
        for given, level in zip(self.names, self.levels):
            name = given or "key"
            while name in taken:
                name += "_"
            taken.add(name)
            named[name] = level
        return named


#: The name of a column, or of a reduction of one.
Name = Union[str, tuple[str, str]]


@dataclass(frozen=True)
class Clear:
    """Columns in the clear of the same rows: by :data:`Name` their values and units, and the rows' labels or keys."""

    columns: Mapping[Any, NDArray[Any]]
    units: Mapping[Any, str]
    rows: Sequence[str]
    keys: Keys | None = None

    def flat(self) -> dict[str, NDArray[Any]]:
        """The columns by names that are texts."""
        return {flat(name): values for name, values in self.columns.items()}


def flat(name: Name) -> str:
    """A name as one text."""
    return name if isinstance(name, str) else "_".join(name)


@dataclass(frozen=True)
class Groups:
    """Answers in the clear, one for each group: by name what tells the groups, and the answers."""

    keys: Mapping[str, Sequence[object]]
    answers: Mapping[str, Sequence[object] | NDArray[Any]]


class Maker(Protocol):
    """What makes columns and tables of one library."""

    def column(self, clear: Clear) -> Any:
        """What the only column becomes."""
        ...

    def table(self, clear: Clear) -> Any:
        """What a table becomes."""
        ...

    def groups(self, groups: Groups) -> Any:
        """What answers for groups become."""
        ...


def maker(form: Form | None) -> Maker:
    """What makes the form that somebody wants; if nobody says, arrays, and DataFrames if pandas is there.

    Raises:
        ImportError: if the library is not installed.
        ValueError: if there is no such form.
    """
    if form is None:
        try:
            return _Pandas(importlib.import_module("pandas"), series=False)
        except ImportError:
            return _Numpy()
    if form == "numpy":
        return _Numpy()
    names = {"pandas": "pandas", "polars": "polars", "arrow": "pyarrow"}
    if form not in names:
        raise ValueError(f"to is {form!r}: give 'numpy', 'pandas', 'polars' or 'arrow'")
    name = names[form]
    try:
        module = importlib.import_module(name)
    except ImportError:
        raise ImportError(
            f"to='{form}' needs {name}, which is not installed: pip install {name}, or to='numpy' for arrays"
        ) from None
    if form == "pandas":
        return _Pandas(module, series=True)
    return _Polars(module) if form == "polars" else _Arrow(module)


class _Numpy:
    """Arrays, and dicts of them."""

    def column(self, clear: Clear) -> Any:
        (values,) = clear.columns.values()
        return values

    def table(self, clear: Clear) -> Any:
        return dict(clear.columns)

    def groups(self, groups: Groups) -> Any:
        return {**groups.keys, **groups.answers}


class _Pandas:
    """Series, unless columns are to be arrays, and DataFrames."""

    def __init__(self, pandas: Any, series: bool) -> None:
        self._pandas = pandas
        self._series = series

    def column(self, clear: Clear) -> Any:
        ((name, values),) = clear.columns.items()
        if not self._series:
            return values
        return self._pandas.Series(values, self._index(clear), name=name)

    def table(self, clear: Clear) -> Any:
        return self._pandas.DataFrame(dict(clear.columns), index=self._index(clear))

    def groups(self, groups: Groups) -> Any:
        index = self._index_of_keys(Keys(list(groups.keys.values()), list(groups.keys)))
        return self._pandas.DataFrame(dict(groups.answers), index=index)

    def _index_of_keys(self, keys: Keys) -> Any:
        if len(keys.levels) == 1:
            return self._pandas.Index(keys.levels[0], name=keys.names[0])
        return self._pandas.MultiIndex.from_arrays(list(keys.levels), names=list(keys.names))

    def _index(self, clear: Clear) -> Any:
        if clear.keys is not None:
            return self._index_of_keys(clear.keys)
        index = index_of(clear.rows)
        return self._pandas.RangeIndex(len(clear.rows)) if index is None else index


def index_of(rows: Sequence[str]) -> Any:
    """The index of pandas that labels make; `None` if they only count the rows."""
    labels = _Labels.of(rows)
    if labels is None:
        return None
    index = importlib.import_module("pandas").Index(labels.values)
    return index.tz_localize("UTC") if labels.in_utc else index


def device_and_moment(label: str) -> tuple[str, str]:
    """The device and the time of a label such as ``"hill 2026-11-01 03:00"``; no device if there is a time alone, or
    none."""
    if _MOMENT.fullmatch(label):
        return "", label
    for place, sign in enumerate(label):
        if sign == " " and _MOMENT.fullmatch(label, place + 1):
            return label[:place], label[place + 1 :]
    return "", label


class _Polars:
    """DataFrames, in which labels are a column, and what is missing is null."""

    def __init__(self, polars: Any) -> None:
        self._polars = polars

    def table(self, clear: Clear) -> Any:
        columns: dict[str, Any] = {}
        values = clear.flat()
        if clear.keys is not None:
            return self.groups(Groups(clear.keys.beside(values), values))
        labels = _Labels.of(clear.rows)
        if labels is not None:
            name = labels.name_beside(values)
            columns[name] = self._polars.Series(name, labels.values)
            if labels.in_utc:
                columns[name] = columns[name].dt.replace_time_zone("UTC")
        return self._polars.DataFrame({**columns, **values}, nan_to_null=True)

    column = table

    def groups(self, groups: Groups) -> Any:
        columns = {**groups.keys, **groups.answers}
        return self._polars.DataFrame(columns, strict=False).fill_nan(None)


class _Arrow:
    """Tables of pyarrow, in which labels are a column, units are metadata, and what is missing is null."""

    def __init__(self, pyarrow: Any) -> None:
        self._arrow = pyarrow

    def table(self, clear: Clear) -> Any:
        arrow, arrays, fields = self._arrow, [], []
        columns = clear.flat()
        labels = _Labels.of(clear.rows) if clear.keys is None else None
        for name, level in ({} if clear.keys is None else clear.keys.beside(columns)).items():
            arrays.append(arrow.array(level))
            fields.append(arrow.field(name, arrays[-1].type))
        if labels is not None:
            array = arrow.array(labels.values)
            if labels.in_utc:
                array = array.cast(arrow.timestamp(array.type.unit, "UTC"))
            arrays.append(array)
            fields.append(arrow.field(labels.name_beside(columns), array.type))
        units = {flat(name): unit for name, unit in clear.units.items()}
        for name, values in columns.items():
            array = arrow.array(values, from_pandas=True)
            unit = units.get(name)
            arrays.append(array)
            fields.append(arrow.field(name, array.type, metadata={"unit": unit} if unit else None))
        return arrow.Table.from_arrays(arrays, schema=arrow.schema(fields))

    column = table

    def groups(self, groups: Groups) -> Any:
        columns = {**groups.keys, **groups.answers}
        arrays = [self._arrow.array(values, from_pandas=True) for values in columns.values()]
        return self._arrow.Table.from_arrays(arrays, names=list(columns))


@dataclass(frozen=True)
class _Labels:
    """Labels of rows that are more than their numbers: moments, whole numbers or texts."""

    values: NDArray[Any]
    in_utc: bool = False

    @classmethod
    def of(cls, rows: Sequence[str]) -> _Labels | None:
        """Moments if all labels are such, whole numbers likewise, else texts; `None` if they count the rows
        from 0."""
        if all(row == str(place) for place, row in enumerate(rows)):
            return None
        if all(map(_NUMBER.fullmatch, rows)):
            return cls(np.array([int(row) for row in rows], dtype=np.int64))
        return cls._moments(rows) or cls(np.array(rows, dtype=object))

    @classmethod
    def _moments(cls, rows: Sequence[str]) -> _Labels | None:
        found = [match for match in map(_MOMENT.fullmatch, rows) if match]
        zones = {match["zone"] for match in found}
        if len(found) != len(rows) or None in zones and len(zones) > 1:
            return None
        unit = "ns" if any(len(match["fraction"] or "") > 6 for match in found) else "us"
        try:
            if zones <= {None, "Z"}:
                texts = [row.removesuffix("Z") for row in rows]
            else:
                moments = [datetime.fromisoformat(row.replace("Z", "+00:00")) for row in rows]
                texts = [
                    moment.astimezone(timezone.utc).replace(tzinfo=None).isoformat()
                    for moment in moments
                ]
            return cls(np.array(texts, dtype=f"datetime64[{unit}]"), in_utc=None not in zones)
        except ValueError:
            # As written as a moment, and none: the 31st of February.
            return None

    def name_beside(self, columns: Mapping[str, object]) -> str:
        """The name of their column beside others."""
        name = "time" if self.values.dtype.kind == "M" else "row"
        while name in columns:
            name += "_"
        return name
