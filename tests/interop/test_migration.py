"""A job moves from Java to Python, one member at a time."""

import time

import pytest

from .job import PATIENCE, Job
from .story import by_fire

pytestmark = pytest.mark.interop

PERIOD = 5.0


def test_three_java_members_give_way_to_three_python_ones_and_no_fire_is_missed(job: Job) -> None:
    """As the guide has it: one of ours joins, one of theirs leaves, and the settings are nobody's but the
    registry's."""
    job.cron, job.shards, job.failover = "0/5 * * * * ?", 6, True
    java = [job.java(f"java-{number}") for number in (1, 2, 3)]
    # All shards, but not all members: a Java leader overlooks for good whom it sees come while it shares out.
    # The first of ours to join makes that good, as the next wait holds it to.
    job.until(lambda: len(job.owners()) == 6 and None not in job.owners().values() and not job.flagged())
    first = job.next_fires(1, PERIOD)
    python = []
    for number, leaving in enumerate(java, 1):
        python.append(job.python(f"python-{number}"))
        job.until_shared_out(6, *java[number - 1 :], *python)
        between_fires(job)
        leaving.tell("stop")
        job.until(lambda: job.story.told("left", leaving.who))  # noqa: B023
        leaving.wait(PATIENCE)
        job.until_shared_out(6, *java[number:], *python)
    last = job.next_fires(2, PERIOD)

    fires = by_fire(job.story.runs(), PERIOD)
    begin, end = next(iter(first)), next(reversed(last))
    wanted = [begin + PERIOD * number for number in range(round((end - begin) / PERIOD) + 1)]
    assert {fire: sorted(set(fires.get(fire, []))) for fire in wanted} == {
        fire: [0, 1, 2, 3, 4, 5] for fire in wanted
    }
    job.assert_none_lost(PERIOD)
    assert {run.who for run in job.story.runs() if run.began > begin * 1000}.issuperset(
        peer.who for peer in python
    )


def between_fires(job: Job) -> None:
    """Wait until the shards of a fire have ended and the next is some time off."""
    job.until(lambda: not job.story.open() and not job.running() and 1.0 < time.time() % PERIOD < PERIOD / 2)
