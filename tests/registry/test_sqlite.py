"""The SQLite driver keeps the contract, on files of its own."""

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from shardwright.registry import Registry
from shardwright.registry.sqlite import SqliteRegistry

from .contract import Cluster, Contract, closing, other, registry

__all__ = ["other", "registry"]


class SqliteCluster(Cluster):
    """A file in a folder of its own."""

    def __init__(self, *, timeout: float = 10.0) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory(prefix="shardwright-")
        self._timeout = timeout
        self.path = Path(self._folder.name) / "registry.db"

    def connect(self) -> SqliteRegistry:
        registry = SqliteRegistry(
            self.path,
            namespace="/contract",
            timeout=self._timeout,
            patience=10.0,
            plant=os.environ.get("SHARDWRIGHT_PLANT"),
        )
        registry.wait_for(lambda: registry.session() is not None, what="a session")
        return registry

    def close(self) -> None:
        super().close()
        self._folder.cleanup()

    def expire(self, registry: Registry) -> None:
        session = registry.session()
        assert session is not None
        end_session(self.path, session.id)


def end_session(path: Path, session: str) -> None:
    """What whoever finds a session dead does."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=10)
    connection.execute("delete from session where id = ?", (session,))
    connection.close()


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    yield from closing(SqliteCluster())


class TestSqlite(Contract):
    pass
