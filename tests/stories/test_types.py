"""Every type of job, in a real scheduler: what it is handed, where it runs, and what its failures are."""

import asyncio
import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shardwright import Dataflow, JobConfig, JobError, Scheduler, Shard
from tests.alerts.web import Web
from tests.recipes.heard import Heard, listening, says

from . import workers
from .telling import EVERY_SECOND, A, B, Story
from .watching import Ends, changed, notes


def a_member(story: Story, address: str = A, **options: object) -> Scheduler:
    return Scheduler(story.url, address=address, grace=2.0, **options)  # type: ignore[arg-type]


# Functions


def test_a_function_is_handed_every_shard_with_its_parameter(story: Story) -> None:
    ran: Heard[Shard] = Heard()
    with a_member(story) as scheduler:
        scheduler.add(ran, "job", shards=3, parameter="all", item_parameters={0: "Beijing", 2: "Köln"})
        scheduler.trigger("job")
        shards = ran.until(lambda all_: len(all_) == 3)
        Ends(story).until("ok", "ok", "ok")
    assert sorted((each.item, each.total, each.parameter) for each in shards) == [
        (0, 3, "Beijing"),
        (1, 3, ""),
        (2, 3, "Köln"),
    ]
    assert {(each.job_name, each.job_parameter, each.source, each.attempt) for each in shards} == {
        ("job", "all", "trigger", 1)
    }


def test_a_function_that_raises_has_failed(story: Story) -> None:
    def broken(shard: Shard) -> None:
        raise ValueError("no such customer")

    with listening() as heard, a_member(story) as scheduler:
        scheduler.add(broken, "job")
        scheduler.trigger("job")
        Ends(story).until("failed")
        heard.until(says("ERROR job: failed, shard 0: ValueError: no such customer", "in broken"))


# Coroutines


def test_coroutines_run_beside_each_other_in_one_thread_of_their_own(story: Story) -> None:
    all_three = asyncio.Barrier(3)
    threads: list[str] = []

    async def meet(shard: Shard) -> None:
        threads.append(threading.current_thread().name)
        await all_three.wait()

    with a_member(story, threads=1) as scheduler:
        scheduler.add(meet, "job", shards=3)
        scheduler.trigger("job")
        Ends(story).until("ok", "ok", "ok")
    assert threads == ["shardwright-loop"] * 3


def test_a_coroutine_that_raises_has_failed_and_one_beside_it_has_not(story: Story) -> None:
    async def some_fail(shard: Shard) -> None:
        await asyncio.sleep(0)
        assert shard.item == 0

    with a_member(story) as scheduler:
        scheduler.add(some_fail, "job", shards=2)
        scheduler.trigger("job")
        Ends(story).until("ok", "failed")


# Processes


def test_an_isolated_function_runs_in_a_process_for_each_shard_and_what_it_says_is_logged(
    story: Story, tmp_path: Path
) -> None:
    file = tmp_path / "notes"
    with listening() as heard, a_member(story) as scheduler:
        scheduler.add(workers.note, "job", isolated=True, shards=3, parameter=str(file))
        scheduler.trigger("job")
        Ends(story).until("ok", "ok", "ok")
        heard.until(says("INFO job: shard 2: here is shard 2 of 3"))
    ran = notes(file)
    assert sorted(each["item"] for each in ran) == [0, 1, 2]
    assert len({each["pid"] for each in ran} | {os.getpid()}) == 4


def test_a_process_that_crashes_fails_its_own_shard_and_no_other(story: Story) -> None:
    with listening() as heard, a_member(story) as scheduler:
        scheduler.add(workers.crash, "job", isolated=True, shards=3)
        scheduler.trigger("job")
        Ends(story).until("failed", "ok", "ok")
        heard.until(says("ERROR job: failed, shard 0", "was killed by SIGKILL before its function returned"))


# Dataflows


class Flow:
    """Batches for each shard, until there are none, and what became of them."""

    def __init__(self, *batches: list[int]) -> None:
        self._left = {item: list(batches) for item in range(2)}
        self.processed: Heard[tuple[int, list[int]]] = Heard()

    def fetch(self, shard: Shard) -> list[int] | None:
        left = self._left[shard.item]
        return left.pop(0) if left else None

    def process(self, shard: Shard, data: list[int]) -> None:
        self.processed((shard.item, data))


def test_a_dataflow_processes_one_batch_in_each_run(story: Story) -> None:
    flow = Flow([1, 2], [3])
    with listening() as heard, a_member(story) as scheduler:
        scheduler.add(Dataflow.of(flow), "job", shards=2)
        for count in (2, 4, 4):
            before = len(heard.all)
            scheduler.trigger("job")
            heard.until(lambda lines, old=before: _over(lines[old:]) == 2)  # type: ignore[misc]
            assert len(flow.processed.all) == count
    assert sorted(flow.processed.all) == [(0, [1, 2]), (0, [3]), (1, [1, 2]), (1, [3])]


def test_a_streaming_dataflow_goes_on_until_nothing_is_left(story: Story) -> None:
    flow = Flow([1], [2], [3])
    with listening() as heard, a_member(story) as scheduler:
        scheduler.add(Dataflow.of(flow), "job", shards=2, props={"streaming.process": "true"})
        scheduler.trigger("job")
        Ends(story).until("ok", "ok")
        heard.until(says("INFO job: shard 1: batches processed: 3; nothing is left"))
    assert sorted(flow.processed.all) == [(item, [number]) for item in (0, 1) for number in (1, 2, 3)]


def test_a_dataflow_may_fetch_by_a_generator_and_is_made_to_stream_by_an_operator(story: Story) -> None:
    processed: Heard[int] = Heard()

    def fetch(shard: Shard) -> Iterator[list[int]]:
        yield from ([1], [2], [])

    flow = Dataflow(fetch, lambda shard, data: processed(*data))
    with listening() as heard, a_member(story) as scheduler:
        scheduler.add(flow, "job", props={"streaming.process": "false"})
        scheduler.trigger("job")
        heard.until(says("batches processed: 1; one was asked for"))
        changed(story, heard, "streaming.process: 'false'", "streaming.process: 'true'")
        scheduler.trigger("job")
        heard.until(says("batches processed: 2; nothing is left"))
    assert processed.all == [1, 1, 2]


def test_a_streaming_dataflow_without_end_ends_when_another_member_is_to_have_its_shard(
    story: Story,
) -> None:
    processed: Heard[tuple[str, int]] = Heard()

    def endless(address: str) -> Dataflow:
        def process(shard: Shard, data: object) -> None:
            processed((address, shard.item))
            threading.Event().wait(0.01)  # a batch takes some time

        return Dataflow(lambda shard: [1], process, streaming=True)

    with listening() as heard, a_member(story, A) as first, a_member(story, B) as second:
        first.add(endless(A), "job", cron=EVERY_SECOND, shards=2)
        processed.until(lambda all_: {(A, 0), (A, 1)} <= set(all_))
        second.add(endless(B), "job", cron=EVERY_SECOND, shards=2)
        processed.until(lambda all_: any(who == B for who, _ in all_))
        heard.until(says("; the shard is to move"))
        story.until(lambda: set(story.owners(2)) == {A, B})
        moved = story.owners(2).index(B)
        ran = list(processed.all)
        last_of_a = max(number for number, each in enumerate(ran) if each == (A, moved))
        first_of_b = ran.index((B, moved))
        assert last_of_a < first_of_b
        processed.until(lambda all_: (A, 1 - moved) in all_[len(ran) :])  # and the other goes on where it was
    assert not [line for line in heard.all if "told to stop" in line]


def _over(lines: list[str]) -> int:
    return sum("batches processed: " in line for line in lines)


# Scripts

#: Whatever a shell would make something of.
AWKWARD = [
    "$(touch pwned)",
    "`touch pwned`",
    "; touch pwned #",
    "| tee pwned",
    "a  b",
    "it's",
    'say "hello"',
    "--help",
    "-",
    "*",
    "~",
    "$HOME ${HOME}",
    "line\nend\ttab",
    "back\\slash",
    "Köln 🚲",
    "",
]


@pytest.mark.parametrize("elasticjob", [False, True])
def test_a_script_has_its_arguments_to_the_letter_and_the_shard_by_input_and_environment(
    story: Story, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, elasticjob: bool
) -> None:
    monkeypatch.setenv("X_NOBODY_S_BUSINESS", "hunter2")
    monkeypatch.chdir(tmp_path)
    file, program = tmp_path / "notes", workers.script(tmp_path / "jobs", "record", workers.RECORD)
    parameters = {0: "$(touch pwned)", 1: "--evil '1'\nKöln"}
    with a_member(story, script_folders=[tmp_path / "jobs"]) as scheduler:
        argv = [program, str(file), *AWKWARD]
        scheduler.script(
            "job", argv, elasticjob=elasticjob, shards=2, item_parameters=parameters, parameter="`x`,=;\n"
        )
        scheduler.trigger("job")
        Ends(story).until("ok", "ok")
    ran = sorted(notes(file), key=lambda told: int(told["env"]["SHARDWRIGHT_ITEM"]))
    for item, told in enumerate(ran):
        shard, env = json.loads(told["stdin"]), told["env"]
        assert told["argv"][: len(AWKWARD)] == AWKWARD
        assert (shard["item"], shard["total"], shard["parameter"]) == (item, 2, parameters[item])
        assert (shard["job_name"], shard["job_parameter"], shard["source"]) == ("job", "`x`,=;\n", "trigger")
        assert json.loads(env["SHARDWRIGHT_SHARD"]) == shard
        assert env["SHARDWRIGHT_PARAMETER"] == parameters[item]
        assert (env["SHARDWRIGHT_TOKEN"], env["SHARDWRIGHT_ATTEMPT"]) == (str(shard["token"]), "1")
        assert "X_NOBODY_S_BUSINESS" not in env
        rest = [json.loads(each)["shardingItem"] for each in told["argv"][len(AWKWARD) :]]
        assert rest == ([item] if elasticjob else [])
    assert len(ran) == 2
    assert not list(tmp_path.rglob("pwned"))


def test_a_script_that_ends_with_another_code_than_0_has_failed_and_its_last_words_are_told(
    story: Story, tmp_path: Path
) -> None:
    program = workers.script(tmp_path / "jobs", "fail", workers.FAIL)
    with listening() as heard, a_member(story, script_folders=[tmp_path / "jobs"]) as scheduler:
        scheduler.script("job", [program, "code-3"])
        scheduler.trigger("job")
        Ends(story).until("failed")
        heard.until(says("ERROR job: failed", "its script ended with exit code 3", "nothing to report"))
        changed(story, heard, "code-3", "code-0")
        scheduler.trigger("job")
        Ends(story).until("ok")


def test_a_script_from_elsewhere_is_refused_where_it_is_declared(story: Story, tmp_path: Path) -> None:
    outside = workers.script(tmp_path / "outside", "record", workers.RECORD)
    (tmp_path / "jobs").mkdir()
    link = tmp_path / "jobs" / "link"
    link.symlink_to(outside)
    scheduler = a_member(story, script_folders=[tmp_path / "jobs"])
    for program in (outside, str(link), f"{tmp_path}/jobs/../outside/record", "/bin/sh"):
        with pytest.raises(JobError, match=r"is refused: it is .* in none of"):
            scheduler.script("job", [program, str(tmp_path / "notes")])
    with pytest.raises(JobError, match="scripts are off until the operator lists the folders"):
        a_member(story).script("job", [outside])
    assert scheduler.jobs == ()


def test_a_script_from_elsewhere_that_somebody_writes_into_the_registry_is_not_run(
    story: Story, tmp_path: Path
) -> None:
    inside = workers.script(tmp_path / "jobs", "record", workers.RECORD)
    outside = workers.script(tmp_path / "outside", "record", workers.RECORD)
    file = tmp_path / "notes"
    with listening() as heard, a_member(story, script_folders=[tmp_path / "jobs"]) as scheduler:
        scheduler.script("job", [inside, str(file)])
        scheduler.trigger("job")
        Ends(story).until("ok")
        changed(story, heard, inside, outside)
        scheduler.trigger("job")
        Ends(story).until("failed")
        heard.until(says("ERROR job: failed", f"{outside} is refused"))
    assert len(notes(file)) == 1


# Calls


def place(web: Web) -> str:
    return web.url.removeprefix("http://")


def test_a_call_tells_the_server_the_shard_as_elasticjob_does(story: Story) -> None:
    with Web() as web, a_member(story, http_allowed=[place(web)]) as scheduler:
        scheduler.http(
            "job",
            f"{web.url}/run?a=1",
            method="POST",
            data="n=1",
            content_type="text/plain",
            shards=2,
            parameter="all",
            item_parameters={1: "Köln\r\nX: y"},
        )
        scheduler.trigger("job")
        Ends(story).until("ok", "ok")
        posted = web.posted.all
    contexts = sorted(
        (json.loads(each.headers["Shardingcontext"]) for each in posted),
        key=lambda context: int(context["shardingItem"]),
    )
    instance = contexts[0].pop("taskId").removeprefix("job@-@0@-@READY@-@")
    assert instance.startswith(f"{A}@-@")
    assert contexts == [
        {"jobName": "job", "shardingTotalCount": 2, "jobParameter": "all", "shardingItem": 0},
        {
            "jobName": "job",
            "taskId": f"job@-@1@-@READY@-@{instance}",
            "shardingTotalCount": 2,
            "jobParameter": "all",
            "shardingItem": 1,
            "shardingParameter": "Köln\r\nX: y",
        },
    ]
    assert {(each.target, each.body, each.headers["Content-Type"]) for each in posted} == {
        ("/run?a=1", b"n=1", "text/plain")
    }


def test_a_call_that_is_answered_by_500_has_failed(story: Story) -> None:
    with Web() as web, listening() as heard, a_member(story, http_allowed=[place(web)]) as scheduler:
        web.status, web.answer = 500, b"the disk is full"
        scheduler.http("job", web.url, method="POST", data="n=1")
        scheduler.trigger("job")
        Ends(story).until("failed")
        heard.until(says("ERROR job: failed", "it answered 500: the disk is full"))
        web.status = 204
        scheduler.trigger("job")
        Ends(story).until("ok")


def test_a_call_to_this_machine_is_not_made_where_nobody_has_allowed_it(story: Story) -> None:
    with Web() as web, listening() as heard, a_member(story) as scheduler:
        scheduler.http("job", web.url, method="POST", data="n=1")
        scheduler.trigger("job")
        Ends(story).until("failed")
        heard.until(says("ERROR job: failed"))
        assert web.posted.all == []


# A type of one's own


def test_a_type_of_ones_own_is_made_of_the_settings_that_hold(story: Story) -> None:
    said: Heard[str] = Heard()

    def make(config: JobConfig) -> Callable[[Shard], object]:
        return lambda shard: said(f"{config.props['greeting']} {shard.item}")

    with listening() as heard, a_member(story) as scheduler:
        scheduler.add_type("GREETING", make)
        scheduler.typed("GREETING", "job", shards=2, props={"greeting": "hello"})
        scheduler.trigger("job")
        assert sorted(said.until(lambda all_: len(all_) == 2)) == ["hello 0", "hello 1"]
        Ends(story).until("ok", "ok")
        changed(story, heard, "greeting: hello", "greeting: goodbye")
        scheduler.trigger("job")
        assert sorted(said.until(lambda all_: len(all_) == 4)[2:]) == ["goodbye 0", "goodbye 1"]


def test_a_type_that_nobody_added_is_refused_and_those_there_are_are_told(story: Story) -> None:
    with pytest.raises(JobError, match="there is no job type 'GREETING'; there are SCRIPT, HTTP"):
        a_member(story).typed("GREETING", "job")
