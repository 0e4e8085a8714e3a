"""Encrypted columns of the same rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .column import EncryptedColumn


class EncryptedTable:
    """Encrypted columns of the same rows: ``table["temperature"]``."""

    def __init__(
        self,
        columns: dict[str, EncryptedColumn],
        rows: Sequence[str],
        optional: Sequence[str] = (),
    ) -> None:
        self._columns = columns
        # Operators would take what is missing for a reading.
        self._optional = frozenset(optional)
        #: The rows' labels, in the clear.
        self.rows = rows

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
        return list(self._columns)

    def __getitem__(self, name: str) -> EncryptedColumn:
        if name in self._optional:
            raise TypeError(
                f"readings of column {name!r} may be missing, and operators on encrypted columns know "
                "no missing readings: ask questions with Server.query, such as "
                f"'mean({name})', which leave them out"
            )
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

    def items(self) -> Iterator[tuple[str, EncryptedColumn]]:
        """Names and columns."""
        return iter(self._columns.items())

    def __repr__(self) -> str:
        return f"<EncryptedTable of {len(self)} rows: {', '.join(self._columns)}>"
