"""Choices between encrypted numbers, and functions of numpy."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from .. import _native
from .base import (
    NUMPY,
    UFUNCS,
    Clear,
    Encrypted_,
    Operand,
    check_axis,
    is_clear_number,
    is_whole,
    named,
    numbered,
    shown,
)
from .mask import EncryptedMask
from .numeric import EncryptedScalar, Numbers, Numeric

if TYPE_CHECKING:
    from .column import EncryptedColumn


@overload
def where(condition: EncryptedMask, a: EncryptedColumn, b: Operand) -> EncryptedColumn: ...
@overload
def where(condition: EncryptedMask, a: Operand, b: EncryptedColumn) -> EncryptedColumn: ...
@overload
def where(condition: EncryptedMask, a: Operand, b: Operand) -> Numbers: ...
def where(condition: EncryptedMask, a: Operand, b: Operand) -> Numbers:
    """``a`` where an encrypted condition holds, ``b`` where it does not.

    Args:
        condition: an :class:`EncryptedMask`, of rows or single.
        a: a column, a scalar, a clear number or a clear array of as many rows, in the unit of ``b``;
            likewise ``b``. Not both are clear unless they are single numbers.

    Returns:
        A column if any of the three has rows, else a single number.
    """
    if not isinstance(condition, EncryptedMask):
        raise TypeError(
            "where() takes an EncryptedMask, such as column > 30; for clear conditions use "
            "numpy.where before encrypting"
        )
    from .optional import EncryptedOptionalColumn

    for one in (a, b):
        if isinstance(one, EncryptedOptionalColumn):
            one._no_method()
    name = f"where({condition.name}, {shown(a)}, {shown(b)})"
    if not isinstance(a, Numeric) and not isinstance(b, Numeric):
        if not (is_clear_number(a) and is_clear_number(b)):
            raise TypeError("one of the two values of where() is encrypted, or both are numbers")
        if a == b:
            raise ValueError("both values of where() are the same clear number")
        bits = _as_number(condition)
        step = float(a) - float(b)  # type: ignore[arg-type]
        number = bits._number.affine(step, float(b))  # type: ignore[arg-type]
        return bits._like(number, name, 0 if is_whole(a) and is_whole(b) else 0.5)
    if not isinstance(a, Numeric):
        return _renamed(where(~condition, b, a), name)
    if is_clear_number(b):
        number = a._number.select_clear(condition._mask, float(b))  # type: ignore[arg-type]
        return _placed(number, name, a, b, condition)
    other = a._other(b)
    if other is None:
        raise TypeError(f"where() takes numbers, not a {type(b).__name__}")
    return _placed(a._number.select(condition._mask, other), name, a, b, condition)


@overload
def maximum(a: EncryptedColumn, b: Operand) -> EncryptedColumn: ...
@overload
def maximum(a: Operand, b: EncryptedColumn) -> EncryptedColumn: ...
@overload
def maximum(a: EncryptedScalar, b: EncryptedScalar | Clear) -> EncryptedScalar: ...
@overload
def maximum(a: Clear, b: EncryptedScalar) -> EncryptedScalar: ...
@overload
def maximum(a: Operand, b: Operand) -> Numbers: ...
def maximum(a: Operand, b: Operand) -> Numbers:
    """The larger of two operands in one unit, row by row; one of them is encrypted.

    Returns:
        A column if one of the two has rows, else a single number.
    """
    return _renamed(where(_mask(a > b), a, b), f"maximum({shown(a)}, {shown(b)})")  # type: ignore[operator]


@overload
def minimum(a: EncryptedColumn, b: Operand) -> EncryptedColumn: ...
@overload
def minimum(a: Operand, b: EncryptedColumn) -> EncryptedColumn: ...
@overload
def minimum(a: EncryptedScalar, b: EncryptedScalar | Clear) -> EncryptedScalar: ...
@overload
def minimum(a: Clear, b: EncryptedScalar) -> EncryptedScalar: ...
@overload
def minimum(a: Operand, b: Operand) -> Numbers: ...
def minimum(a: Operand, b: Operand) -> Numbers:
    """The smaller of two operands in one unit, row by row; one of them is encrypted.

    Returns:
        A column if one of the two has rows, else a single number.
    """
    return _renamed(where(_mask(a < b), a, b), f"minimum({shown(a)}, {shown(b)})")  # type: ignore[operator]


def _mask(condition: Any) -> EncryptedMask:
    """What a comparison with something encrypted gives."""
    return condition  # type: ignore[no-any-return]


def _as_number(condition: EncryptedMask) -> Numeric:
    if condition.ndim:
        return condition._as_column()
    return EncryptedScalar(condition._mask.as_number(), condition.name, "", True)


def _renamed(value: Numbers, name: str) -> Numbers:
    value.name = named(name)
    return value


def _placed(
    number: _native.Number, name: str, a: Numeric, b: object, mask: EncryptedMask
) -> Numbers:
    from .column import EncryptedColumn

    whole = a._whole and is_whole(b)
    if number.rows is None:
        return EncryptedScalar(number, name, a.unit, whole)
    for one in (a, b, mask):
        rows: Sequence[str] = getattr(one, "rows", ())
        if len(rows) == number.rows:
            return EncryptedColumn(number, name, a.unit, rows, whole)
    return EncryptedColumn(number, name, a.unit, numbered(number.rows), whole)


def _numpy_histogram(
    column: EncryptedColumn, bins: Any = 10, range: Any = None, **others: Any
) -> tuple[EncryptedColumn, NDArray[np.float64]]:
    check_axis(None, **others)
    edges = column._edges(bins, range)
    return (column.histogram(edges), edges)


def _numpy_sort(
    column: EncryptedColumn, axis: object = -1, kind: object = None, **others: object
) -> EncryptedColumn:
    # All kinds give the same.
    check_axis(axis, **others)
    return column.sort()


def _numpy_clip(
    numbers: Numeric,
    a_min: Any = None,
    a_max: Any = None,
    out: object = None,
    *,
    min: Any = None,
    max: Any = None,
    **others: object,
) -> Any:
    check_axis(None, out, **others)
    return numbers.clip(a_min if min is None else min, a_max if max is None else max)


def _operator(forward: str, reflected: str) -> Callable[[Any, Any], Any]:
    def apply(a: Any, b: Any) -> Any:
        result = (
            getattr(type(a), forward)(a, b)
            if isinstance(a, Encrypted_)
            else getattr(type(b), reflected)(b, a)
        )
        if result is NotImplemented:
            raise TypeError(f"{shown(a)} and {shown(b)} are no operands of numpy's function")
        return result

    return apply


UFUNCS.update(
    {
        np.add: _operator("__add__", "__radd__"),
        np.subtract: _operator("__sub__", "__rsub__"),
        np.multiply: _operator("__mul__", "__rmul__"),
        np.matmul: _operator("__matmul__", "__rmatmul__"),
        np.less: _operator("__lt__", "__gt__"),
        np.less_equal: _operator("__le__", "__ge__"),
        np.greater: _operator("__gt__", "__lt__"),
        np.greater_equal: _operator("__ge__", "__le__"),
        np.equal: _operator("__eq__", "__eq__"),
        np.not_equal: _operator("__ne__", "__ne__"),
        np.bitwise_and: _operator("__and__", "__rand__"),
        np.bitwise_or: _operator("__or__", "__ror__"),
        np.bitwise_xor: _operator("__xor__", "__rxor__"),
        np.logical_and: _operator("__and__", "__rand__"),
        np.logical_or: _operator("__or__", "__ror__"),
        np.logical_xor: _operator("__xor__", "__rxor__"),
        np.invert: operator.invert,
        np.logical_not: operator.invert,
        np.true_divide: operator.truediv,
        np.power: operator.pow,
        np.square: lambda a: a**2,
        np.negative: operator.neg,
        np.positive: operator.pos,
        np.absolute: operator.abs,
        np.isnan: lambda a: a.isna(),
        np.maximum: maximum,
        np.minimum: minimum,
    }
)
NUMPY.update(
    {
        np.where: where,
        np.dot: _operator("__matmul__", "__rmatmul__"),
        np.nansum: lambda a, **given: a.sum(**given),
        np.nanmean: lambda a, **given: a.mean(**given),
        np.nanmin: lambda a, **given: a.min(**given),
        np.nanmax: lambda a, **given: a.max(**given),
        np.nanvar: lambda a, **given: a.var(**given),
        np.nanstd: lambda a, **given: a.std(**given),
        np.sum: lambda a, **given: a.sum(**given),
        np.mean: lambda a, **given: a.mean(**given),
        np.min: lambda a, **given: a.min(**given),
        np.max: lambda a, **given: a.max(**given),
        np.ptp: lambda a, **given: a.ptp(**given),
        np.argmin: lambda a, **given: a.argmin(**given),
        np.argmax: lambda a, **given: a.argmax(**given),
        np.var: lambda a, **given: a.var(**given),
        np.std: lambda a, **given: a.std(**given),
        np.median: lambda a, **given: a.median(**given),
        np.percentile: lambda a, q, **given: a.percentile(q, **given),
        np.quantile: lambda a, q, **given: a.quantile(q, **given),
        np.sort: _numpy_sort,
        np.isin: lambda a, values: a.isin(values),
        np.any: lambda a, **given: a.any(**given),
        np.all: lambda a, **given: a.all(**given),
        np.count_nonzero: lambda a: a.sum() if isinstance(a, EncryptedMask) else (a != 0).sum(),
        np.histogram: _numpy_histogram,
        np.clip: _numpy_clip,
        np.shape: operator.attrgetter("shape"),
        np.ndim: operator.attrgetter("ndim"),
        np.size: len,
    }
)
