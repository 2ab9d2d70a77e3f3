"""What all tests share: real servers, and what happens where there can be none."""

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import certificates
from tests import zookeeper_server as servers
from tests.certificates import Certificates
from tests.console.browser import chromium
from tests.databases import MariaDB, PostgreSQL
from tests.zookeeper_server import Ensemble, Server

pytest_plugins = ["tests.registry.summary", "tests.console.browser.actions"]

ACCEPTANCE = Path(__file__).parent / "acceptance"
SIMULATION = Path(__file__).parent / "simulation"

NEEDS = {
    "zookeeper": {"zookeeper", "zookeeper_server", "ensemble"},
    "postgresql": {"postgresql", "postgresql_server"},
    "mariadb": {"mariadb", "mariadb_server"},
    "browser": {"browser"},
}
MISSING = {
    "zookeeper": servers.missing,
    "postgresql": PostgreSQL.missing,
    "mariadb": MariaDB.missing,
    "browser": chromium.missing,
}


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Who uses a server carries the mark, so that `-m "not zookeeper"` needs no list. However the others are
    shuffled, those that take longest come first: dealt out last, everybody would wait for them."""
    for item in items:
        if item.path.is_relative_to(ACCEPTANCE):
            item.add_marker("acceptance")
        for mark, fixtures in NEEDS.items():
            if isinstance(item, pytest.Function) and fixtures & set(item.fixturenames):
                item.add_marker(mark)
    yield
    items.sort(key=lambda item: not item.path.is_relative_to(SIMULATION))


def pytest_collection_finish() -> None:
    set_aside()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    set_aside()


def set_aside() -> None:
    """Collect what is garbage, and look through the rest no more. With the million objects that thousands of
    tests leave behind, a full collection in the midst of one would hold the interpreter for seconds, and end
    its sessions."""
    gc.collect()
    gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark, missing in MISSING.items():
        if item.get_closest_marker(mark):
            require(missing())


def require(missing: str | None) -> None:
    """Skip the test if something is missing; where CI=true nothing may be."""
    if missing and os.environ.get("CI") == "true":
        pytest.fail(missing, pytrace=False)
    if missing:
        pytest.skip(missing)


@pytest.fixture(scope="session")
def zookeeper() -> Iterator[Server]:
    """One server for everybody: work below a path of your own, and leave it running."""
    with Server() as server:
        yield server


@pytest.fixture
def zookeeper_server() -> Iterator[Server]:
    """A server of the test's own, to kill, freeze and restart."""
    with Server() as server:
        yield server


@pytest.fixture
def ensemble() -> Iterator[Ensemble]:
    """Three servers of the test's own."""
    with Ensemble() as three:
        yield three


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgreSQL]:
    """One server for everybody: make a database of your own, and leave it running."""
    with PostgreSQL() as server:
        yield server


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaDB]:
    """One server for everybody: make a database of your own, and leave it running."""
    with MariaDB() as server:
        yield server


@pytest.fixture
def postgresql_server() -> Iterator[PostgreSQL]:
    """A server of the test's own, to kill and restart."""
    with PostgreSQL() as server:
        yield server


@pytest.fixture
def mariadb_server() -> Iterator[MariaDB]:
    """A server of the test's own, to kill and restart."""
    with MariaDB() as server:
        yield server


@pytest.fixture(scope="session")
def tls_certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    require(certificates.missing())
    return certificates.make(tmp_path_factory.mktemp("certificates"))
