"""Numbers that are wide, far apart or large beside their step, in the clear."""

import numpy as np
import pytest

import tfhe_sbc as ts


def test_sums_of_squares_of_wide_codes(rehearsal):
    clear = np.array([2.0**39, 1.0, 5.0])
    column = rehearsal.load(clear, bits=40)
    assert rehearsal.decrypt(column.var()) == pytest.approx(clear.var())
    assert rehearsal.decrypt(column.std(ddof=1)) == pytest.approx(clear.std(ddof=1))


def test_thresholds_that_are_large_beside_a_step(rehearsal):
    column = rehearsal.load([1234567890.1, 1234567890.2], scale=0.1, bits=34)
    assert rehearsal.decrypt(column == 1234567890.1).tolist() == [True, False]
    assert rehearsal.decrypt(column >= 1234567890.2).tolist() == [False, True]
    assert rehearsal.decrypt(column.isin([1234567890.2])).tolist() == [False, True]
    stamps = rehearsal.load([1.7e9, 1.7e9 + 0.1], scale=0.1, offset=1.7e9, bits=10)
    clear = np.array([1700000000.1, 1700000000.1])
    assert rehearsal.decrypt(stamps + clear).tolist() == [3400000000.1, 3400000000.2]


@pytest.mark.parametrize("bits", [20, 21, 24, 40])
def test_columns_of_many_bits(rehearsal, bits):
    top = 2**bits - 1
    clear = np.array([0, 1, top // 2, top - 1, top], dtype=float)
    column = rehearsal.load(clear, bits=bits)
    mask, met = column > 0, clear > 0
    assert rehearsal.decrypt(column[mask].min()) == 1
    assert rehearsal.decrypt(column[~mask].max()) == 0
    for encrypted, expected in [
        (column.clip(1, top - 1), clear.clip(1, top - 1)),
        (abs(column - top // 2), abs(clear - top // 2)),
        (ts.maximum(column, top - 1), np.maximum(clear, top - 1)),
        (ts.where(mask, column, top), np.where(met, clear, top)),
    ]:
        assert rehearsal.decrypt(encrypted).tolist() == expected.tolist(), encrypted.name


def test_clear_numbers_far_from_a_column(rehearsal):
    clear = np.array([21.4, 35.2, -3.9])
    column = rehearsal.load(clear, scale=0.1, offset=-40, bits=12)
    assert rehearsal.decrypt(column.clip(-1e9, 30)).tolist() == [21.4, 30.0, -3.9]
    assert rehearsal.decrypt(ts.where(column > 30, column, 1e6)).tolist() == [1e6, 35.2, 1e6]
    with pytest.raises(ts.TfheSbcError, match="too far apart"):
        ts.where(column > 30, column, 1e16)
    with pytest.raises(ts.TfheSbcError, match="common step"):
        ts.where(column > 30, column, np.pi)


def test_offsets_that_are_large_beside_a_step(rehearsal):
    clear = 1_700_000_000 + np.array([3.0, 1.0, 2.0])
    column = rehearsal.load(clear, offset=1_700_000_000, bits=6)
    assert rehearsal.decrypt(column[column > clear[1]].sum()) == clear[0] + clear[2]
    assert rehearsal.decrypt(column - column.min()).tolist() == [2, 0, 1]
    near = rehearsal.load(clear / 1000, scale=0.001, offset=1_700_000, bits=6)
    assert rehearsal.decrypt(near * near) == pytest.approx((clear / 1000) ** 2, rel=1e-15)
    tenths = rehearsal.load(clear, scale=0.1, offset=1_700_000_000, bits=6)
    assert rehearsal.decrypt(tenths[tenths > clear[1]].sum()) == clear[0] + clear[2]


def test_numbers_come_back_as_they_were_written(rehearsal):
    clear = np.array([21.4, 35.2, -3.9, 0.3])
    column = rehearsal.load(clear, scale=0.1, offset=-40.1, bits=12)
    assert rehearsal.decrypt(column).tolist() == clear.tolist()
    assert rehearsal.decrypt(column[0]) == 21.4
    assert rehearsal.decrypt(column.idxmax()) == ("1", 35.2)
    assert rehearsal.decrypt(column[column < 1].min()) == -3.9
    assert rehearsal.decrypt(column.sum()) == 53.0
    assert rehearsal.decrypt(-column).tolist() == (-clear).tolist()
    assert rehearsal.decrypt(column * 1.8 + 32)[0] == 70.52
    # A step that is no decimal fraction is not taken for one.
    third = rehearsal.load([1 / 3], scale=1 / 3, bits=3)
    assert rehearsal.decrypt(third[0]) == 1 / 3


def test_whole_numbers_stay_whole(rehearsal):
    column = rehearsal.load([1.0, 2.0, 3.0], bits=4)
    count = (column > 1).sum()
    for encrypted, expected in [
        (count + 1, 3),
        (2 * count - 7, -3),
        (-count, -2),
        (count + count, 4),
        (count * count, 4),
        (ts.where(column > 1, 5, -1).sum(), 9),
        (ts.where((column > 1).any(), count, 0), 2),
    ]:
        found = rehearsal.decrypt(encrypted)
        assert (found, type(found)) == (expected, int), encrypted.name
    for encrypted in (count / 2, count * 1.0, count + 0.5, column.sum(), count + column.sum()):
        assert isinstance(rehearsal.decrypt(encrypted), float), encrypted.name


def test_whole_numbers_that_would_be_rounded_are_refused(rehearsal):
    stamps = np.array([1_700_000_000_000_000_001, 1_700_000_000_000_000_513])
    with pytest.raises(ts.RangeError, match="row 1 needs more than 53 bits.*subtract"):
        rehearsal.load(stamps, offset=1.7e18, bits=12)
    assert rehearsal.decrypt(rehearsal.load(stamps - stamps[0], bits=12))[1] == 512
    # Seconds in nanoseconds are whole multiples of 512, which are exact.
    seconds = np.array([1_700_000_000, 1_700_000_002]) * 1_000_000_000
    column = rehearsal.load(seconds, scale=1e9, offset=1.7e18, bits=4)
    assert rehearsal.decrypt(column[1] - column[0]) == 2e9
