"""Encrypted truth values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Union

import numpy as np
from numpy.typing import NDArray

from .. import _native
from .._readings import Series
from .base import (
    Encrypted_,
    Operand,
    Part,
    Places,
    Reader,
    check_axis,
    named,
    place_of,
    places_of,
    shown,
    state,
)
from .clear import clear_labels, clear_rows, in_order_of
from .numeric import EncryptedScalar

if TYPE_CHECKING:
    from .column import EncryptedColumn
    from .grouping import By
    from .groups import GroupedColumn
    from .windows import EncryptedRolling

#: Clear truth values: a single one, or one for each row.
Truths = Union[bool, np.bool_, NDArray[np.bool_], Sequence[bool], Series]


class EncryptedMask(Encrypted_):
    """Encrypted truth values: one a row, or a single one.

    ``&``, ``|``, ``^`` and ``~`` combine them, with each other and with clear booleans.
    """

    __slots__ = ("_mask", "rows")

    #: The rows' labels, in the clear; none of a single truth value.
    rows: Sequence[str]

    def __init__(self, mask: _native.Mask, name: str, rows: Sequence[str]) -> None:
        self._mask = mask
        self.name = named(name)
        self.rows = rows if mask.rows is not None else ()

    def _parts(self) -> list[Part]:
        return [self._mask]

    @property
    def ndim(self) -> int:
        """1; 0 for a single truth value."""
        return 0 if self._mask.rows is None else 1

    @property
    def shape(self) -> tuple[int, ...]:
        """Its number of rows, as numpy has it."""
        return () if self._mask.rows is None else (self._mask.rows,)

    def __len__(self) -> int:
        if self._mask.rows is None:
            raise TypeError("a single encrypted truth value has no len()")
        return self._mask.rows

    def __iter__(self) -> NoReturn:
        raise TypeError("encrypted truth values are not looped over: use &, |, ~, sum, any and all")

    def __repr__(self) -> str:
        rows = "a single one" if self._mask.rows is None else f"{self._mask.rows} rows"
        return f"<EncryptedMask {self.name!r}, {rows}, {state(self)}>"

    def _logic(
        self, other: object, sign: str, apply: Callable[[_native.Mask, _native.Mask], _native.Mask]
    ) -> EncryptedMask:
        if isinstance(other, EncryptedMask):
            mask = other._mask
        elif isinstance(other, (bool, np.bool_)):
            mask = self._mask.constant(bool(other))
        elif isinstance(other, Encrypted_):
            raise TypeError(f"{sign} combines conditions, not numbers: compare first")
        else:
            clear = clear_rows(other, self.rows)
            if clear is None or clear.dtype.kind != "b":
                return NotImplemented  # type: ignore[no-any-return]
            mask = self._mask.public(clear.tolist())
        rows = self.rows or (other.rows if isinstance(other, EncryptedMask) else ())
        result = apply(self._mask, mask)
        if result.rows is not None and not rows:
            rows = clear_labels(other, result.rows)
        return EncryptedMask(result, f"({self.name} {sign} {shown(other)})", rows)

    def __and__(self, other: EncryptedMask | Truths) -> EncryptedMask:
        """True where both hold.

        Args:
            other: a mask or clear booleans of as many rows, or a single truth value.

        Returns:
            A mask of as many rows; a single truth value if neither has rows.
        """
        return self._logic(other, "&", _native.Mask.logical_and)

    def __or__(self, other: EncryptedMask | Truths) -> EncryptedMask:
        """True where one of the two holds, or both. See :meth:`__and__`."""
        return self._logic(other, "|", _native.Mask.logical_or)

    def __xor__(self, other: EncryptedMask | Truths) -> EncryptedMask:
        """True where one of the two holds and the other does not. See :meth:`__and__`."""
        return self._logic(other, "^", _native.Mask.logical_xor)

    __rand__ = __and__
    __ror__ = __or__
    __rxor__ = __xor__

    def __invert__(self) -> EncryptedMask:
        """True where it does not hold, row by row."""
        return EncryptedMask(self._mask.logical_not(), f"~{self.name}", self.rows)

    def __eq__(self, other: object) -> EncryptedMask:  # type: ignore[override]
        """True where both hold or neither does. See :meth:`__and__`."""
        return ~self._different(other, "==")

    def __ne__(self, other: object) -> EncryptedMask:  # type: ignore[override]
        """True where one of the two holds and the other does not. See :meth:`__and__`."""
        return self._different(other, "!=")

    def _different(self, other: object, sign: str) -> EncryptedMask:
        different = self._logic(other, sign, _native.Mask.logical_xor)
        if different is NotImplemented:
            raise TypeError(
                f"{self.name} is compared with conditions and booleans, not with {other!r}: to "
                "compare numbers, use sum() or ts.where()"
            )
        return different

    __hash__ = Encrypted_.__hash__

    def sum(self, axis: object = None, dtype: object = None, out: object = None) -> EncryptedScalar:
        """The number of rows in which they hold."""
        check_axis(axis, out, dtype=dtype)
        return EncryptedScalar(self._mask.count(), f"count{self._in_parentheses()}", "", True)

    count = sum

    def mean(
        self, axis: object = None, dtype: object = None, out: object = None
    ) -> EncryptedScalar:
        """The share of rows in which they hold."""
        check_axis(axis, out, dtype=dtype)
        share = self._mask.count().affine(1.0 / max(self._mask.rows or 1, 1), 0.0)
        return EncryptedScalar(share, f"mean{self._in_parentheses()}", "")

    def any(self, axis: object = None, out: object = None) -> EncryptedMask:
        """A single truth value: true if any of them holds."""
        check_axis(axis, out)
        return EncryptedMask(self._mask.any(), f"any{self._in_parentheses()}", ())

    def all(self, axis: object = None, out: object = None) -> EncryptedMask:
        """A single truth value: true if all of them hold."""
        check_axis(axis, out)
        return EncryptedMask(self._mask.all(), f"all{self._in_parentheses()}", ())

    def where(self, a: Operand, b: Operand) -> EncryptedColumn | EncryptedScalar:
        """``a`` where it holds and ``b`` where it does not. See :func:`tfhe_sbc.where`."""
        from .functions import where

        return where(self, a, b)

    def __mul__(self, other: EncryptedColumn) -> EncryptedColumn:
        """The column where this holds, and 0 where it does not, in the unit of the column.

        Args:
            other: a column of as many rows.
        """
        from .column import EncryptedColumn
        from .functions import where

        if not isinstance(other, EncryptedColumn):
            return NotImplemented
        return where(self, other, 0)

    __rmul__ = __mul__

    # What counts rows takes it for a column of 0 and 1.

    def _as_column(self) -> EncryptedColumn:
        """1 where it holds and 0 where it does not, without a unit."""
        from .column import EncryptedColumn

        if self._mask.rows is None:
            raise TypeError("a single encrypted truth value has no rows")
        return EncryptedColumn(self._mask.as_number(), self.name, "", self.rows, True)

    def groupby(self, by: By) -> GroupedColumn:
        """Its rows in groups, as 0 and 1: ``sum`` counts those that hold. See :meth:`EncryptedColumn.groupby`."""
        return self._as_column().groupby(by)

    def resample(self, rule: str) -> GroupedColumn:
        """Its rows by periods, as 0 and 1: ``sum`` counts those that hold. See :meth:`EncryptedColumn.resample`."""
        return self._as_column().resample(rule)

    def rolling(self, window: int, min_periods: int | None = None) -> EncryptedRolling:
        """Windows of its rows, as 0 and 1: ``rolling(5).sum() >= 3`` holds where 3 of the last 5 rows do."""
        return self._as_column().rolling(window, min_periods)

    def _in_parentheses(self) -> str:
        return self.name if self.name.startswith("(") else f"({self.name})"

    def __getitem__(self, key: int | Places) -> EncryptedMask:
        """Rows: one by its place, as a single truth value, or some by a slice, places or clear booleans."""
        count = len(self)
        if isinstance(key, (int, np.integer)) and not isinstance(key, (bool, np.bool_)):
            place = place_of(int(key), count)
            return EncryptedMask(self._mask.item(place), f"{self.name}[{place}]", ())
        places = places_of(in_order_of(key, self.rows), count)
        if not places:
            raise IndexError("no rows are left: an encrypted mask has at least one")
        rows = [self.rows[place] for place in places]
        return EncryptedMask(self._mask.take(places), self.name, rows)

    def _read(self, reader: Reader) -> Any:
        truths = reader.truths(self._mask)
        return truths[0] if self._mask.rows is None else np.array(truths, dtype=np.bool_)

    def _sealed(self) -> tuple[str, list[Part], str, list[str]]:
        return ("rows", [self._mask], "", list(self.rows) or [""])
