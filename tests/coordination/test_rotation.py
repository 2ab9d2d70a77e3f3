"""Rotation: with SINGLE_SHARDING_BALANCE a job of one shard goes round."""

from shardwright.coordination import ending, failover, firing, leader, rotation, sharding, tidying
from shardwright.coordination.claim import Cursor, Tenure
from shardwright.coordination.step import Claim, Create, Delete, Forbid, Forget, Put, Require, Step, Write
from shardwright.coordination.view import Run, Source

from .test_firing import FIRE, LED, T, cursor, owned, starts
from .views import JAVA, NOW, A, B, Told, a_view, member

ROUND = {"strategy": rotation.STRATEGY, "shards": 1}
C = "10.0.0.4@-@14-c"
TWO: dict[str, Told] = {**LED, **member(B)}
OVER = Put("~~cursor/0", Cursor(made=1, at=T, last="ok", ended=T).text(), 3)


def end(nodes: dict[str, Told], me: str = A, **view: object) -> list[Write]:
    """What the end of a run writes, after its cursor and its mark."""
    run = Tenure(me, "3", FIRE, "scheduled", 1)
    shown = a_view(
        {**nodes, "sharding/0/running": me},
        me=me,
        now=T,
        runs={0: Run("3", "ok")},
        **{"cursors": {0: cursor(at=T, run=run), 1: None}, "config": ROUND, **view},  # type: ignore[arg-type]
    )
    (step,) = ending.decide(shown)
    assert step.writes[:2] == (OVER, Delete("sharding/0/running"))
    assert step.then == Forget((0,))
    return list(step.writes[2:])


def begins(nodes: dict[str, Told], me: str = A, config: dict[str, object] | None = None) -> list[Claim]:
    cursors = {0: cursor(), 1: cursor()}
    view = a_view(nodes, me=me, now=T, config=ROUND if config is None else config, cursors=cursors)
    return starts(list(firing.decide(view)))


RUN = [Claim(0, FIRE, Source.SCHEDULED, "4")]


def test_a_fire_that_fell_before_the_turn_was_ours_is_javas_who_had_it() -> None:
    nodes: dict[str, Told] = {**LED, **member(JAVA), **owned(A), rotation.NODE: "10.0.0.1"}
    known = {"config": ROUND, "cursors": {0: cursor()}, "boot": 100.0}

    def begun(since: float) -> list[Claim]:
        return starts(list(firing.decide(a_view(nodes, now=T, since={rotation.NODE: since}, **known))))  # type: ignore[arg-type]

    assert begun(since=99.0) == RUN
    assert begun(since=100.0) == []


def test_who_has_the_turn_accounts_for_what_the_dead_left_although_java_owns_the_shard() -> None:
    left = cursor(run=Tenure("10.9.9.9@-@1-z", "2", NOW.isoformat(), "scheduled", 1))
    nodes: dict[str, Told] = {**LED, **member(JAVA), **owned(JAVA), rotation.NODE: "10.0.0.1"}
    (step,) = failover.put_up_unmarked(a_view(nodes, now=T, config=ROUND, cursors={0: left}))
    assert [write.path for write in step.writes] == ["~~cursor/0"]


def test_with_the_end_of_a_run_the_turn_and_the_shard_go_to_the_next_instance() -> None:
    assert end({**TWO, **owned(A)}) == [
        Create("next-job-instance-ip", "10.0.0.2", ephemeral=True),
        Put("sharding/0/instance", B, 7),
    ]


def test_the_turn_goes_round_in_elasticjobs_order() -> None:
    """Descending by id: C, B, A, and C again."""
    three = {**TWO, **member(C)}
    following = {who: end({**three, **owned(who)}, me=who)[-1] for who in (A, B, C)}
    assert following == {
        C: Put("sharding/0/instance", B, 7),
        B: Put("sharding/0/instance", A, 7),
        A: Put("sharding/0/instance", C, 7),
    }


def test_the_turn_of_before_goes_as_the_new_one_comes() -> None:
    assert end({**TWO, **owned(A), "next-job-instance-ip": "10.0.0.1"}) == [
        Delete("next-job-instance-ip"),
        Create("next-job-instance-ip", "10.0.0.2", ephemeral=True),
        Put("sharding/0/instance", B, 7),
    ]


def test_one_that_is_alone_or_has_none_beside_it_that_may_work_keeps_its_turn() -> None:
    for nodes in (LED, {**LED, **member(B, "DISABLED")}, {**TWO, f"~draining/{B}": ""}):
        assert end({**nodes, **owned(A)}) == [Create("next-job-instance-ip", "10.0.0.1", ephemeral=True)]


def test_one_that_may_work_no_longer_passes_the_turn_to_one_that_may() -> None:
    assert end({**TWO, **member(A, "DISABLED"), **owned(A)}) == [
        Create("next-job-instance-ip", "10.0.0.2", ephemeral=True),
        Put("sharding/0/instance", B, 7),
    ]


def test_where_nobody_may_work_it_is_nobodys_turn() -> None:
    assert end({**LED, **member(A, "DISABLED"), **owned(A), "next-job-instance-ip": "10.0.0.1"}) == [
        Delete("next-job-instance-ip")
    ]


def test_the_leaders_word_on_who_is_to_have_the_shard_goes_first() -> None:
    writes = end({**TWO, **owned(A), "~next/0": (B, 2)})
    assert writes[:2] == [Put("sharding/0/instance", B, 7), Delete("~next/0", 2)]
    assert Put("sharding/0/instance", B, 7) not in writes[2:]


def test_with_two_shards_or_another_strategy_nothing_goes_round() -> None:
    others: list[dict[str, object]] = [
        {"strategy": rotation.STRATEGY, "shards": 2},
        {"strategy": "AVG_ALLOCATION", "shards": 1},
        {"shards": 1},
    ]
    for config in others:
        assert end({**TWO, **owned(A, B)}, config=config) == []
        elsewhere: dict[str, Told] = {**TWO, **owned(A, B), "next-job-instance-ip": "10.0.0.2"}
        assert begins(elsewhere, config=config) == RUN


def test_another_servers_turn_is_none_of_ours() -> None:
    nodes: dict[str, Told] = {**TWO, **owned(A), "next-job-instance-ip": "10.0.0.2"}
    assert begins(nodes) == []
    assert begins({**nodes, "next-job-instance-ip": "10.0.0.1"}) == RUN
    assert begins({**nodes, "next-job-instance-ip": ""}) == RUN
    assert begins({**TWO, **owned(A)}) == RUN


def test_whose_turn_it_is_runs_the_shard_of_another_guarded_by_its_owner() -> None:
    nodes: dict[str, Told] = {**TWO, **owned(A), "next-job-instance-ip": "10.0.0.2"}
    (step, *_) = firing.decide(a_view(nodes, me=B, now=T, config=ROUND, cursors={0: cursor()}))
    claimed = Cursor(made=1, at=T, run=Tenure(B, "4", FIRE, "scheduled", 1), began=T)
    assert isinstance(step, Step)
    assert step.writes == (
        Require(f"~alive/{B}"),
        Require("sharding/0/instance", 7),
        Create("sharding/0/running", B, ephemeral=True),
        Put("~~cursor/0", claimed.text(), 3),
    )


def test_the_turn_of_a_server_where_nobody_may_work_is_nobodys_and_the_owner_runs() -> None:
    turn: dict[str, Told] = {**owned(A), "next-job-instance-ip": "10.0.0.2"}
    assert begins({**LED, **turn}) == RUN
    assert begins({**LED, **member(B, "DISABLED"), **turn}) == RUN
    assert begins({**TWO, f"~draining/{B}": "", **turn}) == RUN


def test_while_the_shards_are_to_be_shared_out_anew_the_turn_means_nothing() -> None:
    nodes: dict[str, Told] = {**TWO, **owned(A), "next-job-instance-ip": "10.0.0.2", sharding.NECESSARY: ""}
    assert begins(nodes) == RUN
    assert begins(nodes, me=B) == []


def test_of_two_on_one_server_only_one_runs_its_owner_if_that_is_one_of_them() -> None:
    twin = "10.0.0.2@-@99-t"
    nodes: dict[str, Told] = {**TWO, **member(twin), "next-job-instance-ip": "10.0.0.2"}
    for owner, runner in ((B, B), (twin, twin), (A, twin)):
        ran = [who for who in (A, B, twin) if begins({**nodes, **owned(owner)}, me=who)]
        assert ran == [runner]


def test_one_that_ran_in_its_turn_the_shard_of_another_passes_the_turn_on() -> None:
    """A Java member may have left turn and owner apart: else it would be the same server's turn for ever."""
    three: dict[str, Told] = {**TWO, **member(C), "next-job-instance-ip": "10.0.0.1"}
    for owner in (B, C):
        assert end({**three, **owned(owner)}) == [
            Delete("next-job-instance-ip"),
            Create("next-job-instance-ip", "10.0.0.4", ephemeral=True),
        ]


def test_the_turn_is_that_of_whoever_is_given_the_shard() -> None:
    nodes: dict[str, Told] = {**TWO, **member(A, "DISABLED"), **member(C), **owned(A), "~next/0": (B, 2)}
    assert end(nodes) == [
        Put("sharding/0/instance", B, 7),
        Delete("~next/0", 2),
        Forbid(f"trigger/{A}"),
        Create("next-job-instance-ip", "10.0.0.2", ephemeral=True),
    ]


def test_a_shard_that_nobody_owns_yet_is_nobodys_turn() -> None:
    """Seed 1623: an operator deleted the shard, and its owner was asked for in vain."""
    assert begins({**TWO, "next-job-instance-ip": "10.0.0.1"}) == []


def test_the_leader_takes_away_the_turn_of_a_server_where_nobody_may_work() -> None:
    """Seed 1150: that server had gone, and the Java member that owned the shard waited for it."""
    led: dict[str, Told] = {**LED, **member(JAVA), **owned(JAVA)}

    def tidied(address: str, beside: dict[str, Told] | None = None, me: str = A) -> list[Write]:
        view = a_view({**led, **(beside or {}), rotation.NODE: address}, me=me, config=ROUND)
        return [write for step in tidying.decide(view) if isinstance(step, Step) for write in step.writes]

    gone = [*leader.warrant(a_view(led, config=ROUND)), Delete(rotation.NODE)]
    assert tidied("10.0.0.2") == gone
    assert tidied("10.0.0.2", member(B, "DISABLED")) == gone
    assert tidied("10.0.0.2", member(B)) == []
    assert tidied("10.0.0.2", me=B) == []
    assert tidied("") == []
