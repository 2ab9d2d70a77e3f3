"""What every scenario is asked at its end can object: without members, to what was planted."""

import json
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.zookeeper_server import Server

from .job import NECESSARY, NEVER, Job
from .story import run_again, twice_at_once

pytestmark = pytest.mark.interop

PYTHON, JAVA = "10.20.30.40@-@7-abc", "10.20.30.41@-@8"


@pytest.fixture
def still(zookeeper: Server, tmp_path: Path) -> Iterator[Job]:
    """A job that nobody is in."""
    with Job(zookeeper, tmp_path, f"interop-{uuid.uuid4().hex[:8]}", "") as job:
        yield job
        job.failed = True


@pytest.mark.parametrize(
    "path",
    [
        "sharding/0/running",
        "sharding/0/failover",
        "sharding/0/failovering",
        "sharding/0/misfire",
        "leader/failover/items/0",
        "leader/failover/latch/_c_1-latch-0000000000",
        "leader/election/latch/_c_1-latch-0000000000",
        "guarantee/started-latch/_c_1-latch-0000000000",
        f"trigger/{PYTHON}",
        NECESSARY,
    ],
)
def test_what_is_left_of_something_under_way_is_found(still: Job, path: str) -> None:
    still.misfire = True
    still.plant("sharding/0/instance", PYTHON)
    still.plant("leader/election/instance", PYTHON)
    assert still.leftovers() == []
    still.plant(path)
    assert still.leftovers() == [path]


def test_what_a_java_member_will_do_with_its_next_fire_is_not(still: Job) -> None:
    still.plant("sharding/0/instance", JAVA)
    still.plant("leader/election/instance", JAVA)
    still.plant("sharding/0/misfire")
    still.plant(NECESSARY)
    assert still.leftovers() == []


def test_what_a_java_member_noted_in_vain_before_it_gave_the_shard_to_ours_is_not(still: Job) -> None:
    still.plant("sharding/0/instance", PYTHON)
    still.plant("sharding/0/misfire")
    assert still.leftovers() == []


def test_a_shard_that_ran_twice_at_once_and_a_fire_that_ran_again_are_found(still: Job) -> None:
    tell(still, "start", "a", fire=3000.0)
    tell(still, "start", "b", fire=3000.0)
    tell(still, "end", "a")
    tell(still, "end", "b")
    assert [(one.who, other.who) for one, other in twice_at_once(still.story.runs())] == [("a", "b")]
    assert [run.who for run in run_again(still.story.runs())] == ["b"]
    with pytest.raises(AssertionError, match="the story"):
        still.check()


def test_a_fire_that_a_living_python_member_did_not_run_is_missed(still: Job) -> None:
    """Its calendar has none, but it is asked as if there was one every half second."""
    still.cron = NEVER
    member = still.python("a")
    still.until_shared_out(1, member)
    still.until(lambda: still.fires_of_ours(0.5))
    (fire, item), runs = still.fires_of_ours(0.5).popitem()
    assert (item, runs) == (0, 0)
    tell(still, "start", "a", fire=fire * 1000)
    assert still.fires_of_ours(0.5)[fire, item] == 1
    member.kill()
    killed = time.time()
    assert all(fire + 0.5 < killed for fire, _ in still.fires_of_ours(0.5))


def tell(job: Job, event: str, who: str, **more: object) -> None:
    """Add to the story what a Python member would."""
    told = {
        "event": event,
        "who": who,
        "at": time.time() * 1000,
        "item": 0,
        "total": 1,
        "source": "scheduled",
    }
    with job.story.path.open("a") as story:
        story.write(json.dumps({**told, **more}) + "\n")
