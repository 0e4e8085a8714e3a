"""Functions of two columns: scalar products, covariances and correlations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Union

from .. import _native
from .._encryptor import readings_of
from .._frames import Keys
from .base import Encrypted_, Part, is_whole, named, shown
from .clear import clear_rows
from .numeric import EncryptedScalar
from .statistic import EncryptedStatistic
from .summary import EncryptedSummary, EncryptedSummaryTable, labelled

if TYPE_CHECKING:
    from .base import ClearRows
    from .column import EncryptedColumn
    from .optional import EncryptedOptionalColumn
    from .table import EncryptedTable

    _Column = Union[EncryptedColumn, EncryptedOptionalColumn]
    #: What meets a column in functions of two: a column or clear numbers.
    Other = Union[EncryptedColumn, EncryptedOptionalColumn, ClearRows]


class EncryptedPair(EncryptedStatistic):
    """A covariance or a correlation, which whoever decrypts makes of sums. It is no operand."""

    __slots__ = ("_of",)

    def __init__(
        self,
        kind: str,
        of: tuple[_native.Number, _native.Number],
        values: Sequence[_native.Number],
        rows: int | None,
        function: str,
        name: str,
        unit: str,
    ) -> None:
        a, b = of

        def finish(*sums: int) -> float:
            count, *others = sums if rows is None else (rows, *sums)
            value = a.pair_value(b, function, count, others)
            return math.nan if value is None else value

        super().__init__(kind, values, finish, name, unit)
        self._of = of

    def _sealed(self) -> tuple[str, list[Part], str, list[str]]:
        kind, values, unit, labels = super()._sealed()
        return (kind, [*self._of, *values], unit, labels)


def _operands(
    a: _Column, other: object, function: str
) -> tuple[_native.Number | _native.Optional, _native.Number | _native.Optional, str]:
    """Both columns in one form, and the unit of the other one."""
    from .column import EncryptedColumn
    from .optional import EncryptedOptionalColumn

    own = a._optional if isinstance(a, EncryptedOptionalColumn) else a._number
    if isinstance(other, EncryptedOptionalColumn):
        whole = own if isinstance(own, _native.Optional) else _native.Optional.whole(own)
        return whole, other._optional, other.unit
    unit = ""
    if isinstance(other, EncryptedColumn):
        number, unit = other._number, other.unit
    else:
        clear = None if isinstance(other, Encrypted_) else clear_rows(other, a.rows)
        if clear is None:
            raise TypeError(
                f"{function}() takes a column, or clear numbers for its rows, not a {type(other).__name__}"
            )
        values = readings_of(clear, "the clear operand").tolist()
        if len(values) != len(a):
            raise ValueError(f"{len(values)} clear numbers for {len(a)} rows: give each row one")
        encoded = own.number if isinstance(own, _native.Optional) else own
        number = encoded.clear(values)
    if isinstance(own, _native.Optional):
        return own, _native.Optional.whole(number), unit
    return own, number, unit


def _unit(a: str, b: str) -> str:
    """The unit of a product."""
    if not a or not b:
        return a + b
    return f"({a})²" if a == b else f"({a})·({b})"


def dot(a: _Column, other: Other) -> EncryptedScalar:
    """The sum of the products of two columns, over the rows in which both are there."""
    first, second, unit = _operands(a, other, "dot")
    whole = is_whole(a) and is_whole(other)
    name = f"dot({a.name}, {shown(other)})"
    # Both are of one form.
    number = first.dot(second)  # type: ignore[arg-type]
    return EncryptedScalar(number, name, _unit(a.unit, unit), whole)


def paired(a: _Column, other: Other, function: str, ddof: int = 1) -> EncryptedPair:
    """The covariance or correlation of two columns, over the rows in which both are there."""
    if ddof not in (0, 1):
        raise ValueError(f"ddof is 0 or 1 here, not {ddof!r}")
    first, second, unit = _operands(a, other, function)
    measure = function if ddof == 1 else "population_cov"
    # Both are of one form.
    sums = first.pair_sums(second, measure)  # type: ignore[arg-type]
    kind = function if ddof == 1 else ""
    rows: int | None = len(a)
    numbers = [one.number if isinstance(one, _native.Optional) else one for one in (first, second)]
    if isinstance(first, _native.Optional):
        kind, rows = kind and f"optional_{kind}", None
    unit = "" if function == "corr" else _unit(a.unit, unit)
    name = f"{function}({a.name}, {shown(other)})"
    return EncryptedPair(kind, (numbers[0], numbers[1]), sums, rows, measure, named(name), unit)


def matrix(table: EncryptedTable, function: str) -> EncryptedSummaryTable:
    """A function of each pair of a table's columns: the rows are the columns, too."""
    names = table.columns
    found: dict[tuple[str, str], EncryptedPair] = {}
    columns: dict[str, EncryptedSummary] = {}
    for a in names:
        for b in names:
            known = found.get((b, a))
            found[a, b] = paired(table[a], table[b], function) if known is None else known
        columns[a] = labelled({b: found[a, b] for b in names}, f"{function}({a})", "")
    return EncryptedSummaryTable(columns, Keys([list(names)], [None]))
