"""Timekeeping: a machine whose clock is too far off starts nothing, where the job asks for that."""

from dataclasses import replace
from datetime import timedelta

from shardwright.coordination import failover, firing, latch, timekeeping, unheard
from shardwright.coordination.claim import Tenure
from shardwright.coordination.step import Claim, Create, Look, Put, Say, Start, Step, Write, do
from shardwright.coordination.view import Run, Source, View

from .test_firing import FIRE, LED, T, cursor, owned
from .views import A, B, Told, a_view


def a_machine(off: float | None, most: int, nodes: dict[str, Told] | None = None, **view: object) -> View:
    """One whose clock is off by so many seconds, in a job that allows so many."""
    shown = a_view(
        {**LED, **owned(A, B), **(nodes or {})},
        now=T,
        config={"max_time_diff_seconds": most},
        **{"cursors": {0: cursor(), 1: None}, **view},  # type: ignore[arg-type]
    )
    return replace(shown, wall=None if off is None else T + timedelta(seconds=off))


def writes(view: View) -> tuple[Write, ...]:
    (step, *_) = firing.decide(view)
    assert isinstance(step, Step)
    assert isinstance(step.then, Start)
    return step.writes


def test_where_the_clocks_are_too_far_apart_nothing_starts_and_it_is_said_why() -> None:
    said = (
        "nothing is started here: this machine's clock and the registry's are more than the 5 s apart that "
        "max_time_diff_seconds allows; set the machine's clock right"
    )
    for off in (5.1, -5.1, 3600.0):
        assert list(firing.decide(a_machine(off, 5))) == [
            do(then=Say(said)),
            Look(1001.0, "do the clocks agree by now?"),
        ]


def test_not_even_what_was_asked_for_starts_then() -> None:
    asked = firing.decide(a_machine(60.0, 5, {f"trigger/{A}": ""}))
    assert not any(isinstance(each, Step) and each.writes for each in asked)


def test_what_runs_already_goes_on_and_leaves_its_checkpoints() -> None:
    run = Tenure(A, "3", FIRE, "scheduled", 1)
    view = a_machine(
        60.0,
        5,
        {"sharding/0/running": A},
        cursors={0: cursor(at=T, run=run), 1: None},
        runs={0: Run("3", unsaved="page 7")},
    )
    (step, *_) = unheard.decide(view)
    saved = cursor(at=T, run=run, checkpoint="page 7").data
    assert isinstance(step, Step)
    assert step.writes == (Put("~~cursor/0", saved, 3),)


def test_within_what_the_job_allows_it_starts_and_has_the_registrys_time_told() -> None:
    for off in (5.0, -5.0, 0.0, None):
        assert Create("systemTime/current") in writes(a_machine(off, 5))
        there: dict[str, Told] = {"systemTime/current": ("", 8)}
        assert Put("systemTime/current") in writes(a_machine(off, 5, there))


def test_with_no_difference_allowed_only_clocks_that_agree_will_do() -> None:
    assert timekeeping.trusted(a_machine(0.0, 0))
    assert not timekeeping.trusted(a_machine(0.1, 0))


def test_where_it_is_not_checked_any_clock_will_do_and_no_time_is_asked_for() -> None:
    for most in (-1, -7):
        found = writes(a_machine(86400.0, most))
        assert not any(write.path == timekeeping.NODE for write in found)


def test_fires_go_by_the_registrys_time() -> None:
    (step, *_) = firing.decide(a_machine(9.0, 10))
    assert isinstance(step, Step)
    assert step.then == Start((Claim(0, FIRE, Source.SCHEDULED, "4"),))


def test_nothing_is_taken_over_where_the_clocks_are_too_far_apart() -> None:
    place = f"{latch.place(a_view(), failover.LATCH)}0000000001"
    nodes: dict[str, Told] = {**LED, **owned(A, A), "leader/failover/items/1": "", place: ""}
    config = {"failover": True, "max_time_diff_seconds": 5}
    view = replace(a_view(nodes, now=T, config=config), wall=T + timedelta(seconds=60))
    assert not any(isinstance(each, Step) and each.then is not None for each in failover.decide(view))
