"""The barrier: what is called once per fire, for all shards together."""

from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from shardwright.coordination import barrier, ending, failover, firing, latch, milestone, sharding
from shardwright.coordination.claim import Tenure
from shardwright.coordination.step import (
    Called,
    CallHook,
    Create,
    Delete,
    Go,
    Look,
    Put,
    Require,
    Say,
    Start,
    Step,
    Veto,
    Write,
    do,
)
from shardwright.coordination.view import Call, Hooks, Run
from shardwright.outcomes import CUT_SHORT

from .test_firing import FIRE, LED, T, cursor, owned
from .views import JAVA, MADE, NOW, A, B, Told, a_view, member, running

Mark = partial(milestone.Mark, made=MADE)
Last = partial(barrier.Last, made=MADE)

FIRST, SECOND, THIRD = (
    FIRE,
    (T + timedelta(seconds=10)).isoformat(),
    (T + timedelta(seconds=20)).isoformat(),
)
BEGIN, END = Hooks(started=True), Hooks(completed=True)
CALLED = "~barrier/started/scheduled/called"
ALIVE = Require(f"~alive/{A}")
TWO: dict[str, Told] = {**LED, **member(B), **owned(A, B)}
MIXED: dict[str, Told] = {**LED, **member(JAVA), **owned(A, JAVA)}
LINE = "guarantee/started-latch"
MY_PLACE = latch.place(a_view(), LINE)
MINE = f"{MY_PLACE}0000000004"
JAVAS = f"{LINE}/_c_00000000-0000-4000-8000-000000000000-latch-0000000002"


def came(
    *fires: str | None,
    kind: str = "started",
    round_: str = "scheduled",
    at: datetime = T,
    java: bool = False,
) -> dict[str, Told]:
    """The marks of the shards, in order; None for one that has none."""
    return {
        f"~barrier/{kind}/{round_}/{item}": Mark(fire, at, java).text()
        for item, fire in enumerate(fires)
        if fire is not None
    }


def called(fire: str, state: str = "done", by: str = A) -> dict[str, Told]:
    return {CALLED: (Last(fire, by, state).text(), 6)}


def steps(nodes: dict[str, Told], **view: object) -> list[object]:
    return list(barrier.decide(a_view(nodes, **{"now": T, "hooks": BEGIN, **view})))  # type: ignore[arg-type]


def barriers(step: object) -> list[Write]:
    """What of a step is for those who wait for all shards."""
    assert isinstance(step, Step)
    return [write for write in step.writes if write.path.startswith(("~barrier", "guarantee"))]


def held(fire: str, outcome: str | None = None) -> Run:
    return Run("4", outcome, fire=fire, held=True)


# Milestones


def test_a_claim_tells_that_its_shard_has_started_where_that_is_waited_for() -> None:
    nodes: dict[str, Told] = {**LED, **owned(A, A), **came(NOW.isoformat())}
    (step, *_) = firing.decide(a_view(nodes, now=T, hooks=BEGIN))
    assert barriers(step) == [
        Put("~barrier/started/scheduled/0", Mark(FIRE, T).text()),
        Create("~barrier/started/scheduled/1", Mark(FIRE, T).text()),
    ]
    for nothing in (Hooks(), END):
        (step, *_) = firing.decide(a_view(nodes, now=T, hooks=nothing))
        assert barriers(step) == []


def test_an_end_tells_that_its_shard_has_completed_where_that_is_waited_for() -> None:
    run = Tenure(A, "3", FIRE, "scheduled", 1)
    later = T + timedelta(seconds=3)

    def end(hooks: Hooks, outcome: str, before: tuple[str, ...] = ()) -> list[Write]:
        mark: dict[str, Told] = {node: Mark(NOW.isoformat(), NOW, failed=before).text()} if before else {}
        nodes: dict[str, Told] = {**LED, **owned(A, B), "sharding/0/running": A, **mark}
        cursors = {0: cursor(at=T, run=run), 1: None}
        (step,) = ending.decide(
            a_view(nodes, now=later, cursors=cursors, runs={0: Run("3", outcome)}, hooks=hooks)
        )
        return barriers(step)

    node = "~barrier/completed/scheduled/0"
    assert end(END, "ok") == [Create(node, Mark(FIRE, later).text())]
    assert end(END, "timed out") == [Create(node, Mark(FIRE, later, failed=(FIRE,)).text())]
    # Who is ahead of the others says still which fires failed before, as far as there is room for that.
    assert end(END, "ok", before=(FIRST,)) == [Put(node, Mark(FIRE, later, failed=(FIRST,)).text())]
    many = tuple((T - timedelta(hours=hour)).isoformat() for hour in range(10, 0, -1))
    assert end(END, "failed", before=many) == [Put(node, Mark(FIRE, later, failed=(*many[1:], FIRE)).text())]
    assert end(BEGIN, "ok") == []


def test_a_run_cut_short_has_not_completed_where_somebody_else_goes_on_with_it() -> None:
    run = Tenure(A, "3", FIRE, "scheduled", 1)
    view = a_view(
        {**LED, **owned(A, B)},
        now=T,
        config={"failover": True},
        cursors={0: cursor(at=T, run=run), 1: None},
        runs={0: Run("3", CUT_SHORT)},
        hooks=END,
    )
    (step,) = ending.decide(view)
    assert barriers(step) == []


def test_what_somebody_asked_for_has_marks_of_its_own() -> None:
    nodes: dict[str, Told] = {**LED, **owned(A, B), f"trigger/{A}": "", **came(FIRST)}
    (step,) = firing.decide(a_view(nodes, now=T, cursors={0: cursor(at=T), 1: None}, hooks=BEGIN))
    assert barriers(step) == [Create("~barrier/started/asked/0", Mark("#1", T).text())]


def test_a_failover_run_counts_for_the_fire_it_is_a_run_of() -> None:
    place = f"{latch.place(a_view(), failover.LATCH)}0000000001"
    nodes: dict[str, Told] = {**LED, **owned(A, A), "leader/failover/items/1": "", place: ""}
    left = Tenure(B, "3", FIRE, "scheduled", 1)
    view = a_view(
        nodes,
        now=T + timedelta(seconds=4),
        config={"failover": True},
        cursors={0: None, 1: cursor(at=T, run=left)},
        hooks=BEGIN,
    )
    (step,) = failover.decide(view)
    assert barriers(step) == [
        Create("~barrier/started/scheduled/1", Mark(FIRE, T + timedelta(seconds=4)).text())
    ]


def test_marks_that_make_no_sense_are_none() -> None:
    nodes: dict[str, Told] = {
        **LED,
        **came(FIRST),
        "~barrier/started/scheduled/1": "x",
        "~barrier/started/asked/0": f"#x {FIRE}",
        "~barrier/started/asked/1": "",
    }
    view = a_view(nodes)
    assert milestone.marks_of(view, ("started", "scheduled")) == {0: Mark(FIRST, T)}
    assert milestone.marks_of(view, ("started", "asked")) == {}


def test_requests_come_in_the_order_of_their_numbers() -> None:
    assert milestone.order("#9") < milestone.order("#10")
    assert milestone.order(FIRST) < milestone.order(SECOND)


# Calling


def test_when_all_shards_have_come_to_a_fire_the_hook_is_called_for_it() -> None:
    assert steps({**TWO, **came(FIRST, FIRST)}) == [
        do(
            ALIVE,
            Create(CALLED, Last(FIRST, A, "calling").text()),
            then=CallHook("started/scheduled", FIRST),
        )
    ]


def test_the_next_call_is_claimed_at_the_version_of_the_last() -> None:
    assert steps({**TWO, **came(SECOND, SECOND), **called(FIRST, by=B)}) == [
        do(
            ALIVE,
            Put(CALLED, Last(SECOND, A, "calling").text(), 6),
            then=CallHook("started/scheduled", SECOND),
        )
    ]


def test_a_fire_is_called_for_once() -> None:
    for state in ("done", "failed", "timed out", "unknown"):
        assert steps({**TWO, **came(FIRST, FIRST), **called(FIRST, state)}) == []
    going_on = {"calls": {"started/scheduled": Call(FIRST)}}
    assert steps({**TWO, **came(FIRST, FIRST), **called(FIRST, "calling")}, **going_on) == []


def test_nothing_is_called_while_one_is_behind() -> None:
    assert steps({**TWO, **came(FIRST, None)}) == []
    assert steps({**TWO, **came(SECOND, FIRST), **called(FIRST)}) == []


def test_a_shard_that_passed_a_fire_over_is_not_waited_for_there() -> None:
    (step,) = steps({**TWO, **came(SECOND, THIRD), **called(FIRST)})
    assert isinstance(step, Step)
    assert step.then == CallHook("started/scheduled", SECOND)


def test_disabled_shards_are_left_out() -> None:
    (step,) = steps({**TWO, **came(FIRST), "sharding/1/disabled": ""})
    assert step == do(
        Require("sharding/1/disabled"),  # it may have been enabled since, and run
        ALIVE,
        Create(CALLED, Last(FIRST, A, "calling", disabled=(1,)).text()),
        then=CallHook("started/scheduled", FIRST, disabled=(1,)),
    )
    assert steps({**TWO, **came(FIRST), "sharding/0/disabled": "", "sharding/1/disabled": ""}) == []


def test_the_end_of_a_shard_that_was_disabled_while_it_ran_is_waited_for() -> None:
    nodes = {**TWO, **came(FIRST, kind="completed"), "sharding/1/disabled": ""}
    assert len(steps(nodes, hooks=END)) == 1
    assert steps({**nodes, "sharding/1/running": B}, hooks=END) == []
    assert steps(nodes, hooks=END, runs={1: Run("4", fire=FIRST)}) == []


def test_the_end_of_a_disabled_shard_whose_runner_died_over_it_is_waited_for() -> None:
    """It is put up, taken over and run to its end by another, or accounted for."""
    nodes = {**TWO, **came(FIRST, kind="completed"), "sharding/1/disabled": ""}
    on = {"failover": True}
    dead = "10.0.0.9@-@9-dead"
    assert steps({**nodes, "sharding/1/running": dead}, hooks=END, config=on) == []
    assert steps({**nodes, "leader/failover/items/1": ""}, hooks=END, config=on) == []
    assert steps({**nodes, "sharding/1/failovering": dead}, hooks=END, config=on) == []


def test_the_end_of_a_run_that_nobody_makes_good_is_told_as_a_failure() -> None:
    left = Tenure(B, "3", FIRE, "scheduled", 1)
    nodes: dict[str, Told] = {**LED, **owned(A, A), "sharding/1/running": B}
    view = a_view(
        nodes,
        now=T,
        config={"failover": True, "delivery": "at_most_once"},
        cursors={0: None, 1: cursor(at=T, run=left)},
        hooks=END,
    )
    (step,) = (each for each in failover.decide(view) if isinstance(each, Step) and each.writes)
    assert barriers(step) == [Create("~barrier/completed/scheduled/1", Mark(FIRE, T, failed=(FIRE,)).text())]


def ended(*marks: tuple[str, tuple[str, ...]], round_: str = "scheduled") -> dict[str, Told]:
    """The marks of shards that have ended, in order: the last fire of each, and those that failed there."""
    return {
        f"~barrier/completed/{round_}/{item}": Mark(fire, T, failed=failed).text()
        for item, (fire, failed) in enumerate(marks)
    }


def hook(nodes: dict[str, Told], **view: object) -> object:
    (step,) = steps(nodes, hooks=END, **view)
    assert isinstance(step, Step)
    return step.then


def test_what_is_called_at_the_end_is_told_which_shards_failed() -> None:
    nodes = {**TWO, **ended((FIRST, ()), (FIRST, (FIRST,)))}
    assert hook(nodes) == CallHook("completed/scheduled", FIRST, failed=(1,))


def test_one_that_failed_and_has_gone_on_since_failed_all_the_same_and_for_that_fire_only() -> None:
    nodes = {**TWO, **ended((SECOND, (FIRST,)), (FIRST, ()))}
    assert hook(nodes) == CallHook("completed/scheduled", FIRST, failed=(0,))
    nodes = {**TWO, **ended((SECOND, (FIRST,)), (SECOND, ()))}
    assert hook(nodes) == CallHook("completed/scheduled", SECOND)


def test_of_a_request_that_has_another_number_at_each_instance_a_failure_counts_since_the_last_call() -> None:
    before = {"~barrier/completed/asked/called": (Last("#4", A, "done").text(), 6)}
    nodes = {**TWO, **before, **ended(("#5", ("#3", "#5")), ("#7", ("#4",)), round_="asked")}
    assert hook(nodes) == CallHook("completed/asked", "#7", failed=(0,))


def test_a_shard_that_was_disabled_after_its_end_took_part() -> None:
    nodes = {**TWO, **ended((FIRST, ()), (FIRST, (FIRST,))), "sharding/1/disabled": ""}
    assert hook(nodes) == CallHook("completed/scheduled", FIRST, failed=(1,))


def test_what_is_called_at_the_end_waits_for_ends() -> None:
    assert steps({**TWO, **came(FIRST, FIRST)}, hooks=END) == []
    (step,) = steps({**TWO, **came(FIRST, FIRST, kind="completed")}, hooks=END)
    assert step == do(
        ALIVE,
        Create("~barrier/completed/scheduled/called", Last(FIRST, A, "calling").text()),
        then=CallHook("completed/scheduled", FIRST),
    )


def test_where_nothing_is_to_be_called_marks_mean_nothing() -> None:
    assert steps({**TWO, **came(FIRST, FIRST)}, hooks=Hooks()) == []


def test_the_rounds_of_the_calendar_and_of_requests_are_apart() -> None:
    asked = came("#9", "#10", round_="asked")
    (step,) = steps({**TWO, **came(FIRST, FIRST), **asked, **called(FIRST)})
    assert isinstance(step, Step)
    assert step.then == CallHook("started/asked", "#10")


def test_only_the_owner_of_the_first_shard_calls() -> None:
    nodes = {**TWO, **came(FIRST, FIRST)}
    assert len(steps(nodes, me=A)) == 1
    assert steps(nodes, me=B) == []


def test_where_the_first_shards_owner_cannot_the_first_python_worker_calls() -> None:
    for owner in (JAVA, "10.9.9.9@-@1-z"):
        nodes = {**TWO, **came(FIRST, FIRST), **owned(owner, A)}
        assert barrier.caller(a_view(nodes, me=B))
        assert not barrier.caller(a_view(nodes, me=A))
    assert barrier.caller(a_view({**TWO, **member(A, "DISABLED")}, me=B))
    assert barrier.caller(a_view({**TWO, f"~draining/{A}": ""}, me=B))


def test_one_that_was_stopped_or_is_not_in_the_job_calls_nothing() -> None:
    nodes = {**TWO, **came(FIRST, FIRST)}
    assert steps(nodes, stopped=True) == []
    assert steps({path: told for path, told in nodes.items() if path != f"~alive/{A}"}) == []


# Telling


def test_that_a_call_is_over_is_told_with_how_it_went() -> None:
    for outcome in ("done", "failed"):
        calls = {"started/scheduled": Call(FIRST, outcome)}
        assert steps({**TWO, **came(FIRST, FIRST), **called(FIRST, "calling")}, calls=calls) == [
            do(Put(CALLED, Last(FIRST, A, outcome).text(), 6), then=Called("started/scheduled"))
        ]


def test_a_call_that_somebody_has_made_again_since_is_only_forgotten() -> None:
    calls = {"started/scheduled": Call(FIRST, "done")}
    assert steps({**TWO, **came(FIRST, FIRST), **called(FIRST, "calling", by=B)}, calls=calls) == [
        do(then=Called("started/scheduled"))
    ]


def test_a_call_of_ours_whose_answer_was_lost_is_made_now() -> None:
    nodes = {**TWO, **came(FIRST, FIRST), **called(FIRST, "calling")}
    assert steps(nodes) == [do(ALIVE, Require(CALLED, 6), then=CallHook("started/scheduled", FIRST))]


def test_a_caller_that_died_over_its_call_is_stood_in_for() -> None:
    gone = "10.9.9.9@-@1-z"
    nodes = {**TWO, **came(FIRST, FIRST), **called(FIRST, "calling", by=gone)}
    assert steps(nodes) == [
        do(
            ALIVE,
            Put(CALLED, Last(FIRST, A, "calling").text(), 6),
            then=CallHook("started/scheduled", FIRST),
        )
    ]
    assert steps(nodes, me=B) == []


def test_a_call_cut_short_is_let_be_where_the_job_wants_that() -> None:
    gone = "10.9.9.9@-@1-z"
    nodes = {**TWO, **came(FIRST, FIRST), **called(FIRST, "calling", by=gone)}
    said = f"what is called once all shards have started was cut short for {FIRST} and is let be"
    assert steps(nodes, hooks=replace(BEGIN, again=False)) == [
        do(ALIVE, Put(CALLED, Last(FIRST, gone, "unknown").text(), 6), then=Say(said))
    ]
    assert steps(nodes, hooks=replace(BEGIN, again=False), me=B) == []


def test_who_stands_in_for_a_dead_caller_tells_what_that_was_to_tell() -> None:
    """The shards may have gone on since."""
    last = Last(FIRST, B, "calling", disabled=(3,), failed=(1, 2))
    nodes = {**LED, **owned(A, A), "~barrier/completed/scheduled/called": (last.text(), 6)}
    (step,) = steps(nodes, hooks=END)
    assert step == do(
        ALIVE,
        Put("~barrier/completed/scheduled/called", replace(last, by=A).text(), 6),
        then=CallHook("completed/scheduled", FIRST, disabled=(3,), failed=(1, 2)),
    )


def test_a_vital_call_cut_short_and_let_be_lets_nobody_begin() -> None:
    nodes = {**LED, **owned(A, A), **called(FIRST, "calling", by=B)}
    (step,) = steps(nodes, hooks=Hooks(started=True, again=False, vital=True))
    assert isinstance(step, Step)
    assert step.writes == (ALIVE, Put(CALLED, Last(FIRST, B, "vetoed").text(), 6))


def test_a_call_that_somebody_alive_makes_is_waited_for() -> None:
    nodes = {**TWO, **came(SECOND, SECOND), **called(FIRST, "calling", by=B)}
    assert steps(nodes) == []


# Waiting no longer


def test_shards_that_do_not_come_are_waited_for_as_long_as_the_job_wants() -> None:
    nodes = {**TWO, **came(FIRST, None)}
    patient = replace(BEGIN, started_timeout=30.0)
    early = steps(nodes, hooks=patient, now=T + timedelta(seconds=10), boot=500.0)
    assert early == [Look(520.0, "have all shards started?")]
    said = f"not all shards have started for {FIRST} within 30 s: it is not waited for"
    assert steps(nodes, hooks=patient, now=T + timedelta(seconds=30)) == [
        do(ALIVE, Create(CALLED, Last(FIRST, A, "timed out").text()), then=Say(said))
    ]
    assert steps(nodes, hooks=patient, now=T + timedelta(seconds=30), me=B) == []


def test_the_wait_begins_with_the_first_shard_of_the_fire() -> None:
    slow = {**TWO, **came(SECOND, FIRST, at=T), **called(FIRST)}
    first = {"~barrier/started/scheduled/0": Mark(SECOND, T + timedelta(seconds=10)).text()}
    patient = replace(BEGIN, started_timeout=30.0)
    assert steps({**slow, **first}, hooks=patient, now=T + timedelta(seconds=35), boot=500.0) == [
        Look(505.0, "have all shards started?")
    ]


def test_each_hook_has_its_own_patience() -> None:
    nodes = {**TWO, **came(FIRST, None, kind="completed")}
    late = T + timedelta(seconds=60)
    assert steps(nodes, hooks=Hooks(completed=True, started_timeout=1.0), now=late) == []
    (step,) = steps(nodes, hooks=Hooks(completed=True, completed_timeout=60.0), now=late)
    assert isinstance(step, Step)
    assert step.then == Say(f"not all shards have completed for {FIRST} within 60 s: it is not waited for")


def test_who_has_no_patience_to_lose_waits_on() -> None:
    assert steps({**TWO, **came(FIRST, None)}, now=T + timedelta(days=1)) == []
    patient = replace(BEGIN, started_timeout=30.0)
    assert steps({**TWO, **came(FIRST, FIRST), **called(FIRST)}, hooks=patient, now=T) == []


def test_shards_of_a_group_wait_a_minute_at_most_as_they_may_wait_for_one_anothers_places() -> None:
    few = {"group": "few", "concurrency": 1}
    nodes = {**TWO, **came(FIRST, None)}
    assert steps(nodes, config=few, boot=500.0) == [Look(560.0, "have all shards started?")]
    (step,) = steps(nodes, config=few, now=T + timedelta(minutes=1))
    assert isinstance(step, Step)
    assert step.then == Say(f"not all shards have started for {FIRST} within 60 s: it is not waited for")
    ended = {**TWO, **came(FIRST, None, kind="completed")}
    assert steps(ended, config=few, hooks=END, now=T + timedelta(days=1)) == []


# Holding


def test_a_held_run_begins_only_when_the_call_for_its_fire_is_over() -> None:
    nodes = {**TWO, **came(SECOND, SECOND)}

    def released(more: dict[str, Told]) -> list[object]:
        return [
            each
            for each in steps({**nodes, **more}, me=B, runs={1: held(SECOND)})
            if isinstance(each, Step) and isinstance(each.then, Go)
        ]

    assert released({}) == []
    assert released(called(FIRST)) == []
    assert released(called(SECOND, "calling")) == []
    for state in ("done", "failed", "timed out", "unknown"):
        assert released(called(SECOND, state)) == [do(then=Go((1,)))]
    assert released(called(THIRD)) == [do(then=Go((1,)))]


def test_what_a_call_forbids_does_not_begin_whichever_process_has_it() -> None:
    nodes = {**TWO, **came(FIRST, SECOND), **called(FIRST, "vetoed", by=B)}
    runs = {0: held(FIRST), 1: held(SECOND)}
    assert steps(nodes, runs=runs, hooks=BEGIN) == [do(then=Veto((0,)))]
    # The same request has another number at each instance: the call is for both.
    asked = {"~barrier/started/asked/called": (Last("#7", B, "vetoed").text(), 6)}
    assert steps({**TWO, **asked}, runs={0: held("#6"), 1: held("#8")}) == [do(then=Veto((0,)))]


def test_what_was_forbidden_is_so_still_where_the_next_fire_was_called_for_meanwhile() -> None:
    last = Last(SECOND, B, "timed out", before=(FIRST,))
    nodes = {**TWO, **came(FIRST, SECOND), CALLED: (last.text(), 6)}
    runs = {0: held(FIRST), 1: held(SECOND)}
    assert steps(nodes, runs=runs, hooks=BEGIN) == [do(then=Veto((0,))), do(then=Go((1,)))]
    (step,) = steps({**TWO, **came(THIRD, THIRD), **called(SECOND, "vetoed")})
    assert isinstance(step, Step)
    assert step.writes[-1] == Put(CALLED, Last(THIRD, A, "calling", before=(SECOND,)).text(), 6)


def test_what_was_forbidden_is_so_still_where_later_fires_were_forbidden_too() -> None:
    """Who rescues a shard may come to it when several fires have been called for."""
    last = Last(THIRD, B, "vetoed", before=(FIRST, SECOND))
    nodes = {**TWO, **came(FIRST, SECOND), CALLED: (last.text(), 6)}
    assert steps(nodes, runs={0: held(FIRST), 1: held(SECOND)}, hooks=BEGIN) == [do(then=Veto((0, 1)))]
    many = tuple(f"2030-01-01T00:{minute:02}:00+00:00" for minute in range(barrier.MOST_VETOES + 5))
    assert Last(SECOND, B, "vetoed", before=many).vetoed == (*many[-barrier.MOST_VETOES + 1 :], SECOND)


def test_what_somebody_wants_of_a_fire_of_the_past_is_not_forbidden() -> None:
    nodes = {**TWO, **came(FIRST, FIRST), **called(FIRST, "vetoed")}
    wanted = cursor(at=T, run=Tenure(A, "4", FIRST, "trigger", 1001), past=True)
    assert steps(nodes, runs={0: held(FIRST)}, cursors={0: wanted, 1: None}) == [do(then=Go((0,)))]


def test_only_what_is_held_and_has_not_ended_is_let_go() -> None:
    runs = {0: held(FIRST), 1: held(FIRST, "cut short"), 2: Run("4", fire=FIRST), 3: held(FIRST)}
    nodes = {**TWO, **came(FIRST, FIRST, FIRST, FIRST), **called(FIRST)}
    assert steps(nodes, config={"shards": 4}, runs=runs) == [do(then=Go((0, 3)))]


def test_a_call_for_the_calendar_lets_go_nothing_that_was_asked_for() -> None:
    nodes = {**TWO, **came(FIRST, FIRST), **called(FIRST), **came("#7", None, round_="asked")}
    assert steps(nodes, runs={0: held("#7")}) == [Look(1060.0, "have all shards started?")]
    over: dict[str, Told] = {"~barrier/started/asked/called": Last("#7", A, "done").text()}
    assert steps({**nodes, **over}, runs={0: held("#7")}) == [do(then=Go((0,)))]


def test_who_waits_for_all_to_complete_runs_what_a_dead_member_left_and_then_calls() -> None:
    """Seed 002's deadlock: nobody holds a thread while it waits, so one thread is enough."""
    place = f"{latch.place(a_view(), failover.LATCH)}0000000001"
    on = {"failover": True}
    done: dict[str, Told] = {**LED, **owned(A, A), **came(FIRST, None, kind="completed")}
    left = {0: cursor(at=T), 1: cursor(at=T, run=Tenure(B, "3", FIRE, "scheduled", 1))}
    waiting = {**done, "leader/failover/items/1": "", place: ""}
    (taken,) = failover.decide(a_view(waiting, now=T, config=on, cursors=left, hooks=END, slots=1))
    assert isinstance(taken, Step)
    assert isinstance(taken.then, Start)
    assert [(each.item, each.fire) for each in taken.then.claims] == [(1, FIRST)]

    mine = {0: cursor(at=T), 1: cursor(at=T, run=Tenure(A, "4", FIRE, "failover", 2))}
    ran = a_view(done, now=T, config=on, cursors=mine, hooks=END, runs={1: Run("4", "ok")})
    assert list(barrier.decide(ran)) == []
    (end,) = ending.decide(ran)
    assert barriers(end) == [Create("~barrier/completed/scheduled/1", Mark(FIRE, T).text())]
    (call,) = steps({**done, **came(FIRST, FIRST, kind="completed")}, hooks=END, config=on)
    assert isinstance(call, Step)
    assert call.then == CallHook("completed/scheduled", FIRST)


# With Java members


def test_java_members_are_told_of_starts_and_ends_in_their_own_nodes() -> None:
    (step, *_) = firing.decide(a_view(MIXED, now=T, hooks=BEGIN))
    assert barriers(step) == [
        Create("~barrier/started/scheduled/0", Mark(FIRE, T, java=True).text()),
        Create("guarantee/started/0"),
    ]
    (again, *_) = firing.decide(a_view({**MIXED, "guarantee/started/0": ""}, now=T, hooks=BEGIN))
    assert barriers(again) == [
        Create("~barrier/started/scheduled/0", Mark(FIRE, T, java=True).text()),
        Require("guarantee/started/0"),
    ]
    run = Tenure(A, "3", FIRE, "scheduled", 1)
    (end,) = ending.decide(
        a_view(
            MIXED,
            now=T,
            cursors={0: cursor(at=T, run=run), 1: None},
            runs={0: Run("3", "ok")},
            hooks=END,
        )
    )
    assert barriers(end) == [
        Create("~barrier/completed/scheduled/0", Mark(FIRE, T, java=True).text()),
        Create("guarantee/completed/0"),
    ]


def test_a_shard_that_java_reported_is_not_waited_for_and_one_it_did_not_is() -> None:
    nodes: dict[str, Told] = {**MIXED, **came(FIRST), "guarantee/started/0": ""}
    assert barrier.expected(a_view({**nodes, "guarantee/started/1": ""}), "started") == [0]
    assert barrier.expected(a_view(nodes), "started") == [0, 1]
    assert steps(nodes) == []


def test_what_we_reported_of_a_shard_that_is_javas_since_is_not_taken_for_javas_word() -> None:
    """It may still run, for a later fire, where it was: the report is about the fire that our mark tells."""
    nodes: dict[str, Told] = {**MIXED, **came(SECOND, FIRST, java=True)}
    nodes |= {"guarantee/started/0": "", "guarantee/started/1": ""}
    ours, again = a_view(nodes), a_view(nodes, made={"guarantee/started/1": 9})
    place = ("started", "scheduled")
    assert barrier.expected(ours, "started") == [0, 1]
    assert barrier.reached(ours, place, None) == FIRST
    assert barrier.expected(again, "started") == [0], "Java has called since, and reported anew"
    called_for = a_view({**nodes, **called(FIRST)})
    assert barrier.expected(called_for, "started") == [0], "what was called for keeps nobody waiting"


def test_a_shard_that_one_of_us_still_runs_is_waited_for_whoever_owns_and_reported_it() -> None:
    """It was moved while it ran, and what stands there is about an earlier fire."""
    nodes: dict[str, Told] = {**MIXED, **came(SECOND), "guarantee/started/1": ""}
    assert barrier.expected(a_view(nodes), "started") == [0]
    assert barrier.expected(a_view({**nodes, "sharding/1/running": A}), "started") == [0, 1]
    assert barrier.expected(a_view(nodes, runs=running(1)), "started") == [0, 1]


REPORTED: dict[str, Told] = {
    **MIXED,
    **came(FIRST),
    "guarantee/started": "",
    "guarantee/started/0": "",
    "guarantee/started/1": "",
}


def test_among_java_members_whoever_would_call_stands_in_their_line() -> None:
    assert steps(REPORTED) == [do(Create(MY_PLACE, ephemeral=True, sequential=True))]
    assert steps({**REPORTED, MINE: "", JAVAS: ""}) == []
    assert steps({**REPORTED, MINE: ""}) == [
        do(
            ALIVE,
            Create(CALLED, Last(FIRST, A, "calling", round=1).text()),
            Delete(MINE),
            then=CallHook("started/scheduled", FIRST),
        )
    ]


def test_a_java_member_that_reported_last_has_a_while_to_call_itself_or_to_begin_to_wait() -> None:
    just_now = {"guarantee/started/1": 99.5}
    assert steps({**REPORTED, MINE: ""}, since=just_now, boot=100.0) == [
        Look(99.5 + sharding.HEED, "Java members may call that all shards have started")
    ]


def test_java_members_go_on_when_our_call_has_ended_and_not_before() -> None:
    def told(state: str, round_: int = 1) -> dict[str, Told]:
        return {**REPORTED, CALLED: (Last(FIRST, A, state, round_).text(), 6)}

    going_on = {"calls": {"started/scheduled": Call(FIRST)}}
    assert steps(told("calling"), **going_on) == []
    closing = do(Require(CALLED, 6), Delete("guarantee/started", recursive=True))
    for state in ("done", "failed", "timed out", "unknown"):
        assert steps(told(state)) == [closing]
    # They have waited long enough, and are in another round.
    assert steps(told("done", round_=7)) == []


def test_after_the_last_java_members_go_on_with_the_call() -> None:
    nodes: dict[str, Told] = {
        **MIXED,
        **came(FIRST, kind="completed", java=True),
        **{"guarantee/completed": "", "guarantee/completed/0": "", "guarantee/completed/1": ""},
    }
    line = "guarantee/completed-latch"
    (step,) = steps({**nodes, f"{latch.place(a_view(), line)}0000000004": ""}, hooks=END)
    assert isinstance(step, Step)
    assert Delete("guarantee/completed", recursive=True) in step.writes


def test_what_a_java_member_has_called_for_is_not_called_for_again_at_its_next_fire() -> None:
    nodes: dict[str, Told] = {
        **MIXED,
        **came(FIRST, kind="completed", java=True),
        **{"guarantee/completed": "", "guarantee/completed/1": ""},
    }
    assert steps(nodes, hooks=END) == []


def test_what_java_members_left_in_the_round_goes_with_the_call() -> None:
    assert steps({**TWO, **came(FIRST, FIRST), "guarantee/started/0": ""}) == [
        do(
            ALIVE,
            Create(CALLED, Last(FIRST, A, "calling").text()),
            Delete("guarantee/started", recursive=True),
            then=CallHook("started/scheduled", FIRST),
        )
    ]


def test_whose_reason_to_call_has_gone_leaves_the_line() -> None:
    nodes: dict[str, Told] = {**MIXED, **came(FIRST), MINE: ""}
    assert steps(nodes) == [do(Delete(MINE))]
    assert steps({**nodes, JAVAS: ""}) == [do(Delete(MINE))]
    no_longer_the_caller = {**MIXED, **member(B), **owned(B, A), **came(FIRST, FIRST), MINE: ""}
    assert steps(no_longer_the_caller) == [do(Delete(MINE))]


def test_who_waits_no_longer_among_java_members_says_so_at_once() -> None:
    nodes: dict[str, Told] = {**MIXED, **came(FIRST), "guarantee/started": "", "guarantee/started/0": ""}
    said = f"not all shards have started for {FIRST} within 5 s: it is not waited for"
    late = {"hooks": replace(BEGIN, started_timeout=5.0), "now": T + timedelta(seconds=9)}
    assert steps(nodes, **late) == [
        do(
            ALIVE,
            Create(CALLED, Last(FIRST, A, "timed out", round=1).text()),
            then=Say(said),
        )
    ]


def test_a_held_run_begins_when_a_java_member_has_called_and_closed_the_round() -> None:
    nodes: dict[str, Told] = {**MIXED, **came(FIRST, java=True)}
    assert steps({**nodes, "guarantee/started/0": ""}, runs={0: held(FIRST)}) == []
    assert steps(nodes, runs={0: held(FIRST)}) == [do(then=Go((0,)))]
    assert steps(nodes, runs={0: held(SECOND)}) == []


def test_a_java_member_that_joins_while_a_run_is_held_does_not_let_it_go() -> None:
    """There is no node of ours in its round, because nobody was to be told: that closes nothing."""
    nodes: dict[str, Told] = {**TWO, **member(JAVA), **came(FIRST, None)}
    assert steps(nodes, runs={0: held(FIRST)}) == []


def test_one_that_stands_in_for_a_dead_caller_needs_no_place_in_line() -> None:
    gone = called(FIRST, "calling", by="10.9.9.9@-@1-z")
    nodes: dict[str, Told] = {**MIXED, **came(FIRST), **gone, MINE: "", JAVAS: ""}
    assert steps(nodes) == [
        do(
            ALIVE,
            Put(CALLED, Last(FIRST, A, "calling").text(), 6),
            then=CallHook("started/scheduled", FIRST),
        ),
        do(Delete(MINE)),
    ]


# In odd company


def test_requests_made_one_by_one_to_all_instances_are_answered_by_one_call() -> None:
    """ElasticJob's console makes `trigger/<id>` node by node: the same request, #101 here and #102 there."""
    node = "~barrier/started/asked/called"
    asked = came("#101", "#102", round_="asked")
    waits = [Look(1060.0, "have all shards started?")]
    assert steps({**TWO, **came("#101", None, round_="asked")}) == waits
    assert steps({**TWO, **asked}) == [
        do(ALIVE, Create(node, Last("#102", A, "calling").text()), then=CallHook("started/asked", "#102"))
    ]
    over: dict[str, Told] = {**TWO, **asked, node: Last("#102", A, "done").text()}
    assert steps(over, runs={0: held("#101")}) == [do(then=Go((0,)))]
    assert steps(over, runs={1: held("#102")}, me=B) == [do(then=Go((1,)))]


def test_a_new_request_is_called_for_when_it_has_come_to_all_again() -> None:
    node = "~barrier/started/asked/called"
    before: dict[str, Told] = {**TWO, node: (Last("#102", A, "done").text(), 6)}
    waits = [Look(1060.0, "have all shards started?")]
    assert steps({**before, **came("#110", "#102", round_="asked")}) == waits
    (step,) = steps({**before, **came("#110", "#109", round_="asked")})
    assert step == do(
        ALIVE, Put(node, Last("#110", A, "calling").text(), 6), then=CallHook("started/asked", "#110")
    )


def test_a_clock_that_was_set_back_an_hour_makes_nobody_wait_an_hour() -> None:
    """Seed 1132: the time from which the others were waited for lay in the future."""
    nodes: dict[str, Told] = {**TWO, **came(FIRST, None)}
    view = {"now": T - timedelta(hours=1), "hooks": replace(BEGIN, started_timeout=5.0)}
    (step,) = steps(nodes, **view)
    assert isinstance(step, Step)
    assert step.then == Say(f"not all shards have started for {FIRST} within 5 s: it is not waited for")


def test_where_nobody_may_work_any_more_one_who_is_still_there_gives_up_and_lets_go() -> None:
    """Else a run would be held for ever, and a leaver never be gone."""
    nodes: dict[str, Told] = {**member(A), f"~draining/{A}": "", **owned(A, B), **came(FIRST)}
    said = f"not all shards have started for {FIRST} within 5 s: it is not waited for"
    view = {
        "now": T + timedelta(minutes=10),
        "hooks": replace(BEGIN, started_timeout=5.0),
        "draining": True,
        "runs": {0: held(FIRST)},
    }
    assert steps(nodes, **view) == [
        do(ALIVE, Create(CALLED, Last(FIRST, A, "timed out").text()), then=Say(said))
    ]
    assert steps({**nodes, **called(FIRST, "timed out")}, **view) == [do(then=Go((0,)))]


def test_a_last_call_that_makes_no_sense_is_none() -> None:
    for text in ("", "x", "{}", "[]", '["#x", "a", "done", 1]', '["#1", "a", "done", 1e999]', "null"):
        nodes: dict[str, Told] = {**TWO, **came(FIRST, FIRST), CALLED: (text, 6)}
        assert steps(nodes) == [
            do(
                ALIVE,
                Put(CALLED, Last(FIRST, A, "calling").text(), 6),
                then=CallHook("started/scheduled", FIRST),
            )
        ]


def test_one_that_stands_in_for_a_dead_caller_does_not_close_javas_next_round() -> None:
    gone = called(FIRST, "calling", by="10.9.9.9@-@1-z")
    nodes: dict[str, Told] = {**MIXED, **came(FIRST), **gone, "guarantee/started/1": ""}
    (step,) = steps(nodes)
    assert isinstance(step, Step)
    assert Delete("guarantee/started", recursive=True) not in step.writes


def test_a_leaver_beside_java_members_alone_does_not_hold_its_run_for_ever() -> None:
    nodes: dict[str, Told] = {**MIXED, f"~draining/{A}": "", **came(FIRST, java=True)}
    patient = replace(BEGIN, started_timeout=5.0)
    late = T + timedelta(minutes=10)
    reported: dict[str, Told] = {**nodes, "guarantee/started": "", "guarantee/started/0": ""}
    assert steps(reported, hooks=patient, now=late, draining=True, runs={0: held(FIRST)}) != []
