"""What concurrent clients see of a registry could have happened one after the other."""

import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from shardwright.registry import Create, Delete, Landed, Outcome, Put, Refused, Require, Unknown, Write
from shardwright.registry.tree import Node

from .clusters import DRIVERS, ZOOKEEPER, MakeCluster, driver, make_cluster
from .linearizability import KEYS, NEVER, Op, beside_others, misnumbered, race, stuck, untimely
from .summary import SAY

__all__ = ["driver", "make_cluster"]

REFUSED, UNKNOWN = Refused("for the test"), Unknown("for the test")


def commit(asked: float, answered: float, outcome: Outcome, *writes: Write) -> Op:
    return Op(0, "/k", writes, outcome, asked, answered)


def read(asked: float, answered: float, data: str | None, version: int = 0) -> Op:
    return Op(0, "/k", (), None if data is None else Node(data, version, "", 1, 1), asked, answered)


CREATED = commit(0, 1, Landed(1), Create("/k", "1"))


# -- the checkers, on histories made by hand ----------------------------------------------------------


@pytest.mark.parametrize(
    "history",
    [
        [],
        [read(0, 1, None)],
        [CREATED, read(2, 3, "1")],
        [CREATED, read(0.5, 3, "1")],
        [CREATED, read(0.5, 3, None)],
        [CREATED, commit(0.5, 3, REFUSED, Create("/k", "2")), read(4, 5, "1")],
        [CREATED, commit(2, 3, Landed(2), Delete("/k", 0)), read(4, 5, None)],
        [CREATED, commit(2, 6, Landed(2), Put("/k", "2", 0)), read(3, 4, "1"), read(4.5, 5, "2", 1)],
        [CREATED, commit(2, 3, Landed(2), Require("/k", 0), Put("/k", "2")), read(4, 5, "2", 1)],
    ],
    ids=[
        "nothing at all",
        "nothing is there",
        "a read after a write",
        "a read beside a write sees it",
        "a read beside a write does not see it",
        "of two who create one wins",
        "what was deleted is gone",
        "two reads beside a write see it come",
        "a guarded put",
    ],
)
def test_a_history_that_could_be_is_let_through(history: list[Op]) -> None:
    assert stuck(history) == []
    assert stuck(history[::-1]) == []


@pytest.mark.parametrize(
    ("history", "at"),
    [
        ([CREATED, commit(2, 3, Landed(2), Put("/k", "2")), read(4, 5, "1")], {2}),
        ([CREATED, read(2, 3, None)], {1}),
        ([CREATED, read(2, 3, "never written")], {1}),
        ([CREATED, commit(2, 3, REFUSED, Put("/k", "2", 0))], {1}),
        (
            [
                CREATED,
                commit(2, 5, Landed(2), Put("/k", "2", 0)),
                commit(3, 6, Landed(3), Put("/k", "3", 0)),
            ],
            {1, 2},
        ),
        (
            [
                CREATED,
                commit(2, 9, Landed(2), Put("/k", "2")),
                read(3, 4, "2", 1),
                read(5, 6, "1", 0),
            ],
            {3},
        ),
        ([commit(0, 2, Landed(1), Create("/k", "1")), commit(1, 3, Landed(2), Create("/k", "2"))], {0, 1}),
    ],
    ids=[
        "a stale read",
        "a lost create",
        "a read out of thin air",
        "a refusal without a reason",
        "a lost update",
        "a read that goes back in time",
        "two winners",
    ],
)
def test_a_history_that_could_not_be_is_caught_where_it_goes_wrong(history: list[Op], at: set[int]) -> None:
    assert set(stuck(history)) <= {history[n] for n in at}
    assert stuck(history)


def test_a_commit_with_an_unknown_end_may_have_landed_or_land_later_or_never() -> None:
    lost = commit(2, NEVER, UNKNOWN, Put("/k", "2"))
    landed, never = read(3, 4, "2", 1), read(3, 4, "1", 0)
    later = replace(landed, asked=8, answered=9)
    assert stuck([CREATED, lost, landed]) == []
    assert stuck([CREATED, lost, never]) == []
    assert stuck([CREATED, lost, never, later]) == []


def test_a_commit_with_an_unknown_end_lands_once_at_most_and_not_before_it_was_asked_for() -> None:
    lost = commit(2, NEVER, UNKNOWN, Put("/k", "2"))
    assert stuck([CREATED, lost, read(1.2, 1.5, "2", 1)])
    assert stuck([CREATED, lost, read(3, 4, "2", 1), read(5, 6, "1", 0)])
    assert stuck([CREATED, lost, read(3, 4, "2", 2)])


def test_a_commit_with_an_unknown_end_lands_only_where_it_could() -> None:
    lost = commit(2, NEVER, UNKNOWN, Put("/k", "2", 5))
    assert stuck([CREATED, lost, read(3, 4, "1", 0)]) == []
    assert stuck([CREATED, lost, read(3, 4, "2", 1)])


def test_a_long_history_of_many_beside_each_other_is_decided_in_time() -> None:
    history = [CREATED]
    for n in range(1, 150):
        base = 2.0 * n
        history += [commit(base, base + 5, Landed(n + 1), Put("/k", f"{n + 1}", n - 1))]
        history += [commit(base, base + 5, REFUSED, Put("/k", "late", n - 2))] if n > 1 else []
    assert stuck(history) == []


def test_numbers_that_do_not_follow_time_are_caught() -> None:
    first, second = commit(0, 1, Landed(7), Create("/k")), commit(2, 3, Landed(6), Put("/k", "2"))
    assert untimely([first, second]) == [(first, second)]
    assert untimely([first, replace(second, outcome=Landed(8))]) == []
    assert untimely([first, replace(second, asked=0.5)]) == []
    same = replace(second, asked=0.5, outcome=Landed(7))
    assert untimely([first, same]) == [(first, same), (same, first)]


def test_a_node_that_tells_another_number_than_its_writer_was_told_is_caught() -> None:
    wrong = Op(0, "/k", (), Node("1", 0, "", 1, 9), 2, 3)
    assert misnumbered([CREATED, read(2, 3, "1"), wrong]) == [wrong]


# -- the drivers --------------------------------------------------------------------------------------


def check(history: list[Op]) -> None:
    for key in KEYS:
        assert stuck([op for op in history if op.key == key]) == []
    assert untimely(history) == []
    assert misnumbered(history) == []


def told(driver: str, began: float, history: list[Op], seeds: int) -> str:
    outcomes = [op.outcome for op in history if op.writes]
    counts = ", ".join(
        f"{sum(isinstance(outcome, kind) for outcome in outcomes)} {kind.__name__.lower()}"
        for kind in (Landed, Refused, Unknown)
    )
    reads = len(history) - len(outcomes)
    seconds = time.monotonic() - began
    beside = beside_others(history) / len(history)
    return (
        f"linearizability, {driver}: {len(history)} operations of 4 clients in {seeds} runs, "
        f"{beside:.0%} beside another: {counts}, {reads} reads; {seconds:.0f} s"
    )


@pytest.mark.parametrize("driver", DRIVERS, indirect=True)
def test_concurrent_clients_see_one_order_of_things(
    driver: str, make_cluster: MakeCluster, record_property: Callable[[str, object], None]
) -> None:
    began, everything = time.monotonic(), list[Op]()
    for seed in range(3):
        cluster = make_cluster()
        try:
            history = race(cluster, seed)
        finally:
            cluster.close()
        check(history)
        assert len(history) >= 200
        everything += history
    record_property(SAY, told(driver, began, everything, 3))
    assert not any(op.is_open for op in everything)


@pytest.mark.parametrize("driver", ["memory", ZOOKEEPER], indirect=True)
def test_concurrent_clients_see_one_order_of_things_on_a_road_that_breaks(
    driver: str, make_cluster: MakeCluster, record_property: Callable[[str, object], None]
) -> None:
    began, everything = time.monotonic(), list[Op]()
    for seed in range(3):
        cluster = make_cluster()
        try:
            history = race(cluster, seed, breaking=0.08)
        finally:
            cluster.close()
        check(history)
        assert len(history) >= 200
        everything += history
    record_property(SAY, told(f"{driver}, breaking", began, everything, 3))
    assert sum(op.is_open for op in everything) > 10
