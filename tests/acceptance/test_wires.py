"""The wire to ZooKeeper is cut, or swallows what is sent, and every fire still runs, once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.conftest import SESSION, zookeeper_url
from tests.acceptance.fleet import Fleet
from tests.acceptance.history import CANCELLED, OK
from tests.acceptance.jobs import LONG, QUICK, SLOW, STEADY
from tests.faults.proxy import Proxy
from tests.zookeeper_server import Server

pytestmark = pytest.mark.slow

CUT = 2.0
LASTING = 5.0
"""A session that outlives such a cut."""


@pytest.fixture
def wire(zookeeper: Server) -> Iterator[Proxy]:
    with Proxy(zookeeper.hosts) as proxy:
        yield proxy


def test_when_all_are_cut_off_for_less_than_a_session_what_runs_goes_on(
    zookeeper: Server, wire: Proxy, tmp_path: Path
) -> None:
    door = zookeeper_url(zookeeper.hosts, session=LASTING)
    with Fleet(door.replace(zookeeper.hosts, wire.hosts), tmp_path, [SLOW, STEADY], door=door) as fleet:
        fleet.start(2)
        run = fleet.wait_for_a_run(SLOW)
        with fleet.trouble("cut"):
            wire.cut()
            fleet.wait_while(CUT)
            wire.heal()
        history = fleet.finish()
    assert [each.outcome for each in history.same_fire(run)] == [OK]


def test_one_behind_a_half_open_connection_stops_before_another_begins(
    zookeeper: Server, wire: Proxy, tmp_path: Path
) -> None:
    door = zookeeper_url(zookeeper.hosts)
    with Fleet(door, tmp_path, [SLOW, STEADY, QUICK]) as fleet:
        fleet.start(1)
        (behind,) = fleet.start(1, url=door.replace(zookeeper.hosts, wire.hosts))
        run = fleet.wait_for_a_run(SLOW, by=behind)
        with fleet.trouble("half-open", behind):
            wire.half_open()
            fleet.wait(lambda history: len(history.same_fire(run)) == 2)
            wire.heal()
        history = fleet.finish()
    assert [each.outcome for each in history.same_fire(run)] == [CANCELLED, OK]


def test_one_cut_off_for_longer_than_its_session_comes_back(
    zookeeper: Server, wire: Proxy, tmp_path: Path
) -> None:
    door = zookeeper_url(zookeeper.hosts)
    with Fleet(door, tmp_path, [STEADY, QUICK, LONG]) as fleet:
        fleet.start(1)
        (behind,) = fleet.start(1, url=door.replace(zookeeper.hosts, wire.hosts))
        fleet.wait(lambda history: any(run.pid == behind.pid for run in history.runs))
        with fleet.trouble("cut", behind):
            wire.cut()
            fleet.wait_while(1.5 * SESSION)
            wire.heal()
        fleet.wait(lambda history: any(run.pid == behind.pid for run in history.since_the_last_fault()))
        history = fleet.finish()
    (cut,) = history.faults
    theirs = {run.shard for run in history.runs if run.pid == behind.pid and run.began < cut.at}
    stood_in = {
        run.shard for run in history.runs if run.pid != behind.pid and cut.lasted(run.began, run.began)
    }
    assert theirs & stood_in
