"""Encrypted columns of the same rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .column import EncryptedColumn
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

    # A column is an EncryptedOptionalColumn if its readings may be missing. Types do not know that.
    def __getitem__(self, name: str) -> Any:
        try:
            return self._columns[name]
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

    def items(self) -> Iterator[tuple[str, EncryptedColumn | EncryptedOptionalColumn]]:
        """Names and columns."""
        return iter(self._columns.items())

    def __repr__(self) -> str:
        return f"<EncryptedTable of {len(self)} rows: {', '.join(self._columns)}>"
