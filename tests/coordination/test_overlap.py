"""Overlap: a fire that falls into a run is skipped, queued, takes its place, or runs beside it."""

from typing import Any

import pytest

from shardwright import Scheduler
from shardwright.testing import Cluster, Replica
from tests.runtime.test_runs import last


def service(**settings: Any) -> Scheduler:
    scheduler = Scheduler("memory://")
    scheduler.add(lambda shard: None, "job", cron="0/10 * * * * ?", time_zone="UTC", **settings)
    return scheduler


def told(replica: Replica) -> list[tuple[str, str]]:
    return [(str(shard.fire_time)[17:19], shard.source) for shard in replica.runs]


def a_minute_of(lasting: float, **settings: Any) -> tuple[Cluster, Replica]:
    cluster = Cluster()
    replica = cluster.start(service(**settings), lasting=lasting)
    cluster.advance(seconds=59)
    return cluster, replica


@pytest.mark.parametrize(
    "settings", [{"overlap": "skip"}, {"misfire": False}, {"overlap": "skip", "misfire": True}]
)
def test_skip_passes_over_the_fires_that_fall_into_a_run(settings: dict[str, object]) -> None:
    _, replica = a_minute_of(25.0, **settings)
    assert told(replica) == [("10", "scheduled"), ("40", "scheduled")]


@pytest.mark.parametrize(
    "settings", [{"overlap": "queue"}, {"misfire": True}, {"overlap": "queue", "misfire": False}]
)
def test_queue_makes_one_of_them_good_right_after_the_run(settings: dict[str, object]) -> None:
    _, replica = a_minute_of(25.0, **settings)
    assert told(replica) == [("10", "scheduled"), ("30", "misfire")]


def test_cancel_ends_the_run_at_the_next_fire_which_comes_in_its_place() -> None:
    cluster = Cluster()
    replica = cluster.start(service(overlap="cancel"), lasting=12.0)
    cluster.advance(seconds=19.9)
    assert [shard.cancelled for shard in replica.runs] == [False]
    cluster.advance(seconds=0.2)
    assert [shard.cancelled for shard in replica.runs] == [True]
    cluster.advance(seconds=3)
    assert told(replica) == [("10", "scheduled"), ("20", "misfire")]
    assert last(cluster) == "superseded"


def test_a_run_that_was_superseded_is_not_run_again_by_anybody() -> None:
    cluster = Cluster()
    settings = {"overlap": "cancel", "failover": True}
    first, second = (cluster.start(service(**settings), lasting=12.0) for _ in range(2))
    cluster.advance(seconds=120)
    assert {source for replica in (first, second) for _, source in told(replica)} == {"scheduled", "misfire"}


def test_allow_runs_each_fire_at_its_time_beside_those_before_it() -> None:
    cluster, replica = a_minute_of(25.0, overlap="allow")
    assert told(replica) == [(at, "scheduled") for at in ("10", "20", "30", "40", "50")]
    cluster.advance(seconds=60)
    assert len(replica.runs) == 11


def test_with_allow_a_member_that_leaves_waits_for_all_that_it_runs() -> None:
    cluster = Cluster()
    replica = cluster.start(service(overlap="allow"), lasting=35.0)
    cluster.advance(seconds=31)
    assert len(replica.runs) == 3
    began = cluster.clock.boot()
    cluster.stop(replica)
    assert cluster.clock.boot() - began > 30  # the last began a second ago, and takes 35


def test_with_allow_all_that_runs_is_told_to_stop_when_the_lease_is_lost() -> None:
    cluster = Cluster()
    replica = cluster.start(service(overlap="allow"), lasting=60.0)
    cluster.advance(seconds=31)
    cluster.partition(replica, 30)
    cluster.advance(seconds=15)
    assert [shard.cancelled for shard in replica.runs] == [True] * 3


@pytest.mark.parametrize("overlap", ["skip", "queue", "cancel", "allow"])
def test_after_the_death_of_its_runner_the_newest_run_goes_on_elsewhere(overlap: str) -> None:
    cluster = Cluster()
    settings: dict[str, object] = {"overlap": overlap, "failover": True}
    first, second = (cluster.start(service(**settings), lasting=15.0) for _ in range(2))
    cluster.advance(seconds=22)
    runner, other = (first, second) if first.runs else (second, first)
    newest, _ = told(runner)[-1]
    cluster.kill(runner)
    cluster.advance(seconds=20)
    assert (newest, "failover") in told(other)


def test_with_allow_a_request_to_fire_runs_beside_what_goes_on() -> None:
    """Seed 412: fires at every moment left no moment for the request."""
    cluster = Cluster()
    replica = cluster.start(service(overlap="allow"), lasting=25.0)
    cluster.advance(seconds=35)
    replica.process.trigger("job")
    cluster.advance(seconds=2)
    assert told(replica)[-1][1] == "trigger"
