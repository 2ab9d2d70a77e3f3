"""Servers: who lets whom work."""

from shardwright.coordination import server
from shardwright.coordination.step import Create, Delete, Require, Say, do

from .views import JAVA, A, B, a_view, member


def test_the_first_instance_on_a_server_makes_its_node() -> None:
    assert list(server.decide(a_view())) == [do(Create("servers/10.0.0.1", "ENABLED"))]


def test_a_job_that_begins_disabled_makes_it_disabled() -> None:
    assert list(server.decide(a_view(config={"disabled": True}))) == [
        do(Create("servers/10.0.0.1", "DISABLED"))
    ]


def test_an_operators_disabled_survives_a_restart_and_the_starter_says_how_to_enable() -> None:
    (step,) = server.decide(a_view({"servers/10.0.0.1": "DISABLED"}))
    assert isinstance(step.then, Say)  # type: ignore[union-attr]
    assert "shardwright enable job --server 10.0.0.1" in step.then.what  # type: ignore[union-attr]
    assert step.writes == ()  # type: ignore[union-attr]


def test_a_starter_sweeps_dead_enabled_servers_and_no_others() -> None:
    nodes = {
        "servers/10.0.0.1": "ENABLED",
        "servers/10.0.0.7": ("ENABLED", 3),
        "servers/10.0.0.8": "DISABLED",
        **member(JAVA),
    }
    assert list(server.decide(a_view(nodes))) == [
        do(Require("servers/10.0.0.7", 3), Delete("servers/10.0.0.7", 3))
    ]
    assert list(server.decide(a_view({**nodes, **member(A)}))) == []


def test_an_address_that_begins_like_another_is_another() -> None:
    nodes = {"servers/10.0.0.1": "ENABLED", "servers/10.0.0.10": "ENABLED"}
    (step,) = server.decide(a_view(nodes))
    assert step == do(Require("servers/10.0.0.10", 0), Delete("servers/10.0.0.10", 0))


def test_workers_are_on_enabled_servers_and_come_in_elasticjobs_order() -> None:
    view = a_view({**member(A), **member(B), **member(JAVA)})
    assert server.workers(view) == [JAVA, B, A]
    assert server.workers(a_view({**member(A), **member(B, "DISABLED"), **member(JAVA, "")})) == [A]
