"""Fires of the past are put on the lists of their shards, and refused where that makes no sense."""

from datetime import UTC, datetime, timedelta

import pytest

from shardwright.coordination import again
from shardwright.coordination.claim import Cursor, Tenure
from shardwright.errors import OperationError
from shardwright.ops import looking, past
from shardwright.registry import Delete, Put

from .bureau import JAVA, PY, Bureau
from .races import just_before, just_before_asking
from .test_steering import effect


@pytest.fixture
def hourly(any_bureau: Bureau) -> Bureau:
    any_bureau.of(PY, job="a", shards=2, owners={0: PY, 1: PY}, cron="0 0 * * * ?", time_zone="UTC")
    return any_bureau


def hour(bureau: Bureau, back: int) -> datetime:
    now = looking.at(bureau.registry, "a").now
    return now.replace(minute=0, second=0, microsecond=0) - timedelta(hours=back)


def test_a_fire_is_put_on_the_lists_of_all_shards_or_of_one(hourly: Bureau) -> None:
    at, before = hour(hourly, 2), hourly.everything()
    done = hourly.operator.rerun("a", at, shards=[1])
    assert done.changed == (f"shard 1 runs {at.isoformat()} as soon as it is free",)
    told = effect(before, hourly.everything())[hourly.path("~again/1", "a")]
    assert told == again.text([(at.isoformat(), 2)], before[hourly.path("", "a")].made)
    hourly.operator.rerun("a", at)
    assert past.left(hourly.registry, "a") == past.Left("a", 2, 0)
    assert hourly.operator.rerun("a", at).changed == ()


def test_a_fire_of_the_past_is_left_until_its_run_is_over(hourly: Bureau) -> None:
    """Also where nothing was ever run by the calendar, and where it is the last that was, taken over."""
    at = hour(hourly, 2)
    hourly.cursor(0, Cursor(run=Tenure(PY, "1", at.isoformat(), "trigger", 2), past=True), "a")
    hourly.cursor(1, Cursor(at=at, run=Tenure(PY, "2", at.isoformat(), "failover", 2), past=True), "a")
    assert past.left(hourly.registry, "a") == past.Left("a", 0, 2)


def test_what_runs_by_the_calendar_or_because_it_was_asked_for_is_nothing_of_the_past(hourly: Bureau) -> None:
    at = hour(hourly, 2)
    hourly.cursor(0, Cursor(at=at, run=Tenure(PY, "1", at.isoformat(), "scheduled", 1)), "a")
    hourly.cursor(1, Cursor(at=at, run=Tenure(PY, "1", "#7", "trigger", 1)), "a")
    assert past.left(hourly.registry, "a") == past.Left("a", 0, 0)


def test_a_fire_that_is_claimed_while_we_look_is_not_overlooked(
    hourly: Bureau, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It leaves its list just before that is read, for a cursor that was not there when we began."""
    at = hour(hourly, 2)
    hourly.operator.rerun("a", at, shards=[0])
    node = hourly.path("~again/0", "a")

    def claim() -> None:
        hourly.land(Delete(node))
        hourly.cursor(0, Cursor(run=Tenure(PY, "0", at.isoformat(), "trigger", 2), past=True), "a")

    just_before_asking(hourly.registry, "read", node, claim, monkeypatch)
    assert past.left(hourly.registry, "a") == past.Left("a", 0, 1)


def test_a_stretch_is_put_there_the_oldest_first(hourly: Bureau) -> None:
    begin, end = hour(hourly, 5), hour(hourly, 2)
    assert past.fires(looking.at(hourly.registry, "a"), begin, end) == [
        hour(hourly, back) for back in (5, 4, 3)
    ]
    hourly.operator.backfill("a", begin, end, shards=[0])
    nodes = hourly.everything()
    told, made = nodes[hourly.path("~again/0", "a")].data, nodes[hourly.path("", "a")].made
    assert again.read(told, made) == [(hour(hourly, back).isoformat(), 1) for back in (5, 4, 3)]


@pytest.mark.parametrize(
    ("back", "why"),
    [
        (timedelta(hours=-2), "has not come yet"),
        (timedelta(hours=2, minutes=1), "it does not fire at .*; the next one after it is"),
    ],
)
def test_what_was_no_fire_cannot_be_run_again(hourly: Bureau, back: timedelta, why: str) -> None:
    before = hourly.everything()
    with pytest.raises(OperationError, match=why):
        hourly.operator.rerun("a", hour(hourly, 0) - back)
    assert hourly.everything() == before


def test_a_time_from_before_all_calendars_is_refused_in_a_sentence(hourly: Bureau) -> None:
    first, before = datetime.min.replace(tzinfo=UTC), hourly.everything()
    with pytest.raises(OperationError, match="more than"):
        hourly.operator.backfill("a", first, hour(hourly, 0))
    with pytest.raises(OperationError, match="give the earlier time first"):
        hourly.operator.backfill("a", hour(hourly, 1), first)
    with pytest.raises(OperationError, match="it does not fire at 0001-01-01T00:00:00"):
        hourly.operator.rerun("a", first)
    with pytest.raises(OperationError, match="a fire is known by its time, a datetime"):
        hourly.operator.rerun("a", "2030-01-01T00:00:00Z")  # type: ignore[arg-type]
    assert hourly.everything() == before


def test_what_is_asked_of_the_past_is_in_the_audit_under_the_name_of_its_job(hourly: Bureau) -> None:
    at = hour(hourly, 2)
    hourly.operator.rerun("a", at, shards=[1])
    hourly.operator.backfill("a", hour(hourly, 3), at)
    assert hourly.said() == [
        ("rerun", f"a, at {at.isoformat()}, shards 1", "done"),
        ("backfill", f"a, from {hour(hourly, 3).isoformat()}, to {at.isoformat()}", "done"),
    ]


def test_too_much_at_a_time_is_refused_before_anything_is_written(hourly: Bureau) -> None:
    before = hourly.everything()
    with pytest.raises(OperationError, match=f"more than {past.MOST} runs at a time"):
        hourly.operator.backfill("a", hour(hourly, 2000), hour(hourly, 0))
    with pytest.raises(OperationError, match="it does not fire from"):
        hourly.operator.backfill(
            "a", hour(hourly, 1) + timedelta(minutes=1), hour(hourly, 1) + timedelta(minutes=2)
        )
    with pytest.raises(OperationError, match="has not come yet"):
        hourly.operator.backfill("a", hour(hourly, -2), hour(hourly, -3))
    with pytest.raises(OperationError, match="has no offset"):
        hourly.operator.rerun("a", hour(hourly, 1).replace(tzinfo=None))
    with pytest.raises(OperationError, match="has no shard 7"):
        hourly.operator.rerun("a", hour(hourly, 1), shards=[7])
    assert hourly.everything() == before


def test_a_job_without_a_schedule_or_without_members_that_know_how_is_refused(any_bureau: Bureau) -> None:
    any_bureau.of(PY, job="asked", owners={0: PY})
    any_bureau.of(JAVA, job="theirs", owners={0: JAVA}, cron="0 0 * * * ?", time_zone="UTC")
    any_bureau.of(job="a", cron="0 0 * * * ?", time_zone="UTC")
    with pytest.raises(OperationError, match="trigger it instead"):
        any_bureau.operator.rerun("asked", hour(any_bureau, 1))
    with pytest.raises(OperationError, match="only Java processes are in it"):
        any_bureau.operator.rerun("theirs", hour(any_bureau, 1))
    with pytest.raises(OperationError, match="nobody is in the job"):
        any_bureau.operator.rerun("a", hour(any_bureau, 1))


def test_a_list_that_was_worked_on_meanwhile_is_not_written_over(
    hourly: Bureau, monkeypatch: pytest.MonkeyPatch
) -> None:
    hourly.operator.rerun("a", hour(hourly, 2), shards=[0])
    node = hourly.path("~again/0", "a")
    just_before(hourly.registry, lambda *writes: hourly.land(Put(node, "[]")), monkeypatch)
    with pytest.raises(OperationError):
        hourly.operator.rerun("a", hour(hourly, 3), shards=[0])
    assert hourly.everything()[node].data == "[]"
