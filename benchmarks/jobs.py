"""What jobs cost the process that has them, from one to ten thousand: threads, memory, starting, resting.

Every row is a process of its own, on a registry of its own. Beside it stands what ElasticJob 3.0.5 took for
400 jobs in one JVM with ZooKeeper on two cores; that was measured once and elsewhere, not in this run.
"""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.many_jobs import PATIENCE, Figures
from benchmarks.rows import Row
from tests.faults.processes import Child
from tests.zookeeper_server import Server

COUNTS = (1, 100, 1_000, 10_000)

#: What ten thousand jobs may take: seconds to start, megabytes.
STARTED, MEGABYTES = 30.0, 400.0

PEER = "ElasticJob, 400 jobs"
PEER_THREADS, PEER_MEGABYTES, PEER_STARTED = 2011, 679, 37.4


def run() -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="shardwright-bench-") as folder:
        yield from rows("sqlite", {count: f"sqlite://{Path(folder, f'{count}.db')}" for count in COUNTS})
    with Server() as server:
        yield from rows("zookeeper", {count: f"zookeeper://{server.hosts}/bench{count}" for count in COUNTS})


def rows(registry: str, urls: dict[int, str]) -> Iterator[Row]:
    threads_of_one = 0
    for count, url in urls.items():
        found = measured(url, count)
        threads_of_one = threads_of_one or found.threads
        name, most = f"jobs: {registry}, {count:,} jobs", count == max(COUNTS)
        yield row(f"{name}: threads", found.threads, PEER_THREADS, "threads", bound=threads_of_one)
        yield row(f"{name}: memory", found.megabytes, PEER_MEGABYTES, "MB", bound=MEGABYTES if most else None)
        yield row(
            f"{name}: start",
            found.started,
            PEER_STARTED,
            "s",
            bound=STARTED if most else None,
            more=f"{found.worked:.1f} s of CPU",
        )
        yield Row(f"{name}: idle", found.idle, None, "", None, "ms CPU per s")


def measured(url: str, count: int) -> Figures:
    with Child("benchmarks.many_jobs", url, count) as child:
        return Figures(**json.loads(child.expect('{"threads"', within=2 * PATIENCE)))


def row(name: str, ours: float, peer: float, unit: str, *, bound: float | None, more: str = "") -> Row:
    must = "" if bound is None else f"must be <= {bound:g}"
    note = must if bound is None or ours <= bound else f"TOO MUCH: {must}"
    return Row(name, ours, peer, PEER, peer / ours, unit, "; ".join(part for part in (note, more) if part))
