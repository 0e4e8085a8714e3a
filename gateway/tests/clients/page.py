"""The gateway's page in headless Chromium: page.py URL CLEAR FOLDER.

CLEAR has the readings in the clear, and FOLDER gets pictures. `web/` of the repository has to be in PYTHONPATH.
"""

import csv
import pathlib
import sys

from webdriver import Browser

URL, CLEAR, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])


def check(condition, what):
    if not condition:
        raise SystemExit(f"FAILED: {what}")


def same(found, expected, what):
    check(found == expected, f"{what}:\n  found    {found!r}\n  expected {expected!r}")


def close(found, expected, what):
    check(abs(float(found.replace(",", "")) - expected) < 1e-3, f"{what}: {found} is not {expected}")


with CLEAR.open() as file:
    READINGS = list(csv.DictReader(file))
DEVICES = sorted({row["device"] for row in READINGS})

STATE = "return document.getElementById('state').textContent"
DONE = "return !document.getElementById('stop').disabled ? '' : document.getElementById('state').textContent || 'failed'"
CELLS = "return [...document.querySelectorAll('#answer tbody tr')].map(row => [...row.cells].map(cell => cell.textContent))"
FAILURE = "const place = document.getElementById('failure'); return place.hidden ? '' : place.textContent"


def ask(browser, sql, button="#ask"):
    browser.script("document.getElementById('sql').value = arguments[0]", sql)
    browser.click(button)
    return browser.until(DONE)


with Browser(FOLDER) as browser:
    browser.look(1200, "light")
    browser.go(URL)
    listed = browser.until(
        "const list = [...document.querySelectorAll('#tables li')].map(item => item.textContent); return list.length && list"
    )
    check("temperature_c °C" in listed, f"columns have units: {listed}")
    tables = browser.script(
        "return [...document.querySelectorAll('#tables summary')].map(item => item.textContent)"
    )
    same(tables, ["devices", "queries", "readings", "uploads"], "tables")

    # The statement that is there already: hourly means of each device, a line each.
    browser.click("#ask")
    state = browser.until(DONE)
    check(state.startswith(f"{len(READINGS)} rows in "), state)
    cells = browser.script(CELLS)
    expected = sorted((row["time"], row["device"], float(row["temperature_c"])) for row in READINGS)
    same(len(cells), len(expected), "rows")
    for (time, device, mean), (at, of, value) in zip(cells, expected):
        same((time, device), (at[:16].replace("T", " "), of), "a row")
        close(mean, value, f"{at} {of}")
    lines = browser.script("return document.querySelectorAll('#chart polyline').length")
    same(lines, len(DEVICES), "lines of the chart")
    legend = browser.script(
        "return [...document.querySelectorAll('#legend span')].map(entry => entry.textContent)"
    )
    same(legend, DEVICES, "the legend")
    first = browser.script("return document.querySelector('#chart polyline').getAttribute('points').split(' ').length")
    same(first, len(READINGS) // len(DEVICES), "points of a line")
    browser.picture(FOLDER / "hours.png")

    # What was asked of the server is listed.
    asked = browser.until(
        "const cells = [...document.querySelectorAll('#queries tbody td')].map(cell => cell.textContent); return cells.length && cells"
    )
    check(any("mean(temperature_c)" in cell or "sum(temperature_c)" in cell for cell in asked), asked)

    # Without times, a bar for each device.
    ask(browser, "SELECT device, avg(humidity_pct) AS humidity FROM readings GROUP BY device ORDER BY device")
    bars = browser.script("return document.querySelectorAll('#chart rect.bar').length")
    same(bars, len(DEVICES), "bars")
    cells = browser.script(CELLS)
    for device, (name, mean) in zip(DEVICES, cells):
        values = [float(row["humidity_pct"]) for row in READINGS if row["device"] == device]
        same(name, device, "the device of a bar")
        check(abs(float(mean) - sum(values) / len(values)) < 1e-3, f"{device}: {mean}")
    browser.picture(FOLDER / "bars.png")

    # The plan, before anything is computed.
    ask(browser, "SELECT device, max(humidity_pct) FROM readings GROUP BY device", "#explain")
    text = " ".join(cell for row in browser.script(CELLS) for cell in row)
    check("AskedOfServer" in text and "bootstraps" in text, text)
    check(browser.script("return document.getElementById('figure').hidden"), "a plan has no chart")

    # A limit, and errors with their hints.
    browser.type("#limit", "5")
    ask(browser, "SELECT max(humidity_pct) FROM readings")
    check("bootstraps" in browser.script(FAILURE), "the limit is named")
    ask(browser, "SELECT nothing FROM readings")
    failure = browser.script(FAILURE)
    check("column \"nothing\" does not exist (42703)" in failure, failure)
    ask(browser, "DROP TABLE readings")
    check("25006" in browser.script(FAILURE), "nothing is changed")
    ask(browser, "SELECT count(*) FROM readings")
    same(browser.script(FAILURE), "", "the failure is gone")
    same(browser.script(CELLS), [[str(len(READINGS))]], "a number")
    browser.look(420, "dark")
    browser.picture(FOLDER / "narrow.png")

    # The browser's own first page came from the browser itself.
    foreign = [url for url in browser.requested() if url.startswith("http") and not url.startswith(URL)]
    same(foreign, [], "requests to other places")
    problems = [entry["message"] for entry in browser.log("browser") if "/api/ask" not in entry["message"] and "favicon" not in entry["message"]]
    same(problems, [], "complaints of the browser")
