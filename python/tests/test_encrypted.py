"""The whole path with real keys: keys, uploads, computations, results."""

import _thread
import os
import pickle
import stat
import subprocess
import threading
import time

import numpy as np
import pytest

import tfhe_sbc as ts

TEMPS = np.array([21.4, 35.2, -3.9, 30.0, 30.1, 12.0, 12.0, 28.8])
ENCODING = dict(scale=0.1, offset=-40.0, bits=10)


@pytest.fixture(scope="module")
def box(keys):
    return ts.Encryptor(keys.device).encrypt(TEMPS, name="temperature", unit="°C", **ENCODING)


@pytest.fixture
def column(server, box):
    return server.load(box)


def test_what_the_readme_shows(keys, server):
    box = ts.Encryptor(keys.device).encrypt(TEMPS, scale=0.1, offset=-40, bits=12)
    assert isinstance(box, bytes)
    col = server.load(box)
    hot, top, mean = (col > 30.0).sum(), col.max(), col.mean()
    assert keys.secret.decrypt(top) == pytest.approx(35.2)
    assert keys.secret.decrypt(hot) == 2
    assert keys.secret.decrypt(mean) == pytest.approx(TEMPS.mean())


def test_several_results_are_computed_together(keys, column):
    results = column.sort(), column.argmax(), column.std(), column[column > 20].mean(), column > 20
    together = ts.cost(*results).bootstraps
    assert 0 < together < sum(ts.cost(result).bootstraps for result in results)
    told = []
    ts.compute(*results, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (together, together) and told == sorted(told)
    assert ts.cost(*results) == ts.Cost(0, 0, None)
    read = [keys.secret.decrypt(result) for result in results]
    np.testing.assert_allclose(read[0], np.sort(TEMPS))
    assert read[1] == TEMPS.argmax()
    assert read[2] == pytest.approx(TEMPS.std())
    assert read[3] == pytest.approx(TEMPS[TEMPS > 20].mean())
    assert read[4].tolist() == (TEMPS > 20).tolist()


def test_what_is_computed_is_an_operand_again(keys, column):
    middle = (column.min() + column.max()) / 2
    middle.compute()
    kept = ts.where(column > middle, column, middle).compute()
    clear = (TEMPS.min() + TEMPS.max()) / 2
    np.testing.assert_allclose(keys.secret.decrypt(kept), np.where(TEMPS > clear, TEMPS, clear))
    mask = (kept > 30).compute()
    assert keys.secret.decrypt((mask & (column < 35)).sum()) == 1
    assert keys.secret.decrypt(kept.sum()) == pytest.approx(
        np.where(TEMPS > clear, TEMPS, clear).sum()
    )


def test_sums_and_columns_of_many_readings(keys, server):
    readings = np.arange(200) % 512 / 2
    box = ts.Encryptor(keys.device).encrypt(readings, scale=0.5, bits=9)
    total = server.load(box).sum()
    assert keys.secret.decrypt(total) == readings.sum()
    # So many readings by themselves are more blocks than one evaluation may load.
    boxes = [box] * 400
    with pytest.raises(ts.TfheSbcError, match="slices"):
        server.load(boxes).max().compute()
    assert len(server.load(boxes)) == 80_000


def test_an_encrypted_threshold(keys, server, column):
    sealed = ts.Encryptor(keys.public).encrypt_scalar(30.0, name="limit", **ENCODING)
    limit = server.load_scalar(sealed)
    assert limit.name == "limit"
    assert keys.secret.decrypt((column > limit).sum()) == 2
    with pytest.raises(ValueError, match="more than one"):
        server.load_scalar(ts.Encryptor(keys.device).encrypt([1, 2], bits=3))


def test_results_travel_as_bytes(keys, server, column):
    hot = column > 25
    sealed = ts.to_bytes(column.max(), hot.sum(), hot, column[2:4], column.idxmin(), column.std())
    assert keys.secret.decrypt(sealed) == {
        "max(temperature)": pytest.approx(35.2),
        "count(temperature > 25)": 4,
        "(temperature > 25)": pytest.approx(TEMPS > 25),
        "temperature": pytest.approx(TEMPS[2:4]),
        "argmin(temperature)": ("2", pytest.approx(-3.9)),
        "std(temperature)": pytest.approx(TEMPS.std()),
    }
    assert keys.secret.decrypt(column.max().to_bytes()) == pytest.approx(35.2)
    warm = TEMPS[TEMPS > 25].mean()
    assert keys.secret.decrypt(column[hot].mean().to_bytes()) == pytest.approx(warm)
    with pytest.raises(TypeError, match="no form as bytes"):
        column[hot].median().to_bytes()


def test_results_are_loaded_to_compute_on(keys, server, column):
    hot = column > 25
    sealed = ts.to_bytes(column.max(), hot.sum(), hot, column[2:4], column.sum())
    loaded = ts.Server(keys.server).load_result(sealed)
    top = loaded["max(temperature)"]
    # A value that was only passed on takes no bootstrap.
    assert top.is_computed and keys.secret.decrypt(top) == pytest.approx(35.2)
    assert keys.secret.decrypt(loaded["count(temperature > 25)"] + 1) == 5
    assert keys.secret.decrypt(top - loaded["temperature"]).tolist() == pytest.approx(
        (35.2 - TEMPS[2:4]).tolist()
    )
    assert keys.secret.decrypt((~loaded["(temperature > 25)"]).sum()) == 4
    mean = loaded["sum(temperature)"] / len(TEMPS)
    assert keys.secret.decrypt(mean > 20) == (TEMPS.mean() > 20)
    # The form in which a mean of the questions in words comes.
    mean = server.load_result(server.query(column_box(keys), "mean(temperature)"))
    assert keys.secret.decrypt(mean * 2) == pytest.approx(2 * TEMPS.mean())
    with pytest.raises(ts.TfheSbcError, match="decrypt"):
        server.load_result(column.std().to_bytes())


def column_box(keys):
    return ts.Encryptor(keys.device).encrypt(TEMPS, name="temperature", **ENCODING)


def test_sanitised_answers_need_a_packing_key_and_a_public_key(keys, server, box):
    with pytest.raises(ts.TfheSbcError, match="no packing key"):
        server.query(box, "max(temperature)", sanitise=keys.public)
    with pytest.raises(TypeError, match=r"keys\.public"):
        server.query(box, "max(temperature)", sanitise=keys.device)


def test_questions_in_words(keys, server, box):
    answers = keys.secret.decrypt(
        server.query(
            [box, box], "max(temperature)", "count(temperature > 30)", "rows(temperature < 0)"
        )
    )
    assert answers["max(temperature)"] == pytest.approx(35.2)
    assert answers["count(temperature > 30)"] == 4
    assert answers["rows(temperature < 0)"].tolist() == 2 * (TEMPS < 0).tolist()
    hidden = server.query(box, "count(temperature > encrypted(30))", key=keys.device)
    assert keys.secret.decrypt(hidden) == 2
    histogram = server.query(box, "histogram(temperature, 0, 20, 40)")
    assert keys.secret.decrypt(histogram).tolist() == [2, 5]
    with pytest.raises(ts.TfheSbcError, match="temperature"):
        server.query(box, "max(temprature)")
    with pytest.raises(ts.TfheSbcError, match="device key"):
        server.query(box, "count(temperature > encrypted(30))")


def test_public_keys_and_devices_own_keys(keys, tmp_path):
    device, switch = keys.secret.issue_device_key("board-7")
    assert device.fingerprint != keys.secret.fingerprint
    (tmp_path / "board-7.tsbc").write_bytes(switch)
    server = ts.Server(keys.server, devices=tmp_path)
    own = ts.Encryptor(device).encrypt([1.0, 2.0], bits=4)
    public = ts.Encryptor(keys.public).encrypt([3.0, 4.0], bits=4)
    assert len(public) > len(own)
    assert keys.secret.decrypt(server.load([own, public]).sum()) == 10
    with pytest.raises(ts.KeyMismatch, match="register"):
        ts.Server(keys.server).load(own)


def test_tables_of_uploads(keys, server):
    readings = np.array([(20.5, 3), (21.0, 4)], dtype=[("t", "f4"), ("n", "u1")])
    encryptor = ts.Encryptor(keys.device)
    table = server.load(encryptor.encrypt(readings, scale=0.5, bits=8, rows=["x", "y"]))
    assert table.columns == ["t", "n"] and table.rows == ["x", "y"]
    assert keys.secret.decrypt(table["t"] * 2 + table["n"]).tolist() == [44.0, 46.0]
    grid = server.load(encryptor.encrypt(np.array([[1, 2], [3, 4]]), bits=3, name=["a", "b"]))
    assert keys.secret.decrypt(grid["b"]).tolist() == [2.0, 4.0]
    days = np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[D]")
    labelled = server.load(encryptor.encrypt([1, 2], bits=3, rows=days))
    assert labelled.rows == ["2026-01-01", "2026-01-02"]


def test_key_files(keys, tmp_path):
    keys.save(tmp_path / "keys")
    for name, mode in [("secret", 0o600), ("device", 0o600), ("server", 0o644), ("public", 0o644)]:
        path = tmp_path / "keys" / f"{name}.tsbc"
        assert stat.S_IMODE(os.stat(path).st_mode) == mode & ~_umask()
    loaded = ts.Keys.load(tmp_path / "keys")
    assert loaded.secret.to_bytes() == keys.secret.to_bytes()
    assert loaded.server.to_bytes() == keys.server.to_bytes()
    box = ts.Encryptor(loaded.device).encrypt([5], bits=3)
    assert keys.secret.decrypt(ts.Server(tmp_path / "keys" / "server.tsbc").load(box)[0]) == 5
    with pytest.raises(FileExistsError, match="never overwritten"):
        keys.save(tmp_path / "keys")
    with pytest.raises(FileExistsError, match="never overwritten"):
        keys.secret.save(tmp_path / "keys" / "secret.tsbc")


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_what_is_pickled(keys, column):
    for key in (keys.server, keys.public):
        assert pickle.loads(pickle.dumps(key)).to_bytes() == key.to_bytes()
    for secret in (keys.secret, keys.device):
        with pytest.raises(TypeError, match=r"save\(path\)"):
            pickle.dumps(secret)
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(keys)
    with pytest.raises(TypeError, match="to_bytes"):
        pickle.dumps(column.max())


def test_representations_tell_no_secret(keys, column):
    for key in (keys.secret, keys.device, keys.public, keys.server):
        assert key.fingerprint in repr(key) and len(repr(key)) < 200
    shown = repr(column)
    assert "temperature" in shown and "8 rows" in shown and "not computed" in shown
    assert "max(temperature)" in repr(column.max())


def test_other_keys_are_told(keys, other_keys, server, box, column):
    with pytest.raises(ts.KeyMismatch, match=other_keys.secret.fingerprint):
        server.load(ts.Encryptor(other_keys.device).encrypt([1], bits=2))
    with pytest.raises(ts.KeyMismatch, match="another key set"):
        other_keys.secret.decrypt(column[0])
    with pytest.raises(ts.KeyMismatch, match="another key set"):
        other_keys.secret.decrypt(column[0].to_bytes())
    with pytest.raises(ts.KeyMismatch, match="another key set"):
        ts.Server(other_keys.server).load_result(column[0].to_bytes())
    other = ts.Server(other_keys.server).load(
        ts.Encryptor(other_keys.device).encrypt(TEMPS, **ENCODING)
    )
    with pytest.raises(ts.KeyMismatch, match="two key sets"):
        column + other
    # Two servers of one key set are one.
    assert keys.secret.decrypt((column - ts.Server(keys.server).load(box)).max()) == 0


def test_wrong_files_are_told(keys, server, box):
    with pytest.raises(ts.FormatError, match="TSBC"):
        server.load(b"nothing of ours")
    with pytest.raises(ts.FormatError, match="cut short"):
        server.load(box[:-5])
    with pytest.raises(ts.FormatError, match="checksum"):
        server.load(box[:-1] + bytes([box[-1] ^ 1]))
    with pytest.raises(ts.FormatError, match="device key"):
        ts.SecretKey.from_bytes(keys.device.to_bytes())
    with pytest.raises(ts.FormatError, match="DevicePublicKey"):
        ts.DeviceKey.from_bytes(keys.public.to_bytes())
    with pytest.raises(ts.FormatError):
        ts.ServerKey.from_bytes(keys.server.to_bytes()[:-1])
    with pytest.raises(TypeError, match="secret key never"):
        ts.Server(keys.secret)
    with pytest.raises(TypeError, match="keys.device"):
        ts.Encryptor(keys.server)
    with pytest.raises(TypeError, match="nothing to decrypt"):
        keys.secret.decrypt(3)


def test_readings_that_cannot_be_encrypted(keys):
    encrypt = ts.Encryptor(keys.device).encrypt
    with pytest.raises(ts.RangeError, match=r"row 2 \(1\).*not a finite number"):
        encrypt([1.0, np.nan], bits=4)
    with pytest.raises(ts.RangeError, match="declared range 0 to 15.*widen"):
        encrypt([1.0, 16.0], bits=4)
    with pytest.raises(ts.RangeError, match=r"row 1 \(noon\)"):
        encrypt([-1], bits=4, rows=["noon"])
    with pytest.raises(TypeError, match=r"dtype object.*astype\(float\)"):
        encrypt(np.array([1.0, None]), bits=4)
    with pytest.raises(TypeError, match="dtype object"):
        encrypt([1, "two", None], bits=4)
    with pytest.raises(TypeError, match="dtype complex128"):
        encrypt([1j], bits=4)
    with pytest.raises(TypeError, match="dtype datetime64"):
        encrypt(np.array(["2026-01-01"], dtype="datetime64[s]"), bits=4)
    with pytest.raises(TypeError, match="masked"):
        encrypt(np.ma.masked_array([1.0, 2.0], [False, True]), bits=4)
    with pytest.raises(TypeError, match="no list of numbers"):
        encrypt([[1, 2], [3]], bits=4)
    with pytest.raises(ValueError, match="no readings"):
        encrypt([], bits=4)
    with pytest.raises(ValueError, match="bits is missing"):
        encrypt([1.0])
    with pytest.raises(ValueError, match="between 1 and 52"):
        encrypt([1.0], bits=60)
    with pytest.raises(ValueError, match="2 rows have 1 labels"):
        encrypt([1, 2], bits=4, rows=["a"])
    with pytest.raises(ValueError, match="letters"):
        encrypt([1], bits=4, name="a b")
    with pytest.raises(ValueError, match="no readings of a column 'c'"):
        encrypt({"a": [1]}, columns=[ts.Column("c", bits=4)])
    with pytest.raises(ValueError, match="ChaCha20"):
        ts.Encryptor(keys.device, expander="rot13")


def test_parameters(tmp_path):
    shipped = ts.params.shipped()
    assert shipped.security_bits >= 128 and shipped.p_fail < 2.0**-128
    found = ts.params.find(message_bits=2, p_fail=2.0**-64)
    assert found.p_fail < 2.0**-64 and "p_fail_2m64" in found.name
    found.save(tmp_path / "own.toml")
    assert ts.params.load(tmp_path / "own.toml") == found != shipped
    with pytest.raises(ts.TfheSbcError, match="message_2_carry_2"):
        ts.params.shipped("message_9")
    with pytest.raises(ValueError, match="probability"):
        ts.params.find(p_fail=-128)
    weak = ts.params.find(message_bits=1, p_fail=2.0**-40, security_bits=80)
    with pytest.raises(ts.TfheSbcError, match="insecure_for_tests"):
        ts.keygen(weak)


def test_keys_of_a_set_that_was_found():
    keys = ts.keygen(ts.params.find(message_bits=1, p_fail=2.0**-128))
    column = ts.Server(keys.server).load(ts.Encryptor(keys.device).encrypt([3, 1, 2], bits=2))
    assert keys.secret.decrypt(column.sort()).tolist() == [1, 2, 3]
    assert keys.secret.decrypt(column.sum()) == 6


def test_other_threads_run_meanwhile(column):
    ticks = 0
    done = threading.Event()

    def tick():
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.monotonic()
    column.sort().compute()
    seconds = time.monotonic() - start
    done.set()
    thread.join()
    assert ticks > 50 * seconds


def test_a_computation_can_be_called_off(column):
    class Enough(Exception):
        pass

    def stop(done, total):
        if done > 10:
            raise Enough

    slow = column.sort()
    with pytest.raises(Enough):
        slow.compute(progress=stop)
    assert not slow.is_computed
    with pytest.raises(TypeError, match="two numbers"):
        slow.compute(progress=3)


def test_ctrl_c_calls_a_computation_off(column):
    slow = column.sort()
    timer = threading.Timer(0.2, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        slow.compute()
    timer.join()
    assert not slow.is_computed


def test_a_forked_process_is_told_so(keys, column):
    column[0].compute()
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            column[1].compute()
        except RuntimeError as error:
            os.write(tell, str(error).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert b"spawn" in os.read(told, 1000)
    os.close(told)
    os.close(tell)


def test_threads_compute_the_same_column(keys, column):
    results = [column[:3].sum(), column[1:4].max(), column.sum(), column[:2]]
    threads = [threading.Thread(target=ts.compute, args=results[place:]) for place in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert keys.secret.decrypt(results[0]) == pytest.approx(TEMPS[:3].sum())
    assert keys.secret.decrypt(results[1]) == pytest.approx(TEMPS[1:4].max())
    assert keys.secret.decrypt(results[2]) == pytest.approx(TEMPS.sum())


def test_a_bar_of_tqdm(keys, column, capsys):
    pytest.importorskip("tqdm")
    keys.secret.decrypt(column[:2].max(), progress=True)
    assert "computing" in capsys.readouterr().err


def test_what_a_computation_takes_is_known_before(column):
    cost = ts.cost(column.max(), measure=True)
    assert cost.bootstraps > cost.depth > 0 and cost.seconds > 0
    assert ts.cost(column[0]).bootstraps == 0


def test_the_command_line_reads_and_writes_the_same_files(keys, server, box, tmp_path):
    program = os.environ.get("TFHE_SBC")
    if program is None:
        pytest.skip("TFHE_SBC names no tfhe-sbc program")

    def run(*arguments):
        return subprocess.run([program, *arguments], check=True, capture_output=True, cwd=tmp_path)

    keys.save(tmp_path / "keys")
    (tmp_path / "box.tsbc").write_bytes(box)
    (tmp_path / "result.tsbc").write_bytes(server.load(box).max().to_bytes())
    assert b"35.2" in run("decrypt", "result.tsbc", "--json").stdout
    (tmp_path / "columns.toml").write_text(
        '[[column]]\nname = "temperature"\nunit = "°C"\noffset = -40.0\nscale = 0.1\nbits = 10\n'
    )
    csv = "timestamp,temperature\n" + "".join(f"{row},{t}\n" for row, t in enumerate(TEMPS))
    (tmp_path / "day.csv").write_text(csv)
    columns = ["--columns", "columns.toml"]
    run("encrypt", "day.csv", *columns, "--out", "day.tsbc")
    theirs = server.load((tmp_path / "day.tsbc").read_bytes())
    assert theirs.rows == server.load(box).rows
    assert keys.secret.decrypt(theirs).tolist() == pytest.approx(TEMPS.tolist())
    result = run("eval", "--readings", "box.tsbc", *columns, "max(temperature)").stdout
    assert keys.secret.decrypt(result) == pytest.approx(35.2)
    # What is as short as decryption permits cannot be computed on.
    with pytest.raises(ts.TfheSbcError, match="--unpacked"):
        server.load_result(result)
    whole = run("eval", "--unpacked", "--readings", "box.tsbc", *columns, "max(temperature)").stdout
    assert 2 * len(result) < len(whole)
    assert keys.secret.decrypt(server.load_result(whole) + 1) == pytest.approx(36.2)
    run("keygen", "--out", "theirs")
    loaded = ts.Keys.load(tmp_path / "theirs")
    sealed = ts.Encryptor(loaded.public).encrypt([1, 2], bits=2)
    theirs = ts.Server(loaded.server)
    assert loaded.secret.decrypt(theirs.load(sealed).sum()) == 3
    # Their server key packs answers, and so can sanitise them.
    words = ("max(value)", "mean(value)", "rows(value > encrypted(1))")
    plain = theirs.query(sealed, *words, key=loaded.device)
    quiet = theirs.query(sealed, *words, key=loaded.device, sanitise=loaded.public)
    expected, found = loaded.secret.decrypt(plain), loaded.secret.decrypt(quiet)
    assert list(found) == list(expected)
    for name, value in expected.items():
        assert np.array_equal(found[name], value)
    with pytest.raises(ts.TfheSbcError, match="another key set"):
        theirs.query(sealed, words[0], sanitise=keys.public)
