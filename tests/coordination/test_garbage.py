"""What anybody may have written where we look: it may mean nothing, and it never stops us."""

import pytest

from shardwright import coordination, elasticjob
from shardwright.coordination import claim, failover, gap, leader, tidying
from shardwright.coordination.claim import Cursor, Tenure
from shardwright.coordination.step import Delete, Require, do
from shardwright.coordination.view import Hooks, number
from shardwright.jobs import JobConfig
from shardwright.registry import Node

from .views import A, B, Told, a_view, member

CONFIG = {"failover": True}
LED: dict[str, Told] = {**member(A), leader.NODE: A, leader.TERM: (A, 4), "": ""}
DEEP, HUGE = "[" * 100_000, "1" * 5000


def decided(nodes: dict[str, Told], **more: object) -> list[object]:
    settings = {"name": "job", "cron": "0/10 * * * * ?", "time_zone": "UTC", "shards": 2, **CONFIG}
    text = elasticjob.write_config(JobConfig.of(settings))
    view = a_view({**LED, "config": text, **nodes}, config=CONFIG, adopted=text, **more)  # type: ignore[arg-type]
    return list(coordination.decide(view))


@pytest.mark.parametrize("name", ["00", "007", "-1", "1.5", "x", "٣", HUGE, "", " 1", "1e3"])
def test_a_name_that_is_no_shards_means_none(name: str) -> None:
    assert number(name) is None


@pytest.mark.parametrize(
    "path",
    [
        *(
            "leader/failover/items/00",
            f"leader/failover/items/{HUGE}",
            f"sharding/{HUGE}",
            "sharding/00/running",
        ),
        *("sharding/0/foo/running", "sharding/007", "~next/00", f"~next/{HUGE}", "~barrier/started/x"),
        *("trigger/nobody", "servers/x", "instances/nobody@-@1-x", "~draining/nobody", "~empty/x"),
    ],
)
def test_strange_nodes_do_not_stop_us(path: str) -> None:
    assert decided({path: "garbage", "sharding/0/instance": A, "sharding/1/instance": B})


@pytest.mark.parametrize("data", ["", "garbage", "{}", "[]", "null", DEEP, "\udcff", "#x", "1e999"])
@pytest.mark.parametrize(
    "path",
    [
        *(
            "~gap",
            "~term",
            "sharding/0/instance",
            "sharding/0/running",
            "leader/election/instance",
            "trigger/x",
        ),
        *(
            "next-job-instance-ip",
            "sharding/0/failover",
            "sharding/0/failovering",
            "~next/0",
            "~again/0",
            "~owed/0",
            "~empty/10.0.0.1",
        ),
        *(
            "~barrier/started/scheduled/0",
            "~barrier/started/scheduled/called",
            "~barrier/completed/asked/called",
        ),
    ],
)
def test_strange_data_does_not_stop_us(path: str, data: str) -> None:
    nodes: dict[str, Told] = {"sharding/0/instance": A, "sharding/1/instance": A, path: data}
    assert decided(nodes, hooks=Hooks(started=True, completed=True, started_timeout=1.0)) is not None


@pytest.mark.parametrize(
    "text",
    [
        *("", "garbage", "[]", "null", "7", DEEP, '{"made": 1e999}', '{"made": 1, "asked": 1e999}'),
        '{"made": 1, "run": ["x", "1", "#x", "scheduled", 1]}',
        '{"made": 1, "run": ["x", "1", "2030-01-01T00:00:00", "scheduled", 1]}',
        '{"made": 1, "run": ["x", "1", "\\udcff", "scheduled", 1]}',
        '{"made": 1, "run": ["x", "1", "#1", "dreamt", 1]}',
        '{"made": 1, "at": "yesterday"}',
    ],
)
def test_a_strange_cursor_says_nothing(text: str) -> None:
    assert claim.read(text) == Cursor()


@pytest.mark.parametrize("text", ["", "{}", "[]", DEEP, '{"schedule": "x", "shards": 1e999}'])
def test_a_strange_gap_says_nothing(text: str) -> None:
    assert gap.read(text) is None


def test_times_without_a_zone_are_the_registrys() -> None:
    found = gap.read(gap.Gap().text().replace("+00:00", ""))
    assert found == gap.Gap()


def test_what_was_asked_of_the_dead_is_cleared_away() -> None:
    nodes: dict[str, Told] = {**LED, "trigger/10.0.0.9@-@1-x": "", f"trigger/{A}": ""}
    assert tidying.unheeded(a_view(nodes)) == ["trigger/10.0.0.9@-@1-x"]


def test_a_leader_whose_term_was_taken_away_lets_somebody_be_elected() -> None:
    nodes: dict[str, Told] = {**member(A), leader.NODE: A}
    assert list(leader.decide(a_view(nodes))) == [do(Delete(leader.NODE, 0))]


def test_what_is_ours_by_its_nodes_and_not_by_its_cursor_is_let_go() -> None:
    nodes: dict[str, Told] = {**LED, "sharding/0/failover": A, "sharding/0/failovering": A}
    cursors = {0: Node(Cursor(made=1).text(), 3, "", 1, 1), 1: None}
    assert list(failover.look_after_taker(a_view(nodes, cursors=cursors, config=CONFIG), 0)) == [
        do(Require("~~cursor/0", 3), Delete("sharding/0/failover"), Delete("sharding/0/failovering"))
    ]
    ours = Cursor(made=1, run=Tenure(A, "3", "#1", "failover", 2)).text()
    kept = a_view(nodes, cursors={0: Node(ours, 3, "", 1, 1), 1: None}, config=CONFIG)
    assert list(failover.look_after_taker(kept, 0)) == []
