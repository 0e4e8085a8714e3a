"""Results with real keys: what travels as bytes, key switches and liftings, key files."""

import os
import threading
import time
from datetime import datetime, timedelta, timezone

import numpy as np
import pytest

import tfhe_sbc as ts

READINGS = np.array([21.4, 35.2, -3.9, 30.0])


@pytest.fixture
def column(keys, server):
    box = ts.Encryptor(keys.device).encrypt(READINGS, scale=0.1, offset=-40, bits=10, name="t")
    return server.load(box)


def test_a_single_truth_value_travels(keys, server, column):
    for single, expected in ((column > 30).any(), True), ((column > 30).all(), False):
        sealed = single.to_bytes()
        assert keys.secret.decrypt(sealed) is expected
        loaded = server.load_result(sealed)
        assert loaded.ndim == 0 and keys.secret.decrypt(loaded) is expected
    one = server.load_result((column[:1] > 30).to_bytes())
    assert one.shape == (1,) and one.rows == ["0"]


def test_numbers_come_back_as_they_were_written(keys, server, column):
    sealed = ts.to_bytes(column, column[0], column.sum(), column.idxmin(), column.ptp())
    read = keys.secret.decrypt(sealed)
    assert list(read.values())[0].tolist() == READINGS.tolist()
    assert list(read.values())[1:] == [21.4, 82.7, ("2", -3.9), 39.1]
    loaded = server.load_answers(ts.to_bytes(column, column.sum()))
    assert keys.secret.decrypt(loaded["t"]).tolist() == READINGS.tolist()
    assert keys.secret.decrypt(loaded["sum(t)"]) == 82.7
    answers = keys.secret.decrypt(server.query(_box(keys), "min(t)", "sum(t)", "range(t)"))
    assert list(answers.values()) == [-3.9, 82.7, 39.1]


def test_questions_about_some_rows_and_groups_of_them(keys, server):
    def box(start, readings):
        first = datetime(2026, 11, 23, start, tzinfo=timezone.utc)
        rows = [(first + timedelta(minutes=20 * i)).strftime("%Y-%m-%dT%H:%MZ") for i in range(4)]
        values = np.array(readings)
        return ts.Encryptor(keys.device).encrypt(values, bits=6, use="means", name="t", rows=rows)

    boxes = [box(10, [1.0, 2.0, 3.0, 4.0]), box(10, [10.0, 20.0, 30.0, 40.0])]
    devices = ["hill", "lake"]
    ten = datetime(2026, 11, 23, 10, tzinfo=timezone.utc)

    def ask(*questions, **scope):
        return keys.secret.decrypt(server.query(boxes, *questions, devices=devices, **scope))

    assert ask("sum(t)") == 110
    assert ask("sum(t)", since="2026-11-23T10:40", until=ten + timedelta(hours=1)) == 33
    assert ask("sum(t)", newest=1) == 44
    assert ask("sum(t)", by="device") == {"hill": 10, "lake": 100}
    assert ask("sum(t)", by="hour") == {ten: 66, ten + timedelta(hours=1): 44}
    both = ask("mean(t)", "last(t)", by="device,hour", until=ten + timedelta(hours=1))
    assert both["mean(t)"] == {("hill", ten): 2, ("lake", ten): 20}
    assert both["last(t)"][("lake", ten)] == ("2026-11-23T10:40Z", 30)
    for wrong, words in (
        (dict(since="2030-01-01"), "none of the 8 rows"),
        (dict(since="2026-11-24", until="2026-11-23"), "not before"),
        (dict(by="month"), "hour, day, week"),
        (dict(newest=0), "at least 1"),
    ):
        with pytest.raises(ts.TfheSbcError, match=words):
            ask("sum(t)", **wrong)
    with pytest.raises(ValueError, match="2 names"):
        server.query(boxes, "sum(t)", devices=["hill"])


def _box(keys):
    return ts.Encryptor(keys.device).encrypt(READINGS, scale=0.1, offset=-40, bits=10, name="t")


def test_sums_wider_than_a_column(keys, server):
    readings = np.array([2.0**52 - 1, 2.0**52 - 1, 5.0])
    column = server.load(ts.Encryptor(keys.device).encrypt(readings, bits=52))
    sealed = column.sum().to_bytes()
    assert keys.secret.decrypt(sealed) == readings.sum()
    with pytest.raises(ts.FormatError, match="fewer bits"):
        server.load_result(sealed)


def test_counts_stay_whole_through_bytes(keys, server, column):
    count = (column > 30).sum() + (column > 25).sum()
    sealed = count.to_bytes()
    found = [keys.secret.decrypt(one) for one in (sealed, server.load_result(sealed))]
    assert found == [3, 3] and all(type(one) is int for one in found)
    # An answer that is not counted from 0 is a number like others.
    assert keys.secret.decrypt((count + 1).to_bytes()) == 4


def test_lifting_is_told_and_called_off(keys, server):
    box = ts.Encryptor(keys.device).encrypt(np.arange(200) % 16, bits=4, name="t")
    sealed = server.load(box).to_bytes()
    loaded = server.load_result(sealed)
    expected = ts.cost(loaded[:2].max()).bootstraps

    class Enough(Exception):
        pass

    told = []

    def stop(done, total):
        told.append((done, total))
        raise Enough

    top = loaded.max()
    with pytest.raises(Enough):
        top.compute(progress=stop)
    assert told and told[0][1] >= told[0][0] and told[0][1] >= 400
    assert not top.is_computed and expected > 0


def test_other_threads_run_while_it_is_sealed(keys, server):
    box = ts.Encryptor(keys.device).encrypt(np.arange(300) % 16, bits=4, name="t", use="radix")
    column = server.load(box)[::-1].compute()
    gaps, done = [0.0], threading.Event()

    def tick():
        last = time.monotonic()
        while not done.is_set():
            time.sleep(0.001)
            now = time.monotonic()
            gaps.append(now - last)
            last = now

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.monotonic()
    first = column.to_bytes()
    seconds = time.monotonic() - start
    done.set()
    thread.join()
    expected = (np.arange(300) % 16)[::-1].tolist()
    assert keys.secret.decrypt(first).tolist() == expected
    assert max(gaps) < max(seconds / 2, 0.2)
    assert column.to_bytes() == first
    # Decryption needs none.
    assert keys.secret.decrypt(column).tolist() == expected


def test_key_files_are_all_there_or_none(keys, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(ts.ServerKey, "save", fail)
    with pytest.raises(OSError, match="no space"):
        keys.save(tmp_path / "keys")
    assert os.listdir(tmp_path / "keys") == []


def test_secrets_are_read_from_their_files(keys, tmp_path):
    keys.secret.save(tmp_path / "secret.tsbc")
    keys.public.save(tmp_path / "public.tsbc")
    assert (tmp_path / "secret.tsbc").read_bytes() == keys.secret.to_bytes()
    assert ts.SecretKey.load(tmp_path / "secret.tsbc").fingerprint == keys.secret.fingerprint
    with pytest.raises(FileNotFoundError, match="nowhere"):
        ts.SecretKey.load(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        ts.DeviceKey.load(tmp_path / "nowhere")
    with pytest.raises(ts.FormatError, match="DevicePublicKey"):
        ts.DeviceKey.load(tmp_path / "public.tsbc")
