"""A fire that comes while its shard still runs is made good afterwards, on both sides."""

from itertools import pairwise

import pytest

from .job import NEVER, Job
from .story import Run, twice_at_once

pytestmark = pytest.mark.interop

PERIOD = 3000


@pytest.mark.parametrize("first", ["java", "python"])
def test_a_fire_that_was_missed_is_made_good_once_by_either_kind(job: Job, first: str) -> None:
    """Each run takes longer than the time between two fires. Java makes good one period late."""
    job.cron, job.shards, job.misfire = "0/3 * * * * ?", 2, True
    members = job.members(first, length=4.0)
    place = job.story.place()
    job.until(lambda: min(len(job.story.runs(since=place, who=who)) for who in members) >= 4)
    runs = job.story.runs(since=place)
    assert twice_at_once(runs) == []

    ours = [run for run in runs if run.who == "python"]
    assert "misfire" in {run.source for run in ours}
    fires = [run.fire for run in ours if run.fire is not None]
    assert len(fires) == len(ours)
    assert fires == sorted({*fires}), "each for a later fire than the one before"

    theirs = [is_made_good(run) for run in runs if run.who == "java"]
    assert True in theirs
    assert (True, True) not in pairwise(theirs), "many that were missed are one"

    # What Java has missed by now it makes good with its next fire, and not once more.
    job.change(cron=NEVER)
    job.until(lambda: not job.story.open() and not job.running())
    owing = len({*job.misfired()} & {*job.owned_by(members["java"])})
    place = job.story.place()
    members["java"].tell("trigger")
    job.until(lambda: len(job.story.runs(since=place, who="java")) >= 1 + owing)
    job.until(lambda: "trigger" in {run.source for run in job.story.runs(since=place, who="python")})
    job.until(lambda: not job.story.open() and not job.running() and not job.misfired())
    assert len(job.story.runs(since=place, who="java")) == 1 + owing


def is_made_good(run: Run) -> bool:
    """Only making good starts a run at a time that the calendar does not know."""
    return run.began % PERIOD > 1000
