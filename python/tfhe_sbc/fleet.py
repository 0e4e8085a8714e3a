"""One computation over the uploads of many devices, on a Ray cluster or in this process.

Uploads are dealt out in blocks. Each worker holds the prepared server key, computes a partial
result of its blocks, and combines partial results of others; all of them stay encrypted and travel
as bytes under the small key, 3.7 KB for two bits. The key owner decrypts what is left::

    fleet = Fleet(keys.server, workers=2)
    mean = fleet.mean(boxes, "temperature")
    print(keys.secret.decrypt(mean))

Ray comes with ``pip install 'tfhe-sbc[ray]'``; ``Fleet(key, ray=False)`` does the same without it.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Union

from . import __version__
from ._encrypted import (
    EncryptedColumn,
    EncryptedMask,
    EncryptedScalar,
    EncryptedTable,
    maximum,
    minimum,
    to_bytes,
)
from ._encryptor import PathLike
from ._keys import ServerKey
from ._server import Server

__all__ = ["Fleet", "FleetResult"]

#: An upload, or the path of its file, which the worker reads.
Box = Union[bytes, str, "os.PathLike[str]"]

#: What a cluster's nodes must have.
_PACKAGE = "tfhe_sbc"


@dataclass(frozen=True)
class FleetResult:
    """An encrypted result over a fleet."""

    #: What ``SecretKey.decrypt``, ``tfhe-sbc decrypt`` and ``Server.load_result`` read.
    result: bytes
    #: Rows of all uploads.
    rows: int
    #: Uploads.
    boxes: int


#: A partial result, and the rows that it is of.
_Partial = tuple[bytes, int]


class _Worker:
    """What one process does: it holds the prepared key."""

    def __init__(self, server_key: bytes, devices: str | None) -> None:
        self._server = Server(ServerKey.from_bytes(server_key), devices=devices)

    def ready(self) -> int:
        """The process, once the key is prepared."""
        return os.getpid()

    def map(self, per_batch: Callable[[Any], Any], boxes: Sequence[Box]) -> _Partial:
        """The partial result of some uploads."""
        loaded = self._server.load([_content(box) for box in boxes])
        return _sealed(per_batch(loaded)), len(loaded)

    def reduce(self, combine: Callable[[Any, Any], Any], *partials: _Partial) -> _Partial:
        """One partial result of several, in pairs."""
        values = [self._server.load_result(sealed) for sealed, _ in partials]
        while len(values) > 1:
            pairs = [values[place : place + 2] for place in range(0, len(values), 2)]
            values = [combine(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
        return _sealed(values[0]), sum(rows for _, rows in partials)

    def finish(self, last: Callable[[Any, int], Any], partial: _Partial) -> _Partial:
        """The result of the last partial one."""
        sealed, rows = partial
        return _sealed(last(self._server.load_result(sealed), rows), True), rows


def _content(box: Box) -> bytes:
    if isinstance(box, (bytes, bytearray, memoryview)):
        return bytes(box)
    return Path(box).read_bytes()


def _sealed(partial: Any, is_last: bool = False) -> bytes:
    """The bytes of a partial result: one value, or a dict of values, whose names it keeps."""
    values = list(partial.values()) if isinstance(partial, dict) else [partial]
    for value in values:
        if not isinstance(value, (EncryptedColumn, EncryptedScalar, EncryptedMask)):
            raise TypeError(
                "per_batch and combine give an encrypted column, number or mask, or a dict of "
                f"those, not a {type(value).__name__}"
            )
        if not is_last and isinstance(value, EncryptedScalar):
            # As a number, which keeps its width, not as a count.
            value._whole = False
    if isinstance(partial, dict):
        for name, value in partial.items():
            value.name = name
    return to_bytes(*values)


class _Here:
    """A fleet without Ray: one worker, in this process."""

    def __init__(self, server_key: ServerKey, devices: str | None) -> None:
        self._worker = _Worker(server_key.to_bytes(), devices)

    def run(self, blocks: Iterator[list[Box]], task: _Task) -> _Partial:
        partials: list[_Partial] = []
        for block in blocks:
            partials.append(self._worker.map(task.per_batch, block))
            if len(partials) == task.fan_in:
                partials = [self._worker.reduce(task.combine, *partials)]
        result = self._worker.reduce(task.combine, *partials) if len(partials) > 1 else partials[0]
        return result if task.last is None else self._worker.finish(task.last, result)

    def processes(self) -> list[int]:
        return [self._worker.ready()]

    def close(self) -> None:
        pass


@dataclass(frozen=True)
class _Task:
    per_batch: Callable[[Any], Any]
    combine: Callable[[Any, Any], Any]
    last: Callable[[Any, int], Any] | None
    fan_in: int


class _OnRay:
    """A fleet on a Ray cluster: an actor for each worker.

    The key is put into the object store once, from where each node fetches it once. A worker that
    is lost is started again, on another node if need be, and what it was doing is done again.
    """

    #: Tasks that a worker has at a time, so that it never waits for the next.
    _AHEAD = 2
    #: Seconds for the workers to start.
    _PATIENCE = 300

    def __init__(
        self,
        server_key: ServerKey,
        devices: str | None,
        workers: int | None,
        threads: int | None,
        retries: int,
    ) -> None:
        ray = _import_ray()
        self._ray = ray
        if not ray.is_initialized():
            ray.init(log_to_driver=False, include_dashboard=False)
        nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
        _check_package(ray, nodes)
        count = workers or len(nodes)
        cpus = sum(int(node["Resources"]["CPU"]) for node in nodes)
        each = threads or max(cpus // count, 1)
        actor = ray.remote(_Worker).options(
            num_cpus=each,
            max_restarts=-1,
            max_task_retries=retries,
            scheduling_strategy="SPREAD",
            runtime_env={"env_vars": {"RAYON_NUM_THREADS": str(each)}},
        )
        # Once in the object store, however many workers there are.
        self._key = ray.put(server_key.to_bytes())
        self._workers = [actor.remote(self._key, devices) for _ in range(count)]
        ready = [worker.ready.remote() for worker in self._workers]
        _, late = ray.wait(ready, num_returns=count, timeout=self._PATIENCE)
        if late:
            self.close()
            raise RuntimeError(
                f"{len(late)} of {count} workers have not started in {self._PATIENCE} s: the "
                f"cluster has {cpus} CPUs and they want {each} each; give fewer workers or threads"
            )
        ray.get(ready)

    def run(self, blocks: Iterator[list[Box]], task: _Task) -> _Partial:
        ray = self._ray
        try:
            return self._run(blocks, task)
        except ray.exceptions.RayActorError as error:
            raise RuntimeError(
                "a worker was lost more often than retries allows: look at the cluster's memory "
                f"(a worker holds the prepared key and the columns of a block), or give smaller "
                f"blocks; {error}"
            ) from error

    def _run(self, blocks: Iterator[list[Box]], task: _Task) -> _Partial:
        ray = self._ray
        per_batch, combine = ray.put(task.per_batch), ray.put(task.combine)
        load = [0] * len(self._workers)
        pending: dict[Any, int] = {}
        partials: list[Any] = []
        more = True
        while True:
            # Partial results go first: so there are few of them.
            while min(load) < self._AHEAD:
                at = load.index(min(load))
                worker = self._workers[at]
                if len(partials) >= task.fan_in or (
                    not more and not pending and len(partials) > 1
                ):
                    group, partials = partials[: task.fan_in], partials[task.fan_in :]
                    started = worker.reduce.remote(combine, *group)
                elif more:
                    block = next(blocks, None)
                    if block is None:
                        more = False
                        continue
                    started = worker.map.remote(per_batch, block)
                else:
                    break
                pending[started] = at
                load[at] += 1
            if not pending:
                break
            done, _ = ray.wait(list(pending), num_returns=1)
            for partial in done:
                load[pending.pop(partial)] -= 1
                # What has failed is told at once.
                ray.get(partial)
                partials.append(partial)
        result = partials[0]
        if task.last is not None:
            result = self._workers[0].finish.remote(task.last, result)
        finished: _Partial = ray.get(result)
        return finished

    def processes(self) -> list[int]:
        found: list[int] = self._ray.get([worker.ready.remote() for worker in self._workers])
        return found

    def close(self) -> None:
        for worker in self._workers:
            self._ray.kill(worker)
        self._workers = []


def _import_ray() -> Any:
    try:
        import ray
        import ray.exceptions
    except ImportError:
        raise ImportError(
            "a fleet on several machines needs Ray: pip install 'tfhe-sbc[ray]', or "
            "Fleet(server_key, ray=False) to compute in this process"
        ) from None
    return ray


def _check_package(ray: Any, nodes: Sequence[dict[str, Any]]) -> None:
    """Refuses a cluster whose nodes have not this package, before anything is sent there."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    def version_of(package: str) -> str:
        import importlib

        try:
            return str(importlib.import_module(package).__version__)
        except ImportError as error:
            return f"none ({error})"

    # Sent as its code: as a name of a module that is not there it would not arrive.
    version_of.__module__ = "__main__"
    probe = ray.remote(num_cpus=0)(version_of)
    asked = {}
    for node in nodes:
        here = NodeAffinitySchedulingStrategy(node_id=node["NodeID"], soft=False)
        asked[node["NodeManagerAddress"]] = probe.options(scheduling_strategy=here).remote(_PACKAGE)
    for address, answer in asked.items():
        version = ray.get(answer)
        if version != __version__:
            raise RuntimeError(
                f"the node {address} has {_PACKAGE} {version}, {__version__} is needed: run "
                f"`pip install 'tfhe-sbc=={__version__}'` on every node, in the environment that "
                "Ray runs in, or start with "
                f"ray.init(runtime_env={{'pip': ['tfhe-sbc=={__version__}']}})"
            )


class Fleet:
    """Computes over the uploads of many devices.

    Args:
        server_key: the key set's server key. It decrypts nothing.
        workers: the number of processes; one for each node of the cluster if not given.
        threads: threads of each; an equal share of the cluster if not given.
        ray: ``False`` to compute in this process, without Ray. With Ray, the cluster is the one of
            ``ray.init(address)`` before, or a new one on this machine.
        devices: the directory with the switch keys of devices that have keys of their own, on
            every node.
        retries: how often a task is done again after the loss of its worker.
        block: uploads that a worker loads at a time: their rows are in memory together, if more
            is asked of them than their sums.
        fan_in: partial results that are combined at a time.
    """

    def __init__(
        self,
        server_key: ServerKey | PathLike,
        workers: int | None = None,
        *,
        threads: int | None = None,
        ray: bool = True,
        devices: PathLike | None = None,
        retries: int = 3,
        block: int = 16,
        fan_in: int = 8,
    ) -> None:
        if not isinstance(server_key, ServerKey):
            server_key = ServerKey.load(server_key)
        if block < 1 or fan_in < 2:
            raise ValueError("a block has at least 1 upload, and at least 2 results are combined")
        if workers is not None and workers < 1:
            raise ValueError("a fleet has at least 1 worker")
        directory = None if devices is None else os.fspath(devices)
        self._block = block
        self._fan_in = fan_in
        self._workers: _Here | _OnRay = (
            _OnRay(server_key, directory, workers, threads, retries)
            if ray
            else _Here(server_key, directory)
        )

    def map_reduce(
        self,
        boxes: Iterable[Box],
        per_batch: Callable[[Any], Any],
        combine: Callable[[Any, Any], Any],
        last: Callable[[Any, int], Any] | None = None,
    ) -> FleetResult:
        """Computes a partial result of each block of uploads, and combines them.

        Args:
            boxes: uploads with the same columns, or paths of their files; an iterator is read as
                workers become free.
            per_batch: makes an encrypted value, or a dict of them, of what ``Server.load`` gives
                of a block.
            combine: makes one of two such values, in any order.
            last: makes the result of the last one, and of the number of all rows.
        """
        counted = _Counted(boxes)
        blocks = counted.blocks(self._block)
        first = next(blocks, None)
        if first is None:
            raise ValueError("a fleet without uploads has no result: give at least one")
        task = _Task(per_batch, combine, last, self._fan_in)
        result, rows = self._workers.run(_after(first, blocks), task)
        return FleetResult(result, rows, counted.count)

    def sum(self, boxes: Iterable[Box], column: str | None = None) -> FleetResult:
        """The sum of a column."""
        return self.map_reduce(boxes, lambda loaded: _column(loaded, column).sum(), lambda a, b: a + b)

    def mean(self, boxes: Iterable[Box], column: str | None = None) -> FleetResult:
        """The mean of a column, exact: the sum with a smaller step."""
        return self.map_reduce(
            boxes,
            lambda loaded: _column(loaded, column).sum(),
            lambda a, b: a + b,
            lambda total, rows: total / rows,
        )

    def min(self, boxes: Iterable[Box], column: str | None = None) -> FleetResult:
        """The smallest of a column."""
        return self.map_reduce(boxes, lambda loaded: _column(loaded, column).min(), minimum)

    def max(self, boxes: Iterable[Box], column: str | None = None) -> FleetResult:
        """The largest of a column."""
        return self.map_reduce(boxes, lambda loaded: _column(loaded, column).max(), maximum)

    def count_where(
        self, boxes: Iterable[Box], condition: Callable[[Any], EncryptedMask]
    ) -> FleetResult:
        """How many rows meet a condition, such as ``lambda table: table["t"] > 30``."""
        return self.map_reduce(
            boxes,
            lambda loaded: condition(loaded).sum(),
            lambda a, b: a + b,
            _as_count,
        )

    def processes(self) -> list[int]:
        """The processes of its workers."""
        return self._workers.processes()

    def close(self) -> None:
        """Ends its workers. A cluster goes on."""
        self._workers.close()

    def __enter__(self) -> Fleet:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Counted:
    """Uploads in blocks, counted as they are read."""

    def __init__(self, boxes: Iterable[Box]) -> None:
        if isinstance(boxes, (bytes, str, os.PathLike)):
            raise TypeError("a fleet has several uploads: give a list of them or of paths")
        self._boxes = iter(boxes)
        self.count = 0

    def blocks(self, size: int) -> Iterator[list[Box]]:
        while block := list(itertools.islice(self._boxes, size)):
            self.count += len(block)
            yield block


def _after(first: list[Box], rest: Iterator[list[Box]]) -> Iterator[list[Box]]:
    yield first
    yield from rest


def _column(loaded: Any, name: str | None) -> EncryptedColumn:
    if isinstance(loaded, EncryptedTable):
        if name is None:
            raise ValueError(f"which column? There are {', '.join(loaded.columns)}")
        return loaded[name]
    if name is not None and loaded.name != name:
        raise KeyError(f"there is no column '{name}': there is {loaded.name}")
    column: EncryptedColumn = loaded
    return column


def _as_count(value: EncryptedScalar, rows: int) -> EncryptedScalar:
    value._whole = True
    return value
