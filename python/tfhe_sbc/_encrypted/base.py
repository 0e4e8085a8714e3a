"""The base of all encrypted values, and functions of several of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeVar, Union

import numpy as np
from numpy.typing import NDArray

from .. import _native
from .._progress import Progress, telling
from .._readings import ArrowArray, ArrowStream, Series

if TYPE_CHECKING:
    from .column import EncryptedColumn
    from .mask import EncryptedMask
    from .numeric import EncryptedScalar
    from .optional import EncryptedOptionalColumn
    from .statistic import EncryptedStatistic

#: A clear number.
Clear = Union[int, float, "np.number[Any]"]
#: Clear numbers, one for each row.
ClearRows = Union["NDArray[np.number[Any]]", Sequence[float], Series, ArrowStream, ArrowArray]
#: What meets a column: numbers, encrypted or not.
Operand = Union["EncryptedColumn", "EncryptedScalar", Clear, ClearRows]
#: What tells some of the rows: a slice, places, or a truth value for each row.
Places = Union[slice, Sequence[int], "NDArray[np.integer[Any]]", "NDArray[np.bool_]", Series]
#: The edges of bins, or their number.
Bins = Union[int, ClearRows]
#: Whatever is encrypted.
Encrypted = Union[
    "EncryptedColumn",
    "EncryptedScalar",
    "EncryptedStatistic",
    "EncryptedMask",
    "EncryptedOptionalColumn",
]
_Value = TypeVar("_Value", bound="Encrypted_")
_Columns = TypeVar("_Columns", bound="Columns_")
#: What encrypted values are made of.
Part = Union[_native.Number, _native.Mask]
#: An answer of a result: its kind, name, parts, unit and rows.
Answer = tuple[str, str, list[Part], str, list[str]]

#: Functions of numpy and what they are of encrypted values.
NUMPY: dict[Callable[..., Any], Callable[..., Any]] = {}
#: The same for those that work number by number: operators of numpy's own numbers and arrays,
#: as in ``np.float64(30) < column``, come here too.
UFUNCS: dict[Callable[..., Any], Callable[..., Any]] = {}

_MOST_OF_A_NAME = 200


class Reader(Protocol):
    """A party that can read computed values."""

    def codes(self, number: _native.Number) -> list[int]: ...
    def truths(self, mask: _native.Mask) -> list[bool]: ...


class Encrypted_:
    """The base of all encrypted values."""

    __slots__ = ("name",)

    name: str

    #: Series of pandas leave operators with encrypted values to these.
    __pandas_priority__ = 10_000

    def _parts(self) -> list[Part]:
        raise NotImplementedError

    def _read(self, reader: Reader) -> Any:
        raise NotImplementedError

    def _sealed(self) -> tuple[str, list[Part], str, list[str]]:
        """The kind of answer that it is in a result, its parts, unit and rows."""
        raise NotImplementedError

    def _answers(self, name: str) -> list[Answer]:
        """The answers that it is in a result: one, unless it is several numbers a row."""
        kind, parts, unit, labels = self._sealed()
        return [(kind, name, parts, unit, labels)]

    @property
    def is_computed(self) -> bool:
        """True if nothing is left to compute."""
        return all(part.is_computed for part in self._parts())

    def compute(self: _Value, progress: Progress = None) -> _Value:
        """Computes it, and gives it back. See :func:`compute`."""
        compute(self, progress=progress)  # type: ignore[arg-type]
        return self

    def cost(self, measure: bool = False) -> Cost:
        """The cost of what is left to compute. See :func:`cost`."""
        return cost(self, measure=measure)  # type: ignore[arg-type]

    def to_bytes(self, progress: Progress = None) -> bytes:
        """Computes it and gives the bytes of a result, as ``tfhe-sbc eval`` writes them.

        ``SecretKey.decrypt`` and ``tfhe-sbc decrypt`` read it, ``Server.load_result`` computes on
        it.
        """
        return to_bytes(self, progress=progress)  # type: ignore[arg-type]

    def __array__(self, *_: object, **__: object) -> NoReturn:
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

    def __array_ufunc__(
        self, ufunc: Callable[..., Any], method: str, *inputs: object, **kwargs: object
    ) -> object:
        ours = UFUNCS.get(ufunc)
        if ours is None or method != "__call__" or kwargs:
            name = getattr(ufunc, "__name__", "this function")
            way = "" if method == "__call__" else f".{method}"
            with_ = f" with {', '.join(kwargs)}=" if ours and kwargs else ""
            raise TypeError(f"numpy's {name}{way} does not work on encrypted values{with_}")
        # numpy has its own numbers as arrays without dimensions here.
        return ours(
            *(one[()] if isinstance(one, np.ndarray) and not one.ndim else one for one in inputs)
        )

    def __array_function__(
        self,
        function: Callable[..., Any],
        types: Iterable[type],
        args: Sequence[object],
        kwargs: dict[str, object],
    ) -> object:
        ours = NUMPY.get(function)
        if ours is None:
            name = getattr(function, "__name__", "this function")
            raise TypeError(f"numpy's {name} does not work on encrypted values")
        return ours(*args, **kwargs)


class NoOperand:
    """What no operator takes, and why not."""

    __slots__ = ()

    def _why_no_operand(self) -> str:
        """A sentence that says what to do instead."""
        raise NotImplementedError

    def _no_operand(self, *_: object) -> NoReturn:
        raise TypeError(self._why_no_operand())

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _no_operand
    __truediv__ = __rtruediv__ = __pow__ = __neg__ = __abs__ = _no_operand
    __lt__ = __le__ = __gt__ = __ge__ = _no_operand
    __eq__ = __ne__ = _no_operand
    __hash__ = object.__hash__


class Columns_:
    """The base of tables: encrypted values by name, which are computed together."""

    def items(self) -> Iterable[tuple[Any, Any]]:
        """Names and encrypted values."""
        raise NotImplementedError

    def compute(self: _Columns, progress: Progress = None) -> _Columns:
        """Computes them together, and gives them back. See :func:`compute`."""
        compute(self, progress=progress)
        return self

    def cost(self, measure: bool = False) -> Cost:
        """The cost of what is left to compute. See :func:`cost`."""
        return cost(self, measure=measure)


def flattened(values: Iterable[Any]) -> Iterator[Any]:
    """Encrypted values, with those of tables one by one."""
    for value in values:
        if isinstance(value, Columns_):
            yield from (one for _, one in value.items())
        else:
            yield value


def named(text: str) -> str:
    return text if len(text) <= _MOST_OF_A_NAME else text[: _MOST_OF_A_NAME - 1] + "…"


def shown(operand: object) -> str:
    if isinstance(operand, Encrypted_):
        return operand.name
    if isinstance(operand, (int, float, np.number)):
        return f"{float(operand):g}"
    return "[…]"


def is_clear_number(value: object) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(
        value, (bool, np.bool_)
    )


def is_whole(value: object) -> bool:
    """True if its type is one of whole numbers."""
    if isinstance(value, Encrypted_):
        return bool(getattr(value, "_whole", False))
    if isinstance(value, (list, tuple)):
        value = np.asarray(value)
    # Of arrays, and of what can be one: Series of pandas and polars, arrays of Arrow.
    if hasattr(value, "dtype") or hasattr(value, "__array__"):
        return np.asarray(value).dtype.kind in "iu"
    return isinstance(value, int)


def check_axis(axis: object, out: object = None, **others: object) -> None:
    if axis not in (None, 0, -1):
        raise ValueError(f"axis {axis} is out of bounds: an encrypted column has one dimension")
    if out is not None:
        raise TypeError("an encrypted result is not written into out=")
    for name, value in others.items():
        if value not in (None, False):
            raise TypeError(f"{name}= has no meaning for encrypted values")


def state(value: Encrypted_) -> str:
    return "computed" if value.is_computed else "not computed yet"


def numbered(count: int) -> list[str]:
    return [str(row) for row in range(count)]


def places_of(key: Any, count: int) -> list[int]:
    """The rows that an index other than a number means."""
    if isinstance(key, slice):
        return list(range(*key.indices(count)))
    array = np.asarray(key)
    if array.dtype.kind == "b":
        if array.shape != (count,):
            raise IndexError(f"a boolean index of {array.shape} does not fit {count} rows")
        return [int(place) for place in np.flatnonzero(array)]
    if array.dtype.kind in "iu" and array.ndim == 1 or array.size == 0:
        return [place_of(int(place), count) for place in array]
    raise TypeError(
        "an encrypted column is indexed by a number, a slice, a list of numbers, clear booleans or "
        "an EncryptedMask"
    )


def place_of(place: int, count: int) -> int:
    if not -count <= place < count:
        raise IndexError(f"row {place} is out of bounds: there are {count}")
    return place % count


@dataclass(frozen=True)
class Cost:
    """What is left to compute."""

    #: Bootstraps: what takes the time.
    bootstraps: int
    #: How many of them follow one another.
    depth: int
    #: How long they take on this machine, if that was to be measured.
    seconds: float | None = None
    #: How many blocks of readings are loaded at once; ``compute`` refuses more than 65,536.
    loaded_blocks: int = field(default=0, compare=False)


def _all_parts(values: Iterable[Any]) -> list[Part]:
    parts: list[Part] = []
    for value in flattened(values):
        if not isinstance(value, Encrypted_):
            raise TypeError(f"a {type(value).__name__} is nothing encrypted")
        parts.extend(value._parts())
    return parts


def compute(*values: Encrypted | Columns_, progress: Progress = None) -> None:
    """Computes encrypted values and tables of them together: what they have in common once.

    They keep what was computed, so that whatever is made of them starts from there. Other threads
    of Python run meanwhile; Ctrl-C calls the computation off.

    Args:
        progress: ``True`` for a bar of tqdm, or a function of two numbers of bootstraps: those
            done, and all of them.
    """
    _compute(values, progress)


def _compute(values: Sequence[Any], progress: Progress) -> int:
    """Computes the values and returns the number of bootstraps."""
    parts = _all_parts(values)
    with telling(progress, "computing", " bootstraps") as callback:
        return _native.compute(parts, callback)


def cost(*values: Encrypted | Columns_, measure: bool = False) -> Cost:
    """The cost of computing encrypted values and tables of them together.

    Args:
        measure: whether to try how fast this machine is, once for each server, and say how long
            it would take.
    """
    return Cost(*_native.cost(_all_parts(values), measure))


def to_bytes(
    *values: Encrypted, names: Sequence[str] | None = None, progress: Progress = None
) -> bytes:
    """Computes encrypted values, and gives the bytes of a result with all of them.

    Args:
        names: what the answers are called, one a value; their own names if not given. Of
            several with one name, the second is called ``NAME (2)`` and so on.
    """
    if not values:
        raise ValueError("there is nothing to make bytes of: give at least one encrypted value")
    if names is not None and len(names) != len(values):
        raise ValueError(f"{len(names)} names for {len(values)} values: give each one")
    bootstraps = _compute(values, progress)
    answers: list[Answer] = []
    called = distinct([value.name for value in values] if names is None else names)
    for name, value in zip(called, values):
        sealed = value._answers(name)
        if any(not kind for kind, *_ in sealed):
            raise TypeError(
                f"{value.name} has no form as bytes: variances have one with ddof=0 or ddof=1; for percentiles of "
                "readings that may be missing ask Server.query, or fill them in first with fillna()"
            )
        answers.extend(sealed)
    return _native.seal(answers, bootstraps)


def distinct(names: Iterable[str]) -> list[str]:
    """Names of which no two are the same: the second of one name is ``NAME (2)``."""
    found: list[str] = []
    taken: set[str] = set()
    for name in names:
        one, count = name, 1
        while one in taken:
            count += 1
            mark = f" ({count})"
            one = name[: _MOST_OF_A_NAME - len(mark)] + mark
        taken.add(one)
        found.append(one)
    return found
