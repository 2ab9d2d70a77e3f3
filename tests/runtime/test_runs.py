"""Runs: tries, pauses, timeouts, and one end that is told. Time is moved by hand."""

import asyncio
import json
import logging
import threading
from collections.abc import Callable
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import pytest

from shardwright import Scheduler, Shard
from shardwright.errors import Cancelled
from shardwright.outcomes import CUT_SHORT
from shardwright.registry import Create, Landed, Outcome, Put, Write
from shardwright.registry.memory import Effects
from shardwright.runtime import runs, tries
from shardwright.runtime.loop import Loop
from shardwright.testing import Cluster, Replica

FIRE = 10.0  # the first fire is so many seconds after the cluster's beginning


def service(body: Callable[..., object], **settings: Any) -> Scheduler:
    scheduler = Scheduler("memory://")
    scheduler.add(body, "job", cron="10 * * * * ?", time_zone="UTC", **settings)
    return scheduler


class Flaky:
    """Fails so many times, then works; knows when it was tried."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.cluster = Cluster()
        self.tried: list[float] = []
        self._began = self.cluster.clock.boot()

    def __call__(self, shard: Shard) -> None:
        self.tried.append(self.cluster.clock.boot() - self._began)
        if len(self.tried) <= self.failures:
            raise ConnectionError("the other side is down")


def last(cluster: Cluster, item: int = 0) -> str:
    """How the last run of a shard ended, as its cursor tells."""
    (node,) = [node for path, node in cluster.store.nodes.items() if path.endswith(f"/job/cursor/{item}")]
    return str(json.loads(node.data).get("last", ""))


def facts(replica: Replica) -> list[tuple[int, int]]:
    return [(shard.attempt, shard.token) for shard in replica.runs]


def test_a_shard_that_failed_is_tried_again_in_the_same_fire_under_the_same_token() -> None:
    body = Flaky(2)
    replica = body.cluster.start(service(body, retries=3, retry_delay="4s"))
    body.cluster.advance(seconds=40)
    assert [attempt for attempt, _ in facts(replica)] == [1, 2, 3]
    assert len({token for _, token in facts(replica)}) == 1
    assert {shard.fire_time for shard in replica.runs} == {body.cluster.now - timedelta(seconds=40 - FIRE)}
    assert last(body.cluster) == "ok"


def test_a_try_goes_on_where_the_one_before_it_left_off() -> None:
    found: list[str | None] = []

    def export(shard: Shard) -> None:
        found.append(shard.checkpoint)
        page = int(shard.checkpoint or 0) + 1
        shard.save(str(page))
        if page < 3:
            raise ConnectionError("the other side is down")
        shard.save("")

    cluster = Cluster()
    cluster.start(service(export, retries=3, retry_delay="1s"))
    cluster.advance(seconds=40)
    assert found == [None, "1", "2"]
    cluster.advance(seconds=60)
    assert found[3:] == [None, "1", "2"]


def test_a_shard_that_failed_while_the_registry_was_out_of_reach_is_tried_again_in_its_session() -> None:
    """What cut us off for a second may be what it failed for."""
    body = Flaky(1)

    def cut_off(shard: Shard) -> None:
        if not body.tried:
            body.cluster.partition(replica, seconds=1.0)
        body(shard)

    replica = body.cluster.start(service(cut_off, retries=1, retry_delay="4s"))
    body.cluster.advance(seconds=40)
    assert [attempt for attempt, _ in facts(replica)] == [1, 2]
    assert last(body.cluster) == "ok"


def test_pauses_double_up_to_the_longest_and_never_fall_below_half_of_that() -> None:
    body = Flaky(5)
    body.cluster.start(service(body, retries=5, retry_delay="1s", retry_delay_max="4s"))
    body.cluster.advance(seconds=50)
    pauses = [after - before for before, after in zip(body.tried, body.tried[1:], strict=False)]
    assert len(pauses) == 5
    for pause, whole in zip(pauses, [1, 2, 4, 4, 4], strict=True):
        assert whole / 2 <= pause <= whole


def test_what_fails_every_time_has_failed_once_and_the_next_fire_begins_anew(
    caplog: pytest.LogCaptureFixture,
) -> None:
    body = Flaky(3)
    replica = body.cluster.start(service(body, retries=2))
    body.cluster.advance(seconds=30)
    assert (len(body.tried), last(body.cluster)) == (3, "failed")
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert [record.message.partition("\n")[0] for record in errors] == [
        "job: failed, shard 0: ConnectionError: the other side is down"
    ]
    body.cluster.advance(seconds=60)
    assert (replica.runs[-1].attempt, last(body.cluster)) == (1, "ok")


def test_a_run_that_takes_longer_than_its_timeout_is_told_to_stop_and_has_timed_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster = Cluster()
    replica = cluster.start(service(lambda shard: None, timeout="3s"), lasting=8.0)
    cluster.advance(seconds=FIRE + 2.9)
    assert not replica.runs[0].cancelled
    cluster.advance(seconds=0.2)
    assert replica.runs[0].cancelled
    assert "takes longer than its timeout of 3 s and is told to stop" in caplog.text
    cluster.advance(seconds=6)
    assert last(cluster) == "timed out"


def test_a_run_that_ends_in_time_is_not_told_anything() -> None:
    cluster = Cluster()
    replica = cluster.start(service(lambda shard: None, timeout="9s"), lasting=8.0)
    cluster.advance(seconds=FIRE + 20)
    assert not replica.runs[0].cancelled
    assert last(cluster) == "ok"


def test_who_was_too_slow_is_tried_again_too() -> None:
    cluster = Cluster()
    replica = cluster.start(service(lambda shard: None, timeout="3s", retries=1), lasting=5.0)
    cluster.advance(seconds=FIRE + 20)
    assert [attempt for attempt, _ in facts(replica)] == [1, 2]
    assert last(cluster) == "timed out"


def test_a_member_that_is_told_to_leave_while_it_pauses_leaves_the_shard_to_another() -> None:
    body = Flaky(1)
    settings = {"retries": 1, "retry_delay": "30s", "failover": True}
    first = body.cluster.start(service(body, **settings))
    body.cluster.advance(seconds=FIRE + 1)
    second = body.cluster.start(service(body, **settings))
    assert first.process.cut_short() == ["job"]
    body.cluster.advance(seconds=1)
    assert [(shard.attempt, shard.source) for shard in second.runs or first.runs[1:]] == [(2, "failover")]


def records(cluster: Cluster) -> list[str]:
    """All that is written to the cursor of the only shard from now on: how its run ended, blank while it goes
    on."""
    written: list[str] = []
    commit = cluster.store.commit

    def noted(session: str, writes: tuple[Write, ...]) -> tuple[Outcome, Effects]:
        outcome, effects = commit(session, writes)
        cursors = [write for write in writes if isinstance(write, Create | Put) and "/cursor/" in write.path]
        if isinstance(outcome, Landed):
            written.extend(json.loads(write.data).get("last", "") for write in cursors)
        return outcome, effects

    cluster.store.commit = noted  # type: ignore[method-assign]
    return written


@pytest.mark.parametrize(
    ("moments", "outcome"),
    [([4.9, 4.9], "cut short"), ([4.9, 5.0, 5.1], "cut short"), ([5.0, 5.0], None), ([5.1], "ok")],
)
def test_a_run_that_ends_as_it_is_cancelled_is_recorded_once(
    moments: list[float], outcome: str | None
) -> None:
    cluster = Cluster()
    replica = cluster.start(service(lambda shard: None), lasting=5.0)
    written = records(cluster)
    cluster.advance(seconds=FIRE)
    (running,) = replica.process._running.values()
    for moment in moments:
        cluster.clock.at(cluster.clock.boot() + moment, running.cancel)
    cluster.advance(seconds=15)
    assert len(replica.runs) == 1
    claimed, *ended = written
    assert (claimed, len(ended)) == ("", 1)
    assert ended[0] in ([outcome] if outcome else ["ok", "cut short"])
    assert last(cluster) == ended[0]


def test_a_coroutine_is_a_job_like_any_other() -> None:
    seen: list[int] = []

    async def job(shard: Shard) -> None:
        await asyncio.sleep(0)
        seen.append(shard.item)

    cluster = Cluster()
    cluster.start(service(job, shards=3))
    cluster.advance(seconds=FIRE + 5)
    assert sorted(seen) == [0, 1, 2]
    assert last(cluster) == "ok"


def test_what_a_run_does_when_told_to_stop_may_fail_and_holds_up_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail() -> None:
        raise RuntimeError("out of order")

    def body(shard: Shard) -> None:
        stack.enter_context(shard.on_cancel(fail))

    cluster = Cluster()
    with ExitStack() as stack:
        cluster.start(service(body, timeout="2s"), lasting=5.0)
        cluster.advance(seconds=FIRE + 6)
    assert last(cluster) == "timed out"
    assert "out of order" in caplog.text


class Mute(Exception):
    def __str__(self) -> str:
        return 404  # type: ignore[return-value]


class Once(Exception):
    said = False

    def __str__(self) -> str:
        if self.said:
            raise SystemExit(3)
        self.said = True
        return "only once"


class Hollow(Exception):
    def __getattr__(self, name: str) -> object:
        return self.__dict__["body"][name]


@pytest.mark.parametrize("kind", [Mute, Once, Hollow])
def test_an_error_that_cannot_say_what_it_is_is_a_failure_like_any_other(
    caplog: pytest.LogCaptureFixture, kind: type[Exception]
) -> None:
    def body(shard: Shard) -> None:
        raise kind

    cluster = Cluster()
    cluster.start(service(body, retries=1, retry_delay="1s"))
    cluster.advance(seconds=FIRE + 5)
    assert last(cluster) == "failed"
    assert kind.__name__ in caplog.text


@pytest.mark.parametrize(("left", "begins"), [(0.001, True), (0.0, False), (-60.0, False)])
def test_what_has_not_begun_when_its_lease_is_over_does_not_begin(left: float, begins: bool) -> None:
    """A process that was stopped between the claim and the first line of the job wakes up to a shard that is
    somebody else's, before anybody there has noticed."""
    entered: list[int] = []
    body = runs._once(lambda shard: entered.append(shard.item), threading.Lock(), None)
    shard = Shard(3, 4, "", "job", "", None, 7, 1, "scheduled", None, _lease=lambda: left)
    if begins:
        body(shard)
    else:
        with pytest.raises(Cancelled, match="its lease was over before it began"):
            body(shard)
    assert entered == ([3] if begins else [])


@pytest.mark.parametrize("coroutine", [False, True])
def test_what_does_not_begin_because_its_lease_is_over_has_not_failed(coroutine: bool) -> None:
    shard = Shard(3, 4, "", "job", "", None, 7, 1, "scheduled", None, _lease=lambda: 0.0)

    async def later(shard: Shard) -> None: ...

    body = runs._once(later if coroutine else lambda shard: None, threading.Lock(), None)
    end = asyncio.run(tries.try_coroutine(shard, body)) if coroutine else tries.try_it(shard, body)
    assert end == tries.End(CUT_SHORT)


def test_a_coroutine_for_which_there_is_no_thread_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    async def later(shard: Shard) -> None: ...

    ends: list[tries.End] = []
    monkeypatch.setattr(threading.Thread, "start", refuse)
    Loop().run(Shard(3, 4, "", "job", "", None, 7, 1, "scheduled", None), later, ends.append)
    assert [str(end.error) for end in ends] == ["there is no thread to run it in: can't start new thread"]
