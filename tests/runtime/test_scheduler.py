"""The scheduler as a service uses it: real threads, a real clock, memory and SQLite."""

import asyncio
import contextlib
import itertools
import logging
import os
import queue
import re
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from shardwright import JobError, Listener, Scheduler, Shard
from shardwright.registry import Create, Delete, Landed, connect
from shardwright.runtime import hub, supervisor
from tests.executors.test_orphans import Deaths
from tests.faults.processes import Child
from tests.runtime import children
from tests.zookeeper_server import Server

PATIENCE = 20.0
EVERY_SECOND = "* * * * * ?"

numbers = itertools.count()


@pytest.fixture(params=["memory", "sqlite", pytest.param("zookeeper", marks=pytest.mark.zookeeper)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "memory":
        return f"memory://test{next(numbers)}"
    if request.param == "sqlite":
        return f"sqlite://{tmp_path / 'registry.db'}"
    server: Server = request.getfixturevalue("zookeeper")
    return f"zookeeper://{server.hosts}/scheduler{next(numbers)}"


def assert_(true: bool) -> None:
    assert true


class Seen:
    """What ran, and a way to wait for it."""

    def __init__(self) -> None:
        self.shards: list[Shard] = []
        self._news = threading.Condition()

    def __call__(self, shard: Shard) -> None:
        with self._news:
            self.shards.append(shard)
            self._news.notify_all()

    def wait(self, enough: Callable[[list[Shard]], bool]) -> list[Shard]:
        with self._news:
            assert self._news.wait_for(lambda: enough(self.shards), PATIENCE), self.shards
            return list(self.shards)


def test_a_job_runs_on_schedule_once_per_fire_across_replicas(url: str) -> None:
    seen = Seen()
    replicas = [Scheduler(url, address=f"10.0.0.{number}") for number in (1, 2)]
    for replica in replicas:
        replica.add(seen, "tick", cron=EVERY_SECOND, shards=2)
    with replicas[0], replicas[1]:
        shards = seen.wait(lambda shards: len({shard.fire_time for shard in shards}) >= 3)
    runs = [(shard.fire_time, shard.item) for shard in shards]
    assert len(runs) == len(set(runs))
    assert {shard.item for shard in shards} == {0, 1}


def test_a_function_that_takes_nothing_runs_once_per_fire(url: str) -> None:
    ran = threading.Event()
    scheduler = Scheduler(url)

    @scheduler.job(cron=EVERY_SECOND)
    def plain() -> None:
        ran.set()

    with scheduler:
        assert ran.wait(PATIENCE)


def test_a_one_off_job_runs_when_it_is_asked_to(url: str) -> None:
    seen = Seen()
    scheduler = Scheduler(url)
    scheduler.add(seen, "once", shards=3)
    with scheduler:
        scheduler.trigger("once")
        shards = seen.wait(lambda shards: len(shards) == 3)
    assert [(shard.fire_time, shard.source) for shard in shards] == [(None, "trigger")] * 3


def test_a_run_may_be_asked_for_with_a_parameter_of_its_own(url: str) -> None:
    seen = Seen()
    scheduler = Scheduler(url)
    scheduler.add(seen, "once", shards=2, parameter="all")
    with scheduler:
        scheduler.trigger("once", parameter="since yesterday")
        shards = seen.wait(lambda shards: len(shards) == 2)
        scheduler.trigger("once")
        shards = seen.wait(lambda shards: len(shards) == 4)
    assert [shard.job_parameter for shard in shards] == ["since yesterday"] * 2 + ["all"] * 2


@pytest.mark.parametrize(
    ("parameter", "why"), [("x" * 2001, "up to 2,000 characters"), ("\0", "printable"), (7, "a text, not 7")]
)
def test_a_parameter_that_cannot_be_is_refused(url: str, parameter: Any, why: str) -> None:
    scheduler = Scheduler(url)
    with pytest.raises(JobError, match=why):
        scheduler.trigger("once", parameter=parameter)


def test_what_runs_may_end_before_the_scheduler_does(url: str) -> None:
    began, may_end, ended = threading.Event(), threading.Event(), threading.Event()
    scheduler = Scheduler(url)

    @scheduler.job()
    def slow() -> None:
        began.set()
        may_end.wait(PATIENCE)
        ended.set()

    scheduler.start()
    scheduler.trigger("slow")
    assert began.wait(PATIENCE)
    threading.Timer(0.3, may_end.set).start()
    scheduler.stop()
    assert ended.is_set()


def test_what_does_not_end_in_time_is_told_to_stop(url: str) -> None:
    began, told = threading.Event(), threading.Event()
    scheduler = Scheduler(url)

    @scheduler.job()
    def stubborn(shard: Shard) -> None:
        began.set()
        while not shard.cancelled:
            threading.Event().wait(0.01)
        told.set()
        shard.raise_if_cancelled()

    scheduler.start()
    scheduler.trigger("stubborn")
    assert began.wait(PATIENCE)
    scheduler.stop(grace=0.1)
    assert told.is_set()


def never_end(shard: Shard) -> None:
    Path(shard.job_parameter).write_text(str(os.getpid()))
    while True:
        signal.pause()


@pytest.mark.parametrize("lease_lost", ["stop", "continue"])
def test_what_does_not_end_in_time_in_a_process_of_its_own_has_ended_before_others_may_begin_it(
    tmp_path: Path, lease_lost: str
) -> None:
    url = f"memory://test{next(numbers)}"
    begun = tmp_path / "begun"
    os.mkfifo(begun)
    scheduler = Scheduler(url)
    scheduler.add(never_end, "job", cron=None, isolated=True, lease_lost=lease_lost, parameter=str(begun))
    with connect(url) as watcher, Deaths() as deaths, ThreadPoolExecutor() as others:
        scheduler.start()
        scheduler.trigger("job")
        deaths.add(int(begun.read_text()))
        stopped = others.submit(scheduler.stop, grace=0.1)
        nodes = f"{watcher.namespace}~shardwright/job/watched/alive"
        watcher.wait_for(lambda: not watcher.wait(watcher.names([nodes]))[nodes], what="its session's end")
        deaths.expect(within=0.0)
        stopped.result(PATIENCE)


@pytest.mark.parametrize("lease_lost", ["stop", "continue"])
def test_what_runs_in_a_process_of_its_own_has_ended_before_the_session_of_a_reactor_that_hangs(
    tmp_path: Path, lease_lost: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "HUNG", 0.1)
    url = f"memory://test{next(numbers)}"
    begun, release = tmp_path / "begun", threading.Event()
    os.mkfifo(begun)
    scheduler = Scheduler(url)
    scheduler.add(never_end, "job", cron=None, isolated=True, lease_lost=lease_lost, parameter=str(begun))
    with connect(url) as watcher, Deaths() as deaths:
        scheduler.start()
        scheduler.trigger("job")
        deaths.add(int(begun.read_text()))
        process = scheduler._supervisor.inside
        assert process is not None
        process.reactor.ask(lambda: release.wait(3 * PATIENCE))
        nodes = f"{watcher.namespace}~shardwright/job/watched/alive"
        watcher.wait_for(lambda: not watcher.wait(watcher.names([nodes]))[nodes], what="its session's end")
        deaths.expect(within=0.0)
        release.set()
        scheduler.stop(grace=0.1)


def test_after_a_stop_nothing_of_us_is_left_but_what_outlives_us(url: str) -> None:
    scheduler = Scheduler(url)
    scheduler.add(lambda: None, "job", cron=EVERY_SECOND)
    with connect(url) as watcher:
        with scheduler:
            assert scheduler.is_leader("job")
        root = f"{watcher.namespace}/job"
        found = watcher.wait(watcher.names([f"{root}/instances", f"{root}/leader/election"]))
    assert found[f"{root}/instances"] == ()
    assert "instance" not in (found[f"{root}/leader/election"] or ())


def test_a_start_that_fails_leaves_nobody_behind_and_may_be_tried_again(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(record: logging.LogRecord) -> bool:
        if "second" in record.getMessage():
            raise OSError("no room for the log")
        return True

    scheduler = Scheduler(url)
    for name in ("first", "second"):
        scheduler.add(lambda: None, name, cron=EVERY_SECOND)
    log = logging.getLogger("shardwright")
    log.addFilter(fails)
    caplog.set_level(logging.INFO)
    try:
        with pytest.raises(OSError, match="no room for the log"):
            scheduler.start()
    finally:
        log.removeFilter(fails)
    with connect(url) as watcher:
        nodes = f"{watcher.namespace}~shardwright/first/watched/alive"
        watcher.wait_for(lambda: not watcher.wait(watcher.names([nodes]))[nodes], what="its session's end")
    with scheduler:
        assert scheduler.is_leader("second")


def test_jobs_come_and_go_while_the_scheduler_runs(url: str) -> None:
    seen = Seen()
    with Scheduler(url) as scheduler:
        scheduler.add(seen, "late", cron=EVERY_SECOND)
        seen.wait(lambda shards: len(shards) >= 1)
        scheduler.remove("late")
        count = len(seen.shards)
        with pytest.raises(JobError, match="there is no job 'late' here"):
            scheduler.trigger("late")
        scheduler.add(seen, "late", cron=EVERY_SECOND)
        seen.wait(lambda shards: len(shards) > count)


def test_only_one_of_two_leads_and_the_other_does_when_it_has_gone(url: str) -> None:
    first, second = (Scheduler(url, address=f"10.0.0.{number}") for number in (1, 2))
    for each in (first, second):
        each.add(lambda: None, "job", cron=EVERY_SECOND)
    with second:
        with first:
            assert sorted([first.is_leader("job"), second.is_leader("job")]) == [False, True]
        assert second.is_leader("job") is True


def test_who_asks_for_the_leader_waits_until_the_deadline_and_is_told_as_soon_as_there_is_one(
    url: str,
) -> None:
    scheduler = Scheduler(url)
    scheduler.add(lambda: None, "job")
    with connect(url) as operator, scheduler, ThreadPoolExecutor() as others:
        assert scheduler.is_leader("job")
        root = f"{operator.namespace}/job/leader/election"
        first_in_line = f"{root}/latch/_c_00000000-0000-0000-0000-000000000000-latch-0000000000"
        elsewhere = Create(first_in_line, ephemeral=True), Delete(f"{root}/instance")
        assert isinstance(operator.wait(operator.commit(*elsewhere)), Landed)
        late = "waiting for somebody to lead the job 'job' took longer than 0.3 s"
        with pytest.raises(TimeoutError, match=f"^{late}$"):
            all(scheduler.is_leader("job", wait=0.3) for _ in itertools.count())  # until it has heard
        asked = others.submit(scheduler.is_leader, "job", wait=6 * PATIENCE)
        operator.wait(operator.commit(Delete(first_in_line)))
        assert asked.result(PATIENCE) is True


def test_an_order_to_stop_stops_that_job_until_it_is_resumed(url: str) -> None:
    seen, other = Seen(), Seen()
    scheduler = Scheduler(url)
    scheduler.add(seen, "one", cron=EVERY_SECOND)
    scheduler.add(other, "other", cron=EVERY_SECOND)
    with connect(url) as operator, scheduler:
        seen.wait(lambda shards: len(shards) >= 1)
        root = f"{operator.namespace}/one/instances"
        (who,) = operator.wait(operator.names([root]))[root] or ()
        operator.wait(operator.commit(Delete(f"{root}/{who}")))
        others = len(other.shards)
        other.wait(lambda shards: len(shards) >= others + 2)
        count, others = len(seen.shards), len(other.shards)
        assert scheduler.is_leader("one") is False
        other.wait(lambda shards: len(shards) >= others + 2)
        assert len(seen.shards) == count
        scheduler.resume("one")
        seen.wait(lambda shards: len(shards) > count)


def order_to_stop(url: str, job: str) -> None:
    with connect(url) as operator:
        root = f"{operator.namespace}/{job}/instances"
        (who,) = operator.wait(operator.names([root], fresh=True))[root] or ()
        operator.wait(operator.commit(Delete(f"{root}/{who}")))


class Slow:
    """A job that does not hear that it is to stop, until it is let go."""

    def __init__(self) -> None:
        self.began: queue.SimpleQueue[Shard] = queue.SimpleQueue()
        self.told, self.go = threading.Event(), threading.Event()

    def __call__(self, shard: Shard) -> None:
        with shard.on_cancel(self.told.set):
            self.began.put(shard)
            assert self.go.wait(PATIENCE)


def test_a_job_that_goes_on_is_not_resumed_and_goes_on(url: str) -> None:
    seen, scheduler = Seen(), Scheduler(url)
    scheduler.add(seen, "one", cron=EVERY_SECOND)
    with scheduler:
        count = len(seen.wait(lambda shards: len(shards) >= 1))
        scheduler.resume("one")
        scheduler.resume("one")
        seen.wait(lambda shards: len(shards) >= count + 2)


def test_a_job_is_resumed_when_what_it_was_to_stop_has_ended(url: str) -> None:
    slow, scheduler = Slow(), Scheduler(url)
    scheduler.add(slow, "one", cron=EVERY_SECOND)
    with scheduler:
        slow.began.get(timeout=PATIENCE)
        order_to_stop(url, "one")
        assert slow.told.wait(PATIENCE)
        scheduler.resume("one")
        scheduler.resume("one")
        assert slow.began.empty()
        slow.go.set()
        slow.began.get(timeout=PATIENCE)


def test_a_job_that_is_added_again_while_it_is_left_begins_when_that_is_over(url: str) -> None:
    slow, seen, scheduler = Slow(), Seen(), Scheduler(url)
    scheduler.add(slow, "one")
    with scheduler:
        scheduler.trigger("one")
        slow.began.get(timeout=PATIENCE)
        with pytest.raises(TimeoutError):
            scheduler.remove("one", grace=0.01)
        scheduler.add(seen, "one", cron=EVERY_SECOND, overwrite=True)
        slow.go.set()
        seen.wait(lambda shards: len(shards) >= 2)


def test_what_a_job_will_do_is_said_by_the_settings_that_hold(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    first, second = (Scheduler(url, address=f"10.0.0.{number}") for number in (1, 2))
    first.add(lambda shard: None, "job", cron="0 0 2 * * ?", time_zone="UTC", shards=3)
    second.add(lambda shard: None, "job")
    with first:
        assert first.is_leader("job")
        caplog.clear()
        with second:
            assert second.is_leader("job") is False
    (held,) = [each for each in caplog.messages if each.startswith("job: by the registry's settings: ")]
    assert re.fullmatch(r".*: 3 shards, fires next at 20..-..-..T02:00:00\+00:00", held)


def test_what_a_job_will_do_is_said_once_where_its_settings_hold(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    scheduler = Scheduler(url)
    scheduler.add(lambda shard: None, "job", cron="0 0 2 * * ?", time_zone="UTC", shards=3)
    with scheduler:
        assert scheduler.is_leader("job")
    (once,) = [each for each in caplog.messages if "fires next at" in each]
    assert once.startswith("job: 3 shards, fires next at 20")


@pytest.mark.parametrize(
    ("address", "warned"),
    [
        ("memory://words", []),
        ("sqlite:///tmp/words.db", []),
        ("zookeeper://zk1/words", ["job: Java members cannot take part: they know no schedule but cron"]),
        ("zk://zk1/words", ["job: Java members cannot take part: they know no schedule but cron"]),
    ],
)
def test_java_members_are_spoken_of_only_where_there_may_be_some(
    address: str, warned: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    Scheduler(address).add(lambda shard: None, "job", schedule="every 5s")
    assert caplog.messages == warned


@pytest.mark.slow
def test_what_is_warned_of_where_a_job_is_declared_is_not_said_again_by_its_isolated_runs(
    tmp_path: Path,
) -> None:
    script = tmp_path / "program.py"
    script.write_text(ISOLATED)
    with Child(str(script), f"sqlite://{tmp_path / 'registry.db'}") as child:
        for _ in range(2):
            child.expect("it runs", PATIENCE)
        assert child.terminate(PATIENCE) == 0
    assert len([line for line in child.lines if "are never used" in line]) == 1


ISOLATED = """
import os, sys
from shardwright import Scheduler, Shard

scheduler = Scheduler(sys.argv[1])


@scheduler.job(cron="* * * * * ?", item_parameters={7: "never"}, isolated=True)
def work(shard: Shard) -> None:
    os.write(1, b"it runs\\n")


if __name__ == "__main__":
    scheduler.run()
"""


async def a_coroutine_without_shard() -> None: ...


@pytest.mark.parametrize("function", [lambda: None, a_coroutine_without_shard])
def test_shards_of_a_function_that_takes_none_are_warned_of(
    function: Callable[[], object], caplog: pytest.LogCaptureFixture
) -> None:
    scheduler = Scheduler("memory://words")
    scheduler.add(function, "one")
    scheduler.add(lambda shard: None, "three", shards=3)
    assert caplog.messages == []
    scheduler.add(function, "j", shards=3)
    assert caplog.messages == [
        "j: its function takes no shard, so all 3 shards do the same: take the shard, or leave shards out"
    ]


def test_mistakes_are_told_in_words() -> None:
    scheduler = Scheduler("memory://mistakes")
    scheduler.add(lambda: None, "there")
    with pytest.raises(JobError, match="there is a job 'there' already: give this one another name"):
        scheduler.add(lambda: None, "there")
    with pytest.raises(JobError, match=r"there is no job 'nowhere' here; there are: 'there'"):
        scheduler.trigger("nowhere")
    with pytest.raises(JobError, match=r"does not run: call start\(\) or run\(\) first"):
        scheduler.trigger("there")
    with pytest.raises(JobError, match="must take the shard or nothing"):
        scheduler.add(lambda one, two: None, "two")

    with pytest.raises(JobError, match="a lambda has no name: give the job one"):
        scheduler.add(lambda: None, cron=EVERY_SECOND)

    with pytest.raises(JobError, match=r"write @scheduler.job\(…\) with brackets"):

        @scheduler.job  # type: ignore[arg-type]
        def bare() -> None: ...

    with scheduler, pytest.raises(JobError, match="runs already"):
        scheduler.start()


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("0 0 2 * * ?", "cron='0 0 2 * * ?'"),
        ("*/5 * * * *", "schedule='crontab */5 * * * *'"),
        ("crontab */5 * * * *", "schedule='crontab */5 * * * *'"),
        ("every 10s", "schedule='every 10s'"),
    ],
)
def test_a_schedule_that_stands_where_the_name_does_is_told_where_it_belongs(name: str, instead: str) -> None:
    scheduler = Scheduler("memory://names")
    with pytest.raises(JobError) as refused:
        scheduler.job(name)
    assert str(refused.value) == f"job {name!r}: the first argument is the name: write {instead}"


def test_a_name_may_read_as_a_schedule_where_the_schedule_is_given_too() -> None:
    scheduler = Scheduler("memory://names")
    scheduler.job("every 10s", schedule="every 10s")(lambda: None)
    scheduler.job("every night")(lambda: None)
    assert [job.name for job in scheduler.jobs] == ["every 10s", "every night"]


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), 10**10, "30", None, True])
@pytest.mark.parametrize("option", ["grace", "missed_after"])
def test_a_time_that_cannot_be_is_refused_before_anything_else(option: str, seconds: Any) -> None:
    with pytest.raises(JobError, match=f"{option} must be a number of seconds from 0 to 1,000,000,000, not"):
        Scheduler("memory://times", **{option: seconds})


def test_times_are_whole_numbers_or_broken_ones() -> None:
    Scheduler("memory://times", grace=0, missed_after=60)
    Scheduler("memory://times", grace=0.5, missed_after=1e9)


@pytest.mark.parametrize("threads", [0, -1, 2.5, "4", None, True])
def test_a_number_of_threads_that_cannot_be_is_refused_before_anything_else(threads: Any) -> None:
    with pytest.raises(JobError, match="threads must be a whole number of at least 1, not"):
        Scheduler("memory://threads", threads=threads)


def test_a_time_to_stop_in_that_cannot_be_changes_nothing() -> None:
    with Scheduler("memory://nan") as scheduler:
        scheduler.add(lambda: None, "job")
        with pytest.raises(JobError, match="grace must be a number of seconds"):
            scheduler.remove("job", grace=float("nan"))
        with pytest.raises(JobError, match="grace must be a number of seconds"):
            scheduler.stop(grace=-1)
        scheduler.trigger("job")


class Audit(Listener):
    """Hears nothing."""


@pytest.mark.parametrize(
    ("given", "instead"),
    [(Audit(), r"\[Audit\(…\)\]"), (Audit, r"\[Audit\(…\)\]"), ("AUDIT", r"\['AUDIT'\]"), (3, r"\[3\]")],
)
def test_listeners_that_are_one_and_no_list_are_refused_with_the_list_they_should_be(
    given: Any, instead: str
) -> None:
    scheduler = Scheduler("memory://listeners", script_folders=["/opt/jobs"])
    wanted = f"job 'job': listeners .* give a list: {instead}"
    with pytest.raises(JobError, match=wanted):
        scheduler.add(lambda: None, "job", listeners=given)
    with pytest.raises(JobError, match=wanted):
        scheduler.http("job", "https://example.com/", listeners=given)
    assert scheduler.jobs == ()


def test_who_runs_outside_the_main_thread_is_told_what_to_call_there() -> None:
    scheduler = Scheduler("memory://aside")
    wanted = r"only the main thread can: call start\(\) and stop\(\)"
    with ThreadPoolExecutor(1) as pool, pytest.raises(JobError, match=wanted):
        pool.submit(scheduler.run).result(PATIENCE)
    with scheduler:
        pass  # and nothing of it is left


@pytest.mark.parametrize("kind", ["function", "coroutine", "coroutine that shows when it is called"])
@pytest.mark.parametrize("settings", [{}, {"pool": "1"}, {"concurrency": 1}])
def test_a_run_that_would_stop_its_own_scheduler_is_told_what_to_do_instead(
    kind: str, settings: dict[str, Any]
) -> None:
    scheduler, told = Scheduler(f"memory://{next(numbers)}"), queue.SimpleQueue[str]()

    def stop() -> None:
        with pytest.raises(JobError) as refused:
            scheduler.stop()
        told.put(str(refused.value))

    async def stop_in_a_loop() -> None:
        stop()

    function = stop if kind == "function" else stop_in_a_loop
    scheduler.add((lambda: function()) if "called" in kind else function, "job", **settings)
    with scheduler:
        for _ in range(2):  # nothing was stopped
            scheduler.trigger("job")
            assert told.get(timeout=PATIENCE) == (
                "stop() waits for what runs, and was called by a run: call it in another thread that the run "
                "does not wait for, or send the process SIGTERM"
            )


def test_a_run_may_have_its_scheduler_stopped_by_another_thread_and_may_stop_another_scheduler() -> None:
    scheduler, other = Scheduler(f"memory://{next(numbers)}"), Scheduler(f"memory://{next(numbers)}")
    stopped = threading.Event()

    def stop() -> None:
        scheduler.stop()
        stopped.set()

    @scheduler.job()
    def job() -> None:
        other.stop()
        threading.Thread(target=stop).start()

    scheduler.start()
    other.start()
    scheduler.trigger("job")
    assert stopped.wait(PATIENCE)
    for each in (scheduler, other):
        each.start()  # it does not run
        each.stop()


def test_a_coroutine_is_taken_over_from_one_that_died_while_all_threads_are_taken() -> None:
    seen, taken, release, url = Seen(), threading.Event(), threading.Event(), f"memory://{next(numbers)}"
    first, second = (Scheduler(url, threads=1, address=f"10.0.0.{number}") for number in (1, 2))

    async def coroutine(shard: Shard) -> None:
        seen(shard)
        if shard.attempt == 1:
            await asyncio.Event().wait()

    def takes() -> None:
        taken.set()
        release.wait(PATIENCE)

    for each in (first, second):
        each.add(coroutine, cron=EVERY_SECOND, failover=True)
    second.add(takes)
    with first:
        seen.wait(lambda shards: len(shards) == 1)
        with second:
            second.trigger("takes")
            assert taken.wait(PATIENCE)
            died = first._supervisor.let_go()
            assert died is not None
            died.abandon()
            shards = seen.wait(lambda shards: len(shards) >= 2)
            release.set()
    assert (shards[1].source, shards[1].attempt) == ("failover", 2)


def test_a_fork_begins_without_what_its_parent_runs_and_may_start_its_own(tmp_path: Path) -> None:
    with Child(children.fork, f"sqlite://{tmp_path / 'registry.db'}") as parent:
        for said in (
            "parent: it runs: True",
            "an idle child has ended; parent: it runs: True",
            "child: it runs: True",
            "a busy child has ended; parent: it runs: True",
        ):
            parent.expect(said, PATIENCE)
        assert parent.wait(PATIENCE) == 0


def test_a_fork_of_a_job_of_run_that_is_told_to_end_does(tmp_path: Path) -> None:
    with Child(children.end_forks, f"sqlite://{tmp_path / 'registry.db'}") as parent:
        parent.expect("all have ended", PATIENCE)
        assert parent.wait(PATIENCE) == 0


@pytest.mark.slow
def test_a_reactor_that_hangs_is_given_up_and_made_anew(
    url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(hub, "HUNG", 0.3)
    seen, release = Seen(), threading.Event()
    scheduler = Scheduler(url)
    scheduler.add(seen, "job", cron=EVERY_SECOND)
    with scheduler:
        seen.wait(lambda shards: len(shards) >= 1)
        stuck = scheduler._supervisor.inside
        assert stuck is not None
        count = len(seen.shards)
        stuck.reactor.post(lambda: assert_(release.wait(PATIENCE)))
        seen.wait(lambda shards: len(shards) >= count + 2)
        assert scheduler._supervisor.inside is not stuck
        release.set()
    assert "it is stuck here" in caplog.text


class Unread(logging.Handler):
    """A log that nobody reads: the first who has a word for it holds it until it is read."""

    def __init__(self) -> None:
        super().__init__()
        self.read = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        self.read.wait(3 * PATIENCE)

    @contextlib.contextmanager
    def instead(self) -> Iterator[None]:
        logger = logging.getLogger("shardwright")
        logger.addHandler(self)
        try:
            yield
        finally:
            self.read.set()
            logger.removeHandler(self)


def wait_until_it_has_left(url: str, job: str) -> None:
    with connect(url) as watcher:
        tree = watcher.mirror(f"{watcher.namespace}/{job}")
        watcher.wait_for(lambda: tree.synced and not tree.children("instances"), PATIENCE)


def test_a_reactor_that_is_stuck_in_the_log_holds_nothing_and_can_be_stopped(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(hub, "HUNG", 0.1)
    url = f"memory://test{next(numbers)}"
    scheduler, unread = Scheduler(url), Unread()
    scheduler.add(lambda: None, "job")
    scheduler.start()
    assert scheduler.is_leader("job")
    process = scheduler._supervisor.inside
    assert process is not None
    with unread.instead(), ThreadPoolExecutor() as another:
        process.reactor.post(lambda: logging.getLogger("shardwright").warning("who reads this?"))
        wait_until_it_has_left(url, "job")
        try:
            another.submit(scheduler.stop, 0.1).result(PATIENCE)
        finally:
            unread.read.set()
    for thread in threading.enumerate():
        if thread.name in ("shardwright-supervisor", "shardwright-watchdog"):
            thread.join(PATIENCE)
    assert "it is stuck here" in caplog.text
    assert scheduler._supervisor.inside is None


def test_a_reactor_that_is_stuck_in_what_a_job_does_when_told_to_stop_is_left_behind(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(hub, "HUNG", 0.1)
    url = f"memory://test{next(numbers)}"
    release, told = threading.Event(), [threading.Event(), threading.Event()]
    began = threading.Barrier(3)

    def stubborn(shard: Shard) -> None:
        def act() -> None:
            told[shard.item].set()
            release.wait(3 * PATIENCE)

        with shard.on_cancel(act):
            began.wait(PATIENCE)
            release.wait(3 * PATIENCE)

    scheduler = Scheduler(url)
    scheduler.add(stubborn, shards=2)
    scheduler.start()
    scheduler.trigger("stubborn")
    began.wait(PATIENCE)
    with ThreadPoolExecutor() as another:
        try:
            another.submit(scheduler.stop, 0.1).result(PATIENCE)
            wait_until_it_has_left(url, "stubborn")
            assert all(each.wait(PATIENCE) for each in told)
        finally:
            release.set()
    assert "it is stuck here" in caplog.text


def test_one_whose_inside_fails_again_and_again_ends_loudly(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: told.append(number))
    scheduler = Scheduler("memory://fails")
    scheduler.start()
    over = scheduler._over
    inside = scheduler._supervisor
    for _ in range(supervisor.RESTARTS + 1):
        assert inside.inside is not None
        inside.mend(inside._generation, RuntimeError("broken"))
    assert over.told
    assert isinstance(scheduler.failure, RuntimeError)
    assert told == [signal.SIGTERM]


@pytest.fixture(autouse=True)
def _nothing_is_left_running() -> Iterator[None]:
    yield
    for thread in threading.enumerate():
        if thread.name.startswith(("shardwright-reactor", "shardwright-supervisor")):
            thread.join(3.0)
            where = sys._current_frames().get(thread.ident or 0)
            assert not thread.is_alive(), "".join(traceback.format_stack(where))
