"""Decryption of tables, lists, dicts and uploads, with the labels of their rows."""

import sys

import numpy as np
import pandas as pd
import pytest

import tfhe_sbc as ts

HOURS = pd.date_range("2026-11-01", periods=4, freq="h")
FRAME = pd.DataFrame({"t": [21.4, 35.2, -3.9, 30.0], "h": [40.5, 41.0, 39.5, 0.0]}, HOURS)
ENCODING = dict(scale={"t": 0.1, "h": 0.5}, offset={"t": -40}, bits=10)


@pytest.fixture(scope="module")
def box(keys):
    return ts.Encryptor(keys.device).encrypt(FRAME, **ENCODING)


@pytest.fixture
def table(server, box):
    return server.load(box)


def frames_equal(found, expected):
    pd.testing.assert_frame_equal(found, expected, check_freq=False, check_index_type=False)


def test_a_table_is_a_frame_again(keys, table, box):
    frames_equal(keys.secret.decrypt(table), FRAME)
    assert isinstance(keys.secret.decrypt(table).index, pd.DatetimeIndex)
    # What everybody tries first.
    frames_equal(keys.secret.decrypt(box), FRAME)
    arrays = keys.secret.decrypt(table, to="numpy")
    assert {name: list(values) for name, values in arrays.items()} == FRAME.to_dict("list")
    assert all(type(values) is np.ndarray for values in arrays.values())


def test_an_upload_is_its_readings(keys, tmp_path):
    box = ts.Encryptor(keys.public).encrypt([1, 2, 3], name="n", bits=4, rows=["a", "b", "c"])
    assert keys.secret.decrypt(box).tolist() == [1, 2, 3]
    series = keys.secret.decrypt(box, to="pandas")
    pd.testing.assert_series_equal(series, pd.Series([1.0, 2.0, 3.0], ["a", "b", "c"], name="n"))
    (tmp_path / "box.tsbc").write_bytes(box)
    assert keys.secret.decrypt(tmp_path / "box.tsbc").tolist() == [1, 2, 3]
    assert keys.secret.decrypt(str(tmp_path / "box.tsbc")).tolist() == [1, 2, 3]
    for optional in True, "clear":
        gaps = ts.Encryptor(keys.device).encrypt([1, None, 3], bits=4, optional=optional)
        np.testing.assert_array_equal(keys.secret.decrypt(gaps), [1, np.nan, 3])


def test_an_upload_of_a_board_needs_its_switch_key(keys, other_keys, tmp_path):
    board, switch = keys.secret.issue_device_key("hill")
    box = ts.Encryptor(board).encrypt(FRAME, **ENCODING)
    with pytest.raises(ts.KeyMismatch, match="switch key.*device_keys=directory"):
        keys.secret.decrypt(box)
    (tmp_path / "hill.tsbc").write_bytes(switch)
    frames_equal(keys.secret.decrypt(box, device_keys=tmp_path), FRAME)
    shared = ts.Encryptor(keys.device).encrypt([1], bits=4)
    with pytest.raises(ts.KeyMismatch):
        other_keys.secret.decrypt(shared)
    with pytest.raises(ts.FormatError, match="checksum"):
        keys.secret.decrypt(shared[:-1] + bytes([shared[-1] ^ 1]))
    with pytest.raises(ts.FormatError):
        keys.secret.decrypt(b"nothing of ours")
    with pytest.raises(ts.FormatError, match="server key"):
        keys.secret.decrypt(keys.server.to_bytes())


def test_lists_and_dicts_are_computed_together(keys, table, box):
    t = table["t"]
    asked = {"top": t.max(), "all": [t.min(), t > 20, (t.mean(), box)], "table": table}
    together = ts.cost(t.max(), t.min(), t > 20, t.mean(), table["t"], table["h"]).bootstraps
    told = []
    found = keys.secret.decrypt(asked, progress=lambda done, total: told.append(total))
    assert set(told) == {together}
    assert list(found) == ["top", "all", "table"]
    lowest, warm, (mean, readings) = found["all"]
    assert (found["top"], lowest, mean) == (35.2, -3.9, pytest.approx(FRAME.t.mean()))
    assert warm.tolist() == (FRAME.t > 20).tolist()
    frames_equal(readings, FRAME)
    frames_equal(found["table"], FRAME)
    assert keys.secret.decrypt([]) == [] and keys.secret.decrypt({}) == {}


def test_columns_are_series_where_that_is_asked_for(keys, table):
    t = table["t"]
    found = keys.secret.decrypt([t, t > 20, t * 2, t[1:3], t.max(), t.idxmax()], to="pandas")
    expected = [FRAME.t, FRAME.t > 20, FRAME.t * 2, FRAME.t[1:3]]
    for one, other in zip(found, expected):
        pd.testing.assert_series_equal(one, other, check_names=False, check_freq=False)
    assert [one.name for one in found[:3]] == ["t", "(t > 20)", "(t * 2)"]
    assert found[4:] == [35.2, (str(HOURS[1]), 35.2)]
    bins = keys.secret.decrypt(t.histogram([0, 20, 40]), to="pandas")
    assert bins.to_dict() == {"0 to 20": 0, "20 to 40": 3}
    # As before, arrays are what nobody says otherwise about.
    assert type(keys.secret.decrypt(t)) is np.ndarray


def test_answers_keep_the_labels_of_their_rows(keys, server, table, box):
    result = server.query(box, "score(t)", "max(t)", "score(h)")
    found = keys.secret.decrypt(result, to="pandas")
    pd.testing.assert_series_equal(found["score(t)"], FRAME.t, check_names=False, check_freq=False)
    assert found["max(t)"] == 35.2 and found["score(h)"].index.equals(HOURS)
    assert type(keys.secret.decrypt(result)["score(t)"]) is np.ndarray
    sealed = ts.to_bytes(table["t"] > 20)
    warm = keys.secret.decrypt(sealed, to="pandas")
    pd.testing.assert_series_equal(warm, FRAME.t > 20, check_names=False, check_freq=False)
    bins = keys.secret.decrypt(server.query(box, "histogram(t, 0, 20, 40)"), to="pandas")
    assert bins.to_dict() == {"0 to 20": 0, "20 to 40": 3}


def test_answers_for_groups_are_a_table(keys, server, box):
    other = ts.Encryptor(keys.device).encrypt(FRAME + 2, **ENCODING)
    questions = ["mean(t)", "argmax(h)", "count(t > 30)"]

    def ask(*asked, **scope):
        result = server.query([box, other], *asked, devices=["hill", "lake"], **scope)
        return keys.secret.decrypt(result, to="pandas")

    found = ask(*questions, by="device")
    assert found.index.tolist() == ["hill", "lake"] and found.index.name == "device"
    assert found["mean(t)"].tolist() == pytest.approx([FRAME.t.mean(), FRAME.t.mean() + 2])
    assert found["argmax(h)"].tolist() == [41, 43] and found["count(t > 30)"].tolist() == [1, 2]
    assert found["row of argmax(h)"].tolist() == [str(HOURS[1])] * 2
    hourly = ask("mean(t)", by="device,hour")
    assert hourly.index.names == ["device", "time"] and len(hourly) == 8
    assert hourly.loc[("lake", HOURS[1].tz_localize("UTC")), "mean(t)"] == 37.2
    times = ask("mean(t)", by="hour").index
    assert times.equals(HOURS.tz_localize("UTC")) and times.name == "time"


def test_columns_that_are_too_long_to_be_loaded_are_read_in_slices(keys, server):
    count = 11_000
    frame = pd.DataFrame(
        {"a": np.arange(count) % 4096, "b": np.arange(count)[::-1] % 4096}, dtype=float
    )
    box = ts.Encryptor(keys.device).encrypt(frame, bits=12, use="radix")
    table = server.load(box)
    found = keys.secret.decrypt({"all": table, "first": table["a"][0]})
    pd.testing.assert_frame_equal(found["all"], frame)
    assert found["first"] == 0
    # Whatever is no list of rows is still refused.
    with pytest.raises(ts.TfheSbcError, match="slices"):
        keys.secret.decrypt([table, table["a"].max()])


def test_several_numbers_a_row_are_columns(rehearsal, monkeypatch):
    t = rehearsal.load(FRAME, **ENCODING)["t"]
    monkeypatch.setattr(
        ts.EncryptedColumn, "_read", lambda self, _: np.stack([FRAME.t, FRAME.h], axis=1)
    )
    assert rehearsal.decrypt(t).shape == (4, 2)
    found = rehearsal.decrypt(t, to="pandas")
    assert found.index.equals(HOURS) and list(found.columns) == ["t[0]", "t[1]"]
    assert found["t[1]"].tolist() == FRAME.h.tolist()


@pytest.mark.parametrize(
    "rows, expected",
    [
        (["0", "1", "2"], pd.RangeIndex(3)),
        (["5", "6", "8"], pd.Index([5, 6, 8])),
        (["-5", "0", "1"], pd.Index([-5, 0, 1])),
        (["007", "8", "9"], pd.Index(["007", "8", "9"])),
        (["2026-01-31"] * 3, pd.DatetimeIndex(["2026-01-31"] * 3)),
        (["2026-02-31"] * 3, pd.Index(["2026-02-31"] * 3)),
        (["2026-01-01T11:00+01:00"] * 3, pd.DatetimeIndex(["2026-01-01 10:00"] * 3, tz="UTC")),
        (["2026-01-01T10:00Z"] * 3, pd.DatetimeIndex(["2026-01-01 10:00"] * 3, tz="UTC")),
        (["2026-01-01 10:00:00.250"] * 3, pd.DatetimeIndex(["2026-01-01 10:00:00.250"] * 3)),
        (["2026-01-01", "10:00", "11:00"], pd.Index(["2026-01-01", "10:00", "11:00"])),
        (["2026-01-01T10:00", "2026-01-01T10:00Z", "x"], None),
        (["20260101", "noon", ""], None),
    ],
)
def test_labels_are_moments_numbers_or_texts(rehearsal, rows, expected):
    column = rehearsal.load([1, 2, 3], bits=4, rows=rows)
    index = rehearsal.decrypt(column, to="pandas").index
    expected = pd.Index(rows) if expected is None else expected
    assert index.equals(expected) and type(index) is type(expected)


def test_an_index_in_a_time_zone_comes_back(rehearsal):
    frame = FRAME.tz_localize("Europe/Paris")
    found = rehearsal.decrypt(rehearsal.load(frame, **ENCODING))
    frames_equal(found, frame.tz_convert("UTC"))


def test_what_cannot_be_decrypted_is_told_before_anything_is_computed(keys, rehearsal, table):
    t = table["t"]
    top = t.max()
    with pytest.raises(TypeError, match="int is nothing to decrypt"):
        keys.secret.decrypt([top, 3])
    with pytest.raises(TypeError, match=r"which rows are selected nobody knows.*sum\(\)"):
        keys.secret.decrypt({"top": top, "some": t[t > 20]})
    assert not top.is_computed
    with pytest.raises(TypeError, match="bytes is nothing that a rehearsal computes"):
        rehearsal.decrypt(b"bytes")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        keys.secret.decrypt("nowhere")


def test_without_pandas_tables_are_arrays(rehearsal, monkeypatch):
    table = rehearsal.load(FRAME, **ENCODING)
    # So an import of it fails.
    monkeypatch.setitem(sys.modules, "pandas", None)
    arrays = rehearsal.decrypt(table)
    assert list(arrays) == ["t", "h"] and arrays["h"].tolist() == FRAME.h.tolist()
    with pytest.raises(ImportError, match="pip install pandas"):
        rehearsal.decrypt(table, to="pandas")
