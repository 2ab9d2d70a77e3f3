"""Every driver there is, each as something to make clusters with, for tests that ask all of them the same."""

from collections.abc import Callable

import pytest

from tests.zookeeper_server import Server

from .contract import Cluster
from .test_memory import MemoryCluster
from .test_sqlite import SqliteCluster
from .test_zookeeper import ZookeeperCluster

MakeCluster = Callable[[], Cluster]

ZOOKEEPER = pytest.param("zookeeper", marks=pytest.mark.zookeeper)
DRIVERS = ("memory", "sqlite", ZOOKEEPER)


@pytest.fixture
def driver(request: pytest.FixtureRequest) -> str:
    """The name of the driver; tests parametrize it by `DRIVERS`, or by some of them."""
    name: str = request.param
    return name


@pytest.fixture
def make_cluster(driver: str, request: pytest.FixtureRequest) -> MakeCluster:
    """What makes a new, empty cluster of the driver each time it is called."""
    if driver == "memory":
        return MemoryCluster
    if driver == "sqlite":
        return SqliteCluster
    server: Server = request.getfixturevalue("zookeeper")
    return lambda: ZookeeperCluster(server, timeout=10.0)  # as busy as a test machine may be
