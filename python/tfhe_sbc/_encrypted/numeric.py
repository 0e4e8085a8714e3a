"""Encrypted numbers: operators, and single ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, Union, overload

import numpy as np
from numpy.typing import NDArray

from .. import _native
from .._encryptor import readings_of
from .base import (
    Clear,
    Encrypted_,
    Operand,
    Part,
    Reader,
    is_clear_number,
    is_whole,
    named,
    shown,
    state,
)
from .clear import clear_labels, clear_rows

if TYPE_CHECKING:
    from .base import ClearRows
    from .column import EncryptedColumn
    from .mask import EncryptedMask


#: Numbers in rows, or a single one.
Numbers = Union["EncryptedColumn", "EncryptedScalar"]
_Number = TypeVar("_Number", bound="Numeric")


class Numeric(Encrypted_):
    """The operators of columns and single numbers."""

    __slots__ = ("_number", "unit", "_whole")

    _number: _native.Number
    unit: str
    _whole: bool

    def _parts(self) -> list[Part]:
        return [self._number]

    def _like(
        self, number: _native.Number, name: str, other: object = 0, unit: str | None = None
    ) -> Numbers:
        """A result of an operator on this and another operand."""
        from .column import EncryptedColumn

        name = named(name)
        unit = self.unit if unit is None else unit
        whole = self._whole and is_whole(other)
        if number.rows is None:
            return EncryptedScalar(number, name, unit, whole)
        for one in (self, other):
            if isinstance(one, EncryptedColumn):
                return EncryptedColumn(number, name, unit, one.rows, whole)
        return EncryptedColumn(number, name, unit, clear_labels(other, number.rows), whole)

    def _as_operand(self) -> Numbers:
        """This, which is a column or a single number."""
        return self  # type: ignore[return-value]

    def _mask(self, mask: _native.Mask, name: str, other: object = None) -> EncryptedMask:
        from .mask import EncryptedMask

        rows: Sequence[str] = ()
        for one in (self, other):
            if isinstance(one, Encrypted_):
                rows = getattr(one, "rows", ()) or rows
        if mask.rows is not None and len(rows) != mask.rows:
            rows = clear_labels(other, mask.rows)
        return EncryptedMask(mask, named(name), rows)

    def _other(self, other: object) -> _native.Number | None:
        """A number that meets this one; `None` if it is no list of numbers."""
        if isinstance(other, Numeric):
            return other._number
        clear = clear_rows(other, getattr(self, "rows", ()))
        if clear is None:
            return None
        return self._number.public(readings_of(clear, "the clear operand").tolist())

    def _linear(self, other: Operand, weight: float, sign: str) -> Numbers:
        name = f"({self.name} {sign} {shown(other)})"
        if is_clear_number(other):
            number = self._number.affine(1.0, weight * float(other))  # type: ignore[arg-type]
            return self._like(number, name, other)
        summand = self._other(other)
        if summand is None:
            return NotImplemented  # type: ignore[no-any-return]
        return self._like(self._number.add(summand, weight), name, other)

    def __add__(self, other: Operand) -> Numbers:
        """The sum, which is exact and as wide as it needs to be.

        Args:
            other: a column or clear numbers of as many rows, or a single number, in the same unit. A clear
                number changes the encoding and takes no bootstrap; sums of compact columns take none.

        Returns:
            A column if one of the two has rows, else a single number. It has this unit, and the largest
            step that the steps of both are multiples of.
        """
        return self._linear(other, 1.0, "+")

    def __radd__(self, other: Operand) -> Numbers:
        """The sum. See :meth:`__add__`."""
        if is_clear_number(other) and other == 0:
            # As `sum()` begins.
            return self._as_operand()
        return self._linear(other, 1.0, "+")

    def __sub__(self, other: Operand) -> Numbers:
        """The difference, exact. Operands, shape and unit are those of a sum: see :meth:`__add__`."""
        return self._linear(other, -1.0, "-")

    def __rsub__(self, other: Operand) -> Numbers:
        """The clear operand less this one. See :meth:`__add__`."""
        negative = -self
        result: Numbers = negative._linear(other, 1.0, "+")
        if isinstance(result, Encrypted_):
            result.name = named(f"({shown(other)} - {self.name})")
        return result

    def __neg__(self: _Number) -> _Number:
        """Each number with the other sign, in the same shape and unit. It takes no bootstrap."""
        negative: Any = self._like(self._number.affine(-1.0, 0.0), f"-{self.name}")
        return negative  # type: ignore[no-any-return]

    def __pos__(self: _Number) -> _Number:
        """The same."""
        return self

    def __mul__(self, other: Operand) -> Numbers:
        """The product, which is exact and as wide as it needs to be.

        Args:
            other: a column or clear numbers of as many rows, or a single number. A clear factor changes
                the encoding and takes no bootstrap; other products take many for each row.

        Returns:
            A column if one of the two has rows, else a single number. It has the unit of the operand that
            has one, and none if both have.
        """
        name = f"({self.name} * {shown(other)})"
        if is_clear_number(other):
            factor = float(other)  # type: ignore[arg-type]
            if factor == 0:
                raise ValueError("0 times anything is 0, and needs no encryption: use numpy.zeros")
            return self._like(self._number.affine(factor, 0.0), name, other)
        number = self._other(other)
        if number is None:
            return NotImplemented
        # The unit of a product of two that have one would be another one.
        units = [self.unit, other.unit if isinstance(other, Numeric) else ""]
        unit = "" if all(units) else "".join(units)
        return self._like(self._number.multiply(number), name, other, unit)

    def __rmul__(self, other: Operand) -> Numbers:
        """The product. See :meth:`__mul__`."""
        return self.__mul__(other)

    def __truediv__(self: _Number, other: Clear) -> _Number:
        """Each number divided by a clear one, exactly: the step is divided, which takes no bootstrap.

        Raises:
            TypeError: the divisor is encrypted.
            ZeroDivisionError: it is 0.
        """
        if not is_clear_number(other):
            if isinstance(other, Encrypted_):
                raise TypeError(
                    "encrypted numbers are divided by clear ones only: decrypt both and divide then"
                )
            return NotImplemented
        if other == 0:
            raise ZeroDivisionError("division by zero")
        name = f"({self.name} / {shown(other)})"
        quotient: Any = self._like(self._number.affine(1.0 / float(other), 0.0), name, 0.5)
        return quotient  # type: ignore[no-any-return]

    def __pow__(self: _Number, exponent: int) -> _Number:
        """Each number raised to 1, 2, … 8, as products: see :meth:`__mul__`. It has no unit."""
        if not isinstance(exponent, (int, np.integer)) or exponent < 1 or exponent > 8:
            raise TypeError("encrypted numbers are raised to 1, 2, … 8 only")
        result: Any = self
        for _ in range(int(exponent) - 1):
            result = result * self
        return result  # type: ignore[no-any-return]

    def __abs__(self: _Number) -> _Number:
        """Each number without its sign, in the same shape and unit."""
        from .functions import where

        result: Any = where(self >= 0, self._as_operand(), (-self)._as_operand())
        result.name = named(f"abs({self.name})")
        return result  # type: ignore[no-any-return]

    def _compare(self, sign: str, other: object) -> EncryptedMask:
        name = f"({self.name} {sign} {shown(other)})"
        if is_clear_number(other):
            return self._mask(self._number.compare_clear(sign, float(other)), name)  # type: ignore[arg-type]
        number = self._other(other)
        if number is None:
            if isinstance(other, (bool, np.bool_, str, type(None))):
                raise TypeError(f"encrypted numbers are compared with numbers, not with {other!r}")
            return NotImplemented  # type: ignore[no-any-return]
        return self._mask(self._number.compare(sign, number), name, other)

    def __lt__(self, other: Operand) -> EncryptedMask:
        """Truth values: true where this is less than the other.

        Args:
            other: a column or clear numbers of as many rows, or a single number, in the same unit.

        Returns:
            A mask of as many rows; a single truth value if neither has rows. A condition that a column
            declares takes no bootstrap, nor does one that always or never holds.
        """
        return self._compare("<", other)

    def __le__(self, other: Operand) -> EncryptedMask:
        """Truth values: true where this is at most the other. See :meth:`__lt__`."""
        return self._compare("<=", other)

    def __gt__(self, other: Operand) -> EncryptedMask:
        """Truth values: true where this is greater than the other. See :meth:`__lt__`."""
        return self._compare(">", other)

    def __ge__(self, other: Operand) -> EncryptedMask:
        """Truth values: true where this is at least the other. See :meth:`__lt__`."""
        return self._compare(">=", other)

    def __eq__(self, other: object) -> EncryptedMask:  # type: ignore[override]
        """Truth values: true where this is the same number as the other. See :meth:`__lt__`."""
        return self._compare("==", other)

    def __ne__(self, other: object) -> EncryptedMask:  # type: ignore[override]
        """Truth values: true where this is another number than the other. See :meth:`__lt__`."""
        return self._compare("!=", other)

    __hash__ = Encrypted_.__hash__

    def isin(self, values: Iterable[float]) -> EncryptedMask:
        """Truth values: true where the number is one of these clear numbers."""
        listed = [float(value) for value in values]
        return self._mask(self._number.one_of(listed), f"({self.name} in […])")

    def between(self, low: Operand, high: Operand) -> EncryptedMask:
        """Truth values: true where the number is from one number to another, both included."""
        return (self >= low) & (self <= high)

    def clip(self, low: Operand | None = None, high: Operand | None = None) -> Numbers:
        """Each number, in the same unit, or the nearer end of an interval where it is outside.

        Args:
            low: the lower end; `None` or minus infinity is none. Likewise ``high``. If ``low`` is
                above ``high``, everything is ``high``, as with numpy.
        """
        from .functions import where

        lowest, highest = self._number.offset, self._number.maximum
        if is_clear_number(low) and is_clear_number(high):
            low = min(float(low), float(high))  # type: ignore[arg-type]
        result = self._as_operand()
        if low is not None and not (is_clear_number(low) and low <= lowest):  # type: ignore[operator]
            result = where(self < low, low, result)
        if high is not None and not (is_clear_number(high) and high >= highest):  # type: ignore[operator]
            # A number below the lower end is not above the upper one, unless that is lower.
            above = self > high if is_clear_number(low) and is_clear_number(high) else result > high
            result = where(above, high, result)
        if result is not self:
            result.name = named(f"clip({self.name}, {_end(low)}, {_end(high)})")
        return result

    def _decoded(self, codes: list[int]) -> NDArray[Any]:
        if self._whole:
            offset, scale = int(self._number.offset), int(self._number.scale)
            return np.array([offset + scale * code for code in codes], dtype=np.int64)
        return self._number.decoded(codes)


def _end(end: object) -> str:
    return "" if end is None else shown(end)


class EncryptedScalar(Numeric):
    """One encrypted number: a reduction of a column, or one of its rows.

    It can be an operand again, with columns, single and clear numbers.
    """

    __slots__ = ("_labels",)

    def __init__(
        self,
        number: _native.Number,
        name: str,
        unit: str = "",
        whole: bool = False,
        labels: Sequence[str] | None = None,
    ) -> None:
        self._number = number
        self.name = named(name)
        self.unit = unit
        self._whole = whole
        self._labels = labels

    if TYPE_CHECKING:
        # What meets rows has rows.

        @overload
        def __add__(self, other: EncryptedScalar | Clear) -> EncryptedScalar: ...
        @overload
        def __add__(self, other: EncryptedColumn | ClearRows) -> EncryptedColumn: ...
        def __add__(self, other: Operand) -> Numbers: ...

        @overload
        def __radd__(self, other: EncryptedScalar | Clear) -> EncryptedScalar: ...
        @overload
        def __radd__(self, other: EncryptedColumn | ClearRows) -> EncryptedColumn: ...
        def __radd__(self, other: Operand) -> Numbers: ...

        @overload
        def __sub__(self, other: EncryptedScalar | Clear) -> EncryptedScalar: ...
        @overload
        def __sub__(self, other: EncryptedColumn | ClearRows) -> EncryptedColumn: ...
        def __sub__(self, other: Operand) -> Numbers: ...

        @overload
        def __rsub__(self, other: EncryptedScalar | Clear) -> EncryptedScalar: ...
        @overload
        def __rsub__(self, other: EncryptedColumn | ClearRows) -> EncryptedColumn: ...
        def __rsub__(self, other: Operand) -> Numbers: ...

        @overload
        def __mul__(self, other: EncryptedScalar | Clear) -> EncryptedScalar: ...
        @overload
        def __mul__(self, other: EncryptedColumn | ClearRows) -> EncryptedColumn: ...
        def __mul__(self, other: Operand) -> Numbers: ...

        @overload
        def __rmul__(self, other: EncryptedScalar | Clear) -> EncryptedScalar: ...
        @overload
        def __rmul__(self, other: EncryptedColumn | ClearRows) -> EncryptedColumn: ...
        def __rmul__(self, other: Operand) -> Numbers: ...

    def _read(self, reader: Reader) -> Any:
        value = self._decoded(reader.codes(self._number))[0].item()
        return value if self._labels is None else self._labels[value]

    def _sealed(self) -> tuple[str, list[Part], str, list[str]]:
        number = self._number
        is_count = self._whole and (number.offset, number.scale) == (0, 1)
        return ("count" if is_count else "number", [number], self.unit, [])

    def __iter__(self) -> NoReturn:
        raise TypeError("a single encrypted number has no rows")

    def __repr__(self) -> str:
        return f"<EncryptedScalar {self.name!r}, {state(self)}>"
