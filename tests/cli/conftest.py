"""A cluster for each test: two real schedulers on a real file, and an operator beside them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stories.telling import ONCE_A_YEAR, A, B, Story

from .calling import Calling


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite://{tmp_path / 'registry.db'}"


@pytest.fixture
def story(url: str) -> Iterator[Story]:
    told = Story(url)
    yield told
    told.close()


@pytest.fixture
def alone(url: str) -> Iterator[Calling]:
    """Whoever calls, with a registry that nobody has a job in."""
    with Story(url).operator:
        yield Calling(url)


@pytest.fixture
def calls(story: Story) -> Calling:
    """Whoever calls, with a job that two processes share."""
    story.two(
        "reindex",
        cron=ONCE_A_YEAR,
        time_zone="UTC",
        failover=True,
        description="builds the index anew, password=hunter2",
        props={"email.password": "hunter2", "email.host": "mail.example.org"},
        item_parameters={0: "north", 1: "https://ann:hunter2@south.example.org"},
    )
    story.until(lambda: sorted(story.owners(4, "reindex")) == [A, A, B, B])
    return Calling(story.url)
