"""Several reductions at once, those of tables, and those of what a condition selects, beside pandas."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tfhe_sbc as ts

REHEARSAL = ts.Rehearsal()
SCALE, OFFSET = 0.25, -20


def frame(seed: int, count: int, gaps: bool = False) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    codes = random.integers(0, 1 << 9, (count, 2))
    data = pd.DataFrame(codes * SCALE + OFFSET, columns=["t", "h"])
    return data.mask(random.random((count, 2)) < 0.3) if gaps else data


def load(data: Any, **given: Any) -> Any:
    return REHEARSAL.load(data, scale=SCALE, offset=OFFSET, bits=9, **given)


def check(mine: Any, wanted: Any) -> None:
    read = REHEARSAL.decrypt(mine, to="pandas")
    assert read.index.tolist() == wanted.index.tolist()
    if isinstance(wanted, pd.DataFrame):
        assert read.columns.tolist() == wanted.columns.tolist()
    assert np.allclose(read.to_numpy(dtype=float), wanted.to_numpy(dtype=float), equal_nan=True)


OPTIONAL: list[Any] = [False, True, "clear"]


@pytest.mark.parametrize("optional", OPTIONAL)
@pytest.mark.parametrize("count", [1, 2, 11, 16])
def test_descriptions_are_those_of_pandas(count: int, optional: Any) -> None:
    data = frame(count, count, bool(optional))
    table = load(data, optional=optional)
    check(table["t"].describe(), data["t"].describe())
    check(table.describe(), data.describe())
    check(table[["h"]].describe(), data[["h"]].describe())


def test_what_is_all_missing_is_described() -> None:
    nothing = pd.Series([np.nan, np.nan])
    check(load(nothing, optional=True).describe(), nothing.describe())


@pytest.mark.parametrize("optional", OPTIONAL)
def test_reductions_of_tables(optional: Any) -> None:
    data = frame(20, 13, bool(optional))
    table = load(data, optional=optional)
    for function in ["sum", "mean", "min", "max", "count", "median", "std", "var"]:
        check(getattr(table, function)(), getattr(data, function)())
    check(table.std(ddof=0), data.std(ddof=0))
    check(table.quantile(0.3), data.quantile(0.3))
    assert REHEARSAL.decrypt(table.mean()["h"]) == pytest.approx(data["h"].mean())


@pytest.mark.parametrize("optional", OPTIONAL)
def test_aggregations(optional: Any) -> None:
    data = frame(21, 9, bool(optional))
    table = load(data, optional=optional)
    for spec in [
        "mean",
        ["mean", "max"],
        {"t": "mean"},
        {"t": "std", "h": "var"},
        {"t": ["min", "count"], "h": ["median", "min"]},
    ]:
        check(table.agg(spec), data.agg(spec))
    check(table["t"].agg(["mean", "std", "count"]), data["t"].agg(["mean", "std", "count"]))
    one = REHEARSAL.decrypt(table["t"].agg("mean"))
    assert one == pytest.approx(data["t"].mean())
    assert np.isnan(REHEARSAL.decrypt(table["t"][:1].agg("std")))
    # Functions, and those of Python, which would loop over rows.
    check(table.agg([max, min]), data.agg(["max", "min"]))
    assert REHEARSAL.decrypt(table["t"].agg(lambda t: t.max())) == data["t"].max()
    assert REHEARSAL.decrypt(table["t"].agg(np.max)) == data["t"].max()


def test_aggregations_that_there_are_not() -> None:
    table = load(frame(22, 5))
    for work, error, words in [
        (lambda: table.agg("maen"), ValueError, "did you mean 'mean'"),
        (lambda: table.agg("kurtosis"), ValueError, "there are count, first"),
        (lambda: table.agg({"x": "mean"}), KeyError, "no column 'x'"),
        (lambda: table.agg([]), ValueError, "nothing to aggregate"),
        (lambda: table.agg({}), ValueError, "nothing to aggregate"),
        (lambda: table["t"].agg([]), ValueError, "nothing to aggregate"),
        (lambda: table["t"].agg(lambda t: 3), TypeError, "gives a int"),
        (lambda: table.mean() + 1, TypeError, "no operand"),
        (lambda: table.mean()["x"], KeyError, "there are t, h"),
    ]:
        with pytest.raises(error, match=words):
            work()


@pytest.mark.parametrize("seed", range(8))
def test_selections_are_those_of_pandas(seed: int) -> None:
    optional = OPTIONAL[seed % 3]
    data = frame(seed, int(np.random.default_rng(seed).integers(2, 25)), bool(optional))
    table = load(data, optional=optional)
    limit = float(data["h"].median()) if seed % 4 else 1e6
    mask, truths = table["h"] > limit, data["h"] > limit
    selection, chosen = table["t"][mask], data["t"][truths]
    for function in ["sum", "count", "mean", "min", "max", "median", "std", "var"]:
        found = REHEARSAL.decrypt(getattr(selection, function)())
        ddof = {"ddof": 0} if function in ("std", "var") else {}
        np.testing.assert_allclose(found, getattr(chosen, function)(**ddof), atol=1e-9)
    for q in [0, 0.1, 0.25, 0.5, 0.77, 1]:
        for method in ["linear", "lower", "higher"]:
            found = REHEARSAL.decrypt(selection.quantile(q, method))
            np.testing.assert_allclose(found, chosen.quantile(q, method), atol=1e-9)
    if len(chosen.dropna()):
        found = REHEARSAL.decrypt(selection.percentile(40, "inverted_cdf"))
        assert found == np.percentile(chosen.dropna(), 40, method="inverted_cdf")
        place = chosen.idxmax()
        assert REHEARSAL.decrypt(selection.idxmax()) == (str(place), chosen[place])
        assert REHEARSAL.decrypt(selection.ptp()) == chosen.max() - chosen.min()
    check(selection.describe(), chosen.describe())
    check(selection.agg(["mean", "std"]), chosen.agg(["mean", "std"]))
    check(table[mask].agg(["mean", "count"]), data[truths].agg(["mean", "count"]))
    check(table[mask].median(), data[truths].median())
    check(table[mask].describe(), data[truths].describe())
    check(table[mask][["h"]].std(), data[truths][["h"]].std())


def test_selections_say_what_they_have_not() -> None:
    data = frame(23, 6)
    table = load(data)
    mask = table["h"] > 3
    selected = table[mask]
    assert selected.columns == ["t", "h"] and "t, h" in repr(selected)
    assert isinstance(selected["t"], ts.EncryptedSelection)
    for work, error, words in [
        (lambda: selected["x"], KeyError, "no column 'x'"),
        (lambda: len(selected["t"]), TypeError, "count"),
        (lambda: selected["t"][0], TypeError, "nobody knows"),
        (lambda: selected["t"] * 2, TypeError, "no operand"),
        (lambda: REHEARSAL.decrypt(selected), TypeError, "nobody knows"),
        (lambda: table[load([1, 2, 3]) > 2], ValueError, "3 rows selects none of 6"),
    ]:
        with pytest.raises(error, match=words):
            work()


def test_selections_as_ciphertexts(keys: ts.Keys, server: ts.Server) -> None:
    data = frame(24, 6)
    box = ts.Encryptor(keys.device).encrypt(data, scale=SCALE, offset=OFFSET, bits=9)
    table = server.load_table(box)
    limit = float(data["h"].median())
    selection, chosen = table["t"][table["h"] > limit], data["t"][data["h"] > limit]
    parts = [selection.mean(), selection.std(ddof=1), selection.max(), selection.median()]
    found = keys.secret.decrypt(parts)
    assert found == pytest.approx([chosen.mean(), chosen.std(), chosen.max(), chosen.median()])
    # The first three have a form as bytes, too.
    sealed = keys.secret.decrypt(ts.to_bytes(*parts[:3], names=["mean", "std", "max"]))
    assert list(sealed.values()) == pytest.approx(found[:3])
    with pytest.raises(TypeError, match="no form as bytes.*Server.query"):
        parts[3].to_bytes()


def test_values_are_counted_in_bins() -> None:
    data = frame(25, 40, gaps=True)["t"]
    edges = [OFFSET, -3, 10, 33.3, 60]
    wanted = data.value_counts(bins=edges, sort=False)
    declared = dict(scale=SCALE, offset=OFFSET, bits=9, above=edges[1:])
    for optional in (True, "clear"):
        column = REHEARSAL.load(data, columns=[ts.Column("t", optional=optional, **declared)])
        counts = column.value_counts(edges)
        read = REHEARSAL.decrypt(counts, to="pandas")
        assert read.index.tolist() == [str(one) for one in wanted.index]
        assert read.tolist() == wanted.tolist() and read.dtype == np.int64
        # Rows that are known to be missing are taken out, which leaves some for all rows together.
        most = 80 if optional == "clear" else 0
        assert ts.cost(column.value_counts(edges)).bootstraps <= most
    whole = data.fillna(0)
    column = REHEARSAL.load(whole, columns=[ts.Column("t", **declared)])
    assert ts.cost(column.value_counts(edges)).bootstraps == 0
    assert (
        REHEARSAL.decrypt(column.value_counts(edges)).tolist()
        == whole.value_counts(bins=edges, sort=False).tolist()
    )
    mask = column > 10
    chosen = whole[whole > 10].value_counts(bins=edges, sort=False)
    assert REHEARSAL.decrypt(column[mask].value_counts(edges)).tolist() == chosen.tolist()
    with pytest.raises(ValueError, match="sort_values"):
        column.value_counts(edges, sort=True)
    for bins in (None, 4):
        with pytest.raises(TypeError, match=r"in bins that you know: give edges.*-20"):
            column.value_counts(bins)


def test_tables_get_columns() -> None:
    data = frame(26, 6)
    table = load(data)
    wider = table.assign(
        d=table["t"] - table["h"], hot=table["t"] > 20, twice=lambda of: of["d"] * 2
    )
    wanted = data.assign(d=data["t"] - data["h"], hot=data["t"] > 20, twice=lambda of: of["d"] * 2)
    check(wider, wanted)
    assert table.columns == ["t", "h"]
    table["d"] = table["t"].diff()
    data["d"] = data["t"].diff()
    check(table, data)
    check(table.max(), data.max())
    check(table[[True, False] * 3], data[[True, False] * 3])
    for work, error, words in [
        (lambda: table.assign(x=[1] * 6), TypeError, "a list is no encrypted column"),
        (lambda: table.assign(x=table["t"].max()), TypeError, "EncryptedScalar is no encrypted"),
        (lambda: table.assign(x=table["t"][:3]), ValueError, "3 rows does not fit a table of 6"),
        (lambda: table.__setitem__(3, table["t"]), TypeError, "a text, not 3"),
        (lambda: table[5], KeyError, "a list of names, a slice"),
        (lambda: table[[]], ValueError, "at least one column"),
    ]:
        with pytest.raises(error, match=words):
            work()
    labelled = [REHEARSAL.load([1, 2], bits=2, rows=rows) for rows in (["a", "b"], ["b", "a"])]
    with pytest.raises(ValueError, match="row 0 is 'a' in the table and 'b' in the column"):
        ts.EncryptedTable({"x": labelled[0]}, labelled[0].rows).assign(y=labelled[1])


def test_tables_are_computed_together() -> None:
    table = load(frame(27, 8))
    highest = table.describe()
    alone = sum(ts.cost(one).bootstraps for _, one in highest.items())
    assert 0 < highest.cost().bootstraps == ts.cost(highest).bootstraps <= alone
    assert highest.compute().cost().bootstraps == 0
    assert ts.cost(table.max(), table["t"].max()) == ts.cost(table.max())


@pytest.mark.parametrize(
    "name, words",
    [
        ("iloc", r"\[2:5\]"),
        ("apply", "whole columns"),
        ("nunique", "value_counts"),
        ("plot", "decrypt"),
        ("ffill", "fillna"),
        ("nonsense", "no attribute 'nonsense'$"),
    ],
)
def test_what_pandas_has_says_what_to_do(name: str, words: str) -> None:
    table = load(frame(28, 4))
    for of in (table, table["t"], table["t"].shift(), table["t"][table["h"] > 3]):
        with pytest.raises(AttributeError, match=words):
            getattr(of, name)
    with pytest.raises(AttributeError, match=r"use table\['name'\]"):
        table.t


def test_a_year_is_described_in_seconds() -> None:
    data = frame(29, 8760)
    began = time.perf_counter()
    table = load(data)
    cost = ts.cost(table.describe(), table.agg(["mean", "std"]))
    assert cost.bootstraps > 0
    assert time.perf_counter() - began < 60
