"""Workers on a Ray cluster: one actor a node, which holds the prepared server key.

The server key is put into the object store once; Ray brings one copy to each node, from
which its actor prepares the key. An actor takes all CPUs of its node, and its own threads
use them. Nodes that join take part from then on; what a lost one was doing is reported, and
an actor is started anew where the node is still there.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, NoReturn

from .scheduler import Done, FleetError, Task
from .work import Work

#: Tasks that an actor has, the one that it does and the next.
_AT_HAND = 2
#: How often nodes are looked for, in seconds.
_LOOK = 2.0
#: How often an actor is started anew on one node.
_RESTARTS = 5
#: How long to do without any worker, and for one to prepare its key and its environment, in
#: seconds.
_PATIENCE = 60.0
_PREPARATION = 900.0

_INSTALL = (
    "install the same version on every node (pip install 'tfhe-sbc[ray]'), or have Ray do it: "
    "Fleet(..., runtime_env={'pip': ['tfhe-sbc']})"
)


def import_ray() -> Any:
    """The package ray.

    Raises `FleetError`, which says what to do, if it is not installed.
    """
    try:
        import ray
    except ImportError as error:
        raise FleetError(
            "Ray is not installed here: pip install 'tfhe-sbc[ray]', or compute on this machine "
            "with Fleet(..., ray=False)"
        ) from error
    return ray


def _actor_class(ray: Any) -> Any:
    # A class that is local to a function travels by value: a node without this package can
    # start it and say what it misses.
    class FleetWorker:
        def __init__(self) -> None:
            self.server: Any = None
            self.work: tuple[bytes, Any] = (b"", None)

        def prepare(self, key: bytes, devices: str | None) -> tuple[str, str]:
            """The version of the package here; none, and why, if it is missing."""
            try:
                import tfhe_sbc
            except ImportError as error:
                return "", str(error)
            self.server = tfhe_sbc.Server(tfhe_sbc.ServerKey.from_bytes(key), devices=devices)
            return str(tfhe_sbc.__version__), ""

        def do(self, work: bytes, task: Any) -> tuple[bytes, int]:
            if self.work[0] != work:
                from ray import cloudpickle

                self.work = (work, cloudpickle.loads(work))
            result: tuple[bytes, int] = self.work[1].perform(self.server, task)
            return result

    return ray.remote(FleetWorker)


@dataclass
class _Actor:
    node: str
    name: str
    handle: Any
    #: The call that prepares its key, until that is done.
    preparing: Any
    running: dict[Any, Task] = field(default_factory=dict)


class RayWorkers:
    """One worker on each node of a cluster."""

    def __init__(
        self,
        key: bytes,
        devices: str | None,
        *,
        version: str,
        threads: int | None,
        runtime_env: dict[str, object] | None,
    ) -> None:
        self._ray = ray = import_ray()
        self._own = not ray.is_initialized()
        if self._own:
            ray.init(logging_level="ERROR", log_to_driver=False)
        self._key, self._devices = ray.put(key), devices
        self._version, self._threads = version, threads
        self._runtime_env: dict[str, Any] = dict(runtime_env or {})
        self._class = _actor_class(ray)
        self._work: Any = None
        self._actors: dict[str, _Actor] = {}
        self._started: dict[str, int] = {}
        self._ended: list[Done] = []
        self._looked = float("-inf")
        self._without_since = time.monotonic()
        self._last_loss = ""

    def begin(self, work: Work) -> None:
        from ray import cloudpickle

        self._work = self._ray.put(cloudpickle.dumps(work))
        self._without_since = time.monotonic()

    def has_room(self) -> bool:
        self._look()
        return any(self._has_room(actor) for actor in self._actors.values())

    @staticmethod
    def _has_room(actor: _Actor) -> bool:
        return actor.preparing is None and len(actor.running) < _AT_HAND

    def start(self, task: Task) -> None:
        free = (actor for actor in self._actors.values() if self._has_room(actor))
        actor = min(free, key=lambda actor: len(actor.running))
        actor.running[actor.handle.do.remote(self._work, task)] = task

    def wait(self) -> Done | None:
        self._look()
        if self._ended:
            return self._ended.pop()
        waited_for: dict[Any, _Actor] = {}
        for actor in self._actors.values():
            if actor.preparing is not None:
                waited_for[actor.preparing] = actor
            waited_for.update(dict.fromkeys(actor.running, actor))
        if not waited_for:
            self._be_patient()
            return None
        ready, _ = self._ray.wait(list(waited_for), num_returns=1, timeout=_LOOK)
        for reference in ready:
            actor = waited_for[reference]
            if reference == actor.preparing:
                self._prepared(actor)
                return None
            return self._done(actor, reference)
        if all(actor.preparing is not None for actor in self._actors.values()):
            self._be_patient()
        return None

    def workers(self) -> dict[str, int]:
        """The nodes' names, and the process of each one's worker."""
        ready = [actor for actor in self._actors.values() if actor.preparing is None]
        return {actor.name: _process(self._ray, actor) for actor in ready}

    def reset(self) -> None:
        # A task that an actor has begun cannot be called back.
        if any(actor.running for actor in self._actors.values()):
            self._let_go()
        self._ended.clear()

    def _let_go(self) -> None:
        for actor in self._actors.values():
            self._ray.kill(actor.handle)
        self._actors.clear()
        self._started.clear()
        self._looked = float("-inf")

    def close(self) -> None:
        self._let_go()
        if self._own:
            self._ray.shutdown()

    def _be_patient(self) -> None:
        """Waits for a worker, but not for ever."""
        waited = time.monotonic() - self._without_since
        preparing = len(self._actors)
        if waited > (_PREPARATION if preparing else _PATIENCE):
            if preparing:
                why = f"{preparing} are preparing still"
            elif self._last_loss:
                why = f"they were lost, the last because {self._last_loss}"
            else:
                why = "it has no node with a CPU"
            raise FleetError(
                f"no worker of the Ray cluster was ready for {waited:.0f} s: {why}. `ray status` "
                "shows what its nodes do, `ray logs` what their processes said"
            )
        time.sleep(0.1)

    def _look(self) -> None:
        """Starts actors on nodes that have none."""
        if time.monotonic() - self._looked < _LOOK:
            return
        self._looked = time.monotonic()
        for node in self._ray.nodes():
            name, cpus = node["NodeID"], int(node["Resources"].get("CPU", 0))
            if not node["Alive"] or cpus < 1 or name in self._actors:
                continue
            if self._started.get(name, 0) > _RESTARTS:
                continue
            self._started[name] = self._started.get(name, 0) + 1
            self._actors[name] = self._start_actor(name, node["NodeManagerAddress"], cpus)

    def _start_actor(self, node: str, address: str, cpus: int) -> _Actor:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        environment = dict(self._runtime_env.get("env_vars", {}))
        environment.setdefault("RAYON_NUM_THREADS", str(self._threads or cpus))
        handle = self._class.options(
            num_cpus=cpus,
            max_restarts=0,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node_id=node, soft=False),
            runtime_env=self._runtime_env | {"env_vars": environment},
        ).remote()
        preparing = handle.prepare.remote(self._key, self._devices)
        return _Actor(node, f"{address} ({node[:8]})", handle, preparing)

    def _prepared(self, actor: _Actor) -> None:
        exceptions = self._ray.exceptions
        try:
            version, missing = self._ray.get(actor.preparing)
        except exceptions.RayTaskError as error:
            cause = _cause(error)
            self._refuse(actor, f"cannot prepare the key: {cause}", cause)
        except exceptions.RayError as error:
            self._lose(actor, error)
            return
        if not version:
            self._refuse(actor, f"lacks the package: {missing}; {_INSTALL}")
        if version != self._version:
            self._refuse(actor, f"has tfhe-sbc {version}, this program {self._version}; {_INSTALL}")
        actor.preparing = None
        self._without_since = time.monotonic()

    def _refuse(self, actor: _Actor, why: str, cause: BaseException | None = None) -> NoReturn:
        """Does without a node that cannot compute, and says why; it is asked again next time."""
        self._ray.kill(actor.handle)
        del self._actors[actor.node]
        self._looked = float("-inf")
        self._started.pop(actor.node, None)
        raise FleetError(f"the node {actor.name} {why}") from cause

    def _done(self, actor: _Actor, reference: Any) -> Done | None:
        self._without_since = time.monotonic()
        exceptions = self._ray.exceptions
        try:
            result = self._ray.get(reference)
        except exceptions.RayTaskError as error:
            return Done(actor.running.pop(reference), error=_cause(error))
        except exceptions.RayError as error:
            # An error of the worker, its node or its memory, not of the work.
            self._lose(actor, error)
            return self._ended.pop()
        return Done(actor.running.pop(reference), result=result)

    def _lose(self, actor: _Actor, error: BaseException) -> None:
        """Gives up an actor; what it was doing ended with its loss."""
        words = str(error).strip().splitlines() or [type(error).__name__]
        reason = self._last_loss = f"the worker on {actor.name} is gone: {words[0]}"
        self._ray.kill(actor.handle)
        del self._actors[actor.node]
        self._ended.extend(Done(task, lost=reason) for task in actor.running.values())
        # Its node may be there still.
        self._looked = float("-inf")


def _cause(error: Any) -> BaseException:
    cause = getattr(error, "cause", None)
    if isinstance(cause, BaseException):
        return cause
    assert isinstance(error, BaseException)
    return error


def _process(ray: Any, actor: _Actor) -> int:
    state: int = ray.get(actor.handle.__ray_call__.remote(lambda _: __import__("os").getpid()))
    return state
