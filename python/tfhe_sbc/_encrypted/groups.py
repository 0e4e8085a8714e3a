"""Groups of rows by clear keys, and reductions of each group."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Union, overload

from .._frames import Name
from .advice import Advises
from .base import Encrypted_
from .grouping import Grouping
from .summary import (
    EncryptedSummary,
    EncryptedSummaryTable,
    Function,
    ReducesEach,
    name_of,
    reduced,
)

if TYPE_CHECKING:
    from .column import EncryptedColumn
    from .optional import EncryptedOptionalColumn
    from .table import EncryptedTable

    _Column = Union[EncryptedColumn, EncryptedOptionalColumn]


_LOOP = "take the rows of each group, as in [rows.diff() for key, rows in grouped]"
_ADVICE = {
    **dict.fromkeys(
        ("rolling", "cumsum", "cummin", "cummax", "shift", "diff", "head", "tail"), _LOOP
    ),
    **dict.fromkeys(
        ("apply", "transform", "pipe"), "agg(function) reduces each group; else " + _LOOP
    ),
    **dict.fromkeys(("resample",), "group by several keys, as in groupby(['device', 'date'])"),
}


class GroupedColumn(ReducesEach[EncryptedSummary], Advises):
    """The rows of a column in groups: ``column.groupby("hour")`` or ``column.resample("1h")``.

    A reduction is that of each group, so sums and means of compact columns take no bootstrap. ``var`` and
    ``std`` are pandas', over the number of rows less one. Of a group without rows, ``sum`` and ``count`` are 0 and
    the others NaN.
    """

    _ADVICE = _ADVICE

    def __init__(self, column: _Column, groups: Grouping) -> None:
        self._column = column
        self._groups = groups

    @property
    def groups(self) -> dict[object, list[int]]:
        """The places of the rows of each group by its key, in the clear."""
        return self._groups.by_key()

    def size(self) -> dict[object, int]:
        """The number of rows of each group by its key, in the clear; those without a reading are counted."""
        return {key: len(places) for key, places in self.groups.items()}

    def __len__(self) -> int:
        return len(self._groups.places)

    def __iter__(self) -> Iterator[tuple[object, _Column]]:
        """Keys and the rows of their groups; groups without rows are left out."""
        for key, places in self.groups.items():
            if places:
                yield key, self._column[places]

    def __repr__(self) -> str:
        return f"<GroupedColumn of {self._column.name!r}, {len(self)} groups>"

    def get_group(self, key: object) -> _Column:
        """The rows of the group with a key."""
        if key not in self.groups or not self.groups[key]:
            raise KeyError(
                f"there is no group {key!r} with rows: there are {list(self.groups)[:20]}"
            )
        return self._column[self.groups[key]]

    def _each(self, function: Function, *given: object) -> EncryptedSummary:
        column, name = self._column, name_of(function)
        empty = 0 if name in ("sum", "count") else math.nan
        values: list[Encrypted_ | float] = [
            reduced(column[list(places)], function, *given) if places else empty
            for places in self._groups.places
        ]
        units = {one.unit for one in values if hasattr(one, "unit")}
        unit = units.pop() if len(units) == 1 else ""
        return EncryptedSummary(values, f"{name}({column.name})", unit, self._groups.keys)

    def quantile(self, q: float = 0.5, method: str = "linear") -> EncryptedSummary:
        """The quantile of each group.

        Args:
            q: from 0 to 1.
            method: as in :meth:`EncryptedColumn.percentile`.
        """

        def quantile(rows: _Column) -> Encrypted_:
            return rows.quantile(q, method)

        return self._each(quantile)

    def first(self) -> EncryptedSummary:
        """The first row of each group, of a column that has all readings."""
        return self._each("first")

    def last(self) -> EncryptedSummary:
        """The last row of each group, of a column that has all readings."""
        return self._each("last")

    def describe(self) -> EncryptedSummaryTable:
        """Count, mean, standard deviation, minimum, quartiles and maximum of each group, in columns."""
        each = [column.describe() for _, column in self]
        if not each or len(each) != len(self):
            raise ValueError(
                "there are groups without rows: describe the column itself, or group by other keys"
            )
        columns = {
            label: EncryptedSummary(
                [one[label] for one in each],
                label,
                "" if label == "count" else self._column.unit,
                self._groups.keys,
            )
            for label in each[0]
        }
        return EncryptedSummaryTable(columns, self._groups.keys)

    @overload
    def agg(self, func: Function) -> EncryptedSummary: ...  # type: ignore[overload-overlap]
    @overload
    def agg(self, func: Sequence[Function]) -> EncryptedSummaryTable: ...
    @overload
    def agg(self, **named: Function) -> EncryptedSummaryTable: ...
    def agg(
        self, func: Function | Sequence[Function] | None = None, **named: Function
    ) -> EncryptedSummary | EncryptedSummaryTable:
        """A reduction of each group, or several in columns: ``agg(["mean", "max"])`` or ``agg(low="min")``.

        Args:
            func: as in :meth:`EncryptedColumn.agg`.
            named: reductions by the names of their columns.
        """
        if func is not None and (isinstance(func, str) or callable(func)):
            return self._each(func)
        functions = named if func is None else {name_of(one): one for one in func}
        if not functions:
            raise ValueError("there is nothing to aggregate with: name a reduction, such as 'mean'")
        columns = {name: self._each(one) for name, one in functions.items()}
        return EncryptedSummaryTable(columns, self._groups.keys)


class GroupedTable(ReducesEach[EncryptedSummaryTable], Advises):
    """The rows of a table in groups. A reduction gives that of each column; see :class:`GroupedColumn`."""

    _ADVICE = _ADVICE

    def __init__(self, table: EncryptedTable, groups: Grouping) -> None:
        self._table = table
        self._groups = groups
        self._columns = {name: GroupedColumn(one, groups) for name, one in table.items()}

    @overload
    def __getitem__(self, name: str) -> GroupedColumn: ...
    @overload
    def __getitem__(self, name: list[str]) -> GroupedTable: ...
    def __getitem__(self, name: str | list[str]) -> GroupedColumn | GroupedTable:
        """The groups of a column, or of several."""
        if isinstance(name, list):
            return GroupedTable(self._table[name], self._groups)
        self._table[name]
        return self._columns[name]

    def __len__(self) -> int:
        return len(self._groups.places)

    def __iter__(self) -> Iterator[tuple[object, EncryptedTable]]:
        """Keys and the rows of their groups; groups without rows are left out."""
        for key, places in self.groups.items():
            if places:
                yield key, self._table._taken(places)

    @property
    def groups(self) -> dict[object, list[int]]:
        """The places of the rows of each group by its key, in the clear."""
        return self._groups.by_key()

    def size(self) -> dict[object, int]:
        """The number of rows of each group by its key, in the clear; those without a reading are counted."""
        return {key: len(places) for key, places in self.groups.items()}

    def __repr__(self) -> str:
        return f"<GroupedTable of {', '.join(self._columns)}, {len(self)} groups>"

    def _each(self, function: Function, *given: object) -> EncryptedSummaryTable:
        columns = {name: one._each(function, *given) for name, one in self._columns.items()}
        return EncryptedSummaryTable(columns, self._groups.keys)

    def quantile(self, q: float = 0.5) -> EncryptedSummaryTable:
        """The quantile of each group, ``q`` from 0 to 1."""
        columns = {name: one.quantile(q) for name, one in self._columns.items()}
        return EncryptedSummaryTable(columns, self._groups.keys)

    def first(self) -> EncryptedSummaryTable:
        """The first row of each group, of columns that have all readings."""
        return self._each("first")

    def last(self) -> EncryptedSummaryTable:
        """The last row of each group, of columns that have all readings."""
        return self._each("last")

    def agg(
        self,
        func: Function
        | Sequence[Function]
        | Mapping[str, Function | Sequence[Function]]
        | None = None,
        **named: tuple[str, Function],
    ) -> EncryptedSummaryTable:
        """Reductions of each group.

        Args:
            func: a reduction of all columns, as in :meth:`EncryptedColumn.agg`; a list of several, whose results have
                pairs of a column and a reduction as names; or either for each column that a dict names.
            named: a column and its reduction by the name of the result, as in ``agg(low=("t", "min"))``.
        """
        if func is None:
            pairs = {name: self[column].agg(one) for name, (column, one) in named.items()}
            if not pairs:
                raise ValueError(
                    "there is nothing to aggregate with: name a reduction, such as 'mean'"
                )
            return EncryptedSummaryTable(pairs, self._groups.keys)
        if not isinstance(func, Mapping):
            func = dict.fromkeys(self._columns, func)
        columns: dict[Name, EncryptedSummary] = {}
        lists = any(not (isinstance(one, str) or callable(one)) for one in func.values())
        for name, one in func.items():
            result = self[name].agg(one)
            if isinstance(result, EncryptedSummary):
                columns[(name, name_of(one)) if lists else name] = result  # type: ignore[arg-type]
            else:
                columns.update({(name, str(inner)): of for inner, of in result.items()})
        return EncryptedSummaryTable(columns, self._groups.keys)
