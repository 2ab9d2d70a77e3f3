"""The ledger: whatever happens to processes, to the registry and to the history, every fire has one
disposition in it, and it is the true one."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from shardwright.history import queries
from shardwright.history.ledger import Disposition
from shardwright.history.store import Store
from shardwright.registry import connect
from tests import calendar_brute
from tests.acceptance import books
from tests.acceptance.conftest import SESSION
from tests.acceptance.fleet import Fleet
from tests.acceptance.jobs import Job
from tests.databases import Database
from tests.faults.proxy import Proxy
from tests.zookeeper_server import Server

#: Often enough that faults fall into runs, and slow enough that they are there to be hit.
JOB = Job("accounted", every=2, length=0.6, shards=3, fails_first=True)

#: More entries than there are.
MANY = 10_000

#: For how many seconds the history is away: longer than anybody waits for it.
AWAY = 12.0

#: For how many of these the registry is away, too: longer than the sessions.
CUT = 1.5 * SESSION

#: For how many seconds nobody is there: some fires fall into it.
EMPTY = 4.0


@dataclass
class Place:
    """Where the history is, and how to take it away."""

    address: str
    away: Callable[[], Iterator[None]]


@dataclass
class Realm:
    """Where the registry is for the processes and for us, and how to take it away from them."""

    url: str
    door: str
    away: Callable[[], Iterator[None]]


@pytest.fixture
def realm(url: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Realm]:
    if url.startswith("sqlite:"):

        def locked() -> Iterator[None]:
            with closing(sqlite3.connect(tmp_path / "registry.db", isolation_level=None)) as writer:
                writer.execute("pragma busy_timeout = 10000")
                writer.execute("begin immediate")
                yield

        yield Realm(url, url, locked)
        return
    server: Server = request.getfixturevalue("zookeeper")
    with Proxy(server.hosts) as wire:

        def cut() -> Iterator[None]:
            wire.cut()
            yield
            wire.heal()

        yield Realm(url.replace(server.hosts, wire.hosts), url, cut)


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
def test_every_fire_has_one_disposition_although_members_and_the_registry_and_the_history_fail(
    realm: Realm, place: Place, tmp_path: Path
) -> None:
    history = {"SHARDWRIGHT_HISTORY": place.address}
    with Fleet(realm.url, tmp_path, [JOB], door=realm.door) as fleet:
        fleet.start(3, env=history)
        fleet.wait_for_all_shards()
        fleet.kill(fleet.replica_of(fleet.wait_for_a_run(JOB)))
        with contextmanager(place.away)():
            fleet.wait_while(AWAY - CUT)
            with fleet.trouble("registry away"), contextmanager(realm.away)():
                fleet.wait_while(CUT)
            fleet.kill(fleet.replica_of(fleet.wait_for_a_run(JOB)))
            fleet.start(1, env=history)
            fleet.wait_for_all_shards()
        with fleet.stopped_in_mid_run(JOB):
            fleet.wait_for_all_shards()
        fleet.terminate(fleet.replica_of(fleet.wait_for_a_run(JOB)))
        fleet.wait_for_a_run(JOB)
        fleet.kill(*fleet.replicas)
        fleet.wait_while(EMPTY)
        fleet.start(2, env=history)
        fleet.finish()
        expected = fires_until(datetime.now(UTC), realm.door)
        made = making(realm.door)
        fleet.start(1, env=history)  # whoever looks next tells what the others could not
        with Store(place.address) as store:
            fleet.wait(lambda _: not store.gaps(JOB.name, expected, JOB.shards, made=made))
        found = fleet.finish()
    with Store(place.address) as store:
        rows = queries.history(store, job=JOB.name, limit=MANY).entries
    broken = books.violations(found, JOB, rows, expected)
    assert not broken, "\n".join(map(str, broken)) + f"\n{fleet.story()}"
    kinds = {entry.disposition for entry in rows}
    assert kinds >= {Disposition.RAN, Disposition.FAILED_OVER}
    assert {entry.outcome for entry in rows} >= {"ok", "failed"}


def fires_until(end: datetime, url: str) -> list[datetime]:
    """Every fire since there is an account of the job's fires."""
    with connect(url) as registry:
        path = f"{registry.namespace}~shardwright/{JOB.name}/watched/gap"
        node = registry.wait(registry.read([path]))[path]
    assert node is not None
    assert JOB.spec is not None
    born = datetime.fromisoformat(json.loads(node.data)["born"])
    first = born.replace(microsecond=0) + timedelta(seconds=1)
    return list(calendar_brute.fires(JOB.spec, UTC, first, end, "quartz"))


def making(url: str) -> int:
    """Which making of the job it is."""
    with connect(url) as registry:
        path = f"{registry.namespace}/{JOB.name}"
        node = registry.wait(registry.read([path]))[path]
        assert node is not None
        return node.made
