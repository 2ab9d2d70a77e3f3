"""Catching up: what becomes of fires that fell while nobody was there."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardwright.coordination import due, firing
from shardwright.coordination.claim import Tenure
from shardwright.coordination.gap import Gap
from shardwright.coordination.step import Claim
from shardwright.coordination.view import Source, View
from shardwright.registry import Node, Unread

from .test_firing import LED, cursor, owned, starts
from .views import JAVA, NOW, A, B, Told, a_view, member

CAME, LOOKS = 45, 47
"""Seconds after the last fire that is accounted for: four fires fell until somebody came."""


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def a_comer(
    catch_up: str,
    last: Node | None,
    *,
    nodes: dict[str, Told] | None = None,
    came: float = CAME,
    looks: float = LOOKS,
    unread: Iterable[str] = (),
    **config: object,
) -> View:
    """One that came to the job late, and owns its first shard."""
    view = a_view(
        {**LED, **owned(A, B), **(nodes or {})},
        now=after(looks),
        config={"catch_up": catch_up, **config},
        cursors={0: last, 1: None},
        unread=unread,
    )
    return replace(view, local=replace(view.local, since=after(came)))


def begun(view: View) -> list[tuple[float, Source]]:
    """What starts: for which fire, in seconds, and why."""
    found: list[Claim] = starts(list(firing.decide(view)))
    return [((datetime.fromisoformat(each.fire) - NOW).total_seconds(), each.source) for each in found]


def one_by_one(view: View) -> list[tuple[float, Source]]:
    """What starts, run after run, as the cursor moves on."""
    found: list[tuple[float, Source]] = []
    while now := begun(view):
        found += now
        here = cursor(at=after(now[0][0]), ended=view.now, last="ok")
        view = a_comer_again(view, here)
    return found


def a_comer_again(view: View, last: Node) -> View:
    cursors = a_view(cursors={0: last, 1: None}).cursors
    return replace(view, cursors=cursors, answers={})


def test_by_default_they_are_skipped() -> None:
    assert begun(a_comer("skip", cursor())) == []


def test_one_run_may_make_up_for_all_of_them() -> None:
    view = a_comer("once", cursor())
    assert begun(view) == [(40, Source.CATCH_UP)]
    assert one_by_one(view) == [(40, Source.CATCH_UP)]


def test_or_each_is_made_up_for_the_oldest_first() -> None:
    view = a_comer("all", cursor())
    assert begun(view) == [(10, Source.CATCH_UP)]
    assert one_by_one(view) == [(seconds, Source.CATCH_UP) for seconds in (10, 20, 30, 40)]


def test_the_claim_moves_the_cursor_to_the_fire_that_is_made_up_for() -> None:
    (claimed,) = starts(list(firing.decide(a_comer("all", cursor()))))
    assert claimed == Claim(0, after(10).isoformat(), Source.CATCH_UP, "4")


def test_no_more_than_the_job_wants_are_made_up_for_the_latest_of_them() -> None:
    view = a_comer("all", cursor(), catch_up_max_count=2)
    assert one_by_one(view) == [(30, Source.CATCH_UP), (40, Source.CATCH_UP)]


def test_none_older_than_the_job_wants_is_made_up_for() -> None:
    young = "20s"
    assert one_by_one(a_comer("all", cursor(), catch_up_max_age=young)) == [
        (30, Source.CATCH_UP),
        (40, Source.CATCH_UP),
    ]
    assert begun(a_comer("once", cursor(), catch_up_max_age=young)) == [(40, Source.CATCH_UP)]
    assert begun(a_comer("once", cursor(), catch_up_max_age="5s")) == []
    assert begun(a_comer("all", cursor(), catch_up_max_age="5s")) == []


def test_a_great_age_changes_nothing() -> None:
    assert begun(a_comer("all", cursor(), catch_up_max_age="7d")) == [(10, Source.CATCH_UP)]


def test_a_fire_that_falls_after_we_came_is_an_ordinary_one() -> None:
    for catch_up in ("skip", "once", "all"):
        view = a_comer(catch_up, cursor(at=after(40)), looks=50)
        assert begun(view) == [(50, Source.SCHEDULED)]


def test_a_fire_that_fell_at_the_very_moment_we_came_fell_before_our_time() -> None:
    assert begun(a_comer("skip", cursor(), came=40)) == []
    assert begun(a_comer("once", cursor(), came=40)) == [(40, Source.CATCH_UP)]


def test_a_late_ordinary_fire_stands_for_the_one_to_be_made_up_for() -> None:
    assert begun(a_comer("once", cursor(), looks=50)) == [(50, Source.SCHEDULED)]


def there_since(seconds: float) -> dict[str, Told]:
    """Another member, which is there since a time."""
    return {**member(B), f"~alive/{B}": after(seconds).isoformat()}


def test_what_fell_while_another_was_there_is_run_whoever_has_the_shard_by_now() -> None:
    """Its owner was dead, or frozen, and nobody knew; then it was given to one that had just come."""
    assert begun(a_comer("skip", cursor())) == []
    assert begun(a_comer("skip", cursor(), nodes=there_since(-1000))) == [(40, Source.SCHEDULED)]


def test_where_fires_are_made_up_for_it_does_not_matter_whether_others_were_there() -> None:
    """They may have been frozen as we were, and have not been given up yet: no fire is to be lost by that."""
    for catch_up in ("once", "all"):
        alone, beside = a_comer(catch_up, cursor()), a_comer(catch_up, cursor(), nodes=there_since(-1000))
        assert begun(alone) == begun(beside) != []


def test_what_fell_before_the_first_of_those_came_who_are_there_is_skipped() -> None:
    assert begun(a_comer("skip", cursor(), nodes=there_since(35))) == [(40, Source.SCHEDULED)]
    assert begun(a_comer("skip", cursor(), nodes=there_since(41))) == []


def test_since_when_others_are_there_is_read_only_where_something_fell_before_we_came() -> None:
    unread = [f"~alive/{B}"]
    assert begun(a_comer("skip", cursor(at=after(40)), nodes=there_since(0), unread=unread)) == []
    with pytest.raises(Unread):
        begun(a_comer("skip", cursor(), nodes=there_since(0), unread=unread))


def test_a_shard_that_has_never_run_has_nothing_to_make_up_for() -> None:
    for catch_up in ("once", "all"):
        assert begun(a_comer(catch_up, None)) == []
        assert begun(a_comer(catch_up, cursor(at=None))) == []


def test_the_first_fire_of_a_shard_is_made_up_for_if_it_fell_while_nobody_was_there() -> None:
    """Which may be its only one."""
    born: dict[str, Told] = {"~gap": Gap("0/10 * * * * ? UTC", 2, born=after(25)).text()}
    assert begun(a_comer("skip", None, nodes=born)) == []
    assert begun(a_comer("once", None, nodes=born)) == [(40, Source.CATCH_UP)]
    assert one_by_one(a_comer("all", None, nodes=born)) == [(30, Source.CATCH_UP), (40, Source.CATCH_UP)]


def test_nothing_is_made_up_for_while_a_java_member_is_there() -> None:
    stands = Gap("0/10 * * * * ? UTC", 2, java=True).text()
    for catch_up in ("once", "all"):
        view = a_comer(catch_up, cursor(), nodes={**member(JAVA), "~gap": stands})
        assert begun(view) == []


def test_nothing_is_made_up_for_from_before_the_last_java_member_left() -> None:
    def alone(since: float) -> dict[str, Told]:
        return {"~gap": Gap("0/10 * * * * ? UTC", 2, alone=after(since)).text()}

    assert one_by_one(a_comer("all", cursor(), nodes=alone(25))) == [
        (30, Source.CATCH_UP),
        (40, Source.CATCH_UP),
    ]
    assert begun(a_comer("once", cursor(), nodes=alone(25))) == [(40, Source.CATCH_UP)]
    assert begun(a_comer("once", cursor(), nodes=alone(42))) == []


def test_nothing_is_made_up_for_from_before_it_counted() -> None:
    def counts(**stands: object) -> dict[str, Told]:
        return {"~gap": Gap("0/10 * * * * ? UTC", 2, **stands).text()}  # type: ignore[arg-type]

    assert begun(a_comer("all", cursor(), nodes=counts(since=after(15)))) == [(20, Source.CATCH_UP)]
    assert begun(a_comer("all", cursor(), nodes=counts(births=((0, 0, after(25)),)))) == [
        (30, Source.CATCH_UP)
    ]
    assert begun(a_comer("all", cursor(), nodes=counts(births=((1, 1, after(25)),)))) == [
        (10, Source.CATCH_UP)
    ]


def test_fires_missed_in_our_own_time_collapse_to_one_also_where_all_are_made_up_for() -> None:
    ran_long = cursor(at=after(10), ended=after(LOOKS), last="ok")
    for catch_up in ("skip", "once", "all"):
        assert begun(a_comer(catch_up, ran_long, came=5)) == [(40, Source.MISFIRE)]


def test_first_what_fell_before_our_time_one_by_one_then_what_fell_in_it_as_one() -> None:
    view = a_comer("all", cursor(), came=25)
    assert one_by_one(view) == [(10, Source.CATCH_UP), (20, Source.CATCH_UP), (40, Source.MISFIRE)]


def test_a_job_without_a_schedule_has_nothing_to_make_up_for() -> None:
    stands: dict[str, Told] = {"~gap": Gap("UTC", 2).text()}
    assert begun(a_comer("all", cursor(), nodes=stands, cron=None)) == []


def test_fires_that_fell_into_a_run_are_passed_over_with_its_end_where_none_is_made_good() -> None:
    run = Tenure(A, "3", NOW.isoformat(), "scheduled", 1)
    going_on = cursor(run=run)
    assert due.after_run(a_comer("skip", going_on, came=-5, misfire=False), 0) == after(40)
    assert due.after_run(a_comer("skip", going_on, came=-5), 0) == NOW
    assert due.after_run(a_comer("skip", going_on, came=25, misfire=False), 0) == after(40)
    assert due.after_run(a_comer("all", going_on, came=-5, misfire=False), 0) == after(40)
    assert due.after_run(a_comer("once", cursor(at=None), misfire=False), 0) is None


def test_what_is_still_to_be_made_up_for_is_not_passed_over_by_a_run_before_it() -> None:
    run = Tenure(A, "3", after(10).isoformat(), "catch-up", 1)
    view = a_comer("all", cursor(at=after(10), run=run), misfire=False)
    assert due.after_run(view, 0) == after(10)


def test_the_last_fires_are_found_however_rare_they_are() -> None:
    def last(cron: str, count: int, until: datetime = NOW) -> list[datetime]:
        schedule = a_view(config={"cron": cron}).schedule
        assert schedule is not None
        return due.last_fires(schedule, until, count)

    assert last("0/10 * * * * ?", 2) == [after(-10), NOW]
    assert last("0 0 0 * * ?", 2) == [NOW - timedelta(days=1), NOW]
    assert last("0 0 0 1 1 ?", 2) == [NOW.replace(year=2029), NOW]
    assert last("0 0 0 1 1 ?", 2, after(-1)) == [NOW.replace(year=2028), NOW.replace(year=2029)]
    assert last("0 0 0 1 1 ? 2031", 1) == []


def test_nothing_is_made_up_for_until_it_is_written_that_the_last_java_member_has_left() -> None:
    """It ran those fires: its leaving is seen before the mark of when it left is."""
    still: dict[str, Told] = {"~gap": Gap("0/10 * * * * ? UTC", 2, java=True).text()}
    assert begun(a_comer("once", cursor(), nodes=still)) == []
    assert begun(a_comer("all", cursor(), nodes=still)) == []


def test_a_fire_that_fell_into_a_run_is_made_good_also_by_an_owner_that_came_later() -> None:
    """One runs it from 0 to 47; the fires of 10 to 40 fall into that; who gets it then came at 45."""
    handed_over = cursor(began=NOW, ended=after(47), last="ok")
    assert begun(a_comer("skip", handed_over)) == [(40, Source.MISFIRE)]


def test_such_fires_collapse_to_one_also_where_all_are_made_up_for() -> None:
    handed_over = cursor(began=NOW, ended=after(47), last="ok")
    assert begun(a_comer("once", handed_over)) == [(40, Source.MISFIRE)]
    assert begun(a_comer("all", handed_over)) == [(40, Source.MISFIRE)]


def test_a_run_that_was_asked_for_does_not_bring_back_what_is_skipped() -> None:
    """Nobody was there from 0 to 45; a request runs the shard from 46 to 47, and does not move its place."""
    asked = cursor(began=after(46), ended=after(47), last="ok", asked=9)
    assert begun(a_comer("skip", asked)) == []


def test_a_run_that_was_asked_for_does_not_bring_back_what_java_ran_or_what_is_too_old() -> None:
    asked = cursor(began=after(46), ended=after(47), last="ok", asked=9)
    left: dict[str, Told] = {"~gap": Gap("0/10 * * * * ? UTC", 2, alone=after(25)).text()}
    assert begun(a_comer("all", asked, nodes=left)) == [(30, Source.CATCH_UP)]
    assert begun(a_comer("all", asked, catch_up_max_age="20s")) == [(30, Source.CATCH_UP)]


@given(
    st.sampled_from(["* * * * * ?", "0/7 * * * * ?", "0 0 3 * * ?", "0 0 0 1 1 ?", "0 0 0 1 1 ? 2031"]),
    st.lists(st.integers(-200_000, 40_000_000), min_size=1, max_size=6),
)
def test_wherever_one_looked_before_the_latest_fire_and_the_following_are_found(
    cron: str, looks: list[int]
) -> None:
    schedule = a_view(config={"cron": cron}).schedule
    assert schedule is not None
    for moment in map(after, looks):
        latest = next(iter(due.last_fires(schedule, moment, 1)), None)
        found = due.span(schedule, moment)
        assert (found.fire, found.following) == (latest, schedule.next(moment))
