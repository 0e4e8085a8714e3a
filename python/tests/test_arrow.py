"""Readings from Arrow, polars and Parquet, and tables and uploads to them."""

import sys

import numpy as np
import pandas as pd
import pytest

import tfhe_sbc as ts

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")
pq = pytest.importorskip("pyarrow.parquet")

HOURS = pd.date_range("2026-11-01", periods=4, freq="h")
READINGS = {"t": [21.4, 35.2, -3.9, 30.0], "h": [40, None, 39, 1]}
ENCODING = dict(
    scale={"t": 0.1}, offset={"t": -40}, bits=12, optional={"h": True}, unit={"t": "°C"}
)


def arrow():
    return pa.table({"time": pa.array(HOURS), **READINGS})


def polars():
    return pl.DataFrame({"time": list(HOURS.to_pydatetime()), **READINGS})


class Capsule:
    """What has nothing but the interface of Arrow."""

    def __init__(self, data):
        self._data = data

    def __arrow_c_stream__(self, requested_schema=None):
        return self._data.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    "data",
    [
        arrow(),
        arrow().combine_chunks().to_batches()[0],
        polars(),
        Capsule(arrow()),
        Capsule(polars()),
        arrow().to_pandas(),
        {"time": HOURS, **READINGS},
    ],
    ids=lambda data: type(data).__name__,
)
def test_readings_of_every_library(rehearsal, data):
    table = rehearsal.load(data, rows="time", **ENCODING)
    assert table.columns == ["t", "h"]
    found = rehearsal.decrypt(table, to="pandas")
    assert found.index.equals(HOURS)
    assert found.t.tolist() == READINGS["t"]
    np.testing.assert_array_equal(found.h, [40, np.nan, 39, 1])


@pytest.mark.parametrize(
    "column",
    [
        arrow()["t"],
        arrow()["t"].chunk(0),
        polars()["t"],
        Capsule(arrow()["t"]),
        pd.Series(READINGS["t"], dtype="float64[pyarrow]"),
        pd.Series(READINGS["t"], dtype="Float64"),
    ],
    ids=lambda data: type(data).__name__,
)
def test_a_column_of_every_library(rehearsal, column):
    loaded = rehearsal.load(column, scale=0.1, offset=-40, bits=12)
    assert rehearsal.decrypt(loaded).tolist() == READINGS["t"]


def test_nulls_are_missing(rehearsal):
    for column in arrow()["h"], polars()["h"], pd.Series(READINGS["h"], dtype="int64[pyarrow]"):
        np.testing.assert_array_equal(
            rehearsal.decrypt(rehearsal.load(column, bits=6, optional=True)), [40, np.nan, 39, 1]
        )
        # pandas has None as objects before version 3.
        with pytest.raises((TypeError, ts.RangeError), match="optional"):
            rehearsal.load(column, bits=6)


def test_what_is_refused_says_what_to_do(rehearsal, monkeypatch):
    with pytest.raises(TypeError, match="dtype datetime64.*rows='time'"):
        rehearsal.load(polars(), **ENCODING)
    with pytest.raises(
        ValueError, match="'tim' of labels, which there is not: did you mean 'time'"
    ):
        rehearsal.load(arrow(), rows="tim", **ENCODING)
    with pytest.raises(TypeError, match=r"lazy_frame\.collect\(\)"):
        rehearsal.load(polars().lazy(), **ENCODING)
    with pytest.raises(TypeError, match=r"'x\.csv': .*\.parquet"):
        rehearsal.load("x.csv", bits=4)
    with pytest.raises(ValueError, match="two columns are called 't'"):
        rehearsal.load(pa.Table.from_arrays([[1], [2]], names=["t", "t"]), bits=4)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match="pip install pyarrow"):
        rehearsal.load(Capsule(polars()), rows="time", **ENCODING)
    with pytest.raises(ImportError, match="to='arrow' needs pyarrow"):
        rehearsal.decrypt(rehearsal.load([1], bits=2), to="arrow")
    with pytest.raises(ValueError, match="'numpy', 'pandas', 'polars' or 'arrow'"):
        rehearsal.decrypt(rehearsal.load([1], bits=2), to="excel")


def test_tables_for_arrow_and_polars(keys, server):
    box = ts.Encryptor(keys.device).encrypt(arrow(), rows="time", **ENCODING)
    table = server.load(box)
    for value in table, box:
        found = keys.secret.decrypt(value, to="arrow")
        assert found.column_names == ["time", "t", "h"]
        assert found["time"].to_pandas().tolist() == HOURS.tolist()
        assert found.select(["t", "h"]).to_pydict() == READINGS
        assert found.schema.field("t").metadata == {b"unit": "°C".encode()}
        assert keys.secret.decrypt(value, to="polars").equals(
            polars().with_columns(pl.col("h").cast(float))
        )
    # A column keeps the labels of its rows.
    warm = keys.secret.decrypt(table["t"] > 20, to="arrow")
    assert warm.column_names == ["time", "(t > 20)"]
    assert warm["(t > 20)"].to_pylist() == [True, True, False, True]
    assert keys.secret.decrypt([table["t"].max()], to="polars") == [35.2]
    assert pa.table(keys.secret.decrypt(box, to="polars")).num_rows == 4


def test_answers_for_groups_are_tables(keys, server):
    box = ts.Encryptor(keys.device).encrypt(arrow(), rows="time", **ENCODING)
    result = server.query([box, box], "mean(t)", "argmax(h)", devices=["a", "b"], by="device,hour")
    found = keys.secret.decrypt(result, to="arrow")
    columns = ["device", "time", "mean(t)", "argmax(h)", "row of argmax(h)"]
    assert found.column_names == columns and found.num_rows == 8
    assert found["device"].to_pylist() == ["a"] * 4 + ["b"] * 4
    assert found["argmax(h)"].to_pylist() == READINGS["h"] * 2
    assert found.schema.field("time").type.tz == "UTC"
    polar = keys.secret.decrypt(result, to="polars")
    assert polar.columns == columns and polar["mean(t)"].to_list() == READINGS["t"] * 2
    assert polar["time"].dtype.time_zone == "UTC"
    assert polar["argmax(h)"].null_count() == 2


def test_labels_are_columns(rehearsal):
    def names(rows, name="t"):
        column = rehearsal.load([1, 2], bits=4, rows=rows, name=name)
        found = rehearsal.decrypt(column, to="arrow")
        assert rehearsal.decrypt(column, to="polars").columns == found.column_names
        return found.column_names

    assert names(None) == names(["0", "1"]) == ["t"]
    assert names(["a", "b"]) == names([7, 9]) == ["row", "t"]
    assert names(["a", "b"], "row") == ["row_", "row"]
    zone = rehearsal.load([1, 2], bits=4, rows=HOURS[:2].tz_localize("Europe/Paris"))
    assert rehearsal.decrypt(zone, to="arrow").schema.field("time").type.tz == "UTC"
    assert rehearsal.decrypt(zone, to="polars").schema["time"].time_zone == "UTC"


def test_readings_in_a_parquet_file(rehearsal, tmp_path):
    path = tmp_path / "readings.parquet"
    pq.write_table(arrow(), path)
    fitted = ts.fit_encoding(path, rows="time")
    table = rehearsal.load(str(path), rows="time", columns=fitted)
    pq.write_table(rehearsal.decrypt(table, to="arrow"), tmp_path / "back.parquet")
    assert pq.read_table(tmp_path / "back.parquet").to_pydict() == arrow().to_pydict()
    with pytest.raises(FileNotFoundError):
        rehearsal.load(tmp_path / "nowhere.parquet", bits=4)


def test_uploads_live_beside_clear_columns(keys, server, tmp_path):
    import tfhe_sbc.arrow

    encryptor = ts.Encryptor(keys.device)
    boxes = [encryptor.encrypt([place, place + 1], bits=4, name="t") for place in range(3)]
    (tmp_path / "box.tsbc").write_bytes(boxes[2])
    column = tfhe_sbc.arrow.uploads([boxes[0], boxes[1], tmp_path / "box.tsbc", None])
    table = pa.table({"device": ["hill", "lake", "hill", "none"], "box": column})
    pq.write_table(table, tmp_path / "uploads.parquet")
    read = pq.read_table(tmp_path / "uploads.parquet")
    assert read.schema.field("box").type == tfhe_sbc.arrow.UploadType()
    assert read["box"].null_count == 1 and read["box"][0].as_py() == boxes[0]
    hill = read.filter(pa.compute.equal(read["device"], "hill"))
    assert keys.secret.decrypt(server.load(hill["box"])).tolist() == [0, 1, 2, 3]
    assert keys.secret.decrypt(server.query(hill["box"], "sum(t)")) == 6
    assert keys.secret.decrypt(read["box"][1]).tolist() == [1, 2]
    with pytest.raises(TypeError, match="NoneType is no upload"):
        server.load(read["box"])
    with pytest.raises(ts.FormatError, match="value number 2 is no upload"):
        tfhe_sbc.arrow.uploads([boxes[0], server.load(boxes[0]).sum().to_bytes()])
    # Whoever has not this module has the bytes.
    stored = pq.read_table(tmp_path / "uploads.parquet")["box"].cast(pa.large_binary())
    assert stored[0].as_py() == boxes[0]
