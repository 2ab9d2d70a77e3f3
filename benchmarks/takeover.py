"""How soon others have what a process leaves behind: after `kill -9` in mid-run, and after leaving in order.

Two processes share a job; one goes, and a new one takes its place for the next round. The one that goes is
the one that has the shard, and from the second round on it leads: the survivor has to be elected as well.
"""

import os
import signal
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from pathlib import Path

from benchmarks.crew import EVERY_SECOND, JOB, NEVER, PATIENCE, Crew, now
from benchmarks.rows import Row
from shardwright.registry import Registry, Tree, connect
from tests.zookeeper_server import Server

TICK, SESSION = 0.5, 2.0

#: How often each is tried: a session of ZooKeeper's takes seconds to run out.
KILLS = {"sqlite": 40, "zookeeper": 12}
STOPS = 12

#: Seconds that each may take at most.
KILLED = {"sqlite": 0.5, "zookeeper": SESSION + TICK + 1.0}
STOPPED = 0.5

#: Seconds for which a run goes on after SIGTERM: by then the leader has left word whose the shard is to be.
WORD = 0.5


#: What was measured, the seconds that each took, and how many they may be.
Measured = tuple[str, list[float], float]


def run() -> Iterator[Row]:
    yield from judged(measured())


def measured() -> Iterator[Measured]:
    with (
        Server(tick=int(TICK * 1000)) as server,
        tempfile.TemporaryDirectory(prefix="shardwright-") as folder,
    ):
        for kind in ("sqlite", "zookeeper"):
            for name, measure, bound in (
                ("kill -9 to running elsewhere", kills, KILLED[kind]),
                ("SIGTERM, idle, to another's", idle_stops, STOPPED),
                ("SIGTERM, end of run to another's", busy_stops, STOPPED),
            ):
                place = Path(folder, kind, measure.__name__)
                place.mkdir(parents=True)
                took = measure(kind, url_of(kind, place, server), place)
                yield f"takeover: {kind}, {name}", took, bound


def judged(measured: Iterable[Measured]) -> Iterator[Row]:
    """Rows of all that was measured; raises in the end if any of it was too late."""
    broken: list[str] = []
    for title, took, bound in measured:
        yield from rows(title, took, bound)
        broken += [title] if at(took, 0.99) > bound else []
    if broken:
        raise AssertionError(f"too late: {'; '.join(broken)}")


def url_of(kind: str, place: Path, server: Server) -> str:
    if kind == "sqlite":
        return f"sqlite://{place / 'jobs.db'}"
    return f"zookeeper://{server.hosts}/{place.name}?session_timeout={SESSION:g}s"


def rows(title: str, took: list[float], bound: float) -> Iterator[Row]:
    yield Row(f"{title}, p50", at(took, 0.5), None, "", None, "s", f"{len(took)} times")
    note = f"worst {max(took):.3f}; must be <= {bound:g}"
    late = at(took, 0.99)
    yield Row(f"{title}, p99", late, None, "", None, "s", note if late <= bound else f"BROKEN: {note}")


def at(values: list[float], quantile: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * quantile))]


# -- killed -------------------------------------------------------------------------------------------


def kills(kind: str, url: str, folder: Path) -> list[float]:
    """From the kill to the entry of the job's function in the other process, told by that process."""
    took = []
    with Crew(url, folder) as crew:
        for _ in range(KILLS[kind]):
            crew.fill()
            crew.wait_for(lambda: len(crew.runs()) == crew.shards, "the shard runs")
            (victim,) = crew.runs().values()
            killed = crew.kill(victim)
            crew.wait_for(lambda: len(crew.runs()) == crew.shards, "the shard runs elsewhere")
            entered = next(event for event in reversed(crew.story) if event.what == "entered")
            took.append(entered.at - killed)
            crew.release()
    return took


# -- told to end --------------------------------------------------------------------------------------

#: Has a process leave; gives back the question from when on it keeps others waiting.
Leave = Callable[[Crew, int], Callable[[], float]]


def idle_stops(kind: str, url: str, folder: Path) -> list[float]:
    """From SIGTERM to the idle shard being the other's, by its owner's node as a third process reads it."""

    def leave(crew: Crew, victim: int) -> Callable[[], float]:
        told = now()
        os.kill(victim, signal.SIGTERM)
        return lambda: told

    return stops(Crew(url, folder, cron=NEVER), leave)


def busy_stops(kind: str, url: str, folder: Path) -> list[float]:
    """From the end of the run that went on when SIGTERM came to the shard being the other's, likewise."""

    def leave(crew: Crew, victim: int) -> Callable[[], float]:
        crew.wait_for(lambda: victim in crew.runs().values(), "the shard runs")
        os.kill(victim, signal.SIGTERM)
        time.sleep(WORD)
        crew.release()
        return lambda: end_of_run(crew, victim)

    return stops(Crew(url, folder, cron=EVERY_SECOND), leave)


def end_of_run(crew: Crew, victim: int) -> float:
    def ends() -> list[float]:
        return [event.at for event in crew.story if (event.what, event.pid) == ("left", victim)]

    crew.wait_for(lambda: bool(ends()), "the run has ended")
    return ends()[-1]


def stops(crew: Crew, leave: Leave) -> list[float]:
    took = []
    with crew, connect(crew.url) as registry:
        for _ in range(STOPS):
            crew.fill()
            victim = wait_for_owner(registry, crew.members.keys())
            since = leave(crew, victim)
            wait_for_owner(registry, crew.members.keys() - {victim})
            seen = now()
            took.append(seen - since())
            crew.members.pop(victim).wait()
    return took


def wait_for_owner(registry: Registry, wanted: Collection[int]) -> int:
    """The process that has the shard, by the node of its owner, once it is one of those wanted."""
    root = f"{registry.namespace}/{JOB}"
    node, tree = f"{root}/sharding/0/instance", registry.mirror(root)
    deadline = now() + PATIENCE
    while now() < deadline:
        seen = tree.changes
        found = registry.wait(registry.read([node]))[node]
        pid = int(found.data.partition("@-@")[2].partition("-")[0]) if found is not None else 0
        if pid in wanted:
            return pid
        registry.wait_for(partial(has_changed, tree, seen), PATIENCE)
    raise TimeoutError(f"the shard is not given to any of {wanted} in {PATIENCE:g} s")


def has_changed(tree: Tree, seen: int) -> bool:
    return tree.changes != seen
