"""Every operator against numpy, on random columns, lookup by lookup in the clear."""

import math
import operator

import numpy as np
import pytest

import tfhe_sbc as ts

ENCODINGS = [
    dict(scale=0.1, offset=-40.0, bits=12),
    dict(scale=1.0, offset=0.0, bits=6),
    dict(scale=0.25, offset=-3.5, bits=5),
    dict(scale=2.0, offset=10.0, bits=3),
    dict(scale=0.5, offset=-1.0, bits=1),
]


def draw(random, encoding, rows):
    codes = random.integers(0, 2 ** encoding["bits"], rows)
    return encoding["offset"] + encoding["scale"] * codes


@pytest.fixture(params=range(10), ids=lambda seed: f"seed{seed}")
def case(request, rehearsal):
    """A random column, as numpy has it and as a rehearsal does."""
    random = np.random.default_rng(request.param)
    encoding = ENCODINGS[request.param % len(ENCODINGS)]
    rows = int(random.integers(1, 14)) if request.param else 1
    clear = draw(random, encoding, rows)
    column = rehearsal.load(clear, **encoding)
    return rehearsal, random, encoding, clear, column


def check(rehearsal, encrypted, expected):
    found = rehearsal.decrypt(encrypted)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    assert np.shape(found) == np.shape(expected)


COMPARISONS = [
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
    operator.eq,
    operator.ne,
]


def rounded(clear, encoding):
    """Codes: comparisons of decimal fractions are exact in steps."""
    return np.round((clear - encoding["offset"]) / encoding["scale"])


@pytest.mark.parametrize("compare", COMPARISONS)
def test_comparisons(case, compare):
    rehearsal, random, encoding, clear, column = case
    threshold = float(random.choice(clear))
    codes, limit = rounded(clear, encoding), rounded(threshold, encoding)
    assert rehearsal.decrypt(compare(column, threshold)).tolist() == compare(codes, limit).tolist()
    # From the left, as numpy's own scalars do.
    flipped = rehearsal.decrypt(compare(np.float64(threshold), column))
    assert flipped.tolist() == compare(limit, codes).tolist()
    # Between two steps, and out of range.
    for beside in (threshold + 0.3 * encoding["scale"], -1e9, 1e9, math.inf):
        found = rehearsal.decrypt(compare(column, beside))
        assert found.tolist() == compare(clear, beside).tolist()
    # With a column, an array and a single encrypted number.
    other = draw(random, encoding, len(clear))
    other_codes = rounded(other, encoding)
    expected = compare(codes, other_codes).tolist()
    other_column = rehearsal.load(other, **encoding)
    assert rehearsal.decrypt(compare(column, other_column)).tolist() == expected
    assert rehearsal.decrypt(compare(column, other)).tolist() == expected
    single = rehearsal.decrypt(compare(column, other_column[0]))
    assert single.tolist() == compare(codes, other_codes[0]).tolist()


def test_arithmetic_with_clear_numbers(case):
    rehearsal, _, _, clear, column = case
    for encrypted, expected in [
        (column + 3, clear + 3),
        (2.5 + column, 2.5 + clear),
        (column - 1.25, clear - 1.25),
        (7 - column, 7 - clear),
        (column * 3, clear * 3),
        (-2 * column, -2 * clear),
        (column / 4, clear / 4),
        (-column, -clear),
        (+column, clear),
        ((column * 1.8 + 32) * -0.5, (clear * 1.8 + 32) * -0.5),
        (np.float32(2) * column + np.int16(1), clear * 2 + 1),
    ]:
        check(rehearsal, encrypted, expected)


def test_arithmetic_with_encrypted_numbers(case):
    rehearsal, random, encoding, clear, column = case
    other = draw(random, encoding, len(clear))
    other_column = rehearsal.load(other, **encoding)
    check(rehearsal, column + other_column, clear + other)
    check(rehearsal, column - other_column, clear - other)
    check(rehearsal, column * 2 - other_column * 3 + 1, clear * 2 - other * 3 + 1)
    check(rehearsal, column * other_column, clear * other)
    check(rehearsal, column**2, clear**2)
    check(rehearsal, column - column.mean(), clear - clear.mean())
    check(rehearsal, column - other_column[0], clear - other[0])
    check(rehearsal, column + other, clear + other)
    check(rehearsal, other - column, other - clear)
    check(rehearsal, column - column, clear - clear)
    check(rehearsal, sum([column, other_column]), clear + other)


def test_reductions(case):
    rehearsal, _, _, clear, column = case
    check(rehearsal, column.sum(), clear.sum())
    check(rehearsal, column.mean(), clear.mean())
    check(rehearsal, column.min(), clear.min())
    check(rehearsal, column.max(), clear.max())
    check(rehearsal, column.ptp(), np.ptp(clear))
    assert rehearsal.decrypt(column.argmin()) == clear.argmin()
    assert rehearsal.decrypt(column.argmax()) == clear.argmax()
    assert rehearsal.decrypt(column.idxmax()) == (str(clear.argmax()), pytest.approx(clear.max()))
    check(rehearsal, column.var(), clear.var())
    check(rehearsal, column.std(), clear.std())
    check(rehearsal, column.median(), np.median(clear))
    for percent in (0, 25, 50, 90, 100):
        # To a hundredth of the way between two rows.
        found = rehearsal.decrypt(column.percentile(percent))
        assert abs(found - np.percentile(clear, percent)) <= 0.0051 * (np.ptp(clear) + 1e-6)
        for method in ("lower", "higher", "inverted_cdf"):
            expected = np.percentile(clear, percent, method=method)
            check(rehearsal, column.percentile(percent, method), expected)
    if len(clear) > 1:
        check(rehearsal, column.std(ddof=1), clear.std(ddof=1))


def test_order(case):
    rehearsal, random, _, clear, column = case
    check(rehearsal, column.sort(), np.sort(clear))
    check(rehearsal, column.sort(descending=True), np.sort(clear)[::-1])
    count = int(random.integers(1, len(clear) + 1))
    check(rehearsal, column.top_k(count), np.sort(clear)[::-1][:count])
    check(rehearsal, column.top_k(count, largest=False), np.sort(clear)[:count])


def test_histograms(case):
    rehearsal, _, encoding, clear, column = case
    low, high = column.range
    # Edges between codes: numpy rounds as it computes those on them.
    step = encoding["scale"]
    edges = np.linspace(low - step / 2, high + step / 2, 5) + step / 7
    check(rehearsal, column.histogram(edges), np.histogram(clear, edges)[0])
    outside = [low - 10 * step, low - 5 * step, low + step / 2, high + step / 2]
    check(rehearsal, column.histogram(outside), np.histogram(clear, outside)[0])
    # The last bin has its upper edge.
    assert rehearsal.decrypt(column.histogram([low, high])).tolist() == [len(clear)]


def test_conditions(case):
    rehearsal, random, encoding, clear, column = case
    middle = float(np.median(clear)) + encoding["scale"] / 3
    low, high = clear < middle, clear > middle
    small, large = column < middle, column > middle
    clear_mask = random.integers(0, 2, len(clear)).astype(bool)
    for encrypted, expected in [
        (small & large, low & high),
        (small | large, low | high),
        (small ^ large, low ^ high),
        (~small, ~low),
        (small == large, low == high),
        (small != large, low != high),
        (small & clear_mask, low & clear_mask),
        (clear_mask | large, clear_mask | high),
        (small & True, low),
        (small & False, low & False),
        (column.isin(clear[:2]), np.isin(clear, clear[:2])),
        (column.isin([1e9]), np.zeros(len(clear), bool)),
        (column.between(clear[0], 1e9), clear >= clear[0]),
    ]:
        assert rehearsal.decrypt(encrypted).tolist() == expected.tolist(), encrypted.name
    assert rehearsal.decrypt(small.sum()) == low.sum()
    assert rehearsal.decrypt(small.any()) == low.any()
    assert rehearsal.decrypt(small.all()) == low.all()
    check(rehearsal, small.mean(), low.mean())


def test_choices(case):
    rehearsal, random, encoding, clear, column = case
    other = draw(random, encoding, len(clear))
    other_column = rehearsal.load(other, **encoding)
    middle = float(np.median(clear)) + encoding["scale"] / 3
    mask, met = column < middle, clear < middle
    for encrypted, expected in [
        (ts.where(mask, column, other_column), np.where(met, clear, other)),
        (ts.where(mask, column, other), np.where(met, clear, other)),
        (ts.where(mask, 0, column), np.where(met, 0, clear)),
        (column.where(mask, encoding["offset"]), np.where(met, clear, encoding["offset"])),
        (ts.where(mask, column * 2, other_column - 1), np.where(met, clear * 2, other - 1)),
        (ts.where(mask, column.max(), column), np.where(met, clear.max(), clear)),
        (ts.where(mask.any(), column, other_column), clear if met.any() else other),
        (ts.where(mask, 5, -1.5), np.where(met, 5, -1.5)),
        (np.where(mask, column, other_column), np.where(met, clear, other)),
        (abs(column), np.abs(clear)),
        (abs(column - 0.5 * encoding["scale"]), np.abs(clear - 0.5 * encoding["scale"])),
        (column.clip(clear[0], clear.max()), np.clip(clear, clear[0], clear.max())),
    ]:
        check(rehearsal, encrypted, expected)


def test_selections(case):
    rehearsal, _, encoding, clear, column = case
    middle = float(np.median(clear)) + encoding["scale"] / 3
    for mask, met in [
        (column < middle, clear < middle),
        (column > middle, clear > middle),
        (column > 1e9, clear > 1e9),
    ]:
        chosen = clear[met]
        selection = column[mask]
        check(rehearsal, selection.sum(), chosen.sum())
        assert rehearsal.decrypt(selection.count()) == len(chosen)
        for function in ("mean", "min", "max"):
            found = rehearsal.decrypt(getattr(column.where(mask), function)())
            expected = getattr(chosen, function)() if len(chosen) else math.nan
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_indexing(case):
    rehearsal, random, _, clear, column = case
    assert len(column) == len(clear) == column.size and column.shape == clear.shape
    check(rehearsal, column[0], clear[0])
    check(rehearsal, column[-1], clear[-1])
    for index in (slice(None), slice(None, None, 2), slice(None, None, -1), [0, -1, 0]):
        check(rehearsal, column[index], clear[index])
        check(rehearsal, column[index].sum(), clear[index].sum())
    chosen = random.integers(0, 2, len(clear)).astype(bool)
    chosen[0] = True
    check(rehearsal, column[chosen], clear[chosen])
    assert rehearsal.decrypt((column < 1)[chosen]).tolist() == (clear < 1)[chosen].tolist()
    with pytest.raises(IndexError, match="out of bounds"):
        column[len(clear)]
    with pytest.raises(IndexError, match="at least one"):
        column[:0]
    assert column[[0]].rows == ["0"]


def test_functions_of_numpy(case):
    rehearsal, _, _, clear, column = case
    for function in (np.sum, np.mean, np.min, np.max, np.var, np.std, np.median, np.sort):
        check(rehearsal, function(column), function(clear))
    assert rehearsal.decrypt(np.argmax(column)) == np.argmax(clear)
    check(rehearsal, np.percentile(column, 50), np.percentile(clear, 50))
    assert rehearsal.decrypt(np.any(column > 3)) == np.any(clear > 3)
    counts, edges = np.histogram(column, [-100.0, 0.05, 1000.0])
    check(rehearsal, counts, np.histogram(clear, edges)[0])
    with pytest.raises(TypeError, match="fft"):
        np.fft.fft(column)
    with pytest.raises(TypeError, match="decrypt"):
        np.asarray(column)


def test_results_are_operands_again(rehearsal):
    clear = np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0])
    column = rehearsal.load(clear, bits=4)
    above = column[column > column.mean()].sum()
    assert rehearsal.decrypt(above) == clear[clear > clear.mean()].sum()
    # Once computed, it is not computed again.
    spread = column.max() - column.min()
    spread.compute()
    assert ts.cost(spread).bootstraps == 0
    half = column.min() + spread / 2
    assert rehearsal.decrypt(column[column > half].count()) == (clear > 5).sum()
    inner = column.sort()[2:-2].compute()
    assert rehearsal.decrypt(inner.mean()) == np.sort(clear)[2:-2].mean()
    assert rehearsal.decrypt((inner > 3) & (inner < 6)).tolist() == [False, False, True, True]


def test_tables(rehearsal):
    data = {"inside": [20.5, 21.0, 19.0], "outside": [3.0, -1.5, 0.0]}
    table = rehearsal.load(
        data, scale=0.5, offset={"inside": 10, "outside": -20}, bits=8, rows=["a", "b", "c"]
    )
    assert table.columns == ["inside", "outside"] and len(table) == 3 and "inside" in table
    difference = table["inside"] - table["outside"]
    assert rehearsal.decrypt(difference).tolist() == [17.5, 22.5, 19.0]
    assert rehearsal.decrypt((table["inside"] > table["outside"]).all()) is True
    assert rehearsal.decrypt(difference.idxmax()) == ("b", 22.5)
    with pytest.raises(KeyError, match="inside, outside"):
        table["insode"]


def test_a_chain_of_steps_without_end_is_refused(rehearsal):
    column = rehearsal.load([1.0, 2.0], bits=3)
    with pytest.raises(ts.TfheSbcError, match=r"compute\(\)"):
        for _ in range(2000):
            column = column.clip(1, 5)


def test_operands_that_do_not_fit(rehearsal):
    column = rehearsal.load([1.0, 2.0, 3.0], bits=3)
    with pytest.raises(ts.TfheSbcError, match="3 and 2 rows"):
        column + column[:2]
    with pytest.raises(ts.TfheSbcError, match="another rehearsal"):
        column + ts.Rehearsal().load([1.0, 2.0, 3.0], bits=3)
    with pytest.raises(ts.TfheSbcError, match="common step"):
        column + column * math.pi
    with pytest.raises(ts.TfheSbcError, match="finite"):
        column + math.nan
    with pytest.raises(TypeError, match="isin"):
        bool(column > 2)
    with pytest.raises(TypeError, match="&"):
        (column > 2) and (column < 3)
    with pytest.raises(TypeError, match="row by row"):
        list(column)
    with pytest.raises(TypeError, match="division"):
        column.var() + 1
    with pytest.raises(TypeError, match="divided by clear"):
        column / column
    with pytest.raises(TypeError, match="decrypt"):
        float(column.max())
    with pytest.raises(TypeError, match="compare first"):
        (column > 2) & column
    with pytest.raises(ValueError, match="axis 1"):
        column.sum(axis=1)
    with pytest.raises(TypeError):
        column < "three"
    with pytest.raises(TypeError, match="dtype object"):
        column < [1, None, 2]


def random_number(random, columns, depth):
    """A random expression of columns: encrypted, and in the clear."""
    if depth == 0:
        return columns[random.integers(len(columns))]
    a, clear_a = random_number(random, columns, depth - 1)
    b, clear_b = random_number(random, columns, random.integers(depth))
    number = float(random.integers(-4, 5)) or 1.0
    match random.integers(7):
        case 0:
            return a + b, clear_a + clear_b
        case 1:
            return a - b, clear_a - clear_b
        case 2:
            return number * a + 0.5, number * clear_a + 0.5
        case 3:
            mask, met = random_mask(random, columns, depth - 1)
            return ts.where(mask, a, b), np.where(met, clear_a, clear_b)
        case 4:
            return a - b.max(), clear_a - clear_b.max()
        case 5:
            return ts.maximum(a, b), np.maximum(clear_a, clear_b)
        case _:
            return a.sort(), np.sort(clear_a)


def random_mask(random, columns, depth):
    a, clear_a = random_number(random, columns, depth)
    b, clear_b = random_number(random, columns, 0)
    compare = COMPARISONS[random.integers(len(COMPARISONS))]
    mask, met = compare(a, b), compare(clear_a, clear_b)
    if depth == 0:
        return mask, met
    other, other_met = random_mask(random, columns, depth - 1)
    match random.integers(3):
        case 0:
            return mask & other, met & other_met
        case 1:
            return mask | ~other, met | ~other_met
        case _:
            return mask ^ other, met ^ other_met


@pytest.mark.parametrize("seed", range(60))
def test_random_computations(rehearsal, seed):
    random = np.random.default_rng(1000 + seed)
    rows = int(random.integers(2, 7))
    columns = []
    for bits in (1, 3, 5):
        # Halves, so that the clear side is exact.
        clear = -2 + random.integers(0, 2**bits, rows) / 2
        columns.append((rehearsal.load(clear, scale=0.5, offset=-2, bits=bits), clear))
    encrypted, clear = random_number(random, columns, 3)
    # A part may be computed before.
    if seed % 2:
        columns[0][0].sort().compute()
        (columns[1][0] > 0).compute()
    check(rehearsal, encrypted, clear)
    check(rehearsal, encrypted.sum(), clear.sum())
    encrypted.compute()
    check(rehearsal, encrypted + columns[0][0], clear + columns[0][1])
    mask, met = random_mask(random, columns, 2)
    assert rehearsal.decrypt(mask).tolist() == met.tolist()
