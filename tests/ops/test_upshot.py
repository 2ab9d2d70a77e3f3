"""How runs of the past came out is known by the cursors and the history together."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from shardwright.coordination.account import Ran
from shardwright.coordination.claim import Cursor, Tenure
from shardwright.history.ledger import LOST_RUN, Attempt, Entry, Key
from shardwright.history.store import Store
from shardwright.ops import looking, upshot
from shardwright.ops.looking import Sight
from shardwright.outcomes import FAILED, OK
from shardwright.registry import Put

from .bureau import PY, Bureau

AT = datetime(2030, 1, 1, 2, tzinfo=UTC)
RUN = AT.isoformat(), 0


@pytest.fixture
def hourly(bureau: Bureau) -> Bureau:
    """A job whose cursor is at its first version."""
    bureau.of(PY, job="a", shards=1, owners={0: PY}, cron="0 0 * * * ?", time_zone="UTC")
    bureau.cursor(0, Cursor(last=OK), "a")
    return bureau


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "history.db") as opened:
        yield opened


def seen(bureau: Bureau) -> Sight:
    return looking.at(bureau.registry, "a")


def move(bureau: Bureau, cursor: Cursor) -> None:
    made = seen(bureau).job.node("").made
    bureau.land(Put(bureau.path("~~cursor/0", "a"), replace(cursor, made=made).text()))


def claim(number: int, outcome: str) -> Attempt:
    return Attempt(str(number), PY, "trigger", 1, AT, AT, outcome)


def kept(store: Store, sight: Sight, *attempts: Attempt) -> None:
    store.write([Entry(Key("a", sight.job.node("").made, RUN[0], 0), AT, attempts)])


def test_a_run_of_before_says_nothing_of_the_one_that_was_asked_for(hourly: Bureau, store: Store) -> None:
    before = seen(hourly)
    number = before.cursors[0].version
    kept(store, before, claim(number, OK))
    assert upshot.outcomes(before, seen(hourly), [AT], [0], store) == {}
    kept(store, before, claim(number + 1, LOST_RUN))
    assert upshot.outcomes(before, seen(hourly), [AT], [0], store) == {RUN: LOST_RUN}


def test_of_several_runs_the_last_counts_wherever_it_is_told(hourly: Bureau, store: Store) -> None:
    before = seen(hourly)
    number = before.cursors[0].version
    kept(store, before, claim(number + 1, LOST_RUN))
    again = Ran(AT.isoformat(), OK, PY, str(number + 3), "failover", 2, AT, AT, number=1)
    move(hourly, Cursor(last=OK, past=True, told=1, tail=(again,)))
    assert upshot.outcomes(before, seen(hourly), [AT], [0], store) == {RUN: OK}


def test_where_there_is_no_history_the_cursor_says_how_the_last_one_came_out(hourly: Bureau) -> None:
    before = seen(hourly)
    move(hourly, Cursor(last=FAILED, past=True))
    earlier = AT.replace(hour=1)
    assert upshot.outcomes(before, seen(hourly), [earlier, AT], [0], None) == {RUN: FAILED}


@pytest.mark.parametrize(
    "cursor",
    [
        Cursor(last=FAILED),
        Cursor(last=FAILED, past=True, run=Tenure(PY, "2", AT.isoformat(), "trigger", 1)),
    ],
)
def test_a_cursor_says_nothing_of_it_that_came_to_another_run_or_is_in_the_midst(
    hourly: Bureau, cursor: Cursor
) -> None:
    before = seen(hourly)
    move(hourly, cursor)
    assert upshot.outcomes(before, seen(hourly), [AT], [0], None) == {}
