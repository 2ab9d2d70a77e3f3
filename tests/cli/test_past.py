"""Fires of the past, run once more and after all, by command."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shardwright import Scheduler, Shard
from tests.stories.telling import ONCE_A_YEAR, A, B, Story

from . import schemas
from .calling import Calling, shardwright

#: Two fires of the job one after the other, by its schedule, long ago.
BEFORE, LAST = datetime(2024, 1, 1, tzinfo=UTC), datetime(2025, 1, 1, tzinfo=UTC)


def test_a_fire_of_the_past_runs_once_more_under_its_own_name(calls: Calling, story: Story) -> None:
    said = calls("rerun", "reindex", LAST.isoformat(), "--shard", "1")
    assert said == f"shard 1 runs {LAST.isoformat()} as soon as it is free\n"
    story.until_ran(lambda: [(ran.item, ran.fire) for ran in story.ran] == [(1, LAST)])


def test_a_stretch_is_shown_first_and_then_run_to_its_end(calls: Calling, story: Story) -> None:
    stretch = ["--from", BEFORE.isoformat(), "--to", (LAST + timedelta(seconds=1)).isoformat()]
    shown = calls.document(schemas.Backfill, "backfill", "reindex", *stretch, "--dry-run")
    assert (shown.fires, shown.runs) == ([BEFORE.isoformat(), LAST.isoformat()], 8)
    assert "\n8 runs, not begun\n" in calls("backfill", "reindex", *stretch, "--dry-run")
    twice = ["--shard", "1", "--shard", "1"]
    assert calls.document(schemas.Backfill, "backfill", "reindex", *stretch, "--dry-run", *twice).runs == 2
    assert story.ran == []
    assert "--yes" in calls.refused("backfill", "reindex", *stretch, code=2)
    calls("backfill", "reindex", *stretch, "--yes", "--wait", "20")
    ran = sorted((ran.fire, ran.item) for ran in story.ran if ran.fire is not None)
    assert ran == [(fire, item) for fire in (BEFORE, LAST) for item in range(4)]


def test_one_fire_and_one_run_are_told_as_one(calls: Calling) -> None:
    asked = ["backfill", "reindex", "--from", BEFORE.isoformat(), "--to", LAST.isoformat(), "--shard", "1"]
    assert calls(*asked, "--dry-run").splitlines()[-1] == "1 run, not begun"
    one = BEFORE.isoformat()
    assert f"Run 1 fire of the job 'reindex', from {one} to {one}, 1 run?" in calls.refused(*asked, code=2)
    for server in (A, B):
        calls("disable", "reindex", "--server", server)
    said = calls.refused(*asked, "--yes", "--wait", "0.1")
    assert "1 run of 'reindex' is not over after 0.1 s, and goes on without you" in said


def test_who_does_not_wait_to_the_end_is_told_how_many_runs_are_not_over(calls: Calling) -> None:
    for server in (A, B):
        calls("disable", "reindex", "--server", server)
    stretch = ["--from", BEFORE.isoformat(), "--to", LAST.isoformat()]
    said = calls.refused("backfill", "reindex", *stretch, "--yes", "--wait", "0.1")
    assert "4 runs of 'reindex' are not over after 0.1 s, and go on without you" in said


STRETCH = ["--from", BEFORE.isoformat(), "--to", (LAST + timedelta(seconds=1)).isoformat()]


@contextmanager
def a_job(story: Story, body: Callable[[Shard], None], **settings: Any) -> Iterator[Calling]:
    """Whoever calls, with a job of two shards that one process has."""
    with Scheduler(story.url, address=A, **settings) as scheduler:
        scheduler.add(body, "job", shards=2, cron=ONCE_A_YEAR, time_zone="UTC")
        story.until(lambda: story.owners(2) == [A, A])
        yield Calling(story.url)


def test_who_waits_to_the_end_is_told_how_many_runs_did_not_come_out_well(story: Story) -> None:
    faults = [1, 1]

    def body(shard: Shard) -> None:
        if shard.item in faults:
            faults.remove(shard.item)
            raise ValueError("no such customer")

    with a_job(story, body) as calls:
        backfill = ("backfill", "job", *STRETCH, "--yes", "--wait", "20")
        said = calls.refused(*backfill)
        assert "2 of 4 runs of 'job' did not come out well; see shardwright history job" in said
        calls(*backfill)  # once more, and all is well
        faults.append(0)
        assert "1 of 4 runs of 'job' did not come out well; see" in calls.refused(*backfill)


def test_of_more_runs_than_a_cursor_can_tell_of_the_history_tells(story: Story) -> None:
    years = ["--from", "1991-01-01T00:00:00Z", "--to", "2025-01-01T00:00:01Z"]

    def body(shard: Shard) -> None:
        if shard.fire_time is not None and shard.fire_time.year < 2000:
            raise ValueError("no such customer")

    with a_job(story, body) as calls:
        said = calls.refused("backfill", "job", *years, "--yes", "--wait", "30", "--shard", "0")
    assert "9 of 35 runs of 'job' did not come out well; see" in said


def test_without_a_history_the_last_runs_are_known_and_of_the_others_it_is_said_that_they_are_not(
    story: Story,
) -> None:
    faults = [0]

    def body(shard: Shard) -> None:
        if shard.item in faults:
            raise ValueError("no such customer")

    with a_job(story, body, history=False):
        backfill = ("--registry", story.url, "backfill", "job", *STRETCH, "--yes", "--wait", "20")
        answer = shardwright(*backfill)
        assert answer.code == 1
        assert "1 of 4 runs of 'job' did not come out well; how 2 of 4 runs of 'job' came out" in answer.err
        faults.clear()
        answer = shardwright(*backfill)
        assert answer.code == 0
        assert "Note: how 2 of 4 runs of 'job' came out is not known: no history tells of them" in answer.err


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (["rerun", "reindex", "yesterday"], 2, "write it as 2026-03-29T00:00:00+01:00"),
        (["rerun", "reindex", "2020-01-01T00:00:01Z"], 1, "it does not fire at"),
        (["rerun", "reindex", "0001-01-01T00:00:00Z"], 1, "it does not fire at"),
        (["rerun", "nobody", "2020-01-01T00:00:00Z"], 1, "nobody"),
        (
            ["rerun", "reindex", "#3"],
            2,
            "#3 was asked for, and has no time: ask again, by shardwright trigger",
        ),
        (
            ["backfill", "reindex", "--from", "2020-03-01T00:00:00Z", "--to", "2020-02-01T00:00:00Z"],
            2,
            "--from must be before --to",
        ),
        (["rerun", "reindex", "2020-01-01T00:00:00Z", "--shard", "9"], 1, "has no shard 9"),
        (["backfill", "reindex", "--from", "2020-01-01T00:00:00Z"], 2, "--to"),
        (
            [
                "backfill",
                "reindex",
                "--from",
                "2020-02-01T00:00:00Z",
                "--to",
                "2020-03-01T00:00:00Z",
                "--yes",
            ],
            1,
            "it does not fire from",
        ),
    ],
)
def test_what_cannot_be_run_is_refused(
    calls: Calling, story: Story, arguments: list[str], code: int, why: str
) -> None:
    assert why in calls.refused(*arguments, code=code)
    assert story.ran == []
