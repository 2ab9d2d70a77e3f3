"""The command line as somebody at a terminal sees it."""

import threading
from dataclasses import replace

import pytest

from shardwright import Scheduler
from shardwright.cli.commands import watch
from shardwright.registry import connect
from tests.stories.telling import ONCE_A_YEAR, A, B, Story

from . import schemas
from .calling import Calling, shardwright
from .terminal import CTRL_C, PATIENCE, Terminal

#: What is green, cyan and yellow of a job that one of its two servers may not work for.
COLOURED = ["\x1b[32mOK", "\x1b[32mENABLED", "\x1b[36mleads", "\x1b[33mDISABLED"]


def test_on_a_terminal_a_table_is_drawn_in_colour_and_fits(calls: Calling) -> None:
    with Terminal("jobs", "--registry", calls.url, columns=90) as terminal:
        terminal.expect("status")
        terminal.expect("─")
        terminal.expect("reindex")
        assert terminal.end() == 0
    assert "\x1b[32mOK" in terminal.raw
    assert max(map(len, terminal.text.splitlines())) <= 90


def test_what_must_not_be_overlooked_has_a_colour_of_its_own(calls: Calling) -> None:
    calls("disable", "reindex", "--server", B)
    with Terminal("job", "reindex", "--registry", calls.url, columns=200) as terminal:
        terminal.expect("leads")
        assert terminal.end() == 0
    assert [word for word in COLOURED if word not in terminal.raw] == []


def test_who_wants_no_colour_gets_none(calls: Calling) -> None:
    with Terminal("jobs", "--registry", calls.url, env={"NO_COLOR": "1"}) as terminal:
        terminal.expect("reindex")
        assert terminal.end() == 0
    assert "\x1b[32m" not in terminal.raw


def test_off_a_terminal_there_is_no_colour_although_somebody_forces_it(calls: Calling) -> None:
    answer = shardwright("jobs", "--registry", calls.url, env={"FORCE_COLOR": "1"})
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == calls("jobs")
    assert "\x1b" not in answer.out


def test_json_on_a_terminal_is_nothing_but_json(calls: Calling) -> None:
    with Terminal("jobs", "--registry", calls.url, "--json") as terminal:
        assert terminal.end() == 0
    assert "\x1b" not in terminal.raw
    assert len(schemas.Jobs.model_validate_json(terminal.text).jobs) == 1


@pytest.mark.parametrize("answer", ["n\n", "\n", CTRL_C])
def test_what_cannot_be_undone_is_asked_about_and_not_done_without_a_yes(
    calls: Calling, story: Story, answer: str
) -> None:
    with Terminal("remove", "reindex", "--force", "--registry", calls.url) as terminal:
        terminal.expect("Remove the job 'reindex' with its settings, for good? [y/N]")
        terminal.press_until(answer, "Aborted!")
        assert terminal.end() == 1
    assert story.right_now("config", job="reindex") != [None]


def test_what_cannot_be_undone_is_done_after_a_yes(calls: Calling, story: Story) -> None:
    with Terminal("shutdown", "reindex", "--server", B, "--registry", calls.url) as terminal:
        terminal.expect(f"Have all processes on {B} leave the job 'reindex'? [y/N]")
        terminal.press("y\n")
        terminal.expect("was ordered to stop the job 'reindex'")
        assert terminal.end() == 0
    story.until(lambda: story.owners(4, "reindex") == [A] * 4)


@pytest.mark.parametrize("key", ["q", CTRL_C])
def test_watching_goes_on_until_a_key_ends_it_and_leaves_the_terminal_as_it_was(
    calls: Calling, story: Story, key: str
) -> None:
    with Terminal("watch", "--every", "0.1", "--registry", calls.url) as terminal:
        before = terminal.ways
        terminal.expect("jobs: 1 (1 OK)  servers: 2")
        terminal.expect("10.0.0.1@-@")
        for server in (A, B):
            story.set_server(server, "DISABLED", "reindex")
        terminal.expect("jobs: 1 (1 DISABLED)")
        terminal.press(key)
        assert terminal.end() == 0
        assert terminal.ways == before
    assert terminal.raw.count("\x1b[?1049h") == terminal.raw.count("\x1b[?1049l") == 1


def test_watching_goes_on_while_the_registry_does_not_answer(calls: Calling) -> None:
    with connect(calls.url) as registry:
        frame = watch._look(registry, "somewhere", ())
    later = watch._look_again(registry, frame, ())
    assert later == replace(frame, trouble=later.trouble)
    assert "The registry does not answer, trying again: not connected to the registry" in later.trouble


def test_how_far_a_backfill_is_can_be_seen_until_it_is_over(story: Story) -> None:
    seen = [threading.Event(), threading.Event()]
    with Scheduler(story.url, address=A) as scheduler:
        scheduler.add(
            lambda shard: seen[shard.item].wait(PATIENCE),
            "job",
            shards=2,
            cron=ONCE_A_YEAR,
            time_zone="UTC",
        )
        story.until(lambda: story.owners(2) == [A, A])
        stretch = ("--from", "2024-01-01T00:00:00Z", "--to", "2025-01-01T00:00:01Z")
        with Terminal("backfill", "job", *stretch, "--wait", "60", "--registry", story.url) as terminal:
            terminal.expect("Run 2 fires of the job 'job'")
            terminal.expect("4 runs? [y/N]")
            terminal.press("y\n")
            for percent, shard in (("  0%", 0), (" 50%", 1)):
                terminal.expect("job ━")
                terminal.expect(percent)
                seen[shard].set()
            terminal.expect("shard 0 runs 2024-01-01T00:00:00+00:00")
            assert terminal.end() == 0
        assert "━" not in terminal.text[terminal.text.rindex("shard 0 runs") :]
