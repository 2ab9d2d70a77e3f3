"""What the acceptance tests share: a registry's address for each test, on SQLite and on ZooKeeper."""

import itertools
from pathlib import Path

import pytest

from tests.zookeeper_server import Server

#: How long a session is kept without a sign of life, in seconds.
SESSION = 4.0

numbers = itertools.count()


@pytest.fixture(params=["sqlite", pytest.param("zookeeper", marks=pytest.mark.zookeeper)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        tmp_path.chmod(0o700)
        return f"sqlite://{tmp_path / 'registry.db'}?session_timeout={SESSION}s"
    server: Server = request.getfixturevalue("zookeeper")
    return zookeeper_url(server.hosts)


def zookeeper_url(hosts: str, session: float = SESSION) -> str:
    """A namespace of its own on these servers."""
    return f"zookeeper://{hosts}/acceptance{next(numbers)}?session_timeout={session}s"
