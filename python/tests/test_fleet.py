"""A fleet: in this process, and on a Ray cluster of several processes, one of which is lost."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import tfhe_sbc as ts
from tfhe_sbc import fleet as fleets
from tfhe_sbc.fleet import Fleet

ROWS = 3
DEVICES = 10
ENCODING = dict(scale=0.5, offset=-10.0, bits=6)


@pytest.fixture(scope="module")
def readings():
    random = np.random.default_rng(7)
    return [-10 + random.integers(0, 64, ROWS) / 2 for _ in range(DEVICES)]


@pytest.fixture(scope="module")
def boxes(keys, readings):
    encryptor = ts.Encryptor(keys.device)
    return [encryptor.encrypt(device, name="t", **ENCODING) for device in readings]


@pytest.fixture(scope="module")
def cluster():
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, log_to_driver=False)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def check_all(keys, fleet, boxes, readings):
    clear = np.concatenate(readings)
    decrypt = keys.secret.decrypt
    mean = fleet.mean(boxes, "t")
    assert (mean.rows, mean.boxes) == (len(clear), len(boxes))
    assert decrypt(mean.result) == pytest.approx(clear.mean())
    assert decrypt(fleet.sum(iter(boxes)).result) == pytest.approx(clear.sum())
    count = decrypt(fleet.count_where(boxes, lambda t: t > 5).result)
    assert count == (clear > 5).sum() and isinstance(count, int)


def test_a_fleet_in_this_process(keys, boxes, readings, tmp_path):
    fleet = Fleet(keys.server, ray=False, block=2, fan_in=2)
    check_all(keys, fleet, boxes, readings)
    paths = []
    for place, box in enumerate(boxes[:3]):
        paths.append(tmp_path / f"{place}.tsbc")
        paths[-1].write_bytes(box)
    top = np.concatenate(readings[:3]).max()
    assert keys.secret.decrypt(fleet.max(paths).result) == pytest.approx(top)
    assert keys.secret.decrypt(fleet.min(boxes[:1]).result) == pytest.approx(readings[0].min())


def test_partial_results_of_several_values(keys, boxes, readings):
    fleet = Fleet(keys.server, ray=False, block=3, fan_in=3)
    both = fleet.map_reduce(
        boxes[:7],
        lambda t: {"warm": (t > 5).sum(), "total": t.sum()},
        lambda a, b: {name: a[name] + b[name] for name in a},
    )
    clear = np.concatenate(readings[:7])
    assert keys.secret.decrypt(both.result) == {
        "warm": (clear > 5).sum(),
        "total": pytest.approx(clear.sum()),
    }


def test_what_a_fleet_refuses(keys, other_keys, boxes):
    fleet = Fleet(keys.server, ray=False)
    with pytest.raises(ValueError, match="at least one"):
        fleet.sum([])
    with pytest.raises(TypeError, match="list"):
        fleet.sum(boxes[0])
    with pytest.raises(KeyError, match="there is t"):
        fleet.sum(boxes, "u")
    with pytest.raises(TypeError, match="not a float"):
        fleet.map_reduce(boxes[:1], lambda t: 1.0, lambda a, b: a)
    foreign = ts.Encryptor(other_keys.device).encrypt([1], name="t", **ENCODING)
    with pytest.raises(ts.KeyMismatch):
        fleet.sum([foreign])
    with pytest.raises(ValueError, match="at least 1"):
        Fleet(keys.server, workers=0, ray=False)


def test_a_fleet_on_a_cluster(keys, boxes, readings, cluster, other_keys):
    with Fleet(keys.server, workers=2, block=2, fan_in=2) as fleet:
        processes = fleet.processes()
        assert len(set(processes)) == 2 and os.getpid() not in processes
        check_all(keys, fleet, boxes, readings)
        foreign = ts.Encryptor(other_keys.device).encrypt([1], name="t", **ENCODING)
        with pytest.raises(ts.KeyMismatch):
            fleet.sum([*boxes, foreign])


def test_a_worker_is_lost_in_the_middle(keys, boxes, readings, cluster):
    with Fleet(keys.server, workers=2, block=1, fan_in=2) as fleet:
        before = fleet.processes()
        begun = threading.Event()

        def dealt():
            for place, box in enumerate(boxes):
                if place == 5:
                    begun.set()
                yield box

        def lose():
            begun.wait()
            time.sleep(0.1)
            os.kill(before[0], signal.SIGKILL)

        killer = threading.Thread(target=lose)
        killer.start()
        top = fleet.map_reduce(
            dealt(), lambda t: {"top": t.max(), "total": t.sum()}, lambda a, b: {
                "top": ts.maximum(a["top"], b["top"]),
                "total": a["total"] + b["total"],
            }
        )
        killer.join()
        clear = np.concatenate(readings)
        # Nothing is lost, and nothing is counted twice.
        assert top.rows == len(clear)
        assert keys.secret.decrypt(top.result) == {
            "top": pytest.approx(clear.max()),
            "total": pytest.approx(clear.sum()),
        }
        after = fleet.processes()
        assert before[0] not in after and len(set(after)) == 2


def test_a_cluster_without_the_package(keys, cluster, monkeypatch):
    monkeypatch.setattr(fleets, "_PACKAGE", "tfhe_sbc_of_nowhere")
    with pytest.raises(RuntimeError, match="pip install.*on every node"):
        Fleet(keys.server)


def test_without_ray(keys, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(ImportError, match="ray=False"):
        Fleet(keys.server)
