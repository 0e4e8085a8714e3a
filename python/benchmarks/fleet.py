"""Measures how an evaluation over a fleet grows with devices and workers.

    python python/benchmarks/fleet.py [--json FILE]

Every device sends one batch: six readings. The costs of single tasks are measured
alone, in one process with one thread. `FleetModel` makes wall-clock times of them, which are
compared with real runs on a local Ray cluster of one and of two nodes, one CPU each, and then
asked about fleets that do not fit here.
"""

from __future__ import annotations

import os

# Before the package starts its threads: a worker here has one.
os.environ["RAYON_NUM_THREADS"] = "1"

import argparse
import dataclasses
import json
import platform
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import ray
from ray.cluster_utils import Cluster

import tfhe_sbc as ts
from tfhe_sbc.fleet import Fleet, FleetModel
from tfhe_sbc.fleet.scheduler import Task
from tfhe_sbc.fleet.work import Work

ROWS = 6
BLOCK = 32
FAN_IN = 8
LARGEST = 10**6
WORKERS = (1, 2, 16, 64, 256, 1024)


def total(parts: list[Any]) -> Any:
    return sum(parts[1:], parts[0])


#: Evaluations, and the numbers of devices that they are run on.
EVALUATIONS: dict[str, tuple[Work, tuple[int, ...]]] = {
    "sum(temperature)": (Work(lambda column: column.sum(), total), (64, 128)),
    "count(temperature > 30)": (Work(lambda column: (column > 30.0).sum(), total), (64, 128)),
}


def seconds(action: Callable[[], object], times: int = 3) -> float:
    """The median time of an action."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def task_costs(server: ts.Server, work: Work, boxes: list[bytes]) -> dict[str, float]:
    """The times of tasks on one thread that is alone on the machine."""

    def perform(kind: str, payload: list[bytes]) -> tuple[bytes, int]:
        return work.perform(server, Task(kind, payload, 0, len(payload)))

    few, many = BLOCK // 4, BLOCK
    map_few = seconds(lambda: perform("map", boxes[:few]))
    map_many = seconds(lambda: perform("map", boxes[:many]))
    part, _ = perform("map", boxes[:many])
    combine_two = seconds(lambda: perform("combine", [part] * 2))
    combine_all = seconds(lambda: perform("combine", [part] * FAN_IN))
    each = (map_many - map_few) / (many - few)
    combine_each = (combine_all - combine_two) / (FAN_IN - 2)
    return {
        "map_block": max(map_many - many * each, 0.0),
        "map_batch": each,
        "combine": max(combine_all - FAN_IN * combine_each, 0.0),
        "combine_each": combine_each,
    }


def dispatch_cost(payload: bytes) -> float:
    """The time that a task takes the caller, who sends it, waits and fetches its result."""

    @ray.remote(num_cpus=0)
    class Idle:
        def do(self, payload: bytes) -> bytes:
            return payload[:4096]

    idle = Idle.remote()
    ray.get(idle.do.remote(payload))
    count = 200
    start = time.process_time()
    references = [idle.do.remote(payload) for _ in range(count)]
    while references:
        done, references = ray.wait(references, num_returns=1)
        ray.get(done)
    taken = (time.process_time() - start) / count
    ray.kill(idle)
    return taken


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--json", help="write the figures to this file, too")
    given = arguments.parse_args()

    keys = ts.keygen()
    encryptor = ts.Encryptor(keys.device)
    random = np.random.default_rng(1)
    most = max(max(devices) for _, devices in EVALUATIONS.values())
    readings = [random.uniform(-10.0, 35.0, ROWS).round(1) for _ in range(most)]
    boxes = [
        encryptor.encrypt(day, name="temperature", scale=0.1, offset=-40, bits=12)
        for day in readings
    ]
    server = ts.Server(keys.server)
    costs = {name: task_costs(server, work, boxes) for name, (work, _) in EVALUATIONS.items()}
    del server

    runs = []
    models: dict[str, FleetModel] = {}
    for workers in (1, 2):
        cluster = Cluster(
            initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False}
        )
        for _ in range(workers):
            cluster.add_node(num_cpus=1)
        ray.init(address=cluster.address, logging_level="ERROR", log_to_driver=False)
        try:
            for name, (work, sizes) in EVALUATIONS.items():
                with Fleet(keys.server, block=BLOCK, fan_in=FAN_IN) as fleet:
                    # Twice, the second time with all workers ready.
                    start = time.perf_counter()
                    fleet.map_reduce(boxes[:1], work.map, work.combine)
                    first = time.perf_counter() - start
                    while len(fleet._workers.workers()) < workers:  # type: ignore[union-attr]
                        fleet.map_reduce(boxes[:1], work.map, work.combine)
                    if workers == 1:
                        again = seconds(lambda: fleet.map_reduce(boxes[:1], work.map, work.combine))
                        dispatch = dispatch_cost(b"".join(boxes[:BLOCK]))
                        models[name] = FleetModel(
                            prepare=first - again, dispatch=dispatch, **costs[name]
                        )
                    for devices in sizes:
                        start = time.perf_counter()
                        result = fleet.map_reduce(boxes[:devices], work.map, work.combine)
                        taken = time.perf_counter() - start
                        check(keys, name, result, np.concatenate(readings[:devices]))
                        predicted = predict(models[name], devices, workers)
                        runs.append(
                            {
                                "evaluation": name,
                                "devices": devices,
                                "workers": workers,
                                "seconds": taken,
                                "predicted": predicted,
                            }
                        )
        finally:
            ray.shutdown()
            cluster.shutdown()

    ahead = [
        {
            "evaluation": name,
            "devices": LARGEST,
            "workers": workers,
            "predicted": models[name].seconds(LARGEST, workers, block=BLOCK, fan_in=FAN_IN),
        }
        for name in EVALUATIONS
        for workers in WORKERS
    ]
    show(costs, models, runs, ahead)
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            machine = {"cpu": platform.processor() or platform.machine(), "cpus": os.cpu_count()}
            figures = {
                "machine": machine,
                "rows": ROWS,
                "block": BLOCK,
                "fan_in": FAN_IN,
                "costs": costs,
                "runs": runs,
                "ahead": ahead,
            }
            json.dump(figures, file, indent=1)


def predict(model: FleetModel, devices: int, workers: int) -> float:
    """A run with workers that are ready."""
    ready = dataclasses.replace(model, prepare=0.0)
    return ready.seconds(devices, workers, block=BLOCK, fan_in=FAN_IN)


def check(keys: ts.Keys, name: str, result: bytes, values: Any) -> None:
    expected = values.sum() if name.startswith("sum") else (values > 30.0).sum()
    found = keys.secret.decrypt(result)
    assert abs(found - expected) < 1e-6 * max(1.0, abs(expected)), (name, found, expected)


def human(taken: float) -> str:
    """A time for people."""
    for unit, most, one in (("s", 120.0, 1.0), ("min", 7200.0, 60.0), ("h", 172800.0, 3600.0)):
        if taken < most:
            return f"{taken / one:.3g} {unit}"
    return f"{taken / 86400.0:.3g} days"


def show(
    costs: dict[str, dict[str, float]],
    models: dict[str, FleetModel],
    runs: list[dict[str, Any]],
    ahead: list[dict[str, Any]],
) -> None:
    print(f"One batch: {ROWS} readings of 12 bits. Blocks of {BLOCK}, combinations of {FAN_IN}.")
    print("A worker has one thread.\n")
    print("| task, alone on the machine | " + " | ".join(costs) + " |")
    print("|---|" + "---|" * len(costs))
    for label, of in (
        ("a block", lambda c: c["map_block"]),
        ("each batch in it", lambda c: c["map_batch"]),
        ("a combination", lambda c: c["combine"]),
        ("each result in it", lambda c: c["combine_each"]),
    ):
        print(f"| {label} | " + " | ".join(f"{1000 * of(c):.1f} ms" for c in costs.values()) + " |")
    model = next(iter(models.values()))
    print(
        f"\nA worker is ready after {model.prepare:.1f} s; a task takes the caller "
        f"{1000 * model.dispatch:.2f} ms.\n"
    )
    print("| evaluation | devices | workers | measured | model | measured / model |")
    print("|---|---|---|---|---|---|")
    for run in runs:
        ratio = run["seconds"] / run["predicted"]
        print(
            f"| {run['evaluation']} | {run['devices']} | {run['workers']} | "
            f"{human(run['seconds'])} | {human(run['predicted'])} | {ratio:.2f} |"
        )
    print(f"\nThe model for {LARGEST:,} devices, workers on machines of their own:\n")
    print("| workers of one thread | " + " | ".join(costs) + " |")
    print("|---|" + "---|" * len(costs))
    for workers in WORKERS:
        times = [a["predicted"] for a in ahead if a["workers"] == workers]
        print(f"| {workers:,} | " + " | ".join(human(taken) for taken in times) + " |")


if __name__ == "__main__":
    main()
