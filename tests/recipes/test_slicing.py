"""Dynamic sharding, decided: a view in, the exact steps out."""

import pytest

from shardwright.coordination.step import Create, Delete, Leave, Look, Put, Require, Say, Step, do
from shardwright.recipes import slicing
from shardwright.recipes.slicing import GoOn, Local, Pause, Remember, Slice, View
from shardwright.registry import Node
from shardwright.registry.tree import Mirror

A, B, C = "10.0.0.1@-@1-aa", "10.0.0.2@-@2-bb", "10.0.0.3@-@3-cc"
JAVA = "10.0.0.9@-@99"
OURS, ANOTHER = "our session", "another session"

LEADER, WARRANT = slicing.LEADER, slicing.WARRANT
NECESSARY, PROCESSING = slicing.NECESSARY, slicing.PROCESSING

WARRANTED = (Require(LEADER, 0), Put(WARRANT, "", 4))


def here(*ids: str) -> dict[str, Node]:
    return {f"instances/{who}": Node(slicing.card(who), 0, ANOTHER, 1, 1) for who in ids}


def sliced(*ids: str, number: int = 10) -> dict[str, Node]:
    return {f"sharding/{index}/instance": Node(who, 2, "", 2, number) for index, who in enumerate(ids)}


def led_by(who: str, owner: str = ANOTHER) -> dict[str, Node]:
    return {LEADER: Node(who, 0, owner, 3, 3), WARRANT: Node("", 4, "", 1, 9)}


OPEN = {NECESSARY: Node("", 0, "", 20, 20)}
AT_IT = {PROCESSING: Node("", 0, OURS, 21, 21)}


def a_view(
    nodes: dict[str, Node], *, local: Local | None = None, boot: float = 100.0, exclusive: bool = False
) -> View:
    tree = Mirror("/dynamic-sharding")
    for path, node in nodes.items():
        tree.put(path, node, 100.0)
    return View(tree, A, OURS, boot, exclusive=exclusive, local=local or Local(round=10))


def decided(view: View) -> list[Step | Look]:
    return list(slicing.decide(view))


# What is told


def test_what_was_over_when_we_came_is_none_of_ours() -> None:
    assert decided(a_view(sliced(B, number=10), local=Local())) == [do(then=Remember(10))]


def test_then_we_are_online() -> None:
    assert decided(a_view({})) == [do(Create(f"instances/{A}", slicing.card(A), ephemeral=True))]


def test_with_exclusive_there_is_a_sign_of_life_beside_the_instance_from_the_beginning() -> None:
    sign = f"{slicing.ACKNOWLEDGED}/{A}"
    online = Create(f"instances/{A}", slicing.card(A), ephemeral=True)
    assert decided(a_view({}, exclusive=True)) == [do(online, Create(sign, ephemeral=True))]
    still = {sign: Node("", 0, OURS, 5, 5)}
    assert decided(a_view(still, exclusive=True)) == [do(online)]


def test_a_card_is_yaml_whatever_the_address() -> None:
    assert slicing.card(A) == f"instanceId: {A}\nserverIp: 10.0.0.1\n"
    for address in ("@host", "h: x", "[::1]", "- a", "#1"):
        assert slicing.named(slicing.card(f"{address}@-@1-aa")) == f"{address}@-@1-aa"


def test_an_open_round_is_a_pause_told_once() -> None:
    there = here(A, B) | led_by(B) | OPEN
    assert decided(a_view(there)) == [do(then=Pause())]
    assert decided(a_view(there, local=Local(round=10, paused=True))) == []


def test_the_end_of_a_round_is_told_with_what_is_ours() -> None:
    there = here(A, B) | led_by(B) | sliced(B, A, number=30)
    assert decided(a_view(there, local=Local(round=10, paused=True))) == [do(then=GoOn(30, Slice(1, 2, 30)))]


def test_one_without_a_slice_is_told_so() -> None:
    there = here(A, B) | led_by(B) | sliced(B, number=30)
    assert decided(a_view(there, local=Local(round=10, paused=True))) == [do(then=GoOn(30, None))]


def test_a_round_that_came_and_went_between_two_looks_is_a_pause_and_its_end() -> None:
    there = here(A, B) | led_by(B) | sliced(B, A, number=30)
    assert decided(a_view(there, local=Local(round=10, slice=Slice(0, 1, 10)))) == [do(then=Pause())]


def test_a_round_that_ended_is_told_also_when_the_next_is_open() -> None:
    there = here(A, B) | led_by(B) | sliced(B, A, number=30) | OPEN
    view = a_view(there, local=Local(round=10, paused=True, at_rest=True), exclusive=True)
    assert decided(view) == [do(then=GoOn(30, Slice(1, 2, 30)))]
    after = a_view(there, local=Local(round=30, slice=Slice(1, 2, 30)), exclusive=True)
    assert decided(after) == [do(then=Pause())]


def test_slices_that_were_taken_away_are_no_round() -> None:
    """As a leader in another language does before it shares out anew."""
    there = here(A, B) | led_by(B) | OPEN
    assert decided(a_view(there, local=Local(round=30, paused=True))) == []


def test_a_round_that_was_taken_back_ends_as_it_began() -> None:
    there = here(A, B) | led_by(B) | sliced(A, B)
    assert decided(a_view(there, local=Local(round=10, paused=True))) == [do(then=GoOn(10, Slice(0, 2, 10)))]


def test_who_is_no_longer_online_pauses_before_it_comes_back() -> None:
    there = here(B) | led_by(B) | sliced(A, B)
    assert decided(a_view(there, local=Local(round=10, slice=Slice(0, 2, 10)))) == [do(then=Pause())]


# Acknowledging


def test_who_has_come_to_rest_says_so_for_this_round() -> None:
    there = here(A, B) | led_by(B) | sliced(A, B) | OPEN
    mine = f"{slicing.ACKNOWLEDGED}/{A}"
    pausing, resting = Local(round=10, paused=True), Local(round=10, paused=True, at_rest=True)
    assert decided(a_view(there, local=resting, exclusive=True)) == [do(Create(mine, "20", ephemeral=True))]
    new = there | {mine: Node("", 0, OURS, 5, 5)}
    assert decided(a_view(new, local=pausing, exclusive=True)) == []
    assert decided(a_view(new, local=resting, exclusive=True)) == [do(Put(mine, "20", 0))]
    before = there | {mine: Node("15", 3, OURS, 5, 5)}
    assert decided(a_view(before, local=resting, exclusive=True)) == [do(Put(mine, "20", 3))]
    said = there | {mine: Node("20", 0, OURS, 5, 5)}
    assert decided(a_view(said, local=resting, exclusive=True)) == []


def test_an_acknowledgement_stays_as_a_sign_of_life_and_counts_for_its_own_round_only() -> None:
    mine = f"{slicing.ACKNOWLEDGED}/{A}"
    there = here(A, B) | led_by(B) | sliced(A, B) | {mine: Node("15", 0, OURS, 5, 5)}
    assert decided(a_view(there, local=Local(round=10, slice=Slice(0, 2, 10)), exclusive=True)) == []
    gone = here(A, B) | led_by(B) | sliced(A, B)
    assert decided(a_view(gone, local=Local(round=10, slice=Slice(0, 2, 10)), exclusive=True)) == [
        do(Create(mine, ephemeral=True))
    ]


def test_without_exclusive_nothing_is_acknowledged() -> None:
    there = here(A, B) | led_by(B) | sliced(A, B) | OPEN
    assert decided(a_view(there, local=Local(round=10, paused=True, at_rest=True))) == []


# Electing


def test_without_a_leader_we_stand_in_line_and_act_when_we_are_first() -> None:
    (stand,) = decided(a_view(here(A, B)))
    assert isinstance(stand, Step)
    (create,) = stand.writes
    assert create.path.startswith(f"{slicing.LATCH}/_c_")
    place = f"{create.path}0000000001"
    line = {place: Node("", 0, OURS, 8, 8)}
    assert decided(a_view(here(A, B) | line)) == [
        do(
            Require(f"instances/{A}"),
            Create(WARRANT),
            Create(LEADER, A, ephemeral=True),
            Delete(place),
        )
    ]
    led = a_view(here(A, B) | sliced(A, B) | line | led_by(B), local=Local(round=10, slice=Slice(0, 2, 10)))
    assert decided(led) == [do(Delete(place))]


# Leading


def leading() -> dict[str, Node]:
    return led_by(A, OURS)


def test_the_leader_opens_a_round_when_those_who_live_are_not_those_who_have_slices() -> None:
    settled = Local(round=10, slice=Slice(0, 1, 10))
    opens = [do(*WARRANTED, Create(NECESSARY))]
    assert decided(a_view(leading() | here(A, B) | sliced(A), local=settled)) == opens
    assert decided(a_view(leading() | here(A) | sliced(A, B), local=settled)) == opens
    assert decided(a_view(leading() | here(A, B) | sliced(A, B), local=settled)) == []


def test_the_leader_says_that_it_is_at_it_and_then_shares_out() -> None:
    paused = Local(round=10, paused=True)
    there = leading() | here(A, B, C) | sliced(B, A) | OPEN
    assert decided(a_view(there, local=paused)) == [do(*WARRANTED, Create(PROCESSING, ephemeral=True))]
    assert decided(a_view(there | AT_IT, local=paused)) == [
        do(
            *WARRANTED,
            *(Require(f"instances/{who}") for who in (B, A, C)),
            Put("sharding/0/instance", B),
            Put("sharding/1/instance", A),
            Create("sharding/2/instance", C),
            Delete(NECESSARY),
            Delete(PROCESSING),
        )
    ]


def test_slices_that_are_too_many_go_with_the_same_commit() -> None:
    there = leading() | here(A) | sliced(B, A) | OPEN | AT_IT
    assert decided(a_view(there, local=Local(round=10, paused=True))) == [
        do(
            *WARRANTED,
            Require(f"instances/{A}"),
            Put("sharding/0/instance", A),
            Delete("sharding/1", recursive=True),
            Delete(NECESSARY),
            Delete(PROCESSING),
        )
    ]


@pytest.mark.parametrize("name", ["9" * 5000, "٣", "007", "x"])
def test_what_is_no_slice_goes_too(name: str) -> None:
    stray = {f"sharding/{name}/instance": Node("x", 0, "", 1, 1)}
    settled = Local(round=10, slice=Slice(0, 1, 10))
    assert decided(a_view(leading() | here(A) | sliced(A) | stray, local=settled)) == [
        do(*WARRANTED, Create(NECESSARY))
    ]
    open_ = leading() | here(A) | sliced(A) | stray | OPEN | AT_IT
    (step,) = decided(a_view(open_, local=Local(round=10, paused=True)))
    assert isinstance(step, Step)
    assert Delete(f"sharding/{name}", recursive=True) in step.writes


def test_with_exclusive_those_who_had_slices_are_waited_for_and_nobody_else() -> None:
    there = leading() | here(A, B, C, JAVA) | sliced(A, B, JAVA) | OPEN | AT_IT
    acknowledged = {f"{slicing.ACKNOWLEDGED}/{A}": Node("20", 0, OURS, 5, 5)}
    old = {f"{slicing.ACKNOWLEDGED}/{B}": Node("15", 0, ANOTHER, 5, 5)}
    new = {f"{slicing.ACKNOWLEDGED}/{B}": Node("20", 0, ANOTHER, 5, 5)}
    local = Local(round=10, paused=True, at_rest=True)
    waits = [Look(130.0, f"whether {B} will acknowledge")]
    assert decided(a_view(there | acknowledged, local=local, exclusive=True)) == waits
    assert decided(a_view(there | acknowledged | old, local=local, exclusive=True)) == waits
    shared = slicing.share_out(a_view(there, local=local, exclusive=True), sorted([A, B, C, JAVA]))
    assert decided(a_view(there | acknowledged | new, local=local, exclusive=True)) == [shared]


def test_one_whose_instance_was_taken_away_by_hand_is_waited_for_while_it_lives() -> None:
    there = leading() | here(A) | sliced(A, B) | OPEN | AT_IT
    acknowledged = {f"{slicing.ACKNOWLEDGED}/{A}": Node("20", 0, OURS, 5, 5)}
    lives = {f"{slicing.ACKNOWLEDGED}/{B}": Node("", 0, ANOTHER, 5, 5)}
    local = Local(round=10, paused=True, at_rest=True)
    waits = [Look(130.0, f"whether {B} will acknowledge")]
    assert decided(a_view(there | acknowledged | lives, local=local, exclusive=True)) == waits
    shared = slicing.share_out(a_view(there, local=local, exclusive=True), [A])
    assert decided(a_view(there | acknowledged, local=local, exclusive=True)) == [shared]


def test_who_does_not_acknowledge_in_time_is_said_and_not_waited_for() -> None:
    there = leading() | here(A, B) | sliced(A, B) | OPEN | AT_IT
    acknowledged = {f"{slicing.ACKNOWLEDGED}/{A}": Node("20", 0, OURS, 5, 5)}
    local = Local(round=10, paused=True, at_rest=True)
    view = a_view(there | acknowledged, local=local, exclusive=True, boot=130.0)
    assert decided(view) == [
        do(then=Say(f"{B} did not pause within 30 s: not waited for")),
        slicing.share_out(view, [A, B]),
    ]


def test_an_instance_that_cannot_be_read_is_said_and_given_no_slice() -> None:
    odd = {f"instances/{B}": Node("{nonsense", 0, ANOTHER, 1, 1)}
    there = leading() | here(A) | odd | sliced(A)
    assert decided(a_view(there, local=Local(round=10, slice=Slice(0, 1, 10)))) == [
        do(then=Say(f"instances/{B} cannot be read: it is given no slice"))
    ]


def test_an_instance_that_we_may_not_read_is_said_and_given_no_slice() -> None:
    view = a_view(leading() | here(A, B) | sliced(A), local=Local(round=10, slice=Slice(0, 1, 10)))
    assert isinstance(view.tree, Mirror)
    view.tree.stale(f"instances/{B}", 100.0)
    view.tree.deny(f"instances/{B}")
    assert decided(view) == [do(then=Say(f"instances/{B} cannot be read: it is given no slice"))]


def test_a_warrant_that_was_deleted_is_made_again() -> None:
    there = {LEADER: Node(A, 0, OURS, 3, 3)} | here(A) | sliced(A)
    view = a_view(there, local=Local(round=10, slice=Slice(0, 1, 10)))
    assert decided(view) == [do(Require(LEADER, 0), Create(WARRANT))]


# Leaving


def test_who_leaves_pauses_first_and_then_takes_its_nodes_along() -> None:
    there = leading() | here(A, B) | sliced(A, B)
    has = Local(round=10, slice=Slice(0, 2, 10), leaving=True)
    assert decided(a_view(there, local=has)) == [do(then=Pause())]
    pausing = Local(round=10, paused=True, leaving=True)
    assert decided(a_view(there, local=pausing)) == []
    resting = Local(round=10, paused=True, at_rest=True, leaving=True)
    assert decided(a_view(there, local=resting)) == [
        do(Delete(f"instances/{A}"), Delete(LEADER, 0), then=Leave())
    ]


def test_who_leaves_is_given_nothing_any_more() -> None:
    there = here(A, B) | led_by(B) | sliced(A, B, number=30)
    resting = Local(round=10, paused=True, at_rest=True, leaving=True)
    assert decided(a_view(there, local=resting)) == [do(Delete(f"instances/{A}"), then=Leave())]
    nothing = Local(round=10, leaving=True)
    assert decided(a_view(there | OPEN, local=nothing)) == [do(Delete(f"instances/{A}"), then=Leave())]


@pytest.mark.parametrize(
    ("before", "there", "after"),
    [
        ([], [A, B], [A, B]),
        ([B, A], [A, B], [B, A]),
        ([A, B, C], [A, C], [A, C]),
        ([A, B, C], [B, C], [C, B]),
        ([A, A], [A, B], [A, B]),
        ([None, A], [A, B], [B, A]),
    ],
)
def test_as_few_as_possible_change_hands(
    before: list[str | None], there: list[str], after: list[str]
) -> None:
    assert slicing.assign(before, there, "sticky") == after


def test_sorted_goes_by_the_ids_as_text() -> None:
    two, ten = "10.0.0.2@-@1-a", "10.0.0.10@-@1-a"
    assert slicing.assign([two], [two, ten], "sorted") == [ten, two]
