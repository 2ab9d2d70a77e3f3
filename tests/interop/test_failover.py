"""A Java member that is only away for a moment is not taken for dead."""

import time

import pytest

from tests.faults.proxy import Proxy
from tests.zookeeper_server import Server

from .job import Job
from .story import twice_at_once

pytestmark = pytest.mark.interop

CUT = 2.0


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
