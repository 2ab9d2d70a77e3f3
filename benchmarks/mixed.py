"""What one fire costs a real ZooKeeper where Java members and ours share a job, counted on the wire by kind.

The job fires every three seconds, its six shards do nothing, two members share them: two of ElasticJob's, one
of each, two of ours. What one kind asks depends on the other: each node that is made or goes costs every Java
member requests of its own.
"""

import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.rows import Row
from tests.faults.processes import ROOT
from tests.faults.proxy import Proxy
from tests.interop.job import VERSIONS, Job
from tests.zookeeper_server import Server

SHARDS, PERIOD, FIRES = 6, 3.0, 10
CREWS = (("java", "java"), ("java", "python"), ("python", "java"), ("python", "python"))
PEER = f"ElasticJob {VERSIONS[0]} alone"


def run() -> Iterator[Row]:
    subprocess.run([ROOT / "scripts" / "interop"], check=True)
    alone: float | None = None
    with Server() as server, tempfile.TemporaryDirectory() as folder:
        for number, crew in enumerate(CREWS):
            place = Path(folder) / str(number)
            place.mkdir()
            asked, told = count(Job(server, place, f"mixed{number}", VERSIONS[0]), server, crew)
            total = sum(asked.values())
            alone = alone or total
            name = f"mixed: {' and '.join(crew)}, {SHARDS} shards"
            made_of = ", ".join(f"{kind} {each:.3g}" for kind, each in asked.items())
            yield Row(f"{name}, requests", total, alone, PEER, alone / total, "per fire", made_of)
            yield Row(f"{name}, told", told, None, "", None, "notifications")


def count(job: Job, server: Server, crew: Sequence[str]) -> tuple[dict[str, float], float]:
    """Requests of each kind of member, and notifications of all, per fire. The first of the crew leads."""
    job.cron, job.shards = "0/3 * * * * ?", SHARDS
    with job, Proxy(server.hosts) as java, Proxy(server.hosts) as python:
        wires, start = {"java": java, "python": python}, {"java": job.java, "python": job.python}
        members = [start[kind](f"{kind}-{place}", hosts=wires[kind].hosts) for place, kind in enumerate(crew)]
        job.until_shared_out(SHARDS, *members)
        job.next_fires(1, PERIOD)
        for wire in wires.values():
            wire.reset_counts()
        job.next_fires(FIRES - 1, PERIOD)  # it returns in the midst of one more
        asked = {kind: sum(wires[kind].requests.values()) - wires[kind].requests["ping"] for kind in crew}
        told = sum(sum(wire.notifications.values()) for wire in wires.values())
        return {kind: each / FIRES for kind, each in asked.items()}, told / FIRES
