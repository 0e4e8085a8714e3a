"""Weighted sums of columns, whose weights are rounded to whole multiples of a step.

A weighted sum of compact columns takes no bootstrap if its weights are small whole numbers. Weights of more bits are
written in digits: one sum for each place, which whoever decrypts puts together again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import _native
from .._encrypted.base import Cost
from ._inputs import Inputs
from ._scaling import Scaling

#: The most bits of a code.
MOST_BITS = 52
#: The most bits of a digit of weights.
MOST_DIGIT_BITS = 8


@dataclass(frozen=True)
class Rounded:
    """A weighted sum ``constant + step·Σ factor·code``, and the most that rounding changes it by."""

    step: float
    constant: float
    factors: NDArray[np.float64]
    bound: float
    #: The most bits that a code of the sum may have.
    bits: int

    def digits(self, bits: int) -> list[Part]:
        """The places of the factors' digits, from ``-2**(bits - 1)`` to ``2**(bits - 1)``."""
        left, base = self.factors.astype(np.int64), 1 << bits
        parts: list[Part] = []
        step, constant = self.step, self.constant
        while left.any():
            # One bit and a sign are no remainders.
            one = np.sign(left) * (np.abs(left) & 1)
            digit = one if bits == 1 else (left + base // 2) % base - base // 2
            if digit.any():
                parts.append(Part(digit, step, constant))
                constant = 0.0
            left, step = (left - digit) >> bits, step * base
        return parts

    def whole(self) -> list[Part]:
        """The sum as one part."""
        return [Part(self.factors.astype(np.int64), self.step, self.constant)]


@dataclass(frozen=True)
class Part:
    """A weighted sum ``constant + step·Σ factor·code``: a whole one, or a place of the digits of its weights."""

    factors: NDArray[np.int64]
    step: float
    constant: float

    def record(self, numbers: Sequence[_native.Number]) -> _native.Number:
        """The number that is computed."""
        terms = [(number, int(factor)) for number, factor in zip(numbers, self.factors)]
        return _native.Number.combined_codes(terms, self.step, self.constant)

    def clear(self, codes: NDArray[np.int64]) -> NDArray[np.float64]:
        """The same of clear codes."""
        sums = (codes @ self.factors).astype(np.float64)
        return self.constant + self.step * sums


class WeightedSums:
    """Weighted sums of a model's features: those of a linear model, or of distances to centres.

    Args:
        weights: a row for each sum, with a weight for each feature.
        constants: the summand of each sum.
        scaling: the scalers before the model.
        precision: the most that rounding of weights may change a sum by, in the sum's unit; what half
            a step of all columns changes it by if not given.
    """

    def __init__(
        self,
        weights: NDArray[np.float64],
        constants: NDArray[np.float64],
        scaling: Scaling,
        precision: float | None,
    ) -> None:
        factor, summand = scaling.line()
        self._weights = np.asarray(weights, dtype=np.float64) * factor
        self._constants = np.asarray(constants, dtype=np.float64) + weights @ summand
        self._precision = precision

    @property
    def count(self) -> int:
        """The number of sums."""
        return len(self._constants)

    @property
    def constants(self) -> NDArray[np.float64]:
        """The sums of a row of zeros: of a sum whose weights are all 0, of all rows."""
        return self._constants

    def record(self, inputs: Inputs) -> list[list[_native.Number]]:
        """The numbers that are computed for each sum, and that make it when they are added up; none of a sum that is the
        same for all rows."""
        sums = [self._parts(place, inputs) for place in range(len(self._constants))]
        if not any(sums):
            raise ValueError(
                "the model predicts the same for all rows, whatever is in the columns: there is nothing to compute"
            )
        return [[part.record(inputs.numbers) for part in parts] for parts in sums]

    def single(self, inputs: Inputs, place: int = 0) -> _native.Number:
        """One of the sums as one number, whatever that costs."""
        numbers, rounded = inputs.ends().numbers, self._rounded(place, inputs)
        if _is_free(numbers, rounded.whole()):
            rounded = self._finest(place, inputs, numbers, rounded)
        return rounded.whole()[0].record(inputs.numbers)

    def compare(self, inputs: Inputs, place: int, sign: str) -> _native.Mask:
        """The rows in which one of the sums is in a relation to 0, which is ``">"`` or ``">="``."""
        if self._weights[place].any():
            return self.single(inputs, place).compare_clear(sign, 0.0)
        constant = float(self._constants[place])
        return inputs.same_for_all(constant > 0 or (constant == 0 and sign == ">="))

    def clear(self, inputs: Inputs, codes: NDArray[np.int64]) -> list[NDArray[np.float64] | None]:
        """The sums of clear codes, as they are decrypted; ``None`` where :meth:`record` has nothing."""
        sums: list[NDArray[np.float64] | None] = []
        for place in range(len(self._constants)):
            parts = [part.clear(codes) for part in self._parts(place, inputs)]
            sums.append(sum(parts[1:], parts[0]) if parts else None)
        return sums

    def _parts(self, place: int, inputs: Inputs) -> list[Part]:
        if not self._weights[place].any():
            return []
        rounded = self._rounded(place, inputs)
        numbers = inputs.ends().numbers
        if _is_free(numbers, rounded.whole()):
            return self._finest(place, inputs, numbers, rounded).whole()
        # Digits of fewer bits are free where those of more are, and to find that out takes less time.
        found = rounded.whole()
        for bits in range(1, MOST_DIGIT_BITS + 1):
            parts = rounded.digits(bits)
            if not _is_free(numbers, parts):
                break
            found = parts
        return found

    def _rounded(self, place: int, inputs: Inputs) -> Rounded:
        """The sum with the widest step that is as precise as it has to be."""
        precision = self._precision
        if precision is None:
            precision = float(np.abs(self._steps(place, inputs)).sum()) / 2
        exact = self._of_smallest(place, inputs)
        if exact.bits <= MOST_BITS and exact.bound <= 1e-6 * precision:
            return exact
        for bits in range(1, MOST_BITS + 1):
            rounded = self._with_bits(place, inputs, bits)
            if rounded.bits > MOST_BITS:
                break
            if rounded.bound <= precision and rounded.factors.any():
                return rounded
        raise ValueError(
            f"precision={precision:g} needs sums of more than {MOST_BITS} bits, which nothing computes: ask for a "
            "coarser one, or encrypt the columns with fewer bits"
        )

    def _finest(
        self, place: int, inputs: Inputs, numbers: list[_native.Number], known: Rounded
    ) -> Rounded:
        """The sum with the narrowest step that takes no bootstrap: more precision for nothing."""
        for bits in range(known.bits, MOST_BITS + 1):
            finer = self._with_bits(place, inputs, bits)
            if finer.bits > MOST_BITS or not _is_free(numbers, finer.whole()):
                break
            if finer.bound < known.bound:
                known = finer
        return known

    def _steps(self, place: int, inputs: Inputs) -> NDArray[np.float64]:
        """What one step of each column changes a sum by."""
        scales = np.array([number.scale for number in inputs.numbers])
        steps: NDArray[np.float64] = self._weights[place] * scales
        return steps

    def _of_smallest(self, place: int, inputs: Inputs) -> Rounded:
        """The sum whose step is what one step of the column that matters least changes it by: exact for a single column, and
        for weights that are whole multiples of the smallest."""
        steps = np.abs(self._steps(place, inputs))
        return self._with_step(place, inputs, float(steps[steps > 0].min()))

    def _with_bits(self, place: int, inputs: Inputs, bits: int) -> Rounded:
        """The sum with codes of about this many bits."""
        most = np.abs(self._steps(place, inputs)) @ inputs.most()
        return self._with_step(place, inputs, float(most) / (2.0**bits - 1))

    def _with_step(self, place: int, inputs: Inputs, step: float) -> Rounded:
        """The sum with weights that are the nearest multiples of a step."""
        steps, most = self._steps(place, inputs), inputs.most()
        factors = np.rint(steps / step)
        lost = steps - factors * step
        offsets = np.array([number.offset for number in inputs.numbers])
        constant = float(self._constants[place] + self._weights[place] @ offsets)
        # In the middle of the columns nothing is lost, and at their ends the same on both sides.
        constant += float(lost @ most) / 2
        bound = float(np.abs(lost) @ most) / 2
        bits = float(np.abs(factors) @ most)
        bits = MOST_BITS + 1 if bits >= 2.0**MOST_BITS else int(bits).bit_length()
        return Rounded(step, constant, factors, bound, bits)


def _is_free(numbers: Sequence[_native.Number], parts: Sequence[Part]) -> bool:
    """Whether sums take no bootstrap."""
    sums: list[_native.Number | _native.Mask] = [part.record(numbers) for part in parts]
    return Cost(*_native.cost(sums, False)).bootstraps == 0
