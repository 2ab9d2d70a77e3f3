"""The console before 10,000 jobs in a file: what the first look at the fleet takes, and what it takes until a
change is on the screen, in time and in bytes on the wire.

The peer is what a page without a picture would do: read all jobs anew (`looking.all_at`), in the same run and
on the same file. The console is a process of its own, asked over HTTP as a browser asks, packed by gzip.
"""

import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from statistics import median

from benchmarks.rows import Row
from shardwright import elasticjob
from shardwright.jobs import JobConfig
from shardwright.ops import jobs, looking
from shardwright.registry import Create, Landed, Put, Registry, Write, connect

JOBS, SHARDS, SERVERS = 10_000, 4, 50
TIMES = 9
PASSWORD = "only for this run, which is soon over"

#: What a first look and an update must stay below, on any machine, in seconds.
BOUND = 2.0


def run() -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="console-") as folder:
        url = f"sqlite://{folder}/registry.db"
        with connect(url, patience=120) as registry:
            fill(registry)
            bare = timed_reading(registry)
            with a_console(Path(folder), url) as (visitor, ready):
                yield row("ready after its start", ready, bare, "s", "until all jobs are read, once")
                looks = [visitor.first_look() for _ in range(TIMES)]
                seconds, size = median(each[0] for each in looks), float(looks[0][1])
                yield row(
                    "first look at the fleet",
                    seconds,
                    bare,
                    "s",
                    f"page, scripts, first 50 jobs; < {BOUND:g} s",
                )
                yield Row("console: first look, bytes", size, None, "", None, "bytes", visitor.parts)
                page = median(
                    visitor.timed("/api/r/main/jobs?limit=50&offset=5000&sort=next") for _ in range(TIMES)
                )
                yield row("another page of jobs", page, bare, "s", "sorted by the next fire")
                updates = [visitor.update(registry, number) for number in range(TIMES)]
                seconds, size = median(each[0] for each in updates), median(each[1] for each in updates)
                yield row(
                    "a change is told", seconds, bare, "s", f"from the commit to the browser; < {BOUND:g} s"
                )
                yield Row("console: a change, bytes", size, None, "", None, "bytes", "one event, not packed")


def row(name: str, ours: float, bare: float, unit: str, note: str) -> Row:
    return Row(f"console: {name}", ours, bare, "reading all anew", bare / ours, unit, note)


# The fleet


def fill(registry: Registry) -> None:
    """Jobs as their members leave them in the registry."""
    commits: list[list[Write]] = []
    for number in range(JOBS):
        commits.append(a_job(registry.namespace, number))
        if len(commits) == 200:
            land(registry, commits)
            commits = []
    land(registry, commits)


def a_job(namespace: str, number: int) -> list[Write]:
    name, address = f"job-{number:05}", f"10.0.0.{number % SERVERS}"
    who = f"{address}@-@{number % SERVERS}-{number}"
    config = JobConfig(
        name=name,
        cron=f"{number % 60} {number % 59} {number % 24} * * ?",
        shards=SHARDS,
        description=f"No. {number}",
    )
    job, own = f"{namespace}/{name}", f"{namespace}~shardwright/{name}"
    return [
        Create(job, "job"),
        Create(f"{job}/config", elasticjob.write_config(config)),
        Create(f"{job}/servers/{address}", "ENABLED"),
        Create(f"{job}/instances/{who}", f"jobInstanceId: {who}\nserverIp: {address}\n", ephemeral=True),
        *(Create(f"{job}/sharding/{item}/instance", who) for item in range(SHARDS)),
        Create(f"{own}/watched/alive/{who}", ephemeral=True),
        *(Create(f"{own}/cursor/{item}", "{}") for item in range(SHARDS)),
    ]


def land(registry: Registry, commits: list[list[Write]]) -> None:
    for future in registry.commit_all(commits):
        outcome = registry.wait(future)
        assert isinstance(outcome, Landed), outcome


def timed_reading(registry: Registry) -> float:
    begin = time.perf_counter()
    found = jobs.seen(looking.all_at(registry, looking.jobs(registry), own=False))
    assert len(found) == JOBS
    return time.perf_counter() - begin


# The console


@dataclass
class Visitor:
    """A browser, as far as the wire is concerned."""

    host: str
    port: int
    cookie: str = ""
    csrf: str = ""
    parts: str = ""

    def ask(self, method: str, path: str, body: object = None) -> tuple[HTTPResponse, bytes]:
        connection = HTTPConnection(self.host, self.port, timeout=60)
        headers = {"Accept-Encoding": "gzip", "Cookie": self.cookie, "Content-Type": "application/json"}
        if method != "GET":
            headers |= {"Origin": f"http://{self.host}:{self.port}", "X-Shardwright-CSRF": self.csrf}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer, data

    def sign_in(self, token: str) -> None:
        self._enter({"token": token})
        answer, data = self.ask(
            "POST", "/api/users", {"name": "ann", "password": PASSWORD, "roles": {"*": "admin"}}
        )
        assert answer.status < 300, data
        self._enter({"user": "ann", "password": PASSWORD})

    def _enter(self, wish: dict[str, str]) -> None:
        answer, data = self.ask("POST", "/api/login", wish)
        assert answer.status == 200, data
        self.cookie = (answer.getheader("set-cookie") or "").partition(";")[0]
        self.csrf = json.loads(data)["csrf"]

    def timed(self, path: str) -> float:
        begin = time.perf_counter()
        answer, data = self.ask("GET", path)
        assert answer.status == 200, data[:200]
        return time.perf_counter() - begin

    def first_look(self) -> tuple[float, int]:
        """Seconds, and bytes, of all that a browser asks for to show the fleet."""
        begin = time.perf_counter()
        answer, data = self.ask("GET", "/")
        assert answer.status == 200, "the page is not built: make ui"
        page, text = [len(data)], unpacked(answer, data)
        waiting = re.findall(r'(?:src|href)="\./assets/([^"]+)"', text)
        known = set(waiting)
        while waiting:
            name = waiting.pop()
            answer, data = self.ask("GET", f"/assets/{name}")
            assert answer.status == 200, name
            page.append(len(data))
            if name.endswith(".js"):
                new = needed(unpacked(answer, data)) - known
                known |= new
                waiting += new
        assert any(name.startswith("fleet-") for name in known), known
        told = []
        for path in ("/api/about", "/api/r/main/statistics", "/api/r/main/jobs?limit=50"):
            answer, data = self.ask("GET", path)
            assert answer.status == 200, data[:200]
            told.append(len(data))
        self.parts = f"{len(page)} files of the page, {sum(page):,}; the jobs alone {told[-1]:,}"
        return time.perf_counter() - begin, sum(page) + sum(told)

    def update(self, registry: Registry, number: int) -> tuple[float, int]:
        """Seconds from the end of a commit until its event is here, and the event's bytes."""
        connection = HTTPConnection(self.host, self.port, timeout=60)
        connection.request(
            "GET", "/api/r/main/live", headers={"Cookie": self.cookie, "Accept-Encoding": "gzip"}
        )
        stream = connection.getresponse()
        next_event(stream, "hello")
        name, address = f"job-{number:05}", f"10.0.0.{number % SERVERS}"
        land(registry, [[Put(f"{registry.namespace}/{name}/servers/{address}", "DISABLED")]])
        begin = time.perf_counter()
        while name not in (data := next_event(stream, "jobs")):
            pass
        seconds = time.perf_counter() - begin
        connection.close()
        return seconds, len(data)


def needed(script: str) -> set[str]:
    """The files that a script cannot do without, and those of the fleet, which comes when it is looked at."""
    return set(re.findall(r'from"\./([^"]+)"', script) + re.findall(r'"\./(fleet-[^"]+)"', script))


def unpacked(answer: HTTPResponse, data: bytes) -> str:
    return (gzip.decompress(data) if answer.getheader("content-encoding") == "gzip" else data).decode()


def next_event(stream: HTTPResponse, name: str) -> str:
    """The data of the next event of a name."""
    told = ""
    while line := stream.readline().decode():
        if line.startswith("event: "):
            told = line.removeprefix("event: ").strip()
        elif line.startswith("data: ") and told == name:
            return line
    raise AssertionError("the stream has ended")


@contextmanager
def a_console(folder: Path, url: str) -> Iterator[tuple[Visitor, float]]:
    """A console that serves this registry, somebody who has signed in, and how long it took to be ready."""
    command = [sys.executable, "-m", "shardwright", "console", "--registry", f"main={url}", "--port", "0"]
    begin = time.perf_counter()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SHARDWRIGHT_")}
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=log, text=True, env=environment
        )
    try:
        assert process.stdout is not None
        where = re.search(r"http://([^:]+):(\d+)/", process.stdout.readline())
        token = process.stdout.readline().rpartition(" ")[2].strip()
        assert where is not None, (folder / "log").read_text()
        visitor = Visitor(where[1], int(where[2]))
        visitor.sign_in(token)
        while visitor.ask("GET", "/api/r/main/jobs?limit=1")[0].status != 200:
            time.sleep(0.1)
        yield visitor, time.perf_counter() - begin
    finally:
        process.terminate()
        process.wait(30)
