"""Stories of the hall that chance tells too seldom, told by hand."""

import itertools
from dataclasses import replace

import pytest

from shardwright.coordination.step import Step
from shardwright.recipes import candidacy, slicing
from shardwright.registry import Delete, Outcome, Put, Refused, Write
from shardwright.registry.memory import Effects
from shardwright.runtime.turns import BACK_OFF, BACK_OFF_MOST

from . import slices
from .heard import listening
from .mastership import NODE, Mastership
from .slices import Slices

# Masters


def candidates(count: int) -> Mastership:
    """The first is master."""
    hall = Mastership(1)
    hall.steered = True
    for _ in range(count):
        hall.join()
        hall.advance(1.0)
    assert hall.believers() == ["p1"]
    return hall


@pytest.mark.parametrize("goes", ["leave", "resign"])
def test_who_goes_with_an_old_view_does_not_take_away_the_node_of_one_designated_meanwhile(goes: str) -> None:
    one_goes_with_an_old_view(goes)


def one_goes_with_an_old_view(goes: str) -> None:
    """The node is made anew, at the same version as the old master's own."""
    hall = candidates(3)
    first = hall.guests["p1"]
    first.registry.delay(answers=1.0)
    hall.operator(Put(NODE, "p2:9090"))
    hall.advance(0.5)
    made = hall.store.nodes[NODE].made
    (first.part.leave if goes == "leave" else first.part.resign)()
    hall.advance(5.0)
    assert hall.believers() == ["p2"]
    assert hall.store.nodes[NODE].made == made


def test_who_takes_over_with_an_old_view_does_not_take_from_one_designated_meanwhile() -> None:
    hall = candidates(3)
    hall.guests["p2"].registry.delay(requests=0.5)
    hall.operator(Put(NODE, "p2:9090"))
    hall.advance(0.6)  # it has read that, and its answer is on its way
    hall.operator(Put(NODE, "p3:9090"))
    hall.advance(0.1)
    hall.operator(Put(NODE, "p3:9090"))
    made = hall.store.nodes[NODE].made
    hall.advance(5.0)
    assert hall.believers() == ["p3"]
    assert hall.store.nodes[NODE].made == made


def test_who_resigns_lets_others_go_first_also_if_the_answer_is_lost() -> None:
    hall = candidates(2)
    first, second = hall.guests.values()
    second.registry.delay(answers=0.2)
    first.registry.lose_reply()
    first.part.resign()
    hall.advance(8.0)
    assert hall.believers() == ["p2"]


def test_a_master_that_comes_back_in_the_same_session_writes_nothing() -> None:
    hall = candidates(2)
    first = hall.guests["p1"]
    session, commits = first.session, hall.commits.total()
    blink(hall, first)
    assert hall.believers() == ["p1"]
    assert (first.session, hall.commits.total()) == (session, commits)


def test_one_that_may_not_write_says_so_once_and_tries_again_at_ever_longer_intervals() -> None:
    hall = Mastership(1)
    commit, allowed = hall.store.commit, False
    tries: list[float] = []

    def with_permission(session: str, writes: tuple[Write, ...]) -> tuple[Outcome, Effects]:
        if allowed or NODE not in {write.path for write in writes}:
            return commit(session, writes)
        tries.append(hall.clock.boot())
        return Refused(f"no permission for {NODE}"), []

    hall.store.commit = with_permission  # type: ignore[method-assign]
    with listening() as said:
        hall.join()
        hall.advance(60.0)
        assert hall.believers() == []
        allowed = True
        hall.advance(BACK_OFF_MOST)
    assert hall.believers() == ["p1"]
    assert len([line for line in said.all if f"no permission for {NODE}" in line]) == 1
    at_once, *waited = (after - before for before, after in itertools.pairwise(tries))
    assert at_once == 0.0  # what it has heard since might have explained the first refusal
    assert len(waited) >= 60.0 / BACK_OFF_MOST
    for refusals, seconds in enumerate(waited, start=2):
        longest = min(BACK_OFF_MOST, BACK_OFF * 2**refusals)
        assert longest / 2 <= round(seconds, 6) <= longest


# Slices


def members(count: int, seed: int = 1) -> Slices:
    """With `exclusive`, and the first leads."""
    hall = Slices(seed, exclusive=True)
    for _ in range(count):
        hall.join()
        hall.advance(5.0)
    assert set(hall.holders()) == set(hall.guests)
    assert hall.store.nodes[f"{slices.ROOT}/{slicing.LEADER}"].data == hall.guests["p1"].part.me
    return hall


def blink(hall: Slices | Mastership, guest: object) -> None:
    registry = next(each.registry for each in hall.guests.values() if each is guest)
    registry.disconnect()
    hall.advance(0.5)
    registry.reconnect()
    hall.advance(2.0)


def test_a_member_that_comes_back_in_the_same_session_writes_nothing_and_is_told_nothing() -> None:
    hall = members(2)
    second = hall.guests["p2"]
    session, commits, told = second.session, hall.commits.total(), len(hall.log)
    mine = hall.holders()["p2"]
    blink(hall, second)
    assert hall.holders()["p2"] == mine
    assert (second.session, hall.commits.total()) == (session, commits)
    assert [line.split()[1:] for line in hall.log[told:]] == [
        ["p2", "is", "suspended"],
        ["p2", "is", "connected"],
    ]


def test_with_exclusive_one_whose_instance_is_deleted_by_hand_keeps_its_slice_until_it_rests() -> None:
    hall = members(3)
    third = hall.guests["p3"]
    third.registry.delay(answers=0.5)
    hall.takes = lambda name: 2.0 if name == "p3" else 0.0
    hall.operator(Delete(f"{slices.ROOT}/{slicing.INSTANCES}/{third.part.me}"))
    for _ in range(80):
        hall.advance(0.1)
    assert sorted(slice_.index for slice_ in hall.holders().values()) == [0, 1, 2]


def a_leader_of_yesterday_shares_out() -> None:
    """What it has decided in one round arrives in another one, which is somebody else's. They divide the work
    differently, so that two would hold one slice."""
    hall = members(4)
    first = hall.guests["p1"]
    for guest in hall.guests.values():
        guest.part._order = slicing.STICKY if guest is first else slicing.SORTED
    hall.leave(hall.guests["p2"])
    hall.advance(5.0)
    assert [who for _, who in sorted((each.index, who) for who, each in hall.holders().items())] == [
        "p1",
        "p4",
        "p3",
    ]
    hall.takes = lambda name: {"p1": 0.0, "p3": 1.0, "p4": 2.0}[name]
    hall.reshard(first)
    hall.advance(1.9)
    first.registry.delay(requests=3.0)
    hall.advance(3.2)  # it has read that all have paused, and has shared out: that is on its way
    hall.delete_leader(first)
    hall.takes = lambda name: 5.0 if name == "p3" else 0.1
    hall.advance(0.2)
    assert {who: each.index for who, each in hall.holders().items() if who != "p1"} == {"p3": 1, "p4": 2}
    hall.reshard(first)
    hall.advance(4.0)


def test_a_leader_of_yesterday_has_no_say() -> None:
    a_leader_of_yesterday_shares_out()


def test_it_would_if_its_commits_were_not_guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    share_out, guards = slicing.share_out, (slicing.LEADER, slicing.WARRANT)

    def unguarded(view: slicing.View, there: list[str]) -> Step:
        step = share_out(view, there)
        return replace(step, writes=tuple(write for write in step.writes if write.path not in guards))

    monkeypatch.setattr(slicing, "share_out", unguarded)
    with pytest.raises(AssertionError, match="two hold one slice"):
        a_leader_of_yesterday_shares_out()


@pytest.mark.parametrize("goes", ["leave", "resign"])
def test_a_version_of_the_masters_node_is_no_guard(goes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidacy, "_use_warrant", lambda view: [])
    with pytest.raises(AssertionError, match="p1 takes away the node of p2:9090"):
        one_goes_with_an_old_view(goes)
