"""Sharding strategies: ElasticJob's exactly as theirs, and ours with as few moves as there can be."""

from collections import Counter
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardwright.coordination.strategies import (
    Question,
    answer,
    in_elasticjob_order,
    java_hash,
    register,
    sticky,
)
from shardwright.errors import ConfigError

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def shared_out(strategy: str, instances: int, shards: int, job: str = "a") -> dict[str, list[int]]:
    """Instances are called 1, 2, 3 …; the answer as elasticjob.md writes it: instance = items."""
    workers = in_elasticjob_order([str(n) for n in range(1, instances + 1)])
    owners = answer(strategy, Question(job, workers, shards, NOW))
    return {worker: [item for item, owner in owners.items() if owner == worker] for worker in workers}


@pytest.mark.parametrize(
    ("instances", "shards", "expected"),
    [
        (3, 9, {"3": [0, 1, 2], "2": [3, 4, 5], "1": [6, 7, 8]}),
        (3, 10, {"3": [0, 1, 2, 9], "2": [3, 4, 5], "1": [6, 7, 8]}),
        (3, 8, {"3": [0, 1, 6], "2": [2, 3, 7], "1": [4, 5]}),
        (3, 2, {"3": [0], "2": [1], "1": []}),
        (2, 5, {"2": [0, 1, 4], "1": [2, 3]}),
        (4, 3, {"4": [0], "3": [1], "2": [2], "1": []}),
        (5, 12, {"5": [0, 1, 10], "4": [2, 3, 11], "3": [4, 5], "2": [6, 7], "1": [8, 9]}),
    ],
)
def test_average_allocation_is_elasticjobs(
    instances: int, shards: int, expected: dict[str, list[int]]
) -> None:
    assert shared_out("AVG_ALLOCATION", instances, shards) == expected


@pytest.mark.parametrize(
    ("job", "expected"), [("a", {"3": [0], "2": [1], "1": []}), ("b", {"1": [0], "2": [1], "3": []})]
)
def test_odevity_is_elasticjobs(job: str, expected: dict[str, list[int]]) -> None:
    assert shared_out("ODEVITY", 3, 2, job) == expected


@pytest.mark.parametrize(
    ("job", "instances", "expected"),
    [
        ("a", 3, {"2": [0, 1, 2, 9], "1": [3, 4, 5], "3": [6, 7, 8]}),
        ("b", 3, {"1": [0, 1, 2, 9], "3": [3, 4, 5], "2": [6, 7, 8]}),
        ("a", 4, {"3": [0, 1, 8], "2": [2, 3, 9], "1": [4, 5], "4": [6, 7]}),
    ],
)
def test_round_robin_is_elasticjobs(job: str, instances: int, expected: dict[str, list[int]]) -> None:
    assert shared_out("ROUND_ROBIN", instances, 10, job) == expected


def test_round_robin_answers_where_elasticjob_throws() -> None:
    assert java_hash("polygenelubricants") == -(2**31)
    assert sum(map(len, shared_out("ROUND_ROBIN", 3, 10, "polygenelubricants").values())) == 10


def test_single_sharding_balance_rotates_by_name_and_time() -> None:
    workers = ["3", "2", "1"]
    moment = datetime.fromtimestamp(1000.001, UTC)
    rotated = (java_hash("a") + 1_000_001) % 3
    assert answer("SINGLE_SHARDING_BALANCE", Question("a", workers, 1, moment)) == {0: workers[rotated]}


def test_java_hashes_utf_16_units() -> None:
    assert java_hash("😀") == 31 * 0xD83D + 0xDE00
    assert java_hash("") == 0


def test_javas_order_of_ids_is_descending_by_utf_16_units() -> None:
    assert in_elasticjob_order(["10.0.0.1@-@9", "10.0.0.10@-@1", "\uffff", "😀"]) == [
        "\uffff",
        "😀",
        "10.0.0.1@-@9",
        "10.0.0.10@-@1",
    ]


def moves(before: dict[int, str], after: dict[int, str]) -> int:
    return sum(before[item] != after[item] for item in before)


def asked(workers: list[str], shards: int, owners: dict[int, str] | None = None) -> dict[int, str]:
    return sticky(Question("job", workers, shards, NOW, owners or {}))


def test_when_one_of_ten_leaves_ten_of_a_hundred_shards_move() -> None:
    ten = [f"i{n}" for n in range(10)]
    before = asked(ten, 100)
    assert moves(before, asked(ten[:-1], 100, before)) == 10


def test_when_one_of_fifty_leaves_at_most_twenty_of_a_thousand_shards_move() -> None:
    fifty = [f"i{n}" for n in range(50)]
    before = asked(fifty, 1000)
    assert moves(before, asked(fifty[1:], 1000, before)) <= 20


@given(
    st.integers(1, 12),
    st.integers(1, 60),
    st.dictionaries(st.integers(0, 70), st.integers(0, 14), max_size=70),
)
def test_sticky_is_balanced_within_one_and_moves_no_more_than_it_must(
    workers: int, shards: int, owners: dict[int, int]
) -> None:
    able = [f"i{n}" for n in range(workers)]
    before = {item: f"i{owner}" for item, owner in owners.items()}
    after = asked(able, shards, before)
    counts = Counter(after.values())
    loads = [counts[each] for each in able]
    assert after.keys() == set(range(shards))
    assert max(loads) - min(loads) <= 1
    # The least that must move: what nobody able holds, and what each holds beyond the largest fair shares.
    held = sorted((sum(before.get(i) == each for i in range(shards)) for each in able), reverse=True)
    share, larger = divmod(shards, workers)
    kept = sum(min(has, share + (rank < larger)) for rank, has in enumerate(held))
    assert sum(before.get(item) == owner for item, owner in after.items()) == kept


@given(st.integers(1, 9), st.integers(1, 40))
def test_an_assignment_that_is_right_stays_as_it_is(workers: int, shards: int) -> None:
    able = [f"i{n}" for n in range(workers)]
    once = asked(able, shards)
    assert asked(able, shards, once) == once


def test_a_strategy_of_ones_own_is_asked_by_its_name_and_held_to_the_rules() -> None:
    register("first-takes-all", lambda question: dict.fromkeys(range(question.shards), question.workers[0]))
    assert answer("first-takes-all", Question("job", ["b", "a"], 3, NOW)) == {0: "b", 1: "b", 2: "b"}
    register("forgetful", lambda question: {0: question.workers[0]})
    with pytest.raises(ConfigError, match="each of the 3 shards"):
        answer("forgetful", Question("job", ["b", "a"], 3, NOW))
    with pytest.raises(ConfigError, match="choose another name"):
        register("sticky", lambda question: {})
