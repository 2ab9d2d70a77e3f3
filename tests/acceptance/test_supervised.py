"""Replicas that a parent looks after: killed, replaced, and left alone, and every fire still runs, once."""

import json
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from shardwright import Scheduler
from shardwright.runtime.parent import VARIABLE
from tests.acceptance import jobs, replica
from tests.acceptance.conftest import zookeeper_url
from tests.acceptance.fleet import PATIENCE, Fleet, Replica
from tests.acceptance.history import OK, Run
from tests.acceptance.jobs import LONG, QUICK, STEADY
from tests.acceptance.notes import Notes
from tests.faults.processes import Child
from tests.zookeeper_server import Server

pytestmark = pytest.mark.slow

SESSION = 10.0


def supervised(url: str, address: str, history: str, told: str, processes: int) -> None:
    """What each process of it does: have these jobs, and so many replicas that run them."""
    is_replica = VARIABLE in os.environ
    notes = Notes(Path(history))
    if is_replica:
        notes.add("up", pid=os.getpid(), address=address)
    scheduler = Scheduler(url, address=address, grace=10.0)
    for each in json.loads(told):
        job = jobs.heard(each)
        scheduler.add(replica._body(job, notes, address), job.name, **job.settings())
    scheduler.run(processes=processes)
    if is_replica:
        notes.add("left", pid=os.getpid(), address=address)


class Parent(Replica):
    """The process that looks after the replicas, as what the acceptance tests' fleet starts and ends."""

    def __init__(self, fleet: Fleet, processes: int) -> None:
        told = json.dumps([job.told() for job in fleet.jobs])
        Child.__init__(self, supervised, fleet.url, "10.0.0.1", str(fleet._path), told, processes)
        self.address = "10.0.0.1"
        self.processes = processes

    def replicas(self) -> dict[int, int]:
        """The processes that run at present, by their numbers."""
        found: dict[int, int] = {}
        for line in list(self.lines):
            if match := re.search(r"replica (\d+) \(process (\d+)\) runs", line):
                found[int(match[1])] = int(match[2])
        return found


@contextmanager
def looked_after(
    url: str, folder: Path, those: list[jobs.Job], processes: int
) -> Iterator[tuple[Fleet, Parent]]:
    with Fleet(url, folder, those) as fleet:
        parent = Parent(fleet, processes)
        fleet.replicas.append(parent)
        fleet._all.append(parent)
        for _ in range(processes):
            parent.expect(") runs", PATIENCE)
        yield fleet, parent


def kill(fleet: Fleet, run: Run) -> float:
    """`kill -9` of whoever runs it; just before that was done."""
    fleet._notes.add("fault", kind="kill", pid=run.pid)
    at = fleet.history().died(run.pid)
    os.kill(run.pid, signal.SIGKILL)
    assert at is not None
    return at


def granted(server: Server) -> float:
    """The time-out that the server has given to all who are connected, in seconds."""
    given = {int(each) for each in re.findall(r"\bto=(\d+)", server.ask("cons"))}
    assert len(given) == 1, given
    return given.pop() / 1000.0


def wait(until: Callable[[], bool], fleet: Fleet) -> None:
    deadline = time.monotonic() + PATIENCE
    while not until():
        assert time.monotonic() < deadline, fleet.story()
        time.sleep(0.02)


@pytest.mark.zookeeper
def test_what_a_killed_replica_had_runs_elsewhere_before_its_session_could_have_ended(
    zookeeper_server: Server, tmp_path: Path
) -> None:
    url = zookeeper_url(zookeeper_server.hosts, SESSION)
    with looked_after(url, tmp_path, [LONG, STEADY], 3) as (fleet, parent):
        fleet.wait_for_all_shards()
        timeout = granted(zookeeper_server)
        run = fleet.wait_for_a_run(LONG)
        number = next(number for number, pid in parent.replicas().items() if pid == run.pid)
        killed = kill(fleet, run)
        again = fleet.wait(lambda history: len(history.same_fire(run)) == 2).same_fire(run)[-1]
        # A client shows that it lives at least every third of the time-out: sooner the server forgets nobody.
        assert again.began < killed + timeout * 2 / 3
        wait(lambda: parent.replicas()[number] != run.pid, fleet)
        history = fleet.finish()
    assert timeout == SESSION
    assert [(each.attempt, each.source, each.outcome) for each in history.same_fire(run)] == [
        (1, "scheduled", None),
        (2, "failover", OK),
    ]
    assert _no_secret_is_told(parent)


def test_what_a_killed_replica_had_runs_elsewhere(url: str, tmp_path: Path) -> None:
    with looked_after(url, tmp_path, [LONG, STEADY], 3) as (fleet, _):
        fleet.wait_for_all_shards()
        run = fleet.wait_for_a_run(LONG)
        kill(fleet, run)
        fleet.wait(lambda history: len(history.same_fire(run)) == 2)
        history = fleet.finish()
    assert [each.outcome for each in history.same_fire(run)] == [None, OK]


def test_all_are_replaced_one_after_the_other_and_no_fire_is_lost(url: str, tmp_path: Path) -> None:
    with looked_after(url, tmp_path, [STEADY, QUICK, LONG], 2) as (fleet, parent):
        fleet.wait_for_all_shards()
        old = set(parent.replicas().values())
        os.kill(parent.pid, signal.SIGHUP)
        wait(lambda: not old & set(parent.replicas().values()), fleet)
        history = fleet.finish()
    assert {(run.attempt, run.outcome) for run in history.runs} == {(1, OK)}
    assert len({run.pid for run in history.runs}) == 4
    assert old <= history.left.keys()


@pytest.mark.zookeeper
def test_when_the_parent_is_killed_all_leave_in_order(zookeeper: Server, tmp_path: Path) -> None:
    url = zookeeper_url(zookeeper.hosts, SESSION)
    with looked_after(url, tmp_path, [LONG], 2) as (fleet, parent):
        fleet.wait_for_all_shards()
        run = fleet.wait_for_a_run(LONG)
        os.kill(parent.pid, signal.SIGKILL)
        fleet.replicas.clear()
        replicas = set(parent.replicas().values())
        history = fleet.wait(lambda history: history.left.keys() >= replicas)
    assert [each.outcome for each in history.same_fire(run)] == [OK]


def _no_secret_is_told(parent: Child) -> bool:
    """Nothing that was printed looks like a session's password: sixteen bytes."""
    return not any(re.search(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])", line) for line in parent.lines)
