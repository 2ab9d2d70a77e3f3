"""Members of either kind come, lead, go and die."""

import pytest

from .job import PATIENCE, Job, Peer

pytestmark = pytest.mark.interop

PERIOD = 3.0
SESSION = 4.0


@pytest.mark.parametrize("first", ["java", "python"])
def test_members_join_leave_and_die_and_all_shards_go_on_running(job: Job, first: str) -> None:
    """The first leads, and dies; another kind has to go on with what it left behind."""
    job.cron, job.shards = "0/3 * * * * ?", 6
    start = {"java": job.java, "python": job.python}
    other = "python" if first == "java" else "java"
    leader = start[first]("first", session=SESSION)
    job.until_shared_out(6, leader)

    joining = [start[who](f"{who}-{number}", session=SESSION) for number, who in enumerate((other, first))]
    job.until_shared_out(6, leader, *joining)
    assert job.leader() == job.id_of(leader)
    goes_on(job)

    leader.kill()
    job.until_shared_out(6, *joining)
    assert job.leader() in {job.id_of(peer) for peer in joining}
    goes_on(job)

    leaving, staying = joining
    leave(job, leaving)
    job.until_shared_out(6, staying)
    assert job.leader() == job.id_of(staying)
    goes_on(job)
    job.assert_none_lost(PERIOD)


def goes_on(job: Job) -> None:
    assert list(job.next_fires(2, PERIOD).values()) == 2 * [list(range(job.shards))]


def leave(job: Job, peer: Peer) -> None:
    peer.tell("stop")
    job.until(lambda: job.story.told("left", peer.who))
    peer.wait(PATIENCE)
