"""Encrypted columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, overload

import numpy as np
from numpy.typing import NDArray

from .. import _native
from .base import (
    Bins,
    Encrypted_,
    Operand,
    Part,
    Places,
    Reader,
    check_axis,
    is_clear_number,
    named,
    numbered,
    place_of,
    places_of,
    state,
)
from .clear import in_order_of
from .functions import where
from .groups import By, EncryptedGroupValues, GroupedColumn, grouped_places, resampled_places
from .mask import EncryptedMask
from .numeric import EncryptedScalar, EncryptedStatistic, Numeric
from .selection import EncryptedSelection
from .windows import EncryptedRolling, cumulative, diff, shift

if TYPE_CHECKING:
    from .optional import EncryptedOptionalColumn


class EncryptedColumn(Numeric):
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

    # Its shape.

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def shape(self) -> tuple[int]:
        """Its number of rows, as numpy has it."""
        return (len(self.rows),)

    @property
    def ndim(self) -> int:
        """1."""
        return 1

    @property
    def size(self) -> int:
        """Its number of rows."""
        return len(self.rows)

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and the highest number that it can hold."""
        return (self._number.offset, self._number.maximum)

    @property
    def scale(self) -> float:
        """The step between its numbers."""
        return self._number.scale

    def __repr__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        low, high = self.range
        return (
            f"<EncryptedColumn {self.name!r}, {len(self)} rows, {low:g} to {high:g}{unit} in steps "
            f"of {self.scale:g}, {state(self)}>"
        )

    def __iter__(self) -> NoReturn:
        raise TypeError(
            "a loop over an encrypted column computes row by row, which is slow: use operators and "
            "reductions on the whole column, or column[i] for single rows"
        )

    def __contains__(self, value: object) -> bool:
        raise TypeError("use (column == value).any(), which stays encrypted")

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
        places = places_of(in_order_of(key, self.rows), len(self))
        if not places:
            raise IndexError("no rows are left: an encrypted column has at least one")
        rows = [self.rows[place] for place in places]
        return EncryptedColumn(self._number.take(places), self.name, self.unit, rows, self._whole)

    # Rows in their order.

    def rolling(self, window: int, min_periods: int | None = None) -> EncryptedRolling:
        """The windows of the last ``window`` rows up to each row, as pandas has them: ``rolling(24).mean()``.

        Args:
            window: the number of rows.
            min_periods: how many numbers a window needs to have a result, at most ``window``; ``window`` if
                not given.
        """
        return EncryptedRolling(self, window, min_periods)

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

    def shift(self, periods: int = 1) -> EncryptedOptionalColumn:
        """The number ``periods`` rows before each row, or after it if that is negative, in the same unit; missing where
        there is none. It takes no bootstrap."""
        return shift(self, periods)

    def diff(self, periods: int = 1) -> EncryptedOptionalColumn:
        """Each number less that ``periods`` rows before, or after if that is negative, in the same unit; missing where
        one of the two is. Of compact columns it takes no bootstrap."""
        return diff(self, periods)

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

    # Groups.

    def groupby(self, by: By) -> GroupedColumn:
        """Its rows in groups by clear keys.

        Args:
            by: ``"device"``, ``"hour"``, ``"weekday"``, ``"day"`` or ``"month"`` of the rows' labels, a function of
                a label, or a key for each row.
        """
        return GroupedColumn(self, grouped_places(by, self.rows))

    def resample(self, rule: str) -> GroupedColumn:
        """Its rows by periods such as ``"1h"`` or ``"1D"``, in pandas' words; the labels are times.

        Periods without rows are groups, too.
        """
        return GroupedColumn(self, resampled_places(rule, self.rows))

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
        return _Spread(self._number, kind, values, finish, name, unit)

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
        if not is_clear_number(q):
            raise TypeError(
                f"percentiles are computed one by one, not of {q!r}: call this for each, and "
                "ts.compute() them together"
            )
        if not 0 <= q <= 100:
            raise ValueError(f"a percentile is from 0 to 100, not {q}")
        name = f"percentile({self.name}, {q:g})"
        last = len(self) - 1
        place = q / 100.0 * last
        low, high = math.floor(place + 1e-9), math.ceil(place - 1e-9)
        if method == "inverted_cdf":
            low = high = max(math.ceil(q / 100.0 * len(self) - 1e-9), 1) - 1
        elif method == "lower":
            high = low
        elif method == "higher":
            low = high
        elif method != "linear":
            raise ValueError(
                f"there is no method '{method}' here: linear, lower, higher and inverted_cdf are"
            )
        # Between two rows, in hundredths of the way.
        hundredths = round((place - low) * 100.0)
        if hundredths == 0:
            high = low
        elif hundredths == 100:
            low = high
        number = self._number.rank(low)
        if high != low:
            above = self._number.rank(high).affine(hundredths / 100.0, 0.0)
            number = number.affine((100 - hundredths) / 100.0, 0.0).add(above, 1.0)
        return EncryptedScalar(number, name, self.unit, self._whole and low == high)

    def quantile(self, q: float, method: str = "linear") -> EncryptedScalar:
        """The ``q``-th quantile, ``q`` from 0 to 1. See :meth:`percentile`."""
        return self.percentile(100.0 * q if is_clear_number(q) else q, method)

    def describe(self) -> EncryptedGroupValues:
        """Count, mean, standard deviation over the number of rows less one, minimum, quartiles and maximum, as pandas
        has them. The quartiles lie between two rows as pandas' do, which is exact.

        Returns:
            Eight numbers; with ``to="pandas"`` they are decrypted to a Series with pandas' names.
        """
        values: dict[str, Encrypted_ | float] = {
            "count": float(len(self)),
            "mean": self.mean(),
            "std": self.std(ddof=1) if len(self) > 1 else math.nan,
            "min": self.min(),
            "25%": self.percentile(25),
            "50%": self.percentile(50),
            "75%": self.percentile(75),
            "max": self.max(),
        }
        return EncryptedGroupValues(list(values.values()), self.name, self.unit, list(values))

    def histogram(
        self,
        bins: Bins = 10,
        range: tuple[float, float] | None = None,
    ) -> EncryptedColumn:
        """The number of rows in each bin, from its edge up to but without the next.

        The last bin has its upper edge too, as numpy's has.

        Args:
            bins: the edges, which increase, or a number of bins of one width.
            range: where the bins of a number begin and end; all that the column can hold if not
                given.

        Returns:
            Whole numbers, one for each bin.
        """
        edges = self._bins(bins, range)
        return self._counted(self._number.histogram(edges.tolist(), True), edges)

    def _bins(self, bins: Bins, range: tuple[float, float] | None) -> NDArray[np.float64]:
        edges = self._edges(bins, range)
        if edges.ndim != 1 or len(edges) < 2 or not bool(np.all(np.diff(edges) > 0)):
            raise ValueError("a histogram has at least two edges, which increase")
        if not bool(np.all(np.isfinite(edges))):
            raise ValueError("a histogram's edges are finite")
        return edges

    def _counted(self, number: _native.Number, edges: NDArray[np.float64]) -> EncryptedColumn:
        rows = [f"{low:g} to {high:g}" for low, high in zip(edges[:-1], edges[1:])]
        return EncryptedColumn(number, f"histogram({self.name})", "", rows, True)

    def _edges(self, bins: Bins, range: tuple[float, float] | None) -> NDArray[np.float64]:
        if isinstance(bins, (int, np.integer)):
            low, high = range or self.range
            return np.linspace(low, high, int(bins) + 1)
        return np.asarray(bins, dtype=np.float64)

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


class _Spread(EncryptedStatistic):
    """A variance or its root."""

    __slots__ = ("_of",)

    def __init__(
        self,
        of: _native.Number,
        kind: str,
        values: Sequence[Part],
        finish: Callable[..., Any],
        name: str,
        unit: str,
    ) -> None:
        super().__init__(kind, values, finish, name, unit)
        self._of = of

    def _sealed(self) -> tuple[str, list[Part], str, list[str]]:
        kind, values, unit, labels = super()._sealed()
        return (kind, [self._of, *values], unit, labels)
