"""Tidying: what failover and monitoring leave behind in a job that has switched them off. And what is told of
who leads."""

from shardwright.coordination import ending, failover, leader, tidying
from shardwright.coordination.claim import Cursor, Tenure
from shardwright.coordination.step import Create, Delete, Forget, Put, Require, Step, Write, do
from shardwright.coordination.view import Run

from .test_firing import FIRE, T, cursor, owned
from .views import JAVA, A, B, Told, a_view, member

WARRANT: tuple[Write, ...] = (Require(f"~alive/{A}"), Require(leader.NODE), Require(leader.TERM, 4))
LED_BY_A: dict[str, Told] = {**member(A), leader.NODE: A, leader.TERM: (A, 4)}
LEFT: dict[str, Told] = {
    "sharding/0/failover": B,
    "sharding/0/failovering": B,
    "sharding/0/running": A,
    "sharding/1/failovering": B,
    "sharding/1/disabled": "",
    "sharding/1/misfire": "",
    "leader/failover/items/1": "",
    "leader/failover/latch": "",
    **owned(A, B),
}
FAILOVERS = {
    Delete("sharding/0/failover"),
    Delete("sharding/0/failovering"),
    Delete("sharding/1/failovering"),
    Delete("leader/failover/items/1"),
}


def steps(nodes: dict[str, Told], **view: object) -> list[object]:
    return list(tidying.decide(a_view(nodes, **view)))  # type: ignore[arg-type]


def goes(nodes: dict[str, Told], **view: object) -> set[Write]:
    """What is taken away in one commit, in whatever order, by the leader's warrant."""
    (step,) = steps(nodes, **view)
    assert isinstance(step, Step)
    assert step.writes[:3] == WARRANT
    assert step.then is None
    return set(step.writes[3:])


def test_where_failover_was_switched_off_its_nodes_go_and_no_others() -> None:
    assert goes({**LED_BY_A, **LEFT}) == FAILOVERS


def test_where_monitoring_was_switched_off_the_marks_of_java_members_and_of_the_dead_go_too() -> None:
    off = {"monitor_execution": False}
    for runner in (B, JAVA):
        nodes = {**LED_BY_A, **LEFT, **(member(JAVA) if runner == JAVA else {}), "sharding/0/running": runner}
        assert goes(nodes, config=off) == {Delete("sharding/0/running"), *FAILOVERS}


ASKED: dict[str, Told] = {f"~{name}/{item}": "7" for name in ("again", "owed", "next") for item in (1, 2, 3)}


def test_what_was_asked_of_a_shard_that_a_java_leader_took_away_goes_too() -> None:
    """A leader of ours takes it away with the shard, and word left about the shard anyway."""
    nodes: dict[str, Told] = {**member(A), **owned(A, A, A), **ASKED, "config": ("", 9)}
    guards = Require(f"~alive/{A}"), Require("config", 9)
    asked = Delete("~again/3"), Delete("~owed/3")
    assert steps({**nodes, leader.NODE: JAVA, **member(JAVA)}) == [do(*guards, *asked, Delete("~next/3"))]
    assert steps({**nodes, **LED_BY_A}) == [do(*guards, *asked)]
    # One of us does it, and nobody who is not in the job.
    assert steps({**nodes, leader.NODE: JAVA, **member(JAVA), **member(B)}, me=B) == []
    assert steps({**nodes, leader.NODE: JAVA, **member(JAVA)}, stopped=True) == []


def test_the_mark_of_a_python_member_stays_until_its_run_ends_for_that_might_make_it_again() -> None:
    """Members may work by different settings, where those in the registry make no sense."""
    assert goes({**LED_BY_A, **LEFT}, config={"monitor_execution": False}) == FAILOVERS


def test_where_both_are_on_nothing_is_taken_away() -> None:
    assert steps({**LED_BY_A, **LEFT}, config={"failover": True}) == []


def test_what_is_up_of_shards_that_are_no_more_comes_down() -> None:
    nodes: dict[str, Told] = {**LED_BY_A, **LEFT, "leader/failover/items/2": ""}
    assert goes(nodes, config={"failover": True}) == {Delete("leader/failover/items/2")}


def test_where_nothing_is_left_nothing_is_written() -> None:
    assert steps({**LED_BY_A, **owned(A, B), "sharding/0/running": A}) == []


def test_shards_beyond_the_total_are_tidied_too() -> None:
    assert steps({**LED_BY_A, "sharding/7/failovering": B}) == [
        do(*WARRANT, Delete("sharding/7/failovering"))
    ]


def test_only_the_leader_tidies() -> None:
    nodes = {**LED_BY_A, **member(B), **LEFT}
    assert steps(nodes, me=B) == []
    assert steps({**nodes, leader.TERM: B}) == []


def test_a_great_many_go_some_at_a_time() -> None:
    many: dict[str, Told] = {f"sharding/{item}/failovering": B for item in range(1200)}
    found = steps({**LED_BY_A, **many}, config={"shards": 1200})
    counts = [sum(isinstance(w, Delete) for w in s.writes) for s in found if isinstance(s, Step)]
    assert counts == [500, 500, 200]


def test_a_run_whose_mark_was_tidied_away_ends_by_its_cursor() -> None:
    run = Tenure(A, "3", FIRE, "scheduled", 1)
    view = a_view(
        {**LED_BY_A, **owned(A, B)},
        now=T,
        config={"monitor_execution": False},
        cursors={0: cursor(at=T, run=run), 1: None},
        runs={0: Run("3", "ok")},
    )
    over = Cursor(made=1, at=T, last="ok", ended=T)
    assert list(ending.decide(view)) == [do(Put("~~cursor/0", over.text(), 3), then=Forget((0,)))]


def test_where_failover_is_off_what_a_dead_taker_left_is_not_put_up_again() -> None:
    nodes: dict[str, Told] = {**LED_BY_A, **owned(A, A), "sharding/1/failovering": B}
    assert list(failover.decide(a_view(nodes, now=T))) == []


def test_at_most_once_what_a_dead_taker_had_begun_is_not_put_up_again() -> None:
    """Its mark was cleared and its run accounted for as lost in the look before."""
    once = {"failover": True, "delivery": "at_most_once"}
    nodes: dict[str, Told] = {**LED_BY_A, **owned(A, A), "sharding/1/failovering": B}
    cursors = {0: None, 1: cursor(at=T, last=failover.DIED)}
    found = failover.decide(a_view(nodes, now=T, config=once, cursors=cursors))
    written = [write for step in found if isinstance(step, Step) for write in step.writes]
    assert Create("leader/failover/items/1") not in written
