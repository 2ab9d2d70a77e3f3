"""Processes that share a job whose runs go on until they are released, and the story they write of it.

    python -m benchmarks.crew <registry> <story> <shards> <cron>

is one of them. Each appends a line of JSON to the story for all that happens, stamped with the boot clock,
which all processes of a machine share: `joined`, `entered` and `left` (the job's own function), `stopped`.
SIGUSR1 releases what runs, SIGTERM ends the process in order.
"""

import contextlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType, TracebackType
from typing import NamedTuple, Self

from shardwright import Scheduler, Shard
from tests.faults.processes import Child

JOB = "held"
PATIENCE = 30.0

#: A schedule that never comes, for a job that is to stay idle.
NEVER = "0 0 0 1 1 ? 2099"
EVERY_SECOND = "* * * * * ?"


def now() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


# -- one of them --------------------------------------------------------------------------------------


class Held:
    """A job whose runs go on until SIGUSR1, and who tells when each began and ended in a file."""

    def __init__(self, story: str) -> None:
        self._file = os.open(story, os.O_WRONLY | os.O_APPEND)
        self._release = [threading.Event()]
        signal.signal(signal.SIGUSR1, self._let_go)

    def __call__(self, shard: Shard) -> None:
        until = self._release[0]
        self.tell("entered", shard.item)
        until.wait()
        self.tell("left", shard.item)

    def tell(self, event: str, item: int = -1) -> None:
        line = json.dumps([event, os.getpid(), item, now()])
        os.write(self._file, f"{line}\n".encode())

    def _let_go(self, number: int, frame: FrameType | None) -> None:
        self._release.append(threading.Event())
        self._release.pop(0).set()


def main(url: str, story: str, shards: str, cron: str) -> None:
    held, over = Held(story), threading.Event()
    signal.signal(signal.SIGTERM, lambda number, frame: over.set())
    scheduler = Scheduler(url)
    scheduler.add(held, JOB, cron=cron, shards=int(shards), failover=True)
    scheduler.start()
    # Who leads is known before we are in the job ourselves: a survivor must be there when the other goes.
    assert scheduler._supervisor.inside is not None
    assert scheduler._supervisor.inside.is_known(JOB).result(PATIENCE).result(PATIENCE)
    held.tell("joined")
    over.wait()
    scheduler.stop()
    held.tell("stopped")


# -- all of them --------------------------------------------------------------------------------------


class Event(NamedTuple):
    """A line of the story."""

    what: str
    pid: int
    item: int
    at: float


class Crew:
    """So many processes, new ones in the place of those gone, and what they have told so far."""

    def __init__(
        self, url: str, folder: Path, *, size: int = 2, shards: int = 1, cron: str = EVERY_SECOND
    ) -> None:
        self.url, self.size, self.shards, self._cron = url, size, shards, cron
        self.members: dict[int, Child] = {}
        self.story: list[Event] = []
        self._path = folder / "story"
        self._path.touch()
        self._file = self._path.open()
        self._line = ""

    def fill(self) -> None:
        """Start as many as are missing, and wait until they are in the job."""
        while len(self.members) < self.size:
            child = self._start(str(self._path))
            self.members[child.pid] = child
        self.wait_for(lambda: self.members.keys() <= self._joined(), "all have joined")

    def _start(self, story: str) -> Child:
        return Child("benchmarks.crew", self.url, story, self.shards, self._cron)

    def _joined(self) -> set[int]:
        return {event.pid for event in self.story if event.what == "joined"}

    def runs(self) -> dict[int, int]:
        """The shards that run in processes that live, each with its process."""
        running: dict[int, int] = {}
        for event in self.story:
            if event.what == "entered":
                running[event.item] = event.pid
            elif event.what == "left" and running.get(event.item) == event.pid:
                del running[event.item]
        return {item: pid for item, pid in running.items() if pid in self.members}

    def release(self) -> None:
        """Let everything that runs now end."""
        for pid in self.members:
            os.kill(pid, signal.SIGUSR1)

    def kill(self, pid: int) -> float:
        """`kill -9`; says when."""
        at = now()
        self.members.pop(pid).close()
        return at

    def wait_for(self, condition: Callable[[], bool], what: str) -> None:
        """Read on in the story until the condition holds."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            if not self._read_on():
                time.sleep(0.005)
            if time.monotonic() > deadline:
                said = "\n".join(line for child in self.members.values() for line in child.lines[-20:])
                raise TimeoutError(f"not in {PATIENCE:g} s: {what}; {self.story[-10:]}\n{said}")

    def _read_on(self) -> bool:
        text = self._file.read()
        *lines, self._line = (self._line + text).split("\n")
        self.story += (Event(*json.loads(line)) for line in lines)
        return bool(lines)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for child in self.members.values():
            child.close()
        self._file.close()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main(*sys.argv[1:])
