"""Being in the job, and leaving it."""

from dataclasses import replace
from datetime import datetime

import pytest

from shardwright.coordination import instance
from shardwright.coordination.step import Create, Delete, Look, Stop, do

from .views import JAVA, A, B, a_view, member, running


def test_a_starter_registers_both_its_nodes_in_one_commit_and_says_since_when_it_is_there() -> None:
    card, since = f"jobInstanceId: {A}\nserverIp: 10.0.0.1\n", "2030-01-01T00:00:00+00:00"
    view = a_view()
    view = replace(view, local=replace(view.local, since=datetime.fromisoformat(since)))
    assert list(instance.decide(view)) == [
        do(Create(f"instances/{A}", card, ephemeral=True), Create(f"~alive/{A}", since, ephemeral=True))
    ]


def test_a_member_that_is_known_does_nothing_more() -> None:
    assert list(instance.decide(a_view(member(A)))) == []


def test_a_sign_of_life_taken_away_by_hand_is_made_again() -> None:
    view = a_view({"instances/" + A: "", "servers/10.0.0.1": "ENABLED"})
    since = view.local.since.isoformat()
    assert list(instance.decide(view)) == [do(Create(f"~alive/{A}", since, ephemeral=True))]


@pytest.mark.parametrize("told", ["", "yesterday", "2030-01-01T00:00:00"])
def test_what_makes_no_sense_as_a_time_says_nothing(told: str) -> None:
    assert instance.since(a_view({f"~alive/{B}": told}), B) is None


def test_an_instance_node_taken_away_is_an_order_to_stop() -> None:
    view = a_view({f"~alive/{A}": "", "servers/10.0.0.1": "ENABLED"})
    (step,) = instance.decide(view)
    assert step == do(then=Stop("its instance node was taken away, which is an order to stop"))


def test_one_that_was_stopped_goes_when_its_last_run_has_ended() -> None:
    nodes = {f"~alive/{A}": "", "servers/10.0.0.1": "ENABLED"}
    assert list(instance.decide(a_view(nodes, stopped=True, runs=running(0)))) == []
    assert list(instance.decide(a_view(nodes, stopped=True))) == [do(Delete(f"~alive/{A}"))]
    assert list(instance.decide(a_view(stopped=True))) == []


def test_a_python_member_is_dead_when_its_sign_of_life_has_gone_whatever_its_instance_node_says() -> None:
    assert not instance.dead(a_view({f"~alive/{B}": ""}), B)
    assert instance.dead(a_view({f"instances/{B}": ""}), B)


def test_a_java_member_is_dead_when_its_node_has_been_away_for_two_seconds() -> None:
    went = {f"instances/{JAVA}": 1000.0}
    assert not instance.dead(a_view(since=went, boot=1001.9), JAVA)
    assert instance.dead(a_view(since=went, boot=1002.0), JAVA)
    assert not instance.dead(a_view(member(JAVA), boot=5000.0), JAVA)


def test_whoever_waits_for_a_java_member_to_come_back_looks_again_in_time() -> None:
    view = a_view(since={f"instances/{JAVA}": 1000.0}, boot=1000.5)
    assert list(instance.when_dead(view, JAVA)) == [Look(1002.0, f"has {JAVA} gone, or did it only blink?")]
    assert list(instance.when_dead(a_view(member(JAVA)), JAVA)) == []


def test_those_that_drain_or_have_lost_their_sign_of_life_are_not_reckoned_with() -> None:
    view = a_view(
        {**member(A), **member(B), **member(JAVA), f"~draining/{B}": "", "instances/10.0.0.9@-@1-x": ""}
    )
    assert instance.live(view) == [A, JAVA]
