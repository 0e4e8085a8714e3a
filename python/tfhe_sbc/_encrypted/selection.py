"""The rows of a column that an encrypted condition selects."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NoReturn

from .. import _native
from .base import Part
from .mask import EncryptedMask
from .numeric import EncryptedScalar, EncryptedStatistic

if TYPE_CHECKING:
    from .column import EncryptedColumn


class EncryptedSelection:
    """The rows of a column that meet an encrypted condition: ``column[mask]``.

    Which rows they are nobody knows, so they have no length and no rows, but reductions. ``sum``
    and ``count`` have a form as bytes; the others get their value when they are decrypted.
    """

    __array_ufunc__ = None

    def __init__(self, column: EncryptedColumn, mask: EncryptedMask) -> None:
        if not isinstance(mask, EncryptedMask) or mask.ndim != 1:
            raise TypeError("rows are selected by an EncryptedMask, such as column > 30")
        if len(mask) != len(column):
            raise ValueError(f"a condition on {len(mask)} rows selects none of {len(column)}")
        self._column = column
        self._mask = mask

    def count(self) -> EncryptedScalar:
        """The number of selected rows."""
        return self._mask.sum()

    def _total(self) -> _native.Number:
        number = self._column._number
        total = number.keep(self._mask._mask).sum()
        if number.offset == 0:
            return total
        count = self._mask._mask.count()
        return total.add(count, number.offset)

    def _label(self, function: str) -> str:
        return f"{function}({self._column.name} where {self._mask.name})"

    def sum(self) -> EncryptedScalar:
        """Their sum; 0 if there are none."""
        column = self._column
        return EncryptedScalar(self._total(), self._label("sum"), column.unit, column._whole)

    def mean(self) -> EncryptedStatistic:
        """Their mean; NaN if there are none."""
        number = self._column._number
        codes = number.keep(self._mask._mask).sum()
        count = self._mask._mask.count()

        def finish(total: int, rows: int) -> float:
            return number.offset + number.scale * total / rows if rows else math.nan

        return EncryptedStatistic(
            "", [codes, count], finish, self._label("mean"), self._column.unit
        )

    def min(self) -> EncryptedStatistic:
        """The smallest of them; NaN if there are none."""
        return self._extreme(False)

    def max(self) -> EncryptedStatistic:
        """The largest of them; NaN if there are none."""
        return self._extreme(True)

    def _extreme(self, largest: bool) -> EncryptedStatistic:
        number = self._column._number
        last = number.offset if largest else number.maximum
        extreme = number.select_clear(self._mask._mask, last).extreme(largest)

        def finish(code: int, any_row: bool) -> float:
            return extreme.decoded([code])[0].item() if any_row else math.nan

        name = self._label("max" if largest else "min")
        parts: list[Part] = [extreme, self._mask._mask.any()]
        return EncryptedStatistic("", parts, finish, name, self._column.unit)

    def _no_operand(self, *_: object) -> NoReturn:
        raise TypeError(
            "which rows are selected nobody knows, so they are no operand: compare the column, or "
            "what a reduction such as sum() gives"
        )

    __lt__ = __le__ = __gt__ = __ge__ = _no_operand
    __eq__ = __ne__ = _no_operand
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"<EncryptedSelection of {self._column.name!r} where {self._mask.name!r}>"
