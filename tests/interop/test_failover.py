"""What ran in a member that died is run by another of either kind; one that is only away for a moment is not
taken for dead."""

import time

import pytest

from .job import NEVER, Job
from .story import twice_at_once

pytestmark = pytest.mark.interop

CUT = 2.0
SESSION = 4.0


@pytest.mark.parametrize("dying", ["java", "python"])
def test_what_ran_in_a_member_that_died_is_run_by_the_other_kind(job: Job, dying: str) -> None:
    """And nothing else is: a Java member that takes several over may run all shards once more, off schedule,
    but one of ours may not."""
    job.cron, job.shards, job.failover = "0/15 * * * * ?", 4, True
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
    job.until(lambda: not job.names("leader/failover/items"))
    job.until_shared_out(4, peers[survivor])
    after = job.story.place()
    job.until(lambda: len(job.story.runs(since=after, who=survivor)) >= 4)
    if survivor == "python":
        ours = job.story.runs(since=place, who="python")
        assert sorted(run.item for run in ours if run.source == "failover") == sorted(lost)
        others = [run for run in ours if run.source != "failover"]
        assert {(run.source, (run.fire or 1.0) % 15_000) for run in others} == {("scheduled", 0.0)}


@pytest.mark.parametrize(
    ("first", "second", "third"),
    [
        ("java", "java", "python"),
        ("python", "java", "python"),
        ("java", "python", "java"),
        ("python", "python", "java"),
    ],
)
def test_what_the_one_who_took_it_over_left_behind_is_taken_over_in_turn(
    job: Job, first: str, second: str, third: str
) -> None:
    """The first dies, the second takes its shard over and dies over it, and the third, of another kind than
    that, takes it over. Java members alone would wait for ever, then, for the mark of the second."""
    job.cron, job.shards, job.failover = NEVER, 2, True
    start = {"java": job.java, "python": job.python}
    dying = start[first]("first", length=30.0, session=SESSION)
    heir = start[second]("heir", length=8.0, session=SESSION)
    dying.tell("trigger")  # nobody shares out between two fires of Java's
    job.until_shared_out(2, dying, heir)
    job.until(lambda: not job.story.open("heir"))
    dying.tell("trigger")
    job.until(lambda: job.story.open("heir") and job.story.open("first"))
    (lost,) = job.owned_by(dying)
    dying.kill()
    job.until(lambda: [run for run in job.story.open("heir") if run.item == lost])
    start[third]("last", session=SESSION)
    # Of one who dies over its own shard and another's, ElasticJob sees only to the latter.
    job.until(lambda: [run.item for run in job.story.open("heir")] == [lost] == job.running())
    heir.kill()
    job.until(lambda: [run for run in job.story.runs(who="last") if run.item == lost])
    if third == "python":
        assert next(run for run in job.story.runs(who="last") if run.item == lost).source == "failover"


def test_those_who_come_back_together_after_all_have_died_go_on(job: Job) -> None:
    """Two Java members alone would wait for ever, then, for the marks of the dead to go."""
    job.cron, job.shards, job.failover = "0/3 * * * * ?", 4, True
    dying = job.members("java", length=30.0, session=SESSION)
    job.until(lambda: len(job.story.open()) == 4)
    for peer in dying.values():
        peer.kill()
    job.until(lambda: not job.names("instances"))
    assert job.running() == [0, 1, 2, 3]

    place = job.story.place()
    back = [job.begin(kind, f"{kind}-{number}") for number, kind in enumerate(("java", "java", "python"))]
    for peer in back:
        job.joined(peer)
    job.until(lambda: {run.item for run in job.story.runs(since=place)} == {0, 1, 2, 3})
    job.until_shared_out(4, *back)
    assert [sorted({*items}) for items in job.next_fires(2, 3.0).values()] == 2 * [[0, 1, 2, 3]]


def test_a_python_member_that_is_cut_off_for_a_moment_keeps_its_node_and_its_runs(job: Job) -> None:
    """Unlike a Java member, which makes its node anew: neither does Java mind, nor take anything over."""
    job.cron, job.shards, job.failover = "0/5 * * * * ?", 4, True
    proxy = job.proxy()
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
def test_a_java_member_that_blinks_keeps_its_run(job: Job, first: str) -> None:
    """A cut of two seconds leaves its session alone, but on its return a Java member deletes and re-makes its
    instance node and takes the marks from its own runs. Whoever comes first leads."""
    job.cron, job.shards, job.failover = "0/5 * * * * ?", 4, True
    proxy = job.proxy()
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
