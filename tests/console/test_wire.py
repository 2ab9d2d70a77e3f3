"""The desk over a real wire: what is packed and what is not, and how streams end."""

import json
import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

import pytest

from tests.faults.processes import Process
from tests.ops.bureau import PY, Bureau

PASSWORD = "correct horse battery"


class Browser:
    """Somebody who has signed in, as far as the wire is concerned."""

    def __init__(self, host: str, port: int, token: str) -> None:
        self._where = host, port
        self._connections: list[HTTPConnection] = []
        self._cookie = self._csrf = ""
        self.enter({"token": token})
        account = {"name": "ann", "password": PASSWORD, "roles": {"*": "admin"}}
        self.ask("POST", "/api/users", account)
        self.enter({"user": "ann", "password": PASSWORD})

    def enter(self, wish: dict[str, str]) -> None:
        answer, data = self.ask("POST", "/api/login", wish)
        self._cookie = (answer.getheader("set-cookie") or "").partition(";")[0]
        self._csrf = json.loads(data)["csrf"]

    def ask(self, method: str, path: str, body: object = None) -> tuple[HTTPResponse, bytes]:
        answer = self.begin(method, path, body)
        data = answer.read()
        assert answer.status < 300, data
        return answer, data

    def begin(self, method: str, path: str, body: object = None) -> HTTPResponse:
        connection = HTTPConnection(*self._where, timeout=60)
        self._connections.append(connection)
        headers = {"Accept-Encoding": "gzip", "Cookie": self._cookie, "Content-Type": "application/json"}
        if method != "GET":
            headers |= {
                "Origin": f"http://{self._where[0]}:{self._where[1]}",
                "X-Shardwright-CSRF": self._csrf,
            }
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        return connection.getresponse()

    def close(self) -> None:
        for connection in self._connections:
            connection.close()


@contextmanager
def a_console(folder: Path, bureau: Bureau) -> Iterator[tuple[Process, Browser]]:
    out = folder / "out"
    command = [
        sys.executable,
        "-m",
        "shardwright",
        "console",
        "--registry",
        f"main={bureau.url}",
        "--port",
        "0",
    ]
    command += ["--accounts", str(folder / "accounts.json")]
    with out.open("wb") as written, Process(command, output=written.fileno()) as process:
        end = time.monotonic() + 60
        while not (
            found := re.search(r"http://([^:]+):(\d+)/\nOne-time token[^:]*: (\S+)\n", out.read_text())
        ):
            assert time.monotonic() < end, out.read_text()
            time.sleep(0.05)
        browser = Browser(found[1], int(found[2]), found[3])
        yield process, browser
        browser.close()


def next_event(stream: HTTPResponse) -> tuple[str, Any]:
    """The next event; none at the end of the stream."""
    name = ""
    while line := stream.readline().decode():
        if line.startswith("event: "):
            name = line.removeprefix("event: ").strip()
        elif line.startswith("data: "):
            return name, json.loads(line.removeprefix("data: "))
    return "", None


def drained(stream: HTTPResponse) -> threading.Event:
    """Set when the stream is over."""
    over = threading.Event()

    def read() -> None:
        while next_event(stream)[0]:
            pass
        over.set()

    threading.Thread(target=read, daemon=True).start()
    return over


@pytest.mark.slow
def test_answers_are_packed_events_are_not_and_streams_end_with_the_session_and_the_console(
    tmp_path: Path,
) -> None:
    with Bureau.in_a_file(tmp_path) as bureau, a_console(tmp_path, bureau) as (process, browser):
        for number in range(20):
            bureau.of(PY, job=f"job-{number:02}", owners={0: PY})
        stream = browser.begin("GET", "/api/r/main/live?job=job-03")
        assert stream.getheader("content-encoding") is None
        assert next_event(stream)[0] == "hello"
        while (event := next_event(stream))[0] != "job":
            assert event[0]
        assert event[1]["brief"]["name"] == "job-03"
        answer, data = browser.ask("GET", "/api/r/main/jobs")
        assert answer.getheader("content-encoding") == "gzip"
        assert len(data) < 2000
        over = drained(stream)
        browser.ask("POST", "/api/logout", {})
        assert over.wait(20)
        browser.enter({"user": "ann", "password": PASSWORD})
        last = browser.begin("GET", "/api/r/main/live")
        assert next_event(last)[0] == "hello"
        over = drained(last)
        begin = time.monotonic()
        process.terminate()
        assert over.wait(20)
        process.wait(20)
        assert time.monotonic() - begin < 15
