"""A model of the time that an evaluation over a fleet takes.

The model runs the scheduler that does the work (`scheduler.reduce`) on workers that exist
on paper: each takes for a task the seconds that were measured for one such task alone. So
blocks, the order of combinations, workers that wait for the last of them and the caller's
own time per task are in it as they are in the real thing, for any number of devices.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass

from .scheduler import Done, FleetReport, Task, reduce


@dataclass(frozen=True)
class FleetModel:
    """Measured costs, in seconds of one worker unless it is said otherwise."""

    #: For a worker to be there and have prepared its key. All do it at the same time.
    prepare: float
    #: To map a block: for the block, and for each batch in it.
    map_block: float
    map_batch: float
    #: To combine partial results: for the combination, and for each result.
    combine: float
    combine_each: float
    #: Of the caller, for each task: it does one after the other.
    dispatch: float

    def of(self, task: Task) -> float:
        """The time that a task takes a worker."""
        if task.kind == "map":
            return self.map_block + self.map_batch * len(task.payload)
        return self.combine + self.combine_each * len(task.payload)

    def seconds(self, batches: int, workers: int, *, block: int = 32, fan_in: int = 8) -> float:
        """Wall-clock seconds for ``batches`` batches on ``workers`` workers."""
        if batches < 1 or workers < 1:
            raise ValueError("give at least one batch and one worker")
        paper = _OnPaper(self, workers)
        reduce(
            _nothing(batches),
            paper,
            block=block,
            fan_in=fan_in,
            retries=0,
            report=FleetReport(),
        )
        return paper.now


def _nothing(batches: int) -> Iterator[bytes]:
    return (b"" for _ in range(batches))


class _OnPaper:
    """Workers with a clock of their own, each with a second task at hand."""

    _AT_HAND = 2

    def __init__(self, model: FleetModel, workers: int) -> None:
        self._model = model
        self.now = model.prepare
        #: When each worker will have done what it was given, and how many tasks that is.
        self._free_at = [self.now] * workers
        self._given = [0] * workers
        self._ends: list[tuple[float, int, int, Task]] = []
        self._started = 0
        self._room = workers * self._AT_HAND

    def has_room(self) -> bool:
        return self._room > 0

    def start(self, task: Task) -> None:
        self.now += self._model.dispatch
        worker = min(range(len(self._given)), key=lambda w: (self._given[w], self._free_at[w]))
        end = max(self.now, self._free_at[worker]) + self._model.of(task)
        self._free_at[worker] = end
        self._given[worker] += 1
        self._room -= 1
        self._started += 1
        heapq.heappush(self._ends, (end, self._started, worker, task))

    def wait(self) -> Done | None:
        end, _, worker, task = heapq.heappop(self._ends)
        self.now = max(self.now, end)
        self._given[worker] -= 1
        self._room += 1
        return Done(task, result=(b"", 0))

    def reset(self) -> None:
        """There is no work to forget: tasks exist on paper only."""

    def close(self) -> None:
        """There is nothing to let go."""
