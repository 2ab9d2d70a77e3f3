"""A Java leader hands out the shards, and Python members live with that."""

import contextlib
from collections.abc import Callable, Iterator

import pytest

from tests.faults.proxy import Proxy

from .job import PATIENCE, Job, Peer
from .story import by_fire, doubled, of_python, twice_at_once

pytestmark = pytest.mark.interop

PERIOD = 3.0
EVERY_THIRD_SECOND = "0/3 * * * * ?"
EVERY_SECOND = "* * * * * ?"


def test_under_a_java_leader_shards_are_taken_away_and_added_and_every_fire_runs(job: Job) -> None:
    job.cron, job.shards = EVERY_THIRD_SECOND, 6
    java = job.java()
    members = java, job.python("python-1"), job.python("python-2")
    job.until_shared_out(6, *members)

    job.change(shardingTotalCount=3)
    job.until_shared_out(3, *members)
    assert list(job.next_fires(2, PERIOD).values()) == 2 * [[0, 1, 2]]

    job.change(shardingTotalCount=8)
    job.until_shared_out(8, *members)
    assert list(job.next_fires(2, PERIOD).values()) == 2 * [[0, 1, 2, 3, 4, 5, 6, 7]]
    assert twice_at_once(of_python(job.story.runs())) == []
    assert doubled(by_fire(of_python(job.story.runs()), PERIOD)) == {}
    assert job.leader() == job.id_of(java)


def test_a_java_leader_finds_a_quiet_moment_though_python_members_never_pause(job: Job) -> None:
    job.cron, job.shards, job.misfire = EVERY_SECOND, 4, True
    java = job.java()
    # Runs that are longer than the period follow each other at once, and those of the two end at odd times.
    busy = job.python("python-1", length=1.5), job.python("python-2", length=1.1)
    job.until_shared_out(4, java, *busy)
    job.until(lambda: all(len(job.story.runs(who=each.who)) >= 6 for each in busy))

    joining = job.python("python-3")
    job.until_shared_out(4, java, *busy, joining)
    place = job.story.place()
    job.until(lambda: {run.item for run in job.story.runs(since=place)} == {0, 1, 2, 3})
    assert job.story.runs(who=joining.who)
    assert twice_at_once(of_python(job.story.runs())) == []
    assert job.leader() == job.id_of(java)


def test_beside_a_java_member_a_shard_moves_while_another_runs(job: Job) -> None:
    """A Java leader would wait for all runs to end. Java's shards run on while ours moves some of them."""
    job.cron, job.shards = EVERY_THIRD_SECOND, 6
    busy, java = job.python("busy", length=15.0), job.java()
    job.until_shared_out(6, busy, java)
    job.until(lambda: len(job.story.open("busy")) == 3)
    going_on, before = {*job.story.open("busy")}, job.owners()

    joining, place = job.python("joining"), job.story.place()
    job.until(lambda: moved(job, before))
    names = {job.id_of(peer): peer.who for peer in (busy, java, joining)}
    ran_there = {(names[job.owners()[item]], item) for item in moved(job, before)}
    job.until(lambda: ran_there & {(run.who, run.item) for run in job.story.runs(since=place)})
    place = job.story.place()
    job.until(lambda: job.story.runs(since=place, who="java"))
    assert going_on & {*job.story.open("busy")}, "they should have run on meanwhile"
    job.until_shared_out(6, busy, java, joining)


def moved(job: Job, before: dict[int, str | None]) -> set[int]:
    """The shards that have another owner now."""
    return {item for item, owner in job.owners().items() if owner is not None and owner != before[item]}


@pytest.mark.parametrize("first", ["java", "python"])
def test_static_shards_stay_where_they_are_when_somebody_comes(job: Job, first: str) -> None:
    job.cron, job.shards, job.static = EVERY_THIRD_SECOND, 4, True
    start = {"java": job.java, "python": job.python}
    leader = start[first]("first")
    job.until_shared_out(4, leader)
    joining = start["python" if first == "java" else "java"]("joining")
    assert list(job.next_fires(2, PERIOD).values()) == 2 * [[0, 1, 2, 3]]
    assert job.owned_by(joining) == []
    assert set(job.owners().values()) == {job.id_of(leader)}


def test_each_shard_is_told_its_parameter_whoever_runs_it(job: Job) -> None:
    job.cron, job.shards, job.parameters = EVERY_THIRD_SECOND, 4, "0=a,1=b,2=c,3=d"
    job.members("python")
    job.next_fires(1, PERIOD)
    assert {(run.item, run.parameter) for run in job.story.runs()} == {(0, "a"), (1, "b"), (2, "c"), (3, "d")}
    assert {run.who for run in job.story.runs()} == {"java", "python"}


@contextlib.contextmanager
def frozen(peer: Peer, proxy: Proxy) -> Iterator[None]:
    peer.stop()
    yield
    peer.cont()


@contextlib.contextmanager
def cut_off(peer: Peer, proxy: Proxy) -> Iterator[None]:
    proxy.cut()
    yield
    proxy.heal()


@pytest.mark.parametrize("away", [frozen, cut_off])
def test_a_member_whose_shards_java_gave_away_starts_nothing_it_no_longer_owns(
    job: Job, away: Callable[[Peer, Proxy], contextlib.AbstractContextManager[None]]
) -> None:
    job.cron, job.shards = EVERY_THIRD_SECOND, 6
    proxy = job.proxy()
    java, other = job.java(), job.python("python-1")
    stale = job.python("python-2", session=3.0, hosts=proxy.hosts)
    job.until_shared_out(6, java, other, stale)
    job.until(lambda: job.story.open(stale.who))
    job.until(lambda: not job.story.open() and not job.running())

    with away(stale, proxy):
        job.until_shared_out(6, java, other)
        assert list(job.next_fires(2, PERIOD).values()) == 2 * [[0, 1, 2, 3, 4, 5]]
        place = job.story.place()
    job.until_shared_out(6, java, other, stale)
    assert list(job.next_fires(2, PERIOD).values()) == 2 * [[0, 1, 2, 3, 4, 5]]

    back = job.made(f"instances/{job.id_of(stale)}")
    late = job.story.runs(since=place, who=stale.who)
    assert late
    assert [run for run in late if run.token < back] == [], "claimed as the one it was before"
    assert twice_at_once(of_python(job.story.runs())) == []
    assert doubled(by_fire(of_python(job.story.runs()), PERIOD)) == {}


def test_a_member_that_hears_late_that_java_gave_a_shard_away_does_not_start_it(job: Job) -> None:
    """It slept for a moment, and its session did not end. As it wakes a fire is due that its old idea of the
    tree calls its own; Java makes an owner's node anew, so that its version is the same as before."""
    job.cron, job.shards = EVERY_THIRD_SECOND, 6
    proxy = job.proxy()
    java, sleeper = job.java(), job.python(hosts=proxy.hosts)
    job.until_shared_out(6, java, sleeper)
    before = set(job.owned_by(sleeper))
    job.until(lambda: job.story.open(sleeper.who))
    job.until(lambda: not job.story.open() and not job.running())

    sleeper.stop()
    proxy.stall("s2c")
    place, sent = job.story.place(), requests(proxy)
    job.change(shardingTotalCount=4)
    job.until_shared_out(4, java, sleeper)
    job.until(lambda: job.story.runs(since=place, who=java.who))
    job.until(lambda: not job.story.open() and not job.running())
    sleeper.cont()
    proxy.until(lambda: requests(proxy) > sent)
    proxy.heal()

    assert list(job.next_fires(2, PERIOD).values()) == 2 * [[0, 1, 2, 3]]
    lost = before - set(job.owned_by(sleeper))
    assert lost
    assert [run for run in job.story.runs(since=place, who=sleeper.who) if run.item in lost] == []


def requests(proxy: Proxy) -> int:
    """How many came through that are more than a sign of life."""
    return sum(count for name, count in proxy.requests.items() if name != "ping")


def test_where_runs_are_not_monitored_nobody_marks_them_and_every_fire_runs(job: Job) -> None:
    job.cron, job.shards, job.monitor = EVERY_THIRD_SECOND, 4, False
    job.members("java", length=1.0)
    job.until(lambda: len(job.story.open()) == 4)
    assert job.running() == []
    assert list(job.next_fires(2, PERIOD).values()) == 2 * [[0, 1, 2, 3]]


def test_members_agree_on_the_class_and_java_lets_no_other_in(job: Job) -> None:
    job.cron, job.shards, job.class_name = EVERY_THIRD_SECOND, 4, "shardwright.peer.AnotherJob"
    peers = job.members("python")
    assert job.get("") == job.class_name
    job.class_name = "shardwright.peer.RecordingJob"
    stranger = job.begin("java", "stranger")
    assert stranger.wait(PATIENCE) != 0
    stranger.kill()
    assert len(job.names("instances")) == len(peers)
    assert list(job.next_fires(1, PERIOD).values()) == [[0, 1, 2, 3]]
