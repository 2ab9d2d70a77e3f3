"""What ran in a member that died is run by another of either kind; one that is only away for a moment is not
taken for dead."""

import time

import pytest

from tests.faults.proxy import Proxy
from tests.zookeeper_server import Server

from .job import Job
from .story import twice_at_once

pytestmark = pytest.mark.interop

CUT = 2.0
SESSION = 4.0


@pytest.mark.parametrize("dying", ["java", "python"])
def test_what_ran_in_a_member_that_died_is_run_by_the_other_kind(job: Job, dying: str) -> None:
    job.cron, job.shards, job.failover = "0/20 * * * * ?", 4, True
    peers = {
        "java": job.java(length=12.0 if dying == "java" else 0.1, session=SESSION),
        "python": job.python(length=12.0 if dying == "python" else 0.1, session=SESSION),
    }
    job.until_shared_out(4, *peers.values())
    job.until(lambda: len(job.story.open(dying)) == 2)
    lost, place = {run.item for run in job.story.open(dying)}, job.story.place()
    job.until(lambda: len(job.story.open()) == 2)
    peers[dying].kill()
    (survivor,) = {*peers} - {dying}
    job.until(lambda: {run.item for run in job.story.runs(since=place, who=survivor)} >= lost)
    if survivor == "python":
        taken = [run for run in job.story.runs(since=place) if run.source == "failover"]
        assert sorted(run.item for run in taken) == sorted(lost)
    job.until(lambda: not job.names("leader/failover/items"))
    job.until_shared_out(4, peers[survivor])


@pytest.mark.parametrize("first", ["java", "python"])
def test_what_the_one_who_took_it_over_left_behind_is_taken_over_in_turn(job: Job, first: str) -> None:
    """The first dies, a Java member takes its shard over and dies over it, and ours takes it over from that.
    Java members alone would wait for ever, then, for the mark of the second."""
    job.cron, job.shards, job.failover = "0 0 0 1 1 ? 2099", 2, True
    start = {"java": job.java, "python": job.python}
    dying = start[first]("first", length=30.0, session=SESSION)
    heir = job.java("heir", length=8.0, session=SESSION)
    dying.tell("trigger")  # nobody shares out between two fires of Java's
    job.until_shared_out(2, dying, heir)
    job.until(lambda: not job.story.open("heir"))
    dying.tell("trigger")
    job.until(lambda: job.story.open("heir") and job.story.open("first"))
    (lost,) = job.owned_by(dying)
    dying.kill()
    job.until(lambda: [run for run in job.story.open("heir") if run.item == lost])
    job.python("last", session=SESSION)
    heir.kill()
    job.until(lambda: [run for run in job.story.runs(who="last") if run.item == lost])
    assert next(run for run in job.story.runs(who="last") if run.item == lost).source == "failover"


def test_a_python_member_that_is_cut_off_for_a_moment_keeps_its_node_and_its_runs(
    job: Job, zookeeper: Server
) -> None:
    """Unlike a Java member, which makes its node anew: neither does Java mind, nor take anything over."""
    job.cron, job.shards, job.failover = "0/5 * * * * ?", 4, True
    with Proxy(zookeeper.hosts) as proxy:
        java, python = job.java(), job.python(length=8.0, hosts=proxy.hosts)
        job.until_shared_out(4, java, python)
        job.until(lambda: len(job.story.open("python")) == 2)
        interrupted = job.story.open("python")
        node = f"instances/{job.id_of(python)}"
        made = job.made(node)

        proxy.cut()
        time.sleep(CUT)  # how long it lasts is what this is about
        proxy.heal()
        place = job.story.place()
        job.until(lambda: not set(interrupted) & set(job.story.open("python")))
        job.until(lambda: len(job.story.runs(since=place, who="python")) >= 2)
        assert job.made(node) == made
        theirs = {run.item for run in job.story.runs(since=interrupted[0].start, who="java")}
        assert theirs.isdisjoint(run.item for run in interrupted)
        assert twice_at_once(job.story.runs()) == []


@pytest.mark.parametrize("first", ["java", "python"])
def test_a_java_member_that_blinks_keeps_its_run(job: Job, zookeeper: Server, first: str) -> None:
    """A cut of two seconds leaves its session alone, but on its return a Java member deletes and re-makes its
    instance node and takes the marks from its own runs. Whoever comes first leads."""
    job.cron, job.shards, job.failover = "0/5 * * * * ?", 4, True
    with Proxy(zookeeper.hosts) as proxy:
        start = {
            "java": lambda: job.java(length=8.0, hosts=proxy.hosts),
            "python": lambda: job.python(),
        }
        peers = {who: start[who]() for who in sorted(start, key=lambda who: who != first)}
        java, python = peers["java"], peers["python"]
        job.until_shared_out(4, java, python)
        assert job.leader() == job.id_of(peers[first])
        job.until(lambda: len(job.story.open("java")) == 2)
        interrupted = job.story.open("java")
        node = f"instances/{job.id_of(java)}"
        made, session = job.made(node), job.session_of(node)

        proxy.cut()
        time.sleep(CUT)  # how long it lasts is what this is about
        proxy.heal()
        job.until(lambda: job.made(node) not in (0, made))
        assert job.session_of(node) == session
        assert job.story.open("java") == interrupted, "it came back too late to be in the midst of its runs"

        place = job.story.place()
        job.until(lambda: len(job.story.runs(since=place, who="java")) == 2)
        job.until(lambda: job.story.runs(since=place, who="python"))
        ours = {run.item for run in job.story.runs(since=interrupted[0].start, who="python")}
        assert ours.isdisjoint(run.item for run in interrupted)
        assert twice_at_once(job.story.runs()) == []
