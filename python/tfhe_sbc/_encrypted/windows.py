"""Functions of rows in their order: windows of the last rows, all rows so far, and rows before."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Union

import numpy as np

from .. import _native
from .base import NUMPY, check_axis, named

if TYPE_CHECKING:
    from .column import EncryptedColumn
    from .optional import EncryptedOptionalColumn

    #: Encrypted numbers in rows.
    Rows = Union[EncryptedColumn, EncryptedOptionalColumn]


def _made(column: Rows, optional: _native.Optional, name: str) -> EncryptedOptionalColumn:
    from .optional import EncryptedOptionalColumn

    return EncryptedOptionalColumn(optional, name, column.unit, column.rows)


def _count(value: object, what: str) -> int:
    """A whole number; what it is in words for errors."""
    if isinstance(value, bool):
        raise TypeError(f"{what} is a whole number, not {value}")
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        pass
    hint = ""
    if isinstance(value, str) or hasattr(value, "total_seconds") or hasattr(value, "freqstr"):
        hint = ": rows have no times here, so give the number of rows, such as 24 for a day of hourly rows"
    raise TypeError(f"{what} is a whole number, not {value!r}{hint}")


class EncryptedRolling:
    """The windows of the last rows up to each row of a column.

    What its methods give has a value for each row of the column, in its unit, and is missing where a
    window has fewer than ``min_periods`` numbers.
    """

    __slots__ = ("_of", "_window", "_min_periods")

    def __init__(self, of: Rows, window: int, min_periods: int | None = None) -> None:
        self._of = of
        self._window = _count(window, "a window's number of rows")
        self._min_periods = None
        if min_periods is not None:
            self._min_periods = _count(min_periods, "min_periods")
        least = self._window if self._min_periods is None else self._min_periods
        if self._window < 1:
            raise ValueError(f"a window has 1 row or more, not {self._window}")
        if not 1 <= least <= self._window:
            raise ValueError(
                f"min_periods is from 1 to the window's {self._window} rows, not {least}"
            )

    def __repr__(self) -> str:
        least = "" if self._min_periods is None else f", min_periods={self._min_periods}"
        return f"<EncryptedRolling {self._of.name!r}, {self._window} rows{least}>"

    def _function(self, function: str) -> EncryptedOptionalColumn:
        optional = self._of._with_gaps().rolling(self._window, self._min_periods, function)
        return _made(self._of, optional, f"rolling_{function}({self._of.name}, {self._window})")

    def sum(self) -> EncryptedOptionalColumn:
        """The sum of each window. Of compact columns it takes no bootstrap."""
        return self._function("sum")

    def mean(self) -> EncryptedOptionalColumn:
        """The mean of each window, exact: the sum with a smaller step. Of compact columns it takes no bootstrap.

        Raises:
            TfheSbcError: windows may have different numbers of numbers, because of ``min_periods``.
        """
        return self._function("mean")

    def min(self) -> EncryptedOptionalColumn:
        """The smallest number of each window."""
        return self._function("min")

    def max(self) -> EncryptedOptionalColumn:
        """The largest number of each window."""
        return self._function("max")

    def count(self) -> EncryptedOptionalColumn:
        """The number of readings in each window, without a unit.

        As with pandas, ``min_periods`` is the number of rows that a window needs here, with a reading or without: the
        first windows have fewer.
        """
        from .optional import EncryptedOptionalColumn

        flags = _native.Optional.whole(self._of._with_gaps().valid.as_number())
        counts = flags.rolling(self._window, self._min_periods, "sum")
        name = f"rolling_count({self._of.name}, {self._window})"
        return EncryptedOptionalColumn(counts, name, "", self._of.rows)


def cumulative(column: EncryptedColumn, function: str) -> EncryptedColumn:
    """``cumsum``, ``cummin`` or ``cummax`` of a column."""
    from .column import EncryptedColumn

    number = column._with_gaps().cumulative(function).number
    name = f"{function}({column.name})"
    return EncryptedColumn(number, name, column.unit, column.rows, column._whole)


def optional_cumulative(column: EncryptedOptionalColumn, function: str) -> EncryptedOptionalColumn:
    """``cumsum``, ``cummin`` or ``cummax`` of the readings that there are."""
    optional = column._optional.cumulative(function)
    return _made(column, optional, f"{function}({column.name})")


def shift(column: Rows, periods: int) -> EncryptedOptionalColumn:
    """The numbers of the rows ``periods`` before."""
    periods = _count(periods, "a number of rows")
    name = f"shift({column.name}, {periods})"
    return _made(column, column._with_gaps().shift(periods), name)


def diff(column: Rows, periods: int) -> EncryptedOptionalColumn:
    """The numbers less those of the rows ``periods`` before."""
    periods = _count(periods, "a number of rows")
    if periods == 0:
        raise ValueError("a row less itself is 0, and needs no encryption: use numpy.zeros")
    name = f"diff({column.name})" if periods == 1 else f"diff({column.name}, {periods})"
    return _made(column, column._with_gaps().diff(periods), name)


def _numpy_cumsum(
    column: Rows, axis: object = None, dtype: object = None, out: object = None
) -> Rows:
    check_axis(axis, out, dtype=dtype)
    return column.cumsum()


def _numpy_diff(column: Rows, n: int = 1, axis: object = -1, **others: object) -> Rows:
    check_axis(axis, **others)
    n = _count(n, "the number of differences")
    if not 0 <= n < len(column):
        raise ValueError(
            f"{n} differences of {len(column)} rows leave none: give 0 to {len(column) - 1}"
        )
    name = column.name
    for _ in range(n):
        # Each row less the one before, as numpy has it: the first row has no difference.
        column = column[1:] - column[:-1]
        name = f"diff({name})"
        column.name = named(name)
    return column


NUMPY[np.cumsum] = _numpy_cumsum
NUMPY[np.diff] = _numpy_diff
