"""Answers about boards with keys of their own, with and without masks."""

from datetime import datetime, timedelta, timezone

import numpy as np
import pytest

import tfhe_sbc as ts

TEN = datetime(2026, 11, 23, 10, tzinfo=timezone.utc)
READINGS = {"hill": [1.0, 2.5, 3.0, np.nan], "lake": [10.0, 20.0, 30.5, 40.0]}


@pytest.fixture(scope="module")
def place(keys, tmp_path_factory):
    """The directory of two boards' switch keys, a server that has it, and an upload of each board."""
    directory = tmp_path_factory.mktemp("device-keys")
    boxes = []
    for device, readings in READINGS.items():
        key, switch = keys.secret.issue_device_key(device)
        (directory / f"{device}-1.tsbc").write_bytes(switch)
        rows = [(TEN + timedelta(minutes=20 * i)).strftime("%Y-%m-%dT%H:%MZ") for i in range(4)]
        column = ts.Column("t", 0.5, 0, 7, square=True, optional=True)
        whole = ts.Column("n", 1, 0, 4)
        values = {"t": readings, "n": [1, 2, 3, 4]}
        boxes.append(ts.Encryptor(key).encrypt(values, columns=[column, whole], rows=rows))
    return directory, ts.Server(keys.server, devices=directory), boxes


QUESTIONS = ["mean(t)", "sum(t)", "count(t)", "std(t)", "mean(n)", "sum(n + 1)", "max(n)"]


@pytest.mark.parametrize("by", [None, "device", "device,hour"])
def test_answers_without_masks_are_the_same_and_shorter(keys, place, by):
    directory, server, boxes = place
    whole = server.query(boxes, *QUESTIONS, by=by)
    short = server.query(boxes, *QUESTIONS, by=by, device_keys=directory)
    expected = keys.secret.decrypt(whole)
    # What has no masks is what was added up; the maximum is computed with the key set's own key.
    assert repr(keys.secret.decrypt(short, device_keys=directory)) == repr(expected)
    if by is None:
        t = np.concatenate([*READINGS.values()])
        assert expected["mean(t)"] == pytest.approx(np.nanmean(t))
        assert expected["std(t)"] == pytest.approx(np.nanstd(t))
        assert (expected["count(t)"], expected["max(n)"]) == (7, 4)
    linear = ["mean(n)", "sum(t)"]
    whole = server.query(boxes, *linear, by=by)
    short = server.query(boxes, *linear, by=by, device_keys=directory)
    assert 5 * len(short) < len(whole)


def test_the_switch_keys_are_needed_to_decrypt(keys, place, tmp_path):
    directory, server, boxes = place
    short = server.query(boxes, "mean(n)", "mean(t)", device_keys=directory)
    with pytest.raises(ts.KeyMismatch, match="device_keys="):
        keys.secret.decrypt(short)
    with pytest.raises(ts.KeyMismatch, match="device_keys="):
        keys.secret.decrypt(short, device_keys=tmp_path)
    with pytest.raises(ts.TfheSbcError, match="cannot be read"):
        keys.secret.decrypt(short, device_keys=tmp_path / "nowhere")
    with pytest.raises(ts.TfheSbcError, match="cannot be read"):
        server.query(boxes, "mean(n)", device_keys=tmp_path / "nowhere")
    with pytest.raises(ts.FormatError):
        keys.secret.decrypt(short[:-1], device_keys=directory)
    # A directory without keys asks for nothing.
    nothing = server.query(boxes, "mean(n)", device_keys=tmp_path)
    assert keys.secret.decrypt(nothing) == 2.5
    # Of some boards only: answers about others keep their masks.
    (tmp_path / "hill-1.tsbc").write_bytes((directory / "hill-1.tsbc").read_bytes())
    some = server.query(boxes, "sum(n)", by="device", device_keys=tmp_path)
    assert keys.secret.decrypt(some, device_keys=tmp_path) == {"hill": 10, "lake": 10}


def test_uploads_under_the_shared_key_go_on_as_before(keys, server, place):
    directory, _, _ = place
    box = ts.Encryptor(keys.device).encrypt([1.0, 2.0, 4.0], bits=4, name="t")
    answer = server.query(box, "sum(t)", device_keys=directory)
    assert keys.secret.decrypt(answer) == keys.secret.decrypt(server.query(box, "sum(t)")) == 7
