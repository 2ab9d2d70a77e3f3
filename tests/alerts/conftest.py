"""What tests of alerts share: servers on loopback, and a desk that is closed again."""

from collections.abc import Iterator

import pytest

from shardwright.alerts import Desk, catalogue
from shardwright.clock import HandClock
from tests.alerts.post_office import PostOffice
from tests.alerts.web import Web


@pytest.fixture
def web() -> Iterator[Web]:
    with Web() as server:
        yield server


@pytest.fixture
def post_office() -> Iterator[PostOffice]:
    with PostOffice() as server:
        yield server


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def desk(clock: HandClock) -> Iterator[Desk]:
    desk = Desk(clock)
    yield desk
    desk.close()


@pytest.fixture(autouse=True)
def _types(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is forgotten after it."""
    monkeypatch.setattr(catalogue, "TYPES", dict(catalogue.TYPES))
