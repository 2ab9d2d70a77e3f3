"""Whoever asks for a fire, Java and Python members answer."""

import pytest

from .job import Job
from .story import twice_at_once

pytestmark = pytest.mark.interop


@pytest.mark.parametrize("first", ["java", "python"])
def test_a_request_from_either_side_runs_every_shard_once(job: Job, first: str) -> None:
    """Java asks by its operations API, as its console does, Python by its scheduler. Whoever comes first
    leads."""
    job.shards = 4
    start = {"java": job.java, "python": job.python}
    peers = {who: start[who]() for who in sorted(start, key=lambda who: who != first)}
    assert job.leader() == job.id_of(peers[first])

    for count, asking in enumerate(("python", "java", "python", "java"), 1):
        peers[asking].tell("trigger")
        # The next request would be lost on a Java member that is still at it.
        job.until(lambda: len(job.story.runs()) >= 4 * count and not job.names("trigger"))  # noqa: B023
        job.until(lambda: not job.story.open() and not job.running())
        assert sorted(run.item for run in job.story.runs()) == sorted(count * [0, 1, 2, 3])
    assert {run.source for run in job.story.runs(who="python")} == {"trigger"}
    assert {len(job.owned_by(peer)) for peer in peers.values()} == {2}


def test_a_request_that_comes_during_a_run_is_heeded_by_ours_when_it_is_over(job: Job) -> None:
    """Java members lose it. Neither hangs over it: the next request runs every shard."""
    job.shards = 4
    java, python = job.java(length=2.0), job.python(length=2.0)
    java.tell("trigger")
    job.until(lambda: len(job.story.open()) == 4)
    ours = job.owned_by(python)
    java.tell("trigger")
    job.until(lambda: sorted(run.item for run in job.story.runs(who="python")) == sorted(2 * ours))
    assert twice_at_once(job.story.runs()) == []

    job.until(lambda: not job.story.open() and not job.running() and not job.names("trigger"))
    place = job.story.place()
    java.tell("trigger")
    job.until(lambda: len(job.story.runs(since=place)) >= 4)
    assert sorted(run.item for run in job.story.runs(since=place)) == [0, 1, 2, 3]
