"""The rows of a column that an encrypted condition selects."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from .. import _native
from .advice import Advises
from .base import NoOperand
from .mask import EncryptedMask
from .numeric import EncryptedScalar
from .statistic import EncryptedStatistic
from .summary import Reduces

if TYPE_CHECKING:
    from .base import Bins
    from .column import EncryptedColumn
    from .optional import EncryptedOptionalColumn


class EncryptedSelection(NoOperand, Reduces, Advises):
    """The rows of a column that meet an encrypted condition: ``column[mask]``.

    Which rows they are nobody knows, so they have no length and no rows, but reductions: those of a column in which the
    other rows are missing.
    """

    __array_ufunc__ = None

    def __init__(
        self, column: EncryptedColumn | EncryptedOptionalColumn, mask: EncryptedMask
    ) -> None:
        from .optional import EncryptedOptionalColumn

        if not isinstance(mask, EncryptedMask) or mask.ndim != 1:
            raise TypeError("rows are selected by an EncryptedMask, such as column > 30")
        if len(mask) != len(column):
            raise ValueError(f"a condition on {len(mask)} rows selects none of {len(column)}")
        name = f"{column.name} where {mask.name}"
        if isinstance(column, EncryptedOptionalColumn):
            mask = mask & column.notna()
        self._mask = mask
        self._whole = getattr(column, "_whole", False)
        rows = _native.Optional.masked(column._number, mask._mask)
        #: The column in which the other rows are missing.
        self._rows = EncryptedOptionalColumn(rows, name, column.unit, column.rows)

    @property
    def name(self) -> str:
        """The names of the column and of the condition."""
        return self._rows.name

    @property
    def unit(self) -> str:
        """The unit of its numbers."""
        return self._rows.unit

    def count(self) -> EncryptedScalar:
        """The number of selected rows."""
        return self._mask.sum()

    def sum(self) -> EncryptedScalar:
        """Their sum; 0 if there are none."""
        total = self._rows.sum()
        total._whole = self._whole
        return total

    def mean(self) -> EncryptedStatistic:
        """Their mean; NaN if there are none."""
        return self._rows.mean()

    def min(self) -> EncryptedStatistic:
        """The smallest of them; NaN if there are none."""
        return self._rows.min()

    def max(self) -> EncryptedStatistic:
        """The largest of them; NaN if there are none."""
        return self._rows.max()

    def ptp(self) -> EncryptedStatistic:
        """The largest less the smallest of them; NaN if there are none."""
        return self._rows.ptp()

    def idxmin(self) -> EncryptedStatistic:
        """The label of the first row of the smallest, and the smallest; NaN if there are none."""
        return self._rows.idxmin()

    def idxmax(self) -> EncryptedStatistic:
        """The label of the first row of the largest, and the largest; NaN if there are none."""
        return self._rows.idxmax()

    def var(self, ddof: int = 0) -> EncryptedStatistic:
        """Their variance, over their number less ``ddof``; NaN if there are not more than ``ddof``."""
        return self._rows.var(ddof=ddof)

    def std(self, ddof: int = 0) -> EncryptedStatistic:
        """The root of the variance. See :meth:`var`."""
        return self._rows.std(ddof=ddof)

    def median(self) -> EncryptedStatistic:
        """Their median; NaN if there are none. See :meth:`EncryptedOptionalColumn.percentile`."""
        return self._rows.median()

    def percentile(self, q: float, method: str = "linear") -> EncryptedStatistic:
        """Their ``q``-th percentile. See :meth:`EncryptedOptionalColumn.percentile`."""
        return self._rows.percentile(q, method)

    def quantile(self, q: float = 0.5, method: str = "linear") -> EncryptedStatistic:
        """Their ``q``-th quantile, ``q`` from 0 to 1. See :meth:`EncryptedOptionalColumn.percentile`."""
        return self._rows.quantile(q, method)

    def histogram(
        self, bins: Bins = 10, range: tuple[float, float] | None = None
    ) -> EncryptedColumn:
        """The number of them in each bin. See :meth:`EncryptedColumn.histogram`."""
        return self._rows.histogram(bins, range)

    def value_counts(self, bins: Bins | None = None, sort: bool = False) -> EncryptedColumn:
        """The number of them in each bin. See :meth:`EncryptedColumn.value_counts`."""
        return self._rows.value_counts(bins, sort)

    def _why_no_operand(self) -> str:
        return (
            "which rows are selected nobody knows, so they are no operand: compare the column, or "
            "what a reduction such as sum() gives"
        )

    def _no_rows(self, *_: object) -> NoReturn:
        raise TypeError(
            "which rows are selected nobody knows, so there are no single ones and no number of them in the clear: "
            "decrypt what count(), sum() or another reduction gives"
        )

    __len__ = __iter__ = __getitem__ = _no_rows

    def __repr__(self) -> str:
        return f"<EncryptedSelection of {self.name!r}>"
