"""Scalar products, covariances and correlations of two columns, against pandas on the clear readings."""

import numpy as np
import pandas as pd
import pytest

import tfhe_sbc as ts

RANDOM = np.random.default_rng(11)


def readings(rows, gaps=False):
    frame = pd.DataFrame(
        {"a": RANDOM.integers(0, 64, rows) * 0.5 - 10, "b": RANDOM.integers(0, 128, rows) * 0.25}
    )
    if gaps:
        frame = frame.mask(RANDOM.random(frame.shape) < 0.25)
    return frame


def loaded(rehearsal, frame, optional=False, use="means"):
    columns = [
        ts.Column("a", 0.5, offset=-10, bits=6, unit="m", optional=optional, use=use),
        ts.Column("b", 0.25, bits=7, unit="s", optional=optional, use=use),
    ]
    return rehearsal.load(frame, columns=columns)


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("use", ["means", "radix"])
def test_functions_of_two_columns_are_those_of_pandas(rehearsal, use):
    frame = readings(40)
    a, b = frame["a"], frame["b"]
    table = loaded(rehearsal, frame, use=use)
    for x, y, clear_x, clear_y in [
        (table["a"], table["b"], a, b),
        (table["a"], table["a"], a, a),
        (table["a"], b, a, b),
        (table["b"], a.to_numpy(), b, a),
        (table["a"] - table["b"], table["b"], a - b, b),
    ]:
        close(rehearsal.decrypt(x.cov(y)), clear_x.cov(clear_y))
        close(rehearsal.decrypt(x.cov(y, ddof=0)), clear_x.cov(clear_y, ddof=0))
        close(rehearsal.decrypt(x.corr(y)), clear_x.corr(clear_y))
        close(rehearsal.decrypt(x.dot(y)), clear_x.dot(clear_y))
        close(rehearsal.decrypt(x @ y), clear_x @ clear_y)
    close(rehearsal.decrypt(b.to_numpy() @ table["a"]), a @ b)
    close(rehearsal.decrypt(np.dot(table["a"], table["b"])), a @ b)
    assert (table["a"] @ table["b"] * 2 + 1).unit == "(m)·(s)"
    assert table["a"].cov(table["a"]).unit == "(m)²"
    assert table["a"].corr(table["b"]).unit == ""


@pytest.mark.parametrize("optional", [True, "clear"])
def test_rows_in_which_one_is_missing_are_left_out(rehearsal, optional):
    frame = readings(40, gaps=True)
    a, b = frame["a"], frame["b"]
    table = loaded(rehearsal, frame, optional=optional)
    close(rehearsal.decrypt(table["a"].cov(table["b"])), a.cov(b))
    close(rehearsal.decrypt(table["a"].corr(table["b"])), a.corr(b))
    close(rehearsal.decrypt(table["a"] @ table["b"]), (a * b).sum())
    weights = np.arange(40) / 4
    close(rehearsal.decrypt(table["a"].dot(weights)), (a * weights).sum())
    close(rehearsal.decrypt(table["a"].cov(weights)), a.cov(pd.Series(weights)))
    whole = rehearsal.load(b.fillna(1), scale=0.25, bits=7, name="b")
    close(rehearsal.decrypt(whole.corr(table["a"])), b.fillna(1).corr(a))


@pytest.mark.parametrize("gaps", [False, True])
def test_matrices_are_those_of_pandas(rehearsal, gaps):
    frame = readings(20, gaps)
    frame["c"] = 3.0
    columns = {"a": (0.5, -10, 6), "b": (0.25, 0, 7), "c": (1, 0, 2)}
    described = [
        ts.Column(name, scale, offset=offset, bits=bits, optional=gaps)
        for name, (scale, offset, bits) in columns.items()
    ]
    table = rehearsal.load(frame, columns=described)
    for found, expected in [(table.cov(), frame.cov()), (table.corr(), frame.corr())]:
        decrypted = rehearsal.decrypt(found, to="pandas")
        assert list(decrypted.index) == list(decrypted.columns) == list("abc")
        close(decrypted, expected)


def test_too_few_rows_have_none(rehearsal):
    table = loaded(rehearsal, readings(3))
    one = table["a"][:1]
    assert np.isnan(rehearsal.decrypt(one.cov(table["b"][:1])))
    assert rehearsal.decrypt(one.cov(table["b"][:1], ddof=0)) == 0
    assert np.isnan(rehearsal.decrypt(one.corr(table["b"][:1])))
    assert np.isnan(rehearsal.decrypt(table["a"].corr([1, 1, 1])))
    assert rehearsal.decrypt(table["a"].dot([0, 0, 0])) == 0


def test_what_there_is_not_is_refused(rehearsal):
    table = loaded(rehearsal, readings(3))
    a, b = table["a"], table["b"]
    with pytest.raises(ValueError, match="2 clear numbers for 3 rows"):
        a.dot([1, 2])
    with pytest.raises(TypeError, match="takes a column, or clear numbers for its rows, not a int"):
        a.cov(3)
    with pytest.raises(TypeError, match="EncryptedScalar"):
        a.dot(b.sum())
    with pytest.raises(ValueError, match="ddof is 0 or 1"):
        a.cov(b, ddof=2)
    with pytest.raises(ts.TfheSbcError, match="3 and 2 rows"):
        a.cov(b[:2])
    with pytest.raises(ts.TfheSbcError, match="more than 12 decimals: round"):
        a.corr(np.array([1 / 3, 0, 1]))
    with pytest.raises(TypeError, match="no operand"):
        a.cov(b) + 1


def test_clear_weights_take_no_bootstrap(rehearsal):
    table = loaded(rehearsal, readings(40))
    assert ts.cost(table["a"] @ np.repeat([1.0, 0.0], 20)).bootstraps == 0
    assert ts.cost(table["a"] @ table["b"]).bootstraps > 0


def test_results_have_the_same_numbers(keys, server):
    frame = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [3.0, 1.0, 0.0]})
    table = server.load(ts.Encryptor(keys.device).encrypt(frame, scale=1, bits=3))
    a, b = table["a"], table["b"]
    sealed = ts.to_bytes(a.cov(b), a.corr(b), a @ b, names=["cov", "corr", "dot"])
    found = keys.secret.decrypt(sealed)
    close(found["cov"], frame["a"].cov(frame["b"]))
    close(found["corr"], frame["a"].corr(frame["b"]))
    assert found["dot"] == 5
    with pytest.raises(TypeError, match="no form as bytes"):
        ts.to_bytes(a.cov(b, ddof=0))
