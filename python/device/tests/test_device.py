"""Tests of the client alone: it encrypts what a server expects."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tfhe_sbc_device as ts

#: A device key and its public key, of the shipped set.
KEYS = os.environ.get("TFHE_SBC_KEYS")


@pytest.fixture
def key():
    if KEYS is None:
        pytest.skip("TFHE_SBC_KEYS names no directory with keys")
    return ts.DeviceKey.load(Path(KEYS) / "device.tsbc")


def test_uploads(key):
    encryptor = ts.Encryptor(key)
    box = encryptor.encrypt(np.array([21.5, 22.0]), scale=0.5, offset=-40, bits=8)
    assert box.startswith(b"TSBC") and len(box) < 1000
    # A seed serves one message.
    assert box != encryptor.encrypt(np.array([21.5, 22.0]), scale=0.5, offset=-40, bits=8)
    public = ts.DevicePublicKey.load(Path(KEYS) / "public.tsbc")
    assert len(ts.Encryptor(public).encrypt([1], bits=2)) > 1000


def test_the_small_plan(key):
    assert ts.Encryptor(key, plan="small").encrypt([1], bits=2).startswith(b"TSBC")
    with pytest.raises(ValueError, match="balanced"):
        ts.Encryptor(key, plan="huge")


#: The reader that knows the description of the wire format only.
READER = Path(__file__).parents[3] / "crates/core/tests/independent_reader"


def read(upload, tmp_path):
    """The lines of the independent reader about the messages of an upload."""
    path = tmp_path / "upload.tsbc"
    path.write_bytes(upload)
    keys = [Path(KEYS) / name for name in ("secret.tsbc", "device.tsbc")]
    arguments = [sys.executable, "-B", str(READER), *map(str, keys), str(path)]
    output = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout
    return [line.split(" ") for line in output.splitlines()[2:]]


def test_compact_columns_are_read_back(key, tmp_path):
    rows = 2100
    level, flow = np.arange(rows) % 90 * 0.5 - 40, np.arange(rows) * 37 % 4096
    mode = np.arange(rows) % 16
    upload = ts.Encryptor(key).encrypt(
        {"level": level, "mode": mode, "flow": flow},
        scale={"level": 0.5},
        offset={"level": -40},
        bits=[8, 4, 12],
        use={"mode": "radix"},
        compact={
            "level": ts.Compact(headroom=12, body_bits=28, feedback=True),
            "flow": ts.Compact(headroom=1, body_bits=18),
        },
    )
    metadata, columns = read(upload, tmp_path)
    assert metadata[0] == "metadata"
    form = bytes.fromhex(metadata[1])
    assert form.count(b"gcompact") == 2 and form.count(b"hfeedback\xf5") == 1
    expected = ["seeded_column_list", "ChaCha20", "compact", 8, 12, 28, "feedback"]
    expected += [int(code) for code in np.arange(rows) % 90]
    expected += ["radix", *(block for value in mode for block in (value % 4, value // 4))]
    expected += ["compact", 12, 1, 18, "nearest", *flow]
    assert columns == [str(word) for word in expected]
    # The form of a column definition, and of all columns at once.
    columns = [ts.Column("level", 0.5, -40, 8, compact=ts.Compact(12, 28, True))]
    _, one = read(ts.Encryptor(key).encrypt(level, columns=columns), tmp_path)
    assert one[2:7] == ["compact", "8", "12", "28", "feedback"]
    assert one[7:] == [str(code) for code in np.arange(rows) % 90]
    both = ts.Encryptor(key).encrypt([[1, 2]], bits=2, compact=ts.Compact(4, 12))
    _, both = read(both, tmp_path)
    compact = ["compact", "2", "4", "12", "nearest"]
    assert both[2:] == [*compact, "1", *compact, "2"]


def test_compact_columns_are_smaller_than_blocks(key):
    readings = np.arange(2048) % 4096
    encryptor = ts.Encryptor(key)
    # Labels without an order take the same bytes beside both.
    rows = [f"row {row * 1001 % 2048}" for row in range(2048)]
    blocks = encryptor.encrypt(readings, bits=12, rows=rows, use="radix")
    compact = encryptor.encrypt(readings, bits=12, rows=rows, compact=ts.Compact(1, 18))
    # Six blocks of 12 bits, or one body of 18 bits.
    difference = 2048 * 9 - 2048 * 18 // 8
    assert abs(len(blocks) - len(compact) - difference) < 100


def test_the_use_of_a_column_decides_its_form(key, tmp_path):
    def forms(**arguments):
        upload = ts.Encryptor(key).encrypt([[1, 2]], **arguments)
        _, columns = read(upload, tmp_path)
        # A compact column is five words and a code, a radix column one word and six blocks.
        words, found = columns[2:], []
        while words:
            length = 1 if words[0] == "radix" else 5
            found.append(words[:length])
            words = words[length + (6 if length == 1 else 1) :]
        return found

    means = ["compact", "12", "14", "32", "feedback"]
    alarms = ["compact", "12", "1", "17", "nearest"]
    assert forms(bits=12) == forms(bits=12, use="means") == [means, means]
    assert forms(bits=12, use=["alarms", "radix"]) == [alarms, ["radix"]]
    assert forms(bits=12, use={"value_1": "alarms"}) == [means, alarms]
    columns = [ts.Column("a", bits=12, use="radix"), ts.Column("b", bits=12)]
    assert forms(columns=columns) == [["radix"], means]
    # Too many bits for means: radix blocks, unless the use is stated.
    wide = ts.Encryptor(key).encrypt([1], bits=50)
    assert read(wide, tmp_path)[1][0] == "seeded_glwe_list"
    with pytest.raises(ts.TfheSbcError, match="'value' of 50 bits.*radix"):
        ts.Encryptor(key).encrypt([1], bits=50, use="means")
    with pytest.raises(ValueError, match="'value'.*means, alarms, fleet and radix"):
        ts.Encryptor(key).encrypt([1], bits=12, use="mean")
    with pytest.raises(ts.TfheSbcError, match="both a use and a compact form"):
        ts.Encryptor(key).encrypt([1], bits=12, use="means", compact=ts.Compact(10, 30))


def test_squares_and_flags_are_read_back(key, tmp_path):
    codes = np.array([0, 255, 19, 20, 21, 127, 128])
    column = ts.Column("t", 0.5, -40, 8, square=True, bins=[-30, 24], above=[-30], below=[20])
    upload = ts.Encryptor(key).encrypt(codes * 0.5 - 40, columns=[column])
    metadata, words = read(upload, tmp_path)
    assert b"gderived" in bytes.fromhex(metadata[1])
    segments, rest = [], words[2:]
    while rest:
        # The words of the encoding, then a value for each reading.
        (name, bits, _, _, _), rest = rest[:5], rest[5:]
        segments.append((name, int(bits), [int(value) for value in rest[: len(codes)]]))
        rest = rest[len(codes) :]
    # x >= -30, x > -30, x >= 20, x >= 24 and x > 24.
    flags = [(codes >= first).astype(int).tolist() for first in (20, 21, 120, 128, 129)]
    assert segments == [
        ("compact", 8, codes.tolist()),
        ("compact", 16, (codes**2).tolist()),
        *(("compact", 1, flag) for flag in flags),
    ]
    with pytest.raises(ts.TfheSbcError, match="'t'.*compact columns only"):
        columns = [ts.Column("t", bits=8, use="radix", square=True)]
        ts.Encryptor(key).encrypt([1], columns=columns)


@pytest.mark.parametrize(
    "compact, words",
    [
        (dict(headroom=10, body_bits=22), "'value'.*from 23 to 56 bits, not 22"),
        (dict(headroom=37, body_bits=56), "'value'.*at most 36 bits of headroom, not 37"),
        (dict(headroom=10, body_bits=57), "'value'.*from 23 to 56 bits, not 57"),
    ],
)
def test_compact_forms_that_cannot_work(key, compact, words):
    with pytest.raises(ts.TfheSbcError, match=words):
        ts.Encryptor(key).encrypt([1], bits=12, compact=ts.Compact(**compact))


def test_what_is_no_compact_form(key):
    encryptor = ts.Encryptor(key)
    with pytest.raises(TypeError, match=r"'value' is a tuple: give a Compact"):
        encryptor.encrypt([1], columns=[ts.Column("value", bits=12, compact=(10, 30))])
    with pytest.raises(ValueError, match="not both"):
        columns = [ts.Column("value", bits=12)]
        encryptor.encrypt([1], columns=columns, compact=ts.Compact(10, 30))
    with pytest.raises(ValueError, match="headroom of a compact form is -1"):
        encryptor.encrypt([1], bits=12, compact=ts.Compact(-1, 30))
    with pytest.raises(ts.RangeError, match="row 2"):
        encryptor.encrypt([1, 4096], bits=12, compact=ts.Compact(10, 30))


def test_refusals(key):
    with pytest.raises(TypeError, match="save"):
        pickle.dumps(key)
    with pytest.raises(ts.RangeError, match="row 1"):
        ts.Encryptor(key).encrypt([300], bits=8)
    with pytest.raises(ts.FormatError, match="TSBC"):
        ts.DeviceKey.from_bytes(b"something else")


def test_it_is_the_client_alone():
    assert "tfhe_sbc" not in sys.modules
    assert not hasattr(ts, "Server")
