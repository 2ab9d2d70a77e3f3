"""Work: threads that are shared, threads of one's own, a loop for coroutines, and limits."""

import asyncio
import logging
import queue
import threading
from collections.abc import Iterator

import pytest

from shardwright import Shard
from shardwright.errors import Cancelled, Failed
from shardwright.jobs import JobConfig
from shardwright.outcomes import CUT_SHORT, FAILED, OK
from shardwright.runtime.bodies import Body
from shardwright.runtime.work import End, Workshop, told, try_it
from tests.test_shard import a_shard

PATIENCE = 20.0


@pytest.fixture
def workshop() -> Iterator[Workshop]:
    workshop = Workshop(4)
    yield workshop
    workshop.close()


def config(**settings: object) -> JobConfig:
    return JobConfig.of({"name": "job", **settings})


class Bench:
    """Bodies that wait to be let go, and the ends they came to."""

    def __init__(self) -> None:
        self.began: queue.SimpleQueue[tuple[int, str]] = queue.SimpleQueue()
        self.ends: queue.SimpleQueue[End] = queue.SimpleQueue()
        self.go = threading.Event()

    def body(self, shard: Shard) -> None:
        self.began.put((shard.item, threading.current_thread().name))
        self.go.wait(PATIENCE)

    def run(self, workshop: Workshop, settings: JobConfig, *items: int, body: Body | None = None) -> None:
        for item in items:
            workshop.run(settings, a_shard(item=item), body or self.body, self.ends.put)

    def who_began(self, count: int) -> list[tuple[int, str]]:
        return [self.began.get(timeout=PATIENCE) for _ in range(count)]

    def outcomes(self, count: int) -> list[str]:
        return [self.ends.get(timeout=PATIENCE).outcome for _ in range(count)]


def test_a_job_that_asks_for_nothing_shares_the_threads_of_all(workshop: Workshop) -> None:
    bench = Bench()
    bench.run(workshop, config(), 0, 1)
    assert all(thread.startswith("shardwright-work") for _, thread in bench.who_began(2))
    assert workshop.free(config(name="other")) == 2
    bench.go.set()
    assert bench.outcomes(2) == [OK, OK]


def test_a_job_with_a_single_thread_runs_its_shards_one_after_the_other(workshop: Workshop) -> None:
    bench, one = Bench(), config(pool="SINGLE_THREAD")
    bench.run(workshop, one, 0, 1, 2)
    assert bench.who_began(1) == [(0, "shardwright-job_0")]
    assert (workshop.free(one), workshop.free(config(name="other"))) == (0, 4)
    assert bench.began.empty()
    bench.go.set()
    assert bench.outcomes(3) == [OK, OK, OK]


def test_a_pool_is_changed_at_run_time_and_what_stood_in_the_old_one_still_runs(workshop: Workshop) -> None:
    bench = Bench()
    bench.run(workshop, config(pool="1"), 0, 1)
    bench.run(workshop, config(pool="2"), 2, 3)
    assert {item for item, _ in bench.who_began(3)} == {0, 2, 3}
    bench.go.set()
    assert bench.outcomes(4) == [OK] * 4
    assert workshop.free(config(pool="cpu")) >= 2


def test_a_pool_that_is_not_known_here_is_said_once_and_the_shared_one_is_used(
    workshop: Workshop, caplog: pytest.LogCaptureFixture
) -> None:
    assert [workshop.free(config(pool="HUGE")) for _ in range(2)] == [4, 4]
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "the pool 'HUGE' is not known here" in caplog.text


def test_no_more_shards_of_a_job_run_at_once_than_it_allows(workshop: Workshop) -> None:
    bench, two = Bench(), config(concurrency=2)
    bench.run(workshop, two, 0, 1, 2, 3)
    assert {item for item, _ in bench.who_began(2)} == {0, 1}
    assert workshop.free(two) == 0
    other = Bench()
    other.go.set()
    other.run(workshop, config(name="other"), 7)
    assert other.outcomes(1) == [OK]  # and all that was to begin of the first has had its chance
    assert bench.began.empty()
    bench.go.set()
    assert bench.outcomes(4) == [OK] * 4


def test_coroutines_run_side_by_side_in_one_thread(workshop: Workshop) -> None:
    bench = Bench()
    together = asyncio.Barrier(100)

    async def body(shard: Shard) -> None:
        await together.wait()  # which nobody passes unless all have begun
        bench.began.put((shard.item, threading.current_thread().name))

    bench.run(workshop, config(), *range(100), body=body)
    assert bench.outcomes(100) == [OK] * 100
    assert {thread for _, thread in bench.who_began(100)} == {"shardwright-loop"}


def test_a_coroutine_that_is_told_to_stop_is_cancelled_where_it_waits(workshop: Workshop) -> None:
    bench, tidied = Bench(), threading.Event()

    async def body(shard: Shard) -> None:
        bench.began.put((shard.item, ""))
        try:
            await asyncio.Event().wait()
        finally:
            tidied.set()

    shard = a_shard()
    workshop.run(config(), shard, body, bench.ends.put)
    bench.who_began(1)
    shard.cancel()
    assert bench.outcomes(1) == [CUT_SHORT]
    assert tidied.is_set()


def test_a_coroutine_that_cancels_itself_has_failed(workshop: Workshop) -> None:
    bench = Bench()

    async def body(shard: Shard) -> None:
        raise asyncio.CancelledError

    bench.run(workshop, config(), 0, body=body)
    assert bench.outcomes(1) == [FAILED]


def test_a_shard_that_fails_does_not_touch_its_siblings(workshop: Workshop) -> None:
    bench = Bench()

    def body(shard: Shard) -> None:
        if shard.item == 1:
            raise ArithmeticError("of this one only")

    bench.run(workshop, config(), 0, 1, 2, body=body)
    ends = [bench.ends.get(timeout=PATIENCE) for _ in range(3)]
    assert sorted(end.outcome for end in ends) == [FAILED, OK, OK]
    assert [str(end.error) for end in ends if end.error is not None] == ["of this one only"]


def test_who_stops_when_told_to_is_cut_short_and_who_was_told_before_never_begins(workshop: Workshop) -> None:
    bench = Bench()

    def body(shard: Shard) -> None:
        raise Cancelled("as told")

    told = a_shard()
    told.cancel()
    workshop.run(config(), told, bench.body, bench.ends.put)
    bench.run(workshop, config(), 0, body=body)
    assert bench.outcomes(2) == [CUT_SHORT, CUT_SHORT]
    assert bench.began.empty()


def test_a_failure_is_told_from_where_the_users_own_code_begins_and_without_secrets() -> None:
    def body(shard: Shard) -> None:
        raise ConnectionError("to postgres://app:s3cret@db/x")

    end = try_it(a_shard(), body)
    assert end.error is not None
    lines = told(end.error).splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert "test_work.py" in lines[1]
    assert "s3cret" not in told(end.error)


def test_of_a_failure_that_is_a_sentence_no_traceback_is_told() -> None:
    def body(shard: Shard) -> None:
        raise Failed("the script ended with 3")

    end = try_it(a_shard(), body)
    assert end.error is not None
    assert told(end.error) == ""
