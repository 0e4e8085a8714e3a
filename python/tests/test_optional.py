"""Missing readings: questions leave them out as numpy's functions for NaN and pandas do."""

import numpy as np
import pytest

import tfhe_sbc as ts

T = [21.0, np.nan, 19.5, -3.0, np.nan, 30.0, -3.0, 8.5]
H = [np.nan, np.nan, 4.0, 5.0, 6.0, 7.0, 3.0, 2.0]


def columns(optional):
    return [
        ts.Column("t", 0.5, -40, 8, unit="°C", square=True, above=[10], optional=optional),
        ts.Column("h", 1.0, 0, 4, optional=optional),
        ts.Column("n", 1.0, 0, 4),
    ]


COLUMNS = columns(True)


def table():
    return {"t": T, "h": H, "n": list(range(8))}


@pytest.mark.parametrize("optional", [True, "clear"])
def test_questions_leave_out_what_is_missing(keys, server, optional):
    upload = ts.Encryptor(keys.device).encrypt(table(), columns=columns(optional))
    t, h = np.array(T), np.array(H)
    expected = {
        "mean(t)": np.nanmean(t),
        "sum(h)": np.nansum(h),
        "count(t)": np.count_nonzero(~np.isnan(t)),
        "count(n)": 8,
        "std(t)": np.nanstd(t),
        "sample_variance(t)": np.nanvar(t, ddof=1),
        "min(t)": np.nanmin(t),
        "max(h)": np.nanmax(h),
        "median(h)": 4.0,
        "mean(t - h)": np.nanmean(t - h),
        "count(t > 10)": np.count_nonzero(t > 10),
        "count(t <= 10)": np.count_nonzero(t <= 10),
        "count(not t > 10)": np.count_nonzero(t <= 10),
    }
    answers = keys.secret.decrypt(server.query(upload, *expected))
    for question, value in expected.items():
        assert answers[question] == pytest.approx(value), question
    answers = keys.secret.decrypt(server.query(upload, "score(t)", "sort(h)", "last(t)", "first(h)"))
    np.testing.assert_array_equal(answers["score(t)"], T)
    np.testing.assert_array_equal(answers["sort(h)"], np.sort(h[~np.isnan(h)]))
    assert answers["last(t)"] == ("7", 8.5)
    answers = keys.secret.decrypt(server.query(upload, "top_k(t, 2)"))
    assert answers["top_k(t, 2)"] == [("5", 30.0), ("0", 21.0)]
    row, value = answers["first(h)"]
    assert row == "0" and np.isnan(value)


def test_nothing_at_all_has_no_mean(keys, server):
    column = ts.Column("t", bits=4, optional=True)
    upload = ts.Encryptor(keys.device).encrypt([np.nan, np.nan], columns=[column])
    answers = keys.secret.decrypt(server.query(upload, "mean(t)", "max(t)", "count(t)"))
    assert np.isnan(answers["mean(t)"]) and np.isnan(answers["max(t)"])
    assert answers["count(t)"] == 0


def test_who_learns_what_is_missing_is_one_of_three():
    with pytest.raises(ValueError, match='True, False or "clear"'):
        ts.Column("t", bits=4, optional="maybe")


class Nothing:
    """Neither equal to itself nor different, and no truth value, as pandas' NA."""

    def __eq__(self, other):
        return self

    def __bool__(self):
        raise TypeError("boolean value of NA is ambiguous")

    __hash__ = None


def of_pandas(values, dtype):
    return pytest.importorskip("pandas").Series(values, dtype=dtype)


@pytest.mark.parametrize(
    "make",
    [
        lambda: [1.0, float("nan"), 3.0],
        lambda: [1, None, 3],
        lambda: [1, Nothing(), 3.0],
        lambda: np.ma.masked_array([1, 9, 3], [False, True, False]),
        lambda: of_pandas([1, None, 3], "Int64"),
        lambda: of_pandas([1.0, None, 3.0], "Float64"),
        lambda: of_pandas([1, None, 3], object),
    ],
    ids=["nan", "none", "nothing", "masked", "Int64", "Float64", "object"],
)
def test_all_that_says_missing_is_missing(keys, server, make):
    readings = make()
    encryptor = ts.Encryptor(keys.device)
    upload = encryptor.encrypt(readings, name="x", bits=4, optional=True)
    answers = keys.secret.decrypt(server.query(upload, "count(x)", "mean(x)", "score(x)"))
    assert (answers["count(x)"], answers["mean(x)"]) == (2, 2.0)
    np.testing.assert_array_equal(answers["score(x)"], [1.0, np.nan, 3.0])
    # Where it is not declared, the error says how.
    with pytest.raises((TypeError, ts.RangeError), match="optional"):
        encryptor.encrypt(readings, name="x", bits=4)


def test_what_is_no_number_is_refused_all_the_same(keys):
    encryptor = ts.Encryptor(keys.device)
    for readings in (["a", None], [object(), 1], [None, 2**60 + 1]):
        with pytest.raises((TypeError, ts.RangeError)):
            encryptor.encrypt(readings, name="x", bits=4, optional=True)
    with pytest.raises(ts.TfheSbcError, match="compact columns only"):
        encryptor.encrypt([1.0, None], name="x", bits=4, use="radix", optional=True)


def test_operators_refuse_columns_with_gaps(keys, server, rehearsal):
    upload = ts.Encryptor(keys.device).encrypt(table(), columns=COLUMNS)
    loaded = server.load(upload)
    assert list(loaded) == ["n"]
    with pytest.raises(TypeError, match="Server.query"):
        loaded["t"]
    with pytest.raises(TypeError, match="Server.query"):
        rehearsal.load([1.0, None], name="x", bits=4, optional=True)
