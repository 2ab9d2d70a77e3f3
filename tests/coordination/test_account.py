"""Accounts: a cursor that moves says what it leaves behind, until the history has it."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from shardwright.coordination import account, claim, due, ending, failover, firing, sharding
from shardwright.coordination.account import Entry, Passed, Ran
from shardwright.coordination.claim import Cursor, Tenure
from shardwright.coordination.gap import Gap
from shardwright.coordination.step import Create, Look, Put, Require, Step
from shardwright.coordination.view import Run, View
from shardwright.outcomes import CUT_SHORT
from shardwright.registry import Node

from .test_firing import FIRE, LED, T, cursor, owned, starts
from .views import JAVA, NOW, A, B, a_view, member

EVERY_TEN = ("0/10 * * * * ?", "UTC", "")
GONE = "10.0.0.9@-@19-z"
RAN = Ran(FIRE, "ok", A, "3", "scheduled", 1, NOW, T, number=1)


def told(steps: list[Step | Look], item: int = 0) -> list[Entry]:
    """What is said of a shard in what was decided."""
    writes = [write for step in steps if isinstance(step, Step) for write in step.writes]
    texts = [w.data for w in writes if isinstance(w, Put | Create) and w.path == f"~~cursor/{item}"]
    return [entry for text in texts for entry in claim.read(text).tail]


def seen(view: View, **local: object) -> View:
    """The view of one that keeps a history."""
    return replace(view, local=replace(view.local, **{"kept": {}, **local}))  # type: ignore[arg-type]


def at_work(outcome: str | None, **config: object) -> View:
    running = cursor(at=T, run=Tenure(A, "3", FIRE, "scheduled", 1), began=NOW)
    view = a_view(
        {**LED, **owned(A, A), "sharding/0/running": (A, 0, "s")},
        now=T,
        config=config,
        cursors={0: running, 1: None},
        runs={0: Run("3", outcome, FIRE)},
    )
    return seen(view)


def test_how_a_run_ended_is_said_with_its_end() -> None:
    assert told(list(ending.decide(at_work("ok")))) == [RAN]


def test_nothing_is_said_where_there_is_no_history() -> None:
    view = at_work("ok")
    assert told(list(ending.decide(replace(view, local=replace(view.local, kept=None))))) == []


def test_a_run_that_was_cut_short_is_said_to_go_on_elsewhere_or_to_be_the_end() -> None:
    (left,) = told(list(ending.decide(at_work(CUT_SHORT, failover=True))))
    assert left == replace(RAN, outcome=CUT_SHORT)
    (last,) = told(list(ending.decide(at_work(CUT_SHORT))))
    assert last == replace(RAN, outcome=CUT_SHORT, why=claim.NOT_AGAIN)


def test_the_run_of_a_dead_member_is_said_to_be_lost_when_it_is_taken_over() -> None:
    dead = cursor(at=T, run=Tenure(GONE, "3", FIRE, "scheduled", 1), began=NOW)
    view = seen(
        a_view({**LED, **owned(A, A), "leader/failover/items/0": ""}, now=T, cursors={0: dead, 1: None})
    )
    (lost,) = told([failover.take(view, 0)])
    assert lost == replace(RAN, outcome=account.LOST, by=GONE)


def test_a_fire_that_is_not_run_again_is_said_to_be_lost_and_why() -> None:
    dead = cursor(at=T, run=Tenure(GONE, "3", FIRE, "scheduled", 1), began=NOW)
    view = seen(a_view({**LED, **owned(A, A)}, now=T, cursors={0: dead, 1: None}))
    (write,) = (each for each in failover.lost(view, 0) if isinstance(each, Put))
    assert claim.read(write.data).tail == (replace(RAN, outcome=account.LOST, by=GONE, why=failover.DIED),)


def test_the_first_fire_after_another_says_nothing_of_what_is_between() -> None:
    view = seen(a_view({**LED, **owned(A, A)}, now=T, cursors={0: cursor(), 1: cursor()}))
    assert told(list(firing.decide(view))) == []


def late(at: datetime, since: datetime, **config: object) -> list[Entry]:
    """What is said by one that comes to a fire a minute after the last, and was there since a time."""
    view = a_view(
        {**LED, **owned(A, A)},
        now=NOW + timedelta(minutes=1),
        config=config,
        cursors={0: cursor(at=at), 1: cursor(at=at)},
        since=None,
    )
    return told(list(firing.decide(seen(view, since=since))))


LAST = (NOW + timedelta(minutes=1)).isoformat()
BEFORE_LAST = NOW + timedelta(seconds=50)


def test_fires_that_nobody_could_begin_in_time_are_made_good_by_the_last() -> None:
    assert late(NOW, NOW) == [Passed(NOW, BEFORE_LAST, account.MADE_GOOD, LAST, EVERY_TEN, 1)]


def test_fires_that_fell_while_nobody_was_there_are_skipped_or_made_up_for() -> None:
    came = NOW + timedelta(seconds=35)
    assert late(NOW, came) == [
        Passed(NOW, NOW + timedelta(seconds=30), account.SKIPPED, due.NOBODY, EVERY_TEN, 1),
        Passed(came, BEFORE_LAST, account.MADE_GOOD, LAST, EVERY_TEN, 2),
    ]
    (all_of_them,) = late(NOW, came, catch_up="once")
    assert all_of_them == Passed(NOW, BEFORE_LAST, account.MADE_GOOD, LAST, EVERY_TEN, 1)


def a_single_fire(
    came: datetime, last: Node | None = None, looks: float = 60, **config: object
) -> list[Step | Look]:
    """What is done by one that came to a job of one fire, at T, and looks so many seconds after it began."""
    text = f"once {T.isoformat()}"
    view = a_view(
        {**LED, **owned(A, B), "~gap": Gap(f"{text} UTC", 2, since=NOW, alone=NOW, born=NOW).text()},
        now=NOW + timedelta(seconds=looks),
        config={"cron": None, "schedule": text, **config},
        cursors={0: last, 1: None},
    )
    return list(firing.decide(seen(view, since=came)))


def test_the_last_fire_of_all_is_said_to_be_skipped_if_it_fell_while_nobody_was_there() -> None:
    """There is no other to say it with."""
    came = T + timedelta(seconds=5)
    steps = a_single_fire(came)
    (skipped,) = told(steps)
    assert skipped == Passed(NOW, T, account.SKIPPED, due.NOBODY, (f"once {T.isoformat()}", "UTC", ""), 1)
    (step,) = (step for step in steps if isinstance(step, Step))
    assert Require("sharding/0/instance", 7) in step.writes
    (moved,) = (claim.read(write.data) for write in step.writes if isinstance(write, Create))
    assert (moved.at, moved.closed) == (None, T)
    assert told(a_single_fire(came), 1) == []  # it is not ours


def test_that_the_last_fire_of_all_was_skipped_is_said_once_and_forgotten_if_it_is_still_to_come() -> None:
    """The clock may have been ahead for a moment."""
    said = cursor(at=None, closed=T)
    assert a_single_fire(T + timedelta(seconds=5), said) == []
    assert [each.fire for each in starts([*a_single_fire(NOW, said, looks=10)])] == [T.isoformat()]


def test_of_a_last_fire_that_java_members_may_have_run_nothing_is_known() -> None:
    text = f"once {T.isoformat()}"
    left = Gap(f"{text} UTC", 2, since=NOW, alone=T + timedelta(seconds=20), born=NOW)
    view = a_view(
        {**LED, **owned(A, B), "~gap": left.text()},
        now=NOW + timedelta(minutes=1),
        config={"cron": None, "schedule": text},
        cursors={0: None, 1: None},
    )
    (unknown,) = told(list(firing.decide(seen(view, since=T + timedelta(seconds=25)))))
    assert isinstance(unknown, Passed)
    assert (unknown.how, unknown.why) == (account.UNKNOWN, due.JAVA)


def test_the_last_fire_of_all_is_run_if_somebody_was_there_or_it_is_made_up_for() -> None:
    for steps in (a_single_fire(NOW), a_single_fire(T + timedelta(seconds=5), catch_up="once")):
        assert [each.fire for each in starts([*steps])] == [T.isoformat()]
        assert told(steps) == []


def test_more_fires_than_are_made_up_for_are_skipped() -> None:
    came = NOW + timedelta(minutes=1)
    (skipped,) = late(NOW, came, catch_up="all", catch_up_max_count=2)
    until = NOW + timedelta(seconds=40)
    assert skipped == Passed(NOW, until, account.SKIPPED, due.TOO_MANY, EVERY_TEN, 1)


def test_fires_that_did_not_count_are_skipped_for_that_reason() -> None:
    enabled = NOW + timedelta(seconds=25)
    gap = Gap("0/10 * * * * ? UTC", 2, since=enabled, alone=NOW, born=NOW)
    view = a_view(
        {**LED, **owned(A, A), "~gap": gap.text()},
        now=NOW + timedelta(seconds=30),
        cursors={0: cursor(), 1: cursor()},
    )
    (skipped,) = told(list(firing.decide(seen(view, since=NOW))))
    until = NOW + timedelta(seconds=20)
    assert skipped == Passed(NOW, until, account.SKIPPED, due.NOT_THEN, EVERY_TEN, 1)


def test_fires_that_fell_into_a_run_and_are_not_made_good_are_skipped_with_its_end() -> None:
    view = replace(at_work("ok", overlap="skip"), now=T + timedelta(seconds=25))
    ran, skipped = told(list(ending.decide(view)))
    assert isinstance(ran, Ran)
    until = T + timedelta(seconds=20)
    assert skipped == Passed(T, until, account.SKIPPED, due.TOOK_LONGER, EVERY_TEN, 2)


def test_what_a_java_member_had_is_not_known() -> None:
    nodes = {**LED, **member(B), **owned(JAVA, JAVA)}
    view = seen(a_view(nodes, now=NOW + timedelta(seconds=25), cursors={0: cursor(), 1: cursor()}))
    (write,) = sharding.settle_with_java(view, [0], {0: JAVA})[0]
    assert isinstance(write, Put)
    until = NOW + timedelta(seconds=20)
    assert claim.read(write.data).tail == (Passed(NOW, until, account.UNKNOWN, due.JAVA, EVERY_TEN, 1),)


def test_entries_go_on_counting_and_are_dropped_when_the_history_has_them() -> None:
    known = cursor(
        at=T, run=Tenure(A, "3", FIRE, "scheduled", 1), began=NOW, told=7, tail=(replace(RAN, number=7),)
    )
    view = at_work("ok")
    view = replace(view, cursors=a_view(cursors={0: known, 1: None}).cursors)
    assert [entry.number for entry in told(list(ending.decide(view)))] == [7, 8]
    kept = seen(view, kept={0: (1, 7)})
    assert [entry.number for entry in told(list(ending.decide(kept)))] == [8]
    another_making = seen(view, kept={0: (99, 7)})
    assert [entry.number for entry in told(list(ending.decide(another_making)))] == [7, 8]


def filled(entries: Iterable[Entry], schedule: tuple[str, ...] = EVERY_TEN) -> tuple[Entry, ...]:
    """What is left of so many entries, while the history is away."""
    tail: tuple[Entry, ...] = ()
    number = 0
    for entry in entries:
        tail, number = account.added(tail, number, [entry], schedule)
    return tail


def runs(count: int) -> list[Ran]:
    return [replace(RAN, fire=(T + timedelta(seconds=10 * number)).isoformat()) for number in range(count)]


def test_a_history_that_is_away_for_long_is_told_that_nobody_knows_the_oldest_fires() -> None:
    first, *others = filled(runs(100))
    lost = 100 - account.MOST + 1
    until = T + timedelta(seconds=10 * (lost - 1))
    since = T - timedelta(microseconds=1)
    assert first == Passed(since, until, account.UNKNOWN, account.AWAY, EVERY_TEN, lost)
    assert [entry.number for entry in others] == list(range(lost + 1, 101))


def test_fires_that_were_passed_over_are_among_them() -> None:
    skipped = Passed(NOW, T, account.SKIPPED, "why", ("0 0 * * * ?", "", ""))
    first, *_ = filled([skipped, *runs(30)], schedule=("", "", ""))
    assert isinstance(first, Passed)
    assert (first.after, first.schedule) == (NOW, ("0 0 * * * ?", "", ""))


def test_runs_that_somebody_asked_for_leave_no_fire_behind_that_nobody_knows() -> None:
    asked = [replace(RAN, fire="#7", source="trigger"), replace(RAN, source="trigger")] * 20
    tail = filled(asked)
    assert {type(entry) for entry in tail} == {Ran}


def test_what_a_job_without_a_schedule_ran_is_no_stretch_of_fires() -> None:
    assert {type(entry) for entry in filled(runs(30), ("", "", ""))} == {Ran}


@pytest.mark.parametrize(
    "entry", [RAN, replace(RAN, why="so"), Passed(NOW, T, "skipped", "why", EVERY_TEN, 4)]
)
def test_an_entry_is_read_as_it_was_told(entry: Entry) -> None:
    whole = Cursor(made=1, at=T, told=4, tail=(entry,))
    assert claim.read(whole.text()) == whole


@pytest.mark.parametrize(
    "tail", ["3", "[3]", "[[1]]", '[[1, "x"]]', '[[1, ["a", "b"], 1, 2, 3]]', '{"a": 1}']
)
def test_entries_that_make_no_sense_are_a_cursor_that_makes_none(tail: str) -> None:
    assert claim.read(f'{{"made": 1, "tail": {tail}}}') == Cursor()
