"""Definitions of columns, which are checked when they are made.

The packages ``tfhe-sbc`` and ``tfhe-sbc-device`` both have this file.
"""

from __future__ import annotations

import difflib
import math
import numbers
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, Union

import numpy as np

#: What is derived from a column as the extension module takes it.
_Declared = tuple[bool, list[float], list[float], list[float], str]
#: A column as the extension module takes it.
Parts = tuple[
    str, str, float, float, int, Union[str, None], Union[tuple[int, int, bool], None], _Declared
]
#: What readings can mostly be used for.
Use = Literal["means", "alarms", "fleet", "radix"]
#: What can be given as the optional readings of a column.
Optional = Union[bool, Literal["clear"]]

_USES: tuple[Use, ...] = ("means", "alarms", "fleet", "radix")
_NAME = re.compile("[A-Za-z0-9_]{1,64}")
_MAX_TEXT = 64
_MAX_BITS = 52


@dataclass(frozen=True)
class Compact:
    """The compact form of a column in numbers: a whole code in one coefficient of a ciphertext.

    Sums, means and differences of compact columns need no bootstrap, and readings take fewer bytes than
    radix blocks. The form of a column follows from its ``use``; these are numbers for other uses.

    Args:
        headroom: the number of bits above a code. Sums of codes stay below
            ``2**(bits + headroom)``: ``2**headroom`` rows can be added.
        body_bits: the number of bits of each coefficient that are sent: more than ``bits + headroom``,
            at most 56. The more, the more exact are sums and comparisons.
        feedback: whether the rounding error of a coefficient is added to the next one, so that the
            error of a sum of neighbouring rows does not grow with their number.

    Raises:
        TypeError: ``headroom`` or ``body_bits`` is no number.
        ValueError: one of them is negative, or no whole number.
    """

    headroom: int
    body_bits: int
    feedback: bool = False

    def __post_init__(self) -> None:
        for argument in ("headroom", "body_bits"):
            value = whole(getattr(self, argument), f"{argument} of a compact form")
            if value < 0:
                raise ValueError(f"{argument} of a compact form is {value}: give 0 bits or more")
            object.__setattr__(self, argument, value)

    def _parts(self) -> tuple[int, int, bool]:
        return (self.headroom, self.body_bits, bool(self.feedback))


@dataclass(frozen=True)
class Column:
    """The encoding of the readings of a column.

    A reading ``v`` is the code ``round((v - offset) / scale)``, a whole number of ``bits`` bits.
    So readings go from ``offset`` to ``offset + scale * (2**bits - 1)``.

    Args:
        name: 1 to 64 ASCII letters, digits and underscores.
        scale: the step between codes, in the column's unit; more than 0.
        offset: the lowest reading, in the column's unit.
        bits: the width of a code, a whole number from 1 to 52.
        unit: for people; at most 64 characters.
        use: what the readings are mostly used for. ``"means"``, ``"alarms"`` (comparisons) and
            ``"fleet"`` (sums over many boards) are compact forms; ``"radix"`` are radix blocks, for
            extremes, sorts and products. If not given, ``"means"`` where that is possible.
        compact: the compact form in numbers, instead of ``use``.
        square: whether squares are sent beside the readings, so that variances and standard
            deviations take no bootstrap. Only compact columns have this and what follows.
        bins: edges, which increase. Histograms with these edges take no bootstrap. The last bin has
            its upper edge too, as numpy's has.
        above: thresholds ``t`` of the conditions ``x > t`` and ``x <= t``, whose counts then take no
            bootstrap.
        below: thresholds ``t`` of the conditions ``x < t`` and ``x >= t``, likewise.
        optional: whether readings may be missing: NaN, None, pandas' ``NA`` or masked. With ``True``
            it is encrypted which are; with ``"clear"`` the server learns it, so that nothing is sent
            for it and no bootstrap is spent on it. Questions leave them out as SQL and pandas do. Only
            compact columns have this.

    Raises:
        TypeError: an argument that is nothing of its kind, such as a text where a number is needed.
        ValueError: an argument that no column can have, such as 99 bits.
    """

    name: str
    scale: float = 1.0
    offset: float = 0.0
    bits: int = 16
    unit: str = ""
    compact: Compact | None = None
    use: Use | None = None
    square: bool = False
    bins: Sequence[float] = ()
    above: Sequence[float] = ()
    below: Sequence[float] = ()
    optional: Optional = False

    def __post_init__(self) -> None:
        _check_name(self.name)
        of = f"column '{self.name}'"
        scale, offset = number(self.scale, f"{of}: scale"), number(self.offset, f"{of}: offset")
        if not (math.isfinite(scale) and scale > 0):
            raise ValueError(
                f"{of}: scale is {scale:g}: give the step between readings, such as 0.1 for one "
                "decimal, in the column's unit"
            )
        if not math.isfinite(offset):
            raise ValueError(
                f"{of}: offset is {offset:g}: give the lowest reading, in the column's unit"
            )
        bits = whole(self.bits, f"{of}: bits")
        if not 1 <= bits <= _MAX_BITS:
            raise ValueError(
                f"{of}: bits is {bits}: a code has between 1 and {_MAX_BITS} bits, and readings go from "
                "offset to offset + scale * (2**bits - 1)"
            )
        # Plain numbers, so that columns of the same definition are equal and can be keys of dicts.
        for argument, value in ("scale", scale), ("offset", offset), ("bits", bits):
            object.__setattr__(self, argument, value)
        _check_text(self.unit, f"{of}: unit")
        if self.use is not None and self.use not in _USES:
            raise ValueError(
                f"{of}: the use of a column is one of means, alarms, fleet and radix, not "
                f"{self.use!r}{did_you_mean(self.use, _USES)}"
            )
        if self.compact is not None and not isinstance(self.compact, Compact):
            raise TypeError(
                f"the compact form of column '{self.name}' is a {type(self.compact).__name__}: give "
                "a Compact(headroom, body_bits)"
            )
        if not isinstance(self.square, (bool, np.bool_)):
            raise TypeError(f"{of}: square is {self.square!r}: give True or False")
        if self.optional not in (True, False, "clear"):
            raise ValueError(f'{of}: optional is {self.optional!r}: give True, False or "clear"')
        for argument in ("bins", "above", "below"):
            given = _numbers_of(getattr(self, argument), f"{of}: {argument}")
            object.__setattr__(self, argument, given)

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and the highest reading that have a code, in the column's unit."""
        highest = Decimal(repr(self.offset)) + Decimal(repr(self.scale)) * (2**self.bits - 1)
        return (self.offset, float(highest))

    def _parts(self) -> Parts:
        return (
            self.name,
            self.unit,
            self.offset,
            self.scale,
            self.bits,
            self.use,
            None if self.compact is None else self.compact._parts(),
            (
                bool(self.square),
                list(self.bins),
                list(self.above),
                list(self.below),
                "clear" if self.optional == "clear" else "encrypted" if self.optional else "never",
            ),
        )


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """The question whether the nearest of the known names was meant; empty if none is near."""
    near = difflib.get_close_matches(str(name), list(known), n=1, cutoff=0.5)
    return f": did you mean '{near[0]}'?" if near else ""


def number(value: object, what: str) -> float:
    """A number of a definition.

    Raises:
        TypeError: if it is none.
    """
    if isinstance(value, np.floating) and value.dtype.itemsize < 8:
        # The decimal fraction that was written, not what is left of it in so few bits.
        return float(str(value))
    if isinstance(value, (numbers.Real, Decimal, np.integer, np.floating)) and not isinstance(
        value, (bool, np.bool_)
    ):
        return float(value)
    raise TypeError(f"{what} is {value!r}: give a number")


def whole(value: object, what: str) -> int:
    """A whole number of a definition.

    Raises:
        TypeError: if it is no number.
        ValueError: if it is no whole one.
    """
    given = number(value, what)
    if not (math.isfinite(given) and given.is_integer()):
        raise ValueError(f"{what} is {value}: give a whole number")
    return int(given)


def _numbers_of(given: object, what: str) -> tuple[float, ...]:
    """The edges or thresholds of a column."""
    try:
        array = np.asarray(given)
    except ValueError:
        array = np.asarray(None)
    if array.ndim != 1 or (array.size > 0 and array.dtype.kind not in "iuf"):
        raise TypeError(f"{what} is no list of numbers: give a list, such as [0.0, 10.0]")
    return tuple(array.astype(np.float64).tolist())


def _check_name(name: object) -> None:
    if not isinstance(name, str):
        raise TypeError(f"the name of a column is a text, not {name!r}")
    if _NAME.fullmatch(name):
        return
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    plain = re.sub("[^A-Za-z0-9]+", "_", plain).strip("_")[:_MAX_TEXT]
    raise ValueError(
        f"{name!r} is no name of a column, which has 1 to 64 ASCII letters, digits and underscores"
        + (f": call it '{plain}'" if plain else "")
    )


def _check_text(text: object, what: str) -> None:
    if not isinstance(text, str):
        raise TypeError(f"{what} is {text!r}: give a text")
    if len(text) > _MAX_TEXT or any(unicodedata.category(one) == "Cc" for one in text):
        raise ValueError(f"{what} is {text!r}: give at most {_MAX_TEXT} characters, in one line")
