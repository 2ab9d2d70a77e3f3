"""The commands that change something, and those changes that are refused."""

import threading

import pytest

from shardwright import Scheduler, Shard
from shardwright.registry import Put
from tests.stories.telling import ONCE_A_YEAR, A, B, Story

from . import schemas
from .calling import Calling


def done(calls: Calling, *command: str) -> list[str]:
    """What a command says that it has changed."""
    (only,) = calls.document(schemas.AllDone, *command).done
    return only.changed


# trigger


def test_a_job_that_is_triggered_runs_each_of_its_shards(calls: Calling, story: Story) -> None:
    said = done(calls, "trigger", "reindex")
    assert [each.partition("@-@")[0] for each in said] == [A, B]
    story.until_ran(lambda: sorted(ran.item for ran in story.ran) == [0, 1, 2, 3])


def test_one_shard_that_is_triggered_runs_alone(calls: Calling, story: Story) -> None:
    assert calls("trigger", "reindex", "--shard", "2") == "shard 2 was asked to run\n"
    story.until_ran(lambda: [ran.item for ran in story.ran] == [2])


def test_a_run_is_asked_for_with_a_parameter(calls: Calling, story: Story) -> None:
    calls("trigger", "reindex", "--shard", "2", "--parameter", "since=yesterday")
    story.until_ran(lambda: [ran.parameter for ran in story.ran] == ["since=yesterday"])


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (["reindex", "--parameter", "x" * 2001], 1, "up to 2,000 characters"),
        (["reindex", "--shard", "9"], 1, "the job 'reindex' has no shard 9; it has 0 to 3"),
        (["reindex", "--shard", "two"], 2, "'two' is not a valid integer"),
        ([], 2, "Missing argument 'NAME'"),
    ],
)
def test_a_trigger_that_cannot_be_is_refused(
    calls: Calling, story: Story, arguments: list[str], code: int, why: str
) -> None:
    assert why in calls.refused("trigger", *arguments, code=code)
    assert story.ran == []


def test_a_job_that_nobody_is_in_cannot_be_triggered(calls: Calling, story: Story) -> None:
    story.close()
    again = Story(story.url)
    with again.operator:
        again.until(lambda: again.tree("reindex").synced and not again.tree("reindex").children("instances"))
        assert "nobody is in the job 'reindex'" in calls.refused("trigger", "reindex")


# enable, disable


def test_a_job_is_disabled_and_enabled_again(calls: Calling, story: Story) -> None:
    assert calls("disable", "reindex").splitlines() == [
        f"{A} is DISABLED for the job 'reindex'",
        f"{B} is DISABLED for the job 'reindex'",
    ]
    assert calls.document(schemas.Jobs, "jobs").jobs[0].status == "DISABLED"
    assert calls("disable", "reindex") == "Nothing had to be changed.\n"
    assert len(done(calls, "enable", "reindex")) == 2
    assert story.right_now(f"servers/{A}", job="reindex") == ["ENABLED"]


def test_a_server_is_disabled_for_one_job_and_for_all(calls: Calling) -> None:
    assert done(calls, "disable", "reindex", "--server", A) == [f"{A} is DISABLED for the job 'reindex'"]
    assert done(calls, "enable", "--server", A) == [f"{A} is ENABLED for the job 'reindex'"]
    assert "no job knows a server '10.0.0.9'" in calls.refused("disable", "--server", "10.0.0.9")


def test_a_shard_is_disabled_and_enabled_again(calls: Calling) -> None:
    assert done(calls, "disable", "reindex", "--shard", "1") == ["shard 1 of the job 'reindex' is DISABLED"]
    assert calls.document(schemas.Shards, "shards", "reindex").shards[1].state == "DISABLED"
    assert done(calls, "enable", "reindex", "--shard", "1") == ["shard 1 of the job 'reindex' is ENABLED"]
    assert "has no shard 4" in calls.refused("enable", "reindex", "--shard", "4")


@pytest.mark.parametrize("command", ["enable", "disable"])
@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "name a job, or a server by --server"),
        (["--shard", "1"], "name a job, or a server by --server"),
        (["reindex", "--server", A, "--shard", "1"], "--shard goes with a job, and not with --server"),
        (["reindex", "--shard", "-1"], "Invalid value for '--shard'"),
    ],
)
def test_what_is_to_rest_must_be_said(alone: Calling, command: str, arguments: list[str], why: str) -> None:
    assert why in alone.refused(command, *arguments, code=2)


# config


def test_settings_are_shown_all_or_some_of_them(calls: Calling) -> None:
    config = calls.document(schemas.Config, "config", "get", "reindex").config
    assert (config["shards"], config["cron"]) == (4, ONCE_A_YEAR)
    assert config["props"] == {"email.host": "mail.example.org", "email.password": "***"}
    assert calls.document(schemas.Config, "config", "get", "reindex", "shards").config == {"shards": 4}
    assert calls("config", "get", "reindex", "shards", "cron").splitlines() == [
        "shards:  4",
        f"cron:    {ONCE_A_YEAR}",
    ]
    assert calls("config", "get", "reindex", "shardingTotalCount") == "shards:  4\n"
    assert "'shard'; did you mean 'shards'?" in calls.refused("config", "get", "reindex", "shard")
    assert "'colour'; there are: name, cron" in calls.refused("config", "get", "reindex", "colour")


def test_a_difference_is_told_and_nothing_is_changed(calls: Calling, story: Story) -> None:
    before = story.right_now("config", job="reindex")
    found = calls.document(schemas.Diff, "config", "diff", "reindex", "shards=8", "failover=true")
    assert [(each.setting, each.old, each.new) for each in found.changes] == [("shards", 4, 8)]
    assert calls("config", "diff", "reindex", "shards=8") == "shards: 4 -> 8\n"
    assert calls("config", "diff", "reindex", "shards=4") == "Nothing would change.\n"
    assert story.right_now("config", job="reindex") == before


def test_settings_that_are_changed_are_taken_up_by_all(calls: Calling, story: Story) -> None:
    assert calls("config", "set", "reindex", "shards=6", "failover=no") == (
        "shards: 4 -> 6\nfailover: True -> False\n"
    )
    story.until(lambda: len(story.tree("reindex").children("sharding")) == 6)
    assert done(calls, "config", "set", "reindex", "shards=6") == []


def test_a_new_secret_is_not_repeated(calls: Calling, story: Story) -> None:
    assert "sesame" not in calls("config", "set", "reindex", "props.email.password=sesame")
    (text,) = story.right_now("config", job="reindex")
    assert text is not None
    assert "sesame" in text


@pytest.mark.parametrize("command", ["set", "diff"])
@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (["shards=0"], 1, "shards must be at least 1"),
        (["shards=many", "cron=0 0 25 * * ?"], 1, "hours go from 0 to 23"),
        (["shards=--5"], 1, "shards"),
        (["shards=" + "9" * 5000], 1, "shards"),
        (["shard=4"], 1, "'shard'"),
        (["schedule=every 5s"], 1, "give one of the two, and take the other away by cron="),
        (
            ["schedule=every 5s", "cron=0 0 5 * * ?"],
            1,
            "schedule cannot stand beside cron: give one of the two\n",
        ),
        (["name=other"], 1, "a job's name does not change"),
        (["shards"], 2, "'shards': write a change as setting=value"),
        (["shards=1", "shards=2"], 2, "'shards' is there twice"),
        ([], 2, "Missing argument 'SETTING=VALUE...'"),
    ],
)
def test_a_change_that_cannot_be_is_refused_and_changes_nothing(
    calls: Calling, story: Story, command: str, arguments: list[str], code: int, why: str
) -> None:
    before = story.right_now("config", job="reindex")
    assert why in calls.refused("config", command, "reindex", *arguments, code=code)
    assert story.right_now("config", job="reindex") == before


def test_who_gives_one_schedule_beside_the_other_is_told_how_to_take_that_away(
    calls: Calling, story: Story
) -> None:
    done(calls, "config", "set", "reindex", "schedule=every 5s", "cron=")
    told = "give one of the two, and take the other away by schedule="
    assert told in calls.refused("config", "set", "reindex", "cron=0 0 5 * * ?")
    done(calls, "config", "set", "reindex", "cron=0 0 5 * * ?", "schedule=")
    found = calls.document(schemas.Config, "config", "get", "reindex").config
    assert (found["cron"], found["schedule"]) == ("0 0 5 * * ?", None)


def test_settings_that_make_no_sense_are_replaced(calls: Calling, story: Story) -> None:
    story.write(Put(story.path("config", "reindex"), "nonsense"))
    assert "config" in calls.refused("config", "set", "reindex", "shards=6")
    asked = ("config", "replace", "reindex", "shards=6", "cron=0 0 3 * * ?")
    assert "Replace all settings of reindex? Nobody is here to ask" in calls.refused(*asked, code=2)
    assert "shards must be at least 1" in calls.refused("config", "replace", "reindex", "shards=0", "--yes")
    assert done(calls, *asked, "--yes") == ["settings that made no sense are replaced"]
    config = calls.document(schemas.Config, "config", "get", "reindex").config
    assert (config["shards"], config["cron"], config["failover"]) == (6, "0 0 3 * * ?", False)


# drain


def test_a_process_is_drained_and_let_work_again(calls: Calling, story: Story) -> None:
    said, waited = done(calls, "drain", "reindex", B, "--wait", "20")
    assert said.endswith("is being drained of the job 'reindex'")
    assert waited.endswith("has no shard of it left")
    assert {each.server for each in calls.document(schemas.Shards, "shards", "reindex").shards} == {A}
    assert calls("drain", "reindex", B) == "Nothing had to be changed.\n"
    calls("drain", "reindex", B, "--undo")
    story.until(lambda: sorted(story.owners(4, "reindex")) == [A, A, B, B])


def test_who_cannot_be_drained_is_said(calls: Calling, story: Story) -> None:
    assert "is called '10.0.0.9'; there are: 10.0.0.1@-@" in calls.refused("drain", "reindex", "10.0.0.9")
    story.set_server(A, "DISABLED", "reindex")
    assert "so nothing would run any more; start or enable another first" in calls.refused(
        "drain", "reindex", B
    )
    assert "--wait goes with draining" in calls.refused(
        "drain", "reindex", B, "--undo", "--wait", "1", code=2
    )


def test_who_still_runs_something_is_not_drained_in_time(story: Story) -> None:
    over, begun = threading.Event(), threading.Barrier(3)

    def work(shard: Shard) -> None:
        begun.wait(60)
        over.wait(60)

    with Scheduler(story.url, address=A) as first, Scheduler(story.url, address=B) as second:
        for each in (first, second):
            each.add(work, "slow", cron=ONCE_A_YEAR, shards=2)
        story.until(lambda: sorted(story.owners(2, "slow")) == [A, B])
        calls = Calling(story.url)
        calls("trigger", "slow")
        begun.wait(60)
        why = calls.refused("drain", "slow", B, "--wait", "0.1")
        assert "is not done with the job 'slow' after 0.1 s; it goes on giving its shards away" in why
        assert "draining" in calls("job", "slow")
        over.set()


# shutdown, remove


def test_a_process_that_is_ordered_to_leave_leaves(calls: Calling, story: Story) -> None:
    (said,) = done(calls, "shutdown", "reindex", "--server", B, "--yes")
    assert said.endswith("was ordered to stop the job 'reindex'")
    story.until(lambda: story.owners(4, "reindex") == [A] * 4)


def test_one_process_is_named_by_how_its_id_begins(calls: Calling, story: Story) -> None:
    who = story.instance_of(B, "reindex")
    assert done(calls, "shutdown", "reindex", "--process", B, "--yes") == [
        f"{who} was ordered to stop the job 'reindex'"
    ]


def test_a_job_that_is_removed_is_gone(calls: Calling, story: Story) -> None:
    assert "reindex" in calls.refused("remove", "reindex", "--yes")  # somebody is in it
    assert story.right_now("config", job="reindex") != [None]
    assert calls("remove", "reindex", "--force", "--yes") != ""
    assert calls.document(schemas.Jobs, "jobs").jobs == []


def test_a_server_that_is_removed_is_forgotten(calls: Calling) -> None:
    assert f"the job 'reindex' has forgotten the server {B}" in done(calls, "remove", "--server", B, "--yes")
    assert [each.address for each in calls.document(schemas.Servers, "servers").servers] == [A]


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (["shutdown"], "name a job, or a server by --server"),
        (["shutdown", "--process", A], "name a job, or a server by --server"),
        (["shutdown", "reindex", "--server", A, "--process", A], "--process goes with a job"),
        (["remove"], "name a job, or a server by --server"),
        (["remove", "--server", A, "--force"], "--force goes with a job, not with a server"),
    ],
)
def test_what_is_to_end_must_be_said(alone: Calling, command: list[str], why: str) -> None:
    assert why in alone.refused(*command, code=2)


def test_where_nobody_can_be_asked_what_cannot_be_undone_needs_a_yes(calls: Calling, story: Story) -> None:
    before = story.right_now(f"servers/{A}", "config", "instances", job="reindex")
    for command in (
        ["shutdown", "reindex"],
        ["shutdown", "--server", A],
        ["remove", "reindex", "--force"],
        ["remove", "--server", A],
    ):
        assert "Nobody is here to ask: say so by --yes" in calls.refused(*command, code=2)
    assert story.right_now(f"servers/{A}", "config", "instances", job="reindex") == before
    assert len(story.tree("reindex").children("instances")) == 2
