"""What encrypted columns have in common, whether readings of theirs may be missing or not."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import _native
from .advice import Advises
from .base import Bins, Encrypted_, Places, places_of
from .clear import in_order_of
from .grouping import By, grouped, resampled
from .groups import GroupedColumn
from .pairs import dot, paired
from .summary import Reduces
from .windows import EncryptedRolling, diff, shift

if TYPE_CHECKING:
    from .base import ClearRows
    from .column import EncryptedColumn
    from .numeric import EncryptedScalar
    from .optional import EncryptedOptionalColumn
    from .pairs import Other
    from .statistic import EncryptedStatistic

_Column = TypeVar("_Column", bound="InRows")


class InRows(Encrypted_, Reduces, Advises):
    """Encrypted numbers in rows with labels."""

    __slots__ = ()

    _number: _native.Number
    unit: str
    rows: Sequence[str]

    def _with_gaps(self) -> _native.Optional:
        """The numbers, and which rows have one."""
        raise NotImplementedError

    def _taken(self: _Column, places: Sequence[int]) -> _Column:
        """The rows at places, in their order."""
        raise NotImplementedError

    def _at(self: _Column, key: Places) -> _Column:
        """The rows that an index other than a number means."""
        places = places_of(in_order_of(key, self.rows), len(self))
        if not places:
            raise IndexError("no rows are left: an encrypted column has at least one")
        return self._taken(places)

    def _like_this(self) -> EncryptedColumn | EncryptedOptionalColumn:
        """This, which is a column of one of the two kinds."""
        return self  # type: ignore[return-value]

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
        """Its number of rows, those without a reading included."""
        return len(self.rows)

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and the highest number that it can hold."""
        return (self._number.offset, self._number.maximum)

    @property
    def scale(self) -> float:
        """The step between its numbers."""
        return self._number.scale

    def __iter__(self) -> NoReturn:
        raise TypeError(
            "a loop over an encrypted column computes row by row, which is slow: use operators and "
            "reductions on the whole column, or column[2:3] for single rows"
        )

    def __contains__(self, value: object) -> bool:
        raise TypeError("use (column == value).any(), which stays encrypted")

    def head(self: _Column, n: int = 5) -> _Column:
        """The first ``n`` rows; with a negative number, all but the last ones."""
        return self._at(slice(None, n))

    def tail(self: _Column, n: int = 5) -> _Column:
        """The last ``n`` rows; with a negative number, all but the first ones."""
        return self._at(slice(-n if n else len(self), None))

    # Rows in their order.

    def rolling(self, window: int, min_periods: int | None = None) -> EncryptedRolling:
        """The windows of the last ``window`` rows up to each row, as pandas has them: ``rolling(24).mean()``.

        Args:
            window: the number of rows.
            min_periods: how many numbers a window needs to have a result, at most ``window``; ``window`` if
                not given.
        """
        return EncryptedRolling(self._like_this(), window, min_periods)

    def shift(self, periods: int = 1) -> EncryptedOptionalColumn:
        """The number ``periods`` rows before each row, or after it if that is negative, in the same unit; missing where
        there is none. It takes no bootstrap."""
        return shift(self._like_this(), periods)

    def diff(self, periods: int = 1) -> EncryptedOptionalColumn:
        """Each number less that ``periods`` rows before, or after if that is negative, in the same unit; missing where
        one of the two is. Of compact columns it takes no bootstrap."""
        return diff(self._like_this(), periods)

    # Functions of two columns.

    def dot(self, other: Other) -> EncryptedScalar:
        """The sum of the products of this column and another one, row by row.

        Args:
            other: a column or clear numbers of as many rows. With clear numbers it is a weighted sum, which takes no bootstrap
                of a compact column if rows of one weight are neighbours, and two or three for each row otherwise. With a
                column it takes some 30 for each row of ten bits.

        Returns:
            A single number, exact, in the product of the units. Rows in which one of the two is missing are left out.
        """
        return dot(self._like_this(), other)

    def __matmul__(self, other: Other) -> EncryptedScalar:
        """The sum of the products. See :meth:`dot`."""
        return dot(self._like_this(), other)

    def __rmatmul__(self, other: ClearRows) -> EncryptedScalar:
        """The sum of the products. See :meth:`dot`."""
        return dot(self._like_this(), other)

    def cov(self, other: Other, ddof: int = 1) -> EncryptedStatistic:
        """The covariance with another column as pandas has it, over the number of rows less ``ddof``, exact.

        Args:
            other: a column or clear numbers of as many rows, of at most 12 decimals.
            ddof: 1 or 0.

        Returns:
            A number in the product of the units, NaN of too few rows. Rows in which one of the two is missing are left out.
        """
        return paired(self._like_this(), other, "cov", ddof)

    def corr(self, other: Other) -> EncryptedStatistic:
        """The correlation with another column, Pearson's coefficient from -1 to 1. See :meth:`cov`.

        Returns:
            A number without a unit; NaN of fewer than two rows, or if one of the two is the same in all rows.
        """
        return paired(self._like_this(), other, "corr")

    # Groups.

    def groupby(self, by: By) -> GroupedColumn:
        """Its rows in groups by clear keys.

        Args:
            by: ``"device"``, ``"hour"``, ``"weekday"`` (0 is Monday), ``"day"`` of the month, ``"month"``, ``"year"`` or
                ``"date"`` of the rows' labels, a function of a label, or a key for each row; or a list of several of
                these. Rows whose key is missing are in no group. Labels that have a time zone are in UTC, and so are
                their hours and dates.
        """
        return GroupedColumn(self._like_this(), grouped(by, self.rows))

    def resample(self, rule: str) -> GroupedColumn:
        """Its rows by periods such as ``"1h"`` or ``"1D"``, in pandas' words; the labels are times.

        Periods without rows are groups, too. Rows of several devices are in one group: ``groupby(["device", "date"])``
        tells them.
        """
        return GroupedColumn(self._like_this(), resampled(rule, self.rows))

    # Counts of bins.

    def _histogram(self, edges: NDArray[np.float64], closed: bool) -> _native.Number:
        """The numbers of readings from each edge up to the next, which if `closed` belongs to the last bin."""
        raise NotImplementedError

    def _counted(
        self, function: str, number: _native.Number, rows: Sequence[str]
    ) -> EncryptedColumn:
        from .column import EncryptedColumn

        return EncryptedColumn(number, f"{function}({self.name})", "", rows, True)

    def histogram(
        self,
        bins: Bins = 10,
        range: tuple[float, float] | None = None,
    ) -> EncryptedColumn:
        """The number of readings in each bin, from its edge up to but without the next.

        The last bin has its upper edge too, as numpy's has.

        Args:
            bins: the edges, which increase, or a number of bins of one width.
            range: where the bins of a number begin and end; all that the column can hold if not
                given.

        Returns:
            Whole numbers, one for each bin.
        """
        edges = self._edges(bins, range)
        rows = [f"{low:g} to {high:g}" for low, high in zip(edges[:-1], edges[1:])]
        return self._counted("histogram", self._histogram(edges, True), rows)

    def value_counts(self, bins: Bins | None = None, sort: bool = False) -> EncryptedColumn:
        """The number of readings in each bin, which has its upper edge and not its lower one; the first has both.

        It is pandas' ``value_counts(bins=edges, sort=False)``: the counts are in the order of the bins, because which is
        the largest nobody knows before they are decrypted. They take no bootstrap of columns that declare ``above`` with
        the edges but the lowest, and ``bins`` with that one unless their range begins there.

        Args:
            bins: the edges, which increase.
            sort: pandas' default is to sort by the counts, which is possible after decryption only.

        Returns:
            Whole numbers, labelled with pandas' intervals as texts.
        """
        if bins is None or isinstance(bins, (int, np.integer)):
            raise TypeError(
                "which values a column has is encrypted, so they are counted in bins that you know: give edges, as in "
                f"value_counts(bins=[{self.range[0]:g}, …, {self.range[1]:g}])"
            )
        if sort:
            raise ValueError(
                "the counts are encrypted: decrypt them with to='pandas', and sort_values() there"
            )
        edges = self._edges(bins, None)
        # All but the first are left to the bin below: counts begin with the next number of the column.
        cuts = [edges[0], *(self._above(edge) for edge in edges[1:])]
        pandas = importlib.import_module("pandas")
        intervals = pandas.cut([], edges, include_lowest=True).categories
        number = self._histogram(np.array(cuts), False)
        return self._counted("value_counts", number, [str(one) for one in intervals])

    def _above(self, edge: float) -> float:
        """A number above an edge, with no number of the column between."""
        steps = (edge - self._number.offset) / self._number.scale
        is_number = abs(steps - round(steps)) < 1e-6
        return float(edge + self._number.scale / 2 if is_number else edge)

    def _edges(self, bins: Bins, range: tuple[float, float] | None) -> NDArray[np.float64]:
        if isinstance(bins, (int, np.integer)):
            low, high = range or self.range
            edges = np.linspace(low, high, int(bins) + 1)
        else:
            edges = np.asarray(bins, dtype=np.float64)
        if edges.ndim != 1 or len(edges) < 2 or not bool(np.all(np.diff(edges) > 0)):
            raise ValueError("a histogram has at least two edges, which increase")
        if not bool(np.all(np.isfinite(edges))):
            raise ValueError("a histogram's edges are finite")
        return edges
