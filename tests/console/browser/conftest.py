"""What the browser tests share: one browser, and for each module a stage with a console and somebody signed
in, on SQLite and on ZooKeeper."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.console.browser import actions, chromium
from tests.console.browser import desk as desks
from tests.console.browser.desk import Desk
from tests.console.browser.stage import Stage
from tests.zookeeper_server import Server

#: For how many seconds a session is kept without a sign of life.
SESSION = 4.0

#: Whom tests sign in as.
ADMIN = ("ann", "correct horse battery")

numbers = itertools.count()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    # Not for the whole session: playwright keeps an event loop running, beside which others cannot begin one.
    with chromium.opened() as browser:
        yield browser


@pytest.fixture(autouse=True)
def steered(record_property: Callable[[str, object], None]) -> Iterator[None]:
    """What the pages asked for in this test goes with its report, to whoever counts."""
    yield
    record_property(actions.TOLD, [list(each) for each in desks.steered])
    desks.steered.clear()


def url_of(kind: str, folder: Path, request: pytest.FixtureRequest) -> str:
    """The address of a registry of its own."""
    if kind == "sqlite":
        folder.chmod(0o700)
        return f"sqlite://{folder / 'registry.db'}?session_timeout={SESSION}s"
    server: Server = request.getfixturevalue("zookeeper")
    return f"zookeeper://{server.hosts}/browser{next(numbers)}?session_timeout={SESSION}s"


@pytest.fixture(scope="module", params=["sqlite", pytest.param("zookeeper", marks=pytest.mark.zookeeper)])
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Three replicas, two who take part in the recipes, and nobody else in that registry."""
    folder = tmp_path_factory.mktemp("stage")
    with Stage(url_of(request.param, folder, request), folder) as stage:
        stage.start(3)
        stage.take_part(2)
        yield stage


@pytest.fixture(scope="module")
def admin(stage: Stage, browser: Browser) -> Iterator[Desk]:
    """The first account, made by the token that the console printed; the console is the module's own."""
    with Desk(browser, stage.open_console()) as desk:
        desk.sign_in_first(*ADMIN)
        yield desk


@pytest.fixture
def desk(admin: Desk) -> Iterator[Desk]:
    """The same, with whatever went wrong on the page told at the end of the test."""
    admin.begin()
    yield admin
    admin.check()
