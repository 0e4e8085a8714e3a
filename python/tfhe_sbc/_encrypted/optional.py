"""Encrypted columns some of whose readings are missing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn, Union, overload

import numpy as np
from numpy.typing import NDArray

from .. import _native
from .base import (
    Clear,
    Encrypted_,
    Operand,
    Part,
    Places,
    Reader,
    check_axis,
    is_clear_number,
    named,
    place_of,
    shown,
    state,
)
from .column import EncryptedColumn
from .mask import EncryptedMask
from .numeric import EncryptedScalar
from .rows import InRows
from .selection import EncryptedSelection
from .statistic import EncryptedStatistic, StatisticOfReadings, check_percentile, places_between
from .windows import optional_cumulative

#: What meets such a column.
_Operand = Union[Operand, "EncryptedOptionalColumn"]


class EncryptedOptionalColumn(InRows):
    """An encrypted column some of whose readings may be missing. Which ones is encrypted.

    It computes as a pandas Series does: reductions leave out what is missing, a result is missing where
    an operand is, and a comparison with what is missing does not hold. Decrypted, what is missing is
    NaN. :meth:`fillna` makes an :class:`EncryptedColumn` of it, which has all operators.
    """

    __slots__ = ("_optional", "_number", "_flags", "unit", "rows")

    #: The unit of its numbers.
    unit: str
    #: The rows' labels, in the clear.
    rows: Sequence[str]

    def __init__(
        self, optional: _native.Optional, name: str, unit: str, rows: Sequence[str]
    ) -> None:
        self._optional = optional
        # The numbers, whatever they are where they are missing.
        self._number = optional.number
        # 1 where there is a reading, 0 elsewhere.
        self._flags = optional.valid.as_number()
        self.name = named(name)
        self.unit = unit
        self.rows = rows

    def _parts(self) -> list[Part]:
        return [self._flags, self._number]

    def _read(self, reader: Reader) -> NDArray[np.float64]:
        there, number = np.array(reader.codes(self._flags)) == 1, self._number
        return np.where(there, number.decoded(reader.codes(number)), math.nan)

    def _sealed(self) -> tuple[str, list[Part], str, list[str]]:
        number = self._number
        parts: list[Part] = [number, self._flags, number]
        return ("optional_numbers", parts, self.unit, list(self.rows))

    def _with_gaps(self) -> _native.Optional:
        return self._optional

    def _taken(self, places: Sequence[int]) -> EncryptedOptionalColumn:
        rows = [self.rows[place] for place in places]
        return EncryptedOptionalColumn(
            self._optional.take(list(places)), self.name, self.unit, rows
        )

    def __repr__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        low, high = self.range
        return (
            f"<EncryptedOptionalColumn {self.name!r}, {len(self)} rows, {low:g} to {high:g}{unit} in "
            f"steps of {self.scale:g}, {state(self)}>"
        )

    @overload
    def __getitem__(self, key: EncryptedMask) -> EncryptedSelection: ...
    @overload
    def __getitem__(self, key: Places) -> EncryptedOptionalColumn: ...
    def __getitem__(
        self, key: EncryptedMask | Places
    ) -> EncryptedSelection | EncryptedOptionalColumn:
        """Rows: some by a slice, places or clear booleans, or those that have a reading and meet an encrypted
        condition, which have reductions only. The unit stays."""
        if isinstance(key, EncryptedMask):
            return EncryptedSelection(self, key)
        if isinstance(key, (int, np.integer)) and not isinstance(key, (bool, np.bool_)):
            place = place_of(int(key), len(self))
            raise TypeError(
                f"whether row {place} has a reading nobody knows: take {self.name}[{place}:{place + 1}], "
                "which may be missing, or fillna() first"
            )
        return self._at(key)

    def _as_column(self) -> EncryptedColumn:
        """Its numbers, whatever they are where they are missing."""
        return EncryptedColumn(self._number, self.name, self.unit, self.rows)

    # What is missing.

    def isna(self) -> EncryptedMask:
        """The rows whose reading is missing."""
        return EncryptedMask(self._optional.valid.logical_not(), f"isna({self.name})", self.rows)

    def notna(self) -> EncryptedMask:
        """The rows that have a reading."""
        return EncryptedMask(self._optional.valid, f"notna({self.name})", self.rows)

    isnull = isna
    notnull = notna

    def fillna(self, value: Operand) -> EncryptedColumn:
        """The column with ``value`` where readings are missing: an :class:`EncryptedColumn`, which has
        all operators.

        The lowest numbers of the column take no bootstrap, others some for each row.

        Args:
            value: a number, a column or an array, encrypted or not.
        """
        name = f"fillna({self.name}, {shown(value)})"
        if is_clear_number(value):
            number = self._optional.fill_clear(float(value))  # type: ignore[arg-type]
        else:
            other = self._as_column()._other(value)
            if other is None:
                raise TypeError(f"fillna() takes numbers, not a {type(value).__name__}")
            number = self._optional.fill(other)
        return EncryptedColumn(number, name, self.unit, self.rows)

    def dropna(self) -> EncryptedSelection:
        """The rows that have a reading. Nobody knows which they are, so they have reductions only."""
        return EncryptedSelection(self, self.notna())

    # Operators.

    def _other(self, other: object) -> _native.Optional | None:
        if isinstance(other, EncryptedOptionalColumn):
            return other._optional
        number = self._as_column()._other(other)
        return None if number is None else _native.Optional.whole(number)

    def _like(
        self, optional: _native.Optional, name: str, unit: str | None = None
    ) -> EncryptedOptionalColumn:
        unit = self.unit if unit is None else unit
        return EncryptedOptionalColumn(optional, name, unit, self.rows)

    def _linear(self, other: object, weight: float, sign: str) -> EncryptedOptionalColumn:
        name = f"({self.name} {sign} {shown(other)})"
        if is_clear_number(other):
            return self._like(self._optional.affine(1.0, weight * float(other)), name)  # type: ignore[arg-type]
        summand = self._other(other)
        if summand is None:
            return NotImplemented  # type: ignore[no-any-return]
        return self._like(self._optional.add(summand, weight), name)

    def __add__(self, other: _Operand) -> EncryptedOptionalColumn:
        """The sum, exact; missing where one of the two is missing.

        Args:
            other: a column or clear numbers of as many rows, or a single number, in the same unit.

        Returns:
            A column of as many rows, in this unit.
        """
        return self._linear(other, 1.0, "+")

    def __radd__(self, other: _Operand) -> EncryptedOptionalColumn:
        """The sum. See :meth:`__add__`."""
        return self.__add__(other)

    def __sub__(self, other: _Operand) -> EncryptedOptionalColumn:
        """The difference, exact; missing where one of the two is missing. See :meth:`__add__`."""
        return self._linear(other, -1.0, "-")

    def __rsub__(self, other: _Operand) -> EncryptedOptionalColumn:
        """The other operand less this one. See :meth:`__add__`."""
        result = (-self)._linear(other, 1.0, "+")
        if isinstance(result, Encrypted_):
            result.name = named(f"({shown(other)} - {self.name})")
        return result

    def __neg__(self) -> EncryptedOptionalColumn:
        """Each reading with the other sign, in the same unit."""
        return self._like(self._optional.affine(-1.0, 0.0), f"-{self.name}")

    def __pos__(self) -> EncryptedOptionalColumn:
        """The same."""
        return self

    def __mul__(self, other: _Operand) -> EncryptedOptionalColumn:
        """The product, exact; missing where one of the two is missing. See :meth:`__add__`.

        It has the unit of the operand that has one, and none if both have.
        """
        name = f"({self.name} * {shown(other)})"
        if is_clear_number(other):
            factor = float(other)  # type: ignore[arg-type]
            if factor == 0:
                raise ValueError("0 times anything is 0, and needs no encryption: use numpy.zeros")
            return self._like(self._optional.affine(factor, 0.0), name)
        number = self._other(other)
        if number is None:
            return NotImplemented
        # The unit of a product of two that have one would be another one.
        units = [self.unit, getattr(other, "unit", "")]
        unit = "" if all(units) else "".join(units)
        return self._like(self._optional.multiply(number), name, unit)

    def __rmul__(self, other: _Operand) -> EncryptedOptionalColumn:
        """The product. See :meth:`__mul__`."""
        return self.__mul__(other)

    def __truediv__(self, other: Clear) -> EncryptedOptionalColumn:
        """Each reading divided by a clear number, exactly, in the same unit."""
        if not is_clear_number(other):
            if isinstance(other, Encrypted_):
                raise TypeError(
                    "encrypted numbers are divided by clear ones only: decrypt both and divide then"
                )
            return NotImplemented
        if other == 0:
            raise ZeroDivisionError("division by zero")
        result = self * (1.0 / float(other))
        result.name = named(f"({self.name} / {shown(other)})")
        return result

    def _compare(self, sign: str, other: object) -> EncryptedMask:
        name = f"({self.name} {sign} {shown(other)})"
        if is_clear_number(other):
            mask = self._optional.compare_clear(sign, float(other))  # type: ignore[arg-type]
        else:
            number = self._other(other)
            if number is None:
                if isinstance(other, (bool, np.bool_, str, type(None))):
                    raise TypeError(
                        f"encrypted numbers are compared with numbers, not with {other!r}: isna() tells "
                        "where readings are missing"
                    )
                return NotImplemented  # type: ignore[no-any-return]
            mask = self._optional.compare(sign, number)
        return EncryptedMask(mask, name, self.rows)

    def __lt__(self, other: _Operand) -> EncryptedMask:
        """Truth values: true where there is a reading that is less than the other, and that is not missing.

        Args:
            other: a column or clear numbers of as many rows, or a single number, in the same unit.

        Returns:
            A mask of as many rows.
        """
        return self._compare("<", other)

    def __le__(self, other: _Operand) -> EncryptedMask:
        """Truth values: true where there is a reading that is at most the other. See :meth:`__lt__`."""
        return self._compare("<=", other)

    def __gt__(self, other: _Operand) -> EncryptedMask:
        """Truth values: true where there is a reading that is greater than the other. See :meth:`__lt__`."""
        return self._compare(">", other)

    def __ge__(self, other: _Operand) -> EncryptedMask:
        """Truth values: true where there is a reading that is at least the other. See :meth:`__lt__`."""
        return self._compare(">=", other)

    def __eq__(self, other: object) -> EncryptedMask:  # type: ignore[override]
        """Truth values: true where there is a reading that is the same number as the other. See :meth:`__lt__`."""
        return self._compare("==", other)

    def __ne__(self, other: object) -> EncryptedMask:  # type: ignore[override]
        """Truth values: true where there is a reading that is another number than the other. See :meth:`__lt__`."""
        return self._compare("!=", other)

    __hash__ = Encrypted_.__hash__

    def isin(self, values: Iterable[float]) -> EncryptedMask:
        """True where a row has a reading and that is one of these clear values."""
        listed = [float(value) for value in values]
        return EncryptedMask(self._optional.one_of(listed), f"({self.name} in […])", self.rows)

    def between(self, low: Operand, high: Operand) -> EncryptedMask:
        """True where a row has a reading and that is from ``low`` to ``high``, both included."""
        return (self >= low) & (self <= high)

    # Rows in their order.

    def cumsum(
        self, axis: object = None, dtype: object = None, out: object = None
    ) -> EncryptedOptionalColumn:
        """The sum of the readings up to each row, missing where the row's is, in the same unit. Of compact columns it takes no bootstrap."""
        check_axis(axis, out, dtype=dtype)
        return optional_cumulative(self, "cumsum")

    def cummin(self) -> EncryptedOptionalColumn:
        """The smallest of the readings up to each row, missing where the row's is, in the same unit."""
        return optional_cumulative(self, "cummin")

    def cummax(self) -> EncryptedOptionalColumn:
        """The largest of the readings up to each row, missing where the row's is, in the same unit."""
        return optional_cumulative(self, "cummax")

    # Reductions.

    def count(self) -> EncryptedScalar:
        """The number of readings."""
        return EncryptedScalar(self._optional.count(), f"count({self.name})", "", True)

    def sum(self, axis: object = None, dtype: object = None, out: object = None) -> EncryptedScalar:
        """The sum of the readings; 0 if there are none."""
        check_axis(axis, out, dtype=dtype)
        return EncryptedScalar(self._optional.sum(), f"sum({self.name})", self.unit)

    def mean(
        self, axis: object = None, dtype: object = None, out: object = None
    ) -> EncryptedStatistic:
        """The mean of the readings; NaN if there are none."""
        check_axis(axis, out, dtype=dtype)
        number = self._number

        def finish(count: int, total: int) -> float:
            return number.offset + number.scale * total / count if count else math.nan

        parts: list[Part] = [self._optional.count(), self._optional.sum_of_codes()]
        return self._statistic("mean", parts, finish, "mean")

    def _statistic(
        self,
        kind: str,
        parts: Sequence[Part],
        finish: Callable[..., Any],
        function: str,
        unit: str | None = None,
        labels: Sequence[str] = (),
    ) -> StatisticOfReadings:
        kind = kind and f"optional_{kind}"
        name, unit = f"{function}({self.name})", self.unit if unit is None else unit
        return StatisticOfReadings(self._number, kind, parts, finish, name, unit, labels)

    def min(self, axis: object = None, out: object = None) -> EncryptedStatistic:
        """The smallest of the readings; NaN if there are none."""
        check_axis(axis, out)
        return self._extreme(False)

    def max(self, axis: object = None, out: object = None) -> EncryptedStatistic:
        """The largest of the readings; NaN if there are none."""
        check_axis(axis, out)
        return self._extreme(True)

    def _extreme(self, largest: bool) -> EncryptedStatistic:
        optional, function = self._optional, "max" if largest else "min"

        def finish(code: int) -> float:
            value = optional.unmarked(largest, code)
            return math.nan if value is None else value

        return self._statistic(function, [optional.extreme(largest)], finish, function)

    def ptp(self, axis: object = None, out: object = None) -> EncryptedStatistic:
        """The largest of the readings less the smallest; NaN if there are none."""
        check_axis(axis, out)
        optional = self._optional

        def finish(low: int, high: int) -> float:
            ends = (optional.unmarked(False, low), optional.unmarked(True, high))
            return math.nan if ends[0] is None or ends[1] is None else ends[1] - ends[0]

        parts = [optional.extreme(False), optional.extreme(True)]
        return self._statistic("range", parts, finish, "range")

    def idxmin(self) -> EncryptedStatistic:
        """The label of the first row of the smallest, and the smallest; NaN if there are no readings."""
        return self._labelled(False, "argmin")

    def idxmax(self) -> EncryptedStatistic:
        """The label of the first row of the largest, and the largest; NaN if there are no readings."""
        return self._labelled(True, "argmax")

    def _labelled(self, largest: bool, function: str) -> EncryptedStatistic:
        optional, rows = self._optional, self.rows
        index, value = optional.place(largest)

        def finish(code: int, place: int) -> tuple[str, float] | float:
            found = optional.unmarked(largest, code)
            return math.nan if found is None else (rows[place], found)

        return self._statistic(function, [value, index], finish, function, labels=rows)

    def var(
        self, axis: object = None, dtype: object = None, out: object = None, ddof: int = 0
    ) -> EncryptedStatistic:
        """The variance of the readings, over their number less ``ddof``; NaN if there are not more than
        ``ddof``. As numpy's, it is that of a whole population unless ``ddof=1`` says otherwise."""
        check_axis(axis, out, dtype=dtype)
        return self._spread(ddof, False)

    def std(
        self, axis: object = None, dtype: object = None, out: object = None, ddof: int = 0
    ) -> EncryptedStatistic:
        """The root of the variance. See :meth:`var`."""
        check_axis(axis, out, dtype=dtype)
        return self._spread(ddof, True)

    def _spread(self, ddof: int, root: bool) -> EncryptedStatistic:
        if not 0 <= ddof < len(self):
            raise ValueError(f"ddof={ddof} needs more than {ddof} rows: there are {len(self)}")
        scale = self._number.scale

        def finish(count: int, total: int, squares: int) -> float:
            if count <= ddof:
                return math.nan
            variance = (count * squares - total * total) / (count * (count - ddof)) * scale**2
            return math.sqrt(variance) if root else variance

        kinds = {0: ("variance", "std"), 1: ("sample_variance", "sample_std")}
        kind = kinds.get(ddof, ("", ""))[root]
        optional = self._optional
        parts: list[Part] = [
            optional.count(),
            optional.sum_of_codes(),
            optional.sum_of_squared_codes(),
        ]
        unit = self.unit if root or not self.unit else f"({self.unit})²"
        return self._statistic(kind, parts, finish, "std" if root else "var", unit)

    def median(self, axis: object = None, out: object = None) -> EncryptedStatistic:
        """The median of the readings; NaN if there are none. See :meth:`percentile`."""
        check_axis(axis, out)
        return self.percentile(50.0)

    def percentile(self, q: float, method: str = "linear") -> EncryptedStatistic:
        """The ``q``-th percentile of the readings, ``q`` from 0 to 100, as numpy has it; NaN if there are none.

        How many readings there are is encrypted, so that the smallest of the rows are sorted, or the largest, up to the
        last that it may be, and whoever decrypts learns these. That takes many more bootstraps than a percentile of a
        column that has all readings: :func:`cost` tells how many, and ``fillna`` is a way around it.

        Args:
            method: as in :meth:`EncryptedColumn.percentile`.
        """
        check_percentile(q)
        optional, rows = self._optional, len(self)
        low, high, _ = places_between(q, rows, method)
        from_above = rows - low < high + 1
        ordered = optional.sorted(from_above, min(rows - low, high + 1))

        def finish(count: int, codes: list[int]) -> float:
            if not count:
                return math.nan
            low, high, way = places_between(q, count, method)
            if from_above:
                low, high = count - 1 - low, count - 1 - high
            ends = [optional.unmarked(from_above, codes[place]) for place in (low, high)]
            if ends[0] is None or ends[1] is None:
                return math.nan
            return ends[0] + (ends[1] - ends[0]) * way

        return self._statistic("", [optional.count(), ordered], finish, f"percentile_{q:g}")

    def quantile(self, q: float = 0.5, method: str = "linear") -> EncryptedStatistic:
        """The ``q``-th quantile of the readings, ``q`` from 0 to 1. See :meth:`percentile`."""
        return self.percentile(100.0 * q if is_clear_number(q) else q, method)

    def _histogram(self, edges: NDArray[np.float64], closed: bool) -> _native.Number:
        return self._optional.histogram(edges.tolist(), closed)

    # What there is not.

    def _needs_whole(self, what: str, question: str) -> NoReturn:
        raise TypeError(
            f"{what} of a column whose readings may be missing is not known here: ask "
            f"Server.query for '{question}', which leaves them out, or fill them in first, as in "
            f"{self.name}.fillna(0)"
        )

    def sort(self, descending: bool = False) -> NoReturn:
        """Is not known: how many readings there are is encrypted."""
        self._needs_whole("the order", f"sort({self.name})")

    def top_k(self, k: int, largest: bool = True) -> NoReturn:
        """Is not known: how many readings there are is encrypted."""
        self._needs_whole("the first rows", f"top_k({self.name}, {k})")

    def argmin(self, axis: object = None, out: object = None) -> NoReturn:
        """Is not known, because there may be no readings: :meth:`idxmin` tells the row."""
        raise TypeError("there may be no readings: idxmin() tells the row and the smallest, or NaN")

    def argmax(self, axis: object = None, out: object = None) -> NoReturn:
        """Is not known, because there may be no readings: :meth:`idxmax` tells the row."""
        raise TypeError("there may be no readings: idxmax() tells the row and the largest, or NaN")

    def _no_method(self, *_: object, **__: object) -> NoReturn:
        raise TypeError(
            f"readings of {self.name} may be missing, and this knows no missing readings: fill them in "
            f"first, as in {self.name}.fillna(0)"
        )

    __abs__ = __pow__ = __rtruediv__ = clip = where = _no_method
