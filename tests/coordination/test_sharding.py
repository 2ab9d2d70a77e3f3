"""Sharing shards out: at once, as little as must be, and so that Java members are never surprised."""

from datetime import timedelta

import pytest

from shardwright.coordination import instance, leader, sharding, strategies
from shardwright.coordination.claim import Cursor
from shardwright.coordination.step import Create, Delete, Forbid, Look, Put, Require, Say, Step, Write, do
from shardwright.registry import Node
from shardwright.registry.writes import LARGEST, weight

from .views import JAVA, NOW, A, B, Told, a_view, member

WARRANT: tuple[Write, ...] = (Require(f"~alive/{A}"), Require(leader.NODE), Require(leader.TERM, 4))
LED_BY_A: dict[str, Told] = {**member(A), leader.NODE: A, leader.TERM: (A, 4)}


def owned(*owners: str) -> dict[str, Told]:
    return {f"sharding/{item}/instance": (who, 7) for item, who in enumerate(owners)}


def steps(nodes: dict[str, Told], **view: object) -> list[object]:
    return list(sharding.decide(a_view(nodes, **view)))  # type: ignore[arg-type]


def test_the_leader_assigns_as_soon_as_one_instance_is_registered() -> None:
    assert steps(LED_BY_A) == [
        do(
            *WARRANT,
            *(Forbid("sharding/0/running"), Create("sharding/0/instance", A)),
            *(Forbid("sharding/1/running"), Create("sharding/1/instance", A)),
        )
    ]


def test_only_the_leader_shares_out() -> None:
    assert steps({**LED_BY_A, leader.NODE: B}) == []
    assert steps({**LED_BY_A, leader.TERM: B}) == []


def test_an_assignment_that_is_right_is_left_alone() -> None:
    assert steps({**LED_BY_A, **member(B), **owned(A, B)}) == []


def test_the_shards_of_a_dead_owner_move_by_set_never_by_delete_and_create() -> None:
    assert steps({**LED_BY_A, **owned(A, B)}) == [
        do(*WARRANT, Forbid("sharding/1/running"), Put("sharding/1/instance", A, 7))
    ]


def test_a_joiner_is_given_its_share_and_no_more_moves_than_that() -> None:
    (step,) = steps({**LED_BY_A, **member(B), **owned(A, A, A, A)}, config={"shards": 4})
    assert isinstance(step, Step)
    assert [write for write in step.writes if isinstance(write, Put)] == [
        Put("sharding/2/instance", B, 7),
        Put("sharding/3/instance", B, 7),
    ]


def test_with_a_shard_that_is_moved_goes_the_run_that_its_owner_was_asked_for() -> None:
    """Who gets it may have answered its own request already."""
    nodes = {**LED_BY_A, **member(B), **owned(A, A), f"trigger/{A}": ""}
    give = (Forbid("sharding/1/running"), Put("sharding/1/instance", B, 7))
    assert steps(nodes) == [do(*WARRANT, *give, Create("~owed/1", "1"))]
    ran = {0: None, 1: Node(Cursor(made=1, asked=1).text(), 3, "", 1, 1)}
    assert steps(nodes, cursors=ran) == [do(*WARRANT, *give)]
    dead = {**LED_BY_A, **owned(A, B), f"trigger/{B}": "", "~owed/1": ("1", 4)}
    give = (Forbid("sharding/1/running"), Put("sharding/1/instance", A, 7))
    assert steps(dead) == [do(*WARRANT, *give, Put("~owed/1", "1"))]


def test_a_disabled_server_and_one_that_drains_keep_nothing_that_is_idle() -> None:
    give = (Forbid("sharding/1/running"), Put("sharding/1/instance", A, 7))
    moved = do(*WARRANT, *give, Forbid(f"trigger/{B}"))
    assert steps({**LED_BY_A, **member(B, "DISABLED"), **owned(A, B)}) == [moved]
    assert steps({**LED_BY_A, **member(B), f"~draining/{B}": "", **owned(A, B)}) == [moved]


def test_for_a_shard_that_runs_the_leader_leaves_word_and_the_idle_ones_move_at_once() -> None:
    nodes = {**LED_BY_A, **member(B), **owned(A, A, A, A), "sharding/3/running": A}
    assert steps(nodes, config={"shards": 4}) == [
        do(*WARRANT, Create("~next/3", B)),
        do(*WARRANT, Forbid("sharding/2/running"), Put("sharding/2/instance", B, 7), Forbid(f"trigger/{A}")),
    ]


def test_word_that_is_no_longer_meant_is_taken_back() -> None:
    nodes = {**LED_BY_A, **member(B), **owned(A, B), "~next/1": A}
    assert steps(nodes) == [do(*WARRANT, Delete("~next/1"))]


def test_word_left_for_somebody_who_died_is_changed() -> None:
    nodes = {**LED_BY_A, **owned(A, B), f"~alive/{B}": "", "sharding/1/running": B, "~next/1": ("gone", 2)}
    assert steps(nodes) == [do(*WARRANT, Put("~next/1", A, 2))]


def test_a_mark_that_nobody_alive_has_made_holds_its_own_shard_up_and_no_other() -> None:
    """It is put up in the same look and gone in the next; moving it now would be refused, and all with it."""
    nodes = {**LED_BY_A, **owned(B, B), "sharding/1/running": B}
    (step,) = steps(nodes)
    assert isinstance(step, Step)
    assert [write for write in step.writes if isinstance(write, Put)] == [Put("sharding/0/instance", A, 7)]


def test_more_shards_are_assigned_and_fewer_are_cleared_away_unless_they_run() -> None:
    grown = steps({**LED_BY_A, **owned(A)})
    assert grown == [do(*WARRANT, Forbid("sharding/1/running"), Create("sharding/1/instance", A))]
    shrunk = steps({**LED_BY_A, **owned(A, A, A, A), "sharding/3/running": A})
    assert shrunk == [do(*WARRANT, Forbid("sharding/2/running"), Delete("sharding/2", recursive=True))]


def test_with_a_shard_goes_what_was_asked_of_it_and_not_before_its_run_has_ended() -> None:
    wanted: dict[str, Told] = {f"~{name}/{item}": "7" for name in ("again", "owed") for item in (1, 2, 3)}
    left: dict[str, Told] = {**LED_BY_A, **owned(A, A, A, A), "sharding/3/running": A, **wanted}
    goes = Delete("sharding/2", recursive=True), Delete("~again/2"), Delete("~owed/2")
    assert steps(left) == [do(*WARRANT, Forbid("sharding/2/running"), *goes)]
    # By the settings that say so: with others it may be there again, and be asked for something.
    (step,) = steps({**left, "config": ("", 9)})
    assert isinstance(step, Step)
    assert step.writes[3] == Require("config", 9)


def test_static_sharding_leaves_shards_where_they_are_and_still_follows_the_total() -> None:
    static = {"static_sharding": True}
    assert steps({**LED_BY_A, **member(B), **owned(A, A)}, config=static) == []
    (dead,) = steps({**LED_BY_A, **member(JAVA), **owned(JAVA, B)}, config=static)
    assert isinstance(dead, Step)
    assert [write for write in dead.writes if isinstance(write, Put)] == [Put("sharding/1/instance", A, 7)]
    (step,) = steps({**LED_BY_A, **owned(A)}, config=static)
    assert isinstance(step, Step)
    assert Create("sharding/1/instance", A) in step.writes


def test_a_strategy_that_answers_by_the_clock_is_asked_only_with_a_reason() -> None:
    fickle = {"strategy": "SINGLE_SHARDING_BALANCE", "shards": 1}
    assert steps({**LED_BY_A, **member(B), **owned(B)}, config=fickle) == []
    assert steps({**LED_BY_A, **member(B), **owned(A)}, config=fickle) == []
    assert len(steps({**LED_BY_A, **member(B), **owned("gone")}, config=fickle)) == 1


def test_flags_left_by_somebody_else_are_lowered_once_all_is_right() -> None:
    nodes = {**LED_BY_A, **owned(A, A), sharding.NECESSARY: "", sharding.PROCESSING: ""}
    assert steps(nodes) == [do(*WARRANT, Delete(sharding.NECESSARY), Delete(sharding.PROCESSING))]


def test_before_anything_is_taken_from_a_java_member_it_is_told_and_given_a_moment() -> None:
    nodes = {**LED_BY_A, **member(JAVA), **member(B), **owned(JAVA, JAVA, JAVA)}
    raised = {**nodes, sharding.NECESSARY: ""}
    shards = {"shards": 3}
    assert steps(nodes, config=shards) == [do(*WARRANT, Create(sharding.NECESSARY))]
    assert steps(raised, config=shards, since={sharding.NECESSARY: 1000.0}, boot=1000.4) == [
        Look(1001.0, "Java members have heeded the flag by then")
    ]
    (step,) = steps(raised, config=shards, since={sharding.NECESSARY: 1000.0}, boot=1001.0)
    assert isinstance(step, Step)
    assert step.writes[-1] == Delete(sharding.NECESSARY)


def test_nothing_of_javas_needs_no_flag() -> None:
    nodes = {**LED_BY_A, **member(JAVA), **owned(A, JAVA, "gone@-@1-x", A), "sharding/3/running": A}
    quiet = NOW + timedelta(seconds=5)
    (step,) = steps(nodes, config={"shards": 4}, now=quiet)
    assert isinstance(step, Step)
    assert step.writes[-1] == Put("sharding/2/instance", JAVA, 7)


def test_close_to_a_fire_nothing_is_given_to_a_java_member_which_would_run_it_again() -> None:
    nodes = {**LED_BY_A, **member(JAVA), **owned(A, JAVA, "gone@-@1-x", A), "sharding/3/running": A}
    for now in (NOW + timedelta(seconds=9.5), NOW + timedelta(seconds=11)):
        (look,) = steps(nodes, config={"shards": 4}, now=now)
        until = NOW + timedelta(seconds=12)
        assert look == Look(1000.0 + (until - now).total_seconds(), "a fire is near that Java may run")


def test_the_flag_stays_up_while_a_java_run_holds_a_shard_that_is_wanted() -> None:
    nodes = {
        **LED_BY_A,
        **member(JAVA),
        **member(B),
        **owned(JAVA, JAVA, JAVA),
        "sharding/0/running": JAVA,
        "sharding/1/running": JAVA,
        "sharding/2/running": JAVA,
        sharding.NECESSARY: "",
    }
    assert all(
        Delete(sharding.NECESSARY) not in step.writes
        for step in steps(nodes, config={"shards": 3})
        if isinstance(step, Step)
    )


def test_twenty_thousand_shards_are_shared_out_in_chunks_under_processing() -> None:
    config = {"shards": 20_000}
    nodes: dict[str, Told] = dict(LED_BY_A)
    chunks = 0
    while True:
        todo = steps(nodes, config=config)
        if not todo:
            break
        (step,) = todo
        assert isinstance(step, Step)
        chunks += 1
        for write in step.writes:
            if isinstance(write, Create):
                nodes[write.path] = write.data
            elif isinstance(write, Delete):
                del nodes[write.path]
        assert weight(step.writes) < LARGEST / 2
        assigned = sum(path.endswith("/instance") and path.startswith("sharding") for path in nodes)
        assert (sharding.PROCESSING in nodes) is (assigned < 20_000)
    assert 1 < chunks < 20
    assert sum(path.endswith("/instance") and path.startswith("sharding") for path in nodes) == 20_000


def test_under_a_java_leaders_flag_nobody_starts() -> None:
    flagged: dict[str, Told] = {sharding.NECESSARY: ""}
    assert not sharding.settled(a_view({**flagged, **member(JAVA), leader.NODE: JAVA}))
    assert sharding.settled(a_view({**flagged, leader.NODE: A}))
    assert sharding.settled(a_view({**member(JAVA), leader.NODE: JAVA}))


LED_BY_JAVA: dict[str, Told] = {**member(JAVA), **member(A), leader.NODE: JAVA}
LONG_QUIET = {"config": {"shards": 3, "strategy": "AVG_ALLOCATION"}, "boot": 2000.0}


def test_a_java_leader_that_overlooked_somebody_is_reminded_after_a_while() -> None:
    nodes = {**LED_BY_JAVA, **owned(JAVA, JAVA, JAVA)}
    (raised,) = steps(nodes, **LONG_QUIET)
    assert isinstance(raised, Step)
    assert raised.writes == (
        Require(instance.alive_node(A)),
        Require(leader.NODE, 0),
        Create(sharding.NECESSARY),
    )
    (look,) = steps(nodes, **LONG_QUIET, since={instance.node(A): 1995.0})
    assert isinstance(look, Look)
    assert look.at == 2005.0


def test_a_java_leader_that_does_not_see_who_has_gone_is_reminded() -> None:
    for left in (owned(JAVA, A, "gone@-@1"), owned(JAVA, A)):
        assert [type(each) for each in steps({**LED_BY_JAVA, **left}, **LONG_QUIET)] == [Step]


def test_a_java_leader_is_not_reminded_by_one_who_refused_the_settings_it_goes_by() -> None:
    theirs = (
        "jobName: job\ncron: 0/10 * * * * ?\nshardingTotalCount: 4\n"
        "shardingItemParameters: '0=a,1=b,0=c'\njobShardingStrategyType: AVG_ALLOCATION\n"
    )
    nodes = {**LED_BY_JAVA, **owned(JAVA, JAVA, A, A), "config": theirs}
    refusing = {"config": {"shards": 3, "strategy": "AVG_ALLOCATION"}, "boot": 2000.0, "adopted": theirs}
    assert steps(nodes, **refusing) == []


def test_a_java_leader_is_not_reminded_of_what_one_of_ours_shared_out_fairly_by_a_strategy_of_its_own() -> (
    None
):
    fair = {**LED_BY_JAVA, **owned(A, JAVA)}
    assert steps(fair, config={"shards": 2}, boot=2000.0) == []
    unfair = {**LED_BY_JAVA, **owned(A, A)}
    assert [type(each) for each in steps(unfair, config={"shards": 2}, boot=2000.0)] == [Step]


@pytest.mark.parametrize(
    ("more", "config"),
    [
        ({**owned(JAVA, A, JAVA)}, {}),
        ({**owned(JAVA, JAVA, JAVA), sharding.NECESSARY: ""}, {}),
        ({**owned(JAVA, JAVA, JAVA), sharding.PROCESSING: ""}, {}),
        ({**owned(JAVA, JAVA, JAVA)}, {"static_sharding": True}),
        ({**owned(JAVA, A, JAVA)}, {"strategy": "sticky"}),
        ({**owned(JAVA, JAVA, JAVA)}, {"strategy": "java:com.example.OfTheirOwn"}),
        ({**owned(A, A, JAVA)}, {"strategy": "SINGLE_SHARDING_BALANCE"}),
        ({**owned(JAVA, A, JAVA), "~draining/" + A: ""}, {}),
    ],
    ids=["right", "flagged", "at it", "static", "default", "not to be told", "rotated", "draining"],
)
def test_a_java_leader_that_missed_nothing_is_left_alone(
    more: dict[str, Told], config: dict[str, object]
) -> None:
    settings = {"shards": 3, "strategy": "AVG_ALLOCATION", **config}
    assert steps({**LED_BY_JAVA, **more}, config=settings, boot=2000.0) == []


def test_a_users_strategy_that_fails_is_stood_in_for_and_said() -> None:
    def fails(question: strategies.Question) -> dict[int, str]:
        raise ZeroDivisionError("by zero")

    strategies.register("fails", fails)
    said, step = steps(LED_BY_A, config={"strategy": "fails"})
    assert said == do(
        then=Say(
            "the sharding strategy 'fails' failed (ZeroDivisionError('by zero')): 'sticky' stands in for it"
        )
    )
    assert isinstance(step, Step)
    assert Create("sharding/0/instance", A) in step.writes
