"""Decryption of whatever was computed: values, tables, uploads, and lists and dicts of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Union, overload

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._answers import Opened, Result, by_question, framed
from ._encrypted import (
    Columns_,
    Encrypted_,
    EncryptedColumn,
    EncryptedMask,
    EncryptedOptionalColumn,
    EncryptedScalar,
    EncryptedSelection,
    EncryptedStatistic,
    EncryptedSummary,
    EncryptedSummaryTable,
    EncryptedTable,
    EncryptedTableSelection,
    Reader,
    compute,
)
from ._encryptor import PathLike
from ._files import Box, is_box
from ._frames import Clear, Form, maker
from ._progress import Progress

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

#: What can be decrypted.
Decryptable = Union[
    Encrypted_,
    Columns_,
    Box,
    "Sequence[Decryptable]",
    "Mapping[str, Decryptable]",
]
#: A column or a table in the clear.
Table = Union[
    NDArray[np.float64],
    dict[str, NDArray[np.float64]],
    "pandas.Series[float]",
    "pandas.DataFrame",
    "polars.DataFrame",
    "pyarrow.Table",
]
#: What somebody can have decrypted.
Decrypted = Union[Result, Table, "list[Decrypted]", "tuple[Decrypted, ...]", "dict[str, Decrypted]"]
#: What has rows.
_Rows = Union[EncryptedColumn, EncryptedOptionalColumn, EncryptedMask, EncryptedSummary]
#: What has rows and columns.
_Tables = Union[EncryptedTable, EncryptedSummaryTable]
_ToNumpy = Union[Literal["numpy"], None]


#: The number of rows that are read at once of columns that are too long to be loaded.
_SLICE = 1024


def _rows_of(value: object) -> int:
    """The number of rows; 0 of a single number."""
    return len(getattr(value, "rows", ()))


class Decrypts(ABC):
    """A party that reads what was computed."""

    @abstractmethod
    def _decryption(self, device_keys: PathLike | None, to: Form | None) -> Decryption: ...

    # Single numbers are what they are whatever `to` is; other values have the form that it says. A single truth
    # value is a bool, which types do not know.
    @overload
    def decrypt(
        self,
        value: EncryptedScalar,
        progress: Progress = None,
        *,
        device_keys: PathLike | None = None,
        to: Form | None = None,
    ) -> float: ...
    @overload
    def decrypt(
        self,
        value: EncryptedStatistic,
        progress: Progress = None,
        *,
        device_keys: PathLike | None = None,
        to: Form | None = None,
    ) -> float | tuple[str, float]: ...
    @overload
    def decrypt(
        self,
        value: EncryptedColumn | EncryptedOptionalColumn | EncryptedSummary,
        progress: Progress = None,
        *,
        device_keys: PathLike | None = None,
        to: _ToNumpy = None,
    ) -> NDArray[np.float64]: ...
    @overload
    def decrypt(
        self,
        value: EncryptedMask,
        progress: Progress = None,
        *,
        device_keys: PathLike | None = None,
        to: _ToNumpy = None,
    ) -> NDArray[np.bool_]: ...
    @overload
    def decrypt(
        self,
        value: _Tables,
        progress: Progress = None,
        *,
        device_keys: PathLike | None = None,
        to: Literal["numpy"],
    ) -> dict[str, NDArray[np.float64]]: ...
    @overload
    def decrypt(
        self,
        value: _Tables,
        progress: Progress = None,
        *,
        device_keys: PathLike | None = None,
        to: Literal["pandas"] | None = None,
    ) -> pandas.DataFrame: ...
    @overload
    def decrypt(
        self,
        value: _Rows,
        progress: Progress = None,
        *,
        device_keys: PathLike | None = None,
        to: Literal["pandas"],
    ) -> pandas.Series[float]: ...
    @overload
    def decrypt(
        self,
        value: _Rows | _Tables,
        progress: Progress = None,
        *,
        device_keys: PathLike | None = None,
        to: Literal["polars"],
    ) -> polars.DataFrame: ...
    @overload
    def decrypt(
        self,
        value: _Rows | _Tables,
        progress: Progress = None,
        *,
        device_keys: PathLike | None = None,
        to: Literal["arrow"],
    ) -> pyarrow.Table: ...
    @overload
    def decrypt(
        self,
        value: Mapping[str, Decryptable],
        progress: Progress = None,
        *,
        device_keys: PathLike | None = None,
        to: Form | None = None,
    ) -> dict[str, Decrypted]: ...
    @overload
    def decrypt(
        self,
        value: Decryptable,
        progress: Progress = None,
        *,
        device_keys: PathLike | None = None,
        to: Form | None = None,
    ) -> Decrypted: ...
    def decrypt(
        self,
        value: Decryptable,
        progress: Progress = None,
        *,
        device_keys: PathLike | None = None,
        to: Form | None = None,
    ) -> Decrypted:
        """Decrypts what was computed, and computes it before if it was not.

        Args:
            value: an encrypted column, number, mask or table; a result, or several results that follow one
                another, or an upload, as bytes or as the path of their file; or a list, a tuple or a dict
                of these, which are computed together. A rehearsal has what it computes only.
            progress: of the computation, as in :func:`tfhe_sbc.compute`.
            device_keys: the directory of switch keys that questions were asked with, if they were
                asked with ``device_keys``, and that uploads under the keys of devices need.
            to: what columns, masks and tables become: arrays and dicts of arrays with ``"numpy"``, Series
                and DataFrames with ``"pandas"``, DataFrames with ``"polars"``, and tables of pyarrow with
                ``"arrow"``. If it is not given, columns are arrays, and tables are DataFrames of pandas if
                that is installed.

        Returns:
            Of a column a numpy array of its numbers, whole ones if they are counts; of a mask one
            of booleans; of a single value a float, an int or a bool. Of a table, or an upload with
            several columns, a DataFrame, whose index has the labels of its rows: moments, if all of them
            are, or whole numbers, else texts. In polars and Arrow these are the first column, ``time`` or
            ``row``, and what is missing is null instead of NaN. Of a list a list, of a dict a dict. Of a
            result with several answers a dict from names to those. An answer for groups is a dict from
            groups to values: from the names of devices, the moments at which periods begin, or pairs of
            these; with ``to``, answers for groups are a table with a row for each.

        Raises:
            KeyMismatch: it is of another key set, or needs a switch key that is not in ``device_keys``.
            FormatError: bytes that are neither a result nor an upload.
            ImportError: the library of ``to`` is not installed.
        """
        return self._decryption(device_keys, to).of(value, progress)


class Decryption:
    """How values are read.

    Args:
        reader: the party that reads computed values.
        open: what opens the answers of a result, or the table of an upload; `None` if nobody does.
        to: what columns and tables become.
    """

    def __init__(
        self, reader: Reader, open: Callable[[Box], list[Opened] | Clear] | None, to: Form | None
    ) -> None:
        self._reader = reader
        self._open = open
        self._to = to
        self._maker = maker(to)
        self._progress: Progress = None
        self._in_slices: set[int] = set()

    def of(self, value: Decryptable, progress: Progress = None) -> Decrypted:
        """What a value is in the clear. Everything in it is computed together before."""
        self._progress = progress
        values = list(self._encrypted_in(value))
        try:
            compute(*values, progress=progress)
        except _native.TooLarge:
            # More rows than are loaded at once: those of long columns are computed and read slice by slice.
            self._in_slices = {id(one) for one in values if _rows_of(one) > _SLICE}
            compute(*(one for one in values if id(one) not in self._in_slices), progress=progress)
        decrypted: Decrypted = self._read(value)
        return decrypted

    def _values_of(self, value: Any) -> Any:
        """The numbers or truth values of an encrypted value."""
        if id(value) not in self._in_slices:
            return value._read(self._reader)
        slices = []
        for start in range(0, _rows_of(value), _SLICE):
            rows = value[start : start + _SLICE]
            compute(rows, progress=self._progress)
            slices.append(rows._read(self._reader))
        return np.concatenate(slices)

    def _encrypted_in(self, value: Any) -> Iterator[Any]:
        """The encrypted values in lists, dicts and tables."""
        if isinstance(value, (Mapping, Columns_)):
            for _, one in value.items():
                yield from self._encrypted_in(one)
        elif isinstance(value, (list, tuple)):
            for one in value:
                yield from self._encrypted_in(one)
        elif isinstance(value, Encrypted_):
            yield value
        elif isinstance(value, (EncryptedSelection, EncryptedTableSelection)):
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
        if isinstance(value, Columns_):
            columns = {name: self._values_of(column) for name, column in value.items()}
            units = {name: column.unit for name, column in value.items()}
            keys = getattr(value, "_keys", None)
            rows: Sequence[str] = getattr(value, "rows", ())
            return self._maker.table(Clear(columns, units, rows, keys))
        if isinstance(value, Encrypted_):
            read, rows = self._values_of(value), getattr(value, "rows", ())
            if not isinstance(read, np.ndarray) or len(read) != len(rows):
                return read
            if read.ndim == 2:
                # Several numbers a row.
                if self._to in (None, "numpy"):
                    return read
                numbers = {f"{value.name}[{place}]": one for place, one in enumerate(read.T)}
                return self._maker.table(Clear(numbers, {}, rows))
            units = {value.name: getattr(value, "unit", "")}
            keys = getattr(value, "_keys", None)
            return self._maker.column(Clear({value.name: read}, units, rows, keys))
        assert self._open is not None
        opened = self._open(value)
        if not isinstance(opened, Clear):
            if self._to in (None, "numpy"):
                return by_question(opened)
            return framed(opened, self._maker)
        is_one = len(opened.columns) == 1
        return self._maker.column(opened) if is_one else self._maker.table(opened)
