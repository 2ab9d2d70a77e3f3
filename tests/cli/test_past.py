"""Fires of the past, run once more and after all, by command."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.stories.telling import A, B, Story

from . import schemas
from .calling import Calling

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
    twice = ["--shard", "1", "--shard", "1"]
    assert calls.document(schemas.Backfill, "backfill", "reindex", *stretch, "--dry-run", *twice).runs == 2
    assert story.ran == []
    assert "--yes" in calls.refused("backfill", "reindex", *stretch, code=2)
    calls("backfill", "reindex", *stretch, "--yes", "--wait", "20")
    ran = sorted((ran.fire, ran.item) for ran in story.ran if ran.fire is not None)
    assert ran == [(fire, item) for fire in (BEFORE, LAST) for item in range(4)]


def test_who_does_not_wait_to_the_end_is_told_how_many_runs_are_not_over(calls: Calling) -> None:
    for server in (A, B):
        calls("disable", "reindex", "--server", server)
    stretch = ["--from", BEFORE.isoformat(), "--to", LAST.isoformat()]
    said = calls.refused("backfill", "reindex", *stretch, "--yes", "--wait", "0.1")
    assert "4 runs of 'reindex' are not over after 0.1 s, and go on without you" in said


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
