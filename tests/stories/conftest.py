"""Every story is told on SQLite and on ZooKeeper."""

import itertools
import sys
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.zookeeper_server import Server

from .telling import Story

numbers = itertools.count()


@pytest.fixture(params=["sqlite", pytest.param("zookeeper", marks=pytest.mark.zookeeper)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite://{tmp_path / 'registry.db'}"
    server: Server = request.getfixturevalue("zookeeper")
    return f"zookeeper://{server.hosts}/story{next(numbers)}"


@pytest.fixture
def story(url: str) -> Iterator[Story]:
    told = Story(url)
    yield told
    told.close()
    for thread in threading.enumerate():
        if thread.name.startswith(("shardwright-reactor", "shardwright-supervisor")):
            thread.join(3.0)
            where = sys._current_frames().get(thread.ident or 0)
            assert not thread.is_alive(), "".join(traceback.format_stack(where))
