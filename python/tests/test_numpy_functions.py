"""numpy's own functions and operators, and what encrypted values refuse, in the clear."""

import _thread
import pickle
import threading

import numpy as np
import pytest

import tfhe_sbc as ts

CLEAR = np.array([3.0, -1.0, 4.0, -1.5, 5.0])


@pytest.fixture
def column(rehearsal):
    return rehearsal.load(CLEAR, scale=0.5, offset=-4, bits=5, unit="°C", name="t")


def test_functions_number_by_number(rehearsal, column):
    other = rehearsal.load(CLEAR[::-1], scale=0.5, offset=-4, bits=5)
    backwards = CLEAR[::-1]
    for encrypted, expected in [
        (np.abs(column), np.abs(CLEAR)),
        (np.negative(column), -CLEAR),
        (np.square(column), CLEAR**2),
        (np.maximum(column, other), np.maximum(CLEAR, backwards)),
        (np.minimum(column, 2), np.minimum(CLEAR, 2)),
        (np.maximum(2.5, column), np.maximum(2.5, CLEAR)),
        (np.minimum(backwards, column), np.minimum(backwards, CLEAR)),
        (np.add(column, other), CLEAR + backwards),
        (np.subtract(backwards, column), backwards - CLEAR),
        (np.float64(1.5) - column, 1.5 - CLEAR),
        (backwards * column, backwards * CLEAR),
        (np.less(column, other), CLEAR < backwards),
        (backwards >= column, backwards >= CLEAR),
        (np.logical_and(column > 0, other > 0), (CLEAR > 0) & (backwards > 0)),
        (np.array([True] * 5) ^ (column > 0), CLEAR <= 0),
        (np.logical_not(column > 0), CLEAR <= 0),
    ]:
        assert rehearsal.decrypt(encrypted).tolist() == expected.tolist(), encrypted.name
    with pytest.raises(TypeError, match="numpy's sin does not work"):
        np.sin(column)
    with pytest.raises(TypeError, match=r"numpy's add.reduce"):
        np.add.reduce(column)
    with pytest.raises(TypeError, match="out="):
        np.add(column, 1, out=np.zeros(5))


def test_arguments_of_functions(rehearsal, column):
    assert rehearsal.decrypt(np.ptp(column, axis=0)) == 6.5
    assert rehearsal.decrypt(np.sort(column, axis=-1)).tolist() == np.sort(CLEAR).tolist()
    with pytest.raises(TypeError, match="one by one"):
        np.percentile(column, [25, 75])
    counts, edges = np.histogram(column, 3, range=(-4, 5))
    expected, expected_edges = np.histogram(CLEAR, 3, range=(-4, 5))
    assert rehearsal.decrypt(counts).tolist() == expected.tolist()
    assert edges.tolist() == expected_edges.tolist()


def test_clip(rehearsal, column):
    for low, high in [(None, 3), (0, None), (0, np.inf), (-np.inf, 3), (-1e9, 3), (3, 2), (0, 3)]:
        expected = np.clip(CLEAR, low, high)
        assert rehearsal.decrypt(np.clip(column, low, high)).tolist() == expected.tolist()
        assert rehearsal.decrypt(column.clip(low, high)).tolist() == expected.tolist()
    assert ts.cost(column.clip(-1e9, 1e9)).bootstraps == 0
    low, high = column[0], column[2]
    for first, second in [(low, high), (high, low), (low, 4), (4, low)]:
        found = rehearsal.decrypt(column.clip(first, second))
        bounds = [
            bound if isinstance(bound, int) else rehearsal.decrypt(bound)
            for bound in (first, second)
        ]
        assert found.tolist() == np.clip(CLEAR, *bounds).tolist()


@pytest.mark.parametrize("percent", [0.1, 0.2, 0.3, 1, 33.3, 99.7, 99.8, 99.9])
def test_percentiles_near_a_row(rehearsal, column, percent):
    found = rehearsal.decrypt(column.percentile(percent))
    assert abs(found - np.percentile(CLEAR, percent)) <= 0.0051 * np.ptp(CLEAR)
    found = rehearsal.decrypt(np.quantile(column, percent / 100))
    assert abs(found - np.percentile(CLEAR, percent)) <= 0.0051 * np.ptp(CLEAR)


def test_comparisons_that_mean_nothing_are_refused(column):
    mask = column > 3
    for compare in (lambda: mask == 1, lambda: mask != 1, lambda: mask == column):
        with pytest.raises(TypeError, match="compare"):
            compare()
    with pytest.raises(TypeError, match="division"):
        column.var() == 3
    with pytest.raises(TypeError, match="division"):
        column.var() != column.var()
    for selection in (column[mask], column.where(mask)):
        with pytest.raises(TypeError, match="nobody knows"):
            selection == 3
        with pytest.raises(TypeError, match="nobody knows"):
            selection > 3
    # They are still keys of dicts.
    assert {column.var(): 1, column[mask]: 2, mask: 3}


def test_units(rehearsal, column):
    other = rehearsal.load(CLEAR, scale=0.5, offset=-4, bits=5)
    assert (column + 1).unit == (column * 2).unit == (column * other).unit == "°C"
    assert (other * column).unit == "°C"
    assert (column * column).unit == (column**2).unit == ""


def test_parameters_are_pickled():
    for parameters in (ts.params.shipped(), ts.params.find(message_bits=2, p_fail=2.0**-64)):
        assert pickle.loads(pickle.dumps(parameters)) == parameters


def test_a_rehearsal_says_what_an_encryptor_does(rehearsal, keys):
    for load in (rehearsal.load, ts.Encryptor(keys.device).encrypt):
        with pytest.raises(ts.RangeError, match=r"row 2 \(noon\), column 't': the reading"):
            load([1.0, np.nan], bits=4, name="t", rows=["dawn", "noon"])


def test_nothing_has_no_bytes():
    with pytest.raises(ValueError, match="at least one"):
        ts.to_bytes()


def test_a_rehearsal_is_called_off(rehearsal):
    column = rehearsal.load(np.arange(300) % 16, bits=4)
    chain = column
    for step in range(1, 60):
        chain = ts.maximum(chain * column[step], step)[: len(column)] - chain.min()
        chain = ts.where(chain > 3, column, 2)
    threading.Timer(0.3, _thread.interrupt_main).start()
    with pytest.raises(KeyboardInterrupt):
        chain.compute()
    assert not chain.is_computed
