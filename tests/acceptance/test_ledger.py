"""The ledger: whatever happens to processes, and to the history, every fire has one disposition in it."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from shardwright.history import queries
from shardwright.history.ledger import Disposition
from shardwright.history.store import Store
from shardwright.registry import connect
from shardwright.schedule import parse
from tests.acceptance.fleet import Fleet
from tests.acceptance.jobs import Job
from tests.databases import Database

#: Often enough that faults fall into runs, and slow enough that they are there to be hit.
JOB = Job("accounted", every=2, length=0.6, shards=3)

#: More entries than there are.
MANY = 10_000

#: For how many seconds the history is away: longer than anybody waits for it.
AWAY = 12.0


@dataclass
class Place:
    """Where the history is, and how to take it away."""

    address: str
    away: Callable[[], Iterator[None]]


@pytest.fixture(
    params=[
        "sqlite",
        pytest.param("postgresql_server", marks=pytest.mark.postgresql),
        pytest.param("mariadb_server", marks=pytest.mark.mariadb),
    ]
)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "sqlite":
        file = tmp_path / "ledger.db"

        def locked() -> Iterator[None]:
            with closing(sqlite3.connect(file, isolation_level=None)) as connection:
                connection.execute("begin exclusive")
                yield

        return Place(f"sqlite:///{file}", locked)
    server: Database = request.getfixturevalue(request.param)

    def killed() -> Iterator[None]:
        server.kill()
        yield
        server.restart()

    return Place(server.make("accounts"), killed)


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_every_fire_has_one_disposition_although_members_and_the_history_die(
    url: str, place: Place, tmp_path: Path
) -> None:
    history = {"SHARDWRIGHT_HISTORY": place.address}
    with Fleet(url, tmp_path, [JOB]) as fleet:
        fleet.start(3, env=history)
        fleet.wait_for_all_shards()
        fleet.kill(fleet.replica_of(fleet.wait_for_a_run(JOB)))
        with contextmanager(place.away)():
            fleet.wait_while(AWAY)
            fleet.kill(fleet.replica_of(fleet.wait_for_a_run(JOB)))
            fleet.start(1, env=history)
            fleet.wait_for_all_shards()
        with fleet.stopped_in_mid_run(JOB):
            fleet.wait_for_all_shards()
        found = fleet.finish()
        fires = sorted({run.fire for run in found.runs if run.fire is not None})
        expected = list(scheduled(fires[0], fires[-1]))
        made = making(url)
        fleet.start(1, env=history)  # whoever looks next tells what the others could not
        with Store(place.address) as store:
            fleet.wait(lambda _: not store.gaps(JOB.name, expected, JOB.shards, made=made))
        fleet.finish()
    with Store(place.address) as store:
        rows = {
            (entry.key.fire, entry.key.item): entry
            for entry in queries.history(store, job=JOB.name, limit=MANY).entries
            if entry.due <= expected[-1]
        }
    ran = {(run.fire.astimezone(UTC).isoformat(), run.item) for run in found.runs if run.fire is not None}
    for key, entry in rows.items():
        said = f"{key}: {entry}\n{fleet.story()}"
        assert entry.disposition is not Disposition.RUNNING, said
        if entry.disposition in (Disposition.RAN, Disposition.FAILED_OVER):
            assert key in ran, said
    assert {entry.disposition for entry in rows.values()} >= {Disposition.RAN, Disposition.FAILED_OVER}


def scheduled(first: datetime, last: datetime) -> Iterator[datetime]:
    """Every fire from one to another."""
    schedule = parse(JOB.settings()["cron"], "UTC")
    yield first
    yield from schedule.between(first, last)


def making(url: str) -> int:
    """Which making of the job it is."""
    with connect(url) as registry:
        path = f"{registry.namespace}/{JOB.name}"
        node = registry.wait(registry.read([path]))[path]
        assert node is not None
        return node.made
