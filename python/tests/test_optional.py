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
    answers = keys.secret.decrypt(
        server.query(upload, "score(t)", "sort(h)", "last(t)", "first(h)")
    )
    np.testing.assert_array_equal(answers["score(t)"], T)
    np.testing.assert_array_equal(answers["sort(h)"], np.sort(h[~np.isnan(h)]))
    assert answers["last(t)"] == ("7", 8.5)
    row, value = answers["first(h)"]
    assert row == "0" and np.isnan(value)
    answer = keys.secret.decrypt(server.query(upload, "top_k(t, 2)"))
    assert answer == [("5", 30.0), ("0", 21.0)]


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


@pytest.mark.parametrize("optional", [True, "clear"])
def test_operators_are_those_of_pandas(rehearsal, optional):
    pandas = pytest.importorskip("pandas")
    random = np.random.default_rng(7)
    for rows, share in [(1, 1), (5, 0), (5, 0.5)]:
        values = random.integers(-20, 20, (2, rows)) / 2
        values[random.random((2, rows)) < share] = np.nan
        clear = pandas.DataFrame({"t": values[0], "h": values[1]})
        table = rehearsal.load(clear, scale=0.5, offset=-10, bits=6, optional=optional)
        for name, question, expected in in_both(table, clear):
            found = rehearsal.decrypt(question)
            np.testing.assert_allclose(found, expected, err_msg=f"{name} of {values}")


def in_both(table, clear):
    """Names, encrypted questions, and the answers of pandas to the same."""
    (t, h), (x, y) = (table["t"], table["h"]), (clear["t"], clear["h"])

    def both(name, function):
        yield name, function(t, h), function(x, y)

    yield "itself", t, x
    for name in ("sum", "count", "mean", "min", "max", "isna", "notna", "isnull", "notnull"):
        yield from both(name, lambda t, h, name=name: getattr(t, name)())
    for ddof in (0, 1):
        if ddof < len(x):
            yield from both(f"var {ddof}", lambda t, h, ddof=ddof: t.var(ddof=ddof))
            yield from both(f"std {ddof}", lambda t, h, ddof=ddof: t.std(ddof=ddof))
    yield "ptp", t.ptp(), x.max() - x.min()
    for limit in (-10, -3.5, 0.25, 0, 21.5, 30):
        yield from both(f"> {limit}", lambda t, h, limit=limit: t > limit)
        yield from both(f">= {limit}", lambda t, h, limit=limit: t >= limit)
        yield from both(f"< {limit}", lambda t, h, limit=limit: t < limit)
        yield from both(f"<= {limit}", lambda t, h, limit=limit: t <= limit)
        yield from both(f"== {limit}", lambda t, h, limit=limit: t == limit)
        # Where pandas says that NaN differs from all numbers, a comparison does not hold.
        yield f"!= {limit}", t != limit, (x != limit) & x.notna()
        yield from both(f"reflected {limit}", lambda t, h, limit=limit: limit < t)
        yield from both(f"fillna {limit}", lambda t, h, limit=limit: t.fillna(limit))
        yield from both(f"fillna {limit} sum", lambda t, h, limit=limit: t.fillna(limit).sum())
    yield from both("isin", lambda t, h: t.isin([-10, 0.5, 3]))
    yield from both("between", lambda t, h: t.between(-4, 4))
    yield from both("between columns", lambda t, h: t < h)
    yield "!= columns", t != h, (x != y) & x.notna() & y.notna()
    yield from both("fillna fillna", lambda t, h: t.fillna(h.fillna(0)))
    yield from both("fillna array", lambda t, h: t.fillna(0) + h.fillna(1))
    yield from both("plus", lambda t, h: t + h)
    yield from both("minus", lambda t, h: 3 - t - h * 2)
    yield from both("negative", lambda t, h: -t)
    yield from both("half", lambda t, h: (t / 2).max())
    yield from both("times", lambda t, h: t * h)
    yield from both("sum of a difference", lambda t, h: (t - h).sum())
    yield from both("mean of a difference", lambda t, h: (t - h).mean())
    yield from both("max of a product", lambda t, h: (t * h).max())
    yield from both("difference above", lambda t, h: t - h > -1)
    yield from both("with an array", lambda t, h: t + np.arange(len(t)))
    yield from both("from an array", lambda t, h: np.arange(len(t)) - t)
    yield from both("rows", lambda t, h: t[:2])
    yield from both("reversed", lambda t, h: t[::-1].mean())
    yield from both("dropna", lambda t, h: t.dropna().mean())
    yield from both("selected", lambda t, h: t[h > 0].sum())
    yield from both("largest selected", lambda t, h: t[h > 0].max())
    yield from both("count selected", lambda t, h: t[h > 0].count())
    yield from both("numpy", lambda t, h: np.isnan(t))
    yield "nanmean", np.nanmean(t), x.mean()
    edges = [-10, -2.5, 0, 10]
    yield "histogram", t.histogram(edges), np.histogram(x.dropna(), edges)[0]


def test_places_are_those_of_pandas(rehearsal):
    pandas = pytest.importorskip("pandas")
    rows = ["a", "b", "c", "d"]
    for values in ([np.nan, 3.0, 1.0, 3.0], [np.nan] * 4, [2.0, np.nan, 2.0, np.nan]):
        clear = pandas.Series(values, rows)
        column = rehearsal.load(values, rows=rows, bits=4, optional=True)
        lowest, highest = rehearsal.decrypt(column.idxmin()), rehearsal.decrypt(column.idxmax())
        if clear.isna().all():
            assert np.isnan(lowest) and np.isnan(highest)
        else:
            assert lowest == (clear.idxmin(), clear.min())
            assert highest == (clear.idxmax(), clear.max())


@pytest.mark.long
@pytest.mark.parametrize("optional", [True, "clear"])
def test_operators_with_keys_and_as_bytes(keys, server, optional):
    upload = ts.Encryptor(keys.device).encrypt(table(), columns=columns(optional))
    loaded = server.load(upload)
    assert list(loaded) == ["t", "h", "n"] and isinstance(loaded["n"], ts.EncryptedColumn)
    t, h, clear = loaded["t"], loaded["h"], np.array(T)
    assert isinstance(t, ts.EncryptedOptionalColumn) and (len(t), t.shape) == (8, (8,))
    assert t.range == (-40, 87.5) and t.scale == 0.5 and "'t', 8 rows" in repr(t)
    free = [t, h, t.mean(), t.count(), t.var(), (t > 10).sum(), h.sum()]
    assert ts.cost(*free).bootstraps == 0
    assert optional == "clear" or ts.cost(t.fillna(-38).mean()).bootstraps == 0
    # The offset times the number of readings: not for each row.
    assert ts.cost(t.sum()).bootstraps < 20
    questions = {
        "sum(t)": t.sum(),
        "count(t)": t.count(),
        "mean(t)": t.mean(),
        "min(t)": t.min(),
        "max(h)": h.max(),
        "range(t)": t.ptp(),
        "std(t)": t.std(),
        "sample_variance(t)": t.var(ddof=1),
        "argmax(t)": t.idxmax(),
        "argmin(h)": h.idxmin(),
        "mean(t - h)": (t - h).mean(),
        "count(t > 10)": (t > 10).sum(),
        "count(not t > 10)": ((t <= 10) & t.notna()).sum(),
    }
    # The same answers as to questions in words, decrypted here and as bytes.
    asked = keys.secret.decrypt(server.query(upload, *questions))
    sealed = keys.secret.decrypt(ts.to_bytes(*questions.values(), names=list(questions)))
    for name, question in questions.items():
        assert keys.secret.decrypt(question) == pytest.approx(asked[name]), name
        assert sealed[name] == pytest.approx(asked[name]), name
    np.testing.assert_array_equal(keys.secret.decrypt(t), T)
    np.testing.assert_array_equal(keys.secret.decrypt(t.to_bytes()), T)
    np.testing.assert_array_equal(keys.secret.decrypt(t.isna()), np.isnan(T))
    filled = np.where(np.isnan(clear), -3, clear)
    np.testing.assert_array_equal(keys.secret.decrypt(t.fillna(-3)), filled)
    assert keys.secret.decrypt(t.fillna(-3).median()) == np.median(filled)
    limit = ts.Encryptor(keys.device).encrypt_scalar(20.0, scale=0.5, offset=-40, bits=8)
    np.testing.assert_array_equal(keys.secret.decrypt(t > server.load_scalar(limit)), clear > 20)
    nothing = ts.Encryptor(keys.device).encrypt([None, None], name="x", bits=4, optional=optional)
    x = server.load(nothing)
    for question in (x.mean(), x.min(), x.max(), x.std(), x.ptp(), x.idxmin()):
        assert np.isnan(keys.secret.decrypt(question))
        assert np.isnan(keys.secret.decrypt(question.to_bytes()))
    assert (keys.secret.decrypt(x.sum()), keys.secret.decrypt(x.count())) == (0, 0)


def test_a_whole_column_misses_nothing(rehearsal):
    column = rehearsal.load([1, 2, 3], bits=4)
    assert rehearsal.decrypt(column.isna()).tolist() == [False] * 3
    assert rehearsal.decrypt(column.notna()).tolist() == [True] * 3
    assert rehearsal.decrypt(column.count()) == 3 and column.fillna(0) is column
    # With one that may miss readings, the result may.
    gaps = rehearsal.load([None, 1, 5], bits=4, optional=True)
    np.testing.assert_array_equal(rehearsal.decrypt(column + gaps), [np.nan, 3, 8])
    np.testing.assert_array_equal(rehearsal.decrypt(column - gaps), [np.nan, 1, -2])
    assert rehearsal.decrypt(column > gaps).tolist() == [False, True, False]
    assert rehearsal.decrypt(gaps.fillna(column)).tolist() == [1, 1, 5]


def test_what_knows_no_gaps_says_what_does(keys, server, rehearsal):
    column = rehearsal.load([1.0, None, 4.0], name="x", bits=4, optional=True)
    mask = column > 1
    for work, words in (
        (lambda: column.sort(), r"'sort\(x\)'"),
        (lambda: np.sort(column), r"'sort\(x\)'"),
        (lambda: column.top_k(2), r"'top_k\(x, 2\)'"),
        (lambda: column.argmax(), "idxmax"),
        (lambda: abs(column), "fillna"),
        (lambda: column**2, "fillna"),
        (lambda: column.clip(0, 1), "fillna"),
        (lambda: ts.where(mask, column, 0), "fillna"),
        (lambda: ts.maximum(column, 3), "fillna"),
        (lambda: column[1], "nobody knows.*fillna"),
        (lambda: column.mean() + 1, "no operand.*sum"),
        (lambda: column.max() > 1, "no operand"),
        (lambda: column == None, "isna"),  # noqa: E711
        (lambda: column / column, "clear ones"),
        (lambda: 1 / column, "fillna"),
        (lambda: list(column), "row by row"),
        (lambda: 3 in column, "any"),
        (lambda: column.fillna("a"), "numbers"),
        (lambda: np.array(column), "encrypted"),
    ):
        with pytest.raises(TypeError, match=words):
            work()
    with pytest.raises(ts.TfheSbcError):
        column.fillna(float("nan"))
    with pytest.raises(ValueError, match="ddof"):
        column.var(ddof=3)
    upload = ts.Encryptor(keys.device).encrypt([1.0, None], name="x", bits=4, optional=True)
    with ts.Fleet(keys.server, block=1) as fleet:
        assert keys.secret.decrypt(fleet.sum([upload, upload])) == 2
        for function in (fleet.mean, fleet.min):
            with pytest.raises((TypeError, ts.FleetError), match="fillna|count"):
                function([upload])
