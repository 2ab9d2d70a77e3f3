"""The chronicle: what happens in a process comes into the history, and to whoever listens."""

import logging
import sqlite3
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from shardwright import JobError, Scheduler, Shard, testing
from shardwright.clock import SystemClock
from shardwright.coordination import account, claim, due
from shardwright.coordination.account import Passed, Ran
from shardwright.history import events, ledger, queries
from shardwright.history import why as reasons
from shardwright.history.engine import HistoryError
from shardwright.history.ledger import Disposition, Entry
from shardwright.history.metrics import Metrics
from shardwright.history.store import Store
from shardwright.registry import Put, connect
from shardwright.runtime.chronicle import VARIABLE, Chronicle, place_of
from shardwright.runtime.process import Process
from tests.faults.processes import Child
from tests.faults.proxy import Proxy
from tests.history import children
from tests.history.fires import a_run
from tests.recipes.heard import Heard
from tests.runtime import children as children_here
from tests.zookeeper_server import Server

SECONDLY: dict[str, Any] = {"cron": "* * * * * ?", "time_zone": "UTC"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tmp_path.chmod(0o700)
    return tmp_path


def ended(times: int) -> Callable[[list[events.Event]], bool]:
    return lambda heard: sum(isinstance(event, events.Ended) for event in heard) >= times


def run(scheduler: Scheduler, times: int = 3) -> list[events.Event]:
    """Run until so many runs have ended."""
    heard: Heard[events.Event] = Heard()
    scheduler.subscribe(heard)
    with scheduler:
        heard.until(ended(times))
    return heard.all


def wait_until(true: Callable[[], bool], within: float = 20.0) -> None:
    """A file tells nobody that it has changed."""
    end = time.monotonic() + within
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def kept(folder: Path, name: str = "history.db") -> list[Entry]:
    with Store(folder / name) as store:
        return list(queries.history(store, job="tick", limit=1000).entries)[::-1]


def test_what_became_of_each_fire_is_in_a_file_beside_the_registrys(folder: Path) -> None:
    scheduler = Scheduler(f"sqlite://{folder / 'jobs.db'}")
    scheduler.add(lambda: None, "tick", **SECONDLY)
    run(scheduler)
    found = kept(folder)
    assert len(found) >= 3
    assert {(entry.disposition, entry.outcome) for entry in found} == {(Disposition.RAN, "ok")}
    seconds = [round(entry.due.timestamp()) for entry in found]
    assert seconds == list(range(seconds[0], seconds[-1] + 1))


def test_why_a_run_failed_and_what_it_logged_is_kept_and_no_secret(folder: Path) -> None:
    scheduler = Scheduler(f"sqlite://{folder / 'jobs.db'}")

    @scheduler.job("tick", **SECONDLY)
    def tick(shard: Shard) -> None:
        logging.getLogger("mine").warning("about to fail with password=hunter2")
        raise ValueError("the moon is full")

    run(scheduler, 1)
    first = next(
        entry for entry in kept(folder) if entry.attempts
    )  # a later one may stand for the first of all
    (attempt,) = first.attempts
    assert "the moon is full" in attempt.failure
    with Store(folder / "history.db") as store:
        lines = queries.log(store, first.key, attempt.id)
    assert lines is not None
    assert "about to fail" in lines.text
    assert "hunter2" not in lines.text


def test_a_run_that_ends_as_it_is_told_to_stop_is_in_the_history_once(folder: Path) -> None:
    scheduler = Scheduler(f"sqlite://{folder / 'jobs.db'}")
    heard: Heard[events.Event] = Heard()
    scheduler.subscribe(heard)

    def end_as_told_to_stop() -> None:
        process = scheduler._supervisor.inside
        assert process is not None
        assert process.cut_short() == ["tick"]

    scheduler.add(end_as_told_to_stop, "tick")
    times = 20
    with scheduler:
        for count in range(1, times + 1):
            scheduler.trigger("tick")
            heard.until(ended(count))
    found = kept(folder)
    assert [len(entry.attempts) for entry in found] == [1] * times
    assert {entry.outcome for entry in found} == {"ok"}
    assert len([event for event in heard.all if isinstance(event, events.Ended)]) == times


def test_a_history_that_is_not_there_stops_nobody_and_its_cursors_keep_what_it_lacks(folder: Path) -> None:
    nowhere = "postgresql://nobody@127.0.0.1:9/none"
    scheduler = Scheduler(f"sqlite://{folder / 'jobs.db'}", history=nowhere)
    scheduler.add(lambda: None, "tick", **SECONDLY)
    run(scheduler, 2)
    assert not (folder / "history.db").exists()

    again = Scheduler(f"sqlite://{folder / 'jobs.db'}")
    again.add(lambda: None, "tick", **SECONDLY)
    run(again, 2)
    found = kept(folder)
    seconds = [round(entry.due.timestamp()) for entry in found]
    assert seconds == list(range(seconds[0], seconds[-1] + 1))
    assert len({attempt.by for entry in found for attempt in entry.attempts}) == 2


@pytest.mark.parametrize(
    ("address", "complaint"),
    [
        ("postgres://me:hunter2@host/db", "and not in postgres: begin its address with one of these"),
        ("postgresq1://me:hunter2@host/db", "and not in postgresq1"),
        ("me:hunter2@host/db", "the history's address cannot be read"),
        ("sqlite://", "a history is kept in a file"),
        ("mysql://me:hunter2@host/db?ssl-mode=REQUIRED", "the driver knows no option 'ssl-mode'"),
    ],
)
def test_a_history_that_can_never_be_is_refused_at_the_start_before_anything_is_connected(
    folder: Path, address: str, complaint: str
) -> None:
    scheduler = Scheduler(f"sqlite://{folder / 'jobs.db'}", history=address)
    with pytest.raises(HistoryError, match=complaint) as raised:
        scheduler.start()
    assert "hunter2" not in str(raised.value)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("module", "address", "extra"),
    [
        ("sqlalchemy", "sqlite:////tmp/never.db", "trace"),
        ("psycopg", "postgresql://me:hunter2@host/db", "postgres"),
        ("pymysql", "mysql://me:hunter2@host/db", "mysql"),
    ],
)
def test_a_scheduler_without_what_its_history_needs_says_at_the_start_what_to_install(
    folder: Path, module: str, address: str, extra: str
) -> None:
    with Child(children.start_without, module, f"sqlite://{folder / 'jobs.db'}", address) as child:
        said = child.expect("MissingExtra", 60)
    assert f"pip install 'shardwright[{extra}]'" in said
    assert "hunter2" not in said
    assert list(folder.iterdir()) == []


def test_a_history_whose_folder_is_not_there_yet_stops_nobody(folder: Path) -> None:
    scheduler = Scheduler(f"sqlite://{folder / 'jobs.db'}", history=folder / "later" / "history.db")
    scheduler.add(lambda: None, "tick", **SECONDLY)
    assert run(scheduler, 1)


def test_fires_that_no_cursor_had_room_for_are_in_the_history_as_unknown_unless_it_knows_better(
    folder: Path,
) -> None:
    begin = datetime(2030, 1, 1, tzinfo=UTC)
    end = begin + timedelta(seconds=3)
    chronicle = Chronicle(SystemClock(), folder / "history.db")
    ran = Ran((begin + timedelta(seconds=2)).isoformat(), "ok", "a", "3", "scheduled", 1, end, end)
    away = Passed(begin, end, account.UNKNOWN, account.AWAY, ("* * * * * ?", "UTC", ""))
    told = threading.Event()
    chronicle.account("tick", 1, 0, [away, ran], told.set, ours=False)
    chronicle.start()
    chronicle.close(60.0)
    assert told.is_set()
    found = kept(folder)
    assert [(entry.due.second, entry.disposition) for entry in found] == [
        (1, Disposition.UNKNOWN),
        (2, Disposition.RAN),
        (3, Disposition.UNKNOWN),
    ]
    assert {entry.verdict.reason for entry in found if entry.verdict is not None} == {account.AWAY}


@pytest.mark.parametrize("schedule", [("* * * * * ?", "Moon/Crater", ""), ("?", "UTC", ""), ("* * * * * ?",)])
def test_of_a_schedule_that_cannot_be_read_here_the_last_fire_stands_for_all(
    folder: Path, schedule: tuple[str, ...]
) -> None:
    begin = datetime(2030, 1, 1, tzinfo=UTC)
    chronicle = Chronicle(SystemClock(), folder / "history.db")
    skipped = Passed(begin, begin + timedelta(seconds=9), account.SKIPPED, "why", schedule)
    chronicle.account("tick", 1, 0, [skipped], lambda: None, ours=False)
    chronicle.start()
    chronicle.close(60.0)
    assert [(entry.due.second, entry.disposition) for entry in kept(folder)] == [(9, Disposition.SKIPPED)]


@pytest.mark.parametrize(
    ("how", "why", "said"),
    [
        (
            account.SKIPPED,
            "nobody was there",
            "it was skipped: nobody was there; so it was with all after it",
        ),
        (
            account.MADE_GOOD,
            "2030-01-01T01:00:01+00:00",
            "was made good by the run of 2030-01-01T01:00:01+00:00; so it was with all after it",
        ),
    ],
)
def test_of_very_many_fires_the_first_thousand_are_listed_and_the_last_of_those_speaks_for_the_rest(
    folder: Path, how: str, why: str, said: str
) -> None:
    begin, until = datetime(2030, 1, 1, tzinfo=UTC), datetime(2030, 1, 1, 1, tzinfo=UTC)
    chronicle = Chronicle(SystemClock(), folder / "history.db")
    passed = Passed(begin, until, how, why, ("* * * * * ?", "UTC", ""))
    told = threading.Event()
    chronicle.account("tick", 1, 0, [passed], told.set, ours=False)
    chronicle.start()
    chronicle.close(60.0)
    assert told.is_set()  # the cursor need not say it any longer
    with Store(folder / "history.db") as store:
        found = queries.history(store, job="tick", limit=5000).entries[::-1]
        assert [entry.due for entry in found] == [begin + timedelta(seconds=n) for n in range(1, 1001)]
        *others, last = [entry.verdict.reason for entry in found if entry.verdict is not None]
        assert {ledger.SPEAKS in reason for reason in others} == {False}
        assert last.endswith(f"so it was with all after it up to {until.isoformat()}")
        rest = reasons.ask(store, "tick", until)
        assert f"the line of {found[-1].key.fire} speaks for it" in rest
        assert said in rest
        assert "nothing is known" in reasons.ask(store, "tick", until + timedelta(seconds=1))


@pytest.mark.parametrize(
    ("settings", "left"),
    [({}, 3), ({"history_age": "90m"}, 1), ({"history_rows": 2}, 2), ({"history_age": 1e6}, 3)],
)
def test_how_much_is_kept_is_the_schedulers_to_say(folder: Path, settings: dict[str, Any], left: int) -> None:
    now = datetime.now(UTC)
    ages = (timedelta(minutes=5), timedelta(hours=2), timedelta(hours=3), timedelta(days=100))
    old = [a_run(job="old", at=now - age) for age in ages]
    with Store(folder / "history.db") as store:
        store.write(old)
    scheduler = Scheduler(f"sqlite://{folder / 'jobs.db'}", **settings)
    with scheduler, Store(folder / "history.db") as store:  # which is tidied at the start, and every hour
        wait_until(lambda: len(queries.history(store, job="old").entries) == left)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"history_age": "for ever"}, "history_age must be a length of time such as 30s"),
        ({"history_age": "20y"}, "history_age must be a length of time"),
        ({"history_age": "59m"}, "history_age must be at least 1h, not '59m'"),
        ({"audit_age": 0}, "audit_age must be at least 1h, not 0"),
        ({"audit_age": None}, "audit_age must be a length of time"),
        ({"history_rows": 0}, "history_rows must be a whole number from 1 to 1,000,000,000, not 0"),
        ({"history_rows": True}, "history_rows must be a whole number"),
        ({"history_rows": "many"}, "history_rows must be a whole number"),
        ({"elasticjob_tables": "2.1.5"}, r"'3\.0\.4' or '3\.0\.5', not '2\.1\.5'"),
        ({"elasticjob_tables": 3}, "elasticjob_tables must be True, False, or the version"),
    ],
)
def test_what_cannot_be_meant_of_a_history_is_refused(settings: dict[str, Any], why: str) -> None:
    with pytest.raises(JobError, match=why):
        Scheduler("memory://", **settings)


@pytest.mark.parametrize(
    ("asked", "columns"),
    [(None, None), (False, None), (True, 10), ("3.0.5", 10), ("3.0.4", 11)],
)
def test_elasticjobs_tables_are_in_a_file_if_they_are_asked_for_and_in_the_form_that_is(
    folder: Path, asked: bool | str | None, columns: int | None
) -> None:
    scheduler = Scheduler(f"sqlite://{folder / 'jobs.db'}", elasticjob_tables=asked)
    scheduler.add(lambda: None, "tick", **SECONDLY)
    run(scheduler, 1)
    with closing(sqlite3.connect(folder / "history.db")) as file:
        found = [name for (name,) in file.execute("select name from sqlite_master where type = 'table'")]
        if columns is None:
            assert not {"JOB_EXECUTION_LOG", "JOB_STATUS_TRACE_LOG"} & set(found)
            return
        assert len(file.execute("select * from JOB_STATUS_TRACE_LOG").description) == columns
        (ran,) = set(file.execute("select job_name, is_success from JOB_EXECUTION_LOG"))
        assert ran == ("tick", 1)


def test_one_who_only_listens_takes_nothing_away_from_what_others_left_for_the_history(folder: Path) -> None:
    url = f"sqlite://{folder / 'jobs.db'}"
    members = []
    for history in ("postgresql://nobody@127.0.0.1:9/none", False, folder / "history.db"):
        scheduler = Scheduler(url, history=history)
        scheduler.add(lambda: None, "tick", **SECONDLY)
        members.append(next(each.by for each in run(scheduler, 2) if isinstance(each, events.Started)))
    told = {attempt.by for entry in kept(folder) for attempt in entry.attempts}
    assert told == {members[0], members[2]}  # the one between them keeps no account


def test_none_is_kept_where_none_is_wanted(folder: Path) -> None:
    scheduler = Scheduler(f"sqlite://{folder / 'jobs.db'}", history=False)
    scheduler.add(lambda: None, "tick", **SECONDLY)
    heard = run(scheduler, 1)
    runs = [type(event) for event in heard if isinstance(event, events.RunEvent)]
    assert runs[:2] == [events.Started, events.Ended]
    started, over = [event for event in heard if isinstance(event, events.Started | events.Ended)][:2]
    assert isinstance(over, events.Ended)
    assert over.began == started.at
    assert not (folder / "history.db").exists()


def test_a_listener_that_fails_keeps_nobody_from_hearing(folder: Path) -> None:
    scheduler = Scheduler(f"sqlite://{folder / 'jobs.db'}", history=False)

    def fail(event: events.Event) -> None:
        raise RuntimeError("not today")

    scheduler.subscribe(fail)
    scheduler.add(lambda: None, "tick", **SECONDLY)
    assert run(scheduler, 2)


def test_a_coroutine_is_chronicled_as_a_function_is(folder: Path) -> None:
    scheduler = Scheduler(f"sqlite://{folder / 'jobs.db'}")

    @scheduler.job("tick", **SECONDLY)
    async def tick(shard: Shard) -> None:
        logging.getLogger("mine").warning("from the loop")

    run(scheduler, 1)
    first = next(entry for entry in kept(folder) if entry.attempts)
    with Store(folder / "history.db") as store:
        lines = queries.log(store, first.key, first.attempts[0].id)
    assert lines is not None
    assert "from the loop" in lines.text


def test_where_the_history_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert place_of("sqlite:///srv/app/jobs.db?session_timeout=5s", None) == Path("/srv/app/history.db")
    assert place_of("sqlite:///srv/my%20app/jobs.db", None) == Path("/srv/my app/history.db")
    assert place_of("zookeeper://zk1/prod", None) is None
    assert place_of("sqlite:///srv/app/jobs.db", False) is None
    assert place_of("zookeeper://zk1/prod", "mysql://a@b/c") == "mysql://a@b/c"
    with pytest.raises(JobError, match="say where the history is"):
        place_of("zookeeper://zk1/prod", True)
    monkeypatch.setenv(VARIABLE, "postgresql://a@b/c")
    assert place_of("zookeeper://zk1/prod", None) == "postgresql://a@b/c"
    assert place_of("zookeeper://zk1/prod", False) is None


@pytest.mark.parametrize("history", [None, False])
def test_what_becomes_of_fires_that_did_not_run_is_told_to_those_who_listen(
    folder: Path, history: bool | None
) -> None:
    """Fires fall while nobody is there."""
    url = f"sqlite://{folder / 'jobs.db'}"
    first = Scheduler(url, history=history)
    first.add(lambda: None, "tick", **SECONDLY, shards=2)
    run(first, 2)
    passed = datetime.now(UTC) + timedelta(seconds=2.5)
    second = Scheduler(url, history=history)
    second.add(lambda: None, "tick", **SECONDLY, shards=2)
    heard: Heard[events.Event] = Heard()
    second.subscribe(heard)
    threading.Event().wait((passed - datetime.now(UTC)).total_seconds())  # real fires fall by a real clock
    with second:
        heard.until(lambda told: any(isinstance(event, events.Skipped) for event in told))
        heard.until(ended(2))
    skipped = [event for event in heard.all if isinstance(event, events.Skipped)]
    assert {event.reason for event in skipped} == {due.NOBODY}
    assert {event.item for event in skipped} == {0, 1}
    assert any(isinstance(event, events.LeaseMargin) for event in heard.all)


def test_of_the_only_fire_of_a_job_it_is_told_that_nobody_was_there_for_it(folder: Path) -> None:
    url = f"sqlite://{folder / 'jobs.db'}"
    at = datetime.now(UTC) + timedelta(seconds=3)
    first, second = Scheduler(url), Scheduler(url)
    for scheduler in (first, second):
        scheduler.add(lambda: None, "tick", schedule=f"once {at.isoformat()}")
    with first:
        assert first.is_leader("tick")
    heard: Heard[events.Event] = Heard()
    second.subscribe(heard)
    threading.Event().wait((at - datetime.now(UTC)).total_seconds())  # as above
    with second:
        heard.until(lambda told: any(isinstance(event, events.Skipped) for event in told))
    (line,) = kept(folder)
    assert (line.due, line.disposition) == (at, Disposition.SKIPPED)
    assert line.verdict is not None
    assert line.verdict.reason == due.NOBODY


def test_prometheus_counts_what_a_scheduler_does(folder: Path) -> None:
    counted = CollectorRegistry()
    scheduler = Scheduler(f"sqlite://{folder / 'jobs.db'}", history=False)
    scheduler.subscribe(Metrics(counted))
    scheduler.add(lambda: None, "tick", **SECONDLY)
    run(scheduler, 2)
    of_tick = {"job": "tick"}
    assert (counted.get_sample_value("shardwright_runs_total", {**of_tick, "outcome": "ok"}) or 0) >= 2
    assert (counted.get_sample_value("shardwright_run_seconds_count", of_tick) or 0) >= 2
    assert (counted.get_sample_value("shardwright_lateness_seconds_count", of_tick) or 0) >= 2
    assert (counted.get_sample_value("shardwright_lease_margin_seconds") or 0) > 0


def test_tries_that_failed_are_listed_with_their_run_and_so_is_what_each_has_logged(folder: Path) -> None:
    scheduler = Scheduler(f"sqlite://{folder / 'jobs.db'}")
    tried: list[Shard] = []

    def tick(shard: Shard) -> None:
        tried.append(shard)
        logging.getLogger("tick").warning("this is try %d", shard.attempt)
        if len(tried) < 3:
            raise ConnectionError("the other side is down")

    scheduler.add(tick, "tick", retries=2, retry_delay="10ms", **SECONDLY)
    heard = run(scheduler, times=1)
    assert [event.tried for event in heard if isinstance(event, events.Retried)] == [1, 2]
    first = kept(folder)[0]
    (attempt,) = first.attempts
    assert (first.disposition, first.outcome, attempt.number) == (Disposition.RAN, "ok", 1)
    assert [(each.number, each.outcome) for each in attempt.tries] == [(1, "failed"), (2, "failed")]
    assert all("ConnectionError: the other side is down" in each.failure for each in attempt.tries)
    assert attempt.began is not None
    assert [attempt.began, *sorted(each.ended for each in attempt.tries)] == sorted(
        [attempt.began, *(each.ended for each in attempt.tries)]
    )
    with Store(folder / "history.db") as store:
        log = queries.log(store, first.key, attempt.id)
    assert log is not None
    said = [line.rpartition(": ")[2] for line in log.text.splitlines()]
    between = "-- try {} failed, and is followed by another --"
    assert said == ["this is try 1", between.format(1), "this is try 2", between.format(2), "this is try 3"]


def calls(act: Callable[[], object]) -> int:
    """How many functions are called by this, in this thread."""
    count = 0

    def profile(frame: object, event: str, arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        act()
    finally:
        sys.setprofile(None)
    return count


def test_long_stretches_of_fires_cost_the_reactor_no_more_than_short_ones(folder: Path) -> None:
    """With 260 shards and two hours its watchdog took it for hung, and so again after each restart."""
    begin = datetime(2030, 1, 1, tzinfo=UTC)
    heard: list[events.Event] = []
    chronicle = Chronicle(SystemClock(), folder / "history.db", [heard.append])

    def tell(job: str, length: timedelta) -> None:
        passed = Passed(begin, begin + length, account.SKIPPED, due.NOBODY, ("*/5 * * * * ?", "UTC", ""))
        for item in range(260):
            chronicle.account(job, 1, item, [passed], lambda: None, ours=True)

    tell("warm up", timedelta(seconds=5))
    short = calls(lambda: tell("short", timedelta(seconds=5)))
    assert calls(lambda: tell("long", timedelta(hours=2))) < 1.1 * short
    assert heard == []  # nobody is told in this thread either


def test_those_who_listen_are_told_of_each_fire_and_the_recorder_has_it_from_the_account_only(
    folder: Path,
) -> None:
    begin = datetime(2030, 1, 1, tzinfo=UTC)
    fires = [begin + timedelta(seconds=second) for second in range(1, 5)]
    schedule = ("* * * * * ?", "UTC", "")
    told: list[account.Entry] = [
        Passed(begin, fires[1], account.SKIPPED, due.NOBODY, schedule),
        Passed(fires[1], fires[2], account.MADE_GOOD, fires[3].isoformat(), schedule),
        Ran(
            fires[3].isoformat(),
            account.LOST,
            "a",
            "3",
            "scheduled",
            1,
            fires[3],
            fires[3],
            "failover is off",
        ),
    ]
    heard: list[events.Event] = []
    chronicle = Chronicle(SystemClock(), folder / "history.db", [heard.append])
    assert chronicle._recorder is not None
    chronicle.account("tick", 1, 0, told, lambda: None, ours=True)
    chronicle.account("tick", 1, 1, told, lambda: None, ours=False)  # told by whose they are
    chronicle._events.deliver()
    shards = [event for event in heard if isinstance(event, events.ShardEvent)]
    assert [f"{type(event).__name__} {event.fire} {event.item}" for event in shards] == [
        f"Skipped {fires[0].isoformat()} 0",
        f"Skipped {fires[1].isoformat()} 0",
        f"MadeGood {fires[2].isoformat()} 0",
        f"Lost {fires[3].isoformat()} 0",
    ]
    assert chronicle._recorder.waiting == 2 * len(told)
    chronicle.close(60.0)
    assert len(kept(folder)) == 2 * len(fires)


class Chronicled:
    """A cluster whose replicas keep a history, and write it when they are told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, where: Path, *consumers: events.Consumer) -> None:
        self.cluster = testing.Cluster()
        self.chronicles: list[Chronicle] = []

        def process(registry: Any, **settings: Any) -> Process:
            self.chronicles.append(Chronicle(registry.clock, where, consumers))
            return Process(registry, chronicle=self.chronicles[-1], **settings)

        monkeypatch.setattr(testing, "Process", process)

    def write(self) -> None:
        """Have the last one write what waits."""
        chronicle = self.chronicles[-1]
        assert chronicle._recorder is not None
        assert chronicle._recorder.dropped == 0
        chronicle._events.deliver()
        assert chronicle._recorder.flush()
        assert chronicle._recorder.dropped == 0
        self.cluster.settle()


def test_of_all_shards_all_fires_of_a_long_time_without_anybody_are_in_the_history_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shards, outage = 60, timedelta(minutes=30)  # which are more rows than entries may wait
    counted = CollectorRegistry()
    chronicled = Chronicled(monkeypatch, folder / "history.db", Metrics(counted))
    cluster = chronicled.cluster

    def build() -> Scheduler:
        scheduler = Scheduler()
        scheduler.add(lambda: None, "tick", cron="*/5 * * * * ?", time_zone="UTC", shards=shards)
        return scheduler

    first = cluster.start(build())
    cluster.advance(seconds=6)
    chronicled.write()
    cluster.kill(first)
    cluster.advance(seconds=outage.total_seconds())
    second = cluster.start(build())
    for _ in range(2):
        cluster.advance(seconds=5)
        chronicled.write()
    for chronicle in chronicled.chronicles:
        chronicle.close(60.0)

    with closing(sqlite3.connect(folder / "history.db")) as file:
        found = file.execute("select item, due, disposition from shardwright_ledger").fetchall()
    fires = {moment for _, moment, _ in found}
    assert len(fires) == len(found) / shards == outage.total_seconds() / 5 + 3
    assert Counter((item, moment) for item, moment, _ in found) == Counter(
        (item, moment) for item in range(shards) for moment in fires
    )
    skipped = [item for item, _, disposition in found if disposition == "SKIPPED"]
    labels = {"job": "tick", "reason": due.NOBODY}
    assert counted.get_sample_value("shardwright_skipped_total", labels) == len(skipped) > 20_000
    member = second.process._members["tick"]
    tails = [claim.read(node.data).tail for node in member._cursors.values() if node is not None]
    assert [[type(entry) for entry in tail] for tail in tails] == [[Ran]] * shards  # the one just run


@pytest.fixture
def wire(zookeeper: Server) -> Iterator[Proxy]:
    with Proxy(zookeeper.hosts) as proxy:
        yield proxy


def test_prometheus_counts_what_happens_to_a_scheduler_that_has_no_history(
    zookeeper: Server, wire: Proxy
) -> None:
    """Shards move, somebody dies, a write comes too late, the registry is away."""
    path, counted, go_on = f"/{uuid.uuid4().hex}?session_timeout=4s", CollectorRegistry(), threading.Event()
    heard: Heard[events.Event] = Heard()

    def of(kind: type[events.Event], job: str = "") -> list[Any]:
        return heard.until(lambda told: [each for each in told if isinstance(each, kind) and each.job == job])

    def count(name: str, **labels: str) -> float | None:
        return counted.get_sample_value(f"shardwright_{name}", labels)

    ours = Scheduler(f"zookeeper://{wire.hosts}{path}", address="10.0.0.1")
    ours.subscribe(Metrics(counted))
    ours.subscribe(heard)
    ours.add(lambda: go_on.wait(60.0), "job", shards=2, failover=True)
    door = f"zookeeper://{zookeeper.hosts}{path}"
    with ours, connect(door) as registry:
        assert ours.is_leader("job")
        with Child(children_here.hold, door, "10.0.0.2") as other:
            of(events.Moved, "job")
            ours.trigger("job")
            other.expect("runs")
            other.kill()
        assert count("shards_moved_total", job="job") == count("reshardings_total", job="job") == 1
        of(events.FailedOver, "job")
        assert count("failovers_total", job="job") == 1

        cursors = [f"{registry.namespace}~shardwright/job/cursor/{item}" for item in range(2)]
        found = registry.wait(registry.read(cursors))
        registry.wait(registry.commit(*(Put(path, node.data) for path, node in found.items() if node)))
        go_on.set()
        of(events.StaleRefused, "job")
        assert (count("stale_writes_refused_total", job="job") or 0) >= 1

        wire.cut()
        of(events.RegistryLost)
        assert count("registry_up") == 0
        wire.heal()
        (*_, back) = [each for each in of(events.RegistryBack) if isinstance(each, events.RegistryBack)]
        assert (count("registry_up"), count("registry_unavailable_seconds_total")) == (1, back.seconds)
        assert back.seconds > 0
