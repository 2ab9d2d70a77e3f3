"""What the run of a shard costs for each type of job: bodies that do nothing, beside the bare means they are
made of, in the same run.

A fire of many shards is asked for, and timed from there to the end of its last shard: so each figure holds
its part of being claimed in the registry, begun, ended and noted. That is once in memory, where the registry
costs next to nothing, and once in a file. The bare means have as many threads as the scheduler, and nobody
who counts on them.

An isolated function is found by importing its module. Its row is for one of the standard library, whose
module costs nothing; the next is for one of a module that, as many do, imports the scheduler too.
"""

import asyncio
import http.client
import inspect
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from benchmarks.rows import Row
from shardwright import Dataflow, Fire, Listener, Scheduler, Shard

THREADS = 8
ROUNDS = 3
PATIENCE = 120.0

IMPORTING = "isolated-importing"

#: How many shards a fire has: few where each takes long.
SHARDS = {
    "function": 1000,
    "coroutine": 1000,
    "dataflow": 1000,
    "isolated": 24,
    IMPORTING: 16,
    "script": 200,
    "http": 400,
}

PEERS = {
    "function": "ThreadPoolExecutor",
    "coroutine": "asyncio task",
    "dataflow": "ThreadPoolExecutor",
    "isolated": "subprocess python",
    IMPORTING: "subprocess python",
    "script": "subprocess true",
    "http": "http.client",
}


def run() -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="shardwright-bench-") as name, serving() as port:
        folder = Path(name)
        peers = {kind: best(lambda kind=kind: bare(kind, SHARDS[kind], port)) for kind in PEERS}  # type: ignore[misc]
        for registry, url in (("memory", "memory://overhead"), ("sqlite", f"sqlite://{folder / 'jobs.db'}")):
            with Bench(url, folder, port) as bench:
                for kind, peer_name in PEERS.items():
                    ours, peer = best(lambda kind=kind: bench.fire(kind)), peers[kind]  # type: ignore[misc]
                    note = f"ours / theirs; {SHARDS[kind]} shards, {THREADS} threads, {ours - peer:+.3g} ms"
                    title = f"overhead: {kind}, {registry}"
                    yield Row(title, ours, peer, peer_name, ours / peer, "ms/shard run", note)


def best(measure: Callable[[], float]) -> float:
    """Milliseconds, of several times the one in the middle; the first warms up."""
    measure()
    return statistics.median(measure() for _ in range(ROUNDS))


# -- ours ----------------------------------------------------------------------------------------------


def nothing(shard: Shard) -> None:
    """What is measured is all the rest."""


async def nothing_at_all(shard: Shard) -> None:
    """The same, as a coroutine."""


def fetch(shard: Shard) -> list[int]:
    """One batch, as small as there is."""
    return [shard.item]


def process(shard: Shard, data: list[int]) -> None:
    """Nothing is done with it."""


class Over(Listener):
    """Notes when the last shard of a fire has ended."""

    def __init__(self) -> None:
        self.at = 0.0
        self.ended = 0
        self.news = threading.Condition()

    def after(self, fire: Fire) -> None:
        """Called for each part of the fire: there are several where there is not room for all at once."""
        with self.news:
            self.at = time.perf_counter()
            self.ended += len(fire.items)
            self.news.notify_all()


class Bench:
    """A scheduler with a job of each type."""

    def __init__(self, url: str, folder: Path, port: int) -> None:
        self._scheduler = Scheduler(
            url, threads=THREADS, script_folders=["/bin", "/usr/bin"], http_allowed=[f"127.0.0.1:{port}"]
        )
        self._over = {kind: Over() for kind in SHARDS}
        add = self._scheduler.add
        add(nothing, "function", shards=SHARDS["function"], listeners=[self._over["function"]])
        add(nothing_at_all, "coroutine", shards=SHARDS["coroutine"], listeners=[self._over["coroutine"]])
        flow = Dataflow(fetch, process)
        add(flow, "dataflow", shards=SHARDS["dataflow"], listeners=[self._over["dataflow"]])
        for kind, function in (("isolated", inspect.isfunction), (IMPORTING, nothing)):
            add(function, kind, isolated=True, shards=SHARDS[kind], listeners=[self._over[kind]])
        self._scheduler.script("script", ["true"], shards=SHARDS["script"], listeners=[self._over["script"]])
        self._scheduler.http(
            "http", f"http://127.0.0.1:{port}/", shards=SHARDS["http"], listeners=[self._over["http"]]
        )

    def __enter__(self) -> "Bench":
        self._scheduler.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._scheduler.stop(grace=1.0)

    def fire(self, kind: str) -> float:
        """Milliseconds for each shard of a fire."""
        over, shards = self._over[kind], SHARDS[kind]
        with over.news:
            over.ended = 0
        began = time.perf_counter()
        self._scheduler.trigger(kind, wait=PATIENCE)
        with over.news:
            if not over.news.wait_for(lambda: over.ended >= shards, PATIENCE):
                raise TimeoutError(f"{kind}: only {over.ended} of {shards} shards have ended")
            return (over.at - began) * 1000 / shards


# -- the bare means ------------------------------------------------------------------------------------


def bare(kind: str, times: int, port: int) -> float:
    """Milliseconds for each of so many."""
    acts: dict[str, Callable[[], object]] = {
        "function": lambda: None,
        "dataflow": lambda: len([0]),
        "isolated": a_python,
        IMPORTING: a_python,
        "script": lambda: subprocess.run(["true"], check=True),
        "http": lambda: call(port),
    }
    began = time.perf_counter()
    if kind == "coroutine":
        asyncio.run(tasks(times))
    else:
        with ThreadPoolExecutor(THREADS) as pool:
            for done in wait([pool.submit(acts[kind]) for _ in range(times)]).done:
                done.result()
    return (time.perf_counter() - began) * 1000 / times


async def tasks(times: int) -> None:
    async def nothing() -> None:
        pass

    await asyncio.gather(*(asyncio.create_task(nothing()) for _ in range(times)))


def a_python() -> None:
    subprocess.run([sys.executable, "-c", "pass"], check=True)


def call(port: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    try:
        connection.request("GET", "/")
        if connection.getresponse().status != 204:
            raise RuntimeError("the server is not as it should be")
    finally:
        connection.close()


@contextmanager
def serving() -> Iterator[int]:
    """A server on loopback that answers at once."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 128

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()
