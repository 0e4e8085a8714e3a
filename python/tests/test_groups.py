"""Groups of rows, beside pandas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tfhe_sbc as ts

REHEARSAL = ts.Rehearsal()


def hours(count: int) -> pd.DatetimeIndex:
    return pd.date_range("2026-11-01", periods=count, freq="h")


def frame(seed: int, count: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    whole = random.integers(-40, 80, (count, 2))
    return pd.DataFrame(whole / 2.0, index=hours(count), columns=["t", "h"])


def load(data: Any, **given: Any) -> Any:
    return REHEARSAL.load(data, scale=0.5, offset=-40, bits=8, **given)


def check(mine: Any, wanted: Any) -> None:
    read = REHEARSAL.decrypt(mine, to="pandas")
    assert read.index.tolist() == wanted.index.tolist()
    assert np.allclose(read.to_numpy(dtype=float), wanted.to_numpy(dtype=float), equal_nan=True)


FUNCTIONS = ["sum", "mean", "min", "max", "count", "std", "var", "median", "first", "last"]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_groups_are_those_of_pandas(function: str) -> None:
    data = frame(1, 31)
    column = load(data)["t"]
    keys = np.random.default_rng(2).choice(["a", "b", "c", "d"], 31)
    check(getattr(column.groupby(keys), function)(), getattr(data["t"].groupby(keys), function)())
    by_hour = data["t"].groupby(data.index.hour)
    check(getattr(column.groupby("hour"), function)(), getattr(by_hour, function)())


def test_means_of_groups_take_no_bootstrap() -> None:
    column = load(frame(3, 30))["t"]
    assert ts.cost(column.groupby("hour").mean()).bootstraps == 0


@pytest.mark.parametrize("function", ["sum", "mean", "count", "max"])
def test_periods_without_rows_are_there(function: str) -> None:
    data = frame(4, 20)
    data = data.iloc[[*range(3), *range(11, 20)]]
    column = load(data)["t"]
    check(getattr(column.resample("4h"), function)(), getattr(data["t"].resample("4h"), function)())


ALL = ["sum", "mean", "min", "max", "count", "std", "var", "median"]


@pytest.mark.parametrize("seed", range(12))
def test_random_columns_in_random_groups(seed: int) -> None:
    random = np.random.default_rng(seed)
    rows, bits = int(random.integers(1, 40)), int(random.integers(1, 13))
    scale, offset = [(1, 0), (0.5, -40), (0.1, 3), (0.25, -1000)][seed % 4]
    codes = random.integers(0, 1 << bits, rows)
    series = pd.Series(codes * scale + offset, hours(rows))
    given = dict(scale=scale, offset=offset, bits=bits)
    optional: Any = [False, True, "clear"][seed % 3]
    if optional:
        series[random.random(rows) < 0.4] = np.nan
        given["optional"] = optional
    else:
        given["use"] = str(random.choice(["means", "radix"]))
    column = REHEARSAL.load(series, **given)
    keys = random.integers(-3, 3, rows)
    for mine, wanted in [
        (column.groupby(keys), series.groupby(keys)),
        (column.groupby("weekday"), series.groupby(series.index.day_of_week)),
        (column.groupby("date"), series.groupby(series.index.date)),
        (column.groupby(lambda row: row[-5:-3]), series.groupby(lambda row: f"{row:%M}")),
        (column.resample("5h"), series.resample("5h")),
    ]:
        for function in ALL:
            check(getattr(mine, function)(), getattr(wanted, function)())
        names = list(random.choice(ALL, 3, replace=False))
        check(mine.agg(names), wanted.agg(names))
    check(column.groupby(keys).quantile(0.3, "lower"), series.groupby(keys).quantile(0.3, "lower"))


def test_keys_keep_their_types() -> None:
    data = frame(12, 12)["t"]
    column = load(data)
    for keys in [
        np.arange(12) % 3,
        np.arange(12) % 2 == 0,
        np.arange(12) % 3 / 2,
        pd.Series(["b", None, "a"] * 4, data.index, name="place"),
        pd.Series(["b", "a", "c"] * 4, data.index[::-1]),
        data.index.floor("5h"),
        data.index.tz_localize("Europe/Berlin").floor("D"),
        data.index.date,
        [1.5, np.nan, 2.5] * 4,
        pd.Categorical(["x", "y", "z"] * 4),
    ]:
        wanted = data.groupby(keys, observed=True).sum()
        found = REHEARSAL.decrypt(column.groupby(keys).sum(), to="pandas")
        assert found.index.tolist() == wanted.index.tolist(), keys
        assert found.index.name == wanted.index.name
        assert found.tolist() == wanted.tolist()
        if not isinstance(keys, pd.Categorical):
            assert found.index.dtype.kind == wanted.index.dtype.kind, keys


def test_several_keys() -> None:
    data = frame(13, 30)
    table = load(data)
    places = np.random.default_rng(3).choice(["hill", "lake"], 30)
    mine = table.groupby(["hour", places, "weekday"])
    wanted = data.groupby([data.index.hour, places, data.index.day_of_week])
    for function in ("mean", "max", "count"):
        check(getattr(mine, function)(), getattr(wanted, function)())
    read = REHEARSAL.decrypt(mine["t"].sum(), to="pandas")
    assert read.index.names == ["hour", None, "weekday"]
    assert read.loc[(0, places[0], 6)] == wanted["t"].sum().loc[(0, places[0], 6)]
    assert len(mine) == len(wanted) and mine.size() == wanted.size().to_dict()
    with pytest.raises(ValueError, match="2 keys for 30 rows"):
        table.groupby(["hour", [1, 2]])


def test_groups_of_several_boards_and_uploads(keys: ts.Keys, tmp_path: Path) -> None:
    data = {name: frame(seed, 7)["t"] for seed, name in enumerate(["hill", "lake"], 14)}
    boxes = []
    for name, series in data.items():
        device, switch = keys.secret.issue_device_key(name)
        (tmp_path / f"{name}.tsbc").write_bytes(switch)
        encryptor = ts.Encryptor(device)
        for part in (series[:4], series[4:]):
            boxes.append(encryptor.encrypt(part, scale=0.5, offset=-40, bits=8))
    server = ts.Server(keys.server, devices=tmp_path)
    column = server.load_column(boxes)
    joined = pd.concat(data, names=["device", "time"])
    found = keys.secret.decrypt(column.groupby("device").agg(["mean", "sum"]), to="pandas")
    wanted = joined.groupby("device").agg(["mean", "sum"])
    pd.testing.assert_frame_equal(found, wanted)
    by_hour = [joined.index.get_level_values("time").hour.rename("hour"), "device"]
    found = keys.secret.decrypt(column.groupby(["hour", "device"]).sum(), to="pandas")
    wanted_sums = joined.groupby(by_hour).sum()
    pd.testing.assert_series_equal(found, wanted_sums, check_names=False, check_index_type=False)
    assert found.index.names == ["hour", "device"]
    # All of one board, whose name is given.
    own = server.load(boxes[:2], devices=["north", "north"])
    assert keys.secret.decrypt(own.groupby("device").count(), to="pandas").to_dict() == {"north": 7}
    assert server.load(boxes[:2]).rows[0] == "2026-11-01 00:00:00"
    with pytest.raises(ValueError, match="give 2 names"):
        server.load(boxes[:2], devices=["north"])
    as_bytes = keys.secret.decrypt(column.groupby("device").sum().to_bytes())
    assert as_bytes == {f"sum(t) [{name}]": series.sum() for name, series in data.items()}


def test_single_groups_are_operands() -> None:
    data = frame(15, 12)["t"]
    grouped = load(data).groupby([name for name in "abc" for _ in range(4)])
    sums = grouped.sum()
    assert list(sums) == ["a", "b", "c"]
    assert REHEARSAL.decrypt(sums["c"] - sums["a"]) == data[8:].sum() - data[:4].sum()
    with pytest.raises(TypeError, match=r"take one of them, as in summary\['a'\]"):
        sums * 2
    with pytest.raises(KeyError, match="there are a, b, c"):
        sums["d"]
    assert REHEARSAL.decrypt(grouped.get_group("b")).tolist() == data[4:8].tolist()
    with pytest.raises(KeyError, match="no group 'z'"):
        grouped.get_group("z")
    assert {key: len(rows) for key, rows in grouped} == {"a": 4, "b": 4, "c": 4}
    by_number = load(data).groupby([1, 2] * 6).sum()
    assert REHEARSAL.decrypt(by_number[2]) == data[1::2].sum()


@pytest.mark.parametrize("to", ["polars", "arrow"])
def test_groups_as_tables_of_other_libraries(to: Any) -> None:
    data = frame(16, 6)
    grouped = load(data).groupby(["hour", list("ababab")]).agg({"t": ["sum", "max"], "h": "mean"})
    read = REHEARSAL.decrypt(grouped, to=to)
    names = read.columns if to == "polars" else read.column_names
    assert names == ["hour", "key", "t_sum", "t_max", "h_mean"]
    assert read["t_sum"].to_pylist() if to == "arrow" else read["t_sum"].to_list()
    both = REHEARSAL.decrypt(grouped, to="numpy")
    assert both["t", "sum"].tolist() == data["t"].tolist()


def test_reductions_of_grouped_tables() -> None:
    data = frame(17, 20)
    keys = np.arange(20) % 3
    mine, wanted = load(data).groupby(keys), data.groupby(keys)
    for function in FUNCTIONS:
        check(getattr(mine, function)(), getattr(wanted, function)())
    check(mine.quantile(0.25), wanted.quantile(0.25))
    for agg in ["mean", ["mean", "std"], {"t": "min"}, {"t": ["min", "max"], "h": "sum"}]:
        check(
            mine.agg(agg),
            wanted.agg(
                agg
                if agg != {"t": ["min", "max"], "h": "sum"}
                else {"t": ["min", "max"], "h": ["sum"]}
            ),
        )
    named = dict(low=("t", "min"), wet=("h", "mean"))
    check(mine.agg(**named), wanted.agg(**named))
    columns = REHEARSAL.decrypt(mine.agg(["mean", "std"]), to="pandas").columns
    assert columns.tolist() == wanted.agg(["mean", "std"]).columns.tolist()
    check(mine["t"].describe(), wanted["t"].describe())
    check(mine[["h"]].max(), wanted[["h"]].max())
    check(mine["t"].agg(low="min", high="max"), wanted["t"].agg(low="min", high="max"))
    assert [key for key, _ in mine] == [0, 1, 2]


def test_conditions_are_counted_in_groups() -> None:
    data = frame(18, 26)["t"]
    mask, truths = load(data) > 5, data > 5
    check(mask.groupby("hour").sum(), truths.groupby(data.index.hour).sum())
    check(mask.resample("6h").mean(), truths.resample("6h").mean())
    check(mask.rolling(5).sum() >= 3, truths.rolling(5).sum() >= 3)


def test_wrong_keys_are_refused() -> None:
    column = load(frame(6, 5))["t"]
    with pytest.raises(ValueError, match="3 keys for 5 rows"):
        column.groupby([1, 2, 3])
    with pytest.raises(ValueError, match="groups are by device, hour"):
        column.groupby("minute")
    with pytest.raises(ValueError, match="no device"):
        column.groupby("device")
    with pytest.raises(TypeError, match="this is encrypted"):
        column.groupby(column)
    with pytest.raises(TypeError, match="this is encrypted"):
        column.groupby(["hour", column > 3])
    with pytest.raises(TypeError, match="resample"):
        column.groupby(pd.Grouper(freq="D"))
    with pytest.raises(TypeError, match="not a int"):
        column.groupby(5)
    with pytest.raises(TypeError, match="a function of a label.*not a dict"):
        column.groupby({"a": 1})
    with pytest.raises(ValueError, match="2 keys for 5 rows.*several of device, hour"):
        column.groupby(["hour", "minute"])
    with pytest.raises(AttributeError, match=r"agg\(function\) reduces each group"):
        column.groupby("hour").apply(len)
    with pytest.raises(AttributeError, match="for key, rows in grouped"):
        column.groupby("hour").rolling(3)
    with pytest.raises(AttributeError, match="decrypt it with to='pandas'"):
        column.groupby("hour").mean().max()
    nothing = column.groupby([None] * 5)
    assert len(nothing) == 0 and REHEARSAL.decrypt(nothing.sum()).tolist() == []
    with pytest.raises(ValueError, match="groups without rows"):
        nothing.describe()
    assert repr(column.groupby("hour")) == "<GroupedColumn of 't', 5 groups>"
    assert repr(load(frame(6, 5)).groupby("hour")) == "<GroupedTable of t, h, 5 groups>"
    with pytest.raises(ValueError, match="no keys"):
        column.groupby([])
    with pytest.raises(ValueError, match="are no times"):
        load([1, 2]).resample("1h")
    with pytest.raises(ValueError, match="no reduction 'meen' here: did you mean 'mean'"):
        column.groupby("hour").agg("meen")
    with pytest.raises(TypeError, match="gives a int of encrypted numbers"):
        column.groupby("hour").agg(len)
    with pytest.raises(ValueError, match="nothing to aggregate"):
        column.groupby("hour").agg([])


def test_a_mask_times_a_column_is_0_where_it_does_not_hold() -> None:
    data = frame(7, 12)
    column = load(data)["t"]
    wanted = (data["t"] > 5) * data["t"]
    check((column > 5) * column, wanted)
    check(column * (column > 5), wanted)


def test_heads_and_tails_of_tables() -> None:
    data = frame(8, 9)
    table = load(data)
    assert table.shape == data.shape
    for count in (3, -4):
        check(table.head(count), data.head(count))
        check(table.tail(count), data.tail(count))


def test_tables_in_groups_are_tables() -> None:
    data = frame(9, 26)
    grouped = load(data).groupby("hour").mean()
    wanted = data.groupby(data.index.hour).mean()
    check(grouped, wanted)
    assert REHEARSAL.decrypt(grouped, to="pandas").columns.tolist() == ["t", "h"]


@pytest.mark.parametrize("count", [1, 2, 11, 16])
def test_descriptions_are_those_of_pandas(count: int) -> None:
    data = frame(10, count)
    check(load(data)["t"].describe(), data["t"].describe())


def test_tables_have_slices_and_lists_of_columns() -> None:
    data = frame(11, 9)
    table = load(data)
    check(table[2:7:2], data[2:7:2])
    check(table[["h"]], data[["h"]])
    with pytest.raises(KeyError, match="no column 'x'"):
        table[["x"]]
