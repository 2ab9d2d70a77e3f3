"""A registry for each test of a recipe: in memory, in a file, and on ZooKeeper."""

from pathlib import Path

import pytest

from tests.zookeeper_server import Server

from .places import Place


@pytest.fixture(params=["memory", "sqlite", pytest.param("zookeeper", marks=pytest.mark.zookeeper)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return make(request, tmp_path)


@pytest.fixture(params=["sqlite", pytest.param("zookeeper", marks=pytest.mark.zookeeper)])
def shared_place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """One that several processes can share, and that gives them up soon."""
    return make(request, tmp_path, session=4.0)


def make(request: pytest.FixtureRequest, tmp_path: Path, session: float = 10.0) -> Place:
    if request.param == "memory":
        return Place.in_memory(session)
    if request.param == "sqlite":
        return Place.in_a_file(tmp_path / "registry.db", session)
    server: Server = request.getfixturevalue("zookeeper")
    return Place.on_zookeeper(server.hosts, session)
