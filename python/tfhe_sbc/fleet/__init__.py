"""Evaluation over the uploads of many devices, on this machine or on a Ray cluster.

Uploads come in *batches*. Blocks of them are *mapped* to encrypted partial results, which are
*combined* in a tree until one is left, whose bytes only the owner of the secret key can read::

    with ts.Fleet(keys.server) as fleet:
        hottest = fleet.max(batches, "temperature")
        hot = fleet.count_where(batches, lambda table: table["temperature"] > 30)
    print(keys.secret.decrypt(hottest), keys.secret.decrypt(hot))

The same program runs on a cluster once Ray is connected to one (``pip install
'tfhe-sbc[ray]'``, ``ray.init(address="auto")``): the server key is put into the object store
once, one actor a node prepares it, and a worker that is lost loses only what it was doing.
"""

from __future__ import annotations

import functools
import operator
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from .._progress import Progress, telling
from .model import FleetModel
from .scheduler import Batch, FleetError, FleetReport, reduce
from .work import Work, result_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._encrypted import EncryptedMask
    from .._keys import ServerKey
    from .._loaded import Loaded
    from .local import LocalWorkers
    from .on_ray import RayWorkers

__all__ = ["Batch", "Fleet", "FleetError", "FleetModel", "FleetReport"]


_Partial = TypeVar("_Partial")


class _Options(TypedDict, total=False):
    """Options of an evaluation. See :meth:`Fleet.map_reduce`."""

    skip_bad: bool
    progress: Progress


class Fleet:
    """Workers with a server key, on this machine or on the nodes of a Ray cluster.

    Args:
        key: the server key.
        ray: whether to compute on Ray. If not given: if the program has connected to a cluster
            (``ray.init``).
        devices: the directory with the switch keys of devices that have keys of their own; on
            a cluster all nodes must have it at that path.
        block: how many batches are mapped together. More make fewer partial results to be
            combined; fewer take less memory, and less is lost with a worker.
        fan_in: how many partial results are combined at a time.
        retries: how many workers a task may lose before the evaluation fails.
        threads: of each worker; all CPUs of its node if not given. Not for this machine alone,
            whose threads are all in use.
        runtime_env: Ray's, for the workers.

    It prepares the key when it is first used, and keeps it until it is closed: use it in a
    ``with`` block.
    """

    def __init__(
        self,
        key: ServerKey,
        *,
        ray: bool | None = None,
        devices: str | os.PathLike[str] | None = None,
        block: int = 32,
        fan_in: int = 8,
        retries: int = 3,
        threads: int | None = None,
        runtime_env: dict[str, object] | None = None,
    ) -> None:
        from .._keys import ServerKey

        if not isinstance(key, ServerKey):
            raise TypeError(
                f"a fleet computes with a ServerKey, not with a {type(key).__name__}: give "
                "keys.server"
            )
        if block < 1 or fan_in < 2 or retries < 0 or (threads is not None and threads < 1):
            raise ValueError(
                "a block has at least 1 batch, a combination at least 2 results, a worker at "
                "least 1 thread, and retries are not negative"
            )
        if ray is None:
            loaded = sys.modules.get("ray")
            ray = loaded is not None and bool(loaded.is_initialized())
        self._key, self._on_ray = key, ray
        self._devices = None if devices is None else os.fspath(devices)
        self._block, self._fan_in, self._retries = block, fan_in, retries
        self._threads, self._runtime_env = threads, runtime_env
        self._workers: LocalWorkers | RayWorkers | None = None
        self._report = FleetReport()
        self._busy = threading.Lock()

    @property
    def report(self) -> FleetReport:
        """The cost of the last evaluation."""
        return self._report

    def __enter__(self) -> Fleet:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Lets the workers go, and the prepared keys with them."""
        if self._workers is not None:
            self._workers.close()
            self._workers = None

    def map_reduce(
        self,
        batches: Iterable[Batch],
        map: Callable[[Loaded], _Partial],
        combine: Callable[[list[_Partial]], _Partial],
        *,
        finish: Callable[[_Partial, int], _Partial] | None = None,
        skip_bad: bool = False,
        progress: Progress = None,
    ) -> bytes:
        """The one result of all batches.

        Args:
            batches: uploads, as bytes or paths of files, which are read when their turn comes.
                Any number: they are taken one after the other.
            map: of what ``Server.load`` gives of a block of batches, to an encrypted value or a
                dict of them.
            combine: of a list of such results to one. It must not care about their order.
            finish: of the last result, and of the number of all rows, to the answer.
            skip_bad: whether to leave out batches that cannot be mapped; ``report.skipped`` has
                them. Otherwise the first one ends the evaluation.
            progress: of batches.

        Returns:
            The bytes of a result, for ``SecretKey.decrypt`` and ``tfhe-sbc decrypt``.

        Raises:
            FleetError: what failed, and for which batches.
        """
        if not self._busy.acquire(blocking=False):
            raise FleetError(
                "this fleet is at another evaluation: wait for it, or ask for several results in "
                "one (a dict)"
            )
        try:
            return self._evaluate(batches, Work(map, combine, finish), skip_bad, progress)
        finally:
            self._busy.release()

    def _evaluate(
        self, batches: Iterable[Batch], work: Work, skip_bad: bool, progress: Progress
    ) -> bytes:
        self._report = report = FleetReport()
        started = time.monotonic()
        workers = self._started()
        workers.begin(work)
        try:
            with telling(progress, "mapping", " batches") as callback:
                partial = reduce(
                    batches,
                    workers,
                    block=self._block,
                    fan_in=self._fan_in,
                    retries=self._retries,
                    report=report,
                    skip=skip_bad,
                    finish=work.finish is not None,
                    progress=callback,
                )
            return result_of(partial)
        except BaseException:
            workers.reset()
            raise
        finally:
            report.seconds = time.monotonic() - started

    def sum(
        self, batches: Iterable[Batch], column: str | None = None, **options: Unpack[_Options]
    ) -> bytes:
        """The sum of a column over all rows of all batches.

        ``column`` need not be given where uploads have one only; ``options`` are those of
        :meth:`map_reduce`.
        """
        return self.map_reduce(
            batches, lambda loaded: _column(loaded, column).sum(), _sum, **options
        )

    def mean(
        self, batches: Iterable[Batch], column: str | None = None, **options: Unpack[_Options]
    ) -> bytes:
        """The mean of a column over all rows of all batches, exact. See :meth:`sum`."""

        def begin(loaded: Any) -> Any:
            total = _whole(_column(loaded, column), "mean").sum()
            total.name = total.name.replace("sum(", "mean(", 1)
            return total

        return self.map_reduce(
            batches, begin, _sum, finish=lambda total, rows: total / rows, **options
        )

    def min(
        self, batches: Iterable[Batch], column: str | None = None, **options: Unpack[_Options]
    ) -> bytes:
        """The smallest number of a column. See :meth:`sum`."""
        return self.map_reduce(
            batches,
            lambda loaded: _whole(_column(loaded, column), "min").min(),
            _extreme(False),
            **options,
        )

    def max(
        self, batches: Iterable[Batch], column: str | None = None, **options: Unpack[_Options]
    ) -> bytes:
        """The largest number of a column. See :meth:`sum`."""
        return self.map_reduce(
            batches,
            lambda loaded: _whole(_column(loaded, column), "max").max(),
            _extreme(True),
            **options,
        )

    def count_where(
        self,
        batches: Iterable[Batch],
        condition: Callable[[Loaded], EncryptedMask],
        **options: Unpack[_Options],
    ) -> bytes:
        """The number of rows that meet a condition: a function of what was loaded to a mask.

        ``options`` are those of :meth:`map_reduce`.
        """
        return self.map_reduce(batches, lambda loaded: condition(loaded).sum(), _sum, **options)

    def _started(self) -> LocalWorkers | RayWorkers:
        if self._workers is None:
            if self._on_ray:
                from .. import __version__
                from .on_ray import RayWorkers

                self._workers = RayWorkers(
                    self._key.to_bytes(),
                    self._devices,
                    version=__version__,
                    threads=self._threads,
                    runtime_env=self._runtime_env,
                )
            else:
                from .local import LocalWorkers

                self._workers = LocalWorkers(self._key, self._devices)
        return self._workers

    def __repr__(self) -> str:
        where = "a Ray cluster" if self._on_ray else "this machine"
        return f"<Fleet of {self._key.fingerprint} on {where}>"


def _column(loaded: Any, column: str | None) -> Any:
    from .._encrypted import EncryptedTable

    if isinstance(loaded, EncryptedTable):
        if column is None:
            raise ValueError(
                f"the uploads have several columns, {', '.join(loaded.columns)}: name one of them"
            )
        return loaded[column]
    if column is not None and loaded.name != column:
        raise ValueError(f"the uploads have no column '{column}': theirs is '{loaded.name}'")
    return loaded


def _whole(column: Any, function: str) -> Any:
    """The column, unless its readings may be missing."""
    from .._encrypted import EncryptedOptionalColumn

    if isinstance(column, EncryptedOptionalColumn):
        advice = {
            "mean": "map_reduce sum() and count(), and divide them when they are decrypted",
        }.get(function, f"map_reduce the {function}() of the column that fillna() gives")
        raise TypeError(
            f"readings of {column.name!r} may be missing, and a fleet has no {function} of them: {advice}"
        )
    return column


def _sum(parts: list[Any]) -> Any:
    return functools.reduce(operator.add, parts)


def _extreme(largest: bool) -> Callable[[list[Any]], Any]:
    def combine(parts: list[Any]) -> Any:
        from .._encrypted import maximum, minimum

        of_two = maximum if largest else minimum
        while len(parts) > 1:
            # In pairs, so that the pairs of a round are computed side by side.
            pairs = zip(parts[::2], parts[1::2])
            rest = parts[len(parts) - len(parts) % 2 :]
            parts = [of_two(a, b) for a, b in pairs] + rest
        return parts[0]

    return combine
