"""A fire that comes while its shard still runs is made good afterwards, on both sides."""

import pytest

from .job import Job
from .story import twice_at_once

pytestmark = pytest.mark.interop


@pytest.mark.parametrize("first", ["java", "python"])
def test_a_fire_that_was_missed_is_made_good_once_by_either_kind(job: Job, first: str) -> None:
    """Each run takes longer than the time between two fires. Java makes good one period late."""
    job.cron, job.shards, job.misfire = "0/3 * * * * ?", 2, True
    members = job.members(first, length=4.0)
    place = job.story.place()
    job.until(lambda: min(len(job.story.runs(since=place, who=who)) for who in members) >= 4)
    runs = job.story.runs(since=place)
    assert "misfire" in {run.source for run in runs}
    # Only making good starts a run at a time that the calendar does not know.
    off_schedule = [run for run in runs if run.who == "java" and run.began % 3000 > 1000]
    assert off_schedule
    assert twice_at_once(runs) == []
