"""How soon another is master, or has all of the work for its slice, when a replica goes: after leaving in
order, and after `kill -9`.

There are two replicas, and a new one takes the place of the one that goes. That is the one that is master,
or from the second time on the one that leads: the survivor has to be elected as well.
"""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.crew import PATIENCE, Crew, now
from benchmarks.rows import Row
from benchmarks.takeover import KILLED, STOPPED, TICK, Measured, judged, url_of
from tests.faults.processes import Child
from tests.zookeeper_server import Server

#: How often each is tried: a session of ZooKeeper's takes seconds to run out.
KILLS = {"sqlite": 20, "zookeeper": 8}
STOPS = {"sqlite": 20, "zookeeper": 20}

#: Has a replica go; gives back when.
Go = Callable[[Crew, int], float]


def run() -> Iterator[Row]:
    yield from judged(measured())


def measured() -> Iterator[Measured]:
    with (
        Server(tick=int(TICK * 1000)) as server,
        tempfile.TemporaryDirectory(prefix="shardwright-") as folder,
    ):
        for kind in ("sqlite", "zookeeper"):
            for what in ("master", "slice"):
                for name, go, times, bound in (
                    ("SIGTERM", stop, STOPS[kind], STOPPED),
                    ("kill -9", kill, KILLS[kind], KILLED[kind]),
                ):
                    place = Path(folder, kind, f"{what}-{go.__name__}")
                    place.mkdir(parents=True)
                    crew = Replicas(url_of(kind, place, server), place, what)
                    took = handovers(crew, go, times)
                    yield f"recipes: {kind}, {name} to another's {what}", took, bound


class Replicas(Crew):
    """Two of a service, who all want to be master or to have a slice."""

    def __init__(self, url: str, folder: Path, what: str) -> None:
        super().__init__(url, folder)
        self._root, self._what = f"/{folder.name}", what

    def _start(self, story: str) -> Child:
        return Child("benchmarks.replica", self.url, story, self._root, self._what)

    def settled(self) -> bool:
        """Whether one is master, or each has one of so many slices as there are replicas."""
        if self._what == "master":
            return bool(self.entered(1))
        return len(self.entered(self.size)) == self.size

    def first(self) -> int:
        """The master; of those with a slice the one that came first, and leads from the second round on."""
        return next(iter(self.entered(1) if self._what == "master" else self.members))

    def heir(self, gone: float) -> float:
        """When the one that is left has told that it has all."""
        self.wait_for(lambda: bool(self.entered(1, gone)), "the other has it")
        return max(self.entered(1, gone).values())

    def entered(self, item: int, since: float = 0.0) -> dict[int, float]:
        """Which replicas that live have told this last, and when."""
        told = [event for event in self.story if event.pid in self.members and event.what != "joined"]
        last = {event.pid: event for event in told}
        return {
            pid: event.at
            for pid, event in last.items()
            if (event.what, event.item) == ("entered", item) and event.at >= since
        }


def handovers(crew: Replicas, go: Go, times: int) -> list[float]:
    """From the signal to the word of the other replica that it is master, or has slice 0 of 1."""
    took = []
    with crew:
        for _ in range(times):
            crew.fill()
            crew.wait_for(crew.settled, "they have settled")
            gone = go(crew, crew.first())
            took.append(crew.heir(gone) - gone)
    return took


def stop(crew: Crew, pid: int) -> float:
    """SIGTERM; says when."""
    at = now()
    with crew.members.pop(pid) as child:
        child.terminate(PATIENCE)
    return at


def kill(crew: Crew, pid: int) -> float:
    """`kill -9`; says when."""
    return crew.kill(pid)
