"""The key owner's page in headless Chromium: test.py PAGE PROGRAM FIXTURES FOLDER.

PAGE is the page, PROGRAM `tfhe-sbc`, FIXTURES the folder that the example `fixtures` of `crates/web` wrote.
What the page shows is compared with what `tfhe-sbc decrypt --json` prints. FOLDER gets pictures.
"""

import base64
import json
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import threading
import time

from webdriver import Browser

PAGE, PROGRAM, FIXTURES, FOLDER = (pathlib.Path(argument).resolve() for argument in sys.argv[1:5])
FORGERIES = FOLDER / "forgeries"
DOWNLOADS = FOLDER / "downloads"
OWNER = FOLDER / "owner"

ENTER, TAB = "\ue007", "\ue004"
READINGS = "level,flow\n-1.5,60\n2.0,3\n0.5,17\n-2.0,17\n"
COLUMNS = """
[[column]]
name = "level"
unit = "m"
offset = -2.0
scale = 0.5
bits = 4

[[column]]
name = "flow"
offset = 0.0
scale = 1.0
bits = 6
"""
QUESTIONS = ["mean(level)", "sum(flow)"]


def check(condition, what):
    if not condition:
        raise SystemExit(f"FAILED: {what}")


def same(found, expected, what):
    check(found == expected, f"{what}:\n  found    {found!r}\n  expected {expected!r}")


def words(text):
    return " ".join(text.split())


def program(*arguments, folder=FOLDER, stdin=None):
    return subprocess.run(
        [PROGRAM, *map(str, arguments)], cwd=folder, input=stdin, capture_output=True
    )


def succeeded(*arguments, **options):
    run = program(*arguments, **options)
    check(run.returncode == 0, f"{arguments}: {run.stderr.decode()}")
    return run.stdout


def decrypted(key, result):
    return json.loads(succeeded("decrypt", "--json", "--key", key, result))


# Returns the words that the page is to show for the program's JSON, in reading order.


def number(value, unit=""):
    text = f"{value:.4f}".rstrip("0").rstrip(".")
    return words(("0" if text == "-0" else text) + " " + unit)


def answer(value):
    match value:
        case []:
            return "none"
        case list():
            return words(f"{len(value)} row{'s'[: len(value) > 1]} {' '.join(value)}")
        case {"bins": bins, "outside": outside, "unit": unit}:
            lines = [
                f"[{number(b['from'])}, {number(b['to'])}) {unit} {b['count']}" for b in bins
            ]
            return words(" ".join(lines + [f"in no bin {outside}"] * (outside > 0)))
        case {"values": values, "unit": unit}:
            return words(f"{len(values)} values " + " ".join(number(v, unit) for v in values))
        case {"rows": rows}:
            unit = value.get("unit", "")
            shown = lambda v: v if isinstance(v, str) else number(v, unit)
            return words(" ".join(f"{row['row']} {shown(row['value'])}" for row in rows))
        case {"row": row, "value": at, "unit": unit}:
            return words(f"{row}: {number(at, unit)}")
        case {"value": at, "unit": unit}:
            return number(at, unit)


class Page:
    def __init__(self, browser):
        self.browser = browser

    def give(self, key=None, result=None):
        for slot, path in (("key", key), ("result", result)):
            if path is not None:
                self.browser.type(f"#{slot}", path)

    def answers(self):
        """The rows of the table, once it is there."""
        self.browser.until("return !document.getElementById('answers').hidden")
        cells = "[...r.cells].map((c) => c.innerText)"
        rows = "[...document.querySelectorAll('#table > tbody > tr')]"
        rows = self.browser.script(f"return {rows}.map((r) => {cells})")
        return [[words(cell) for cell in row] for row in rows]

    def failure(self):
        """The text of the failure, once it is there."""
        shown = "const f = document.getElementById('failure'); return !f.hidden && f.innerText"
        text = words(self.browser.until(shown))
        check(self.browser.script("return document.getElementById('answers').hidden"), "answers beside a failure")
        return text

    def facts(self):
        names = "[...document.querySelectorAll('#facts dt')]"
        pairs = f"{names}.map((dt) => [dt.innerText, dt.nextSibling.innerText])"
        return dict(self.browser.script(f"return {pairs}"))


def check_answers(page, key, result):
    """The page's answers are the program's."""
    page.give(key, result)
    page.browser.click("#decrypt")
    expected = decrypted(key, result)
    rows = [[words(a["name"]), answer(a["answer"])] for a in expected["answers"]]
    same(page.answers(), rows, "answers")
    facts = page.facts()
    same(facts["Bootstraps it took"], f"{expected['bootstraps']:,}", "bootstraps")
    described = json.loads(succeeded("inspect", "--json", key))[0]
    details = {detail["name"]: detail["value"] for detail in described["details"]}
    same(facts["Key set"], described["key_fingerprint"], "fingerprint")
    same(facts["Parameter set"], details["parameter set"], "parameter set")
    same(facts["Security"], details["security"], "security")
    same(facts["Failure of a bootstrap"], details["failure of a bootstrap"], "failure of a bootstrap")
    length = result.stat().st_size
    size = f"{length} B" if length < 1024 else f"{length / 1024:.1f} KiB"
    same(facts["Result"], f"{result.name} ({size})", "size")


def check_saved(page, expected):
    saved = DOWNLOADS / "answers.json"
    page.browser.click("#save")
    end = time.monotonic() + 10
    while not saved.exists() and time.monotonic() < end:
        time.sleep(0.05)
    same(json.loads(saved.read_text()), expected, "what is saved")


def check_refusals(page):
    """Bad files are refused in the program's words, under the name of the file at fault."""
    secret, result = FIXTURES / "secret.tsbc", FIXTURES / "result.tsbc"
    whole = result.read_bytes()
    forged = {
        "short.tsbc": whole[:-1000],
        "changed.tsbc": whole[:3000] + bytes([whole[3000] ^ 1]) + whole[3001:],
        "empty.tsbc": b"",
        "letter.txt": b"Dear key owner, this is no key.",
    }
    for name, data in forged.items():
        (FORGERIES / name).write_bytes(data)
    cases = [
        (FIXTURES / "other.tsbc", result, result, "another key set"),
        (FIXTURES / "device.tsbc", result, FIXTURES / "device.tsbc", "this is a device key"),
        (FORGERIES / "letter.txt", result, FORGERIES / "letter.txt", "TSBC"),
        (FORGERIES / "empty.tsbc", result, FORGERIES / "empty.tsbc", "cut short"),
        (result, secret, result, "a secret key is needed"),
        (secret, FORGERIES / "short.tsbc", FORGERIES / "short.tsbc", "cut short"),
        (secret, FORGERIES / "changed.tsbc", FORGERIES / "changed.tsbc", "checksum"),
        (secret, secret, secret, "this is a secret key"),
    ]
    for key, given, at_fault, expected in cases:
        page.give(key, given)
        page.browser.click("#decrypt")
        shown = page.failure()
        check(shown.startswith(f"{at_fault.name}: "), f"{at_fault.name} is not named: {shown}")
        check(expected in shown, f"no '{expected}' in: {shown}")
        # The program's block, without the file's path and the marks of its frame.
        run = program("decrypt", "--key", key, given)
        check(run.returncode != 0, f"the program takes {key}")
        said = words(re.sub("[×│╰─▶]", " ", run.stderr.decode()))
        message = shown.removeprefix(f"{at_fault.name}: ").split(" give a result that ")[0]
        check(message in said, f"the page says\n  {message}\nthe program\n  {said}")


def check_keyboard(page, key, result):
    """Everything can be reached and done without a mouse, and everything has a name."""
    browser = page.browser
    labelled = "return ['key', 'result'].every((id) => document.getElementById(id).labels.length === 1)"
    check(browser.script(labelled), "an input without a label")
    browser.click("#clear")
    browser.script("document.activeElement.blur(); getSelection().removeAllRanges()")
    browser.go(PAGE.as_uri())
    reached = []
    for _ in range(4):
        browser.press(TAB)
        reached.append(browser.script("return document.activeElement.id"))
    same(reached, ["key", "result", "decrypt", "clear"], "the order of the tab key")
    # Without files the page says which is missing, and goes there.
    browser.type("#decrypt", ENTER)
    check("no file is chosen" in page.failure(), "nothing said of the missing key")
    same(browser.script("return document.activeElement.id"), "key", "the focus")
    page.give(key, result)
    browser.type("#decrypt", ENTER)
    page.answers()
    same(browser.script("return document.activeElement.id"), "answers", "the focus")


def check_drop(page, key, result):
    """Both files at once, in whatever order, find their places."""
    page.browser.click("#clear")
    files = [[path.name, base64.b64encode(path.read_bytes()).decode()] for path in (result, key)]
    page.browser.script(
        """const dropped = new DataTransfer();
        for (const [name, text] of arguments[0])
          dropped.items.add(new File([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], name));
        document.body.dispatchEvent(new DragEvent('drop',
          {dataTransfer: dropped, bubbles: true, cancelable: true}));""",
        files,
    )
    page.browser.until("return document.querySelectorAll('.file.has').length === 2")
    chosen = "return ['key', 'result'].map((id) => document.getElementById(`${id}-chosen`).innerText)"
    names = [text.split(" ")[0] for text in page.browser.script(chosen)]
    same(names, [key.name, result.name], "the places of dropped files")
    page.browser.click("#decrypt")
    same(len(page.answers()), len(decrypted(key, result)["answers"]), "answers to dropped files")


def check_nothing_stays(page, key, result):
    """The module's memory is overwritten, its key with it, and nothing is stored."""
    browser = page.browser
    browser.script(
        """const instantiate = WebAssembly.instantiate;
        window.instances = [];
        WebAssembly.instantiate = async (...given) => {
          const made = await instantiate(...given);
          window.instances.push(made);
          return made;
        };"""
    )
    page.give(key, result)
    browser.click("#decrypt")
    page.answers()
    page.give(result, key)
    browser.click("#decrypt")
    page.failure()
    left = """return window.instances.map(({exports}) =>
        new Uint8Array(exports.memory.buffer).reduce((sum, byte) => sum + (byte !== 0), 0))"""
    same(browser.script(left), [0, 0], "bytes left in the memory of instances")
    stored = """return [localStorage.length, sessionStorage.length, document.cookie.length,
        (await indexedDB.databases()).length]"""
    same(browser.script(stored), [0, 0, 0, 0], "what is stored")
    page.give(key, result)
    browser.click("#decrypt")
    page.answers()
    browser.click("#clear")
    text = browser.script("return document.querySelector('main').textContent")
    check("°C" not in text and result.name not in text, "answers are left")
    check(browser.script("return document.getElementById('answers').hidden"), "answers are shown")


def check_no_network(page):
    """The page asked for nothing but itself, and could not even if its script tried."""
    urls = page.browser.requested()
    check(PAGE.as_uri() in urls, "the log of requests is empty")
    others = [url for url in urls if url != PAGE.as_uri() and not url.startswith("blob:")]
    same(others, [], "requests")
    complaints = [entry["message"] for entry in page.browser.log("browser")]
    same(complaints, [], "messages of the browser")

    listener = socket.create_server(("127.0.0.1", 0))
    callers = []

    def listen():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            callers.append(connection)
            connection.close()

    threading.Thread(target=listen, daemon=True).start()
    address = f"127.0.0.1:{listener.getsockname()[1]}"
    tried = page.browser.script(
        """const address = arguments[0];
        const tried = {};
        tried.fetch = await fetch(`http://${address}/`, {mode: 'no-cors'}).then(() => 'sent', () => 'refused');
        try { new WebSocket(`ws://${address}/`); } catch { }
        navigator.sendBeacon(`http://${address}/`, 'key');
        const image = new Image();
        image.src = `http://${address}/`;
        tried.image = await new Promise((done) => {
          image.onload = () => done('sent');
          image.onerror = () => done('refused');
        });
        try { document.body.innerHTML = '<b>x</b>'; tried.html = 'set'; } catch { tried.html = 'refused'; }
        await new Promise((done) => setTimeout(done, 500));
        return tried""",
        address,
    )
    same(tried, {"fetch": "refused", "image": "refused", "html": "refused"}, "what a script may do")
    same(len(callers), 0, "connections from the page")
    # The listener does hear.
    socket.create_connection(listener.getsockname()).close()
    end = time.monotonic() + 5
    while not callers and time.monotonic() < end:
        time.sleep(0.01)
    check(callers, "the listener is deaf")
    listener.close()


def check_looks(page, key, result):
    """Nothing sticks out of a telephone's screen; pictures for people to look at."""
    for width in (1100, 360):
        for scheme in ("light", "dark"):
            page.browser.look(width, scheme)
            page.give(key, result)
            page.browser.click("#decrypt")
            page.answers()
            wide = page.browser.script("return document.documentElement.scrollWidth")
            check(wide <= width, f"the page is {wide} wide on a screen of {width}")
            page.browser.picture(FOLDER / f"answers-{width}-{scheme}.png")
            page.give(result, key)
            page.browser.click("#decrypt")
            page.failure()
            page.browser.picture(FOLDER / f"failure-{width}-{scheme}.png")


def main():
    for folder in (FORGERIES, DOWNLOADS, OWNER):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    secret, result = FIXTURES / "secret.tsbc", FIXTURES / "result.tsbc"

    # The whole way, from keys to answers, by the program.
    (OWNER / "columns.toml").write_text(COLUMNS)
    succeeded("keygen", "--out", "keys", folder=OWNER)
    encrypt = ["encrypt", "--columns", "columns.toml"]
    succeeded(*encrypt, "--out", "upload.tsbc", folder=OWNER, stdin=READINGS.encode())
    evaluate = ["eval", "--readings", "upload.tsbc", "--columns", "columns.toml"]
    answered = OWNER / "answers.tsbc"
    succeeded(*evaluate, "--out", answered, *QUESTIONS, folder=OWNER)

    with Browser(DOWNLOADS) as browser:
        page = Page(browser)
        # The browser's own first page asks for much.
        browser.go("about:blank")
        browser.requested()
        browser.go(PAGE.as_uri())
        check_answers(page, OWNER / "keys/secret.tsbc", answered)
        check_answers(page, secret, result)
        check_saved(page, decrypted(secret, result))
        check_refusals(page)
        check_keyboard(page, secret, result)
        check_drop(page, secret, result)
        check_nothing_stays(page, secret, result)
        check_looks(page, secret, result)
        check_no_network(page)
    print("the page shows what the program prints, and reaches nobody")


main()
