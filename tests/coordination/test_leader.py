"""Leading a job: standing, winning, stepping down (seeds 000 and 001)."""

from shardwright.coordination import latch, leader
from shardwright.coordination.step import Create, Delete, Look, Put, Require, do

from .views import JAVA, A, B, Told, a_view, member

MY_PLACE = latch.place(a_view(), leader.LATCH)
MINE = f"{MY_PLACE}0000000004"
OTHERS = f"{leader.LATCH}/_c_00000000-0000-4000-8000-000000000000-latch-0000000002"

WIN = do(
    Require(f"~alive/{A}"),
    Create(leader.TERM, A),
    Create(leader.NODE, A, ephemeral=True),
    Delete(MINE),
)


def test_where_nobody_leads_a_member_stands_in_line() -> None:
    assert list(leader.decide(a_view(member(A)))) == [do(Create(MY_PLACE, ephemeral=True, sequential=True))]


def test_the_first_in_line_takes_the_seat_and_leaves_the_line_in_one_commit() -> None:
    assert list(leader.decide(a_view({**member(A), MINE: ""}))) == [WIN]


def test_the_second_in_line_waits() -> None:
    assert list(leader.decide(a_view({**member(A), MINE: "", OTHERS: ""}))) == []


def test_a_curator_member_before_us_in_line_is_respected_whatever_its_uuid() -> None:
    before = f"{leader.LATCH}/_c_ffffffff-ffff-4fff-8fff-ffffffffffff-latch-0000000003"
    assert list(leader.decide(a_view({**member(A), MINE: "", before: ""}))) == []


def test_a_place_whose_making_was_never_confirmed_is_adopted_and_a_second_one_given_up() -> None:
    ghost = f"{MY_PLACE}0000000009"
    assert list(leader.decide(a_view({**member(A), MINE: "", ghost: ""}))) == [do(Delete(ghost)), WIN]


def test_a_starter_that_finds_a_leader_changes_nothing() -> None:
    assert list(leader.decide(a_view({**member(A), **member(B), leader.NODE: B}))) == []


def test_whose_reason_has_gone_withdraws_first_in_line_or_not() -> None:
    there = {**member(A), **member(B), leader.NODE: B}
    assert list(leader.decide(a_view({**there, MINE: ""}))) == [do(Delete(MINE))]
    assert list(leader.decide(a_view({**there, MINE: "", OTHERS: ""}))) == [do(Delete(MINE))]


def test_a_leader_whose_server_is_disabled_steps_down() -> None:
    view = a_view({**member(A, "DISABLED"), **member(B), leader.NODE: (A, 0), leader.TERM: A})
    assert list(leader.decide(view)) == [do(Require(leader.TERM, 0), Delete(leader.NODE, 0))]


def test_a_leader_that_drains_steps_down() -> None:
    view = a_view({**member(A), **member(B), leader.NODE: A, leader.TERM: A}, draining=True)
    assert list(leader.decide(view)) == [do(Require(leader.TERM, 0), Delete(leader.NODE, 0))]


def test_a_leader_that_was_ordered_to_stop_steps_down() -> None:
    nodes = {f"~alive/{A}": "", "servers/10.0.0.1": "ENABLED", leader.NODE: A, leader.TERM: A}
    assert list(leader.decide(a_view(nodes, stopped=True))) == [
        do(Require(leader.TERM, 0), Delete(leader.NODE, 0))
    ]


def test_a_member_whose_server_is_disabled_never_stands() -> None:
    assert list(leader.decide(a_view(member(A, "DISABLED")))) == []
    assert list(leader.decide(a_view({**member(A, "DISABLED"), MINE: ""}))) == [do(Delete(MINE))]


def test_a_member_that_is_not_registered_does_not_stand() -> None:
    assert list(leader.decide(a_view({"servers/10.0.0.1": "ENABLED"}))) == []


def test_where_all_are_disabled_nobody_leads_and_enabling_one_elects_it() -> None:
    both = {**member(A, "DISABLED"), **member(B, "DISABLED")}
    assert list(leader.decide(a_view(both))) == []
    assert list(leader.decide(a_view({**both, "servers/10.0.0.1": "ENABLED"}))) == [
        do(Create(MY_PLACE, ephemeral=True, sequential=True))
    ]


def test_disabling_one_that_does_not_lead_elects_nobody() -> None:
    view = a_view({**member(A), **member(B, "DISABLED"), leader.NODE: A, leader.TERM: A})
    assert list(leader.decide(view)) == []


def test_a_fleet_does_not_stampede_each_gives_those_before_it_a_moment() -> None:
    nodes = {**member(A), **member(B), **member(JAVA)}
    vanished = {leader.NODE: 1000.0}
    assert list(leader.decide(a_view(nodes, since=vanished, boot=1000.0))) == [
        Look(1000.1, f"our turn to stand in line at {leader.LATCH}")
    ]
    assert list(leader.decide(a_view(nodes, since=vanished, boot=1000.1))) == [
        do(Create(MY_PLACE, ephemeral=True, sequential=True))
    ]


def test_each_election_is_a_new_term() -> None:
    (step,) = leader.decide(a_view({**member(A), MINE: "", leader.TERM: (B, 6)}))
    assert Put(leader.TERM, A, 6) in step.writes  # type: ignore[union-attr]


def test_a_leader_of_an_earlier_term_does_not_lead() -> None:
    assert leader.is_me(a_view({leader.NODE: A, leader.TERM: A}))
    assert not leader.is_me(a_view({leader.NODE: A, leader.TERM: B}))
    assert not leader.is_me(a_view({leader.NODE: B, leader.TERM: A}))


def test_a_leaders_writes_are_guarded_by_its_term() -> None:
    view = a_view({**member(A), leader.NODE: A, leader.TERM: (A, 4)})
    assert leader.warrant(view) == (Require(f"~alive/{A}"), Require(leader.NODE), Require(leader.TERM, 4))


def test_the_leader_is_told_so_and_the_others_that_they_are_not() -> None:
    nodes: dict[str, Told] = {**member(A), **member(B), **member(JAVA), leader.NODE: A}
    assert leader.verdict(a_view({**nodes, leader.TERM: A}, me=A)) is True
    assert leader.verdict(a_view(nodes, me=A)) is None  # its term was taken away: somebody is to be elected
    assert leader.verdict(a_view(nodes, me=B)) is False
    assert leader.verdict(a_view({**nodes, leader.NODE: JAVA}, me=A)) is False


def test_while_somebody_is_to_be_elected_there_is_no_verdict() -> None:
    assert leader.verdict(a_view(member(A))) is None
    assert leader.verdict(a_view({**member(A, "DISABLED"), **member(B)})) is None
    assert leader.verdict(a_view(member(JAVA))) is None


def test_where_nobody_may_work_nobody_leads_and_nobody_need_wait_for_it() -> None:
    assert leader.verdict(a_view(stopped=True)) is False
    assert leader.verdict(a_view({**member(A, "DISABLED"), **member(B, "DISABLED")})) is False
    assert leader.verdict(a_view({**member(A), f"~draining/{A}": ""})) is False
