"""What the acceptance tests share: a registry's address for each test, on SQLite and on ZooKeeper."""

import itertools
from pathlib import Path

import pytest

from tests.zookeeper_server import Ensemble, Server

#: How long a session is kept without a sign of life, in seconds.
SESSION = 4.0

numbers = itertools.count()


@pytest.fixture(params=["sqlite", pytest.param("zookeeper", marks=pytest.mark.zookeeper)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return sqlite_url(tmp_path)
    server: Server = request.getfixturevalue("zookeeper")
    return zookeeper_url(server.hosts)


@pytest.fixture(
    params=[
        "sqlite",
        pytest.param("zookeeper", marks=pytest.mark.zookeeper),
        pytest.param("ensemble", marks=pytest.mark.zookeeper),
    ]
)
def every_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """On three servers as well, for what must hold there too and does not take long."""
    if request.param == "sqlite":
        return sqlite_url(tmp_path)
    servers: Server | Ensemble = request.getfixturevalue(request.param)
    return zookeeper_url(servers.hosts)


def sqlite_url(folder: Path) -> str:
    folder.chmod(0o700)
    return f"sqlite://{folder / 'registry.db'}?session_timeout={SESSION}s"


def zookeeper_url(hosts: str, session: float = SESSION) -> str:
    """A namespace of its own on these servers."""
    return f"zookeeper://{hosts}/acceptance{next(numbers)}?session_timeout={session}s"
