"""Tests of your jobs, in which replicas die and hours pass, without a server and without a sleep.

    pytest examples/06_test_your_jobs.py

`build` is your own service's code, which makes the scheduler and does not start it.
"""

from shardwright import Scheduler, Shard
from shardwright.testing import Cluster


def build() -> Scheduler:
    scheduler = Scheduler("memory://")

    @scheduler.job(cron="0 0 2 * * ?", time_zone="UTC", shards=4, failover=True)
    def reindex(shard: Shard) -> None:
        assert 0 <= shard.item < shard.total

    return scheduler


def test_two_replicas_share_the_night_and_each_part_is_run_once() -> None:
    cluster = Cluster()
    first, second = cluster.start(build()), cluster.start(build())
    cluster.advance(hours=3)
    assert sorted(run.item for run in first.runs + second.runs) == [0, 1, 2, 3]
    assert len(first.runs) == len(second.runs) == 2


def test_what_a_killed_replica_was_running_runs_on_the_other() -> None:
    cluster = Cluster()
    first, second = (cluster.start(build(), lasting=600.0) for _ in range(2))
    cluster.advance(hours=2, minutes=5)
    cluster.kill(first)
    cluster.advance(minutes=30)
    rescued = [run.item for run in second.runs if run.attempt == 2]
    assert sorted(rescued) == sorted(run.item for run in first.runs)
