"""The part of an evaluation that a worker does: its functions, on its own server.

Partial results travel as the bytes of a result after one byte that says what ``map`` gave: a
value or a dict of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .scheduler import Task

_VALUE, _DICT = b"v", b"d"


@dataclass(frozen=True)
class Work:
    """The functions of an evaluation."""

    map: Callable[[Any], Any]
    combine: Callable[[list[Any]], Any]
    finish: Callable[[Any, int], Any] | None = None

    def perform(
        self, server: Any, task: Task, progress: Callable[[int, int], object] | None = None
    ) -> tuple[bytes, int]:
        """The partial result of a task, and the number of rows that are in it.

        ``progress`` is told of bootstraps; what it raises ends the task.
        """
        if task.kind == "map":
            loaded = server.load(task.payload)
            return _sealed(self.map(loaded), None, progress), len(loaded)
        parts = [_loaded(server, partial) for partial in task.payload]
        if task.kind == "combine":
            result = self.combine(parts)
        else:
            assert self.finish is not None
            result = self.finish(parts[0], task.rows)
        return _sealed(result, parts[0], progress), task.rows


def result_of(partial: bytes) -> bytes:
    """The bytes of a result."""
    return partial[1:]


def _sealed(result: Any, part: Any, progress: Callable[[int, int], object] | None) -> bytes:
    from .._encrypted import to_bytes

    if isinstance(result, Mapping):
        if not result:
            raise ValueError("a dict without values is no result")
        names = [str(name) for name in result]
        return _DICT + to_bytes(*result.values(), names=names, progress=progress)
    # Called as the first partial result is, not by all that it comes from.
    name = getattr(part if part is not None else result, "name", "result")
    return _VALUE + to_bytes(result, names=[name], progress=progress)


def _loaded(server: Any, partial: bytes) -> Any:
    answers = server.load_answers(result_of(partial))
    return answers if partial[:1] == _DICT else next(iter(answers.values()))
