"""Standing queries, left with a server of ``tfhe-sbc serve``: followed, decrypted, paused and removed."""

import os
import re
import subprocess
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

import tfhe_sbc as ts

#: The day before yesterday, whose periods are all over.
DAY = datetime.now(timezone.utc).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(2)
NINE, TEN, TWELVE = (DAY + timedelta(hours=hour) for hour in (9, 10, 12))
SINCE = NINE - timedelta(hours=1)


class Place:
    """A directory with keys and certificates, and a server in it."""

    def __init__(self, directory, keys):
        program = os.environ.get("TFHE_SBC")
        if program is None:
            pytest.skip("TFHE_SBC names no tfhe-sbc program")
        self.program, self.directory, self.keys = program, directory, keys
        self.tls = directory / "tls"
        keys.save(directory / "keys")
        self.run("certs", "--out", "tls")
        for name in ("hill", "lake", "other"):
            role = "owner" if name == "other" else "device"
            self.run("certs", "--out", "tls", "--add", name, "--role", role)
        (directory / "device-keys").mkdir()
        self.server = None

    def run(self, *arguments):
        done = subprocess.run([self.program, *arguments], capture_output=True, cwd=self.directory)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    def start(self, *options):
        self.stop()
        serve = ["serve", "--listen", "127.0.0.1:0", "--allow-shared-key", *options]
        self.server = subprocess.Popen(
            [self.program, *serve, "--device-keys", "device-keys"],
            cwd=self.directory,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        line = self.server.stdout.readline()
        assert line.startswith("listening on "), line
        self.url = "https://" + line.split()[2]

    def stop(self):
        if self.server is not None:
            self.server.terminate()
            self.server.wait()
            self.server.stdout.close()
            self.server = None

    def send(self, device, readings, key=None):
        """Sends readings of moments of a device."""
        rows = [moment.strftime("%Y-%m-%dT%H:%MZ") for moment, _ in readings]
        values = [value for _, value in readings]
        box = ts.Encryptor(key or self.keys.device).encrypt(
            values, scale=0.5, offset=-40, bits=8, name="t", rows=rows
        )
        (self.directory / "box.tsbc").write_bytes(box)
        self.run("send", "box.tsbc", "--to", self.url, "--identity", device)

    def morning(self, **of):
        half = timedelta(minutes=30)
        self.send("hill", [(NINE, 1.0), (NINE + half, 2.0), (TEN, 3.0)], of.get("hill"))
        self.send("lake", [(NINE + half / 2, -2.0)], of.get("lake"))
        self.send("hill", [(TWELVE, 4.5)], of.get("hill"))

    def client(self, identity="owner"):
        return ts.Client(self.url, tls=self.tls, identity=identity)


@pytest.fixture
def place(tmp_path, keys):
    place = Place(tmp_path, keys)
    yield place
    place.stop()


def settled(standing, results):
    """Waits until everything that is over is computed."""
    deadline = time.monotonic() + 60
    while True:
        standing.refresh()
        if standing.waiting == 0 and standing.results == results:
            return standing
        assert time.monotonic() < deadline, standing
        time.sleep(0.05)


HOURS = {
    ("hill", NINE): 1.5,
    ("hill", TEN): 3.0,
    ("hill", TWELVE): 4.5,
    ("lake", NINE): -2.0,
}


def test_a_standing_query_is_left_followed_and_decrypted(place, keys):
    place.start()
    client = place.client()
    assert client.standing() == []
    terms = dict(every="1h", by="device", since=SINCE, grace="0s", keep="5y", key=keys.device)
    with pytest.raises(ts.TfheSbcError, match="nothing of these devices"):
        client.query("mean(t)", devices=["hill"], **terms)
    place.morning()
    above = "count(t > encrypted(1.5))"
    left = client.query("mean(t)", above, devices=["hill", "lak*"], **terms)
    assert (left.id, left.every, left.by, left.keep) == ("hourly", "1h", "device,hour", "5y")
    assert left.since == SINCE and left.until is None and left.grace == "0ms"
    assert left.devices == ["hill", "lak*"]
    assert left.questions == ["mean(t)", "count(t > encrypted(…))"]
    settled(left, 3)
    assert (left.state, left.failed, left.problem, left.late) == ("up to date", 0, None, 0)
    assert left.computed_until > TWELVE and left.size > 0

    answers = left.get(keys.secret)
    assert answers["mean(t)"] == HOURS
    counts = {group: int(value > 1.5) for group, value in HOURS.items()} | {("hill", NINE): 1}
    assert answers["count(t > encrypted(…))"] == counts
    assert list(answers["mean(t)"]) == sorted(HOURS)
    # The command line has the same ones, and both read the bytes of the other.
    results = left.get_bytes(last="7d")
    assert keys.secret.decrypt(results) == answers
    place.run("standing", "get", "hourly", "--to", place.url, "--out", "all.tsbc")
    assert (place.directory / "all.tsbc").read_bytes() == results
    # Periods that end after the one moment and begin before the other.
    ten = left.get(keys.secret, since=TEN, until=TEN + timedelta(minutes=1))["mean(t)"]
    assert ten == {("hill", TEN): 3.0}
    assert left.get(keys.secret, last=timedelta(days=4)) == answers

    # Asked again, it is the same one; another client finds it, and another owner does not.
    listed = place.client().standing()
    assert [one.id for one in listed] == ["hourly"] and "hourly" in repr(listed[0])
    assert place.client("other").standing() == []
    with pytest.raises(ts.TfheSbcError, match="404"):
        place.client("other").standing_query("hourly")

    # A late upload makes its period new.
    place.send("lake", [(TEN, 5.0)])
    settled(left, 3)
    deadline = time.monotonic() + 60
    while ("lake", TEN) not in left.get(keys.secret)["mean(t)"]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert left.get(keys.secret)["mean(t)"] == HOURS | {("lake", TEN): 5.0}


def test_it_is_paused_resumed_and_removed(place, keys):
    place.start()
    place.morning()
    client = place.client()
    terms = dict(every=timedelta(days=1), since=DAY, grace=timedelta(0), key=keys.public)
    left = client.query("sum(t)", **terms)
    assert (left.id, left.by, left.devices) == ("daily", "day", [])
    settled(left, 1)
    assert left.get(keys.secret) == {"sum(t)": {DAY: 8.5}}
    assert left.pause().paused and left.state.startswith("paused")
    place.send("lake", [(TEN, 1.5)])
    assert client.standing_query("daily").paused
    assert not left.resume().paused
    deadline = time.monotonic() + 60
    while left.get(keys.secret)["sum(t)"][DAY] != 10:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    left.remove()
    assert client.standing() == []
    for gone in (left.refresh, left.pause, left.resume, left.remove, left.get_bytes):
        with pytest.raises(ts.TfheSbcError, match="404"):
            gone()


def test_what_does_not_fit_is_refused(place, keys):
    place.start()
    place.morning()
    client = place.client()

    def leave(*questions, **terms):
        terms = dict(every="1h", since=SINCE, grace="0s", key=keys.device) | terms
        return client.query(*questions or ["mean(t)"], **terms)

    for wrong, words in (
        (dict(every="often"), "every='often' is no length"),
        (dict(every="1s"), "periods are from 1m"),
        (dict(every="1h", by="device,day"), "does not consist of whole groups"),
        (dict(by="month"), "hour, day, week"),
        (dict(grace="long"), "grace='long'"),
        (dict(keep="ever"), "keep='ever'"),
        (dict(name="a/b"), "'a/b': the name of a standing query"),
        (dict(devices="a b"), "letters, digits"),
        (dict(since=TEN, until=NINE), "is not before"),
    ):
        with pytest.raises(ts.TfheSbcError, match=words):
            leave(**wrong)
    for question in ("mean(x)", "mean(", "tree(tree.json)"):
        with pytest.raises(ts.TfheSbcError):
            leave(question)
    with pytest.raises(ValueError, match="no questions"):
        client.query(every="1h", key=keys.device)
    with pytest.raises(TypeError, match="timedelta"):
        leave(every=3600)
    assert client.standing() == []
    with pytest.raises(ts.TfheSbcError, match="404"):
        client.standing_query("hourly")
    with pytest.warns(UserWarning, match="nothing of 'hil' is stored yet"):
        leave(devices=["hil", "lake"], name="misspelt")
    left = leave()
    assert leave().id == left.id
    with pytest.raises(ts.TfheSbcError, match="another"):
        leave("max(t)")
    settled(left, 3)
    with pytest.raises(ts.TfheSbcError, match="no results of that time.*computed until"):
        left.get(keys.secret, until=SINCE)
    with pytest.raises(ValueError, match="last is about"):
        left.get(keys.secret, last="1h", since=NINE)
    with pytest.raises(ts.TfheSbcError, match="last='soon'"):
        left.get(keys.secret, last="soon")
    with pytest.raises(TypeError, match="keys.secret"):
        left.get(keys)
    with pytest.raises(ts.KeyMismatch):
        left.get(ts.SecretKey.generate())


def test_servers_and_identities_that_do_not_fit(place, keys):
    place.start("--standing-bytes", "0")
    place.morning()
    with pytest.raises(ts.TfheSbcError, match="standing"):
        place.client().query("mean(t)", every="1h", key=keys.device)
    with pytest.raises(ts.TfheSbcError, match="tfhe-sbc certs"):
        place.client("nobody")
    with pytest.raises(ts.TfheSbcError, match="403"):
        place.client("hill").standing()
    with pytest.raises(ts.TfheSbcError, match="https://HOST:PORT"):
        ts.Client("localhost", tls=place.tls)
    place.stop()
    with pytest.raises(ConnectionError, match="Is it running"):
        place.client()


def test_the_code_of_the_guide(place, keys, monkeypatch):
    pandas = pytest.importorskip("pandas")
    place.start()
    place.morning()
    page = (Path(__file__).parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
    section = page.split("\n## Standing queries\n")[1].split("\n## ")[0]
    code = "".join(re.findall(r"^```text\n(.*?)^```", section, re.DOTALL | re.MULTILINE))
    code = code.replace("https://localhost:8443", place.url).replace('"2026-11-01"', "SINCE")
    # The answers are there when the server has computed them, which the guide leaves to the reader.
    left, asked = code.split("print(hourly.state")
    monkeypatch.chdir(place.directory)
    names = {"ts": ts, "keys": keys, "pandas": pandas, "SINCE": SINCE}
    exec(left.replace('keep="5y"', 'keep="5y", grace="0s"'), names)
    settled(names["hourly"], 3)
    exec("print(hourly.state" + asked, names)
    assert names["answers"]["mean(t)"] == HOURS
    table = names["table"]
    assert list(table.columns) == ["mean(t)", "max(t)"] and len(table) == len(HOURS)
    assert table.loc[("hill", NINE), "max(t)"] == 2.0


def test_results_under_device_keys_come_without_masks(place, keys):
    boards = {}
    for device in ("hill", "lake"):
        boards[device], switch = keys.secret.issue_device_key(device)
        (place.directory / "device-keys" / f"{device}-1.tsbc").write_bytes(switch)
    place.start()
    place.morning(**boards)
    client = place.client()
    terms = dict(every="1h", by="device", since=SINCE, grace="0s", key=keys.device)
    directory = place.directory / "device-keys"
    short = settled(client.query("mean(t)", **terms, name="short", device_keys=directory), 3)
    long = settled(client.query("mean(t)", **terms, name="long"), 3)
    assert short.get(keys.secret, device_keys=directory) == {"mean(t)": HOURS}
    assert long.get(keys.secret) == {"mean(t)": HOURS}
    assert 5 * short.size < long.size
    with pytest.raises(ts.KeyMismatch, match="device_keys="):
        short.get(keys.secret)
