"""Encodings of columns that fit the readings at hand."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._column import Column, Use, whole
from ._readings import (
    PerColumn,
    Readings,
    each_of,
    named_columns,
    read,
    readings_of,
    taken_labels,
)
from .params import Parameters, chosen

#: The most decimals that a step has.
_MOST_DECIMALS = 9
#: Steps that people choose: these times a power of ten, and those times a few larger units.
_FACTORS = (1000, 500, 250, 200, 100, 50, 25, 20, 10, 5, 2)
#: The probability with which readings may be multiples of such a step by chance.
_CHANCE = 1e-6
#: The most bits for readings with a step of their own, which compact columns can have, and for others.
_EXACT_BITS, _ROUNDED_BITS = 24, 16


@dataclass(frozen=True)
class Fit:
    """What an encoding does to the readings that it was fitted to. All numbers are in the column's unit."""

    #: The definition of the column.
    column: Column
    #: The lowest and the highest reading.
    readings: tuple[float, float]
    #: The largest difference between a reading and what comes back of it; 0 if all come back as they are.
    loss: float
    #: The bytes that a reading takes in an upload, with what is derived from it; without labels and headers.
    bytes: float
    #: The number of rows that are added without a bootstrap; 0 of radix blocks.
    rows_without_bootstrap: int


class Encodings(Sequence[Column]):
    """Definitions of columns that :func:`fit_encoding` proposes, for ``columns=``.

    It is a list of :class:`Column`, also by name, and its text is a table that says what is lost, and how
    large uploads are.
    """

    def __init__(self, fits: Sequence[Fit], rows: int) -> None:
        self._fits = {fit.column.name: fit for fit in fits}
        self._rows = rows

    @overload
    def __getitem__(self, key: int | str) -> Column: ...
    @overload
    def __getitem__(self, key: slice) -> list[Column]: ...
    def __getitem__(self, key: int | str | slice) -> Column | list[Column]:
        if isinstance(key, str):
            if key not in self._fits:
                raise KeyError(f"there is no column {key!r}: there are {', '.join(self._fits)}")
            return self._fits[key].column
        return [fit.column for fit in self._fits.values()][key]

    def __len__(self) -> int:
        return len(self._fits)

    def __iter__(self) -> Iterator[Column]:
        return (fit.column for fit in self._fits.values())

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, (Encodings, list)) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    @property
    def fits(self) -> dict[str, Fit]:
        """What the encoding of each column does to the readings."""
        return dict(self._fits)

    @property
    def bytes_a_row(self) -> float:
        """The bytes that a row takes in an upload, without labels and headers."""
        return sum(fit.bytes for fit in self._fits.values())

    def __repr__(self) -> str:
        lines = [
            ("column", "scale", "offset", "bits", "readings", "range", "loss", "bytes", "form")
        ]
        for fit in self._fits.values():
            column = fit.column
            unit = f" {column.unit}" if column.unit else ""
            rows = fit.rows_without_bootstrap
            lines.append(
                (
                    column.name,
                    _shown(column.scale),
                    _shown(column.offset),
                    str(column.bits),
                    f"{_shown(fit.readings[0])} to {_shown(fit.readings[1])}{unit}",
                    f"{_shown(column.range[0])} to {_shown(column.range[1])}",
                    f"up to {fit.loss:.2g}" if fit.loss else "none",
                    _shown(fit.bytes),
                    (f"compact, sums of {rows:,} rows are free" if rows else "radix blocks")
                    + (", optional" if column.optional else ""),
                )
            )
        widths = [max(map(len, cells)) for cells in zip(*lines)]
        text = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip()
            for line in lines
        ]
        count = "1 row" if self._rows == 1 else f"{self._rows:,} rows"
        return "\n".join([*text, f"{count} of {_shown(self.bytes_a_row)} bytes"])


def fit_encoding(
    data: Readings,
    *,
    name: str | Sequence[str] | None = None,
    rows: Iterable[object] | str | None = None,
    scale: PerColumn[float] = None,
    max_bits: PerColumn[int] = None,
    margin: float = 0.1,
    unit: PerColumn[str] = None,
    use: PerColumn[Use] = None,
    square: PerColumn[bool] = None,
    parameters: Parameters | str | None = None,
) -> Encodings:
    """Proposes definitions of columns for readings like these.

    The step of a column is that of its readings: their last decimal, or twice or five times that and so on if
    all readings are multiples of it, and there are so many different ones that this is no chance. If that would take too
    many bits, the step is the smallest of 1, 2 and 5 times a power of ten that does not. The range is that of
    the readings with a margin, from a round number on; it does not begin below 0 if no reading is below.

    Args:
        data: readings as :meth:`Encryptor.encrypt` takes them. Columns in which some are missing are
            ``optional``.
        name: the column's name, if it has none; a list of names for a 2-D array.
        rows: the name of the column that has the labels of the rows, as in :meth:`Encryptor.encrypt`.
        scale: the step, in the column's unit, where it is not to be found from the readings.
        max_bits: the most bits of a code, 1 to 52; 24 if the readings have a step, else 16, if not given.
            Under a public key, columns of up to 13 bits can be compact.
        margin: how far the range goes on beyond the lowest and the highest reading, as a part of the
            distance between them.
        unit: the unit, for people.
        use: what the readings are mostly used for, see :class:`Column`.
        square: whether squares are sent, so that variances take no bootstrap.
        parameters: the parameter set, on which the bytes of a reading depend.

        ``scale``, ``max_bits``, ``unit``, ``use`` and ``square`` are one for all columns, a mapping from names
        or a list with one for each column.

    Returns:
        A list of :class:`Column` for ``columns=``, which also says what is lost and how large uploads are.

    Raises:
        TypeError: readings that are no numbers.
        ValueError: a column without readings, or one that no code of so many bits has room for.
    """
    if not (math.isfinite(margin) and margin >= 0):
        raise ValueError(f"margin is {margin}: give a part of the range, such as 0.1")
    data = read(data)
    named = named_columns(data, name, None)
    taken_labels(named, data, rows)
    given = [
        each_of(argument, value, list(named), default)
        for argument, value, default in (
            ("scale", scale, None),
            ("max_bits", max_bits, None),
            ("unit", unit, ""),
            ("use", use, None),
            ("square", square, False),
        )
    ]
    fitted, count = [], 0
    for (column, values), (step, most, unit_, use_, square_) in zip(named.items(), zip(*given)):
        readings = readings_of(values, column, optional=True)
        count = len(readings)
        own = np.asarray(values).dtype
        eps = float(np.finfo(own if own.kind == "f" else np.float64).eps)
        there = readings[~np.isnan(readings)]
        if not there.size:
            raise ValueError(f"column '{column}' has no readings to fit an encoding to")
        if not np.isfinite(there).all():
            raise _native.RangeError(
                f"column '{column}': a reading is infinite, which no code is of: correct the reading"
            )
        limit = None if most is None else whole(most, f"column '{column}': max_bits")
        step_, offset, bits = _Range(there, column, margin, limit).encoding(
            None if step is None else Column(column, step).scale, eps
        )
        definition = Column(
            column,
            float(step_),
            float(offset),
            bits,
            unit_,
            use=use_,
            square=square_,
            optional=there.size < count,
        )
        ends = (_decimal(there.min(), own), _decimal(there.max(), own))
        fitted.append((definition, ends, _loss(definition, there, eps)))
    forms = _native.forms_of(
        [definition._parts() for definition, _, _ in fitted], chosen(parameters)._parameters
    )
    return Encodings(
        [
            Fit(
                definition,
                ends,
                loss,
                bits_of_row / 8,
                0 if form is None else 1 << form[0],
            )
            for (definition, ends, loss), (form, bits_of_row) in zip(fitted, forms)
        ],
        count,
    )


class _Range:
    """The range of the readings of a column, with its margin."""

    def __init__(
        self, readings: NDArray[np.float64], name: str, margin: float, max_bits: int | None
    ) -> None:
        self._readings = readings
        self._name = name
        self._margin = margin
        self._max_bits = max_bits
        if max_bits is not None and not 1 <= max_bits <= 52:
            raise ValueError(f"column '{name}': max_bits is {max_bits}: give 1 to 52")

    def encoding(self, given: float | None, eps: float) -> tuple[Decimal, Decimal, int]:
        """Scale, offset and bits. `eps` is the relative error of a reading."""
        if given is not None:
            step = Decimal(repr(given))
            found = self._with(step)
            limit = self._max_bits or 52
            if found[2] > limit:
                raise ValueError(
                    f"column '{self._name}': codes in steps of {given:g} need {found[2]} bits, more than "
                    f"{limit}: give a larger scale"
                )
            return found
        own = _step_of(self._readings, eps)
        if own is not None:
            found = self._with(own)
            if found[2] <= (self._max_bits or _EXACT_BITS):
                return found
        limit = self._max_bits or _ROUNDED_BITS
        lowest, highest = self._ends(Decimal(0))
        exponent = math.floor(math.log10((highest - lowest) / (2**limit - 1) or 5e-324)) - 1
        while True:
            for digit in (1, 2, 5):
                step = Decimal(digit).scaleb(exponent)
                if own is None or step >= own:
                    found = self._with(step)
                    if found[2] <= limit:
                        return found
            exponent += 1

    def _ends(self, step: Decimal) -> tuple[float, float]:
        """Where the range begins and ends at the latest."""
        lowest, highest = float(self._readings.min()), float(self._readings.max())
        distance = highest - lowest or 10 * float(step) or abs(lowest) or 1.0
        low, high = lowest - self._margin * distance, highest + self._margin * distance
        return (max(low, 0.0) if lowest >= 0 else low, min(high, 0.0) if highest <= 0 else high)

    def _with(self, step: Decimal) -> tuple[Decimal, Decimal, int]:
        lowest, highest = self._ends(step)
        first = int((Decimal(lowest) / step).to_integral_value("ROUND_FLOOR"))
        last = int((Decimal(highest) / step).to_integral_value("ROUND_CEILING"))
        bits = max((last - first).bit_length(), 1)
        least = last - (2**bits - 1)
        if lowest >= 0:
            least = max(least, 0)
        return (step, _roundest(least, first) * step, bits)


def _step_of(readings: NDArray[np.float64], eps: float) -> Decimal | None:
    """The step of decimal fractions; `None` if they have more digits than numbers that somebody wrote."""
    largest = float(np.abs(readings).max())
    for decimals in range(_MOST_DECIMALS + 1):
        power = 10.0**decimals
        tolerance = 4 * largest * power * eps
        # Any number is that near to a whole one if the tolerance is large.
        if tolerance > 1e-3 and decimals or largest * power > 2.0**53:
            return None
        codes = np.rint(readings * power)
        if (np.abs(readings * power - codes) <= min(tolerance, 1e-3)).all():
            break
    else:
        return None
    different = np.unique(codes.astype(np.int64))
    divisor = int(np.gcd.reduce(different))
    for factor in _FACTORS:
        # Readings that are no multiples but by chance are so with 1 / factor each.
        if divisor and divisor % factor == 0 and factor ** -float(different.size) < _CHANCE:
            return Decimal(factor).scaleb(-decimals)
    return Decimal(1).scaleb(-decimals)


def _roundest(least: int, most: int) -> int:
    """The whole number between two that has the fewest digits, and is nearest to the middle of these."""
    if least <= 0 <= most:
        return 0
    unit: int = 10 ** len(str(max(abs(least), abs(most))))
    while True:
        for part in (5, 2, 1):
            step = unit * part
            low, high = -(-least // step), most // step
            if low <= high:
                middle = round((least + most) / 2 / step)
                return min(max(middle, low), high) * step
        unit //= 10


def _loss(column: Column, readings: NDArray[np.float64], eps: float) -> float:
    """The largest difference between a reading and the number of its code."""
    codes = np.rint((readings - column.offset) / column.scale)
    lost = float(np.abs(column.offset + codes * column.scale - readings).max())
    # What binary fractions differ by from the decimal ones that come back is no loss.
    return lost if lost > 4 * eps * max(map(abs, column.range)) else 0.0


def _decimal(number: np.float64, dtype: np.dtype[Any]) -> float:
    """A number as it was written before it was rounded to a shorter type."""
    return float(str(dtype.type(number))) if dtype.kind == "f" else float(number)


def _shown(number: float) -> str:
    return f"{number:.10g}"
