"""The answers of results in the clear."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple, Union

import numpy as np
from numpy.typing import NDArray

from ._encrypted.base import distinct
from ._frames import Clear, Groups, Maker

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

#: The key of a group: the name of a device, the moment at which a period begins, or both.
Group = Union[str, datetime, tuple[str, datetime]]
#: The answer to a question: a number, a row with its value, rows or leaves, values, or why there is none.
Answer = Union[
    float, bool, tuple[str, float], list[str], NDArray[np.float64], NDArray[np.bool_], ValueError
]
#: The only answer of a result, or a dict from questions to answers; those of groups are dicts, too.
Result = Union[Answer, dict[str, Answer], dict[Group, Answer], dict[str, dict[Group, Answer]]]


class Opened(NamedTuple):
    """An answer as the extension module opens it."""

    question: str
    #: Its device and the beginning of its period in milliseconds since 1970, as far as it has them.
    group: tuple[str | None, int | None] | None
    value: Answer
    #: The labels of its numbers, if it is a list of which each has one.
    labels: list[str]


def moment_of(ms: int) -> datetime:
    """The moment, in UTC, of milliseconds since 1970."""
    return _EPOCH + timedelta(milliseconds=ms)


def _group_key(group: tuple[str | None, int | None]) -> Group:
    device, ms = group
    if ms is None:
        return device or ""
    start = moment_of(ms)
    return start if device is None else (device, start)


def by_group(answers: Sequence[Opened]) -> dict[str, dict[Group, Answer]]:
    """Answers of groups: dicts from these, by question."""
    grouped: dict[str, dict[Group, Answer]] = {}
    for one in answers:
        grouped.setdefault(one.question, {})[_group_key(one.group or (None, None))] = one.value
    return grouped


def by_question(answers: Sequence[Opened]) -> Result:
    """The only answer, or a dict from questions to answers; those of groups are dicts, too."""
    if len(answers) == 1 and answers[0].group is None:
        return answers[0].value
    if all(one.group is None for one in answers):
        return named(answers)
    grouped = by_group(answers)
    return next(iter(grouped.values())) if len(grouped) == 1 else grouped


def named(answers: Sequence[Opened]) -> dict[str, Answer]:
    """A dict from questions to answers that are not of groups."""
    return dict(zip(distinct(one.question for one in answers), (one.value for one in answers)))


def framed(answers: Sequence[Opened], maker: Maker) -> Any:
    """Answers as tables: lists with the labels of their rows, and a table with a row for each group.

    Raises:
        ValueError: an answer for a group that cannot be read.
    """
    if any(one.group is not None for one in answers):
        return maker.groups(_groups(answers))
    values: list[Any] = []
    for one in answers:
        if isinstance(one.value, np.ndarray) and len(one.labels) == len(one.value):
            clear = Clear({one.question: one.value}, {}, one.labels)
            values.append(maker.column(clear))
        else:
            values.append(one.value)
    if len(values) == 1:
        return values[0]
    return dict(zip(distinct(one.question for one in answers), values))


def _groups(answers: Sequence[Opened]) -> Groups:
    groups: dict[tuple[str | None, int | None], int] = {}
    for one in answers:
        groups.setdefault(one.group or (None, None), len(groups))
    columns: dict[str, list[object]] = {}
    for one in answers:
        if isinstance(one.value, ValueError):
            raise one.value
        parts: dict[str, object] = {one.question: one.value}
        if isinstance(one.value, tuple):
            row, value = one.value
            parts = {one.question: value, f"row of {one.question}": row}
        place = groups[one.group or (None, None)]
        for name, part in parts.items():
            columns.setdefault(name, [None] * len(groups))[place] = part
    keys: dict[str, list[object]] = {}
    if any(device is not None for device, _ in groups):
        keys["device"] = [device for device, _ in groups]
    if any(ms is not None for _, ms in groups):
        keys["time"] = [None if ms is None else moment_of(ms) for _, ms in groups]
    return Groups(keys, columns)
