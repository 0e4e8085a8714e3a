"""Workers of this process: one, which has all threads already."""

from __future__ import annotations

import threading
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from typing import Any

from .scheduler import Done, Task
from .work import Work


class LocalWorkers:
    """Does one task at a time, and has a second one at hand."""

    _AT_HAND = 2

    def __init__(self, key: Any, devices: Any) -> None:
        from .._server import Server

        self._server = Server(key, devices=devices)
        self._executor = ThreadPoolExecutor(max_workers=1)
        self._running: dict[Future[tuple[bytes, int]], Task] = {}
        self._work: Work | None = None
        self._called_off = threading.Event()

    def begin(self, work: Work) -> None:
        self._work, self._called_off = work, threading.Event()

    def has_room(self) -> bool:
        return len(self._running) < self._AT_HAND

    def start(self, task: Task) -> None:
        assert self._work is not None
        called_off = self._called_off

        def go_on(done: int, total: int) -> None:
            if called_off.is_set():
                raise CancelledError

        perform = self._work.perform
        self._running[self._executor.submit(perform, self._server, task, go_on)] = task

    def wait(self) -> Done | None:
        # Not for ever, so that signals are heard on whatever thread they come.
        done, _ = wait(self._running, timeout=0.5, return_when=FIRST_COMPLETED)
        for future in done:
            task = self._running.pop(future)
            error = future.exception()
            if error is not None:
                return Done(task, error=error)
            return Done(task, result=future.result())
        return None

    def reset(self) -> None:
        self._called_off.set()
        for future in self._running:
            future.cancel()
        self._running.clear()

    def close(self) -> None:
        self.reset()
        self._executor.shutdown()
