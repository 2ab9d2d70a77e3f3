"""The same registries that the recipes are tried on, and a bureau on each kind of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.recipes.conftest import place as place
from tests.zookeeper_server import Server

from .bureau import Bureau


@pytest.fixture(params=["memory", "sqlite"])
def bureau(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bureau]:
    made = Bureau.in_memory() if request.param == "memory" else Bureau.in_a_file(tmp_path)
    with made:
        yield made


@pytest.fixture(params=["memory", "sqlite", pytest.param("zookeeper", marks=pytest.mark.zookeeper)])
def any_bureau(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bureau]:
    if request.param == "zookeeper":
        server: Server = request.getfixturevalue("zookeeper")
        made = Bureau.on_zookeeper(server.hosts)
    else:
        made = Bureau.in_memory() if request.param == "memory" else Bureau.in_a_file(tmp_path)
    with made:
        yield made
