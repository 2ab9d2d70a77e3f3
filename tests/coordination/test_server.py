"""Servers: who lets whom work."""

from shardwright.coordination import leader, server, tidying
from shardwright.coordination.step import Create, Delete, Look, Require, Say, do

from .views import JAVA, A, B, Told, a_view, member


def test_the_first_instance_on_a_server_makes_its_node() -> None:
    assert list(server.decide(a_view())) == [do(Create("servers/10.0.0.1", "ENABLED"))]


def test_a_job_that_begins_disabled_makes_it_disabled() -> None:
    assert list(server.decide(a_view(config={"disabled": True}))) == [
        do(Create("servers/10.0.0.1", "DISABLED"))
    ]


def test_an_operators_disabled_survives_a_restart_and_the_starter_says_how_to_enable() -> None:
    (step,) = server.decide(a_view({"servers/10.0.0.1": "DISABLED"}))
    assert isinstance(step.then, Say)  # type: ignore[union-attr]
    assert "by writing ENABLED to servers/10.0.0.1" in step.then.what  # type: ignore[union-attr]
    assert step.writes == ()  # type: ignore[union-attr]


LED: dict[str, Told] = {**member(A), leader.NODE: A, leader.TERM: (A, 4)}
WARRANT = (Require(f"~alive/{A}"), Require(leader.NODE), Require(leader.TERM, 4))


def test_an_empty_server_is_noted_and_taken_away_after_a_while_if_nobody_touched_it() -> None:
    nodes: dict[str, Told] = {
        **LED,
        "servers/10.0.0.7": ("ENABLED", 3),
        "servers/10.0.0.8": "DISABLED",
        **member(JAVA),
    }
    assert list(tidying.sweep(a_view(nodes))) == [do(*WARRANT, Create("~empty/10.0.0.7", "3"))]
    noted: dict[str, Told] = {**nodes, "~empty/10.0.0.7": "3"}
    since = {"~empty/10.0.0.7": 950.0}
    assert list(tidying.sweep(a_view(noted, since=since))) == [Look(1010.0, "is 10.0.0.7 still empty?")]
    assert list(tidying.sweep(a_view(noted, since=since, boot=1010.0))) == [
        do(*WARRANT, Delete("servers/10.0.0.7", 3), Delete("~empty/10.0.0.7"))
    ]


def test_a_server_that_somebody_wrote_since_it_was_noted_is_noted_anew() -> None:
    """A Java member that starts writes its server before it is an instance: that one must not go."""
    nodes: dict[str, Told] = {**LED, "servers/10.0.0.7": ("ENABLED", 4), "~empty/10.0.0.7": "3"}
    assert list(tidying.sweep(a_view(nodes, since={"~empty/10.0.0.7": 0.0}))) == [
        do(*WARRANT, Delete("~empty/10.0.0.7"))
    ]


def test_a_server_that_is_lived_on_again_is_no_longer_noted() -> None:
    nodes: dict[str, Told] = {**LED, **member(B), "~empty/10.0.0.2": "0"}
    assert list(tidying.sweep(a_view(nodes))) == [do(*WARRANT, Delete("~empty/10.0.0.2"))]


def test_an_address_that_begins_like_another_is_another() -> None:
    nodes: dict[str, Told] = {**LED, "servers/10.0.0.10": "ENABLED"}
    assert tidying.empty(a_view(nodes)) == ["10.0.0.10"]


def test_workers_are_on_enabled_servers_and_come_in_elasticjobs_order() -> None:
    view = a_view({**member(A), **member(B), **member(JAVA)})
    assert server.workers(view) == [JAVA, B, A]
    assert server.workers(a_view({**member(A), **member(B, "DISABLED"), **member(JAVA, "")})) == [A]
