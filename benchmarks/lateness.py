"""How late work begins: from its scheduled time to its first line, at 200 shards a second.

20 jobs of 10 shards fire at the beginning of every second, all together, in one process: with nothing else to
do, and beside two CPU-bound Python threads. Every row is a process of its own. Beside it stands APScheduler 3
with the same load and the same number of threads, in the same run; it keeps everything in memory and asks
nobody, where we claim each shard of each fire in a registry first.

With nothing else to do, the median is what it takes to hand 100 runs to threads and begin them, which goes
with the machine: on a slow one the peer needs 5 ms, too. Ours switches between threads ten times as often as
Python does by itself, which costs a part of it and is what keeps runs on time beside busy threads. The 99th
percentile is mostly a full garbage collection, if one falls into a fire.
"""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.on_time import APSCHEDULER, Figures
from benchmarks.rows import Row
from tests.faults.processes import Child
from tests.zookeeper_server import Server

PEER = "APScheduler 3"
BUSY = (0, 2)

WITHIN = 600.0


def run() -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="shardwright-bench-") as folder, Server() as server:
        for busy in BUSY:
            peer = measured(busy, APSCHEDULER)
            for registry, url in (
                ("sqlite", f"sqlite://{Path(folder, f'{busy}.db')}"),
                ("zookeeper", f"zookeeper://{server.hosts}/bench{busy}"),
            ):
                yield from rows(f"lateness: {registry}, {busy} busy threads", measured(busy, url), peer)


def measured(busy: int, what: str) -> Figures:
    with Child("benchmarks.on_time", busy, what) as child:
        return Figures(**json.loads(child.expect('{"p50"', within=WITHIN)))


def rows(name: str, ours: Figures, peer: Figures) -> Iterator[Row]:
    for which, ours_ms, peer_ms in (
        ("p50", ours.p50, peer.p50),
        ("p99", ours.p99, peer.p99),
        ("max", ours.max, peer.max),
    ):
        yield Row(f"{name}: {which}", ours_ms, peer_ms, PEER, ours_ms / peer_ms, "ms", "ours / theirs")
