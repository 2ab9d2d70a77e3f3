"""A counter on each kind of registry."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ops.bureau import Bureau
from tests.zookeeper_server import Server

from .counter import Counter, counter


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Counter]:
    """One on a registry in a file."""
    with Bureau.in_a_file(tmp_path) as bureau, counter(tmp_path, bureau) as made:
        yield made


@pytest.fixture(params=["sqlite", pytest.param("zookeeper", marks=pytest.mark.zookeeper)])
def any_desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Counter]:
    if request.param == "zookeeper":
        server: Server = request.getfixturevalue("zookeeper")
        made = Bureau.on_zookeeper(server.hosts)
    else:
        made = Bureau.in_a_file(tmp_path)
    with made as bureau, counter(tmp_path, bureau) as built:
        yield built
