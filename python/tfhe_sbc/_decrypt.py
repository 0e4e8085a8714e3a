"""Decryption of whatever was computed: values, tables, uploads, and lists and dicts of them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from ._encrypted import (
    Encrypted,
    Encrypted_,
    EncryptedOptionalColumn,
    EncryptedSelection,
    EncryptedTable,
    Reader,
    compute,
)
from ._files import Box
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

_NUMBER = re.compile("0|-?[1-9][0-9]{0,17}")
_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?(?P<zone>Z|[+-][0-9]{2}:[0-9]{2})?)?"
)


class Decryption:
    """How values are read.

    Args:
        reader: the party that reads computed values.
        open: what makes a value, or a :class:`Clear` table, of bytes and paths; `None` if nobody does.
        pandas: whether columns become Series and tables DataFrames; `None` if only tables do, where
            pandas is installed.
    """

    def __init__(
        self, reader: Reader, open: Callable[[Any], Any] | None, pandas: bool | None
    ) -> None:
        self._reader = reader
        self._open = open
        self._columns = bool(pandas)
        self._pandas = None if pandas is False else _pandas(required=bool(pandas))

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
        elif not isinstance(value, (bytes, bytearray, memoryview, str, os.PathLike)):
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
            return self._table(columns, value.rows)
        if isinstance(value, Encrypted_):
            return self._column(value._read(self._reader), value.name, getattr(value, "rows", ()))
        opened = None if self._open is None else self._open(value)
        if not isinstance(opened, Clear):
            return opened
        if len(opened.columns) > 1:
            return self._table(opened.columns, opened.rows)
        ((name, values),) = opened.columns.items()
        return self._column(values, name, opened.rows)

    def _table(self, columns: dict[str, NDArray[Any]], rows: Sequence[str]) -> Any:
        if self._pandas is None:
            return columns
        return self._pandas.DataFrame(columns, index=_index(self._pandas, rows))

    def _column(self, values: Any, name: str, rows: Sequence[str]) -> Any:
        is_list = isinstance(values, np.ndarray) and len(rows) == len(values)
        if not self._columns or not is_list or self._pandas is None:
            return values
        return self._pandas.Series(values, _index(self._pandas, rows), name=name)


class Clear:
    """A decrypted upload: its columns, and the labels of its rows."""

    def __init__(self, columns: dict[str, NDArray[np.float64]], rows: list[str]) -> None:
        self.columns = columns
        self.rows = rows


def _pandas(required: bool) -> Any:
    """pandas; `None` if it is not installed and need not be.

    Raises:
        ImportError: if it is not installed and is needed.
    """
    try:
        import pandas
    except ImportError:
        if required:
            raise ImportError(
                "pandas=True needs pandas, which is not installed: pip install pandas, or leave it out "
                "to have arrays"
            ) from None
        return None
    return pandas


def _index(pandas: Any, rows: Sequence[str]) -> Any:
    """An index of labels: of moments if all labels are such, of whole numbers likewise, else of texts."""
    if all(row == str(place) for place, row in enumerate(rows)):
        return pandas.RangeIndex(len(rows))
    if all(map(_NUMBER.fullmatch, rows)):
        return pandas.Index([int(row) for row in rows])
    moments = [_MOMENT.fullmatch(row) for row in rows]
    in_zones = {moment is not None and moment["zone"] is not None for moment in moments}
    if all(moments) and len(in_zones) == 1:
        try:
            return pandas.to_datetime(list(rows), format="ISO8601", utc=in_zones == {True})
        except ValueError:
            # As written as a moment, and none: the 31st of February.
            pass
    return pandas.Index(list(rows))
