"""Job types: functions, processes, scripts, calls, dataflows, and types of one's own, by one scheduler."""

import functools
import logging
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from shardwright import ConfigError, Dataflow, JobConfig, JobError, Scheduler, Shard
from shardwright.runtime.bodies import Body
from shardwright.testing import Cluster
from tests.runtime.test_runs import last

FIRE = 10.0
DAILY: dict[str, Any] = {"cron": "10 * * * * ?", "time_zone": "UTC"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where scripts may come from, with one that says what it was handed."""
    script = tmp_path / "tell"
    script.write_text('#!/bin/sh\necho "$SHARDWRIGHT_ITEM/$SHARDWRIGHT_TOTAL $# $*" >> "$0.log"\n')
    script.chmod(0o755)
    return tmp_path


def fired(scheduler: Scheduler) -> Cluster:
    cluster = Cluster()
    cluster.start(scheduler)
    cluster.advance(seconds=FIRE + 5)
    return cluster


def test_a_script_runs_for_each_shard_with_its_arguments_and_no_shell(folder: Path) -> None:
    scheduler = Scheduler("memory://", script_folders=[folder])
    scheduler.script("job", [str(folder / "tell"), "$(touch x)", "a b"], shards=2, **DAILY)
    assert last(fired(scheduler)) == "ok"
    assert sorted((folder / "tell.log").read_text().splitlines()) == [
        "0/2 2 $(touch x) a b",
        "1/2 2 $(touch x) a b",
    ]


def test_elasticjobs_json_is_a_scripts_last_argument_where_that_is_asked_for(folder: Path) -> None:
    scheduler = Scheduler("memory://", script_folders=[folder])
    scheduler.script("job", [str(folder / "tell")], elasticjob=True, **DAILY)
    fired(scheduler)
    assert '1 {"jobName":"job","taskId":"job@-@0@-@READY@-@10.0.0.1@-@' in (folder / "tell.log").read_text()


def test_without_folders_scripts_are_off_and_that_is_said_when_one_is_declared(folder: Path) -> None:
    with pytest.raises(JobError, match="folder"):
        Scheduler("memory://").script("job", [str(folder / "tell")], **DAILY)
    assert not (folder / "tell.log").exists()


@pytest.mark.parametrize("folders", ["/opt/jobs", Path("/opt/jobs"), b"/opt/jobs"])
def test_folders_that_are_one_and_no_list_are_refused_and_not_taken_letter_by_letter(folders: Any) -> None:
    with pytest.raises(JobError, match=r"script_folders is a list: \['/opt/jobs'\]"):
        Scheduler("memory://", script_folders=folders)


@pytest.mark.parametrize("hosts", ["billing.internal", b"billing.internal"])
def test_hosts_that_are_one_and_no_list_are_refused_and_not_taken_letter_by_letter(hosts: Any) -> None:
    with pytest.raises(JobError, match=r"http_allowed is a list: \['billing.internal'\]"):
        Scheduler("memory://", http_allowed=hosts)


@pytest.mark.parametrize("argv", ["tell --full", b"tell --full"])
def test_a_script_given_as_one_text_is_refused_with_the_list_it_should_be(folder: Path, argv: Any) -> None:
    with pytest.raises(JobError, match=r"job 'job': .* as a list: \['tell', '--full'\]"):
        Scheduler("memory://", script_folders=[folder]).script("job", argv, **DAILY)


def test_a_script_given_as_one_path_is_refused_with_the_list_it_should_be() -> None:
    with pytest.raises(JobError, match=r"job 'job': .* as a list: \['/opt/my jobs/tell'\]"):
        Scheduler("memory://").script("job", Path("/opt/my jobs/tell"), **DAILY)  # type: ignore[arg-type]


def test_a_script_given_as_one_text_that_cannot_be_split_is_refused_in_words() -> None:
    with pytest.raises(JobError, match=r"job 'job': .* as a list.*: No closing quotation"):
        Scheduler("memory://").script("job", "tell 'half", **DAILY)


def test_a_path_is_a_word_of_a_command_as_good_as_any(folder: Path) -> None:
    scheduler = Scheduler("memory://", script_folders=[folder])
    scheduler.script("job", [folder / "tell", "--into", folder / "a b"], **DAILY)
    assert last(fired(scheduler)) == "ok"
    assert (folder / "tell.log").read_text() == f"0/1 2 --into {folder}/a b\n"


@pytest.mark.parametrize("word", [3, None, b"--full"])
def test_a_word_of_a_command_that_is_no_text_is_refused_and_nothing_is_declared(
    folder: Path, word: Any
) -> None:
    scheduler = Scheduler("memory://", script_folders=[folder])
    with pytest.raises(JobError, match=f"job 'job': {word!r} is no text"):
        scheduler.script("job", [folder / "tell", word], **DAILY)
    with pytest.raises(JobError, match=r"job 'job': .* as a list"):
        scheduler.script("job", word, **DAILY)
    assert scheduler.jobs == ()


def test_a_script_is_known_to_java_members_by_its_type_and_command_line(folder: Path) -> None:
    scheduler = Scheduler("memory://", script_folders=[folder])
    scheduler.script("job", [str(folder / "tell"), "a b"], props={"mine": "too"}, **DAILY)
    (job,) = scheduler.jobs
    assert job.kind == "SCRIPT"
    assert job.config.props["script.command.line"] == f"{folder / 'tell'} 'a b'"
    assert job.config.props["mine"] == "too"


def test_settings_that_make_no_sense_to_a_type_are_refused_when_declared() -> None:
    with pytest.raises(ConfigError, match="http"):
        Scheduler("memory://").http("job", "gopher://example.com/", **DAILY)


def test_a_call_to_a_private_address_fails_unless_it_is_allowed(caplog: pytest.LogCaptureFixture) -> None:
    scheduler = Scheduler("memory://")
    scheduler.http("job", "http://127.0.0.1:9/", **DAILY)
    assert last(fired(scheduler)) == "failed"
    assert "127.0.0.1" in caplog.text


def test_a_dataflow_runs_until_nothing_is_left(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    left = [[1, 2], [3], []]
    done: list[int] = []
    scheduler = Scheduler("memory://")
    flow = Dataflow(lambda shard: left.pop(0), lambda shard, data: done.extend(data), streaming=True)
    scheduler.add(flow, "job", **DAILY)
    assert last(fired(scheduler)) == "ok"
    assert done == [1, 2, 3]


def test_the_settings_say_whether_a_dataflow_streams() -> None:
    left = [[1], [2], []]
    scheduler = Scheduler("memory://")
    flow = Dataflow(lambda shard: left.pop(0), lambda shard, data: None)
    scheduler.add(flow, "job", props={"streaming.process": "true"}, **DAILY)
    fired(scheduler)
    assert left == []


def test_a_stream_ends_when_its_member_is_to_leave() -> None:
    """The shard says that it is to move: here, because the process drains in the midst of a batch."""
    scheduler = Scheduler("memory://")
    cluster = Cluster()
    batches: list[int] = []

    def process(shard: Shard, data: list[int]) -> None:
        batches.append(len(batches))
        if len(batches) == 3:
            replica.process._members["job"].drain()

    scheduler.add(Dataflow(lambda shard: [0], process, streaming=True), "job", **DAILY)
    replica = cluster.start(scheduler)
    cluster.advance(seconds=FIRE + 5)
    assert batches == [0, 1, 2]


@pytest.mark.parametrize("leave", [True, False])
def test_a_type_that_cannot_make_anything_of_new_settings_fails_the_run_and_nothing_else(leave: bool) -> None:
    made: list[JobConfig] = []

    def make(config: JobConfig) -> Body:
        made.append(config)
        if len(made) > 1:  # the first is where it is declared
            raise SystemExit("no such application") if leave else LookupError("no such application")
        return lambda shard: None

    scheduler = Scheduler("memory://")
    scheduler.add_type("SPARK", make)
    scheduler.typed("SPARK", "job", **DAILY)
    assert last(fired(scheduler)) == "failed"


def test_a_call_that_is_refused_says_by_which_option_it_would_not_be(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scheduler = Scheduler("memory://")
    scheduler.http("job", "http://127.0.0.1:1/", **DAILY)
    fired(scheduler)
    assert "http_allowed=['127.0.0.1']" in caplog.text


def test_a_type_of_ones_own_is_made_of_the_settings_that_hold() -> None:
    told: list[str] = []
    scheduler = Scheduler("memory://")

    def make(config: JobConfig) -> object:
        return lambda shard: told.append(f"{config.props['spark.app']} {shard.item}")

    scheduler.add_type("SPARK", make)  # type: ignore[arg-type]
    scheduler.typed("SPARK", "job", props={"spark.app": "wordcount"}, shards=2, **DAILY)
    fired(scheduler)
    assert sorted(told) == ["wordcount 0", "wordcount 1"]
    with pytest.raises(JobError, match="there is a job type 'SPARK' already"):
        scheduler.add_type("SPARK", make)  # type: ignore[arg-type]
    with pytest.raises(JobError, match="there is no job type 'FLINK'; there are SCRIPT, HTTP, SPARK"):
        scheduler.typed("FLINK", "other")


class Query:
    """A job that is an object, and no function."""

    def __init__(self, text: str) -> None:
        self.text = text


class Slow(Query):
    pass


def test_an_object_of_a_class_that_was_added_is_run_by_what_was_added_for_it() -> None:
    told: list[str] = []
    scheduler = Scheduler("memory://")

    def make(query: Query, config: JobConfig) -> Body:
        return lambda shard: told.append(f"{query.text} {config.parameter} {shard.item}")

    scheduler.add_class(Query, make)
    scheduler.add(Slow("select"), "job", parameter="fast", **DAILY)
    assert last(fired(scheduler)) == "ok"
    assert told == ["select fast 0"]
    with pytest.raises(JobError, match="there is a job type for Query already"):
        scheduler.add_class(Query, make)
    with pytest.raises(JobError, match="is no function"):
        Scheduler("memory://").add(Query("select"), "job")


def test_what_runs_in_a_process_of_its_own_must_be_a_function_of_a_module_that_takes_the_shard() -> None:
    scheduler = Scheduler("memory://")
    with pytest.raises(JobError, match="process of its own"):
        scheduler.add(lambda shard: None, "job", isolated=True, **DAILY)
    with pytest.raises(JobError, match="must take the shard"):
        scheduler.add(without_a_shard, isolated=True, **DAILY)


@pytest.mark.parametrize("what", [Dataflow(lambda shard: [], lambda shard, data: None), Query("select")])
def test_what_is_no_function_is_refused_a_process_of_its_own_and_not_run_without_one(what: object) -> None:
    scheduler = Scheduler("memory://")
    scheduler.add_class(Query, lambda query, config: lambda shard: None)
    kind = type(what).__name__
    with pytest.raises(JobError, match=f"job 'job': isolated=True is for a function, not for a {kind}"):
        scheduler.add(what, "job", isolated=True, **DAILY)
    assert scheduler.jobs == ()


def yields(shard: Shard) -> Iterator[int]:
    yield 1


async def yields_in_a_loop() -> AsyncIterator[int]:
    yield 1


class Yields:
    def __call__(self, shard: Shard) -> Iterator[int]:
        yield 1


@pytest.mark.parametrize(
    "function", [yields, yields_in_a_loop, functools.partial(yields), Yields(), Yields().__call__]
)
def test_a_function_that_yields_is_refused_where_it_is_declared(function: object) -> None:
    scheduler = Scheduler("memory://")
    with pytest.raises(JobError, match=r"job 'job': its function yields.* have it return, or give Dataflow"):
        scheduler.add(function, "job", **DAILY)
    assert scheduler.jobs == ()


def without_a_shard() -> None: ...


def crash(shard: Shard) -> None:
    import os

    os.abort()


def test_a_function_that_crashes_in_a_process_of_its_own_has_failed_and_nothing_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scheduler = Scheduler("memory://")
    scheduler.add(crash, "job", isolated=True, **DAILY)
    assert last(fired(scheduler)) == "failed"
    assert "SIGABRT" in caplog.text


def test_a_job_is_told_what_is_wrong_with_its_error_handler_when_it_is_declared() -> None:
    with pytest.raises(ConfigError, match=r"did you mean 'EMAIL'"):
        Scheduler("memory://").add(lambda: None, "job", error_handler="EMIAL", **DAILY)
