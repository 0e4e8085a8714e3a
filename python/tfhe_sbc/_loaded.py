"""What uploads are once they are loaded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Union, overload

from . import _native
from ._encrypted import (
    EncryptedColumn,
    EncryptedMask,
    EncryptedOptionalColumn,
    EncryptedScalar,
    EncryptedSelection,
    EncryptedTable,
)

if TYPE_CHECKING:
    from ._encrypted.base import Places
    from ._encrypted.grouping import By

    class Loaded(EncryptedColumn, EncryptedTable):  # type: ignore[misc]
        """An upload that is loaded: its only column, or a table of its columns.

        Which one depends on what was encrypted, and no type knows that. Whatever either can do has the types
        that it has there; ``load_column`` and ``load_table`` give one of the two.
        """

        @overload  # type: ignore[override]
        def __getitem__(self, key: str) -> EncryptedColumn: ...
        @overload
        def __getitem__(self, key: list[str]) -> EncryptedTable: ...
        @overload
        def __getitem__(self, key: int) -> EncryptedScalar: ...
        @overload
        def __getitem__(self, key: EncryptedMask) -> EncryptedSelection: ...
        @overload
        def __getitem__(self, key: Places) -> EncryptedColumn: ...
        def __getitem__(self, key: object) -> Any: ...
        def __iter__(self) -> Iterator[str]: ...  # type: ignore[override]
        def __contains__(self, name: object) -> bool: ...
        # Both classes have these, with results of their own.
        @property
        def shape(self) -> Any: ...
        def groupby(self, by: By) -> Any: ...
        def resample(self, rule: str) -> Any: ...
        def cov(self, other: object = None, ddof: int = 1) -> Any: ...
        def corr(self, other: object = None) -> Any: ...
else:
    Loaded = Union[EncryptedColumn, EncryptedOptionalColumn, EncryptedTable]

#: An answer that can be computed on.
LoadedAnswer = Union[EncryptedColumn, EncryptedScalar, EncryptedMask]


def loaded_of(
    columns: list[tuple[str, str, _native.Number | _native.Optional]], rows: list[str]
) -> Loaded:
    """The only column, or a table of several."""
    named: dict[str, EncryptedColumn | EncryptedOptionalColumn] = {}
    for name, unit, values in columns:
        if isinstance(values, _native.Optional):
            named[name] = EncryptedOptionalColumn(values, name, unit, rows)
        else:
            named[name] = EncryptedColumn(values, name, unit, rows)
    one: Any = next(iter(named.values())) if len(named) == 1 else EncryptedTable(named, rows)
    return one  # type: ignore[no-any-return]


def column_of(loaded: Loaded) -> EncryptedColumn:
    """The only column of an upload, which has all its readings."""
    given: object = loaded
    if isinstance(given, EncryptedColumn):
        return given
    if isinstance(given, EncryptedTable):
        raise ValueError(
            f"this has the columns {', '.join(given.columns)}: load it with load_table(), and take one of "
            "them"
        )
    raise ValueError(
        f"readings of '{loaded.name}' may be missing: load it with load(), and fillna() gives a column that "
        "has all of them"
    )


def whole_table_of(loaded: Loaded) -> EncryptedTable:
    """A table of the columns of an upload, also of a single one."""
    given: object = loaded
    if isinstance(given, EncryptedTable):
        return given
    return EncryptedTable({loaded.name: loaded}, loaded.rows)
