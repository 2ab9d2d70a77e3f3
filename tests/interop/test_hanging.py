"""Java members wait without limit for whoever stands before them in a line, and while a flag is up: a Python
member that dies or stands still over one of its own does not keep them waiting."""

from collections.abc import Callable

import pytest

from .job import NECESSARY, PATIENCE, Job, Peer

pytestmark = pytest.mark.interop

PERIOD = 3.0
SESSION = 4.0

#: Long enough for a Java member that is ready to come and stand behind one of ours that is gone already.
LONG = 15.0

ELECTION = "leader/election/latch"

gone = pytest.mark.parametrize("gone", [Peer.kill, Peer.stop], ids=["killed", "stopped"])


@gone
def test_java_is_elected_though_one_of_ours_went_as_the_first_in_line(
    job: Job, gone: Callable[[Peer], None]
) -> None:
    job.cron, job.shards = "0/3 * * * * ?", 4
    proxy = job.proxy()
    leader = job.java("leader", session=SESSION)
    python = job.python(session=LONG, hosts=proxy.hosts)
    java = job.ready("java")
    held = proxy.hold_reply("multi", about=ELECTION)
    leader.kill()
    held.wait(PATIENCE)
    gone(python)
    (place,) = job.names(ELECTION)
    java.tell("join")
    # A Java member may stand in line twice: because it comes, and because the leader went.
    job.until(lambda: {place} < {*job.names(ELECTION)})
    assert job.leader() is None
    goes_on(job, java, python)


@gone
def test_java_shares_out_though_a_leader_of_ours_went_over_its_flag(
    job: Job, gone: Callable[[Peer], None]
) -> None:
    job.cron, job.shards = "0/3 * * * * ?", 4
    proxy = job.proxy()
    python = job.python(session=LONG, hosts=proxy.hosts)
    first = job.java("first")
    job.until_shared_out(4, python, first)
    assert job.leader() == job.id_of(python)

    second = job.ready("second")
    held = proxy.hold_reply("multi", about=NECESSARY)
    second.tell("join")
    held.wait(PATIENCE)
    gone(python)
    assert job.made(NECESSARY)
    job.joined(second)
    goes_on(job, first, python, second)


def goes_on(job: Job, java: Peer, python: Peer, *others: Peer) -> None:
    """With Java's members alone, and with ours, should it wake."""
    job.until_shared_out(4, java, *others)
    assert list(job.next_fires(1, PERIOD).values()) == [[0, 1, 2, 3]]
    if python.killed:
        return
    python.cont()
    job.until_shared_out(4, java, python, *others)
