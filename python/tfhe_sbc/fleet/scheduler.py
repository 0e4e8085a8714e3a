"""Tree reduction of many batches on workers that may be lost.

A block of batches is *mapped* to one encrypted partial result; partial results are
*combined*, ``fan_in`` at a time, until one is left. Partial results are a few KiB and come
back to the caller at once, so losing a worker loses only what it was doing: that is given
to another one.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol, Union

#: An upload: its bytes, or the path of its file, which is read when its turn comes.
Batch = Union[bytes, bytearray, memoryview, "os.PathLike[str]"]


class FleetError(RuntimeError):
    """An evaluation over a fleet that could not be finished; says why and what to do."""


@dataclass
class Task:
    """The work that one worker does at a time."""

    #: ``"map"``, ``"combine"`` or ``"finish"``.
    kind: str
    #: Uploads, or partial results.
    payload: list[bytes]
    #: The first batch and how many there are, for messages.
    first: int
    count: int
    #: The rows of its partial results.
    rows: int = 0
    #: How many workers were lost while they did it.
    losses: int = 0

    def __str__(self) -> str:
        if self.kind == "map" and self.count == 1:
            return f"batch {self.first}"
        what = "batches" if self.kind == "map" else "the results of batches"
        return f"{what} {self.first} to {self.first + self.count - 1}"

    def halves(self) -> tuple[Task, Task]:
        """The same work in two tasks."""
        half = self.count // 2
        return (
            Task(self.kind, self.payload[:half], self.first, half),
            Task(self.kind, self.payload[half:], self.first + half, self.count - half),
        )


@dataclass
class Done:
    """The end of a task: a result, an error of the work, or the loss of the worker."""

    task: Task
    #: The bytes of an encrypted result, and how many rows are in it.
    result: tuple[bytes, int] | None = None
    error: BaseException | None = None
    lost: str | None = None


class Workers(Protocol):
    """The workers that do tasks."""

    def has_room(self) -> bool:
        """True if one more task would not wait for long."""

    def start(self, task: Task) -> None:
        """Begins a task; only called if there is room."""

    def wait(self) -> Done | None:
        """The next task that ended; `None` if workers have come or gone instead."""

    def reset(self) -> None:
        """Forgets what was started and not waited for."""

    def close(self) -> None:
        """Lets the workers go."""


@dataclass
class FleetReport:
    """The cost of an evaluation."""

    #: Batches in all, their rows, and the blocks that they were mapped in.
    batches: int = 0
    rows: int = 0
    blocks: int = 0
    #: Combinations of partial results.
    combined: int = 0
    #: Tasks that were done again because their worker was lost.
    repeated: int = 0
    #: Wall-clock seconds, preparing the workers included.
    seconds: float = 0.0
    #: The names of lost workers, with the reason.
    lost: list[str] = field(default_factory=list)
    #: Batches that were left out, by number, and why.
    skipped: dict[int, str] = field(default_factory=dict)


def reduce(
    batches: Iterable[Batch],
    workers: Workers,
    *,
    block: int,
    fan_in: int,
    retries: int,
    report: FleetReport,
    skip: bool = False,
    finish: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> bytes:
    """The one result that all batches come to.

    With ``skip``, batches on which the work fails are left out and reported. With ``finish``
    a last task makes the answer of the one result that is left. ``progress(done, started)`` is
    told of batches. Combining must not care about the order.

    Raises `FleetError` if there are no batches, if the work itself fails, or if one task has
    lost more than ``retries`` workers.
    """
    return _Reduction(batches, workers, block, fan_in, retries, report, skip, progress).run(finish)


class _Reduction:
    """One evaluation under way."""

    def __init__(
        self,
        batches: Iterable[Batch],
        workers: Workers,
        block: int,
        fan_in: int,
        retries: int,
        report: FleetReport,
        skip: bool,
        progress: Callable[[int, int], object] | None,
    ) -> None:
        self._blocks = self._in_blocks(batches, block)
        self._workers, self._fan_in, self._retries = workers, fan_in, retries
        self._report, self._skip, self._progress = report, skip, progress
        #: Tasks to be done before new blocks.
        self._ahead: deque[Task] = deque()
        #: Results, their first batch, the number of batches, and of rows.
        self._partial: list[tuple[bytes, int, int, int]] = []
        self._running = self._finished = 0
        self._exhausted = False

    def run(self, finish: bool) -> bytes:
        self._work_off()
        if not self._partial:
            reasons = "; ".join(f"batch {n}: {why}" for n, why in self._report.skipped.items())
            if reasons:
                raise FleetError(f"every batch was left out: {reasons[:1000]}")
            raise FleetError("there are no batches: give at least one upload")
        result, first, count, rows = self._partial[0]
        self._report.rows = rows
        if finish:
            self._partial.clear()
            self._ahead.append(Task("finish", [result], first, count, rows))
            self._work_off()
            result = self._partial[0][0]
        return result

    def _work_off(self) -> None:
        while True:
            while self._workers.has_room():
                task = self._next()
                if task is None:
                    break
                self._workers.start(task)
                self._running += 1
            if self._running == 0 and not self._ahead and self._exhausted:
                if len(self._partial) <= 1:
                    return
            done = self._workers.wait()
            if done is not None:
                self._running -= 1
                self._take(done)

    def _next(self) -> Task | None:
        if self._ahead:
            return self._ahead.popleft()
        if len(self._partial) >= self._fan_in:
            return self._combination()
        if not self._exhausted:
            task = next(self._blocks, None)
            if task is not None:
                return task
            self._exhausted = True
        if self._running == 0 and len(self._partial) > 1:
            return self._combination()
        return None

    def _in_blocks(self, batches: Iterable[Batch], block: int) -> Iterator[Task]:
        report = self._report
        payload: list[bytes] = []
        first = 0
        for place, batch in enumerate(batches):
            report.batches = place + 1
            try:
                content = _bytes(batch, place)
            except OSError as error:
                if not self._skip:
                    raise FleetError(f"batch {place}: {error}") from error
                report.skipped[place] = str(error)
                self._mapped(1)
                # The numbers of a block's batches follow one another.
                if payload:
                    yield Task("map", payload, first, len(payload))
                payload = []
                continue
            if not payload:
                first = place
            payload.append(content)
            if len(payload) == block:
                yield Task("map", payload, first, block)
                payload = []
        if payload:
            yield Task("map", payload, first, len(payload))

    def _combination(self) -> Task:
        taken, self._partial = self._partial[: self._fan_in], self._partial[self._fan_in :]
        return Task(
            "combine",
            [result for result, _, _, _ in taken],
            min(first for _, first, _, _ in taken),
            sum(count for _, _, count, _ in taken),
            sum(rows for _, _, _, rows in taken),
        )

    def _take(self, done: Done) -> None:
        task, report = done.task, self._report
        if done.lost is not None:
            report.lost.append(done.lost)
            report.repeated += 1
            task.losses += 1
            if task.losses > self._retries:
                raise FleetError(
                    f"{task} lost {task.losses} workers one after the other, the last because "
                    f"{done.lost}. If that is for want of memory, give the fleet smaller blocks "
                    "(block=…)"
                )
            self._ahead.append(task)
        elif done.error is not None:
            if not self._skip or task.kind != "map":
                raise FleetError(f"{task}: {done.error}") from done.error
            if task.count > 1:
                self._ahead.extend(task.halves())
            else:
                report.skipped[task.first] = str(done.error)
                self._mapped(1)
        else:
            assert done.result is not None
            result, rows = done.result
            self._partial.append((result, task.first, task.count, rows))
            if task.kind == "map":
                report.blocks += 1
                self._mapped(task.count)
            elif task.kind == "combine":
                report.combined += 1

    def _mapped(self, count: int) -> None:
        self._finished += count
        if self._progress is not None:
            self._progress(self._finished, self._report.batches)


def _bytes(batch: Batch, place: int) -> bytes:
    if isinstance(batch, bytes):
        return batch
    if isinstance(batch, (bytearray, memoryview)):
        return bytes(batch)
    if isinstance(batch, os.PathLike):
        with open(batch, "rb") as file:
            return file.read()
    raise TypeError(
        f"batch {place} is a {type(batch).__name__}: give uploads as bytes, or as a pathlib.Path"
    )
