"""Results that get their value when they are decrypted, and the places of percentiles."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from .. import _native
from .base import Encrypted_, NoOperand, Part, Reader, is_clear_number, named, state


class EncryptedStatistic(NoOperand, Encrypted_):
    """An encrypted result that whoever decrypts makes of several numbers.

    Means of what a condition selects, variances and their roots end with a division, which is
    exact and free in the clear. So they are no operands. Percentiles of what may be missing are of that kind, too.
    """

    __slots__ = ("_kind", "_values", "_finish", "unit", "_labels")

    def __init__(
        self,
        kind: str,
        values: Sequence[Part],
        finish: Callable[..., object],
        name: str,
        unit: str,
        labels: Sequence[str] = (),
    ) -> None:
        self._kind = kind
        self._values = list(values)
        self._finish = finish
        self.name = named(name)
        self.unit = unit
        self._labels = labels

    def _parts(self) -> list[Part]:
        return self._values

    def _read(self, reader: Reader) -> Any:
        parts: list[Any] = []
        for value in self._values:
            if isinstance(value, _native.Number):
                codes = reader.codes(value)
                parts.append(codes[0] if value.rows is None else codes)
            else:
                parts.append(reader.truths(value)[0])
        return self._finish(*parts)

    def _sealed(self) -> tuple[str, list[Part], str, list[str]]:
        return (self._kind, self._values, self.unit, list(self._labels))

    def _why_no_operand(self) -> str:
        return (
            f"{self.name} gets its value by a division when it is decrypted, so it is no operand: "
            "compute with sums and counts instead, or decrypt it first"
        )

    def __repr__(self) -> str:
        return f"<EncryptedStatistic {self.name!r}, {state(self)}>"


class StatisticOfColumn(EncryptedStatistic):
    """One that the encoding of a column tells how to read."""

    __slots__ = ("_of",)

    def __init__(
        self,
        of: _native.Number,
        kind: str,
        values: Sequence[Part],
        finish: Callable[..., object],
        name: str,
        unit: str,
        labels: Sequence[str] = (),
    ) -> None:
        super().__init__(kind, values, finish, name, unit, labels)
        self._of = of

    def _sealed(self) -> tuple[str, list[Part], str, list[str]]:
        kind, values, unit, labels = super()._sealed()
        return (kind, [self._of, *values], unit, labels)


class StatisticOfReadings(StatisticOfColumn):
    """One of the readings that there are."""

    __slots__ = ()

    def _why_no_operand(self) -> str:
        return (
            f"{self.name} is NaN if there are no readings, which shows when it is decrypted, so it is no "
            "operand: compute with sum() and count(), or with the column that fillna() gives"
        )


def places_between(q: float, count: int, method: str) -> tuple[int, int, float]:
    """The places in ascending order of a percentile's two neighbours, and how far it is from the first to the second.

    Args:
        q: from 0 to 100.
        count: the number of numbers, at least 1.
        method: numpy's name.

    Raises:
        ValueError: there is no such method.
    """
    place = q / 100.0 * (count - 1)
    low, high = math.floor(place + 1e-9), math.ceil(place - 1e-9)
    if method == "inverted_cdf":
        low = high = max(math.ceil(q / 100.0 * count - 1e-9), 1) - 1
    elif method == "lower":
        high = low
    elif method == "higher":
        low = high
    elif method != "linear":
        raise ValueError(
            f"there is no method '{method}' here: linear, lower, higher and inverted_cdf are"
        )
    return (low, high, place - low if high != low else 0.0)


def check_percentile(q: Any) -> None:
    """Refuses what is no percentile."""
    if not is_clear_number(q):
        raise TypeError(
            f"percentiles are computed one by one, not of {q!r}: call this for each, and "
            "ts.compute() them together"
        )
    if not 0 <= q <= 100:
        raise ValueError(f"a percentile is from 0 to 100, not {q}")
