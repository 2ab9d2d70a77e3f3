"""How soon others have what a replica leaves behind that is killed in mid-run while a parent looks after it.

On ZooKeeper, with a session of ten seconds: a server forgets nobody sooner than after two thirds of that, so
what is faster is the parent's doing, which ends the session of one that died.

    python -m benchmarks.supervised <registry> <story>

is the parent, and each of its replicas. They write a story as a crew does (see `crew.py`).
"""

import os
import re
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.crew import EVERY_SECOND, JOB, Crew, Held, now
from benchmarks.rows import Row
from benchmarks.takeover import at
from shardwright import Scheduler
from shardwright.runtime import berth
from tests.faults.processes import Child
from tests.zookeeper_server import Server

SESSION, TICK = 10.0, 0.5
PROCESSES = 3
KILLS = 20

#: Seconds that it may take at most.
BOUND = 1.0


def run() -> Iterator[Row]:
    with (
        Server(tick=int(TICK * 1000)) as server,
        tempfile.TemporaryDirectory(prefix="shardwright-") as folder,
    ):
        took = kills(f"zookeeper://{server.hosts}/supervised?session_timeout={SESSION:g}s", Path(folder))
    title = f"supervised: zookeeper, session {SESSION:g} s, kill -9 to running elsewhere"
    late = at(took, 0.99)
    yield Row(f"{title}, p50", at(took, 0.5), None, "", None, "s", f"{len(took)} times")
    note = f"must be <= {BOUND:g}" if late <= BOUND else f"BROKEN: must be <= {BOUND:g}"
    yield Row(f"{title}, p99", late, None, "", None, "s", note)
    yield Row(f"{title}, max", max(took), None, "", None, "s")
    if late > BOUND:
        raise AssertionError(f"too late: {late:.3f} s")


def kills(url: str, folder: Path) -> list[float]:
    """From the kill to the entry of the job's function in another process, told by that process."""
    took = []
    with Kept(url, folder, size=PROCESSES) as kept:
        for _ in range(KILLS):
            kept.fill()
            kept.wait_for(lambda: len(kept.runs()) == kept.shards, "the shard runs")
            (victim,) = kept.runs().values()
            killed = kept.kill(victim)
            kept.wait_for(lambda: len(kept.runs()) == kept.shards, "the shard runs elsewhere")
            entered = next(event for event in reversed(kept.story) if event.what == "entered")
            assert entered.pid != victim
            took.append(entered.at - killed)
            kept.release()
    return took


class Kept(Crew):
    """A crew that a parent looks after: it starts another for each that is killed."""

    def __init__(self, url: str, folder: Path, *, size: int) -> None:
        super().__init__(url, folder, size=size)
        self._parent = Child("benchmarks.supervised", url, str(self._path))
        self._killed: set[int] = set()

    def fill(self) -> None:
        """Wait until there are as many as are wanted, and all are in the job."""
        self.wait_for(lambda: len(self._running()) == self.size, "all run")
        self.members = dict.fromkeys(self._running(), self._parent)

    def kill(self, pid: int) -> float:
        self._killed.add(pid)
        del self.members[pid]
        killed = now()
        os.kill(pid, signal.SIGKILL)
        return killed

    def _running(self) -> set[int]:
        said = "\n".join(self._parent.lines)
        return {int(pid) for pid in re.findall(r"process (\d+)\) runs", said)} - self._killed


def main(url: str, story: str) -> None:
    berth.PAUSE_MOST = berth.PAUSE  # how soon another is started is not the question, and takes its time
    scheduler = Scheduler(url)
    scheduler.add(Held(story), JOB, cron=EVERY_SECOND, failover=True)
    scheduler.run(processes=PROCESSES)


if __name__ == "__main__":
    main(*sys.argv[1:])
