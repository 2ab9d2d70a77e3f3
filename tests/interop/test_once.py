"""What is called once for all shards of a fire is called once, whoever does it."""

import pytest

from .job import Job

pytestmark = pytest.mark.interop


@pytest.mark.parametrize(
    "lengths",
    [{"java": 0.5, "python": 0.5}, {"java": 0.5, "python": 3.0}, {"java": 3.0, "python": 0.5}],
    ids=["alike", "python longer", "java longer"],
)
def test_listeners_of_both_kinds_are_called_once_for_all_shards_together(
    job: Job, lengths: dict[str, float]
) -> None:
    """Java comes first: whether members have such listeners, Java reads in the settings it publishes. Whoever
    takes longer reports last."""
    job.cron, job.shards, job.once = "0/8 * * * * ?", 4, True
    job.members("java", lengths=lengths)
    job.until(lambda: job.story.events()[-1]["event"] == "all completed")
    place = job.story.place()
    job.until(lambda: job.story.count("all completed", since=place) >= 3)

    told = [each["event"] for each in job.story.events()[place:]]
    one_fire = [*["all started"], *["start"] * 4, *["end"] * 4, *["all completed"]]
    fires = [told[begin : begin + len(one_fire)] for begin in range(0, 3 * len(one_fire), len(one_fire))]
    assert [sorted(fire) for fire in fires] == 3 * [sorted(one_fire)], str(job)
    assert {fire[0] for fire in fires} == {"all started"}
    assert {fire[-1] for fire in fires} == {"all completed"}
