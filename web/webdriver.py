"""A headless Chromium, by the WebDriver protocol (https://www.w3.org/TR/webdriver2/)."""

import base64
import json
import re
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
CHROMIUM_OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1100,900",
]


class Browser:
    """A browser of its own profile, which is gone afterwards. Use it in a `with` statement."""

    def __init__(self, downloads):
        self.profile = tempfile.TemporaryDirectory()
        self.driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True
        )
        try:
            self.session = self.base = f"http://127.0.0.1:{self.port()}"
            chrome = {
                "args": [*CHROMIUM_OPTIONS, f"--user-data-dir={self.profile.name}"],
                "prefs": {"download.default_directory": str(downloads)},
                "perfLoggingPrefs": {"enableNetwork": True},
            }
            capabilities = {
                "goog:chromeOptions": chrome,
                "goog:loggingPrefs": {"performance": "ALL", "browser": "ALL"},
            }
            made = self.post("/session", {"capabilities": {"alwaysMatch": capabilities}})
            self.session += f"/session/{made['sessionId']}"
        except BaseException:
            self.driver.kill()
            raise

    def port(self):
        for line in self.driver.stdout:
            if found := re.search(r"started successfully on port (\d+)", line):
                return int(found[1])
        raise SystemExit("chromedriver did not start")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.request("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()
            self.profile.cleanup()

    def request(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.session + path, data, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise SystemExit(f"{path}: {json.load(error)['value']['message']}") from None

    def post(self, path, body):
        return self.request("POST", path, body)

    def go(self, url):
        self.post("/url", {"url": url})

    def script(self, source, *arguments):
        """Returns the value of a function body, or of the promise that it returns."""
        return self.post("/execute/sync", {"script": source, "args": list(arguments)})

    def element(self, selector):
        return self.post("/element", {"using": "css selector", "value": selector})[ELEMENT]

    def type(self, selector, text):
        """Types; into a file input, the path of a file."""
        self.post(f"/element/{self.element(selector)}/value", {"text": str(text)})

    def click(self, selector):
        self.post(f"/element/{self.element(selector)}/click", {})

    def press(self, key):
        """Presses a key where the focus is."""
        actions = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self.post("/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def until(self, source, *arguments):
        """Waits until a function body gives something true, and gives that."""
        end = time.monotonic() + 30
        while time.monotonic() < end:
            if value := self.script(source, *arguments):
                return value
            time.sleep(0.05)
        raise SystemExit(f"never true: {source}")

    def cdp(self, command, **parameters):
        return self.post("/goog/cdp/execute", {"cmd": command, "params": parameters})

    def look(self, width, scheme):
        """Sets the width in CSS pixels and the colour scheme."""
        self.cdp(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=900, deviceScaleFactor=1, mobile=False,
        )
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.cdp("Emulation.setEmulatedMedia", features=features)

    def picture(self, path):
        """Writes a picture of the whole page."""
        clip = {**self.cdp("Page.getLayoutMetrics")["cssContentSize"], "scale": 1}
        data = self.cdp("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(data))

    def log(self, kind):
        return self.post("/se/log", {"type": kind})

    def requested(self):
        """The addresses that were asked for since the last call."""
        messages = [json.loads(entry["message"])["message"] for entry in self.log("performance")]
        sent = (m["params"] for m in messages if m["method"] == "Network.requestWillBeSent")
        return [parameters["request"]["url"] for parameters in sent]
