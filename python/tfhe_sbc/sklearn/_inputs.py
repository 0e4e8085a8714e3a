"""The columns that a model predicts from."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _native
from .._encrypted import EncryptedColumn, EncryptedOptionalColumn, EncryptedTable


@dataclass(frozen=True)
class Inputs:
    """Encrypted columns in the order of a model's features."""

    names: list[str]
    columns: list[EncryptedColumn]

    @property
    def numbers(self) -> list[_native.Number]:
        """The columns as the extension module has them."""
        return [column._number for column in self.columns]

    @property
    def rows(self) -> Sequence[str]:
        """The rows' labels."""
        return self.columns[0].rows

    def same_for_all(self, truth: bool) -> _native.Mask:
        """A truth value for each row, in the clear."""
        number = self.numbers[0]
        return number.compare_code("<", 1).constant(truth).public([truth] * len(self.rows))

    def first(self) -> Inputs:
        """The same columns with their first row alone."""
        return Inputs(self.names, [column[:1] for column in self.columns])

    def ends(self) -> Inputs:
        """The same columns with their first and last rows, which are of the first and the last upload: what they cost a row is
        what all rows between cost at most."""
        if len(self.rows) == 1:
            return self
        return Inputs(self.names, [column[[0, len(column) - 1]] for column in self.columns])

    def most(self) -> NDArray[np.float64]:
        """The largest code of each column."""
        return np.array([2.0**number.bits - 1 for number in self.numbers])

    def codes(self, readings: NDArray[np.float64]) -> NDArray[np.int64]:
        """The codes that a board would send of these readings."""
        codes = np.empty(readings.shape, dtype=np.int64)
        for place, (name, number) in enumerate(zip(self.names, self.numbers)):
            of = np.floor((readings[:, place] - number.offset) / number.scale + 0.5)
            outside = ~((of >= 0) & (of < 2.0**number.bits))
            if outside.any():
                row = int(np.argmax(outside))
                raise _native.RangeError(
                    f"row {row}, column {name!r}: {readings[row, place]:g} is out of the range of the "
                    f"encrypted column, {number.offset:g} to {number.maximum:g}: leave the row out, or "
                    "encrypt the column with more bits or another offset"
                )
            codes[:, place] = of
        return codes


def column_name(feature: str) -> str:
    """The name of a feature as columns have it: letters, digits and underscores."""
    return re.sub(r"\W+", "_", feature).strip("_")


def inputs_of(table: object, features: Sequence[str]) -> Inputs:
    """The columns of a table that a model's features are.

    Args:
        table: an :class:`EncryptedTable`, a mapping from names to columns, or one column.
        features: the names of the features in the model's order.
    """
    named = _by_name(table, features)
    columns: list[EncryptedColumn] = []
    for feature in features:
        found = named.get(feature, named.get(column_name(feature)))
        if found is None:
            there = ", ".join(repr(name) for name in named)
            called = column_name(feature)
            also = "" if called == feature else f" or {called!r}"
            raise ValueError(
                f"the model predicts from {feature!r}, and the table has no column {feature!r}{also}: it has "
                f"{there}. Name the column so, give a dict such as {{{feature!r}: table[...]}}, or give "
                "from_model the names that the columns have: features=[...]"
            )
        if isinstance(found, EncryptedOptionalColumn):
            raise TypeError(
                f"readings of column {found.name!r} may be missing, and models need all of them: fill them "
                f"in first, as in {{{feature!r}: table[{found.name!r}].fillna(0), ...}}"
            )
        if not isinstance(found, EncryptedColumn):
            raise TypeError(
                f"a model predicts from encrypted columns, and {feature!r} is a {type(found).__name__}"
            )
        if columns and len(found) != len(columns[0]):
            raise ValueError(
                f"the columns {columns[0].name!r} and {found.name!r} have {len(columns[0])} and "
                f"{len(found)} rows: a model predicts from columns of the same rows"
            )
        columns.append(found)
    return Inputs(list(features), columns)


def _by_name(table: object, features: Sequence[str]) -> Mapping[str, object]:
    if isinstance(table, EncryptedTable):
        return dict(table.items())
    if isinstance(table, (EncryptedColumn, EncryptedOptionalColumn)):
        return {features[0] if len(features) == 1 else table.name: table}
    if isinstance(table, Mapping):
        return table
    raise TypeError(
        f"a model predicts from an encrypted table, such as Server.load gives, not from a "
        f"{type(table).__name__}; for clear rows use the scikit-learn model itself"
    )


def readings_of(rows: Any, features: Sequence[str]) -> NDArray[np.float64]:
    """The clear rows of a DataFrame or an array, a column for each feature."""
    names = getattr(rows, "columns", None)
    if names is not None and not set(map(str, names)).isdisjoint(features):
        lacking = [feature for feature in features if feature not in names]
        if lacking:
            raise ValueError(f"the clear rows have no column {lacking[0]!r}, which the model needs")
        rows = rows[list(features)]
    readings = np.asarray(rows, dtype=np.float64)
    if readings.ndim == 1 and len(features) == 1:
        readings = readings.reshape(-1, 1)
    if readings.ndim != 2 or readings.shape[1] != len(features) or not len(readings):
        raise ValueError(
            f"clear rows of shape {readings.shape}: give at least one row with a number for each of the "
            f"{len(features)} features {', '.join(features)}"
        )
    return readings
