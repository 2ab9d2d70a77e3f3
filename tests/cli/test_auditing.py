"""What is changed by a command is told to the log and to the history, and a history that is down hinders
nothing."""

import logging
from pathlib import Path

import pytest

from shardwright.history.store import Store
from shardwright.ops.audit import somebody
from tests.stories.telling import A, Story

from . import schemas
from .calling import Calling, shardwright
from .test_recipes import ACCOUNT, candidate


@pytest.fixture
def noted(tmp_path: Path, calls: Calling) -> Calling:
    """Whoever calls, with a history in which nothing has been noted yet."""
    Store(tmp_path / "history.db").close()
    return calls


def notes(calls: Calling, *options: str) -> list[tuple[str, str, str]]:
    """What was changed, of whom, and what came of it, in the order that it was."""
    found = calls.document(schemas.Changes, "history", "--audit", *options).changes
    assert {each.who for each in found} <= {somebody()}
    return [(each.what, each.target, each.outcome) for each in reversed(found)]


def test_changes_are_listed_with_who_made_them_and_what_came_of_them(noted: Calling) -> None:
    noted("disable", "reindex")
    noted("enable", "--server", A)
    noted("config", "set", "reindex", "shards=5")
    noted.refused("trigger", "reindex", "--shard", "9")
    done = [
        ("disable", "reindex", "done"),
        ("enable", f"server {A}", "done"),
        ("update", "reindex", "done"),
        ("trigger", "reindex, shards 9", "the job 'reindex' has no shard 9; it has 0 to 4"),
    ]
    assert notes(noted) == done
    assert notes(noted, "reindex") == [done[0], done[2], done[3]]
    assert notes(noted, "--limit", "1") == done[-1:]
    latest = noted("history", "--audit").splitlines()[1]
    assert f"{somebody()}  trigger  reindex, shards 9" in latest
    assert noted("history", "--audit", "--to", "2020-01-01T00:00:00Z") == "No change was noted.\n"


def test_what_was_asked_of_the_past_is_listed_with_its_job(noted: Calling) -> None:
    noted.refused("rerun", "reindex", "2020-01-01T00:00:01Z")
    assert [(what, of) for what, of, _ in notes(noted, "reindex")] == [
        ("rerun", "reindex, at 2020-01-01T00:00:01+00:00")
    ]


def test_masters_that_are_chosen_are_noted_too(alone: Calling, tmp_path: Path) -> None:
    Store(tmp_path / "history.db").close()
    first, second = candidate(alone.url, 1), candidate(alone.url, 2)
    with first, second:
        assert first.wait(10)
        alone("master", "designate", ACCOUNT, "host:2")
        alone.refused("master", "designate", ACCOUNT, "host:9")
    assert [(what, of) for what, of, _ in notes(alone)] == [("designate", ACCOUNT)] * 2
    assert [outcome == "done" for _, _, outcome in notes(alone)] == [True, False]


def test_changes_are_told_to_the_log_also_where_there_is_no_history(
    story: Story, calls: Calling, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "shardwright.audit"):
        calls("disable", "reindex", "--shard", "1")
    assert f"{somebody()}: disable reindex, shard 1" in caplog.text


def test_a_history_that_is_down_hinders_no_change_and_that_is_said(calls: Calling) -> None:
    nowhere: dict[str, str | None] = {"SHARDWRIGHT_HISTORY": "postgresql://ann:hunter2@127.0.0.1:1/prod"}
    answer = shardwright("--registry", calls.url, "disable", "reindex", "--shard", "1", env=nowhere)
    assert (answer.code, answer.out) == (0, "shard 1 of the job 'reindex' is DISABLED\n")
    assert answer.err.startswith(
        "Note: this is not in the audit of the history: the history at postgresql://"
    )
    assert "hunter2" not in answer.err
    assert calls.document(schemas.Shards, "shards", "reindex").shards[1].state == "DISABLED"


def test_a_history_that_was_named_and_is_not_there_is_said_to_be_missing(
    calls: Calling, tmp_path: Path
) -> None:
    named: dict[str, str | None] = {"SHARDWRIGHT_HISTORY": f"sqlite:///{tmp_path / 'other.db'}"}
    answer = shardwright("--registry", calls.url, "disable", "reindex", "--shard", "1", env=named)
    assert answer.code == 0
    assert "Note: this is not in the audit of the history: there is no history at" in answer.err
    assert not (tmp_path / "other.db").exists()
