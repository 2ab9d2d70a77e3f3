"""A Python member leaves a job that Java members are in."""

import pytest

from .job import PATIENCE, Job
from .story import by_fire, doubled, of_python, twice_at_once

pytestmark = pytest.mark.interop

PERIOD = 3.0


def test_a_python_member_that_leaves_ends_its_run_and_its_shards_go_on_elsewhere(job: Job) -> None:
    job.cron, job.shards, job.failover = "0/3 * * * * ?", 6, True
    java = job.java()
    leaving, staying = job.python("leaving", length=2.0), job.python("staying")
    job.until_shared_out(6, java, leaving, staying)
    job.until(lambda: not job.story.open(leaving.who))
    job.until(lambda: len(job.story.open(leaving.who)) == 2)

    last, place = job.story.open(leaving.who), job.story.place()
    assert leaving.terminate(within=PATIENCE) == 0
    assert job.story.runs(since=place, who=leaving.who) == []
    assert [run for run in job.story.runs(who=leaving.who) if run.end is None or run.cancelled] == []

    job.until_shared_out(6, java, staying)
    assert list(job.next_fires(2, PERIOD).values()) == 2 * [[0, 1, 2, 3, 4, 5]]
    assert twice_at_once(job.story.runs(since=last[0].start)) == []
    assert doubled(by_fire(of_python(job.story.runs()), PERIOD)) == {}
    job.assert_none_lost(PERIOD)
    assert job.names("leader/failover/items") == []
