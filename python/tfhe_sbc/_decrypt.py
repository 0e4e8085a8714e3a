"""Decryption of whatever was computed: values, tables, uploads, and lists and dicts of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Union

import numpy as np

from ._encrypted import (
    Encrypted,
    Encrypted_,
    EncryptedOptionalColumn,
    EncryptedSelection,
    EncryptedTable,
    Reader,
    compute,
)
from ._files import Box, is_box
from ._frames import Clear, Form, maker
from ._progress import Progress

#: What can be decrypted.
Decryptable = Union[
    Encrypted,
    EncryptedOptionalColumn,
    EncryptedTable,
    Box,
    "Sequence[Decryptable]",
    "Mapping[str, Decryptable]",
]


class Decryption:
    """How values are read.

    Args:
        reader: the party that reads computed values.
        open: what makes a value, or a :class:`Clear` table, of bytes and paths; `None` if nobody does.
        to: what columns and tables become.
    """

    def __init__(self, reader: Reader, open: Callable[[Any], Any] | None, to: Form | None) -> None:
        self._reader = reader
        self._open = open
        self._maker = maker(to)

    def of(self, value: Any, progress: Progress = None) -> Any:
        """What a value is in the clear. Everything in it is computed together before."""
        compute(*self._encrypted_in(value), progress=progress)
        return self._read(value)

    def _encrypted_in(self, value: Any) -> Iterator[Any]:
        """The encrypted values in lists, dicts and tables."""
        if isinstance(value, (Mapping, EncryptedTable)):
            for _, one in value.items():
                yield from self._encrypted_in(one)
        elif isinstance(value, (list, tuple)):
            for one in value:
                yield from self._encrypted_in(one)
        elif isinstance(value, Encrypted_):
            yield value
        elif isinstance(value, EncryptedSelection):
            raise TypeError(
                "which rows are selected nobody knows, so there is no list of them to decrypt: decrypt "
                "what a reduction such as sum() or count() gives, or the column and the mask"
            )
        elif self._open is None:
            raise TypeError(f"a {type(value).__name__} is nothing that a rehearsal computes")
        elif not is_box(value):
            raise TypeError(
                f"a {type(value).__name__} is nothing to decrypt: give encrypted values, the bytes of a "
                "result or an upload, or the path of a file with them"
            )

    def _read(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: self._read(one) for name, one in value.items()}
        if isinstance(value, (list, tuple)):
            listed = [self._read(one) for one in value]
            return tuple(listed) if isinstance(value, tuple) else listed
        if isinstance(value, EncryptedTable):
            columns = {name: column._read(self._reader) for name, column in value.items()}
            units = {name: column.unit for name, column in value.items()}
            return self._maker.table(Clear(columns, units, value.rows))
        if isinstance(value, Encrypted_):
            read, rows = value._read(self._reader), getattr(value, "rows", ())
            if not isinstance(read, np.ndarray) or len(read) != len(rows):
                return read
            units = {value.name: getattr(value, "unit", "")}
            return self._maker.column(Clear({value.name: read}, units, rows))
        opened = None if self._open is None else self._open(value)
        if not isinstance(opened, Clear):
            return opened
        is_one = len(opened.columns) == 1
        return self._maker.column(opened) if is_one else self._maker.table(opened)
