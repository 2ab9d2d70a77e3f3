"""Leaving in order, and being able to leave whatever the others do."""

from shardwright import coordination, elasticjob
from shardwright.coordination import instance, leader, leaving, server
from shardwright.coordination.step import CallHook, Create, Delete, Leave, Step, do
from shardwright.coordination.view import Call, Hooks

from .views import JAVA, MADE, A, B, Told, a_view, member, running

GONE = do(Delete(f"instances/{A}"), Delete(f"~alive/{A}"), Delete(f"~draining/{A}"), then=Leave())
DRAINING: dict[str, Told] = {**member(A), f"~draining/{A}": ""}
FIRE = "2030-01-01T00:00:00+00:00"
MARK = f"{FIRE} {FIRE} {MADE}"
OWNS: dict[str, Told] = {"sharding/0/instance": A}


def test_a_leaver_says_so_first() -> None:
    view = a_view({**member(A), **member(B)}, draining=True)
    assert list(leaving.decide(view)) == [do(Create(f"~draining/{A}", ephemeral=True))]


def test_a_leaver_keeps_its_nodes_until_its_runs_have_ended_and_its_shards_are_handed_over() -> None:
    nodes = {**DRAINING, **member(B)}
    assert list(leaving.decide(a_view({**nodes, **OWNS}, draining=True))) == []
    assert list(leaving.decide(a_view(nodes, draining=True, runs=running(0)))) == []
    assert list(leaving.decide(a_view({**nodes, "sharding/0/instance": B}, draining=True))) == [GONE]


def test_a_leaver_stays_until_the_hook_it_calls_has_been_called() -> None:
    """Seeds 247 and 289: gone too early, it was taken for a dead caller, and another one called again."""
    calls = {"completed/scheduled": Call("2030-01-01T00:00:00+00:00")}
    assert list(leaving.decide(a_view({**DRAINING, **member(B)}, draining=True, calls=calls))) == []
    assert list(instance.decide(a_view({f"~alive/{A}": ""}, stopped=True, calls=calls))) == []


def test_the_last_one_leaves_although_its_shards_are_its_own() -> None:
    assert list(leaving.decide(a_view({**DRAINING, **OWNS}, draining=True))) == [GONE]


def test_nobody_waits_for_those_who_may_not_work_to_take_its_shards() -> None:
    nodes = {**DRAINING, **OWNS, **member(B, "DISABLED")}
    assert list(leaving.decide(a_view(nodes, draining=True))) == [GONE]


def test_where_shards_stay_where_they_are_nobody_waits_for_them_to_go() -> None:
    view = a_view({**DRAINING, **OWNS, **member(B)}, draining=True, config={"static_sharding": True})
    assert list(leaving.decide(view)) == [GONE]


def test_a_java_leader_does_not_know_that_we_leave_so_we_do_not_wait_for_it() -> None:
    nodes = {**DRAINING, **OWNS, **member(JAVA), leader.NODE: JAVA}
    assert list(leaving.decide(a_view(nodes, draining=True))) == [GONE]


def test_one_whose_leaving_landed_unheard_or_whose_session_was_lost_has_left() -> None:
    assert list(leaving.decide(a_view(draining=True))) == [do(then=Leave())]
    assert list(leaving.decide(a_view(draining=True, stopped=True))) == [do(then=Leave())]


def test_one_whose_session_has_just_ended_has_not_left_while_something_runs_here() -> None:
    """Seed 11: the news that our nodes are gone comes before the news that the session is."""
    assert list(leaving.decide(a_view(draining=True, runs=running(0)))) == []


def test_one_that_never_came_in_leaves_although_the_settings_make_no_sense() -> None:
    view = a_view({"config": "cron: ["}, draining=True)
    assert do(then=Leave()) in list(coordination.decide(view))


def test_a_job_that_was_removed_is_not_made_again_by_those_who_are_told_to_stop() -> None:
    assert list(server.decide(a_view({f"~alive/{A}": ""}))) == []


def test_one_that_has_just_decided_to_do_something_does_not_leave_in_the_same_look() -> None:
    """Seeds 11 and 77: it claimed the call of a hook, and was gone before it had called."""
    text = elasticjob.write_config(a_view().config)
    nodes: dict[str, Told] = {**DRAINING, "": "", "config": text, "~barrier/completed/scheduled/0": MARK}
    nodes |= {"~barrier/completed/scheduled/1": MARK}
    steps = list(coordination.decide(a_view(nodes, draining=True, adopted=text, hooks=Hooks(completed=True))))
    assert [each.then for each in steps if isinstance(each, Step)] == [CallHook("completed/scheduled", FIRE)]
    quiet = list(coordination.decide(a_view(nodes, draining=True, adopted=text)))
    assert quiet == [GONE]
