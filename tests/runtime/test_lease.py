"""What becomes of a run whose lease is lost: by the job's wish it is told to stop, or goes on. On a cluster
whose clock is moved by hand, and in real threads on a file."""

import json
import queue
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from shardwright import Scheduler, Shard
from shardwright.registry import Delete, connect
from shardwright.testing import Cluster, Replica

PATIENCE = 20.0
SESSION = 10.0

BOTH = pytest.mark.parametrize(("lease_lost", "told"), [("stop", True), ("continue", False)])


def service(**settings: Any) -> Scheduler:
    scheduler = Scheduler("memory://")
    scheduler.add(lambda shard: None, "job", cron="10 * * * * ?", time_zone="UTC", **settings)
    return scheduler


def runner(cluster: Cluster, count: int = 1, lasting: float = 45.0, **settings: Any) -> Replica:
    """Of so many replicas, the one that has begun to run the job's only shard."""
    replicas = [cluster.start(service(**settings), lasting=lasting) for _ in range(count)]
    cluster.advance(seconds=11)
    (busy,) = (replica for replica in replicas if replica.runs)
    return busy


def cursor(cluster: Cluster) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(cluster.store.nodes["/shardwright~shardwright/job/cursor/0"].data)
    return told


@BOTH
def test_what_runs_is_told_to_stop_before_the_registry_gives_its_process_up_unless_it_is_to_go_on(
    lease_lost: str, told: bool
) -> None:
    cluster = Cluster(session_timeout=SESSION)
    replica = runner(cluster, lease_lost=lease_lost)
    members = cluster.store.children("/shardwright/job/instances")
    cluster.partition(replica, 30)
    cluster.advance(seconds=SESSION - 0.1)
    assert cluster.store.children("/shardwright/job/instances") == members
    assert replica.runs[0].lease_left == 0
    assert replica.runs[0].cancelled is told


@BOTH
def test_in_the_session_after_it_what_was_to_go_on_still_does(lease_lost: str, told: bool) -> None:
    cluster = Cluster(session_timeout=SESSION)
    replica = runner(cluster, lease_lost=lease_lost)
    before = cluster.store.children("/shardwright/job/instances")
    cluster.partition(replica, 15)
    cluster.advance(seconds=20)
    after = cluster.store.children("/shardwright/job/instances")
    assert after != before
    assert after
    assert replica.runs[0].cancelled is told


@BOTH
def test_what_runs_when_the_registry_ends_its_session_before_its_time_fares_alike(
    lease_lost: str, told: bool
) -> None:
    cluster = Cluster(session_timeout=SESSION)
    replica = runner(cluster, lease_lost=lease_lost)
    replica.registry.expire()
    cluster.advance(seconds=1)
    assert replica.runs[0].cancelled is told
    assert replica.runs[0].lease_left == 0


def test_what_goes_on_may_run_elsewhere_under_a_higher_token_and_its_own_end_is_not_written() -> None:
    cluster = Cluster(session_timeout=SESSION)
    replica = runner(cluster, count=2, lasting=22.0, lease_lost="continue", failover=True)
    (other,) = (each for each in cluster.replicas if each is not replica)
    cluster.partition(replica, 15)
    cluster.advance(seconds=20)
    (gone_on,), (again,) = replica.runs, other.runs
    assert (again.source, again.attempt) == ("failover", 2)
    assert again.token > gone_on.token
    running = cursor(cluster)
    cluster.advance(seconds=5)  # the first of them has ended
    assert cursor(cluster) == running
    cluster.advance(seconds=15)
    assert cursor(cluster)["last"] == "ok"


def test_who_leaves_waits_for_what_goes_on_though_its_lease_was_lost() -> None:
    cluster = Cluster(session_timeout=SESSION)
    replica = runner(cluster, lasting=45.0, lease_lost="continue")
    cluster.partition(replica, 15)
    cluster.advance(seconds=20)
    began = cluster.clock.boot()
    cluster.stop(replica)
    assert cluster.clock.boot() - began > 20  # of 45 seconds 21 are over
    assert not replica.runs[0].cancelled


def test_an_order_to_stop_reaches_what_goes_on_though_its_lease_was_lost() -> None:
    cluster = Cluster(session_timeout=SESSION)
    replica = runner(cluster, lease_lost="continue")
    cluster.partition(replica, 15)
    cluster.advance(seconds=20)
    (who,) = cluster.store.children("/shardwright/job/instances") or ()
    cluster.store.connect().commit(Delete(f"/shardwright/job/instances/{who}"))
    cluster.advance(seconds=1)
    assert replica.runs[0].cancelled


def test_no_other_try_begins_of_what_goes_on_though_its_lease_was_lost() -> None:
    cluster = Cluster(session_timeout=SESSION)
    tried: list[int] = []

    def fail(shard: Shard) -> None:
        tried.append(shard.attempt)
        raise ConnectionError("the other side is down")

    scheduler = Scheduler("memory://")
    wish: dict[str, Any] = {"lease_lost": "continue", "retries": 1, "retry_delay": "5s"}
    scheduler.add(fail, "job", cron="10 * * * * ?", time_zone="UTC", **wish)
    replica = cluster.start(scheduler)
    cluster.advance(seconds=11)
    replica.registry.expire()
    cluster.advance(seconds=20)
    assert tried == [1]


@pytest.mark.parametrize(
    ("lease_lost", "said"),
    [
        ("stop", "job: shard 0 is told to stop"),
        ("continue", "job: shard 0 goes on, and may run elsewhere by now"),
    ],
)
def test_the_operator_is_told_what_becomes_of_each_shard(
    lease_lost: str, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = Cluster(session_timeout=SESSION)
    replica = runner(cluster, lease_lost=lease_lost)
    caplog.clear()
    caplog.set_level("INFO")
    cluster.partition(replica, 15)
    cluster.advance(seconds=SESSION)
    assert [line for line in caplog.messages if "shard 0" in line] == [said]
    assert "given up by the registry, or about to be: nothing new is started" in caplog.messages


@BOTH
def test_a_thread_whose_session_was_ended_by_somebody_else_is_told_to_stop_or_ends_its_work(
    lease_lost: str, told: bool, tmp_path: Path
) -> None:
    path = tmp_path / "registry.db"
    began: queue.SimpleQueue[Shard] = queue.SimpleQueue()
    ended: queue.SimpleQueue[bool] = queue.SimpleQueue()
    let_go = threading.Event()

    def work(shard: Shard) -> None:
        began.put(shard)
        with shard.on_cancel(let_go.set):
            assert let_go.wait(PATIENCE)
        ended.put(shard.cancelled)

    scheduler = Scheduler(f"sqlite://{path}")
    scheduler.add(work, "job", lease_lost=lease_lost)
    with scheduler:
        scheduler.trigger("job")
        shard = began.get(timeout=PATIENCE)
        with closing(sqlite3.connect(path, isolation_level=None, timeout=PATIENCE)) as somebody:
            somebody.execute("delete from session")
        with connect(f"sqlite://{path}") as watcher:
            instances = watcher.mirror(f"{watcher.namespace}/job/instances")
            before = shard.task_id.rpartition("@-@READY@-@")[2]
            watcher.wait_for(
                lambda: instances.synced and bool({*instances.children("")} - {before}), PATIENCE
            )
        assert shard.lease_left == 0
        assert shard.cancelled is told
        let_go.set()
        assert ended.get(timeout=PATIENCE) is told
