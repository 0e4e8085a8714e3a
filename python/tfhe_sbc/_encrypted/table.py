"""Encrypted columns of the same rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

from .column import EncryptedColumn
from .groups import By, GroupedTable, grouped_places, resampled_places
from .optional import EncryptedOptionalColumn


class EncryptedTable:
    """Encrypted columns of the same rows: ``table["temperature"]``."""

    def __init__(
        self,
        columns: dict[str, EncryptedColumn | EncryptedOptionalColumn],
        rows: Sequence[str],
    ) -> None:
        self._columns = columns
        #: The rows' labels, in the clear.
        self.rows = rows

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
        return list(self._columns)

    @overload
    def __getitem__(self, name: str) -> EncryptedColumn: ...
    @overload
    def __getitem__(self, name: slice | list[str]) -> EncryptedTable: ...
    def __getitem__(self, name: str | slice | list[str]) -> EncryptedColumn | EncryptedTable:
        """A column by its name, a table of columns by a list of names, or of rows by a slice.

        A column whose readings may be missing is an :class:`EncryptedOptionalColumn`, which types do not know."""
        if isinstance(name, slice):
            return self._slice(name)
        if isinstance(name, list):
            if not name:
                raise ValueError("a table has at least one column: name some")
            for one in name:
                self[one]
            return EncryptedTable({one: self._columns[one] for one in name}, self.rows)
        try:
            return self._columns[name]  # type: ignore[return-value]
        except KeyError:
            raise KeyError(
                f"there is no column {name!r}: there are {', '.join(self._columns)}"
            ) from None

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
        return self._slice(slice(None, n))

    def tail(self, n: int = 5) -> EncryptedTable:
        """The last ``n`` rows; with a negative number, all but the first ones."""
        return self._slice(slice(-n if n else len(self), None))

    def _slice(self, rows: slice) -> EncryptedTable:
        columns = {name: column[rows] for name, column in self._columns.items()}
        return EncryptedTable(columns, self.rows[rows])

    def groupby(self, by: By) -> GroupedTable:
        """Its rows in groups by clear keys. See :meth:`EncryptedColumn.groupby`."""
        return GroupedTable(self, grouped_places(by, self.rows))

    def resample(self, rule: str) -> GroupedTable:
        """Its rows by periods such as ``"1h"``. See :meth:`EncryptedColumn.resample`."""
        return GroupedTable(self, resampled_places(rule, self.rows))

    def __repr__(self) -> str:
        return f"<EncryptedTable of {len(self)} rows: {', '.join(self._columns)}>"
