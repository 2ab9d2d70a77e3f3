"""What all tests share: real ZooKeeper servers, and what happens where there can be none."""

import os
from collections.abc import Iterator

import pytest

from tests import certificates
from tests import zookeeper_server as servers
from tests.certificates import Certificates
from tests.zookeeper_server import Ensemble, Server

pytest_plugins = ["tests.registry.summary"]

NEEDS_ZOOKEEPER = {"zookeeper", "zookeeper_server", "ensemble"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Who uses a server carries the mark, so that `-m "not zookeeper"` needs no list."""
    for item in items:
        if isinstance(item, pytest.Function) and NEEDS_ZOOKEEPER & set(item.fixturenames):
            item.add_marker("zookeeper")


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("zookeeper"):
        require(servers.missing())


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
def tls_certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    require(certificates.missing())
    return certificates.make(tmp_path_factory.mktemp("certificates"))
