"""Starting and ending: one transaction each, guarded by the cursor."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from shardwright.coordination import (
    again,
    claim,
    due,
    ending,
    failover,
    firing,
    leader,
    request,
    sharding,
    trigger,
    unheard,
)
from shardwright.coordination.claim import Cursor, Tenure
from shardwright.coordination.gap import Gap
from shardwright.coordination.step import (
    Claim,
    Create,
    Delete,
    Forbid,
    Forget,
    Look,
    Put,
    Require,
    Reread,
    Say,
    Start,
    Step,
    Sure,
    do,
)
from shardwright.coordination.view import Run, Source
from shardwright.registry import Node

from .views import JAVA, MADE, NOW, A, B, Told, a_view, member

T = NOW + timedelta(seconds=10)
FIRE = T.isoformat()
LED: dict[str, Told] = {**member(A), leader.NODE: A, leader.TERM: A, "": ""}


def owned(*owners: str) -> dict[str, Told]:
    return {f"sharding/{item}/instance": (who, 7) for item, who in enumerate(owners)}


def cursor(at: datetime | None = NOW, version: int = 3, **more: object) -> Node:
    return Node(Cursor(made=1, at=at, **more).text(), version, "", 1, 1)  # type: ignore[arg-type]


def starts(steps: list[object]) -> list[Claim]:
    return [
        each for s in steps if isinstance(s, Step) and isinstance(s.then, Start) for each in s.then.claims
    ]


def test_all_due_shards_of_ours_start_in_one_transaction_guarded_by_owner_and_cursor() -> None:
    view = a_view({**LED, **owned(A, A)}, now=T, cursors={0: cursor(), 1: None})
    step, look = firing.decide(view)
    claimed = Cursor(made=1, at=T, run=Tenure(A, "4", FIRE, "scheduled", 1), began=T)
    first = Cursor(made=1, at=T, run=Tenure(A, "0", FIRE, "scheduled", 1), began=T)
    assert step == do(
        Require(f"~alive/{A}"),
        Require("sharding/0/instance", 7),
        Create("sharding/0/running", A, ephemeral=True),
        Put("~~cursor/0", claimed.text(), 3),
        Require("sharding/1/instance", 7),
        Create("sharding/1/running", A, ephemeral=True),
        Create("~~cursor/1", first.text()),
        then=Start(
            (Claim(0, FIRE, Source.SCHEDULED, "4"), Claim(1, FIRE, Source.SCHEDULED, "0")),
        ),
    )
    assert look == Look(1009.0, "fires at 2030-01-01T00:00:20+00:00")


def test_with_failover_the_mark_outlives_its_runner() -> None:
    view = a_view({**LED, **owned(A, B)}, now=T, config={"failover": True})
    (step, *_) = firing.decide(view)
    assert isinstance(step, Step)
    assert Create("sharding/0/running", A) in step.writes


def test_without_monitoring_no_mark_is_written() -> None:
    view = a_view({**LED, **owned(A, B)}, now=T, config={"monitor_execution": False})
    (step, *_) = firing.decide(view)
    assert isinstance(step, Step)
    assert not any("running" in write.path for write in step.writes)


@pytest.mark.parametrize("wanted", [{"~owed/0": "5"}, {"~again/0": again.text([(FIRE, 2)], MADE)}])
def test_a_shard_that_only_its_cursor_says_is_running_is_asked_after_where_somebody_waits_for_it(
    wanted: dict[str, Told],
) -> None:
    """It was moved in the midst of its run: when that ends, nothing changes that we would be told of."""
    busy = cursor(at=T, run=Tenure(B, "3", FIRE, "scheduled", 1))
    nodes = {**LED, **member(B), **owned(A, B), **wanted}
    view = a_view(nodes, now=T, config={"monitor_execution": False}, cursors={0: busy, 1: None})
    assert do(then=Reread((0,))) in list(firing.decide(view))


def test_a_claim_may_be_made_a_second_ahead_and_no_sooner() -> None:
    early = a_view({**LED, **owned(A, A)}, now=T - timedelta(seconds=1.5), cursors={0: cursor(), 1: cursor()})
    assert starts(list(firing.decide(early))) == []
    ahead = a_view({**LED, **owned(A, A)}, now=T - timedelta(seconds=1), cursors={0: cursor(), 1: cursor()})
    assert [each.fire for each in starts(list(firing.decide(ahead)))] == [FIRE, FIRE]


def test_a_fire_that_is_accounted_for_is_not_started_again_whoever_owns_the_shard_now() -> None:
    view = a_view({**LED, **owned(A, A)}, now=T, cursors={0: cursor(at=T), 1: cursor(at=T)})
    assert starts(list(firing.decide(view))) == []


def test_a_fire_from_before_we_were_in_the_job_is_none_of_ours() -> None:
    view = a_view(
        {**LED, **owned(A, A)}, now=T + timedelta(seconds=3), since=None, cursors={0: None, 1: None}
    )
    assert len(starts(list(firing.decide(view)))) == 2
    late = a_view({**LED, **owned(A, A)}, now=T + timedelta(seconds=3), cursors={0: None, 1: None})
    joined = late.__class__(
        late.tree, late.me, late.session, late.now, late.boot, late.config, late.schedule, late.cursors,
        late.local.__class__(since=T + timedelta(seconds=1)),
    )  # fmt: skip
    assert starts(list(firing.decide(joined))) == []


def test_disabled_shards_and_those_taken_over_are_left_out() -> None:
    nodes = {**LED, **owned(A, A), "sharding/0/disabled": "", "sharding/1/failover": B, f"~alive/{B}": ""}
    assert starts(list(firing.decide(a_view(nodes, now=T, config={"failover": True})))) == []


def test_a_shard_that_runs_is_not_started_and_its_late_fire_is_made_good_after_it() -> None:
    nodes = {**LED, **owned(A, B), "sharding/0/running": A}
    run = Tenure(A, "3", NOW.isoformat(), "scheduled", 1)
    busy = a_view(nodes, now=T, cursors={0: cursor(run=run), 1: None}, runs={0: Run("3")})
    assert starts(list(firing.decide(busy))) == []
    ended = cursor(ended=T + timedelta(seconds=2), last="ok")
    after = a_view({**LED, **owned(A, B)}, now=T + timedelta(seconds=2), cursors={0: ended, 1: None})
    assert [(each.fire, each.source) for each in starts(list(firing.decide(after)))] == [
        (FIRE, Source.MISFIRE)
    ]


def test_while_java_members_are_there_a_missed_fire_is_noted_for_them() -> None:
    nodes = {**LED, **member(JAVA), **owned(A, JAVA), "sharding/0/running": A}
    view = a_view(nodes, now=T, cursors={0: cursor(), 1: None}, runs={0: Run("3")})
    assert do(Create("sharding/0/misfire")) in list(firing.decide(view))


def test_a_fire_that_falls_into_the_run_of_a_java_member_is_handed_over_to_it_once() -> None:
    nodes: dict[str, Told] = {**LED, **member(JAVA), **owned(A, JAVA), "sharding/0/running": JAVA}
    (step, *_) = firing.decide(a_view(nodes, now=T, cursors={0: cursor(), 1: None}))
    alive, owner = Require(f"~alive/{A}"), Require("sharding/0/instance", 7)
    moved = Put("~~cursor/0", Cursor(made=1, at=T).text(), 3)
    assert step == do(alive, owner, Create("sharding/0/misfire"), moved)
    # It has taken the note away and runs for it: with the next fire there is something to note again.
    after = a_view(nodes, now=T + timedelta(seconds=2), cursors={0: cursor(at=T), 1: None})
    assert not [each for each in firing.decide(after) if isinstance(each, Step)]


def test_a_fire_is_handed_over_only_while_the_note_stands_that_is_relied_on() -> None:
    nodes: dict[str, Told] = {**LED, **member(JAVA), **owned(A, JAVA), "sharding/0/running": JAVA}
    noted = {**nodes, "sharding/0/misfire": ""}
    (step, *_) = firing.decide(a_view(noted, now=T, cursors={0: cursor(), 1: None}))
    assert isinstance(step, Step)
    assert Require("sharding/0/misfire") in step.writes


def test_a_java_member_that_has_just_ended_a_run_has_a_while_to_make_good_what_was_noted_meanwhile() -> None:
    nodes: dict[str, Told] = {**LED, **member(JAVA), **owned(A, JAVA), "sharding/0/misfire": ""}
    known = {0: cursor(at=T), 1: None}
    ended = {"sharding/0/running": 99.8}
    waits: list[object] = list(firing.decide(a_view(nodes, now=T, cursors=known, since=ended, boot=100.0)))
    assert starts(waits) == []
    assert Look(99.8 + sharding.HEED, "a Java member may run shard 0 once more") in waits
    later = firing.decide(a_view(nodes, now=T, cursors=known, since=ended, boot=101.0))
    assert [each.item for each in starts(list(later))] == [0]


def test_a_missed_fire_that_java_noted_is_made_good_and_the_note_goes_with_the_claim() -> None:
    nodes = {**LED, **owned(A, B), "sharding/0/misfire": ""}
    (step, *_) = firing.decide(a_view(nodes, now=T, cursors={0: cursor(at=T), 1: None}))
    assert isinstance(step, Step)
    assert Delete("sharding/0/misfire") in step.writes
    assert [(each.fire, each.source) for each in starts([step])] == [("#1", Source.MISFIRE)]


def test_under_a_java_leaders_flag_nothing_starts() -> None:
    nodes = {**member(A), **member(JAVA), leader.NODE: JAVA, sharding.NECESSARY: "", **owned(A, A)}
    assert list(firing.decide(a_view(nodes, now=T))) == []


def test_one_that_drains_or_is_disabled_starts_nothing() -> None:
    assert list(firing.decide(a_view({**LED, **owned(A, A)}, now=T, draining=True))) == []
    disabled = {**LED, **member(A, "DISABLED"), **owned(A, A)}
    assert list(firing.decide(a_view(disabled, now=T))) == []


def test_a_shard_that_only_its_cursor_says_is_running_is_asked_about_now_and_then() -> None:
    theirs = Tenure(B, "3", NOW.isoformat(), "scheduled", 1)
    nodes = {**LED, **member(B), **owned(A, B)}
    view = a_view(nodes, now=T, boot=0.5, cursors={0: cursor(run=theirs), 1: None})
    assert Look(1.0, "does shard 0 still run?") in list(firing.decide(view))
    later = a_view(nodes, now=T, boot=1.0, cursors={0: cursor(run=theirs), 1: None})
    assert do(then=Reread((0,))) in list(firing.decide(later))


def test_what_we_find_we_have_claimed_without_hearing_of_it_is_run() -> None:
    run = Tenure(A, "4", FIRE, "scheduled", 1)
    nodes = {**LED, **owned(A, B), "sharding/0/running": A}
    view = a_view(nodes, now=T, cursors={0: cursor(at=T, version=4, run=run), 1: None})
    (step, *_) = unheard.decide(view)
    assert step == do(
        Require(f"~alive/{A}"), Require("~~cursor/0", 4), then=Start((Claim(0, FIRE, Source.SCHEDULED, "4"),))
    )


def test_a_claim_made_after_the_shard_was_a_java_members_is_given_up_unheard() -> None:
    run = Tenure(A, "4", FIRE, "scheduled", 1)
    nodes = {**LED, **member(JAVA), **owned(JAVA, B), "sharding/0/running": A}
    late = replace(cursor(at=T, version=4, run=run), written=2)
    (step, *_) = unheard.decide(a_view(nodes, now=T, cursors={0: late, 1: None}))
    given_up = cursor(at=T, last=f"it was {JAVA}'s already").data
    assert step == do(Put("~~cursor/0", given_up, 4), Delete("sharding/0/running"), then=Sure(0))


def test_a_claim_made_before_the_shard_was_a_java_members_is_run() -> None:
    run = Tenure(A, "4", FIRE, "scheduled", 1)
    nodes = {**LED, **member(JAVA), **owned(JAVA, B), "sharding/0/running": A}
    early = replace(cursor(at=T, version=4, run=run), written=0)
    assert starts(list(unheard.decide(a_view(nodes, now=T, cursors={0: early, 1: None}))))


def test_a_mark_of_ours_that_no_claim_explains_goes_or_makes_us_read_the_cursor_again() -> None:
    nodes = {**LED, **owned(A, B), "sharding/0/running": A}
    (step, *_) = unheard.decide(a_view(nodes, now=T, cursors={0: cursor(at=T), 1: None}))
    assert step == do(Require("~~cursor/0", 3), Delete("sharding/0/running"))


def test_without_failover_an_unfinished_claim_of_the_dead_is_accounted_for_before_the_next_fire() -> None:
    run = Tenure(B, "3", NOW.isoformat(), "scheduled", 1)
    view = a_view({**LED, **owned(A, A)}, now=T, cursors={0: cursor(run=run), 1: cursor(at=T)})
    assert starts(list(firing.decide(view))) == []
    assert list(failover.decide(view)) == [do(Put("~~cursor/0", cursor(last="its runner died").data, 3))]
    kept = a_view(
        {**LED, **owned(A, A)},
        now=T,
        cursors={0: cursor(run=run), 1: cursor(at=T)},
        config={"failover": True},
    )
    assert starts(list(firing.decide(kept))) == []


def test_an_end_tells_the_cursor_takes_the_mark_away_and_hands_the_shard_over() -> None:
    run = Tenure(A, "3", FIRE, "scheduled", 1)
    nodes = {**LED, **member(B), **owned(A, B), "sharding/0/running": A, "~next/0": (B, 2)}
    view = a_view(nodes, now=T, cursors={0: cursor(at=T, run=run), 1: None}, runs={0: Run("3", "ok")})
    over = Cursor(made=1, at=T, last="ok", ended=T)
    assert list(ending.decide(view)) == [
        do(
            Put("~~cursor/0", over.text(), 3),
            Delete("sharding/0/running"),
            Put("sharding/0/instance", B, 7),
            Delete("~next/0", 2),
            Forbid(f"trigger/{A}"),  # who gets it may have answered its own request by then
            then=Forget((0,)),
        )
    ]


def test_a_run_that_was_taken_over_ends_without_a_word_to_the_registry() -> None:
    theirs = Tenure(B, "9", FIRE, "failover", 2)
    view = a_view(
        {**LED, **owned(A, B)}, now=T, cursors={0: cursor(run=theirs), 1: None}, runs={0: Run("3", "ok")}
    )
    assert list(ending.decide(view)) == [do(then=Forget((0,)))]


def test_a_job_removed_and_made_anew_starts_anew() -> None:
    old = Node(Cursor(made=77, at=T).text(), 5, "", 1, 1)
    view = a_view({**LED, **owned(A, B)}, now=T, cursors={0: old, 1: None})
    assert claim.cursor(view, 0) == Cursor(made=1)


def test_a_cursor_that_makes_no_sense_says_nothing() -> None:
    for text in (
        "",
        "x",
        "[]",
        '{"run": 3}',
        '{"at": "yesterday"}',
        '{"run": ["a", "b", "c", "no such", 1]}',
    ):
        assert claim.read(text) == Cursor()


def test_a_cursor_is_read_as_it_was_written() -> None:
    whole = Cursor(5, T, Tenure(A, "4", FIRE, "trigger", 2), "failed", NOW, T, "page 7", 9)
    assert claim.read(whole.text()) == whole


def test_a_trigger_runs_all_ours_and_goes_with_the_claim() -> None:
    nodes = {**LED, **owned(A, A), f"trigger/{A}": ""}
    cursors = {0: cursor(at=T), 1: cursor(at=T)}
    (step,) = firing.decide(a_view(nodes, now=T, cursors=cursors))
    assert isinstance(step, Step)
    assert Delete(f"trigger/{A}") in step.writes
    assert [(each.item, each.fire, each.source) for each in starts([step])] == [
        (0, "#1", Source.TRIGGER),
        (1, "#1", Source.TRIGGER),
    ]
    assert claim.read(next(w.data for w in step.writes if isinstance(w, Put))).at == T


def test_a_run_that_was_asked_for_with_a_parameter_has_it_although_the_answer_was_lost() -> None:
    nodes: dict[str, Told] = {**LED, **owned(A, A), f"trigger/{A}": "page 7"}
    view = a_view(nodes, cursors={0: cursor(), 1: cursor()})
    steps = list(firing.decide(view))
    assert {each.parameter for each in starts([*steps])} == {"page 7"}
    (moved,) = [
        write
        for step in steps
        if isinstance(step, Step)
        for write in step.writes
        if write.path == "~~cursor/0"
    ]
    assert isinstance(moved, Put)
    left = claim.read(moved.data).run
    assert left is not None
    unheard_of = a_view({**LED, **owned(A, A)}, cursors={0: cursor(run=left), 1: cursor()})
    assert [each.parameter for each in starts([*unheard.decide(unheard_of)])] == ["page 7"]


def test_what_was_asked_of_one_shard_while_all_were_asked_has_the_parameter_of_that() -> None:
    view = a_view({**LED, **owned(A, A), "~owed/0": "1 mine", f"trigger/{A}": "all"}, cursors={0: cursor()})
    assert view.tree.node(f"trigger/{A}").made == 1
    assert request.parameter(view, 0, A) == "mine"


def test_a_shard_that_moves_takes_the_parameter_along() -> None:
    view = a_view(
        {**LED, **owned(A, A), "~owed/0": "7 a b", f"trigger/{A}": "c"}, cursors={0: cursor(), 1: cursor()}
    )
    assert request.parameter(view, 0, A) == "a b"
    assert list(request.pass_on(view, 0, A)) == [Put("~owed/0", "7 a b")]
    assert list(request.pass_on(view, 1, A)) == [Create("~owed/1", "1 c")]


def test_a_triggered_shard_that_runs_is_waited_for_and_the_others_are_not() -> None:
    nodes = {**LED, **owned(A, A), f"trigger/{A}": ""}
    busy = a_view(
        {**nodes, "sharding/1/running": A},
        now=T,
        cursors={0: cursor(at=T), 1: cursor(at=T)},
        runs={1: Run("x")},
    )
    (step,) = firing.decide(busy)
    assert isinstance(step, Step)
    assert [each.item for each in starts([step])] == [0]
    assert Delete(f"trigger/{A}") not in step.writes
    half = {0: cursor(at=T, asked=1), 1: cursor(at=T)}
    (last,) = firing.decide(a_view(nodes, now=T, cursors=half))
    assert isinstance(last, Step)
    assert [each.item for each in starts([last])] == [1]
    assert Delete(f"trigger/{A}") in last.writes


def test_a_trigger_does_not_overwrite_what_the_dead_left_unfinished() -> None:
    """Seed 481: asked to fire in the look that put the shard up, its owner claimed it and the rescue was
    lost."""
    run = Tenure(B, "3", NOW.isoformat(), "scheduled", 1)
    nodes = {**LED, **owned(A, A), f"trigger/{A}": ""}
    view = a_view(nodes, now=T, cursors={0: cursor(run=run), 1: cursor(at=T)}, config={"failover": True})
    assert [each.item for each in starts(list(firing.decide(view)))] == [1]


def test_a_trigger_for_somebody_without_shards_is_taken_away_and_said() -> None:
    nodes = {**LED, **member(B), **owned(B, B), f"trigger/{A}": ""}
    (step,) = firing.decide(a_view(nodes, now=T))
    assert step == do(
        Delete(trigger.node(A)), then=Say("asked to fire, and no shard of the job is ours to run")
    )


def test_a_job_without_a_schedule_fires_only_when_asked() -> None:
    view = a_view({**LED, **owned(A, A)}, now=T, config={"cron": None})
    assert list(firing.decide(view)) == []


def test_a_shard_enabled_again_does_not_make_up_for_what_was_disabled() -> None:
    then = Gap("0/10 * * * * ? UTC", 2, births=((0, 0, T + timedelta(seconds=3)),))
    view = a_view({**LED, **owned(A, A), "~gap": then.text()}, now=T + timedelta(seconds=5))
    assert due.answered(view, 0) == T + timedelta(seconds=3)
    assert [each.item for each in starts(list(firing.decide(view)))] == [1]


def test_a_shard_that_is_handed_on_takes_the_run_along_that_it_owes() -> None:
    """Seed 102: who got it had answered its own request already, so that nobody ran it after the last one."""
    run = Tenure(A, "3", FIRE, "scheduled", 1)
    nodes = {**LED, **member(B), **owned(A, B), f"trigger/{A}": "", "sharding/0/running": A, "~next/0": B}
    busy = a_view(nodes, now=T, cursors={0: cursor(at=T, run=run), 1: None}, runs={0: Run("3", "ok")})
    (ended,) = ending.decide(busy)
    assert Create("~owed/0", "1") in ended.writes
    owing = {**LED, **member(B), **owned(B, A), "~owed/0": "7"}
    (step, *_) = firing.decide(a_view(owing, me=B, now=T, cursors={0: cursor(at=T, asked=1), 1: None}))
    assert isinstance(step, Step)
    assert [(each.item, each.fire, each.source) for each in starts([step])] == [(0, "#7", Source.TRIGGER)]
    assert Delete("~owed/0") in step.writes
    answered = a_view(owing, me=B, now=T, cursors={0: cursor(at=T, asked=7), 1: None})
    assert starts(list(firing.decide(answered))) == []


def test_a_request_that_finds_nothing_shared_out_yet_waits_for_it() -> None:
    nodes: dict[str, Told] = {**LED, f"trigger/{A}": ""}
    assert [each for each in firing.decide(a_view(nodes, now=T)) if isinstance(each, Step)] == []


def test_a_request_waits_for_shards_that_still_belong_to_the_dead() -> None:
    asked = {**LED, **owned("10.0.0.9@-@19-z", "10.0.0.9@-@19-z"), f"trigger/{A}": ""}
    view = a_view(asked, now=NOW, cursors={0: cursor(), 1: cursor()})
    assert list(trigger.decide(view, [])) == []
