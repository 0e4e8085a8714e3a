"""Groups of rows by clear keys, and reductions of each group."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

import numpy as np
from numpy.typing import NDArray

from .._frames import device_and_moment, index_of
from .base import Answer, Encrypted_, Part, Reader, distinct, named, state
from .clear import clear_rows

if TYPE_CHECKING:
    from .column import EncryptedColumn
    from .optional import EncryptedOptionalColumn
    from .table import EncryptedTable

#: The key of a group.
Key = Union[str, int, float]
#: What tells the groups: a part of the rows' labels, a function of them, or a key for each row.
By = Union[str, Callable[[str], Key], Iterable[Key]]
_Column = Union["EncryptedColumn", "EncryptedOptionalColumn"]

_PARTS = ("device", "hour", "weekday", "day", "month")


class EncryptedGroupValues(Encrypted_):
    """An encrypted reduction of each group: its rows are the groups, and their labels the keys.

    Decrypted it is an array, with ``to="pandas"`` a Series with the keys as index. It is no operand.
    """

    __slots__ = ("_values", "rows", "unit")

    #: The keys of the groups as texts, in the clear.
    rows: Sequence[str]
    #: The unit of its numbers.
    unit: str

    def __init__(
        self, values: Sequence[Encrypted_ | float], name: str, unit: str, rows: Sequence[str]
    ) -> None:
        self._values = list(values)
        self.name = named(name)
        self.unit = unit
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def _parts(self) -> list[Part]:
        return [p for one in self._values if isinstance(one, Encrypted_) for p in one._parts()]

    def _read(self, reader: Reader) -> NDArray[Any]:
        values = [one._read(reader) if isinstance(one, Encrypted_) else one for one in self._values]
        return np.array(values)

    def _answers(self, name: str) -> list[Answer]:
        """An answer for each group that has one, ``NAME [KEY]``."""
        pairs = list(zip(self.rows, self._values))
        called = distinct(f"{name} [{key}]" for key, _ in pairs)
        answers: list[Answer] = []
        for one_name, (_, value) in zip(called, pairs):
            if isinstance(value, Encrypted_):
                answers.extend(value._answers(one_name))
        return answers

    def __repr__(self) -> str:
        return f"<EncryptedGroupValues {self.name!r}, {len(self)} groups, {state(self)}>"


class GroupedColumn:
    """The rows of a column in groups: ``column.groupby("hour")`` or ``column.resample("1h")``.

    A reduction is that of each group, so sums and means of compact columns take no bootstrap. ``var`` and
    ``std`` are pandas', over the number of rows less one. Of a group without rows, ``sum`` and ``count`` are 0 and
    the others NaN.
    """

    def __init__(self, column: _Column, groups: Mapping[str, Sequence[int]]) -> None:
        self._column = column
        self._groups = groups

    @property
    def groups(self) -> dict[str, list[int]]:
        """The places of the rows of each group, in the clear."""
        return {key: list(places) for key, places in self._groups.items()}

    def size(self) -> dict[str, int]:
        """The number of rows of each group, in the clear; those without a reading are counted."""
        return {key: len(places) for key, places in self._groups.items()}

    def __len__(self) -> int:
        return len(self._groups)

    def __iter__(self) -> Iterator[tuple[str, _Column]]:
        """Keys and the rows of their groups; groups without rows are left out."""
        for key, places in self._groups.items():
            if places:
                yield key, self._column[list(places)]

    def _each(
        self,
        function: str,
        apply: Callable[[Any], Encrypted_],
        unit: str | None = None,
        empty: float = math.nan,
        least: int = 1,
    ) -> EncryptedGroupValues:
        column = self._column
        values: list[Encrypted_ | float] = []
        for places in self._groups.values():
            if not places:
                values.append(empty)
            elif len(places) < least:
                values.append(math.nan)
            else:
                values.append(apply(column[list(places)]))
        unit = column.unit if unit is None else unit
        name = f"{function}({column.name})"
        return EncryptedGroupValues(values, name, unit, list(self._groups))

    def sum(self) -> EncryptedGroupValues:
        """The sum of each group."""
        return self._each("sum", lambda rows: rows.sum(), empty=0)

    def count(self) -> EncryptedGroupValues:
        """The number of readings of each group."""
        return self._each("count", lambda rows: rows.count(), unit="", empty=0)

    def mean(self) -> EncryptedGroupValues:
        """The mean of each group."""
        return self._each("mean", lambda rows: rows.mean())

    def min(self) -> EncryptedGroupValues:
        """The smallest of each group."""
        return self._each("min", lambda rows: rows.min())

    def max(self) -> EncryptedGroupValues:
        """The largest of each group."""
        return self._each("max", lambda rows: rows.max())

    def var(self, ddof: int = 1) -> EncryptedGroupValues:
        """The variance of each group, over its number of rows less ``ddof``."""
        unit = f"({self._column.unit})²" if self._column.unit else ""
        return self._each("var", lambda rows: rows.var(ddof=ddof), unit=unit, least=ddof + 1)

    def std(self, ddof: int = 1) -> EncryptedGroupValues:
        """The root of the variance of each group. See :meth:`var`."""
        return self._each("std", lambda rows: rows.std(ddof=ddof), least=ddof + 1)

    def median(self) -> EncryptedGroupValues:
        """The median of each group, of a column that has all readings."""
        return self._each("median", lambda rows: rows.median())

    def quantile(self, q: float = 0.5, method: str = "linear") -> EncryptedGroupValues:
        """The quantile of each group, of a column that has all readings.

        Args:
            q: from 0 to 1.
            method: as in :meth:`EncryptedColumn.percentile`.
        """
        return self._each("quantile", lambda rows: rows.quantile(q, method))

    def first(self) -> EncryptedGroupValues:
        """The first row of each group, of a column that has all readings."""
        return self._each("first", lambda rows: rows[0])

    def last(self) -> EncryptedGroupValues:
        """The last row of each group, of a column that has all readings."""
        return self._each("last", lambda rows: rows[-1])


class EncryptedGroupTable:
    """Encrypted reductions of the columns of a table, of each group: the rows are the groups.

    Decrypted it is a DataFrame with the keys as index.
    """

    def __init__(self, columns: dict[str, EncryptedGroupValues], rows: Sequence[str]) -> None:
        self._columns = columns
        #: The keys of the groups as texts, in the clear.
        self.rows = rows

    def __getitem__(self, name: str) -> EncryptedGroupValues:
        return self._columns[name]

    def items(self) -> Iterator[tuple[str, EncryptedGroupValues]]:
        """Names and the reductions of the groups."""
        return iter(self._columns.items())

    def __repr__(self) -> str:
        return f"<EncryptedGroupTable of {len(self.rows)} groups: {', '.join(self._columns)}>"


class GroupedTable:
    """The rows of a table in groups. A reduction gives that of each column."""

    def __init__(self, table: EncryptedTable, groups: Mapping[str, Sequence[int]]) -> None:
        self._rows = list(groups)
        self._columns = {name: GroupedColumn(one, groups) for name, one in table.items()}

    def __getitem__(self, name: str) -> GroupedColumn:
        if name not in self._columns:
            raise KeyError(f"there is no column {name!r}: there are {', '.join(self._columns)}")
        return self._columns[name]

    def _all(self, reduce: Callable[[GroupedColumn], EncryptedGroupValues]) -> EncryptedGroupTable:
        columns = {name: reduce(one) for name, one in self._columns.items()}
        return EncryptedGroupTable(columns, self._rows)

    def sum(self) -> EncryptedGroupTable:
        """The sum of each group."""
        return self._all(GroupedColumn.sum)

    def count(self) -> EncryptedGroupTable:
        """The number of readings of each group."""
        return self._all(GroupedColumn.count)

    def mean(self) -> EncryptedGroupTable:
        """The mean of each group."""
        return self._all(GroupedColumn.mean)

    def min(self) -> EncryptedGroupTable:
        """The smallest of each group."""
        return self._all(GroupedColumn.min)

    def max(self) -> EncryptedGroupTable:
        """The largest of each group."""
        return self._all(GroupedColumn.max)


def grouped_places(by: By, rows: Sequence[str]) -> dict[str, list[int]]:
    """The places of the rows of each group, in the order of the keys, as pandas has them.

    Args:
        by: ``"device"``, ``"hour"``, ``"weekday"`` (0 is Monday), ``"day"`` or ``"month"`` of the labels, a
            function of a label, or a key for each row.
        rows: the labels.

    Raises:
        ValueError: there are not as many keys as rows, or labels have no such part.
    """
    keys: list[Any]
    if isinstance(by, str):
        if by not in _PARTS:
            raise ValueError(f"groups are by {', '.join(_PARTS)}, a function or a list, not {by!r}")
        if by == "device":
            keys = [device_and_moment(row)[0] for row in rows]
            if "" in keys:
                raise ValueError(f"the label {rows[keys.index('')]!r} has no device before a time")
        else:
            keys = getattr(moments_of(rows), by).tolist()
    elif callable(by):
        keys = [by(row) for row in rows]
    else:
        clear = clear_rows(by, rows)
        keys = (np.array(list(by)) if clear is None else clear).tolist()
    if len(keys) != len(rows):
        raise ValueError(f"{len(keys)} keys for {len(rows)} rows: give each row one")
    found: dict[Any, list[int]] = {}
    for place, key in enumerate(keys):
        # A row whose key is NaN or None is in no group, as in pandas.
        if key is not None and key == key:
            found.setdefault(key, []).append(place)
    return {str(key): found[key] for key in sorted(found)}


def resampled_places(rule: str, rows: Sequence[str]) -> dict[str, list[int]]:
    """The places of the rows of each period, by the moment at which it begins; periods without rows are there.

    Args:
        rule: the length of a period as pandas writes it, such as ``"1h"`` or ``"1D"``.
        rows: the labels, which are times.
    """
    pandas = importlib.import_module("pandas")
    series = pandas.Series(np.arange(len(rows)), index=moments_of(rows))
    return {start.isoformat(): part.tolist() for start, part in series.resample(rule)}


def moments_of(rows: Sequence[str]) -> Any:
    """The times of labels, which are times or a device and a time, as an index of pandas."""
    index = index_of([device_and_moment(row)[1] for row in rows])
    if index is None or index.dtype.kind != "M":
        raise ValueError(
            "the labels of the rows are no times: group by a list with a key for each row"
        )
    return index
