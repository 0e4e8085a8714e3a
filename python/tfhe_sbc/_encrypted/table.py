"""Encrypted columns of the same rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Union, overload

from .._frames import Keys, Name
from .advice import Advises
from .base import Columns_, Encrypted_, Places, numbered, places_of
from .clear import in_order_of
from .column import EncryptedColumn
from .grouping import By, grouped, resampled
from .groups import GroupedTable
from .mask import EncryptedMask
from .optional import EncryptedOptionalColumn
from .pairs import matrix
from .selection import EncryptedSelection
from .summary import (
    EncryptedSummary,
    EncryptedSummaryTable,
    Function,
    ReducesEach,
    labelled,
    name_of,
    reduced,
)

#: What a table can get as a column.
NewColumn = Union[EncryptedColumn, EncryptedOptionalColumn, EncryptedMask]


class _ReducesColumns(ReducesEach[EncryptedSummary], Advises):
    """What has reductions of its columns."""

    _columns: Mapping[str, Any]

    def _each(self, function: Function, *given: object) -> EncryptedSummary:
        values = {name: reduced(of, function, *given) for name, of in self._columns.items()}
        units = {getattr(one, "unit", "") for one in values.values()}
        return labelled(values, name_of(function), units.pop() if len(units) == 1 else "")

    def quantile(self, q: float = 0.5) -> EncryptedSummary:
        """The quantile of each column, ``q`` from 0 to 1."""

        def quantile(column: Any) -> Encrypted_:
            return column.quantile(q)  # type: ignore[no-any-return]

        return self._each(quantile)

    def describe(self) -> EncryptedSummaryTable:
        """Count, mean, standard deviation, minimum, quartiles and maximum of each column, in rows."""
        columns: dict[str, EncryptedSummary] = {
            name: of.describe() for name, of in self._columns.items()
        }
        return EncryptedSummaryTable(columns, next(iter(columns.values()))._keys)

    @overload
    def agg(self, func: Function) -> EncryptedSummary: ...  # type: ignore[overload-overlap]
    @overload
    def agg(self, func: Sequence[Function]) -> EncryptedSummaryTable: ...
    @overload
    def agg(
        self, func: Mapping[str, Function | Sequence[Function]]
    ) -> EncryptedSummary | EncryptedSummaryTable: ...
    def agg(
        self, func: Function | Sequence[Function] | Mapping[str, Function | Sequence[Function]]
    ) -> EncryptedSummary | EncryptedSummaryTable:
        """A reduction of each column, or several in rows.

        Args:
            func: a reduction as in :meth:`EncryptedColumn.agg`, a list of several, or either for each column that a dict
                names, as in ``table.agg({"t": ["min", "max"], "h": "mean"})``.
        """
        if isinstance(func, str) or callable(func):
            return self._each(func)
        if not isinstance(func, Mapping):
            func = dict.fromkeys(self._columns, func)
        for name in func:
            self._known(name)
        singles = {
            name: reduced(self._columns[name], one)
            for name, one in func.items()
            if isinstance(one, str) or callable(one)
        }
        if singles and len(singles) == len(func):
            return labelled(singles, "agg", "")
        lists = {
            name: [one] if isinstance(one, str) or callable(one) else list(one)
            for name, one in func.items()
        }
        labels = list(dict.fromkeys(name_of(one) for several in lists.values() for one in several))
        if not labels:
            raise ValueError("there is nothing to aggregate with: name a reduction, such as 'mean'")
        columns: dict[Name, EncryptedSummary] = {}
        keys = Keys([labels], [None])
        for name, several in lists.items():
            found = {name_of(one): reduced(self._columns[name], one) for one in several}
            values = [found.get(label, float("nan")) for label in labels]
            columns[name] = EncryptedSummary(values, name, "", keys)
        return EncryptedSummaryTable(columns, keys)

    def _known(self, name: object) -> str:
        if not isinstance(name, str) or name not in self._columns:
            raise KeyError(f"there is no column {name!r}: there are {', '.join(self._columns)}")
        return name


class EncryptedTableSelection(_ReducesColumns):
    """The rows of a table that meet an encrypted condition: ``table[mask]``.

    Which rows they are nobody knows, so there are reductions of them only; see :class:`EncryptedSelection`.
    """

    def __init__(self, columns: Mapping[str, EncryptedSelection]) -> None:
        self._columns = dict(columns)

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
        return list(self._columns)

    @overload
    def __getitem__(self, name: str) -> EncryptedSelection: ...
    @overload
    def __getitem__(self, name: list[str]) -> EncryptedTableSelection: ...
    def __getitem__(self, name: str | list[str]) -> EncryptedSelection | EncryptedTableSelection:
        """The selected rows of a column, or of several."""
        if isinstance(name, list):
            return EncryptedTableSelection({one: self._columns[self._known(one)] for one in name})
        selection: EncryptedSelection = self._columns[self._known(name)]
        return selection

    def __repr__(self) -> str:
        return f"<EncryptedTableSelection of {', '.join(self._columns)}>"


class EncryptedTable(Columns_, _ReducesColumns):
    """Encrypted columns of the same rows: ``table["temperature"]``.

    Reductions are those of each column, with its name as label: ``table.mean()["temperature"]``.
    """

    def __init__(
        self,
        columns: Mapping[str, EncryptedColumn | EncryptedOptionalColumn],
        rows: Sequence[str],
    ) -> None:
        self._columns: dict[str, Any] = dict(columns)
        #: The rows' labels, in the clear.
        self.rows = rows

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
        return list(self._columns)

    @overload
    def __getitem__(self, name: str) -> EncryptedColumn: ...
    @overload
    def __getitem__(self, name: EncryptedMask) -> EncryptedTableSelection: ...
    @overload
    def __getitem__(self, name: list[str] | Places) -> EncryptedTable: ...
    def __getitem__(
        self, name: str | EncryptedMask | list[str] | Places
    ) -> EncryptedColumn | EncryptedTable | EncryptedTableSelection:
        """A column by its name, a table of columns by a list of names, of rows by a slice or clear booleans, or the rows
        that meet an encrypted condition, which have reductions only.

        A column whose readings may be missing is an :class:`EncryptedOptionalColumn`, which types do not know.
        """
        if isinstance(name, str):
            column: EncryptedColumn = self._columns[self._known(name)]
            return column
        if isinstance(name, EncryptedMask):
            return EncryptedTableSelection(
                {called: EncryptedSelection(one, name) for called, one in self._columns.items()}
            )
        if isinstance(name, list) and not all(isinstance(one, bool) for one in name):
            return EncryptedTable({one: self._columns[self._known(one)] for one in name}, self.rows)
        is_slice_or_truths = isinstance(name, (slice, list)) or (
            getattr(getattr(name, "dtype", None), "kind", "") == "b"
        )
        if isinstance(name, list) and not name:
            raise ValueError("a table has at least one column: name some")
        if not is_slice_or_truths:
            raise KeyError(
                f"there is no column {name!r}: give a name of {', '.join(self._columns)}, a list of names, a slice of "
                "rows, clear booleans or an encrypted condition"
            )
        return self._taken(places_of(in_order_of(name, self.rows), len(self)))

    def _taken(self, places: Sequence[int]) -> EncryptedTable:
        """The rows at places."""
        if not places:
            raise IndexError("no rows are left: an encrypted table has at least one")
        columns = {name: column._taken(places) for name, column in self._columns.items()}
        return EncryptedTable(columns, [self.rows[place] for place in places])

    def __setitem__(self, name: str, column: NewColumn) -> None:
        """A new column, or another one in the place of one. See :meth:`assign`."""
        self._columns[name] = self._fitting(name, column)

    def assign(
        self, **columns: NewColumn | Callable[[EncryptedTable], NewColumn]
    ) -> EncryptedTable:
        """A table with these columns, too; those of the same names are replaced.

        Args:
            columns: encrypted columns of the same rows, conditions, which become columns of 0 and 1, or functions that
                make one of the table.
        """
        table = EncryptedTable(self._columns, self.rows)
        for name, one in columns.items():
            table[name] = one(table) if callable(one) else one
        return table

    def _fitting(self, name: str, column: object) -> EncryptedColumn | EncryptedOptionalColumn:
        if not isinstance(name, str) or not name:
            raise TypeError(f"a column's name is a text, not {name!r}")
        if isinstance(column, EncryptedMask):
            column = column._as_column()
        if not isinstance(column, (EncryptedColumn, EncryptedOptionalColumn)):
            raise TypeError(
                f"the columns of a table are encrypted, and a {type(column).__name__} is no encrypted column: encrypt it "
                "with the others, or compute with it as a clear operand, as in table['t'] + numbers"
            )
        if len(column) != len(self):
            raise ValueError(f"a column of {len(column)} rows does not fit a table of {len(self)}")
        counts = numbered(len(self))
        labels = (list(self.rows), list(column.rows))
        if labels[0] != labels[1] and counts not in labels:
            place = next(place for place, (a, b) in enumerate(zip(*labels)) if a != b)
            raise ValueError(
                f"row {place} is {labels[0][place]!r} in the table and {labels[1][place]!r} in the column: bring them "
                "into one order before they are encrypted"
            )
        return column

    def __len__(self) -> int:
        return len(self.rows)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def items(self) -> Iterator[tuple[str, EncryptedColumn]]:
        """Names and columns, as ``table[name]`` has them."""
        return ((name, self[name]) for name in self._columns)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of its rows and of its columns."""
        return (len(self.rows), len(self._columns))

    def head(self, n: int = 5) -> EncryptedTable:
        """The first ``n`` rows; with a negative number, all but the last ones."""
        return self[:n]

    def tail(self, n: int = 5) -> EncryptedTable:
        """The last ``n`` rows; with a negative number, all but the first ones."""
        return self[(-n if n else len(self)) :]

    def cov(self) -> EncryptedSummaryTable:
        """The covariance of each pair of its columns: decrypted a DataFrame with their names on both sides. See
        :meth:`EncryptedColumn.cov`."""
        return matrix(self, "cov")

    def corr(self) -> EncryptedSummaryTable:
        """The correlation of each pair of its columns: decrypted a DataFrame with their names on both sides. See
        :meth:`EncryptedColumn.corr`."""
        return matrix(self, "corr")

    def groupby(self, by: By) -> GroupedTable:
        """Its rows in groups by clear keys. See :meth:`EncryptedColumn.groupby`."""
        return GroupedTable(self, grouped(by, self.rows))

    def resample(self, rule: str) -> GroupedTable:
        """Its rows by periods such as ``"1h"``. See :meth:`EncryptedColumn.resample`."""
        return GroupedTable(self, resampled(rule, self.rows))

    def __repr__(self) -> str:
        return f"<EncryptedTable of {len(self)} rows: {', '.join(self._columns)}>"
