"""Clear keys that tell the groups of rows."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Union

import numpy as np

from .._frames import Keys, device_and_moment, index_of
from .base import Columns_, Encrypted_
from .clear import clear_rows

#: The key of a group.
Key = Union[str, int, float, bool, date]
#: What tells the groups: a part of the rows' labels, a function of them, or a key for each row.
OneBy = Union[str, Callable[[str], Key], Iterable[Key]]
#: The same, or several of them.
By = Union[OneBy, list[OneBy]]

#: Parts of labels, as pandas calls those of moments.
PARTS = ("device", "hour", "weekday", "day", "month", "year", "date")


@dataclass(frozen=True)
class Grouping:
    """Groups of rows: the places of those of each, and the keys."""

    places: Sequence[Sequence[int]]
    keys: Keys

    def by_key(self) -> dict[object, list[int]]:
        """The places of each group by its key, which is a tuple if there are several."""
        levels = self.keys.levels
        keys: Iterable[object] = levels[0] if len(levels) == 1 else zip(*levels)
        return {key: list(places) for key, places in zip(keys, self.places)}


def grouped(by: By, rows: Sequence[str]) -> Grouping:
    """The rows in groups by clear keys, in the order of the keys, as pandas has them.

    Args:
        by: one of :data:`PARTS` of the labels, a function of a label, a key for each row, or a list of several of these.
        rows: the labels.

    Raises:
        TypeError: keys that are encrypted.
        ValueError: there are not as many keys as rows, or labels have no such part.
    """
    several: list[Any] = by if isinstance(by, list) and _are_several(by) else [by]
    if not several:
        raise ValueError("there are no keys to group by: give one")
    levels = [_keys_of(one, rows) for one in several]
    found: dict[Any, list[int]] = {}
    for place, key in enumerate(zip(*levels)):
        # A row whose key is missing is in no group, as in pandas.
        if all(part is not None and part == part for part in key):
            found.setdefault(key, []).append(place)
    try:
        order = sorted(found)
    except TypeError:
        # Keys of several kinds stay in the order in which they are met.
        order = list(found)
    names = [_name_of(one) for one in several]
    keys = Keys([[key[level] for key in order] for level in range(len(levels))], names)
    return Grouping([found[key] for key in order], keys)


def _are_several(by: list[Any]) -> bool:
    """Whether a list is several keys, and not a key for each row."""
    return all(
        callable(one) or (isinstance(one, str) and one in PARTS) or _has_rows(one) for one in by
    )


def _has_rows(one: Any) -> bool:
    return isinstance(one, (list, Encrypted_)) or getattr(one, "shape", ()) != ()


def _name_of(by: Any) -> str | None:
    if isinstance(by, str):
        return by
    name = getattr(by, "name", None)
    return name if isinstance(name, str) else None


def _keys_of(by: Any, rows: Sequence[str]) -> list[Any]:
    if isinstance(by, (Encrypted_, Columns_)):
        raise TypeError(
            "groups are by clear keys, and this is encrypted: give keys in the clear, or count and add up what an "
            "encrypted condition selects, as in column[mask].sum()"
        )
    if hasattr(by, "freq") and hasattr(by, "key"):
        raise TypeError("groups by periods are resample('1D'), or groupby('date') and the like")
    if isinstance(by, str):
        return _part(by, rows)
    if callable(by):
        return [by(row) for row in rows]
    if hasattr(by, "columns") or isinstance(by, Mapping) or not isinstance(by, Iterable):
        raise TypeError(
            f"groups are by {', '.join(PARTS)}, a function of a label or keys for the rows, not a {type(by).__name__}"
        )
    clear = clear_rows(by, rows) if hasattr(by, "iloc") else None
    listed: list[Any] = list(by)
    array = np.asarray(listed if clear is None else clear)
    if array.dtype.kind == "M":
        keys: list[Any] = importlib.import_module("pandas").Index(array).tolist()
    else:
        keys = array.tolist() if hasattr(by, "dtype") else listed
    if len(keys) != len(rows):
        raise ValueError(
            f"{len(keys)} keys for {len(rows)} rows: give each row one, or several of {', '.join(PARTS)}"
        )
    return keys


def _part(by: str, rows: Sequence[str]) -> list[Any]:
    if by not in PARTS:
        raise ValueError(
            f"groups are by {', '.join(PARTS)}, a function of a label or a clear key for each row, not by {by!r}; the "
            "readings of a column are encrypted and cannot tell groups"
        )
    if by != "device":
        # pandas' word for it is `weekday`, which its next version drops.
        name = "day_of_week" if by == "weekday" else by
        keys: list[Any] = getattr(moments_of(rows), name).tolist()
        return keys
    devices = [device_and_moment(row)[0] for row in rows]
    if "" in devices:
        raise ValueError(f"the label {rows[devices.index('')]!r} has no device before a time")
    return devices


def resampled(rule: str, rows: Sequence[str]) -> Grouping:
    """The rows of each period, with the moment at which it begins as key; periods without rows are there.

    Args:
        rule: the length of a period as pandas writes it, such as ``"1h"`` or ``"1D"``.
        rows: the labels, which are times.
    """
    pandas = importlib.import_module("pandas")
    series = pandas.Series(np.arange(len(rows)), index=moments_of(rows))
    periods = [(start, part.tolist()) for start, part in series.resample(rule)]
    return Grouping(
        [places for _, places in periods], Keys([[start for start, _ in periods]], [None])
    )


def moments_of(rows: Sequence[str]) -> Any:
    """The times of labels, which are times or a device and a time, as an index of pandas."""
    index = index_of([device_and_moment(row)[1] for row in rows])
    if index is None or index.dtype.kind != "M":
        raise ValueError(
            "the labels of the rows are no times: group by a list with a key for each row"
        )
    return index
