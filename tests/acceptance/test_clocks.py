"""The wall clock is set while jobs run: no fire is lost by that, and none runs twice."""

from pathlib import Path

import pytest

from tests.acceptance.conftest import SESSION, zookeeper_url
from tests.acceptance.fleet import Fleet
from tests.acceptance.jobs import LONG, QUICK, STEADY
from tests.conftest import require
from tests.faults import wallclock
from tests.faults.wallclock import WallClock
from tests.zookeeper_server import Server

pytestmark = pytest.mark.slow

JOBS = [STEADY, QUICK, LONG]
HOUR = 3600.0
QUIET = 3.0


@pytest.fixture
def clock(tmp_path: Path) -> WallClock:
    require(wallclock.missing())
    return WallClock(tmp_path)


def test_on_zookeeper_the_servers_clock_counts_and_a_members_does_not(
    zookeeper: Server, clock: WallClock, tmp_path: Path
) -> None:
    with Fleet(zookeeper_url(zookeeper.hosts), tmp_path, JOBS) as fleet:
        fleet.start(1)
        fleet.start(1, env=clock.env)
        fleet.wait_for_all_shards()
        clock.set(HOUR)
        fleet.wait_for_all_shards()
        clock.set(-HOUR)
        fleet.finish()


def test_on_sqlite_an_hour_that_comes_again_does_not_fire_again(clock: WallClock, tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    with Fleet(f"sqlite://{tmp_path / 'registry.db'}?session_timeout={SESSION}s", tmp_path, JOBS) as fleet:
        fleet.start(2, env=clock.env)
        fleet.wait_for_all_shards()
        clock.set(-HOUR)
        fleet.stepped(-HOUR)
        fleet.wait_for_quiet(QUIET)
        clock.set(0.0)
        fleet.stepped(0.0)
        fleet.finish()


def test_on_sqlite_an_hour_that_is_left_out_is_stood_for_by_its_last_fire(
    clock: WallClock, tmp_path: Path
) -> None:
    tmp_path.chmod(0o700)
    with Fleet(f"sqlite://{tmp_path / 'registry.db'}?session_timeout={SESSION}s", tmp_path, JOBS) as fleet:
        fleet.start(2, env=clock.env)
        fleet.wait_for_all_shards()
        fleet.stepped(HOUR)
        clock.set(HOUR)
        fleet.finish()
