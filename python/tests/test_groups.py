"""Groups of rows, beside pandas."""

from __future__ import annotations

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


@pytest.mark.parametrize("function", ["sum", "mean", "count", "min", "std"])
def test_groups_leave_out_what_is_missing(function: str) -> None:
    data = frame(5, 24)
    data.loc[data.index[:9:2], "t"] = np.nan
    data.loc[data.index[:8], "t"] = np.nan
    keys = np.arange(24) // 4
    column = load(data, optional=True)["t"]
    check(getattr(column.groupby(keys), function)(), getattr(data["t"].groupby(keys), function)())


def test_wrong_keys_are_refused() -> None:
    column = load(frame(6, 5))["t"]
    with pytest.raises(ValueError, match="3 keys for 5 rows"):
        column.groupby([1, 2, 3])
    with pytest.raises(ValueError, match="groups are by device"):
        column.groupby("minute")
    with pytest.raises(ValueError, match="no device"):
        column.groupby("device")


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
