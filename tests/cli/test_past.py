"""Fires of the past, run once more and after all, by command."""

from datetime import UTC, datetime, timedelta

import pytest

from shardwright.schedule import parse
from tests.stories.telling import ONCE_A_YEAR, Story

from . import schemas
from .calling import Calling

#: When the job last fired, by its schedule.
LAST = list(parse(ONCE_A_YEAR, "UTC").between(datetime.now(UTC) - timedelta(days=800), datetime.now(UTC)))[-1]
BEFORE = LAST.replace(year=LAST.year - 1)


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
