"""What a user may write to test jobs: a cluster in one process, without sleeping."""

from collections import Counter
from datetime import timedelta

import pytest

from shardwright import Listener
from shardwright.registry import Create
from shardwright.runtime.scheduler import Scheduler
from shardwright.shard import Shard
from shardwright.testing import Cluster


def build() -> Scheduler:
    """A service with one job, as its own code would make it."""
    scheduler = Scheduler("memory://")

    @scheduler.job(cron="0/10 * * * * ?", time_zone="UTC", shards=4, failover=True)
    def reindex(shard: Shard) -> None:
        assert 0 <= shard.item < shard.total

    return scheduler


def fires(*runs: list[Shard]) -> Counter[tuple[str, int]]:
    return Counter((str(run.fire_time)[11:19], run.item) for some in runs for run in some)


def test_two_replicas_share_the_shards_and_run_each_once_per_fire() -> None:
    cluster = Cluster()
    first, second = cluster.start(build()), cluster.start(build())
    cluster.advance(seconds=25)
    assert fires(first.runs, second.runs) == {
        (at, item): 1 for at in ("00:00:10", "00:00:20") for item in range(4)
    }
    assert {run.item for run in first.runs}.isdisjoint(run.item for run in second.runs)


def test_the_shards_of_a_killed_replica_run_on_the_other_in_the_same_fire() -> None:
    cluster = Cluster()
    first, second = cluster.start(build(), lasting=3.0), cluster.start(build(), lasting=3.0)
    cluster.advance(seconds=11)
    over = [run.item for run in first.runs]
    assert over
    cluster.kill(first)
    cluster.advance(seconds=15)
    rescued = [
        (run.item, str(run.fire_time)[17:19], run.attempt) for run in second.runs if run.source == "failover"
    ]
    assert sorted(rescued) == [(item, "10", 2) for item in sorted(over)]


def test_a_replica_that_leaves_in_order_hands_its_shards_over_at_once() -> None:
    cluster = Cluster()
    first, second = cluster.start(build()), cluster.start(build())
    cluster.advance(seconds=15)
    cluster.stop(first)
    cluster.advance(seconds=8)
    assert [run.item for run in second.runs if str(run.fire_time)[17:19] == "20"] == [0, 1, 2, 3]


def test_a_replica_that_was_stopped_and_goes_on_runs_nothing_that_is_not_its_own() -> None:
    cluster = Cluster()
    first, second = cluster.start(build(), lasting=1.0), cluster.start(build(), lasting=1.0)
    cluster.advance(seconds=12)
    cluster.pause(first, 30)
    cluster.advance(minutes=2)
    assert max(fires(first.runs, second.runs).values()) == 1


def test_a_replica_that_is_cut_off_starts_nothing_and_comes_back_by_itself() -> None:
    cluster = Cluster()
    only = cluster.start(build())
    cluster.advance(seconds=12)
    cluster.partition(only, 35)
    before = len(only.runs)
    cluster.advance(seconds=34)
    assert len(only.runs) == before
    cluster.advance(seconds=20)
    assert len(only.runs) > before


def test_a_failing_shard_does_not_touch_its_siblings() -> None:
    cluster = Cluster()
    scheduler = Scheduler("memory://")
    ran: list[int] = []

    @scheduler.job(cron="0/10 * * * * ?", time_zone="UTC", shards=3)
    def brittle(shard: Shard) -> None:
        if shard.item == 1:
            raise RuntimeError("shard 1 is broken")
        ran.append(shard.item)

    cluster.start(scheduler)
    cluster.advance(seconds=25)
    assert ran == [0, 2, 0, 2]
    last = cluster.store.nodes["/shardwright~shardwright/brittle/cursor/1"].data
    assert '"last": "failed"' in last


def test_a_checkpoint_is_handed_to_the_successor_of_a_run_that_did_not_end() -> None:
    cluster = Cluster()
    found: list[str | None] = []

    def job(shard: Shard) -> None:
        found.append(shard.checkpoint)
        shard.save("page 7")

    def one() -> Scheduler:
        scheduler = Scheduler("memory://")
        scheduler.add(job, cron="0 0/1 * * * ?", time_zone="UTC", failover=True)
        return scheduler

    replicas = [cluster.start(one(), lasting=30.0) for _ in range(2)]
    cluster.advance(seconds=61)
    cluster.kill(next(replica for replica in replicas if replica.runs))
    cluster.advance(seconds=30)
    assert found == [None, "page 7"]


def test_a_clock_that_is_set_ahead_past_a_fire_makes_it_run_then_and_not_hours_later() -> None:
    """Members sleep by the boot clock, and must notice that the time they sleep until has come."""
    cluster = Cluster()
    scheduler = Scheduler("memory://")
    scheduler.add(lambda: None, "nightly", cron="0 0 2 * * ?", time_zone="UTC")
    replica = cluster.start(scheduler)
    cluster.advance(minutes=30)
    cluster.clock.set_wall(cluster.now + timedelta(hours=2))
    cluster.advance(seconds=10)
    assert [str(run.fire_time) for run in replica.runs] == ["2030-01-01 02:00:00+00:00"]


@pytest.mark.parametrize("listeners", [[], [Listener()]], ids=["", "with a listener"])
def test_what_was_claimed_when_the_clock_is_set_back_runs_then_and_not_an_hour_later(
    listeners: list[Listener],
) -> None:
    """A claim is made a moment ahead of its fire, and the clock is set while its answer is on the way."""
    cluster = Cluster()
    scheduler = Scheduler("memory://")
    scheduler.add(lambda: None, "minutely", cron="0 * * * * ?", time_zone="UTC", listeners=listeners)
    replica = cluster.start(scheduler)
    cluster.advance(seconds=58.9)
    replica.registry.delay(answers=0.3)
    cluster.advance(seconds=0.2)
    cluster.clock.set_wall(cluster.now - timedelta(hours=1))
    cluster.advance(seconds=1.5)
    assert [str(run.fire_time) for run in replica.runs] == ["2030-01-01 00:01:00+00:00"]


def test_a_checkpoint_that_is_too_large_fails_the_run_that_leaves_it_and_nothing_else() -> None:
    cluster = Cluster()
    scheduler = Scheduler("memory://")
    said: list[str] = []

    @scheduler.job(cron="0/10 * * * * ?", time_zone="UTC")
    def greedy(shard: Shard) -> None:
        try:
            shard.save("x" * 100_000)
        except ValueError as error:
            said.append(str(error))

    cluster.start(scheduler)
    cluster.advance(seconds=25)
    assert len(said) == 2
    assert "keep what is large elsewhere" in said[0]


def test_a_shard_that_is_handed_on_in_the_moment_of_a_request_runs_for_it_all_the_same() -> None:
    """Its new owner has answered its own request by then, and its old one does not see theirs yet."""
    cluster = Cluster()

    def one() -> Scheduler:
        scheduler = Scheduler("memory://")
        scheduler.add(lambda: None, "job", cron="0 0 0 1 1 ?", time_zone="UTC", shards=2)
        return scheduler

    def ask() -> None:
        members = cluster.store.children("/shardwright/job/instances") or ()
        cluster.store.connect().commit(*(Create(f"/shardwright/job/trigger/{who}") for who in members))

    old = cluster.start(one(), lasting=5.0)
    ask()
    cluster.advance(seconds=1)
    new = cluster.start(one())
    cluster.advance(seconds=3.9)
    old.registry.delay(requests=0.5)
    cluster.advance(seconds=0.3)  # the runs have ended, and the hand-over is on its way
    ask()
    cluster.advance(seconds=30)
    assert [run.item for run in old.runs] == [0, 1, 0]
    assert [run.item for run in new.runs] == [1]
