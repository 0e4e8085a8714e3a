"""Several encrypted results with a label each, and reductions by pandas' names."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, Union, overload

import numpy as np
from numpy.typing import NDArray

from .._frames import Keys, Name, flat
from .advice import Advises
from .base import Answer, Columns_, Encrypted_, NoOperand, Part, Reader, distinct, named, state
from .statistic import EncryptedStatistic

if TYPE_CHECKING:
    from .numeric import EncryptedScalar

#: A reduction: pandas' name of it, or a function of encrypted numbers that gives a single one.
Function = Union[str, Callable[..., Encrypted_]]

#: The reductions that have names.
_REDUCTIONS = ("count", "first", "last", "max", "mean", "median", "min", "ptp", "std", "sum", "var")
_BUILTINS: dict[object, str] = {sum: "sum", min: "min", max: "max"}


def name_of(function: Function) -> str:
    """What a reduction is called."""
    name = _BUILTINS.get(function, function)
    return name if isinstance(name, str) else getattr(name, "__name__", "function")


def reduced(of: Any, function: Function, *given: object) -> Encrypted_ | float:
    """A reduction of encrypted numbers in rows; of ``std`` and ``var`` pandas', over the number of rows less one.

    Args:
        of: a column or a selection.
        function: the reduction.
        given: arguments of it; of ``std`` and ``var`` what is taken off the number of rows.

    Returns:
        NaN if there are too few rows for it.
    """
    function = _BUILTINS.get(function, function)
    if not isinstance(function, str):
        result = function(of)
        if not isinstance(result, Encrypted_):
            raise TypeError(
                f"{name_of(function)} gives a {type(result).__name__} of encrypted numbers: give a function of a "
                "column whose result is encrypted, or the name of one, such as 'mean'"
            )
        return result
    if function not in _REDUCTIONS:
        near = difflib.get_close_matches(function, _REDUCTIONS, 1)
        meant = f": did you mean {near[0]!r}?" if near else ""
        raise ValueError(
            f"there is no reduction {function!r} here{meant or ': there are ' + ', '.join(_REDUCTIONS)}"
        )
    if function in ("std", "var"):
        ddof: Any = given[0] if given else 1
        if getattr(of, "size", math.inf) <= ddof:
            return math.nan
        return getattr(of, function)(ddof=ddof)  # type: ignore[no-any-return]
    if function in ("first", "last"):
        return of[0 if function == "first" else -1]  # type: ignore[no-any-return]
    return getattr(of, function)(*given)  # type: ignore[no-any-return]


class EncryptedSummary(NoOperand, Encrypted_, Advises):
    """Encrypted results with a label each: of groups, of the columns of a table, or of several reductions.

    Decrypted it is an array, with ``to="pandas"`` a Series with the labels as index. ``summary[label]`` is one of them,
    which can be an operand.
    """

    __slots__ = ("_values", "_keys", "rows", "unit")

    _ADVICE = dict.fromkeys(
        (*_REDUCTIONS, "sort_index", "sort_values", "idxmax", "idxmin", "head", "tail"),
        "decrypt it with to='pandas', and do it there, or take single ones, as in summary[label]",
    )

    #: The labels as texts, in the clear.
    rows: Sequence[str]
    #: The unit of its numbers; empty if they have several.
    unit: str

    def __init__(
        self, values: Sequence[Encrypted_ | float], name: str, unit: str, keys: Keys
    ) -> None:
        self._values = list(values)
        self._keys = keys
        self.name = named(name)
        self.unit = unit
        self.rows = texts_of(keys)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def items(self) -> Iterator[tuple[str, Encrypted_ | float]]:
        """Labels and results. Those that no reading tells, such as the mean of no rows, are clear."""
        return zip(self.rows, self._values)

    def __getitem__(self, label: object) -> EncryptedScalar:
        """The result with a label: that of a group, a column or a reduction.

        It is an :class:`EncryptedStatistic` where the reduction gives one, and a clear NaN where there were too few rows,
        which types do not know.
        """
        keys = zip(*self._keys.levels) if len(self._keys.levels) > 1 else self._keys.levels[0]
        for one, text, value in zip(keys, self.rows, self._values):
            if label == text or type(one) is type(label) and one == label:
                return value  # type: ignore[return-value]
        raise KeyError(f"there is no {label!r}: there are {', '.join(self.rows[:20])}")

    def _parts(self) -> list[Part]:
        return [p for one in self._values if isinstance(one, Encrypted_) for p in one._parts()]

    def _read(self, reader: Reader) -> NDArray[Any]:
        values = [one._read(reader) if isinstance(one, Encrypted_) else one for one in self._values]
        return np.array(values)

    def _answers(self, name: str) -> list[Answer]:
        """An answer for each that is encrypted, ``NAME [LABEL]``."""
        pairs = list(self.items())
        called = distinct(f"{name} [{label}]" for label, _ in pairs)
        answers: list[Answer] = []
        for one_name, (_, value) in zip(called, pairs):
            if isinstance(value, Encrypted_):
                answers.extend(value._answers(one_name))
        return answers

    def _why_no_operand(self) -> str:
        label = self.rows[0] if self.rows else "label"
        return (
            f"{self.name} is several results and no operand: take one of them, as in summary[{label!r}], or decrypt "
            "them first"
        )

    def __repr__(self) -> str:
        return f"<EncryptedSummary {self.name!r} of {', '.join(self.rows[:8])}{', …' * (len(self) > 8)}; {state(self)}>"


def texts_of(keys: Keys) -> list[str]:
    """Keys as labels: those of several levels with spaces between."""
    return [" ".join(map(str, parts)) for parts in zip(*keys.levels)]


def labelled(values: Mapping[str, Encrypted_ | float], name: str, unit: str) -> EncryptedSummary:
    """Results by their labels."""
    return EncryptedSummary(list(values.values()), name, unit, Keys([list(values)], [None]))


class EncryptedSummaryTable(Columns_, Advises):
    """Encrypted results in rows and columns: reductions of groups, or of the columns of a table.

    Decrypted it is a DataFrame with the labels as index.
    """

    def __init__(
        self, columns: Mapping[str, EncryptedSummary] | Mapping[Name, EncryptedSummary], keys: Keys
    ) -> None:
        self._columns: dict[Name, EncryptedSummary] = {name: one for name, one in columns.items()}
        self._keys = keys
        #: The labels of the rows as texts, in the clear.
        self.rows: Sequence[str] = texts_of(keys)

    @property
    def columns(self) -> list[Name]:
        """The names of its columns; those of several reductions of columns are pairs."""
        return list(self._columns)

    def __getitem__(self, name: Name) -> EncryptedSummary:
        if name not in self._columns:
            known = ", ".join(map(repr, self._columns))
            raise KeyError(f"there is no column {name!r}: there are {known}")
        return self._columns[name]

    def __len__(self) -> int:
        return len(self.rows)

    def items(self) -> Iterator[tuple[Name, EncryptedSummary]]:
        """Names and columns."""
        return iter(self._columns.items())

    def __repr__(self) -> str:
        return f"<EncryptedSummaryTable of {len(self)} rows: {', '.join(map(flat, self._columns))}>"


#: What a reduction of each part gives.
_Result = TypeVar("_Result", EncryptedSummary, EncryptedSummaryTable)


class ReducesEach(Generic[_Result]):
    """What has reductions of each of its parts: of the columns of a table, or of the groups of a column or a table."""

    __slots__ = ()

    def _each(self, function: Function, *given: object) -> _Result:
        """The reduction of each part, with the arguments that it gets."""
        raise NotImplementedError

    def sum(self) -> _Result:
        """The sum of each column or group."""
        return self._each("sum")

    def count(self) -> _Result:
        """The number of readings of each column or group."""
        return self._each("count")

    def mean(self) -> _Result:
        """The mean of each column or group."""
        return self._each("mean")

    def min(self) -> _Result:
        """The smallest number of each column or group."""
        return self._each("min")

    def max(self) -> _Result:
        """The largest number of each column or group."""
        return self._each("max")

    def median(self) -> _Result:
        """The median of each column or group."""
        return self._each("median")

    def var(self, ddof: int = 1) -> _Result:
        """The variance of each column or group, over its number of readings less ``ddof``, as pandas' tables and groups
        have it."""
        return self._each("var", ddof)

    def std(self, ddof: int = 1) -> _Result:
        """The root of the variance of each column or group. See :meth:`var`."""
        return self._each("std", ddof)


class Reduces:
    """What has reductions of its rows, and several of them at once."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def unit(self) -> str: ...
        @property
        def name(self) -> str: ...

    @overload
    def agg(self, func: Function) -> Encrypted_: ...  # type: ignore[overload-overlap]
    @overload
    def agg(self, func: Sequence[Function]) -> EncryptedSummary: ...
    def agg(self, func: Function | Sequence[Function]) -> Encrypted_:
        """A reduction, or several, by pandas' names: ``column.agg(["mean", "max"])``.

        Args:
            func: ``"sum"``, ``"mean"``, ``"min"``, ``"max"``, ``"count"``, ``"median"``, ``"ptp"``, ``"first"``,
                ``"last"``, or ``"std"`` and ``"var"``, which are over the number of rows less one as pandas' are; or
                a function of the column. A list gives a result with a label each.
        """
        if isinstance(func, str) or callable(func):
            one = reduced(self, func)
            if isinstance(one, Encrypted_):
                return one
            name, unit = f"{name_of(func)}({self.name})", self.unit
            return EncryptedStatistic("", [], lambda: one, name, unit)
        values = {name_of(one): reduced(self, one) for one in func}
        if not values:
            raise ValueError("there is nothing to aggregate with: name a reduction, such as 'mean'")
        units = {getattr(one, "unit", "") for one in values.values()}
        unit = units.pop() if len(units) == 1 else ""
        return labelled(values, self.name, unit)

    def describe(self) -> EncryptedSummary:
        """Count, mean, standard deviation over the number of rows less one, minimum, quartiles and maximum, as pandas
        has them. What is missing is left out.

        Returns:
            Eight numbers, in the unit of the rows but for the count; with ``to="pandas"`` they are decrypted to a
            Series with pandas' names.
        """
        of: Any = self
        values = {one: reduced(self, one) for one in ("count", "mean", "std", "min")}
        values.update({f"{percent}%": of.percentile(percent) for percent in (25, 50, 75)})
        values["max"] = reduced(self, "max")
        return labelled(values, self.name, self.unit)
