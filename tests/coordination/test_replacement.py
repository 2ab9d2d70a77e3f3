"""A process that is gone, and one that comes in its place: no fire falls between the two."""

from shardwright import Scheduler
from shardwright.testing import Cluster

FIRE = 60.0  # the first fire is so many seconds after the cluster's beginning


def service() -> Scheduler:
    scheduler = Scheduler("memory://")
    scheduler.add(lambda shard: None, "job", cron="0 * * * * ?", time_zone="UTC", shards=2)
    return scheduler


def test_a_fire_that_fell_before_a_death_was_noticed_is_run_by_one_that_came_since() -> None:
    """The dead one's shard is given to it, because it has none; and another was there all the time."""
    cluster = Cluster(session_timeout=10.0)
    first, second = (cluster.start(service()) for _ in range(2))
    cluster.advance(seconds=FIRE - 5)
    cluster.kill(first)
    cluster.advance(seconds=7)
    (there,) = [run.fire_time for run in second.runs]
    third = cluster.start(service())
    cluster.advance(seconds=20)
    ran = sorted((run.fire_time, run.item) for run in (*second.runs, *third.runs))
    assert ran == [(there, 0), (there, 1)]


def test_a_fire_that_fell_while_nobody_was_there_is_skipped_as_the_job_wants_it() -> None:
    cluster = Cluster(session_timeout=10.0)
    first = cluster.start(service())
    cluster.advance(seconds=FIRE - 5)
    cluster.kill(first)
    cluster.advance(seconds=7)
    second = cluster.start(service())
    cluster.advance(seconds=20)
    assert second.runs == []
