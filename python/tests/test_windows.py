"""Functions of rows in their order, against pandas on the clear readings."""

import numpy as np
import pandas as pd
import pytest

import tfhe_sbc as ts

RANDOM = np.random.default_rng(7)


def readings(rows, bits, gaps=False):
    series = pd.Series(RANDOM.integers(0, 1 << bits, rows) * 0.5 - 10)
    if gaps:
        series[RANDOM.random(rows) < 0.25] = np.nan
    return series


def close(found, expected, name=""):
    np.testing.assert_allclose(found, np.asarray(expected, dtype=float), atol=1e-9, err_msg=name)


FUNCTIONS = {
    "cumsum": lambda x: x.cumsum(),
    "cummin": lambda x: x.cummin(),
    "cummax": lambda x: x.cummax(),
    "shift": lambda x: x.shift(),
    "shift(2)": lambda x: x.shift(2),
    "shift(-3)": lambda x: x.shift(-3),
    "shift(0)": lambda x: x.shift(0),
    "shift(99)": lambda x: x.shift(99),
    "diff": lambda x: x.diff(),
    "diff(-1)": lambda x: x.diff(-1),
    "diff(4)": lambda x: x.diff(4),
    "diff(-99)": lambda x: x.diff(-99),
    "rolling(1)": lambda x: x.rolling(1).mean(),
    "rolling(4).sum": lambda x: x.rolling(4).sum(),
    "rolling(4).mean": lambda x: x.rolling(4).mean(),
    "rolling(5).min": lambda x: x.rolling(5).min(),
    "rolling(5).max": lambda x: x.rolling(5).max(),
    "rolling(5, 2).sum": lambda x: x.rolling(5, min_periods=2).sum(),
    "rolling(5, 2).min": lambda x: x.rolling(5, min_periods=2).min(),
    "rolling(3, 1).max": lambda x: x.rolling(3, min_periods=1).max(),
    "rolling(40).mean": lambda x: x.rolling(40).mean(),
    "rolling(40, 3).sum": lambda x: x.rolling(40, min_periods=3).sum(),
    "rolling(4).count": lambda x: x.rolling(4).count(),
    "rolling(4, 1).count": lambda x: x.rolling(4, min_periods=1).count(),
    "rolling(4, 3).count": lambda x: x.rolling(4, min_periods=3).count(),
}


@pytest.mark.parametrize("use", ["means", "radix"])
@pytest.mark.parametrize("bits", [1, 7, 10])
def test_functions_are_those_of_pandas(rehearsal, use, bits):
    series = readings(17, bits)
    column = rehearsal.load(series, scale=0.5, offset=-10, bits=bits, use=use)
    for name, function in FUNCTIONS.items():
        found = rehearsal.decrypt(function(column))
        close(found, function(series), name)


@pytest.mark.parametrize("optional", [True, "clear"])
def test_gaps_are_left_out_as_pandas_does(rehearsal, optional):
    series = readings(17, 6, gaps=True)
    column = ts.Column("x", 0.5, offset=-10, bits=6, unit="m", optional=optional)
    encrypted = rehearsal.load(series, columns=[column])
    for name, function in FUNCTIONS.items():
        found = function(encrypted)
        assert found.unit == ("" if "count" in name else "m"), name
        close(rehearsal.decrypt(found), function(series), name)


def test_sums_of_windows_take_no_bootstrap(rehearsal):
    column = rehearsal.load(readings(100, 10), scale=0.5, offset=-10, bits=10, name="x", unit="m")
    rolling = column.rolling(24)
    for free in [rolling.mean(), rolling.sum(), column.cumsum(), column.shift(), column.diff(-2)]:
        assert ts.cost(free).bootstraps == 0, free.name
        assert free.unit == "m" and len(free) == 100
    assert ts.cost(rolling.max()).bootstraps > 0
    assert rolling.mean().name == "rolling_mean(x, 24)"
    assert column.diff().name == "diff(x)" and column.shift(3).name == "shift(x, 3)"
    assert repr(column.rolling(24, 2)) == "<EncryptedRolling 'x', 24 rows, min_periods=2>"


def test_numpys_functions(rehearsal):
    series = readings(9, 6)
    column = rehearsal.load(series, scale=0.5, offset=-10, bits=6)
    close(rehearsal.decrypt(np.cumsum(column)), np.cumsum(series))
    for n in range(4):
        close(rehearsal.decrypt(np.diff(column, n)), np.diff(series, n))
    counts = rehearsal.decrypt(np.cumsum(column.histogram([-10, 0, 5, 22])))
    assert counts.dtype == np.int64
    assert counts.tolist() == np.histogram(series, [-10, 0, 5, 22])[0].cumsum().tolist()
    with pytest.raises(ValueError, match="leave none"):
        np.diff(column, 9)


def test_what_is_missing_is_no_operand_by_accident(rehearsal):
    series = readings(9, 6)
    column = rehearsal.load(series, scale=0.5, offset=-10, bits=6)
    change = column.diff()
    clear = series.diff()
    assert rehearsal.decrypt((change > 0).sum()) == (clear > 0).sum()
    assert rehearsal.decrypt(change.mean()) == pytest.approx(clear.mean())
    assert rehearsal.decrypt(change.count()) == 8
    close(rehearsal.decrypt(change.fillna(0)), clear.fillna(0))
    close(rehearsal.decrypt(change.rolling(3).max()), clear.rolling(3).max())
    close(rehearsal.decrypt(column - column.rolling(3).mean()), series - series.rolling(3).mean())


def test_windows_that_there_are_not(rehearsal):
    column = rehearsal.load([1, 2, 3], bits=4)
    for wrong, error, match in [
        (lambda: column.rolling("24h"), TypeError, "number of rows, such as 24"),
        (lambda: column.rolling(pd.Timedelta("1D")), TypeError, "number of rows, such as 24"),
        (lambda: column.rolling(2.5), TypeError, "whole number"),
        (lambda: column.rolling(True), TypeError, "whole number"),
        (lambda: column.rolling(0), ValueError, "1 row or more"),
        (lambda: column.rolling(2, min_periods=3), ValueError, "from 1 to the window's 2"),
        (lambda: column.rolling(2, 0), ValueError, "from 1 to the window's 2"),
        (lambda: column.diff(0), ValueError, "needs no encryption"),
        (lambda: column.shift(0.5), TypeError, "whole number"),
        (lambda: column.rolling(2, min_periods=1).mean(), ts.TfheSbcError, "no common step"),
    ]:
        with pytest.raises(error, match=match):
            wrong()


def test_ciphertexts(keys, server):
    series = readings(6, 5)
    upload = ts.Encryptor(keys.device).encrypt(series, name="x", scale=0.5, offset=-10, bits=5)
    column = server.load(upload)
    parts = [column.rolling(3).mean(), column.cumsum(), column.diff(), column.shift(-2)]
    parts.append(column.rolling(3, min_periods=1).max())
    expected = [series.rolling(3).mean(), series.cumsum(), series.diff(), series.shift(-2)]
    expected.append(series.rolling(3, min_periods=1).max())
    for found, clear in zip(keys.secret.decrypt(parts), expected):
        close(found, clear)
    # The same as bytes, and as questions.
    smooth = keys.secret.decrypt(parts[0].to_bytes())
    close(smooth, expected[0])
    asked = ["rolling_mean(x, 3)", "cumsum(x)", "diff(x)", "shift(x, -2)", "rolling_max(x, 3, 1)"]
    answers = keys.secret.decrypt(server.query(upload, *asked))
    for question, clear in zip(asked, expected):
        close(answers[question], clear)
