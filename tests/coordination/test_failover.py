"""Failover: what the dead left is put up, taken by one, and run (seed 002)."""

from datetime import timedelta

import pytest

from shardwright.coordination import failover, firing, latch, leader, unheard
from shardwright.coordination.claim import Cursor, Tenure
from shardwright.coordination.step import Claim, Create, Delete, Look, Put, Require, Reread, Start, Step, do
from shardwright.coordination.view import Run, Source
from shardwright.registry import Unread

from .test_firing import FIRE, LED, T, cursor, owned, starts
from .views import JAVA, NOW, A, B, Told, a_view, member

ON = {"failover": True}
ALONE: dict[str, Told] = {**member(A), leader.NODE: A, leader.TERM: A, "": ""}
LEFT = Tenure(B, "3", FIRE, "scheduled", 1)
PLACE = f"{latch.place(a_view(), failover.LATCH)}0000000001"


def steps(nodes: dict[str, Told], **view: object) -> list[object]:
    return list(failover.decide(a_view(nodes, now=T, config=ON, **view)))  # type: ignore[arg-type]


def test_the_shard_of_a_dead_runner_is_put_up_guarded_by_its_cursor() -> None:
    nodes = {**ALONE, **owned(A, B), "sharding/1/running": B}
    assert steps(nodes, cursors={0: None, 1: cursor(at=T, run=LEFT)})[0] == do(
        Require("~~cursor/1", 3), Delete("sharding/1/running"), Create("leader/failover/items/1")
    )


def test_the_running_shards_of_a_living_member_are_not_read_by_others() -> None:
    """It looks after them itself: else everybody would read every mark of every fire."""
    nodes = {**ALONE, **member(B), **owned(A, B), "sharding/0/running": A, "sharding/1/running": B}
    cursors = {0: cursor(run=Tenure(A, "x", FIRE, "scheduled", 1)), 1: None}
    view = a_view(nodes, now=T, config=ON, cursors=cursors, unread=["sharding/1/running"], runs={0: Run("x")})
    assert [*failover.decide(view), *unheard.decide(view)] == []


@pytest.mark.parametrize(
    "others",
    [
        {**owned(A, A), **member(B)},
        {**owned(A, B)},
        {**owned(A, B), f"~alive/{B}": ""},
        {**owned(A, JAVA), **member(JAVA)},
        {**owned(A)},
    ],
    ids=["ours", "the dead's", "of one ordered to stop", "Java's", "nobody's"],
)
def test_a_running_shard_that_no_other_member_looks_after_is_read(others: dict[str, Told]) -> None:
    with pytest.raises(Unread) as unread:
        steps({**ALONE, **others, "sharding/1/running": B}, unread=["sharding/1/running"])
    assert unread.value.paths == ("/ns/job/sharding/1/running",)


def test_a_takers_death_is_seen_to_by_the_owner_if_that_lives() -> None:
    dead = "10.9.9.9@-@1-z"
    nodes = {**ALONE, **member(B), **owned(A, B), "sharding/1/running": dead}
    left = {0: None, 1: cursor(at=T, run=Tenure(dead, "3", FIRE, "failover", 2))}
    assert steps(nodes, cursors=left) == []
    assert steps(nodes, cursors=left, me=B)[0] == do(
        Require("~~cursor/1", 3), Delete("sharding/1/running"), Create("leader/failover/items/1")
    )


def test_a_mark_that_is_older_than_what_the_cursor_tells_is_left_alone() -> None:
    """Marks are made again under one name and at version 0: only the cursor tells the old from the new."""
    mine = Tenure(A, "4", FIRE, "failover", 2)
    nodes = {**ALONE, **owned(A, B), "sharding/1/running": B}
    assert steps(nodes, cursors={0: None, 1: cursor(at=T, run=mine)}, runs={1: Run("4")}) == []


def test_a_java_runner_that_only_blinked_is_waited_for() -> None:
    nodes = {**ALONE, **owned(A, JAVA), "sharding/1/running": JAVA}
    assert steps(nodes, since={f"instances/{JAVA}": 999.0}, boot=1000.0) == [
        Look(1001.0, f"has {JAVA} gone, or did it only blink?")
    ]
    (step, *_) = steps(nodes, since={f"instances/{JAVA}": 998.0}, boot=1000.0)
    assert isinstance(step, Step)
    assert Create("leader/failover/items/1") in step.writes


def test_a_takers_death_before_it_started_puts_the_shard_up_again() -> None:
    """Java's: ours begin with the taking over."""
    nodes = {**ALONE, **owned(A, B), "sharding/1/failovering": JAVA}
    (step,) = steps(nodes, cursors={0: None, 1: cursor(at=T)})
    assert step == do(
        Require("~~cursor/1", 3), Create("leader/failover/items/1"), Delete("sharding/1/failovering")
    )


def test_what_a_taker_of_ours_left_whose_run_is_accounted_for_is_taken_away_and_not_put_up() -> None:
    nodes = {**ALONE, **owned(A, B), "sharding/1/failovering": B}
    (step,) = steps(nodes, cursors={0: None, 1: cursor(at=T)})
    assert step == do(Require("~~cursor/1", 3), Delete("sharding/1/failovering"))


def test_what_a_taker_of_ours_died_over_is_put_up_by_a_cursor_read_since() -> None:
    """Its mark went with it. A cursor that was read before may tell of a run that has long ended."""
    nodes = {**ALONE, **member(JAVA), **owned(A, B), "sharding/1/failovering": B}
    known = {0: None, 1: cursor(at=T, run=Tenure(B, "3", FIRE, "failover", 2))}
    assert steps(nodes, cursors=known, since={f"~alive/{B}": 990.0}) == [do(then=Reread((1,)))]
    assert steps(nodes, cursors=known) == [
        do(Require("~~cursor/1", 3), Create("leader/failover/items/1"), Delete("sharding/1/failovering"))
    ]


def test_the_mark_of_what_was_taken_over_is_made_again_as_one_that_goes_with_its_runner() -> None:
    taken = {"sharding/1/failover": A, "sharding/1/failovering": A}
    nodes = {**ALONE, **owned(A, B), **taken}
    run = Tenure(A, "4", FIRE, "failover", 2)
    view = a_view(nodes, now=T, config=ON, cursors={0: None, 1: cursor(at=T, run=run)}, runs={1: Run("4")})
    assert list(unheard.restore(view)) == [
        do(Require(f"~alive/{A}"), Require("~~cursor/1", 3), Create("sharding/1/running", A, ephemeral=True))
    ]


def test_what_a_taker_of_ours_left_is_put_up_where_nothing_is_known_of_its_run() -> None:
    """Somebody has taken the cursor away, or it makes no sense."""
    nodes = {**ALONE, **owned(A, B), "sharding/1/failovering": B}
    (step,) = steps(nodes, cursors={0: None, 1: None})
    assert isinstance(step, Step)
    assert Create("leader/failover/items/1") in step.writes


def test_a_mark_is_put_up_that_java_left_over_what_it_had_taken_when_it_lost_its_session() -> None:
    """It came back at once, so nobody saw it gone; the marks of what it owns it takes away itself."""
    nodes = {**ALONE, **owned(A, B), **member(JAVA), "sharding/1/running": JAVA}
    order = {"sharding/1/running": 5, f"instances/{JAVA}": 6}
    (step, *_) = steps(nodes, made=order)
    assert isinstance(step, Step)
    assert Delete("sharding/1/running") in step.writes
    assert Create("leader/failover/items/1") in step.writes


@pytest.mark.parametrize(
    "otherwise",
    [
        {"sharding/1/failover": JAVA},  # it blinked: delete and create, in the session that it has
        {"sharding/1/instance": JAVA},
    ],
)
def test_a_mark_that_java_has_a_title_to_is_left_alone_though_it_registered_later(
    otherwise: dict[str, Told],
) -> None:
    nodes = {**ALONE, **owned(A, B), **member(JAVA), "sharding/1/running": JAVA, **otherwise}
    order = {"sharding/1/running": 5, f"instances/{JAVA}": 6}
    assert steps(nodes, made=order) == []


def test_a_mark_that_java_made_after_it_registered_is_left_alone_whoever_owns_the_shard() -> None:
    """It may have begun in the moment in which the shard was given to another."""
    nodes = {**ALONE, **owned(A, B), **member(JAVA), "sharding/1/running": JAVA}
    assert steps(nodes, made={f"instances/{JAVA}": 5, "sharding/1/running": 6}) == []


def test_a_java_taker_that_is_away_for_a_moment_is_looked_at_again() -> None:
    nodes = {**ALONE, **owned(A, B), "sharding/1/failovering": JAVA}
    assert steps(nodes, since={f"instances/{JAVA}": 999.0}, boot=1000.0) == [
        Look(1001.0, f"has {JAVA} gone, or did it only blink?")
    ]


def test_a_claim_of_the_dead_whose_mark_was_taken_away_is_put_up_by_its_owner() -> None:
    (step,) = steps({**ALONE, **owned(A, A)}, cursors={0: None, 1: cursor(at=T, run=LEFT)})
    assert step == do(Require("~~cursor/1", 3), Create("leader/failover/items/1"))


def test_marks_of_a_dead_fleet_are_put_up_by_whoever_comes_back_first() -> None:
    dead = "10.9.9.9@-@1-z"
    nodes = {**ALONE, **owned(dead, dead), "sharding/0/running": dead, "sharding/1/running": dead}
    run = Tenure(dead, "0", FIRE, "scheduled", 1)
    found = steps(nodes, cursors={0: cursor(run=run), 1: cursor(run=run)})
    put_up = [w.path for s in found if isinstance(s, Step) for w in s.writes if isinstance(w, Create)]
    assert put_up == ["leader/failover/items/0", "leader/failover/items/1"]


def test_an_idle_member_stands_in_line_for_what_is_up() -> None:
    nodes = {**ALONE, **owned(A, A), "leader/failover/items/1": ""}
    assert steps(nodes) == [
        do(Create(latch.place(a_view(), failover.LATCH), ephemeral=True, sequential=True))
    ]


def test_first_in_line_takes_the_lowest_over_and_starts_it_in_one_transaction() -> None:
    nodes = {
        **ALONE,
        **owned(A, A),
        "leader/failover/items/1": "",
        "leader/failover/items/0": "",
        PLACE: "",
    }
    (step,) = steps(nodes, cursors={0: cursor(at=T, run=LEFT), 1: None})
    taken = Cursor(made=1, at=T, run=Tenure(A, "4", FIRE, "failover", 2), began=T)
    assert step == do(
        Require(f"~alive/{A}"),
        Delete("leader/failover/items/0"),
        Create("sharding/0/failover", A, ephemeral=True),
        Create("sharding/0/failovering", A),
        Create("sharding/0/running", A, ephemeral=True),
        Put("~~cursor/0", taken.text(), 3),
        Delete(PLACE),
        then=Start((Claim(0, FIRE, Source.FAILOVER, "4", 2),)),
    )


def test_what_was_asked_for_with_a_parameter_is_taken_over_with_it() -> None:
    nodes = {**ALONE, **owned(A, A), "leader/failover/items/0": "", PLACE: ""}
    left = Tenure(B, "3", "#7", "trigger", 1, parameter="page 7")
    (step,) = steps(nodes, cursors={0: cursor(at=T, run=left), 1: None})
    assert isinstance(step, Step)
    assert step.then == Start((Claim(0, "#7", Source.FAILOVER, "4", 2, None, "page 7"),))


def test_a_fire_of_the_past_that_is_taken_over_is_still_one() -> None:
    nodes = {**ALONE, **owned(A, A), "leader/failover/items/0": "", PLACE: ""}
    (step,) = steps(nodes, cursors={0: cursor(at=T, run=LEFT, past=True), 1: None})
    taken = Cursor(made=1, at=T, run=Tenure(A, "4", FIRE, "failover", 2), began=T, past=True)
    assert isinstance(step, Step)
    assert Put("~~cursor/0", taken.text(), 3) in step.writes


def test_what_java_ran_is_taken_over_under_the_number_that_put_it_up() -> None:
    nodes = {**ALONE, **owned(A, A), "leader/failover/items/1": "", PLACE: ""}
    (step,) = steps(nodes)
    assert isinstance(step, Step)
    assert isinstance(step.then, Start)
    assert [(each.item, each.fire, each.tries) for each in step.then.claims] == [(1, "#1", 2)]


def test_a_claim_of_the_dead_that_java_took_over_is_accounted_for_by_a_cursor_read_since() -> None:
    """Java does not tell the cursor. One that was read before may know nothing of the claim: then the shard
    would be put up, and taken by Java, again and again."""
    nodes = {
        **ALONE,
        **member(JAVA),
        **owned(A, B),
        "sharding/1/failovering": JAVA,
        "sharding/1/running": JAVA,
    }
    known = {0: None, 1: cursor(at=T, run=LEFT)}
    assert steps(nodes, cursors=known, since={"sharding/1/failovering": 990.0}) == [do(then=Reread((1,)))]
    over = Cursor(made=1, at=T, last=f"taken over by {JAVA}")
    assert steps(nodes, cursors=known) == [do(Put("~~cursor/1", over.text(), 3))]


def test_a_busy_member_takes_only_when_nobody_is_idle_and_it_has_room() -> None:
    nodes = {
        **ALONE,
        **member(B),
        **owned(A, B, A),
        "sharding/0/running": A,
        "leader/failover/items/2": "",
    }
    config = {"failover": True, "shards": 3}

    def decided(more: dict[str, Told], slots: int, waited: float = 1.0) -> list[Step | Look]:
        since, here = {"leader/failover/items/2": 2000.0 - waited}, {**nodes, **more}
        view = a_view(here, now=T, config=config, since=since, runs={0: Run("x")}, slots=slots, boot=2000.0)
        return list(failover.decide(view))

    def takes(more: dict[str, Told], slots: int, waited: float = 1.0) -> bool:
        return any(isinstance(step, Step) for step in decided(more, slots, waited))

    assert not takes({}, slots=1)
    assert takes({"sharding/1/running": B}, slots=1)
    assert not takes({"sharding/1/running": B}, slots=0)
    # Who is idle may have no thread to spare either: what it passes over is taken by whoever can.
    assert decided({}, slots=1) == [Look(2004.0, "does nobody idle take what is up?")]
    assert takes({}, slots=1, waited=5.0)
    assert not takes({}, slots=0, waited=5.0)


def test_who_has_no_thread_to_spare_looks_again_for_what_is_up() -> None:
    """Other jobs have them all, and when one is free nothing changes in this one."""
    nodes = {**ALONE, **owned(A, A), "leader/failover/items/1": ""}
    assert steps(nodes, slots=0, boot=2000.0) == [Look(2001.0, "is there room for what is up?")]
    assert steps({**ALONE, **owned(A, A)}, slots=0, boot=2000.0) == []


def test_one_that_drains_or_is_disabled_takes_nothing_and_leaves_the_line() -> None:
    nodes = {**ALONE, **owned(A, A), "leader/failover/items/1": "", PLACE: ""}
    assert steps(nodes, draining=True) == [do(Delete(PLACE))]
    assert steps({**nodes, **member(A, "DISABLED")}) == [do(Delete(PLACE))]


def test_what_is_up_and_runs_all_the_same_is_not_taken_and_comes_down_with_the_end_of_the_run() -> None:
    nodes = {**ALONE, **member(B), **owned(A, B), "leader/failover/items/1": "", "sharding/1/running": B}
    assert steps(nodes, cursors={0: None, 1: cursor(run=LEFT)}) == []
    assert list(failover.finished(a_view(nodes, me=B), 1)) == [Delete("leader/failover/items/1")]


def test_whose_reason_has_gone_leaves_the_line() -> None:
    assert steps({**ALONE, **owned(A, A), PLACE: ""}) == [do(Delete(PLACE))]


def test_where_failover_is_off_a_lasting_mark_of_the_dead_is_cleared_and_its_run_accounted_for_as_lost() -> (
    None
):
    nodes = {**ALONE, **owned(A, A), "sharding/1/running": B}
    view = a_view(nodes, now=T, cursors={0: None, 1: cursor(at=T, run=LEFT)})
    lost = Cursor(made=1, at=T, last=failover.DIED)
    assert list(failover.decide(view)) == [
        do(Delete("sharding/1/running"), Put("~~cursor/1", lost.text(), 3))
    ]


def test_where_failover_is_off_a_shard_is_its_owners_whatever_nodes_are_left_of_it() -> None:
    """A Java leader does not take them away."""
    left = ("sharding/0/failover", "sharding/0/failovering")
    nodes: dict[str, Told] = {
        **LED,
        **member(JAVA),
        leader.NODE: JAVA,
        **owned(A, B),
        **dict.fromkeys(left, JAVA),
    }
    off, on = ({"failover": failover_on} for failover_on in (False, True))
    for config, begun in ((off, [0]), (on, [])):
        view = a_view(nodes, now=T, config=config, cursors={0: cursor(), 1: None})
        assert [each.item for each in starts(list(firing.decide(view)))] == begun


def test_the_run_of_a_taker_that_died_while_failover_was_switched_off_is_lost_with_all_its_nodes() -> None:
    """One that stayed would be put up for failover if that is switched on again."""
    nodes = {**ALONE, **owned(A, A), "sharding/1/running": B, "sharding/1/failovering": B}
    view = a_view(nodes, now=T, cursors={0: None, 1: cursor(at=T, run=LEFT)})
    (step,) = failover.decide(view)
    assert isinstance(step, Step)
    assert {Delete("sharding/1/running"), Delete("sharding/1/failovering")} < set(step.writes)


def test_at_most_once_never_runs_again_what_a_dead_member_had_begun() -> None:
    nodes = {**ALONE, **owned(A, A), "sharding/1/running": B}
    once = {"failover": True, "delivery": "at_most_once"}
    view = a_view(nodes, now=T, cursors={0: None, 1: cursor(at=T, run=LEFT)}, config=once)
    lost = Cursor(made=1, at=T, last=failover.DIED)
    assert list(failover.decide(view)) == [
        do(Delete("sharding/1/running"), Put("~~cursor/1", lost.text(), 3))
    ]


def test_what_java_puts_up_of_a_job_that_wants_at_most_once_is_taken_down_and_a_live_run_goes_on() -> None:
    nodes = {**ALONE, **member(B), **owned(A, B), "leader/failover/items/1": ""}
    once = {"failover": True, "delivery": "at_most_once"}

    def decided(by: str) -> list[object]:
        run = Tenure(by, "x", FIRE, "scheduled", 1)
        view = a_view(nodes, now=T, cursors={0: None, 1: cursor(at=T, run=run)}, config=once)
        return list(failover.decide(view))

    down = Delete("leader/failover/items/1")
    assert decided(B) == [do(down, Require("~~cursor/1", 3))]
    lost = Cursor(made=1, at=T, last=failover.DIED)
    assert decided("10.9.9.9@-@1-z") == [do(down, Put("~~cursor/1", lost.text(), 3))]


def test_a_finished_takeover_leaves_nothing_behind() -> None:
    view = a_view({"sharding/1/failover": A, "sharding/1/failovering": A, "sharding/0/failovering": B})
    assert list(failover.finished(view, 1)) == [
        Delete("sharding/1/failover"),
        Delete("sharding/1/failovering"),
    ]
    assert list(failover.finished(view, 0)) == []


def test_cursors_that_were_never_read_are_asked_for_before_anything_is_put_up() -> None:
    nodes = {**ALONE, **owned(B, B), "sharding/1/running": B}
    view = a_view(nodes, now=NOW + timedelta(seconds=1), config=ON, cursors={})
    with pytest.raises(Unread) as unread:
        list(failover.decide(view))
    assert "/ns~shardwright/job/cursor/1" in unread.value.paths
