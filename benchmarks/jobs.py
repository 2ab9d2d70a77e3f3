"""What jobs cost the process that has them, from one to ten thousand: threads, memory, starting, resting.

Every row is a process of its own, on a registry of its own. Beside it stands what ElasticJob 3.0.5 took for
400 jobs in one JVM with ZooKeeper on two cores; that was measured once and elsewhere, not in this run.
"""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.many_jobs import PATIENCE, Figures
from benchmarks.rows import Bounds, Row
from tests.faults.processes import Child
from tests.zookeeper_server import Server

COUNTS = (1, 100, 1_000, 10_000)

#: What ten thousand jobs may take: seconds to start, megabytes.
STARTED, MEGABYTES = 30.0, 400.0

PEER = "ElasticJob, 400 jobs"
PEER_THREADS, PEER_MEGABYTES, PEER_STARTED = 2011, 679, 37.4


def run() -> Iterator[Row]:
    bounds = Bounds()
    with tempfile.TemporaryDirectory(prefix="shardwright-bench-") as folder:
        urls = {count: f"sqlite://{Path(folder, f'{count}.db')}" for count in COUNTS}
        yield from counted("sqlite", urls, bounds)
    with Server() as server:
        urls = {count: f"zookeeper://{server.hosts}/bench{count}" for count in COUNTS}
        yield from counted("zookeeper", urls, bounds)
    bounds.check()


def counted(registry: str, urls: dict[int, str], bounds: Bounds) -> Iterator[Row]:
    threads_of_one = 0
    for count, url in urls.items():
        found = measured(url, count)
        threads_of_one = threads_of_one or found.threads
        name = f"jobs: {registry}, {count:,} jobs"
        yield from rows(name, found, bounds, threads=threads_of_one, most=count == max(COUNTS))


def measured(url: str, count: int) -> Figures:
    with Child("benchmarks.many_jobs", url, count) as child:
        return Figures(**json.loads(child.expect('{"threads"', within=2 * PATIENCE)))


def rows(name: str, found: Figures, bounds: Bounds, *, threads: int, most: bool) -> Iterator[Row]:
    """Of one process. Threads must not grow with jobs; the rest is bound where these are the most."""

    def row(what: str, ours: float, peer: float, unit: str, bound: float | None, more: str = "") -> Row:
        title = f"{name}: {what}"
        note = bounds.note(title, ours <= bound, f"must be <= {bound:g}") if bound is not None else ""
        told = "; ".join(part for part in (note, more) if part)
        return Row(title, ours, peer, PEER, peer / ours, unit, told)

    yield row("threads", found.threads, PEER_THREADS, "threads", threads)
    yield row("memory", found.megabytes, PEER_MEGABYTES, "MB", MEGABYTES if most else None)
    worked = f"{found.worked:.1f} s of CPU"
    yield row("start", found.started, PEER_STARTED, "s", STARTED if most else None, worked)
    yield Row(f"{name}: idle", found.idle, None, "", None, "ms CPU per s")
