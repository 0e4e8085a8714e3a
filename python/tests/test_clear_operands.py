"""Clear operands of pandas, polars and Arrow: those with an index meet rows by their labels."""

import numpy as np
import pandas as pd
import pytest

import tfhe_sbc as ts

HOURS = pd.date_range("2026-11-01", periods=4, freq="h")
T = pd.Series([21.0, 35.5, -3.5, 30.0], HOURS, name="t")
OTHER = pd.Series([1.0, 2.0, 3.0, 4.0], HOURS)
ENCODING = dict(scale=0.5, offset=-40, bits=8)


@pytest.fixture
def t(rehearsal):
    return rehearsal.load(T, **ENCODING)


@pytest.fixture(params=["all there", "optional"])
def column(rehearsal, request):
    return rehearsal.load(T, optional=request.param == "optional", **ENCODING)


OPERATIONS = [
    lambda a, b: a + b,
    lambda a, b: b + a,
    lambda a, b: a - b,
    lambda a, b: b - a,
    lambda a, b: a * b,
    lambda a, b: b * a,
    lambda a, b: a > b * 8,
    lambda a, b: b * 8 > a,
    lambda a, b: a == b + 20,
    lambda a, b: b + 20 != a,
]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_series_meets_rows_by_its_index(rehearsal, column, operation):
    expected = operation(T, OTHER)
    longer = pd.concat([OTHER, pd.Series([9.0], [pd.Timestamp("2027-01-01")])])
    for clear in (OTHER, OTHER[::-1], longer.sample(frac=1, random_state=1)):
        found = rehearsal.decrypt(operation(column, clear), to="pandas")
        pd.testing.assert_series_equal(
            found, expected, check_names=False, check_freq=False, check_dtype=False
        )


def test_masks_and_choices_too(rehearsal, t):
    shuffled = OTHER.sample(frac=1, random_state=2)
    found = rehearsal.decrypt([(t > 20) & (shuffled > 1), (shuffled > 1) | (t > 20)], to="pandas")
    assert found[0].tolist() == [False, True, False, True] and found[1].tolist() == [True] * 4
    chosen = [
        ts.where(t > 25, shuffled, t),
        ts.where(t > 25, t, shuffled),
        ts.maximum(shuffled, t),
        ts.minimum(t, shuffled),
        t[shuffled > 2],
        (t > 0)[shuffled > 2],
    ]
    values = [list(one) for one in rehearsal.decrypt(chosen)]
    assert values == [
        [21.0, 2.0, -3.5, 4.0],
        [1.0, 35.5, 3.0, 30.0],
        [21.0, 35.5, 3.0, 30.0],
        [1.0, 2.0, -3.5, 4.0],
        [-3.5, 30.0],
        [False, True],
    ]


def test_gaps_are_filled_by_label(rehearsal):
    gaps = rehearsal.load(T.where(T > 0), optional=True, **ENCODING)
    assert rehearsal.decrypt(gaps.fillna(OTHER[::-1])).tolist() == [21.0, 35.5, 3.0, 30.0]


def test_rows_that_are_only_counted_meet_by_place(rehearsal, t):
    counted = rehearsal.load(T.to_numpy(), **ENCODING)
    by_place = T.to_numpy() + OTHER.to_numpy()
    for column, clear in (
        (counted, OTHER),
        (counted, OTHER.reset_index(drop=True)),
        (t, OTHER.reset_index(drop=True)),
    ):
        assert rehearsal.decrypt(column + clear).tolist() == by_place.tolist()
    # Rows of a slice have the labels that they had.
    half = counted[2:] + OTHER.reset_index(drop=True)
    assert rehearsal.decrypt(half).tolist() == by_place[2:].tolist()


def test_a_single_number_and_a_series_have_its_labels(rehearsal, t):
    found = rehearsal.decrypt([t.max() - OTHER, OTHER < t.min() + 6], to="pandas")
    pd.testing.assert_series_equal(found[0], 35.5 - OTHER, check_names=False, check_freq=False)
    assert found[1].to_dict() == (OTHER < 2.5).to_dict()


def test_whole_numbers_stay_whole(rehearsal):
    count = rehearsal.load([1, 2, 3], bits=4)
    mask = count > 1
    for clear in (pd.Series([1, 2, 3]), np.array([1, 2, 3]), [1, 2, 3]):
        assert rehearsal.decrypt(mask.sum() + clear).dtype == np.int64
    assert rehearsal.decrypt(mask.sum() + pd.Series([1.0, 2.0, 3.0])).dtype == np.float64


@pytest.mark.parametrize(
    "series, words",
    [
        (OTHER[:3], "no value for row '2026-11-01 03:00:00'.*to_numpy"),
        (OTHER.tz_localize("UTC"), "one has a time zone"),
        (pd.concat([OTHER, OTHER]), "a label twice"),
        (OTHER.where(OTHER > 1), "not a finite number"),
    ],
)
def test_what_does_not_meet_the_rows(t, series, words):
    with pytest.raises(ValueError, match=words):
        t + series


def test_a_table_is_no_operand(t):
    with pytest.raises(TypeError, match="a DataFrame is a table and no operand"):
        t + pd.DataFrame({"a": OTHER})


def test_arrays_of_polars_and_arrow(rehearsal, t):
    pa, pl = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    values = OTHER.to_list()
    for clear in (pl.Series(values), pa.array(values), pa.chunked_array([values[:1], values[1:]])):
        expected = (T + OTHER.to_numpy()).tolist()
        assert rehearsal.decrypt(t + clear).tolist() == expected
        assert rehearsal.decrypt(t > clear).tolist() == [True, True, False, True]
        mask = (t > 0) & pl.Series([True, False, True, True])
        assert rehearsal.decrypt(mask).tolist() == [True, False, False, True]
