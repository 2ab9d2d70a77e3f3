"""The same on ZooKeeper: looking, steering, changing, removing."""

import itertools
from collections.abc import Iterator

import pytest

from tests.stories.telling import A, B, Story
from tests.zookeeper_server import Server

from . import schemas
from .calling import Calling

numbers = itertools.count()


@pytest.fixture
def url(zookeeper: Server) -> str:
    return f"zookeeper://{zookeeper.hosts}/cli{next(numbers)}"


@pytest.fixture
def story(url: str) -> Iterator[Story]:
    told = Story(url)
    yield told
    told.close()


def test_a_cluster_is_seen_steered_and_removed(story: Story) -> None:
    story.two("reindex")
    story.until(lambda: sorted(story.owners(4, "reindex")) == [A, A, B, B])
    calls = Calling(story.url)
    assert [job.status for job in calls.document(schemas.Jobs, "jobs").jobs] == ["OK"]
    assert calls.document(schemas.Watch, "watch").statistics.shards == 4
    assert calls.document(schemas.Doctor, "doctor").healthy
    calls("trigger", "reindex")
    story.until_ran(lambda: len(story.ran) == 4)
    assert calls("config", "set", "reindex", "shards=6") == "shards: 4 -> 6\n"
    story.until(lambda: len(story.tree("reindex").children("sharding")) == 6)
    calls("remove", "reindex", "--force", "--yes")
    assert calls.document(schemas.Jobs, "jobs").jobs == []
