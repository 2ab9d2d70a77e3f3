"""The commands that look, and change nothing."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from shardwright.cli.commands.shards import shard_table
from shardwright.ops.shards import Item, State
from shardwright.registry import Put
from tests.stories.telling import ONCE_A_YEAR, A, B, Story

from . import schemas
from .calling import Calling


def test_jobs_are_listed_with_how_they_are(calls: Calling) -> None:
    (job,) = calls.document(schemas.Jobs, "jobs").jobs
    assert (job.name, job.status, job.shards, job.instances) == ("reindex", "OK", 4, 2)
    assert (job.schedule, job.description) == (ONCE_A_YEAR, "builds the index anew, password=***")
    assert len(job.next_fires) == 1
    head, row = calls("jobs").splitlines()
    assert head.split() == [
        "NAME",
        "STATUS",
        "SHARDS",
        "SCHEDULE",
        "NEXT",
        "FIRE",
        "PROCESSES",
        "DESCRIPTION",
    ]
    assert row.split()[:3] == ["reindex", "OK", "4"]
    assert row.index("OK") == head.index("STATUS")


def test_where_there_is_no_job_that_is_said(alone: Calling) -> None:
    assert alone("jobs") == "There is no job yet: a scheduler that starts brings its own.\n"
    assert alone.document(schemas.Jobs, "jobs").jobs == []
    assert alone("servers") == "There is no server yet.\n"


def test_one_job_is_shown_with_its_members_shards_and_settings(calls: Calling) -> None:
    job = calls.document(schemas.Job, "job", "reindex")
    assert [each.server for each in job.members] == [A, B]
    assert [each.owns for each in job.members] == [2, 2]
    assert [each.id for each in job.members if each.leader] == [job.leader]
    assert [each.item for each in job.shards] == [0, 1, 2, 3]
    assert job.config is not None
    assert job.config["failover"] is True
    told = calls("job", "reindex")
    for line in ("job:", "PROCESS", "SERVER", "SHARD", "failover:"):
        assert any(each.startswith(line) for each in told.splitlines()), told


@pytest.mark.parametrize(
    "command",
    [
        ["jobs"],
        ["job", "reindex"],
        ["shards", "reindex"],
        ["config", "get", "reindex"],
        ["watch"],
        ["dump", "reindex"],
    ],
)
def test_no_secret_is_shown(calls: Calling, command: list[str]) -> None:
    told = calls(*command), calls(*command, "--json")
    assert "hunter2" not in "".join(told)
    assert all("***" in each for each in told)


def test_shards_are_shown_with_their_owners(calls: Calling, story: Story) -> None:
    found = calls.document(schemas.Shards, "shards", "reindex")
    assert [each.server for each in found.shards] == story.owners(4, "reindex")
    assert {each.state for each in found.shards} == {"PENDING"}
    assert found.shards[0].parameter == "north"
    assert len(calls("shards", "reindex").splitlines()) == 5


def test_a_shard_that_runs_its_last_fire_is_not_said_to_have_come_out_some_way() -> None:
    runs = Item(
        0,
        State.RUNNING,
        "a",
        "",
        False,
        "",
        "a",
        "2030-01-01T02:00:00+00:00",
        None,
        1,
        None,
        "ok",
        None,
        next_owner="",
    )
    asked = replace(runs, state=State.PENDING, running_by="", running_fire="", attempt=0)
    again = replace(runs, running_fire="#7")  # what it had before was asked for, too: it has no schedule
    table = shard_table([runs, asked, again])
    assert [row[table.columns.index("outcome")] for row in table.rows] == ["-", "ok", "ok"]


def test_servers_are_listed_and_one_is_shown_with_its_jobs(calls: Calling) -> None:
    found = calls.document(schemas.Servers, "servers").servers
    assert [(each.address, each.instances, each.jobs, each.disabled) for each in found] == [
        (A, 1, ["reindex"], 0),
        (B, 1, ["reindex"], 0),
    ]
    assert calls("servers").splitlines()[1].split() == [A, "1", "0", "reindex"]
    of_one = calls.document(schemas.ServerJobs, "servers", A)
    assert [(each.job, each.status, each.instances) for each in of_one.jobs] == [("reindex", "OK", 1)]
    assert calls("servers", A).splitlines()[1].split() == ["reindex", "OK", "1"]
    assert "no job knows a server '10.0.0.9'" in calls.refused("servers", "10.0.0.9")


def test_the_leader_is_told(calls: Calling, story: Story) -> None:
    leader = story.instance_of(A, "reindex")
    assert calls("leader", "reindex") == f"{leader}\n"
    assert calls.document(schemas.Leader, "leader", "reindex").leader == leader


def test_where_nobody_leads_the_exit_code_says_so(calls: Calling, story: Story) -> None:
    for server in (A, B):
        story.set_server(server, "DISABLED", "reindex")
    story.until(lambda: story.leader("reindex") is None)
    assert calls("leader", "reindex", code=1) == "Nobody leads the job 'reindex' at the moment.\n"
    assert calls.document(schemas.Leader, "leader", "reindex", code=1).leader is None


@pytest.mark.parametrize("option", [["--join", "2"], ["--leave", A], ["--shards", "6"]])
def test_a_preview_tells_what_would_move_and_moves_nothing(
    calls: Calling, story: Story, option: list[str]
) -> None:
    before = story.owners(4, "reindex")
    foreseen = calls.document(schemas.Preview, "preview", "reindex", *option)
    assert foreseen.moves
    assert sum(foreseen.counts.values()) == len(foreseen.owners)
    assert foreseen.what in calls("preview", "reindex", *option)
    assert story.owners(4, "reindex") == before


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ([], "say one of --join, --leave and --shards"),
        (["--join", "1", "--shards", "2"], "say one of --join, --leave and --shards"),
        (["--shards", "2", "--server", A], "--server says where --join comes"),
        (["--shards", "0"], "Invalid value for '--shards'"),
    ],
)
def test_a_preview_of_nothing_in_particular_is_wrong_usage(
    alone: Calling, options: list[str], why: str
) -> None:
    assert why in alone.refused("preview", "reindex", *options, code=2)


def test_a_preview_of_somebody_unknown_who_leaves_names_those_there_are(calls: Calling) -> None:
    why = calls.refused("preview", "reindex", "--leave", "10.0.0.9")
    assert "no process of the job 'reindex' is called '10.0.0.9'; there are: 10.0.0.1@-@" in why
    assert "'10.0.0.' may be any of: 10.0.0.1@-@" in calls.refused("preview", "reindex", "--leave", "10.0.0.")


def test_a_dump_has_a_line_for_each_node_and_no_address(calls: Calling) -> None:
    found = calls.document(schemas.Dump, "dump", "reindex")
    assert calls("dump", "reindex").splitlines() == "\n".join(found.lines).rstrip("\n").splitlines()
    assert any(line.startswith("/reindex/leader/election/instance | ip") for line in found.lines)
    assert A not in "".join(found.lines)


def test_off_a_terminal_watching_shows_how_things_are_and_ends(calls: Calling) -> None:
    frame = calls.document(schemas.Watch, "watch")
    assert (frame.statistics.jobs, frame.statistics.instances, frame.statistics.shards) == (1, 2, 4)
    assert [job.name for job in frame.jobs] == list(frame.shards) == ["reindex"]
    told = calls("watch")
    assert "jobs: 1 (1 OK)  servers: 2  processes: 2  shards: 4  running: 0" in told
    assert "there is no job 'reindx'" in calls.refused("watch", "reindx")


def test_what_others_wrote_gives_the_terminal_no_orders(calls: Calling, story: Story) -> None:
    text, *_ = story.right_now("config", job="reindex")
    assert text is not None
    shout = '"\\e[31mred\\e]0;owned\\a [bold]"'
    changed = "\n".join(
        f"description: {shout}" if line.startswith("description:") else line for line in text.splitlines()
    )
    story.write(Put(story.path("config", "reindex"), changed))
    told = calls("jobs")
    assert "\x1b" not in told
    assert "\\x1b[31mred\\x1b]0;owned\\x07 [bold]" in told


UNKNOWN = [
    ["job", "reindx"],
    ["shards", "reindx"],
    ["leader", "reindx"],
    ["preview", "reindx", "--join", "1"],
    ["dump", "reindx"],
    ["watch", "reindx"],
    ["trigger", "reindx"],
    ["enable", "reindx"],
    ["disable", "reindx"],
    ["config", "get", "reindx"],
    ["config", "diff", "reindx", "shards=2"],
    ["config", "set", "reindx", "shards=2"],
    ["drain", "reindx", A],
    ["shutdown", "reindx", "--yes"],
    ["remove", "reindx", "--yes"],
    ["doctor", "reindx"],
]


def test_an_unknown_job_is_refused_by_every_command_with_the_one_that_was_meant(calls: Calling) -> None:
    for command in UNKNOWN:
        why = calls.refused(*command)
        assert why.startswith("Error: there is no job 'reindx'"), command
        assert "did you mean 'reindex'?" in why, command


def test_a_registry_that_is_not_there_is_said_by_every_command() -> None:
    nowhere = Calling("sqlite:///nonexistent/registry.db")
    recipes = [
        ["jobs"],
        ["servers"],
        ["master", "list"],
        ["master", "show", "Account:1"],
        ["master", "designate", "Account:1", "host:1"],
        ["master", "resign", "Account:1", "--yes"],
        ["slices", "pages"],
    ]
    for command in [*UNKNOWN, *recipes]:
        why = nowhere.refused(*command, code=3)
        assert why.startswith("Error: there is no registry at /nonexistent/registry.db"), command


@pytest.mark.parametrize("seconds", ["nan", "inf", "1e300", "-1"])
def test_no_length_of_time_is_wrong_usage(calls: Calling, seconds: str) -> None:
    stretch = ["--from", "2020-01-01T00:00:00Z", "--to", "2020-01-02T00:00:00Z", "--yes"]
    for command in (
        ["watch", "--every"],
        ["drain", "reindex", A, "--wait"],
        ["backfill", "reindex", *stretch, "--wait"],
    ):
        assert "Invalid value" in calls.refused(*command, seconds, code=2)


def test_where_the_answer_cannot_go_that_is_said(calls: Calling) -> None:
    """To a disk that is full, and to nowhere at all: as a shell's `>&-` does it."""
    command = f"'{sys.executable}' -m shardwright jobs --registry '{calls.url}'"
    full = subprocess.run(["sh", "-c", f"{command} > /dev/full"], capture_output=True, text=True, check=False)
    assert (full.returncode, full.stderr) == (
        1,
        "Error: the answer could not be written: No space left on device\n",
    )
    closed = subprocess.run(["sh", "-c", f"{command} >&-"], capture_output=True, text=True, check=False)
    assert (closed.returncode, closed.stderr) == (0, "")
    read = subprocess.run(["sh", "-c", f"{command} | true"], capture_output=True, text=True, check=False)
    assert (read.returncode, read.stderr) == (0, "")


def test_a_character_that_cannot_be_shown_is_no_reason_to_fail(calls: Calling) -> None:
    calls("config", "set", "reindex", "description=索引")
    told = subprocess.run(
        [sys.executable, "-m", "shardwright", "jobs", "--registry", calls.url],
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
        capture_output=True,
        check=True,
    )
    assert rb"\u7d22\u5f15" in told.stdout
