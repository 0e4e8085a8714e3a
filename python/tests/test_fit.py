"""Encodings that fit readings: steps, ranges, what is lost, bytes."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

import tfhe_sbc as ts

ROWS = 1000


@pytest.fixture(scope="module")
def frame():
    random = np.random.default_rng(22)
    frame = pd.DataFrame(
        {
            "temperature": np.round(random.normal(9, 8, ROWS), 1),
            "humidity": random.integers(20, 101, ROWS),
            "pressure": np.round(random.normal(1013, 10, ROWS), 2),
            "light": random.integers(0, 100_001, ROWS),
            "level": random.integers(-10, 60, ROWS) / 2,
            "power": random.integers(3, 40, ROWS) * 50,
            "noise": random.normal(0, 1, ROWS),
            "short": np.round(random.normal(9, 8, ROWS), 1).astype(np.float32),
        },
        index=pd.date_range("2025-01-01", periods=ROWS, freq="h"),
    )
    frame.loc[frame.index[[5, 7]], "level"] = np.nan
    return frame


def test_readings_come_back_as_they_are(keys, frame):
    fitted = ts.fit_encoding(frame, unit={"temperature": "°C"})
    assert list(fitted) == [fitted[name] for name in frame] == fitted[:]
    scales = {column.name: column.scale for column in fitted}
    assert {name: scales[name] for name in list(frame)[:6]} == {
        "temperature": 0.1,
        "humidity": 1.0,
        "pressure": 0.01,
        "light": 1.0,
        "level": 0.5,
        "power": 50.0,
    }
    assert fitted["short"].scale == 0.1 and fitted["light"].bits == 17
    assert [column.name for column in fitted if column.optional] == ["level"]
    back = keys.secret.decrypt(ts.Encryptor(keys.device).encrypt(frame, columns=fitted))
    lost = (back - frame).abs().max()
    assert back.level.isna().sum() == 2
    assert lost.drop(["noise", "short"]).max() == 0
    # What was rounded to single precision before comes back as it was written.
    assert (back.short.astype(np.float32) == frame.short).all()
    fits = fitted.fits
    assert fits["noise"].loss == pytest.approx(lost.noise) and 0 < lost.noise < 2e-4
    assert all(fit.loss == 0 for name, fit in fits.items() if name != "noise")
    for name, fit in fits.items():
        low, high = fit.column.range
        margin = 0.1 * (frame[name].max() - frame[name].min())
        assert fit.readings == (pytest.approx(frame[name].min()), pytest.approx(frame[name].max()))
        assert high >= frame[name].max() + margin - 1e-5
        lowest = frame[name].min() - margin
        assert (
            low <= lowest + 1e-5
            if lowest < 0 and frame[name].min() < 0
            else 0 <= low <= max(lowest, 0)
        )


def test_bytes_are_those_of_uploads(keys, frame):
    square = {"temperature": True}
    fitted = ts.fit_encoding(frame, square=square, use={"power": "radix", "light": "alarms"})
    box = ts.Encryptor(keys.device).encrypt(frame, columns=fitted)
    assert len(box) == pytest.approx(fitted.bytes_a_row * ROWS, abs=2000)
    fits = fitted.fits
    assert fitted["temperature"].square and fits["power"].rows_without_bootstrap == 0
    assert fits["humidity"].rows_without_bootstrap == 16384
    assert fits["light"].rows_without_bootstrap == 2
    assert fitted.bytes_a_row == sum(fit.bytes for fit in fits.values())


def test_its_text_is_a_table_that_says_what_is_lost(frame):
    lines = repr(ts.fit_encoding(frame, unit={"temperature": "°C"})).splitlines()
    assert lines[0].split() == "column scale offset bits readings range loss bytes form".split()
    assert len(lines) == 2 + len(frame.columns) and "°C" in lines[1]
    columns = {line.split()[0]: line for line in lines[1:-1]}
    assert "up to 0.0001" in columns["noise"] and " none " in columns["pressure"]
    assert columns["level"].endswith("optional")
    assert lines[-1].startswith("1,000 rows of ")


@pytest.mark.parametrize(
    "readings, arguments, scale, offset, bits",
    [
        # Few readings are no evidence of a step other than their last decimal.
        ([20.5, 21.0, 19.0], {}, 0.1, 18.5, 5),
        ([20.5, 21.0, 19.0], dict(scale=0.5), 0.5, 18.0, 3),
        ([0.0, 0.0], {}, 1, 0, 1),
        ([-0.5, -3.0], {}, 0.1, -3.3, 5),
        ([False, True], {}, 1, 0, 2),
        ([0, 1], dict(margin=0), 1, 0, 1),
        ([5, 10, 20], dict(max_bits=3), 5, 0, 3),
        (np.arange(0, 1000, 25), {}, 25, 0, 6),
        ([1e-12, 3e-12], {}, 5e-17, 0, 16),
    ],
)
def test_steps_and_ranges(readings, arguments, scale, offset, bits):
    (column,) = ts.fit_encoding(readings, name="x", **arguments)
    assert column == ts.Column("x", scale, offset, bits)


@pytest.mark.parametrize("decimals", range(5))
def test_what_has_few_decimals_is_never_rounded(rehearsal, decimals):
    random = np.random.default_rng(decimals)
    for _ in range(40):
        middle, width = random.integers(-1000, 1000), 10 ** random.integers(0, 5)
        codes = middle + random.integers(-width, width + 1, random.integers(1, 30))
        readings = [float(f"{code}e-{decimals}") for code in codes]
        fitted = ts.fit_encoding(readings, margin=random.uniform(0, 2))
        assert fitted.fits["value"].loss == 0
        found = rehearsal.decrypt(rehearsal.load(readings, columns=fitted))
        assert found.tolist() == readings


def test_a_proposal_can_be_changed():
    fitted = ts.fit_encoding([1.5, 2.5], name="t")
    wider = dataclasses.replace(fitted["t"], bits=20)
    assert wider.range[1] > 10_000 and fitted == [fitted["t"]]
    with pytest.raises(KeyError, match="no column 'x': there are t"):
        fitted["x"]


@pytest.mark.parametrize(
    "data, arguments, words",
    [
        ([1.0, np.inf], {}, "infinite"),
        ({"a": [np.nan]}, {}, "'a' has no readings to fit"),
        ([], {}, "no readings"),
        ([1.0], dict(margin=-1), "margin is -1"),
        ([1.0], dict(max_bits=0), "max_bits is 0: give 1 to 52"),
        ([1.0], dict(max_bits=2.5), "max_bits is 2.5: give a whole number"),
        ([1.0], dict(scale=0), "scale is 0"),
        ({"a": [1.0]}, dict(scale={"b": 1}), "scale has an entry for 'b'"),
        ({"a b": [1.0]}, {}, "call it 'a_b'"),
        ([0, 1000], dict(scale=1, max_bits=8), "need 11 bits, more than 8: give a larger scale"),
        ([1.0], dict(use="max"), "one of means"),
    ],
)
def test_what_nothing_fits(data, arguments, words):
    with pytest.raises(ValueError, match=words):
        ts.fit_encoding(data, **arguments)
