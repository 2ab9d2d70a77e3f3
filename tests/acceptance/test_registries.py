"""The registry itself is killed, frozen or locked, and every fire is accounted for."""

import sqlite3
from pathlib import Path

import pytest

from tests.acceptance.conftest import SESSION, zookeeper_url
from tests.acceptance.fleet import Fleet
from tests.acceptance.history import CANCELLED, OK
from tests.acceptance.jobs import LONG, PLAIN, QUICK, SLOW, STEADY
from tests.zookeeper_server import Ensemble, Server

pytestmark = pytest.mark.slow

JOBS = [STEADY, QUICK, LONG, PLAIN]


def test_the_leader_of_three_servers_is_killed(ensemble: Ensemble, tmp_path: Path) -> None:
    with Fleet(zookeeper_url(ensemble.hosts, session=4.0), tmp_path, JOBS) as fleet:
        fleet.start(3)
        fleet.wait_for_all_shards()
        fleet.wait_for_a_run(LONG)
        with fleet.trouble("server killed"):
            ensemble.leader().kill()
            fleet.wait_for_all_shards()
        fleet.finish()


def test_the_only_server_is_away_for_longer_than_the_sessions(
    zookeeper_server: Server, tmp_path: Path
) -> None:
    with Fleet(zookeeper_url(zookeeper_server.hosts), tmp_path, [SLOW, *JOBS]) as fleet:
        fleet.start(3)
        run = fleet.wait_for_a_run(SLOW)
        with fleet.trouble("server killed"):
            zookeeper_server.kill()
            fleet.wait_while(2 * SESSION)
            zookeeper_server.restart()
        history = fleet.finish()
    assert [each.outcome for each in history.same_fire(run)] == [CANCELLED, OK]


def test_all_three_servers_are_away_for_longer_than_the_sessions(ensemble: Ensemble, tmp_path: Path) -> None:
    with Fleet(zookeeper_url(ensemble.hosts), tmp_path, [SLOW, *JOBS]) as fleet:
        fleet.start(3)
        run = fleet.wait_for_a_run(SLOW)
        with fleet.trouble("servers killed"):
            for server in ensemble.servers:
                server.kill()
            fleet.wait_while(2 * SESSION)
            for server in ensemble.servers:
                server.launch()
            for server in ensemble.servers:
                server.wait_until_serving()
        history = fleet.finish()
    assert [each.outcome for each in history.same_fire(run)] == [CANCELLED, OK]


def test_a_file_locked_for_longer_than_the_sessions_costs_nobody_a_run(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    file = tmp_path / "registry.db"
    with Fleet(f"sqlite://{file}?session_timeout={SESSION}s", tmp_path, [SLOW, *JOBS]) as fleet:
        fleet.start(2)
        run = fleet.wait_for_a_run(SLOW)
        with fleet.trouble("locked"):
            writer = sqlite3.connect(file, isolation_level=None)
            writer.execute("PRAGMA busy_timeout = 10000")
            writer.execute("BEGIN IMMEDIATE")
            fleet.wait_while(1.5 * SESSION)
            writer.execute("ROLLBACK")
            writer.close()
        history = fleet.finish()
    assert [each.outcome for each in history.same_fire(run)] == [OK]
