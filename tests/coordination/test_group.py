"""Groups: jobs that share a limit on how many of their shards run at once in the whole cluster."""

from dataclasses import replace
from typing import Any

import pytest

from shardwright import ConfigError, JobConfig, Scheduler
from shardwright.coordination import group
from shardwright.coordination.step import Delete, do
from shardwright.registry import Node
from shardwright.registry.tree import Mirror
from shardwright.testing import Cluster, Replica

from .views import A, B, a_view, member


def service(
    *jobs: str, shards: int = 4, concurrency: int = 3, cron: str = "10 * * * * ?", **settings: Any
) -> Scheduler:
    scheduler = Scheduler("memory://")
    for name in jobs or ("job",):
        scheduler.add(
            lambda shard: None,
            name,
            cron=cron,
            time_zone="UTC",
            shards=shards,
            concurrency=concurrency,
            group="database",
            **settings,
        )
    return scheduler


def at_once(cluster: Cluster, *replicas: Replica, seconds: float) -> list[int]:
    """How many ran at each half second."""
    counts = []
    for _ in range(int(seconds * 2)):
        cluster.advance(seconds=0.5)
        counts.append(sum(len(replica.process._running) for replica in replicas if replica.alive))
    return counts


def places(cluster: Cluster) -> list[str]:
    return sorted(path for path in cluster.store.nodes if "~groups/database/places/" in path)


def test_no_more_shards_of_all_the_groups_jobs_run_at_once_than_it_has_places() -> None:
    cluster = Cluster()
    replicas = [cluster.start(service("one", "two"), lasting=5.0) for _ in range(2)]
    cluster.advance(seconds=9.5)
    counts = at_once(cluster, *replicas, seconds=45)
    assert max(counts) == 3
    assert sum(len(replica.runs) for replica in replicas) == 8
    assert places(cluster) == []


def test_a_fire_that_finds_no_place_waits_for_one_and_is_the_same_fire() -> None:
    cluster = Cluster()
    replica = cluster.start(service(concurrency=1), lasting=5.0)
    cluster.advance(seconds=45)
    assert [(str(run.fire_time)[14:19], run.source) for run in replica.runs] == [("00:10", "scheduled")] * 4
    assert len({run.token for run in replica.runs}) == 4


def test_a_place_is_not_held_for_a_fire_that_has_not_come() -> None:
    cluster = Cluster()
    replica = cluster.start(service(shards=8, concurrency=2), lasting=0.1)
    cluster.advance(seconds=9.9)
    assert places(cluster) == []
    cluster.advance(seconds=1)
    assert len(replica.runs) == 8


def test_a_process_that_dies_gives_its_places_back() -> None:
    cluster = Cluster()
    first, second = (cluster.start(service(failover=True), lasting=8.0) for _ in range(2))
    cluster.advance(seconds=11)
    runner, other = (first, second) if first.runs else (second, first)
    cluster.kill(runner)
    counts = at_once(cluster, other, seconds=40)
    assert max(counts) <= 3
    assert {run.item for run in (*runner.runs, *other.runs)} == {0, 1, 2, 3}
    assert places(cluster) == []


def test_what_the_dead_left_comes_to_a_place_although_the_group_is_never_idle() -> None:
    cluster = Cluster()
    never_idle: dict[str, Any] = {"shards": 3, "concurrency": 1, "cron": "0/10 * * * * ?", "failover": True}
    replicas = [cluster.start(service(**never_idle), lasting=12.0) for _ in range(2)]
    cluster.advance(seconds=25)
    runner = next(replica for replica in replicas if replica.process._running)
    (other,) = [replica for replica in replicas if replica is not runner]
    left = runner.runs[-1]
    cluster.kill(runner)
    cluster.advance(seconds=100)
    assert (left.item, left.fire_time, "failover") in [
        (run.item, run.fire_time, run.source) for run in other.runs
    ]


def test_who_has_left_a_group_stands_in_its_line_no_more() -> None:
    """Or those behind would wait for ever, with all places free."""
    line = Mirror("/ns~shardwright~groups/database")
    ours, theirs = f"line/{A}~job~0-0000000001", f"line/{B}~job~1-0000000002"
    for path in (ours, theirs):
        line.put(path, Node("", 0, "s", 1, 1), 0.0)
    line.complete(0.0)
    view = replace(a_view(member(A)), groups={"database": line})
    assert list(group.leave_line(view, {0})) == [do(Delete(f"+database/{ours}"))]
    still = replace(view, config=view.config.replace(group="database", concurrency=1), answers={})
    assert list(group.leave_line(still, {0})) == []


def test_a_run_that_was_cut_short_gives_its_place_back() -> None:
    cluster = Cluster()
    first = cluster.start(service(failover=True, concurrency=1), lasting=20.0)
    cluster.advance(seconds=11)
    assert len(places(cluster)) == 1
    first.process.cut_short()
    second = cluster.start(service(failover=True, concurrency=1), lasting=1.0)
    cluster.stop(first)
    cluster.advance(seconds=20)
    assert {run.item for run in second.runs} == {0, 1, 2, 3}
    assert places(cluster) == []


def test_a_request_to_fire_waits_for_places_too() -> None:
    cluster = Cluster()
    replica = cluster.start(service(concurrency=2), lasting=5.0)
    replica.process.trigger("job")
    assert max(at_once(cluster, replica, seconds=9)) == 2
    cluster.advance(seconds=15)
    assert sorted(run.item for run in replica.runs if run.source == "trigger") == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"group": "database"}, "group needs concurrency"),
        ({"group": "data/base", "concurrency": 2}, "group must be a word"),
        ({"group": "database", "concurrency": 2, "overlap": "allow"}, "group cannot limit runs beside"),
    ],
)
def test_a_group_that_cannot_be_is_refused(settings: dict[str, object], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        JobConfig.of({"name": "job", **settings})
