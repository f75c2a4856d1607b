"""A page in headless Chromium, over the DevTools protocol on a pipe: what tests of pages need, and no more."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
WITHOUT_CHROMIUM = "no Chromium is installed (chromium, chromium-browser or google-chrome)"
PATIENCE = 120  # seconds of silence after which the browser counts as dead

ARGUMENTS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-component-update"),
    *("--disable-background-networking", "--disable-sync", "--hide-scrollbars", "--remote-debugging-pipe"),
)


class Page:
    """One tab. `problems` collects console errors, exceptions and requests to anywhere but files and data."""

    def __init__(self, commands: int, answers: int) -> None:
        self.commands, self.answers = commands, answers
        self.unread, self.session, self.number = b"", "", 0
        self.events: list[dict[str, Any]] = []
        self.problems: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The result of one command; events that come first are kept."""
        self.number += 1
        message: dict[str, Any] = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self.number:
                assert "error" not in answer, (method, answer)
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer)

    def open(self, path: Path) -> None:
        """Load a file and wait until all of it is there."""
        self.events.clear()
        failure = self.call("Page.navigate", url=path.resolve().as_uri()).get("errorText")
        assert not failure, failure
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self._note(self._read())

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression (what a promise resolves to)."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def show(self, width: int, *, dark: bool = False, media: str = "screen") -> None:
        """A window of that width in CSS pixels, in light or dark, on a screen or in print."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=media, features=[scheme])

    def picture(self, path: Path) -> None:
        """Write the whole page as PNG, for people to look at."""
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(data))

    def pdf(self) -> bytes:
        """The page as it is printed."""
        self.call("Emulation.setEmulatedMedia", media="", features=[])
        return base64.b64decode(self.call("Page.printToPDF", preferCSSPageSize=True, printBackground=True)["data"])

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self.unread:
            assert select.select([self.answers], [], [], PATIENCE)[0], "Chromium does not answer"
            read = os.read(self.answers, 1 << 16)
            assert read, "Chromium has ended"
            self.unread += read
        message, self.unread = self.unread.split(b"\0", 1)
        found: dict[str, Any] = json.loads(message)
        return found

    def _note(self, event: dict[str, Any]) -> None:
        self.events.append(event)
        method, said = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown" or (
            method == "Runtime.consoleAPICalled" and said["type"] in ("error", "warning")
        ):
            self.problems.append(json.dumps(said))
        elif method == "Log.entryAdded" and said["entry"]["level"] in ("error", "warning"):
            self.problems.append(said["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            address = said["request"]["url"]
            if not address.startswith(("file:", "data:", "about:", "blob:")):
                self.problems.append(f"the page asks for {address}")


@contextlib.contextmanager
def open_page(profile: Path) -> Iterator[Page]:
    """A fresh browser with one empty tab; its profile is an empty folder. The browser ends with the block."""
    assert CHROMIUM is not None
    ends = [end for _ in range(2) for end in os.pipe()]
    # Chromium reads 3 and writes 4, so the pipes' own numbers must be others.
    read_here, write_there, read_there, write_here = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends)
    for end in ends:
        os.close(end)

    def pass_pipes() -> None:
        os.dup2(read_there, 3)
        os.dup2(write_there, 4)

    process = subprocess.Popen(
        [CHROMIUM, *ARGUMENTS, f"--user-data-dir={profile}", "about:blank"],
        preexec_fn=pass_pipes,
        pass_fds=(3, 4),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(read_there)
    os.close(write_there)
    try:
        page = Page(write_here, read_here)
        yield page
        page.session = ""
        page.call("Browser.close")
        process.wait(PATIENCE)
    finally:
        process.kill()
        process.wait()
        os.close(write_here)
        os.close(read_here)
