"""Choices between encrypted numbers, and functions of numpy."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import _native
from .base import NUMPY, Operand, check_axis, is_clear_number, named, numbered, shown
from .mask import EncryptedMask
from .numeric import EncryptedScalar, Numeric

if TYPE_CHECKING:
    from .column import EncryptedColumn


def where(condition: Any, a: Operand, b: Operand) -> Any:
    """``a`` where an encrypted condition holds, ``b`` where it does not.

    Args:
        condition: an :class:`EncryptedMask`, of rows or single.
        a: a column, a scalar, a clear number or a clear array; likewise ``b``. Not both are clear
            unless they are single numbers.
    """
    if not isinstance(condition, EncryptedMask):
        raise TypeError(
            "where() takes an EncryptedMask, such as column > 30; for clear conditions use "
            "numpy.where before encrypting"
        )
    name = f"where({condition.name}, {shown(a)}, {shown(b)})"
    if not isinstance(a, Numeric) and not isinstance(b, Numeric):
        if not (is_clear_number(a) and is_clear_number(b)):
            raise TypeError("one of the two values of where() is encrypted, or both are numbers")
        if a == b:
            raise ValueError("both values of where() are the same clear number")
        bits = _as_number(condition)
        step = float(a) - float(b)  # type: ignore[arg-type]
        number = bits._number.affine(step, float(b))  # type: ignore[arg-type]
        return bits._like(number, name, bits)
    if not isinstance(a, Numeric):
        return _renamed(where(~condition, b, a), name)
    if is_clear_number(b):
        number = a._number.select_clear(condition._mask, float(b))  # type: ignore[arg-type]
        return _placed(number, name, a, a, condition)
    other = a._other(b)
    if other is None:
        raise TypeError(f"where() takes numbers, not a {type(b).__name__}")
    return _placed(a._number.select(condition._mask, other), name, a, b, condition)


def maximum(a: Any, b: Any) -> Any:
    """The larger of two operands, row by row; one of them is encrypted."""
    return _renamed(where(a > b, a, b), f"maximum({shown(a)}, {shown(b)})")


def minimum(a: Any, b: Any) -> Any:
    """The smaller of two operands, row by row; one of them is encrypted."""
    return _renamed(where(a < b, a, b), f"minimum({shown(a)}, {shown(b)})")


def _as_number(condition: EncryptedMask) -> Numeric:
    number = condition._mask.as_number()
    if number.rows is None:
        return EncryptedScalar(number, condition.name, "", True)
    from .column import EncryptedColumn

    return EncryptedColumn(number, condition.name, "", condition.rows, True)


def _renamed(value: Any, name: str) -> Any:
    value.name = named(name)
    return value


def _placed(number: _native.Number, name: str, a: Numeric, b: object, mask: EncryptedMask) -> Any:
    from .column import EncryptedColumn

    if number.rows is None:
        return EncryptedScalar(number, name, a.unit)
    for one in (a, b, mask):
        rows: Sequence[str] = getattr(one, "rows", ())
        if len(rows) == number.rows:
            return EncryptedColumn(number, name, a.unit, rows)
    return EncryptedColumn(number, name, a.unit, numbered(number.rows))


def _numpy_histogram(
    column: EncryptedColumn, bins: Any = 10, range: Any = None, **others: Any
) -> tuple[EncryptedColumn, NDArray[np.float64]]:
    check_axis(None, **others)
    if isinstance(bins, (int, np.integer)):
        low, high = range or column.range
        bins = np.linspace(low, high, int(bins) + 1)
    return (column.histogram(bins), np.asarray(bins, dtype=np.float64))


NUMPY.update(
    {
        np.where: where,
        np.sum: lambda a, **given: a.sum(**given),
        np.mean: lambda a, **given: a.mean(**given),
        np.min: lambda a, **given: a.min(**given),
        np.max: lambda a, **given: a.max(**given),
        np.ptp: lambda a: a.ptp(),
        np.argmin: lambda a, **given: a.argmin(**given),
        np.argmax: lambda a, **given: a.argmax(**given),
        np.var: lambda a, **given: a.var(**given),
        np.std: lambda a, **given: a.std(**given),
        np.median: lambda a, **given: a.median(**given),
        np.percentile: lambda a, q, **given: a.percentile(q, **given),
        np.quantile: lambda a, q, **given: a.quantile(q, **given),
        np.sort: lambda a: a.sort(),
        np.isin: lambda a, values: a.isin(values),
        np.any: lambda a, **given: a.any(**given),
        np.all: lambda a, **given: a.all(**given),
        np.count_nonzero: lambda a: a.sum() if isinstance(a, EncryptedMask) else (a != 0).sum(),
        np.histogram: _numpy_histogram,
        np.clip: lambda a, low, high: a.clip(low, high),
        np.shape: operator.attrgetter("shape"),
        np.ndim: operator.attrgetter("ndim"),
        np.size: len,
    }
)
