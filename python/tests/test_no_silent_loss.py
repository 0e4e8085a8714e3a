"""What would lose readings, or parts of them, without a word is refused, and errors say what to do."""

from datetime import datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pytest

import tfhe_sbc as ts

TEMPS = [21.37, 20.5, 3.2]
ENCODING = dict(scale=0.01, offset=-40, bits=14)


@pytest.fixture(scope="module")
def encrypt(keys):
    encryptor = ts.Encryptor(keys.device)

    def encrypt(data=TEMPS, **changes):
        return encryptor.encrypt(data, **{**ENCODING, **changes})

    return encrypt


@pytest.mark.parametrize(
    "argument, value",
    [
        ("scale", 0.01),
        ("offset", -40),
        ("bits", 14),
        ("unit", "°C"),
        ("use", "radix"),
        ("compact", ts.Compact(10, 40)),
        ("optional", True),
    ],
)
def test_names_that_there_are_not_name_the_nearest(encrypt, argument, value):
    given = {"temperature": value, "humidity": value}
    data = {"temperature": TEMPS, "humidity": TEMPS}
    encrypt(data, **{argument: given})
    wrong = {"temprature": value, "humidity": value}
    with pytest.raises(
        ValueError, match=f"{argument} has an entry for 'temprature'.*'temperature'"
    ):
        encrypt(data, **{argument: wrong})
    with pytest.raises(ValueError, match="There are 'temperature', 'humidity'"):
        encrypt(data, **{argument: pd.Series(wrong)})
    with pytest.raises(ValueError, match=f"{argument} has 3 entries.*'temperature', 'humidity'"):
        encrypt(data, **{argument: [value] * 3})
    with pytest.raises(ValueError, match=f"{argument} has 1 entries"):
        encrypt(data, **{argument: [value]})


def test_names_of_a_mapping_need_not_be_all(encrypt):
    data = {"a": [1.5], "b": [2]}
    encrypt(data, scale={"a": 0.5}, offset={"b": 1}, use={"b": "radix"})
    with pytest.raises(ValueError, match="bits has no entry for column 'b'"):
        encrypt(data, scale=0.5, bits={"a": 4})


def test_a_scale_that_nobody_gave_rounds_nothing(keys, server, encrypt):
    for given in (None, {"b": 1}):
        with pytest.raises(ts.RangeError, match=r"'a' has no scale.*row 2.*scale=0\.1"):
            encrypt({"a": [20, 20.5], "b": [1, 2]}, scale=given)
    # A scale of 1 that somebody gave does, and so do whole steps from an offset.
    encrypt([20.5], scale=1)
    box = encrypt([20.5, 21.5], scale=None, offset=0.5, bits=6)
    assert keys.secret.decrypt(server.load(box)).tolist() == [20.5, 21.5]
    optional = ts.Encryptor(keys.device).encrypt([20.0, None], bits=6, optional=True)
    assert isinstance(optional, bytes)


def test_bits_are_whole(encrypt):
    with pytest.raises(ValueError, match=r"bits is 4\.9: give a whole number"):
        encrypt(bits=4.9)
    assert len(encrypt(bits=14.0)) == len(encrypt(bits=np.int32(14))) == len(encrypt())
    for wrong in (0, -1, 53, 99):
        with pytest.raises(ValueError, match=f"bits is {wrong}: .* between 1 and 52"):
            encrypt(bits=wrong)
        with pytest.raises(ValueError, match=f"column 't': bits is {wrong}"):
            ts.Column("t", bits=wrong)
    for wrong in (True, "12", None):
        with pytest.raises(TypeError, match="give a number"):
            ts.Column("t", bits=wrong)


@pytest.mark.parametrize(
    "arguments, words",
    [
        (dict(scale=0), "scale is 0: give the step between readings"),
        (dict(scale=-0.1), "scale is -0.1: give the step"),
        (dict(scale=np.nan), "scale is nan: give the step"),
        (dict(offset=np.inf), "offset is inf: give the lowest reading"),
        (dict(use="mean"), "'mean': did you mean 'means'"),
        (dict(unit="m" * 65), "unit is .*at most 64 characters"),
        (dict(unit="m\n"), "unit is .*in one line"),
    ],
)
def test_definitions_are_checked_when_they_are_made(encrypt, arguments, words):
    with pytest.raises(ValueError, match=f"column 't': .*{words}"):
        ts.Column("t", **arguments)
    with pytest.raises(ValueError, match=f"column 'value': .*{words}"):
        encrypt(**arguments)


@pytest.mark.parametrize(
    "name, plain",
    [("a b", "a_b"), ("température (°C)", "temperature_C"), ("a" * 65, "a" * 64), (" ", None)],
)
def test_names_that_no_column_can_have_come_with_one_that_it_can(encrypt, name, plain):
    words = "ASCII letters, digits and underscores" + (f": call it '{plain}'" if plain else "$")
    with pytest.raises(ValueError, match=words):
        encrypt(name=name)
    with pytest.raises(ValueError, match=words):
        ts.Column(name)
    if plain:
        encrypt(name=plain)


def test_what_is_nothing_of_its_kind():
    for arguments in dict(scale="0.1"), dict(offset=None), dict(unit=3), dict(square="no"):
        with pytest.raises(TypeError, match=f"column 't': {next(iter(arguments))} is"):
            ts.Column("t", **arguments)
    with pytest.raises(TypeError, match="name of a column is a text"):
        ts.Column(7)
    with pytest.raises(ValueError, match="headroom of a compact form is 4.5"):
        ts.Compact(4.5, 30)


def test_numbers_of_a_definition_are_plain_ones():
    written = ts.Column("t", np.float32(0.1), np.int64(-40), np.int16(10))
    assert written == ts.Column("t", 0.1, -40.0, 10) and hash(written) == hash(written)
    assert written.scale == 0.1 and type(written.bits) is int
    assert written.range == (-40.0, 62.3)


def test_definitions_are_those_of_all_columns(keys):
    encrypt, column = ts.Encryptor(keys.device).encrypt, ts.Column("a", bits=4)
    with pytest.raises(ValueError, match="does not define 'b', 'c', whose readings would be lost"):
        encrypt({"a": [1], "b": [2], "c": [3]}, columns=[column])
    with pytest.raises(ValueError, match="defines 'a' twice"):
        encrypt({"a": [1]}, columns=[column, column])
    with pytest.raises(ValueError, match="column 'ab'.*did you mean 'abb'"):
        encrypt({"abb": [1]}, columns=[ts.Column("ab", bits=4)])
    with pytest.raises(TypeError, match="columns has a str"):
        encrypt({"a": [1]}, columns="a")
    for argument in dict(unit="V"), dict(bits=3), dict(optional=False):
        with pytest.raises(ValueError, match=f"{next(iter(argument))} cannot be given as well"):
            encrypt({"a": [1]}, columns=[column], **argument)


def test_names_beside_names(encrypt):
    frame = pd.DataFrame({"a": [1.0], "b": [2.0]})
    for data in ({"a": [1]}, frame, np.zeros(2, dtype=[("a", float)])):
        with pytest.raises(ValueError, match="name is 'b', but .* have names"):
            encrypt(data, name="b")
    with pytest.raises(ValueError, match="two columns are called 'a'"):
        encrypt(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(ValueError, match="two columns have one name"):
        encrypt([[1, 2]], name=["a", "a"])


def test_no_label_is_lost(keys, server, encrypt):
    hours = pd.date_range("2026-11-01", periods=3, freq="h")
    series = pd.Series(TEMPS, hours, name="t")
    expected = [str(hour) for hour in hours]
    assert server.load(encrypt(series)).rows == expected
    assert server.load(encrypt({"a": series, "b": series + 1})).rows == expected
    assert server.load(encrypt(series.reset_index(drop=True)[1:])).rows == ["1", "2"]
    with pytest.raises(ValueError, match="different indexes.*pandas.DataFrame"):
        encrypt({"a": series, "b": series.shift(freq="h")})
    with pytest.raises(TypeError, match="rows is the text 'abc'"):
        encrypt(rows="abc")
    # Servers compare moments in UTC.
    in_utc = ["2026-10-31T23:00:00Z", "2026-11-01T00:00:00Z", "2026-11-01T01:00:00Z"]
    assert server.load(encrypt(series.tz_localize("Europe/Paris"))).rows == in_utc
    zone = timezone(timedelta(hours=1))
    rows = [datetime(2026, 11, 1, hour, tzinfo=zone) for hour in range(3)]
    box = encrypt(rows=rows)
    assert server.load(box).rows == in_utc
    answer = server.query(box, "count(value)", since="2026-11-01")
    assert keys.secret.decrypt(answer) == 2


def test_missing_readings_are_no_range(encrypt):
    with pytest.raises(ts.RangeError, match=r"row 2 \(1\).*no.* finite number.*optional=True"):
        encrypt([1.0, np.nan])
    for optional in False, True:
        with pytest.raises(ts.RangeError, match=r"row 1 \(0\).*finite number: correct the reading"):
            encrypt([np.inf], optional=optional)


def test_ranges_are_told_as_they_were_written(encrypt):
    for reading in 123.84, -40.01, 1e300:
        with pytest.raises(ts.RangeError, match=r"row 2 \(1\).*range -40 to 123\.83: .*widen"):
            encrypt([0, reading])
    # Half a step beyond the ends is still the code of the end.
    encrypt([123.834, -40.004])


def test_files_are_loaded_by_their_paths(keys, server, encrypt, tmp_path):
    box, path = encrypt(), tmp_path / "box.tsbc"
    path.write_bytes(box)
    for given in (path, str(path), [path], bytearray(box), (one for one in [box])):
        assert keys.secret.decrypt(server.load(given).count()) == 3
    assert len(server.load([path, box])) == 6
    assert keys.secret.decrypt(server.query(path, "count(value)")) == 3
    result = tmp_path / "result.tsbc"
    result.write_bytes(server.load(box).sum().to_bytes())
    assert keys.secret.decrypt(server.load_result(result)) == 45.07
    with pytest.raises(FileNotFoundError, match="nowhere"):
        server.load("nowhere.tsbc")
    with pytest.raises(TypeError, match="int is no upload"):
        server.load([3])


def test_an_upload_is_no_result(keys, server, encrypt):
    box, result = encrypt(), server.load(encrypt()).sum().to_bytes()
    with pytest.raises(ts.FormatError, match=r"this is an upload.*load\(\)"):
        server.load_result(box)
    with pytest.raises(ts.FormatError, match=r"this is a result.*load_result\(\)"):
        server.load(result)
    with pytest.raises(ts.FormatError, match=r"upload number 2 is a result"):
        server.load([box, result])
    with pytest.raises(ts.FormatError, match=r"load_result\(\)"):
        server.query(result, "mean(value)")


def test_a_parameter_set_by_its_name():
    for make in (ts.keygen, ts.SecretKey.generate, ts.Rehearsal):
        with pytest.raises(ts.TfheSbcError, match=r"'my-keys'.*Keys.save\(directory\)"):
            make("my-keys")
        with pytest.raises(TypeError, match="a parameter set is needed, not a int"):
            make(3)
    key = ts.SecretKey.generate("message_2_carry_2")
    assert key.parameters == ts.params.shipped() == ts.params.shipped("message_2_carry_2")


def test_a_deviation_squared_is_the_variance(server, encrypt):
    column = server.load(encrypt())
    with pytest.raises(TypeError, match="no operand"):
        column.std() ** 2
