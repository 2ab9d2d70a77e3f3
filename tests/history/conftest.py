"""Databases for the tests of the history: each test is asked of all three kinds."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from shardwright.history.store import Store

KINDS = [
    "sqlite",
    pytest.param("postgresql", marks=pytest.mark.postgresql),
    pytest.param("mariadb", marks=pytest.mark.mariadb),
]


@pytest.fixture(params=KINDS)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database, of each kind in turn."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'history.db'}"
    server = request.getfixturevalue(request.param)
    return str(server.make(f"history_{uuid.uuid4().hex}"))


@pytest.fixture
def store(address: str) -> Iterator[Store]:
    with Store(address, trace=True) as opened:
        yield opened
