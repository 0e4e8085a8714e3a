"""A fleet: the same evaluations on this machine and on a Ray cluster that loses workers."""

import os
import pathlib
import pickle
import signal
import sys
import threading
import time

import numpy as np
import pytest

import tfhe_sbc as ts
from tfhe_sbc.fleet import Fleet, FleetError

RANDOM = np.random.default_rng(20)
READINGS = [RANDOM.uniform(-10, 35, 2).round(1) for _ in range(14)]
ALL = np.concatenate(READINGS)


@pytest.fixture(scope="module")
def batches(keys):
    encryptor = ts.Encryptor(keys.device)
    return [
        encryptor.encrypt(readings, name="t", scale=0.1, offset=-40, bits=12)
        for readings in READINGS
    ]


@pytest.fixture(scope="module")
def cluster():
    """Two nodes of one CPU each, beside a head that computes nothing."""
    ray = pytest.importorskip("ray", reason="the extra [ray] is not installed")
    from ray.cluster_utils import Cluster

    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False}
    )
    for _ in range(2):
        cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, logging_level="ERROR", log_to_driver=False)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def check_all(fleet, keys, batches):
    assert keys.secret.decrypt(fleet.sum(batches, "t")) == pytest.approx(ALL.sum())
    assert keys.secret.decrypt(fleet.mean(batches, "t")) == pytest.approx(ALL.mean())
    assert keys.secret.decrypt(fleet.max(batches, "t")) == pytest.approx(ALL.max())
    assert keys.secret.decrypt(fleet.min(batches)) == pytest.approx(ALL.min())
    hot = fleet.count_where(batches, lambda t: t > 20.0)
    assert keys.secret.decrypt(hot) == int((ALL > 20.0).sum())
    assert fleet.report.batches == len(batches)


def test_on_this_machine(keys, batches):
    with Fleet(keys.server, ray=False, block=5, fan_in=2) as fleet:
        check_all(fleet, keys, batches)
        assert (fleet.report.blocks, fleet.report.combined) == (3, 2)
        assert fleet.report.rows == len(ALL)


def test_several_results_at_once(keys, batches, tmp_path):
    paths = [tmp_path / str(i) for i in range(5)]
    for path, batch in zip(paths, batches):
        path.write_bytes(batch)

    def look(t):
        hot = t > 20.0
        return {"hot": hot.sum(), "total": t.sum()}

    def together(parts):
        return {name: sum(part[name] for part in parts) for name in ("hot", "total")}

    seen = []
    with Fleet(keys.server, ray=False, block=2, fan_in=3) as fleet:
        result = fleet.map_reduce(
            paths, look, together, progress=lambda done, started: seen.append(done)
        )
    expected = np.concatenate(READINGS[:5])
    answer = keys.secret.decrypt(result)
    assert answer["hot"] == int((expected > 20.0).sum())
    assert answer["total"] == pytest.approx(expected.sum())
    assert seen[-1] == 5


def test_a_dict_of_one_and_one_value_under_two_names(keys, batches):
    with Fleet(keys.server, ray=False, block=1, fan_in=2) as fleet:
        one = fleet.map_reduce(
            batches[:3], lambda t: {"n": t.sum()}, lambda parts: {"n": sum(p["n"] for p in parts)}
        )
        expected = np.concatenate(READINGS[:3]).sum()
        assert keys.secret.decrypt(one) == pytest.approx(expected)

        def twice(t):
            total = t.sum()
            return {"a": total, "b": total}

        two = fleet.map_reduce(
            batches[:2],
            twice,
            lambda parts: {name: parts[0][name] + parts[1][name] for name in ("a", "b")},
        )
        answer = keys.secret.decrypt(two)
        assert sorted(answer) == ["a", "b"] and answer["a"] == answer["b"]


def test_one_evaluation_at_a_time(keys, batches):
    with Fleet(keys.server, ray=False, block=1) as fleet:

        def within():
            with pytest.raises(FleetError, match="another evaluation"):
                fleet.sum(batches[:1])
            yield batches[0]

        total = fleet.sum(within())
        assert keys.secret.decrypt(total) == pytest.approx(READINGS[0].sum())


def test_an_interrupted_evaluation_ends_soon(keys, batches):
    with Fleet(keys.server, ray=False, block=14) as fleet:

        def look(t):
            threading.Timer(0.3, signal.raise_signal, [signal.SIGINT]).start()
            return t.sort()

        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            fleet.map_reduce(batches, look, lambda parts: parts[0])
    assert time.monotonic() - start < 10


def test_bad_batches(keys, other_keys, batches):
    foreign = ts.Encryptor(other_keys.device).encrypt(
        [1.0], name="t", scale=0.1, offset=-40, bits=12
    )
    mixed = [batches[0], foreign, b"nonsense", batches[1]]
    with Fleet(keys.server, ray=False, block=4) as fleet:
        with pytest.raises(FleetError, match="batches 0 to 3: "):
            fleet.sum(mixed)
        total = fleet.sum(mixed, skip_bad=True)
        assert keys.secret.decrypt(total) == pytest.approx(np.concatenate(READINGS[:2]).sum())
        assert sorted(fleet.report.skipped) == [1, 2]
        assert "key" in fleet.report.skipped[1]
        missing = [pathlib.Path("not-there.tsbc"), batches[0]]
        with pytest.raises(FleetError, match="batch 0: .*not-there"):
            fleet.sum(missing)
        total = fleet.sum(missing, skip_bad=True)
        assert keys.secret.decrypt(total) == pytest.approx(READINGS[0].sum())
        assert list(fleet.report.skipped) == [0] and fleet.report.batches == 2
        with pytest.raises(FleetError, match="no batches"):
            fleet.sum([])
        with pytest.raises(FleetError, match="no column 'u'"):
            fleet.sum(batches[:1], "u")
        # A failed evaluation leaves nothing behind.
        assert keys.secret.decrypt(fleet.sum(batches[:1])) == pytest.approx(READINGS[0].sum())


def test_wrong_settings_are_refused(keys):
    with pytest.raises(TypeError, match="keys.server"):
        Fleet(keys.secret)
    with pytest.raises(ValueError, match="at least"):
        Fleet(keys.server, fan_in=1)


def test_without_ray(keys, batches, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with Fleet(keys.server, ray=True) as fleet:
        with pytest.raises(FleetError, match=r"pip install 'tfhe-sbc\[ray\]'.*ray=False"):
            fleet.sum(batches)
    # Without being asked for it is not missed.
    assert "this machine" in repr(Fleet(keys.server))


def test_the_server_key_travels_and_the_secret_key_does_not(keys):
    assert pickle.loads(pickle.dumps(keys.server)).fingerprint == keys.server.fingerprint
    for secret in (keys.secret, keys.device):
        with pytest.raises(TypeError):
            pickle.dumps(secret)


def test_on_a_cluster(cluster, keys, batches):
    with Fleet(keys.server, block=4, fan_in=3) as fleet:
        check_all(fleet, keys, batches)
        assert len(fleet._workers.workers()) == 2
        assert not fleet.report.lost


def test_a_worker_that_is_killed_in_the_middle_loses_nothing(cluster, keys, batches):
    with Fleet(keys.server, block=1, fan_in=4) as fleet:
        fleet.sum(batches[:2])
        # The second one may still be preparing its key.
        deadline = time.monotonic() + 60
        while len(fleet._workers.workers()) < 2 and time.monotonic() < deadline:
            fleet.sum(batches[:2])
        victim = next(iter(fleet._workers.workers().values()))
        killed = []

        def kill(done, started):
            if done >= 6 and not killed:
                killed.append(victim)
                os.kill(victim, signal.SIGKILL)

        total = fleet.sum(batches, progress=kill)
        assert keys.secret.decrypt(total) == pytest.approx(ALL.sum())
        assert killed and fleet.report.lost and fleet.report.repeated > 0
        # It is there again.
        deadline = time.monotonic() + 60
        while len(fleet._workers.workers()) < 2 and time.monotonic() < deadline:
            fleet.sum(batches[:2])
        assert victim not in fleet._workers.workers().values()
        assert len(fleet._workers.workers()) == 2


def test_a_node_that_leaves_in_the_middle_loses_nothing(cluster, keys, batches):
    node = cluster.add_node(num_cpus=1)
    with Fleet(keys.server, block=1, fan_in=4) as fleet:
        deadline = time.monotonic() + 60
        fleet.sum(batches[:2])
        while len(fleet._workers.workers()) < 3 and time.monotonic() < deadline:
            fleet.sum(batches[:3])
        assert len(fleet._workers.workers()) == 3
        leaving = []

        def leave(done, started):
            if done >= 6 and not leaving:
                leaving.append(threading.Thread(target=cluster.remove_node, args=(node, False)))
                leaving[0].start()

        total = fleet.sum(batches, progress=leave)
        leaving[0].join()
        assert keys.secret.decrypt(total) == pytest.approx(ALL.sum())


def test_errors_of_the_work_come_back_from_the_cluster(cluster, keys, batches):
    # Sent as its code: workers do not have this file's folder among theirs.
    def fails(table):
        raise RuntimeError("a mistake of mine")

    with Fleet(keys.server, block=4) as fleet:
        with pytest.raises(FleetError, match="batches 0 to 3: "):
            fleet.sum([batches[0], b"nonsense", batches[1], batches[2]])
        with pytest.raises(FleetError, match=r"batch 0: .*mine"):
            fleet.map_reduce(batches[:1], fails, sum)
        assert keys.secret.decrypt(fleet.sum(batches[:1])) == pytest.approx(READINGS[0].sum())


def test_a_cluster_without_the_package_is_told_what_to_install(cluster, keys, batches, tmp_path):
    without = tmp_path / "tfhe_sbc"
    without.mkdir()
    (without / "__init__.py").write_text("raise ImportError(\"No module named 'tfhe_sbc'\")")
    environment = {"env_vars": {"PYTHONPATH": str(tmp_path)}}
    with Fleet(keys.server, runtime_env=environment) as fleet:
        for _ in range(2):
            with pytest.raises(FleetError, match=r"lacks the package: .*'tfhe-sbc\[ray\]'"):
                fleet.sum(batches)


def test_a_cluster_with_another_version_is_refused(cluster, keys, batches, monkeypatch):
    monkeypatch.setattr(ts, "__version__", "0.0.0")
    with Fleet(keys.server) as fleet:
        for _ in range(2):
            with pytest.raises(FleetError, match=r"this program 0\.0\.0"):
                fleet.sum(batches)
