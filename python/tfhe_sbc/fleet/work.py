"""What a worker does of an evaluation: its functions, on its own server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .scheduler import Task


@dataclass(frozen=True)
class Work:
    """The functions of an evaluation."""

    map: Callable[[Any], Any]
    combine: Callable[[list[Any]], Any]
    finish: Callable[[Any, int], Any] | None = None

    def perform(self, server: Any, task: Task) -> tuple[bytes, int]:
        """The result of a task as bytes, and the number of rows that are in it."""
        if task.kind == "map":
            loaded = server.load(task.payload)
            return _sealed(self.map(loaded)), len(loaded)
        parts = [server.load_result(result) for result in task.payload]
        if task.kind == "combine":
            return _sealed(_named_like(self.combine(parts), parts[0])), task.rows
        assert self.finish is not None
        return _sealed(_named_like(self.finish(parts[0], task.rows), parts[0])), task.rows


def _sealed(result: Any) -> bytes:
    from .._encrypted import to_bytes

    if isinstance(result, Mapping):
        for name, value in result.items():
            value.name = str(name)
        return to_bytes(*result.values())
    return to_bytes(result)


def _named_like(result: Any, part: Any) -> Any:
    """Results are called as the first partial result is, not by all that they come from."""
    if not isinstance(result, Mapping):
        result.name = part.name
    return result
