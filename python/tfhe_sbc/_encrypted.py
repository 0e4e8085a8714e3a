"""Encrypted columns, numbers and truth values, and what can be done with them.

Operators compute nothing: they write down what is to be computed. :func:`compute`, or whatever
needs ciphertexts (``decrypt``, ``to_bytes``), does it, and does what several results have in
common once.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol, Union, overload

import numpy as np
from numpy.typing import NDArray

from . import _native
from ._progress import Progress, telling

#: A clear number.
Clear = Union[int, float, "np.number[Any]"]
#: What meets a column: numbers, encrypted or not.
Operand = Union["_Numeric", Clear, "NDArray[Any]", Sequence[float]]
#: Whatever is encrypted.
Encrypted = Union["EncryptedColumn", "EncryptedScalar", "EncryptedStatistic", "EncryptedMask"]

_MOST_OF_A_NAME = 200


class Reader(Protocol):
    """Who can read what is computed."""

    def codes(self, number: _native.Number) -> list[int]: ...
    def truths(self, mask: _native.Mask) -> list[bool]: ...


class _Encrypted:
    """What all encrypted values have."""

    __slots__ = ("name",)
    #: numpy leaves operators to us: ``30 < column`` and ``np.float64(30) < column`` come here.
    __array_ufunc__ = None

    name: str

    def _parts(self) -> list[_native.Number | _native.Mask]:
        raise NotImplementedError

    def _read(self, reader: Reader) -> Any:
        raise NotImplementedError

    def _sealed(self) -> tuple[str, list[_native.Number | _native.Mask], str, list[str]]:
        """The kind of answer that it is in a result, its parts, unit and rows."""
        raise NotImplementedError

    @property
    def is_computed(self) -> bool:
        """Whether nothing is left to compute."""
        return all(part.is_computed for part in self._parts())

    def compute(self, progress: Progress = None) -> Any:
        """Computes it, and gives it back. See :func:`compute`."""
        compute(self, progress=progress)  # type: ignore[arg-type]
        return self

    def cost(self, measure: bool = False) -> Cost:
        """What is left to compute. See :func:`cost`."""
        return cost(self, measure=measure)  # type: ignore[arg-type]

    def to_bytes(self, progress: Progress = None) -> bytes:
        """Computes it and gives the bytes of a result, as ``tfhe-sbc eval`` writes them.

        ``SecretKey.decrypt`` and ``tfhe-sbc decrypt`` read it, ``Server.load_result`` computes on
        it.
        """
        return to_bytes(self, progress=progress)  # type: ignore[arg-type]

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(
            "this is encrypted and no array: use its own methods and operators, and "
            "keys.secret.decrypt() to have numbers"
        )

    def __bool__(self) -> bool:
        raise TypeError(
            "nobody here knows whether this holds, it is encrypted: use &, | and ~ instead of "
            "`and`, `or` and `not`, ts.where() instead of `if`, and a.isin(...) instead of `in`"
        )

    def __float__(self) -> float:
        raise TypeError("this is encrypted: keys.secret.decrypt() gives its number")

    def __hash__(self) -> int:
        return id(self)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "encrypted values are pickled as bytes: to_bytes() makes them, and "
            "Server.load_result() has values of them to compute on"
        )

    def __array_function__(
        self,
        function: Callable[..., Any],
        types: Iterable[type],
        args: Sequence[Any],
        kwargs: dict[str, Any],
    ) -> Any:
        ours = _NUMPY.get(function)
        if ours is None:
            name = getattr(function, "__name__", "this function")
            raise TypeError(f"numpy's {name} does not work on encrypted values")
        return ours(*args, **kwargs)


def _name(text: str) -> str:
    return text if len(text) <= _MOST_OF_A_NAME else text[: _MOST_OF_A_NAME - 1] + "…"


def _shown(operand: object) -> str:
    if isinstance(operand, _Encrypted):
        return operand.name
    if isinstance(operand, (int, float, np.number)):
        return f"{float(operand):g}"
    return "[…]"


def _is_clear_number(value: object) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(
        value, (bool, np.bool_)
    )


def _check_axis(axis: object, out: object = None, **others: object) -> None:
    if axis not in (None, 0, -1):
        raise ValueError(f"axis {axis} is out of bounds: an encrypted column has one dimension")
    if out is not None:
        raise TypeError("an encrypted result is not written into out=")
    for name, value in others.items():
        if value not in (None, False):
            raise TypeError(f"{name}= has no meaning for encrypted values")


class _Numeric(_Encrypted):
    """What columns and single numbers have: operators."""

    __slots__ = ("_number", "unit", "_whole")

    _number: _native.Number
    unit: str
    _whole: bool

    def _parts(self) -> list[_native.Number | _native.Mask]:
        return [self._number]

    def _like(self, number: _native.Number, name: str, other: object = None) -> Any:
        """A result of an operator on this and another operand."""
        name = _name(name)
        if number.rows is None:
            return EncryptedScalar(number, name, self.unit)
        for one in (self, other):
            if isinstance(one, EncryptedColumn):
                return EncryptedColumn(number, name, self.unit, one.rows)
        return EncryptedColumn(number, name, self.unit, _numbered(number.rows))

    def _mask(self, mask: _native.Mask, name: str, other: object = None) -> EncryptedMask:
        rows: Sequence[str] = ()
        for one in (self, other):
            if isinstance(one, EncryptedColumn):
                rows = one.rows
        if mask.rows is not None and len(rows) != mask.rows:
            rows = _numbered(mask.rows)
        return EncryptedMask(mask, _name(name), rows)

    def _other(self, other: object) -> _native.Number | None:
        """A number that meets this one; `None` of what is no list of numbers."""
        if isinstance(other, _Numeric):
            return other._number
        if isinstance(other, (np.ndarray, list, tuple)):
            from ._encryptor import readings_of

            return self._number.public(readings_of(other, "the clear operand").tolist())
        return None

    def _linear(self, other: Operand, weight: float, sign: str) -> Any:
        name = f"({self.name} {sign} {_shown(other)})"
        if _is_clear_number(other):
            return self._like(self._number.affine(1.0, weight * float(other)), name)  # type: ignore[arg-type]
        number = self._other(other)
        if number is None:
            return NotImplemented
        return self._like(self._number.add(number, weight), name, other)

    def __add__(self, other: Operand) -> Any:
        return self._linear(other, 1.0, "+")

    def __radd__(self, other: Operand) -> Any:
        if _is_clear_number(other) and other == 0:
            # As `sum()` begins.
            return self
        return self._linear(other, 1.0, "+")

    def __sub__(self, other: Operand) -> Any:
        return self._linear(other, -1.0, "-")

    def __rsub__(self, other: Operand) -> Any:
        negative = -self
        result = negative._linear(other, 1.0, "+")
        if isinstance(result, _Encrypted):
            result.name = _name(f"({_shown(other)} - {self.name})")
        return result

    def __neg__(self) -> Any:
        return self._like(self._number.affine(-1.0, 0.0), f"-{self.name}")

    def __pos__(self) -> Any:
        return self

    def __mul__(self, other: Operand) -> Any:
        name = f"({self.name} * {_shown(other)})"
        if _is_clear_number(other):
            factor = float(other)  # type: ignore[arg-type]
            if factor == 0:
                raise ValueError("0 times anything is 0, and needs no encryption: use numpy.zeros")
            return self._like(self._number.affine(factor, 0.0), name)
        number = self._other(other)
        if number is None:
            return NotImplemented
        return self._like(self._number.multiply(number), name, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Clear) -> Any:
        if not _is_clear_number(other):
            if isinstance(other, _Encrypted):
                raise TypeError(
                    "encrypted numbers are divided by clear ones only: decrypt both and divide then"
                )
            return NotImplemented
        if other == 0:
            raise ZeroDivisionError("division by zero")
        return self._like(
            self._number.affine(1.0 / float(other), 0.0), f"({self.name} / {_shown(other)})"
        )

    def __pow__(self, exponent: int) -> Any:
        if not isinstance(exponent, (int, np.integer)) or exponent < 1 or exponent > 8:
            raise TypeError("encrypted numbers are raised to 1, 2, … 8 only")
        result: Any = self
        for _ in range(int(exponent) - 1):
            result = result * self
        return result

    def __abs__(self) -> Any:
        negative = -self
        result = where(self >= 0, self, negative)
        result.name = _name(f"abs({self.name})")
        return result

    def _compare(self, sign: str, other: object) -> Any:
        name = f"({self.name} {sign} {_shown(other)})"
        if _is_clear_number(other):
            return self._mask(self._number.compare_clear(sign, float(other)), name)  # type: ignore[arg-type]
        number = self._other(other)
        if number is None:
            if isinstance(other, (bool, np.bool_, str, type(None))):
                raise TypeError(
                    f"encrypted numbers are compared with numbers, not with {other!r}"
                )
            return NotImplemented
        return self._mask(self._number.compare(sign, number), name, other)

    def __lt__(self, other: Operand) -> Any:
        return self._compare("<", other)

    def __le__(self, other: Operand) -> Any:
        return self._compare("<=", other)

    def __gt__(self, other: Operand) -> Any:
        return self._compare(">", other)

    def __ge__(self, other: Operand) -> Any:
        return self._compare(">=", other)

    def __eq__(self, other: object) -> Any:
        return self._compare("==", other)

    def __ne__(self, other: object) -> Any:
        return self._compare("!=", other)

    __hash__ = _Encrypted.__hash__

    def isin(self, values: Iterable[float]) -> EncryptedMask:
        """Whether each is one of these clear numbers."""
        listed = [float(value) for value in values]
        return self._mask(self._number.one_of(listed), f"({self.name} in […])")

    def between(self, low: Operand, high: Operand) -> EncryptedMask:
        """Whether each is from one number to another, both included."""
        both: EncryptedMask = (self >= low) & (self <= high)
        return both

    def clip(self, low: Operand, high: Operand) -> Any:
        """Each, or the nearer end of an interval where it is outside."""
        return where(self < low, low, where(self > high, high, self))

    def _decoded(self, codes: list[int]) -> NDArray[Any]:
        if self._whole:
            return np.array([int(self._number.offset) + code for code in codes], dtype=np.int64)
        return self._number.offset + np.array(codes, dtype=np.float64) * self._number.scale


class EncryptedScalar(_Numeric):
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
        self.name = _name(name)
        self.unit = unit
        self._whole = whole
        self._labels = labels

    def _read(self, reader: Reader) -> Any:
        value = self._decoded(reader.codes(self._number))[0].item()
        return value if self._labels is None else self._labels[value]

    def _sealed(self) -> tuple[str, list[_native.Number | _native.Mask], str, list[str]]:
        return ("count" if self._whole else "number", [self._number], self.unit, [])

    def __iter__(self) -> Iterator[Any]:
        raise TypeError("a single encrypted number has no rows")

    def __repr__(self) -> str:
        return f"<EncryptedScalar {self.name!r}, {_state(self)}>"


class EncryptedStatistic(_Encrypted):
    """An encrypted result that whoever decrypts makes of several numbers.

    Means of what a condition selects, variances and their roots end with a division, which is
    exact and free in the clear. So they are no operands.
    """

    __slots__ = ("_kind", "_values", "_finish", "unit", "_labels")

    def __init__(
        self,
        kind: str,
        values: Sequence[_native.Number | _native.Mask],
        finish: Callable[..., Any],
        name: str,
        unit: str,
        labels: Sequence[str] = (),
    ) -> None:
        self._kind = kind
        self._values = list(values)
        self._finish = finish
        self.name = _name(name)
        self.unit = unit
        self._labels = labels

    def _parts(self) -> list[_native.Number | _native.Mask]:
        return self._values

    def _read(self, reader: Reader) -> Any:
        parts: list[Any] = []
        for value in self._values:
            if isinstance(value, _native.Number):
                parts.append(reader.codes(value)[0])
            else:
                parts.append(reader.truths(value)[0])
        return self._finish(*parts)

    def _sealed(self) -> tuple[str, list[_native.Number | _native.Mask], str, list[str]]:
        return (self._kind, self._values, self.unit, list(self._labels))

    def _no_operand(self, *_: object) -> NoReturn:
        raise TypeError(
            f"{self.name} gets its value by a division when it is decrypted, so it is no operand: "
            "compute with sums and counts instead, or decrypt it first"
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _no_operand
    __truediv__ = __rtruediv__ = __neg__ = __abs__ = _no_operand
    __lt__ = __le__ = __gt__ = __ge__ = _no_operand

    def __repr__(self) -> str:
        return f"<EncryptedStatistic {self.name!r}, {_state(self)}>"


def _state(value: _Encrypted) -> str:
    return "computed" if value.is_computed else "not computed yet"


def _numbered(count: int) -> list[str]:
    return [str(row) for row in range(count)]


def _places(key: Any, count: int) -> list[int]:
    """The rows that an index other than a number means."""
    if isinstance(key, slice):
        return list(range(*key.indices(count)))
    array = np.asarray(key)
    if array.dtype.kind == "b":
        if array.shape != (count,):
            raise IndexError(f"a boolean index of {array.shape} does not fit {count} rows")
        return [int(place) for place in np.flatnonzero(array)]
    if array.dtype.kind in "iu" and array.ndim == 1 or array.size == 0:
        return [_place(int(place), count) for place in array]
    raise TypeError(
        "an encrypted column is indexed by a number, a slice, a list of numbers, clear booleans or "
        "an EncryptedMask"
    )


def _place(place: int, count: int) -> int:
    if not -count <= place < count:
        raise IndexError(f"row {place} is out of bounds: there are {count}")
    return place % count


class EncryptedColumn(_Numeric):
    """An encrypted column of readings.

    Operators and reductions are those of a numpy array; what they give is encrypted. Clear and
    encrypted operands are numbers, arrays of as many rows, columns and scalars.
    """

    __slots__ = ("rows",)

    #: The rows' labels, in the clear.
    rows: Sequence[str]

    def __init__(
        self,
        number: _native.Number,
        name: str,
        unit: str,
        rows: Sequence[str],
        whole: bool = False,
    ) -> None:
        self._number = number
        self.name = _name(name)
        self.unit = unit
        self.rows = rows
        self._whole = whole

    # Its shape.

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def shape(self) -> tuple[int]:
        """Its number of rows, as numpy has it."""
        return (len(self.rows),)

    @property
    def ndim(self) -> int:
        """1."""
        return 1

    @property
    def size(self) -> int:
        """Its number of rows."""
        return len(self.rows)

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and the highest number that it can hold."""
        return (self._number.offset, self._number.maximum)

    @property
    def scale(self) -> float:
        """The step between its numbers."""
        return self._number.scale

    def __repr__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        low, high = self.range
        return (
            f"<EncryptedColumn {self.name!r}, {len(self)} rows, {low:g} to {high:g}{unit} in steps "
            f"of {self.scale:g}, {_state(self)}>"
        )

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(
            "a loop over an encrypted column computes row by row, which is slow: use operators and "
            "reductions on the whole column, or column[i] for single rows"
        )

    def __contains__(self, value: object) -> bool:
        raise TypeError("use (column == value).any(), which stays encrypted")

    @overload
    def __getitem__(self, key: int) -> EncryptedScalar: ...
    @overload
    def __getitem__(self, key: EncryptedMask) -> EncryptedSelection: ...
    @overload
    def __getitem__(self, key: slice | Sequence[int] | NDArray[Any]) -> EncryptedColumn: ...
    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, EncryptedMask):
            return EncryptedSelection(self, key)
        if isinstance(key, (int, np.integer)) and not isinstance(key, (bool, np.bool_)):
            place = _place(int(key), len(self))
            return EncryptedScalar(
                self._number.item(place), f"{self.name}[{place}]", self.unit, self._whole
            )
        places = _places(key, len(self))
        if not places:
            raise IndexError("no rows are left: an encrypted column has at least one")
        rows = [self.rows[place] for place in places]
        return EncryptedColumn(self._number.take(places), self.name, self.unit, rows, self._whole)

    # Reductions.

    def _scalar(self, number: _native.Number, function: str) -> EncryptedScalar:
        return EncryptedScalar(number, f"{function}({self.name})", self.unit, self._whole)

    def sum(self, axis: object = None, dtype: object = None, out: object = None) -> EncryptedScalar:
        """The sum. Of readings as they were loaded, it is begun on whole polynomials."""
        _check_axis(axis, out, dtype=dtype)
        return self._scalar(self._number.sum(), "sum")

    def mean(self, axis: object = None, dtype: object = None, out: object = None) -> EncryptedScalar:
        """The mean, exact: the sum with a smaller step."""
        _check_axis(axis, out, dtype=dtype)
        mean = self._number.sum().affine(1.0 / len(self), 0.0)
        return EncryptedScalar(mean, f"mean({self.name})", self.unit)

    def min(self, axis: object = None, out: object = None) -> EncryptedScalar:
        """The smallest."""
        _check_axis(axis, out)
        return self._scalar(self._number.extreme(False), "min")

    def max(self, axis: object = None, out: object = None) -> EncryptedScalar:
        """The largest."""
        _check_axis(axis, out)
        return self._scalar(self._number.extreme(True), "max")

    def ptp(self) -> EncryptedScalar:
        """The largest less the smallest."""
        difference: EncryptedScalar = self.max() - self.min()
        difference.name = _name(f"range({self.name})")
        return difference

    def argmin(self, axis: object = None, out: object = None) -> EncryptedScalar:
        """The first row of the smallest, from 0."""
        _check_axis(axis, out)
        return EncryptedScalar(self._number.place(False)[0], f"argmin({self.name})", "", True)

    def argmax(self, axis: object = None, out: object = None) -> EncryptedScalar:
        """The first row of the largest, from 0."""
        _check_axis(axis, out)
        return EncryptedScalar(self._number.place(True)[0], f"argmax({self.name})", "", True)

    def idxmin(self) -> EncryptedStatistic:
        """The label of the first row of the smallest, and the smallest."""
        return self._labelled(False, "argmin")

    def idxmax(self) -> EncryptedStatistic:
        """The label of the first row of the largest, and the largest."""
        return self._labelled(True, "argmax")

    def _labelled(self, largest: bool, function: str) -> EncryptedStatistic:
        index, value = self._number.place(largest)
        rows = self.rows

        def finish(code: int, place: int) -> tuple[str, float]:
            return (rows[place], self._decoded([code])[0].item())

        name = f"{function}({self.name})"
        return EncryptedStatistic("place", [value, index], finish, name, self.unit, rows)

    def var(self, axis: object = None, dtype: object = None, out: object = None, ddof: int = 0) -> EncryptedStatistic:
        """The variance, over ``len - ddof``."""
        _check_axis(axis, out, dtype=dtype)
        return self._spread(ddof, False)

    def std(self, axis: object = None, dtype: object = None, out: object = None, ddof: int = 0) -> EncryptedStatistic:
        """The standard deviation, over ``len - ddof``."""
        _check_axis(axis, out, dtype=dtype)
        return self._spread(ddof, True)

    def _spread(self, ddof: int, root: bool) -> EncryptedStatistic:
        count, scale = len(self), self._number.scale
        if not 0 <= ddof < count:
            raise ValueError(f"ddof={ddof} needs more than {ddof} rows: there are {count}")

        def finish(total: int, squares: int) -> float:
            variance = (count * squares - total * total) / (count * (count - ddof)) * scale**2
            return math.sqrt(variance) if root else variance

        kind = {(0, False): "variance", (0, True): "std"}.get((ddof, root))
        kind = kind or {(1, False): "sample_variance", (1, True): "sample_std"}.get((ddof, root), "")
        values = [self._number.sum(), self._number.sum_of_squared_codes()]
        name = f"{'std' if root else 'var'}({self.name})"
        unit = self.unit if root or not self.unit else f"({self.unit})²"
        return _Spread(self._number, kind, values, finish, name, unit)

    def median(self, axis: object = None, out: object = None) -> EncryptedScalar:
        """The median: of an even number of rows the mean of the two in the middle."""
        _check_axis(axis, out)
        return self.percentile(50.0)

    def percentile(self, q: float, method: str = "linear") -> EncryptedScalar:
        """The ``q``-th percentile, ``q`` from 0 to 100, as numpy has it.

        Args:
            method: ``"linear"`` between the two nearest rows, ``"lower"``, ``"higher"``, or
                ``"inverted_cdf"``, the smallest that at least ``q`` percent do not exceed.
        """
        if not 0 <= q <= 100:
            raise ValueError(f"a percentile is from 0 to 100, not {q}")
        name = f"percentile({self.name}, {q:g})"
        last = len(self) - 1
        place = q / 100.0 * last
        low, high = math.floor(place + 1e-9), math.ceil(place - 1e-9)
        if method == "inverted_cdf":
            low = high = max(math.ceil(q / 100.0 * len(self) - 1e-9), 1) - 1
        elif method == "lower":
            high = low
        elif method == "higher":
            low = high
        elif method != "linear":
            raise ValueError(
                f"there is no method '{method}' here: linear, lower, higher and inverted_cdf are"
            )
        number = self._number.rank(low)
        if high != low:
            # Between two rows, in hundredths of the way.
            way = round((place - low) * 100.0) / 100.0
            above = self._number.rank(high)
            number = number.affine(1.0 - way, 0.0).add(above.affine(way, 0.0), 1.0)
        return EncryptedScalar(number, name, self.unit, self._whole and low == high)

    def quantile(self, q: float, method: str = "linear") -> EncryptedScalar:
        """The ``q``-th quantile, ``q`` from 0 to 1. See :meth:`percentile`."""
        return self.percentile(100.0 * q, method)

    def histogram(
        self, bins: int | Sequence[float] | NDArray[Any] = 10, range: tuple[float, float] | None = None
    ) -> EncryptedColumn:
        """How many are in each bin, from its edge up to but without the next; the last bin has its
        upper edge too, as numpy's has.

        Args:
            bins: the edges, which increase, or a number of bins of one width.
            range: where the bins of a number begin and end; all that the column can hold if not
                given.

        Returns:
            Whole numbers, one for each bin.
        """
        if isinstance(bins, (int, np.integer)):
            low, high = range or self.range
            edges = np.linspace(low, high, int(bins) + 1)
        else:
            edges = np.asarray(bins, dtype=np.float64)
        if edges.ndim != 1 or len(edges) < 2 or not bool(np.all(np.diff(edges) > 0)):
            raise ValueError("a histogram has at least two edges, which increase")
        if not bool(np.all(np.isfinite(edges))):
            raise ValueError("a histogram's edges are finite")
        number = self._number.histogram(edges.tolist(), True)
        rows = [f"{low:g} to {high:g}" for low, high in zip(edges[:-1], edges[1:])]
        return EncryptedColumn(number, f"histogram({self.name})", "", rows, True)

    def sort(self, descending: bool = False) -> EncryptedColumn:
        """Its numbers in order."""
        return self.top_k(len(self), largest=descending)

    def top_k(self, k: int, largest: bool = True) -> EncryptedColumn:
        """The ``k`` largest, the largest first; with ``largest=False`` the smallest."""
        if not 1 <= k <= len(self):
            raise ValueError(f"the first {k} of {len(self)} rows: give 1 to {len(self)}")
        number = self._number.sorted(largest, int(k))
        name = f"{'top' if largest else 'bottom'}_{k}({self.name})"
        return EncryptedColumn(number, name, self.unit, _numbered(int(k)), self._whole)

    @overload
    def where(self, condition: EncryptedMask) -> EncryptedSelection: ...
    @overload
    def where(self, condition: EncryptedMask, other: Operand) -> EncryptedColumn: ...
    def where(self, condition: EncryptedMask, other: Any = None) -> Any:
        """The rows that meet a condition, or ``other`` where they do not."""
        if other is None:
            return EncryptedSelection(self, condition)
        return where(condition, self, other)

    def _read(self, reader: Reader) -> NDArray[Any]:
        return self._decoded(reader.codes(self._number))

    def _sealed(self) -> tuple[str, list[_native.Number | _native.Mask], str, list[str]]:
        return ("numbers", [self._number], self.unit, list(self.rows))


class _Spread(EncryptedStatistic):
    """A variance or its root."""

    __slots__ = ("_of",)

    def __init__(
        self,
        of: _native.Number,
        kind: str,
        values: Sequence[_native.Number | _native.Mask],
        finish: Callable[..., Any],
        name: str,
        unit: str,
    ) -> None:
        super().__init__(kind, values, finish, name, unit)
        self._of = of

    def _sealed(self) -> tuple[str, list[_native.Number | _native.Mask], str, list[str]]:
        kind, values, unit, labels = super()._sealed()
        return (kind, [self._of, *values], unit, labels)


class EncryptedSelection:
    """The rows of a column that meet an encrypted condition: ``column[mask]``.

    Which rows they are nobody knows, so they have no length and no rows, but reductions.
    """

    __array_ufunc__ = None

    def __init__(self, column: EncryptedColumn, mask: EncryptedMask) -> None:
        if not isinstance(mask, EncryptedMask) or mask.ndim != 1:
            raise TypeError("rows are selected by an EncryptedMask, such as column > 30")
        if len(mask) != len(column):
            raise ValueError(f"a condition on {len(mask)} rows selects none of {len(column)}")
        self._column = column
        self._mask = mask

    def count(self) -> EncryptedScalar:
        """How many there are."""
        return self._mask.sum()

    def _total(self) -> _native.Number:
        number = self._column._number
        total = number.keep(self._mask._mask).sum()
        if number.offset == 0:
            return total
        count = self._mask._mask.count()
        return total.add(count, number.offset)

    def _label(self, function: str) -> str:
        return f"{function}({self._column.name} where {self._mask.name})"

    def sum(self) -> EncryptedScalar:
        """Their sum; 0 if there are none."""
        return EncryptedScalar(self._total(), self._label("sum"), self._column.unit)

    def mean(self) -> EncryptedStatistic:
        """Their mean; NaN if there are none."""
        number = self._column._number
        codes = number.keep(self._mask._mask).sum()
        count = self._mask._mask.count()

        def finish(total: int, rows: int) -> float:
            return number.offset + number.scale * total / rows if rows else math.nan

        return EncryptedStatistic(
            "", [codes, count], finish, self._label("mean"), self._column.unit
        )

    def min(self) -> EncryptedStatistic:
        """The smallest of them; NaN if there are none."""
        return self._extreme(False)

    def max(self) -> EncryptedStatistic:
        """The largest of them; NaN if there are none."""
        return self._extreme(True)

    def _extreme(self, largest: bool) -> EncryptedStatistic:
        number = self._column._number
        last = number.offset if largest else number.maximum
        extreme = number.select_clear(self._mask._mask, last).extreme(largest)

        def finish(code: int, any_row: bool) -> float:
            return extreme.offset + extreme.scale * code if any_row else math.nan

        name = self._label("max" if largest else "min")
        parts: list[_native.Number | _native.Mask] = [extreme, self._mask._mask.any()]
        return EncryptedStatistic("", parts, finish, name, self._column.unit)

    def __repr__(self) -> str:
        return f"<EncryptedSelection of {self._column.name!r} where {self._mask.name!r}>"


class EncryptedMask(_Encrypted):
    """Encrypted truth values: one a row, or a single one.

    ``&``, ``|``, ``^`` and ``~`` combine them, with each other and with clear booleans.
    """

    __slots__ = ("_mask", "rows")

    #: The rows' labels, in the clear; none of a single truth value.
    rows: Sequence[str]

    def __init__(self, mask: _native.Mask, name: str, rows: Sequence[str]) -> None:
        self._mask = mask
        self.name = _name(name)
        self.rows = rows if mask.rows is not None else ()

    def _parts(self) -> list[_native.Number | _native.Mask]:
        return [self._mask]

    @property
    def ndim(self) -> int:
        """1, or 0 of a single truth value."""
        return 0 if self._mask.rows is None else 1

    @property
    def shape(self) -> tuple[int, ...]:
        """Its number of rows, as numpy has it."""
        return () if self._mask.rows is None else (self._mask.rows,)

    def __len__(self) -> int:
        if self._mask.rows is None:
            raise TypeError("a single encrypted truth value has no len()")
        return self._mask.rows

    def __iter__(self) -> Iterator[Any]:
        raise TypeError("encrypted truth values are not looped over: use &, |, ~, sum, any and all")

    def __repr__(self) -> str:
        rows = "a single one" if self._mask.rows is None else f"{self._mask.rows} rows"
        return f"<EncryptedMask {self.name!r}, {rows}, {_state(self)}>"

    def _logic(
        self, other: object, sign: str, apply: Callable[[_native.Mask, _native.Mask], _native.Mask]
    ) -> Any:
        if isinstance(other, EncryptedMask):
            mask = other._mask
        elif isinstance(other, (bool, np.bool_)):
            mask = self._mask.constant(bool(other))
        elif isinstance(other, (np.ndarray, list)) and np.asarray(other).dtype.kind == "b":
            mask = self._mask.public(np.asarray(other).tolist())
        elif isinstance(other, _Encrypted):
            raise TypeError(f"{sign} combines conditions, not numbers: compare first")
        else:
            return NotImplemented
        rows = self.rows or (other.rows if isinstance(other, EncryptedMask) else ())
        result = apply(self._mask, mask)
        if result.rows is not None and not rows:
            rows = _numbered(result.rows)
        return EncryptedMask(result, f"({self.name} {sign} {_shown(other)})", rows)

    def __and__(self, other: object) -> Any:
        return self._logic(other, "&", _native.Mask.logical_and)

    def __or__(self, other: object) -> Any:
        return self._logic(other, "|", _native.Mask.logical_or)

    def __xor__(self, other: object) -> Any:
        return self._logic(other, "^", _native.Mask.logical_xor)

    __rand__ = __and__
    __ror__ = __or__
    __rxor__ = __xor__

    def __invert__(self) -> EncryptedMask:
        return EncryptedMask(self._mask.logical_not(), f"~{self.name}", self.rows)

    def __eq__(self, other: object) -> Any:
        different = self._logic(other, "==", _native.Mask.logical_xor)
        return different if different is NotImplemented else ~different

    def __ne__(self, other: object) -> Any:
        return self._logic(other, "!=", _native.Mask.logical_xor)

    __hash__ = _Encrypted.__hash__

    def sum(self, axis: object = None, dtype: object = None, out: object = None) -> EncryptedScalar:
        """How many hold."""
        _check_axis(axis, out, dtype=dtype)
        return EncryptedScalar(self._mask.count(), f"count{self._in_parentheses()}", "", True)

    count = sum

    def mean(self, axis: object = None, dtype: object = None, out: object = None) -> EncryptedScalar:
        """The share of rows in which they hold."""
        _check_axis(axis, out, dtype=dtype)
        share = self._mask.count().affine(1.0 / max(self._mask.rows or 1, 1), 0.0)
        return EncryptedScalar(share, f"mean{self._in_parentheses()}", "")

    def any(self, axis: object = None, out: object = None) -> EncryptedMask:
        """Whether any holds: a single truth value."""
        _check_axis(axis, out)
        return EncryptedMask(self._mask.any(), f"any{self._in_parentheses()}", ())

    def all(self, axis: object = None, out: object = None) -> EncryptedMask:
        """Whether all hold: a single truth value."""
        _check_axis(axis, out)
        return EncryptedMask(self._mask.all(), f"all{self._in_parentheses()}", ())

    def where(self, a: Operand, b: Operand) -> Any:
        """``a`` where it holds and ``b`` where it does not."""
        return where(self, a, b)

    def _in_parentheses(self) -> str:
        return self.name if self.name.startswith("(") else f"({self.name})"

    def __getitem__(self, key: Any) -> EncryptedMask:
        count = len(self)
        if isinstance(key, (int, np.integer)) and not isinstance(key, (bool, np.bool_)):
            place = _place(int(key), count)
            return EncryptedMask(self._mask.item(place), f"{self.name}[{place}]", ())
        places = _places(key, count)
        if not places:
            raise IndexError("no rows are left: an encrypted mask has at least one")
        rows = [self.rows[place] for place in places]
        return EncryptedMask(self._mask.take(places), self.name, rows)

    def _read(self, reader: Reader) -> Any:
        truths = reader.truths(self._mask)
        return truths[0] if self._mask.rows is None else np.array(truths, dtype=np.bool_)

    def _sealed(self) -> tuple[str, list[_native.Number | _native.Mask], str, list[str]]:
        return ("rows", [self._mask], "", list(self.rows) or [""])


class EncryptedTable:
    """Encrypted columns of the same rows: ``table["temperature"]``."""

    def __init__(self, columns: dict[str, EncryptedColumn], rows: Sequence[str]) -> None:
        self._columns = columns
        #: The rows' labels, in the clear.
        self.rows = rows

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
        return list(self._columns)

    def __getitem__(self, name: str) -> EncryptedColumn:
        try:
            return self._columns[name]
        except KeyError:
            raise KeyError(
                f"there is no column {name!r}: there are {', '.join(self._columns)}"
            ) from None

    def __len__(self) -> int:
        return len(self.rows)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def items(self) -> Iterator[tuple[str, EncryptedColumn]]:
        """Names and columns."""
        return iter(self._columns.items())

    def __repr__(self) -> str:
        return f"<EncryptedTable of {len(self)} rows: {', '.join(self._columns)}>"


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
    name = f"where({condition.name}, {_shown(a)}, {_shown(b)})"
    if not isinstance(a, _Numeric) and not isinstance(b, _Numeric):
        if not (_is_clear_number(a) and _is_clear_number(b)):
            raise TypeError("one of the two values of where() is encrypted, or both are numbers")
        if a == b:
            raise ValueError("both values of where() are the same clear number")
        bits = _as_number(condition)
        step = float(a) - float(b)  # type: ignore[arg-type]
        number = bits._number.affine(step, float(b))  # type: ignore[arg-type]
        return bits._like(number, name, bits)
    if not isinstance(a, _Numeric):
        return _renamed(where(~condition, b, a), name)
    if _is_clear_number(b):
        number = a._number.select_clear(condition._mask, float(b))  # type: ignore[arg-type]
        return _placed(number, name, a, a, condition)
    other = a._other(b)
    if other is None:
        raise TypeError(f"where() takes numbers, not a {type(b).__name__}")
    return _placed(a._number.select(condition._mask, other), name, a, b, condition)


def maximum(a: Any, b: Any) -> Any:
    """The larger of two operands, row by row; one of them is encrypted."""
    return _renamed(where(a > b, a, b), f"maximum({_shown(a)}, {_shown(b)})")


def minimum(a: Any, b: Any) -> Any:
    """The smaller of two operands, row by row; one of them is encrypted."""
    return _renamed(where(a < b, a, b), f"minimum({_shown(a)}, {_shown(b)})")


def _as_number(condition: EncryptedMask) -> _Numeric:
    number = condition._mask.as_number()
    if number.rows is None:
        return EncryptedScalar(number, condition.name, "", True)
    return EncryptedColumn(number, condition.name, "", condition.rows, True)


def _renamed(value: Any, name: str) -> Any:
    value.name = _name(name)
    return value


def _placed(number: _native.Number, name: str, a: _Numeric, b: object, mask: EncryptedMask) -> Any:
    if number.rows is None:
        return EncryptedScalar(number, name, a.unit)
    for one in (a, b, mask):
        rows: Sequence[str] = getattr(one, "rows", ())
        if len(rows) == number.rows:
            return EncryptedColumn(number, name, a.unit, rows)
    return EncryptedColumn(number, name, a.unit, _numbered(number.rows))


@dataclass(frozen=True)
class Cost:
    """What is left to compute."""

    #: Bootstraps: what takes the time.
    bootstraps: int
    #: How many of them follow one another.
    depth: int
    #: How long they take on this machine, if that was to be measured.
    seconds: float | None = None


def _all_parts(values: Iterable[Any]) -> list[_native.Number | _native.Mask]:
    parts: list[_native.Number | _native.Mask] = []
    for value in values:
        if not isinstance(value, _Encrypted):
            raise TypeError(f"a {type(value).__name__} is nothing encrypted")
        parts.extend(value._parts())
    return parts


def compute(*values: Encrypted, progress: Progress = None) -> None:
    """Computes encrypted values together: what they have in common once.

    They keep what was computed, so that whatever is made of them starts from there. Other threads
    of Python run meanwhile; Ctrl-C calls the computation off.

    Args:
        progress: ``True`` for a bar of tqdm, or a function of two numbers of bootstraps: those
            done, and all of them.
    """
    parts = _all_parts(values)
    with telling(progress, "computing", " bootstraps") as callback:
        _native.compute(parts, callback)


def cost(*values: Encrypted, measure: bool = False) -> Cost:
    """What computing encrypted values together would take.

    Args:
        measure: whether to try how fast this machine is, once for each server, and say how long
            it would take.
    """
    return Cost(*_native.cost(_all_parts(values), measure))


def to_bytes(*values: Encrypted, progress: Progress = None) -> bytes:
    """Computes encrypted values, and gives the bytes of a result with all of them."""
    compute(*values, progress=progress)
    answers = []
    for value in values:
        kind, parts, unit, labels = value._sealed()
        if not kind:
            raise TypeError(
                f"{value.name} has no form as bytes: send what it is made of, such as sum() and "
                "count() of the selection"
            )
        answers.append((kind, value.name, parts, unit, labels))
    return _native.seal(answers, 0)


def _numpy_histogram(
    column: EncryptedColumn, bins: Any = 10, range: Any = None, **others: Any
) -> tuple[EncryptedColumn, NDArray[np.float64]]:
    _check_axis(None, **others)
    if isinstance(bins, (int, np.integer)):
        low, high = range or column.range
        bins = np.linspace(low, high, int(bins) + 1)
    return (column.histogram(bins), np.asarray(bins, dtype=np.float64))


_NUMPY: dict[Callable[..., Any], Callable[..., Any]] = {
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
