"""Work: threads that are shared, threads of one's own, a loop for coroutines, and limits."""

import asyncio
import logging
import queue
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from shardwright import Shard
from shardwright.errors import Cancelled, Failed, JobError
from shardwright.jobs import JobConfig
from shardwright.outcomes import CUT_SHORT, FAILED, OK
from shardwright.runtime.bodies import Body
from shardwright.runtime.loop import MANY
from shardwright.runtime.tries import End, told, try_it
from shardwright.runtime.work import Workshop
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
        self.go.wait(3 * PATIENCE)  # so that nobody begins what a thread is missing for

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


def test_runs_one_after_the_other_share_a_thread_and_no_run_waits_for_another_while_there_is_room() -> None:
    room, bench, workshop = 8, Bench(), Workshop(8)
    for _ in range(20):
        bench.run(
            workshop, config(), 0, body=lambda shard: bench.began.put((0, threading.current_thread().name))
        )
        bench.outcomes(1)
    assert set(bench.who_began(20)) == {(0, "shardwright-work_0")}
    bench.run(workshop, config(), *range(room))
    assert sorted(item for item, _ in bench.who_began(room)) == list(range(room))
    bench.go.set()
    assert bench.outcomes(room) == [OK] * room
    workshop.close()


def test_what_is_called_for_a_job_with_a_pool_does_not_wait_for_the_threads_that_others_share() -> None:
    bench, workshop, called = Bench(), Workshop(1), queue.SimpleQueue[str]()
    bench.run(workshop, config(name="other"), 0)
    bench.who_began(1)
    workshop.call(config(pool="2"), lambda: called.put(threading.current_thread().name), bench.ends.put)
    assert called.get(timeout=PATIENCE) == "shardwright-job_0"
    bench.go.set()
    workshop.close()


def test_what_is_left_behind_leaves_its_place_to_another_and_is_told_when_it_comes_back() -> None:
    bench, workshop, one = Bench(), Workshop(1), config(pool="SINGLE_THREAD")
    hangs, goes_on = queue.SimpleQueue[threading.Thread](), threading.Event()

    def hang() -> None:
        hangs.put(threading.current_thread())
        goes_on.wait(PATIENCE)

    leave_behind = workshop.call(one, hang, lambda end: bench.ends.put(End(FAILED)))
    thread = hangs.get(timeout=PATIENCE)
    bench.go.set()
    bench.run(workshop, one, 0)  # waits for the one thread there is
    assert (workshop.free(one), bench.began.empty()) == (0, True)
    assert leave_behind()
    assert bench.outcomes(1) == [OK]
    goes_on.set()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert bench.outcomes(1) == [FAILED]
    assert workshop.free(one) == 1
    assert not leave_behind()
    assert workshop.free(one) == 1
    workshop.close()


def test_what_is_left_behind_before_its_turn_never_begins() -> None:
    bench, workshop, one = Bench(), Workshop(1), config(pool="SINGLE_THREAD")
    bench.run(workshop, one, 0)
    bench.who_began(1)
    called: list[str] = []
    assert not workshop.call(one, lambda: called.append("called"), bench.ends.put)()
    bench.go.set()
    bench.run(workshop, one, 1)
    assert bench.outcomes(2) == [OK, OK]
    assert (called, bench.ends.empty(), workshop.free(one)) == ([], True, 1)
    workshop.close()


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


def test_a_coroutine_has_room_while_all_threads_are_taken() -> None:
    workshop, bench = Workshop(1, in_loop=lambda job: job == "coroutine"), Bench()
    bench.run(workshop, config(), 0)
    bench.who_began(1)
    assert (workshop.free(config()), workshop.free(config(name="coroutine"))) == (0, MANY)
    bench.go.set()
    assert bench.outcomes(1) == [OK]
    workshop.close()


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


class Mute(Exception):
    """Cannot say what it is, by a slip of whoever wrote it."""

    def __str__(self) -> str:
        return 404  # type: ignore[return-value]


@pytest.mark.parametrize("error", [SystemExit(3), asyncio.CancelledError(), GeneratorExit(), Mute()])
def test_whatever_a_body_raises_is_a_failure_that_is_told(workshop: Workshop, error: BaseException) -> None:
    bench = Bench()

    def body(shard: Shard) -> None:
        raise error

    bench.run(workshop, config(), 0, body=body)
    end = bench.ends.get(timeout=PATIENCE)
    assert (end.outcome, end.error is not None) == (FAILED, True)
    assert type(error).__name__ in f"{type(end.error).__name__}: {end.error}"


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), Mute()])
def test_whatever_a_coroutine_raises_is_its_own_failure_and_the_loop_goes_on(
    workshop: Workshop, error: BaseException
) -> None:
    bench = Bench()

    async def body(shard: Shard) -> None:
        if shard.item == 0:
            raise error

    bench.run(workshop, config(), 0, 1, body=body)
    assert sorted(bench.outcomes(2)) == [FAILED, OK]


def test_a_coroutine_that_stops_the_loop_or_ends_it_from_a_task_of_its_own_holds_up_nobody(
    workshop: Workshop, caplog: pytest.LogCaptureFixture
) -> None:
    bench = Bench()

    async def leave() -> None:
        raise SystemExit(3)

    async def body(shard: Shard) -> None:
        if shard.item == 0:
            asyncio.get_running_loop().stop()
        if shard.item == 1:
            await asyncio.create_task(leave())
        await asyncio.sleep(0)

    bench.run(workshop, config(), 0, 1, 2, body=body)
    assert sorted(bench.outcomes(3)) == [FAILED, OK, OK]
    assert "the loop that all coroutines share" in caplog.text


def test_a_coroutine_that_cancels_all_tasks_it_finds_leaves_nobody_without_an_end(workshop: Workshop) -> None:
    bench = Bench()

    async def waits(shard: Shard) -> None:
        bench.began.put((shard.item, ""))
        await asyncio.Event().wait()

    async def cancels(shard: Shard) -> None:
        for task in asyncio.all_tasks():
            task.cancel()
        await asyncio.sleep(0)

    bench.run(workshop, config(), 0, body=waits)
    bench.who_began(1)
    bench.run(workshop, config(), 1, body=cancels)
    assert bench.outcomes(2) == [FAILED, FAILED]


class Waiting:
    """An object that is called by a coroutine, which only shows when it is."""

    def __init__(self) -> None:
        self.began = threading.Event()

    async def __call__(self, shard: Shard) -> None:
        self.began.set()
        await asyncio.Event().wait()


def test_a_coroutine_that_shows_only_when_it_is_called_is_cancelled_too(workshop: Workshop) -> None:
    bench, body, shard = Bench(), Waiting(), a_shard()
    workshop.run(config(), shard, body, bench.ends.put)
    assert body.began.wait(PATIENCE)
    shard.cancel()
    assert bench.outcomes(1) == [CUT_SHORT]


def test_a_body_that_yields_has_failed_as_nobody_would_have_run_it() -> None:
    def body(shard: Shard) -> Iterator[int]:
        yield 1

    async def coroutine(shard: Shard) -> AsyncIterator[int]:
        yield 1

    for each in (body, coroutine):
        end = try_it(a_shard(), each)
        assert end.outcome == FAILED
        assert "yields" in str(end.error)


def test_of_an_endless_message_no_more_is_told_than_people_read() -> None:
    def body(shard: Shard) -> None:
        raise ValueError("password: hunter2, " * 1_000_000)

    end = try_it(a_shard(), body)
    assert end.error is not None
    assert len(told(end.error)) < 20_000
    assert "hunter2" not in told(end.error)


def test_a_limit_outlives_the_pool_it_was_kept_in(workshop: Workshop) -> None:
    bench = Bench()
    bench.run(workshop, config(pool="2", concurrency=1), 0, 1, 2)
    bench.who_began(1)
    assert workshop.free(config(pool="3", concurrency=1)) == 0  # another pool from now on
    assert bench.began.empty()
    bench.go.set()
    assert bench.outcomes(3) == [OK] * 3
    assert {item for item, _ in bench.who_began(2)} == {1, 2}


def test_where_no_thread_can_be_had_the_shard_has_failed_and_says_so(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    bench = Bench()
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        bench.run(workshop, config(), 0)
        end = bench.ends.get(timeout=PATIENCE)
    assert (end.outcome, "no thread" in str(end.error)) == (FAILED, True)
    bench.go.set()
    bench.run(workshop, config(), 1)
    assert bench.outcomes(1) == [OK]
    assert [item for item, _ in bench.who_began(1)] == [1]
    assert workshop.free(config()) == 4


def test_a_run_that_never_ends_does_not_keep_its_process_from_ending() -> None:
    program = (
        "import threading\n"
        "from shardwright.jobs import JobConfig\n"
        "from shardwright.runtime.work import Workshop\n"
        "from tests.test_shard import a_shard\n"
        "begun, workshop = threading.Event(), Workshop(1)\n"
        "def body(shard):\n"
        "    begun.set()\n"
        "    threading.Event().wait()\n"
        "workshop.run(JobConfig(name='job'), a_shard(), body, print)\n"
        "begun.wait()\n"
        "workshop.close()\n"
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=3 * PATIENCE).returncode == 0


def test_what_is_asked_for_when_all_is_closed_has_failed_and_is_not_forgotten(workshop: Workshop) -> None:
    bench = Bench()
    bench.go.set()
    bench.run(workshop, config(), 0)
    assert bench.outcomes(1) == [OK]
    workshop.close()
    bench.run(workshop, config(), 1)
    end = bench.ends.get(timeout=PATIENCE)
    assert (end.outcome, str(end.error)) == (FAILED, "there is no thread to run it in: its pool is closed")


@pytest.mark.parametrize("threads", [0, -1, 2.5, "4", None, True])
def test_a_number_of_threads_that_cannot_be_is_refused(threads: Any) -> None:
    with pytest.raises(JobError, match="threads must be a whole number of at least 1, not"):
        Workshop(threads)
