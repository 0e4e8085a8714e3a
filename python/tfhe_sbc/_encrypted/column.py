"""Encrypted columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from .. import _native
from .base import (
    Operand,
    Part,
    Places,
    Reader,
    check_axis,
    is_clear_number,
    named,
    numbered,
    place_of,
    state,
)
from .functions import where
from .mask import EncryptedMask
from .numeric import EncryptedScalar, Numeric
from .rows import InRows
from .selection import EncryptedSelection
from .statistic import EncryptedStatistic, StatisticOfColumn, check_percentile, places_between
from .windows import cumulative


class EncryptedColumn(InRows, Numeric):
    """An encrypted column of readings.

    Operators and reductions are those of a numpy array; what they give is encrypted. Clear and
    encrypted operands are numbers, arrays of as many rows, columns and scalars.
    """

    __slots__ = ("rows",)

    #: The rows' labels, in the clear.
    rows: Sequence[str]

    def __init__(
        self,
        number: _native.Number,
        name: str,
        unit: str,
        rows: Sequence[str],
        whole: bool = False,
    ) -> None:
        self._number = number
        self.name = named(name)
        self.unit = unit
        self.rows = rows
        self._whole = whole

    if TYPE_CHECKING:
        # What meets rows has rows.
        def __add__(self, other: Operand) -> EncryptedColumn: ...
        def __radd__(self, other: Operand) -> EncryptedColumn: ...
        def __sub__(self, other: Operand) -> EncryptedColumn: ...
        def __rsub__(self, other: Operand) -> EncryptedColumn: ...
        def __mul__(self, other: Operand) -> EncryptedColumn: ...
        def __rmul__(self, other: Operand) -> EncryptedColumn: ...
        def clip(
            self, low: Operand | None = None, high: Operand | None = None
        ) -> EncryptedColumn: ...

    def _with_gaps(self) -> _native.Optional:
        return _native.Optional.whole(self._number)

    def _taken(self, places: Sequence[int]) -> EncryptedColumn:
        rows = [self.rows[place] for place in places]
        return EncryptedColumn(
            self._number.take(list(places)), self.name, self.unit, rows, self._whole
        )

    def __repr__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        low, high = self.range
        return (
            f"<EncryptedColumn {self.name!r}, {len(self)} rows, {low:g} to {high:g}{unit} in steps "
            f"of {self.scale:g}, {state(self)}>"
        )

    @overload
    def __getitem__(self, key: int) -> EncryptedScalar: ...
    @overload
    def __getitem__(self, key: EncryptedMask) -> EncryptedSelection: ...
    @overload
    def __getitem__(self, key: Places) -> EncryptedColumn: ...
    def __getitem__(
        self, key: int | EncryptedMask | Places
    ) -> EncryptedScalar | EncryptedSelection | EncryptedColumn:
        """Rows: one by its place, some by a slice, places or clear booleans, or those that meet an
        encrypted condition, which have reductions only. The unit stays."""
        if isinstance(key, EncryptedMask):
            return EncryptedSelection(self, key)
        if isinstance(key, (int, np.integer)) and not isinstance(key, (bool, np.bool_)):
            place = place_of(int(key), len(self))
            return EncryptedScalar(
                self._number.item(place), f"{self.name}[{place}]", self.unit, self._whole
            )
        return self._at(key)  # type: ignore[arg-type]

    # Rows in their order.

    def cumsum(
        self, axis: object = None, dtype: object = None, out: object = None
    ) -> EncryptedColumn:
        """The sum of the rows up to each row, in the same unit. Of compact columns it takes no bootstrap."""
        check_axis(axis, out, dtype=dtype)
        return cumulative(self, "cumsum")

    def cummin(self) -> EncryptedColumn:
        """The smallest of the rows up to each row, in the same unit."""
        return cumulative(self, "cummin")

    def cummax(self) -> EncryptedColumn:
        """The largest of the rows up to each row, in the same unit."""
        return cumulative(self, "cummax")

    # What is missing: nothing. EncryptedOptionalColumn has readings that are.

    def isna(self) -> EncryptedMask:
        """The rows whose number is missing: none."""
        missing = ~self.notna()
        missing.name = named(f"isna({self.name})")
        return missing

    def notna(self) -> EncryptedMask:
        """The rows that have a number: all."""
        return self._mask(_native.Optional.whole(self._number).valid, f"notna({self.name})")

    def fillna(self, value: Operand) -> EncryptedColumn:
        """This column, because nothing of it is missing."""
        return self

    # Reductions.

    def count(self) -> EncryptedScalar:
        """The number of rows."""
        return EncryptedScalar(self.notna()._mask.count(), f"count({self.name})", "", True)

    def _scalar(self, number: _native.Number, function: str) -> EncryptedScalar:
        return EncryptedScalar(number, f"{function}({self.name})", self.unit, self._whole)

    def sum(self, axis: object = None, dtype: object = None, out: object = None) -> EncryptedScalar:
        """The sum. For readings as they were loaded, it is begun on whole polynomials."""
        check_axis(axis, out, dtype=dtype)
        return self._scalar(self._number.sum(), "sum")

    def mean(
        self, axis: object = None, dtype: object = None, out: object = None
    ) -> EncryptedScalar:
        """The mean, exact: the sum with a smaller step."""
        check_axis(axis, out, dtype=dtype)
        mean = self._number.sum().affine(1.0 / len(self), 0.0)
        return EncryptedScalar(mean, f"mean({self.name})", self.unit)

    def min(self, axis: object = None, out: object = None) -> EncryptedScalar:
        """The smallest."""
        check_axis(axis, out)
        return self._scalar(self._number.extreme(False), "min")

    def max(self, axis: object = None, out: object = None) -> EncryptedScalar:
        """The largest."""
        check_axis(axis, out)
        return self._scalar(self._number.extreme(True), "max")

    def ptp(self, axis: object = None, out: object = None) -> EncryptedScalar:
        """The largest less the smallest."""
        check_axis(axis, out)
        difference: EncryptedScalar = self.max() - self.min()
        difference.name = named(f"range({self.name})")
        return difference

    def argmin(self, axis: object = None, out: object = None) -> EncryptedScalar:
        """The first row of the smallest, from 0."""
        check_axis(axis, out)
        return EncryptedScalar(self._number.place(False)[0], f"argmin({self.name})", "", True)

    def argmax(self, axis: object = None, out: object = None) -> EncryptedScalar:
        """The first row of the largest, from 0."""
        check_axis(axis, out)
        return EncryptedScalar(self._number.place(True)[0], f"argmax({self.name})", "", True)

    def idxmin(self) -> EncryptedStatistic:
        """The label of the first row of the smallest, and the smallest."""
        return self._labelled(False, "argmin")

    def idxmax(self) -> EncryptedStatistic:
        """The label of the first row of the largest, and the largest."""
        return self._labelled(True, "argmax")

    def _labelled(self, largest: bool, function: str) -> EncryptedStatistic:
        index, value = self._number.place(largest)
        rows = self.rows

        def finish(code: int, place: int) -> tuple[str, float]:
            return (rows[place], self._decoded([code])[0].item())

        name = f"{function}({self.name})"
        return EncryptedStatistic("place", [value, index], finish, name, self.unit, rows)

    def var(
        self, axis: object = None, dtype: object = None, out: object = None, ddof: int = 0
    ) -> EncryptedStatistic:
        """The variance, over ``len - ddof``."""
        check_axis(axis, out, dtype=dtype)
        return self._spread(ddof, False)

    def std(
        self, axis: object = None, dtype: object = None, out: object = None, ddof: int = 0
    ) -> EncryptedStatistic:
        """The standard deviation, over ``len - ddof``."""
        check_axis(axis, out, dtype=dtype)
        return self._spread(ddof, True)

    def _spread(self, ddof: int, root: bool) -> EncryptedStatistic:
        count, scale = len(self), self._number.scale
        if not 0 <= ddof < count:
            raise ValueError(f"ddof={ddof} needs more than {ddof} rows: there are {count}")

        def finish(total: int, squares: int) -> float:
            variance = (count * squares - total * total) / (count * (count - ddof)) * scale**2
            return math.sqrt(variance) if root else variance

        kind = {(0, False): "variance", (0, True): "std"}.get((ddof, root))
        kind = kind or {(1, False): "sample_variance", (1, True): "sample_std"}.get(
            (ddof, root), ""
        )
        values = [self._number.sum(), self._number.sum_of_squared_codes()]
        name = f"{'std' if root else 'var'}({self.name})"
        unit = self.unit if root or not self.unit else f"({self.unit})²"
        return StatisticOfColumn(self._number, kind, values, finish, name, unit)

    def median(self, axis: object = None, out: object = None) -> EncryptedScalar:
        """The median; for an even number of rows, the mean of the two in the middle."""
        check_axis(axis, out)
        return self.percentile(50.0)

    def percentile(self, q: float, method: str = "linear") -> EncryptedScalar:
        """The ``q``-th percentile, ``q`` from 0 to 100, as numpy has it.

        Args:
            method: ``"linear"`` between the two nearest rows, ``"lower"``, ``"higher"``, or
                ``"inverted_cdf"``, the smallest that at least ``q`` percent do not exceed.
        """
        check_percentile(q)
        name = f"percentile({self.name}, {q:g})"
        low, high, way = places_between(q, len(self), method)
        # Between two rows, in hundredths of the way.
        hundredths = round(way * 100.0)
        if hundredths == 0:
            high = low
        elif hundredths == 100:
            low = high
        number = self._number.rank(low)
        if high != low:
            above = self._number.rank(high).affine(hundredths / 100.0, 0.0)
            number = number.affine((100 - hundredths) / 100.0, 0.0).add(above, 1.0)
        return EncryptedScalar(number, name, self.unit, self._whole and low == high)

    def quantile(self, q: float = 0.5, method: str = "linear") -> EncryptedScalar:
        """The ``q``-th quantile, ``q`` from 0 to 1. See :meth:`percentile`."""
        return self.percentile(100.0 * q if is_clear_number(q) else q, method)

    def _histogram(self, edges: NDArray[np.float64], closed: bool) -> _native.Number:
        return self._number.histogram(edges.tolist(), closed)

    def sort(self, descending: bool = False) -> EncryptedColumn:
        """Its numbers in order."""
        return self.top_k(len(self), largest=descending)

    def top_k(self, k: int, largest: bool = True) -> EncryptedColumn:
        """The ``k`` largest, the largest first; with ``largest=False`` the smallest."""
        if not 1 <= k <= len(self):
            raise ValueError(f"the first {k} of {len(self)} rows: give 1 to {len(self)}")
        number = self._number.sorted(largest, int(k))
        name = f"{'top' if largest else 'bottom'}_{k}({self.name})"
        return EncryptedColumn(number, name, self.unit, numbered(int(k)), self._whole)

    @overload
    def where(self, condition: EncryptedMask) -> EncryptedSelection: ...
    @overload
    def where(self, condition: EncryptedMask, other: Operand) -> EncryptedColumn: ...
    def where(
        self, condition: EncryptedMask, other: Operand | None = None
    ) -> EncryptedSelection | EncryptedColumn:
        """The rows that meet a condition, or ``other`` where they do not."""
        if other is None:
            return EncryptedSelection(self, condition)
        return where(condition, self, other)

    def _read(self, reader: Reader) -> NDArray[Any]:
        return self._decoded(reader.codes(self._number))

    def _sealed(self) -> tuple[str, list[Part], str, list[str]]:
        return ("numbers", [self._number], self.unit, list(self.rows))
