"""Clear operands, one number or truth value for each row, of the libraries that people use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._frames import index_of
from .._readings import array_of, labels_of, read


def is_series(operand: object) -> bool:
    """Whether it is a Series of pandas."""
    return (
        hasattr(operand, "iloc") and hasattr(operand, "index") and not hasattr(operand, "columns")
    )


def clear_rows(operand: Any, rows: Sequence[str]) -> NDArray[Any] | None:
    """The values of an operand that has rows; `None` of others.

    Those of a Series are brought into the order of the column's rows by its index, unless one of the two only counts
    the rows.

    Args:
        rows: the labels of the column that it meets; empty of a single number.

    Raises:
        ValueError: the Series has no value for a row.
    """
    if isinstance(operand, (np.ndarray, list, tuple)):
        return array_of(operand, "the clear operand is")
    if hasattr(operand, "columns") or hasattr(operand, "column_names"):
        raise TypeError(
            f"a {type(operand).__name__} is a table and no operand: take one of its columns, as in table['t']"
        )
    if is_series(operand):
        return np.asarray(_aligned(operand, rows))
    if hasattr(operand, "__arrow_c_stream__") or hasattr(operand, "__arrow_c_array__"):
        return np.asarray(read(operand))
    return None


def in_order_of(key: Any, rows: Sequence[str]) -> Any:
    """An index of rows; if it is a Series of booleans, in the order of the column's rows."""
    return clear_rows(key, rows) if is_series(key) and key.dtype.kind == "b" else key


def clear_labels(operand: object, count: int) -> list[str]:
    """The labels of the rows of a clear operand: the index of a Series, else numbers."""
    return labels_of(operand if is_series(operand) else None, None, count)


def _aligned(series: Any, rows: Sequence[str]) -> Any:
    """The Series in the order of the rows."""
    index = index_of(rows)
    has_numbers = index is not None and index.dtype.kind == "i"
    counts = hasattr(series.index, "step") and not has_numbers
    if index is None or counts or series.index.equals(index):
        return series
    zones = [getattr(one, "tz", None) is not None for one in (series.index, index)]
    if zones[0] != zones[1]:
        raise ValueError(
            "of the index of the Series and the labels of the column's rows, one has a time zone and the "
            "other has not: give series.tz_localize('UTC') or series.tz_localize(None)"
        )
    if not series.index.is_unique:
        raise ValueError(
            "the index of the Series has a label twice, so its values cannot be told to rows: give "
            "series.to_numpy() if they are in the order of the column's rows"
        )
    missing = ~index.isin(series.index)
    if missing.any():
        raise ValueError(
            f"the Series has no value for row '{rows[int(missing.argmax())]}': reindex and fill it before, or "
            "give series.to_numpy() if its values are in the order of the column's rows"
        )
    return series.reindex(index)
