"""Checkpoints: what a run leaves for whoever goes on with it; and runs that are cut short."""

from shardwright.coordination import claim, ending, failover, firing, latch, unheard
from shardwright.coordination.claim import Cursor, Tenure
from shardwright.coordination.step import (
    Claim,
    Create,
    Delete,
    Forget,
    Put,
    Require,
    Saved,
    Start,
    Step,
    do,
)
from shardwright.coordination.view import Run, Source, View
from shardwright.outcomes import CUT_SHORT

from .test_firing import FIRE, LED, T, cursor, owned, starts
from .views import A, B, Told, a_view, member

RUN = Tenure(A, "3", FIRE, "scheduled", 1)
ON = {"failover": True}
MINE: dict[str, Told] = {**LED, **owned(A, B), "sharding/0/running": A}


def a_runner(run: Run, nodes: dict[str, Told] | None = None, **view: object) -> View:
    """One that runs the first shard, by its cursor too."""
    known = {"cursors": {0: cursor(at=T, run=RUN), 1: None}, **view}
    return a_view({**MINE, **(nodes or {})}, now=T, runs={0: run}, **known)  # type: ignore[arg-type]


def test_a_checkpoint_is_written_to_the_cursor_at_the_version_known() -> None:
    saved = Cursor(made=1, at=T, run=RUN, checkpoint="page 7")
    view = a_runner(Run("3", unsaved="page 7"))
    step = do(Put("~~cursor/0", saved.text(), 3), then=Saved(((0, "page 7"),)))
    assert list(claim.save(view)) == [step]
    assert next(iter(unheard.decide(view))) == step


def test_the_last_of_several_replaces_the_one_before() -> None:
    before = {0: cursor(at=T, run=RUN, checkpoint="page 6"), 1: None}
    saved = Cursor(made=1, at=T, run=RUN, checkpoint="page 7")
    assert list(claim.save(a_runner(Run("3", unsaved="page 7"), cursors=before))) == [
        do(Put("~~cursor/0", saved.text(), 3), then=Saved(((0, "page 7"),)))
    ]


def test_a_blank_checkpoint_takes_the_one_before_away() -> None:
    before = {0: cursor(at=T, run=RUN, checkpoint="page 6"), 1: None}
    saved = Cursor(made=1, at=T, run=RUN)
    assert list(claim.save(a_runner(Run("3", unsaved=""), cursors=before))) == [
        do(Put("~~cursor/0", saved.text(), 3), then=Saved(((0, ""),)))
    ]


def test_what_runs_without_one_writes_nothing() -> None:
    assert list(claim.save(a_runner(Run("3")))) == []


def test_those_of_several_shards_are_written_together() -> None:
    cursors = {0: cursor(at=T, run=RUN), 1: cursor(at=T, run=RUN, version=8)}
    view = a_view(
        {**LED, **owned(A, A)},
        now=T,
        cursors=cursors,
        runs={0: Run("3", unsaved="a"), 1: Run("3", unsaved="b")},
    )
    assert list(claim.save(view)) == [
        do(
            Put("~~cursor/0", Cursor(made=1, at=T, run=RUN, checkpoint="a").text(), 3),
            Put("~~cursor/1", Cursor(made=1, at=T, run=RUN, checkpoint="b").text(), 8),
            then=Saved(((0, "a"), (1, "b"))),
        )
    ]


def test_a_run_that_was_taken_over_leaves_no_checkpoint() -> None:
    for theirs in (Tenure(B, "4", FIRE, "failover", 2), Tenure(A, "9", FIRE, "failover", 2), None):
        view = a_runner(Run("3", unsaved="page 7"), cursors={0: cursor(at=T, run=theirs), 1: None})
        assert list(claim.save(view)) == [do(then=Saved(((0, "page 7"),)))]


def test_the_end_of_a_run_carries_one_that_is_not_written_yet_and_keeps_one_that_is() -> None:
    def told(unsaved: str | None, before: str | None) -> object:
        cursors = {0: cursor(at=T, run=RUN, checkpoint=before), 1: None}
        (step,) = ending.decide(a_runner(Run("3", "failed", unsaved=unsaved), cursors=cursors))
        assert isinstance(step, Step)
        return step.writes[0]

    def left(checkpoint: str | None) -> Put:
        over = Cursor(made=1, at=T, last="failed", ended=T, checkpoint=checkpoint)
        return Put("~~cursor/0", over.text(), 3)

    assert told("page 7", "page 6") == left("page 7")
    assert told(None, "page 6") == left("page 6")
    assert told("", "page 6") == left(None)
    assert told(None, None) == left(None)


def test_the_next_run_is_handed_it() -> None:
    view = a_view({**LED, **owned(A, B)}, now=T, cursors={0: cursor(checkpoint="page 7"), 1: None})
    assert starts(list(firing.decide(view))) == [Claim(0, FIRE, Source.SCHEDULED, "4", checkpoint="page 7")]


def test_who_takes_a_shard_over_is_handed_it_and_keeps_it() -> None:
    place = f"{latch.place(a_view(), failover.LATCH)}0000000001"
    nodes: dict[str, Told] = {**LED, **owned(A, A), "leader/failover/items/1": "", place: ""}
    left = Tenure(B, "3", FIRE, "scheduled", 1)
    cursors = {0: None, 1: cursor(at=T, run=left, checkpoint="page 7")}
    (step,) = failover.decide(a_view(nodes, now=T, config=ON, cursors=cursors))
    assert isinstance(step, Step)
    assert step.then == Start((Claim(1, FIRE, Source.FAILOVER, "4", 2, "page 7"),))
    taken = Cursor(made=1, at=T, run=Tenure(A, "4", FIRE, "failover", 2), began=T, checkpoint="page 7")
    assert Put("~~cursor/1", taken.text(), 3) in step.writes


def test_a_claim_found_again_is_handed_it() -> None:
    cursors = {0: cursor(at=T, run=RUN, checkpoint="page 7"), 1: None}
    assert list(unheard.decide(a_view(MINE, now=T, cursors=cursors))) == [
        do(
            Require(f"~alive/{A}"),
            Require("~~cursor/0", 3),
            then=Start((Claim(0, FIRE, Source.SCHEDULED, "3", 1, "page 7"),)),
        )
    ]


# Cut short


def test_a_run_cut_short_is_put_up_and_its_claim_left_to_nobody() -> None:
    left = Cursor(made=1, at=T, run=Tenure("", "3", FIRE, "scheduled", 1))
    assert list(ending.decide(a_runner(Run("3", CUT_SHORT), config=ON))) == [
        do(
            Put("~~cursor/0", left.text(), 3),
            Delete("sharding/0/running"),
            Create("leader/failover/items/0"),
            then=Forget((0,)),
        )
    ]


def test_a_take_over_cut_short_is_undone() -> None:
    again = Tenure(A, "3", FIRE, "failover", 2)
    left = Cursor(made=1, at=T, run=Tenure("", "3", FIRE, "failover", 2))
    nodes: dict[str, Told] = {"sharding/0/failover": A, "sharding/0/failovering": A, **owned(B, B)}
    cursors = {0: cursor(at=T, run=again), 1: None}
    assert list(ending.decide(a_runner(Run("3", CUT_SHORT), nodes, config=ON, cursors=cursors))) == [
        do(
            Put("~~cursor/0", left.text(), 3),
            Delete("sharding/0/running"),
            Create("leader/failover/items/0"),
            Delete("sharding/0/failovering"),
            Delete("sharding/0/failover"),
            then=Forget((0,)),
        )
    ]


def test_what_was_cut_short_is_handed_over_all_the_same() -> None:
    (step,) = ending.decide(a_runner(Run("3", CUT_SHORT), {**member(B), "~next/0": (B, 2)}, config=ON))
    assert step.writes[-3:-1] == (Put("sharding/0/instance", B, 7), Delete("~next/0", 2))


def test_where_nobody_is_to_run_it_again_a_run_cut_short_has_ended() -> None:
    over = Cursor(made=1, at=T, last=CUT_SHORT, ended=T)
    end = [do(Put("~~cursor/0", over.text(), 3), Delete("sharding/0/running"), then=Forget((0,)))]
    assert list(ending.decide(a_runner(Run("3", CUT_SHORT)))) == end
    once = {**ON, "delivery": "at_most_once"}
    assert list(ending.decide(a_runner(Run("3", CUT_SHORT), config=once))) == end


def test_one_that_was_taken_over_before_it_was_cut_short_is_only_forgotten() -> None:
    theirs = {0: cursor(at=T, run=Tenure(B, "4", FIRE, "failover", 2)), 1: None}
    view = a_runner(Run("3", CUT_SHORT), config=ON, cursors=theirs)
    assert list(ending.decide(view)) == [do(then=Forget((0,)))]


def test_what_we_cut_short_we_do_not_start_again_unheard() -> None:
    nobodys = {0: cursor(at=T, run=Tenure("", "3", FIRE, "scheduled", 1)), 1: None}
    nodes: dict[str, Told] = {**LED, **owned(A, B), "leader/failover/items/0": ""}
    view = a_view(nodes, now=T, config=ON, cursors=nobodys)
    assert list(unheard.decide(view)) == []
    assert starts(list(firing.decide(view))) == []


def test_what_is_left_to_nobody_is_run_once_more_for_the_same_fire_by_who_takes_it() -> None:
    place = f"{latch.place(a_view(me=B), failover.LATCH)}0000000001"
    nodes: dict[str, Told] = {
        **LED,
        **member(B),
        **owned(A, B),
        "leader/failover/items/0": "",
        place: "",
    }
    nobodys = {0: cursor(at=T, run=Tenure("", "3", FIRE, "scheduled", 1)), 1: None}
    (step,) = failover.decide(a_view(nodes, me=B, now=T, config=ON, cursors=nobodys))
    assert isinstance(step, Step)
    assert step.then == Start((Claim(0, FIRE, Source.FAILOVER, "4", 2),))


def test_what_is_left_to_nobody_and_is_up_for_nobody_is_put_up_by_its_owner() -> None:
    nobodys = {0: cursor(at=T, run=Tenure("", "3", FIRE, "scheduled", 1)), 1: None}
    view = a_view({**LED, **owned(A, B)}, now=T, config=ON, cursors=nobodys)
    assert list(failover.decide(view)) == [do(Require("~~cursor/0", 3), Create("leader/failover/items/0"))]


def test_a_run_cut_short_leaves_a_checkpoint_that_is_not_written_yet_to_its_successor() -> None:
    (step,) = ending.decide(a_runner(Run("3", CUT_SHORT, unsaved="page 7"), config=ON))
    left = Cursor(made=1, at=T, run=Tenure("", "3", FIRE, "scheduled", 1), checkpoint="page 7")
    assert step.writes[0] == Put("~~cursor/0", left.text(), 3)


def test_a_checkpoint_that_goes_with_the_end_is_not_taken_for_saved_before() -> None:
    """An end that is refused or unknown is sent again, and must carry it again."""
    assert list(claim.save(a_runner(Run("3", "ok", unsaved="page 7")))) == []
