"""A service's mastership, decided: a view in, the exact steps out."""

from shardwright.coordination.step import Create, Delete, Leave, Look, Put, Refuse, Require, Say, Step, do
from shardwright.recipes import candidacy
from shardwright.recipes.candidacy import GRACE, LINGERS, STAND_BACK, Local, Notice, Report, Resigned, View
from shardwright.registry import Node
from shardwright.registry.tree import Mirror

SERVICE, ME, OTHER = "Account:1.0.0", "10.0.0.1:9090", "10.0.0.2:9090"
NODE = f"services/{SERVICE}"
WARRANT = f"candidates/{SERVICE}"
MINE = f"{WARRANT}/{ME}"
THEIRS = f"{WARRANT}/{OTHER}"
OURS, ANOTHER = "our session", "another session"

WARRANTED = {WARRANT: Node("", 7, "", 1, 2)}
ANNOUNCED = WARRANTED | {MINE: Node("me", 0, OURS, 3, 3)}
USED = Put(WARRANT, "", 7)
STAND = do(Require(MINE), USED, Create(NODE, ME, ephemeral=True))


def a_view(
    nodes: dict[str, Node],
    *,
    boot: float = 100.0,
    seen_at: float = 100.0,
    token: int | None = None,
    local: Local | None = None,
) -> View:
    tree = Mirror("/soa/master")
    for path, node in nodes.items():
        tree.put(path, node, seen_at)
    return View(tree, SERVICE, ME, "me", OURS, 10.0, boot, token, local or Local())


def a_master(
    data: str, owner: str, version: int = 0, *, made: int = 5, written: int | None = None
) -> dict[str, Node]:
    return {NODE: Node(data, version, owner, made, made + version if written is None else written)}


def decided(view: View) -> list[Step | Look]:
    return list(candidacy.decide(view))


def taking_over(version: int, says: str) -> Step:
    return do(Require(MINE), USED, Delete(NODE, version), Create(NODE, ME, ephemeral=True), then=Report(says))


def test_first_we_announce_ourselves() -> None:
    assert decided(a_view({})) == [do(Create(MINE, "me", ephemeral=True))]


def test_where_nobody_is_master_we_stand() -> None:
    assert decided(a_view(ANNOUNCED)) == [STAND]


def test_another_master_is_left_alone_whatever_it_says() -> None:
    assert decided(a_view(ANNOUNCED | a_master(OTHER, ANOTHER))) == []
    assert decided(a_view(ANNOUNCED | a_master("what is this", ANOTHER))) == []


def test_the_master_is_who_made_the_node_in_a_session_of_its_own() -> None:
    assert candidacy.token(a_view(ANNOUNCED | a_master(ME, OURS))) == 5
    assert candidacy.token(a_view(ANNOUNCED | a_master(ME, ANOTHER))) is None
    assert candidacy.token(a_view(ANNOUNCED | a_master(OTHER, OURS, 1))) is None
    assert candidacy.token(a_view(ANNOUNCED)) is None
    assert candidacy.token(a_view(a_master(ME, OURS))) is None


def test_a_master_that_is_designated_once_more_stays_what_it_is() -> None:
    view = a_view(ANNOUNCED | a_master(ME, OURS, 1), token=5)
    assert candidacy.token(view) == 5
    assert decided(view) == []


def test_who_was_designated_away_and_back_is_master_anew() -> None:
    view = a_view(ANNOUNCED | a_master(ME, OURS, 2), token=None)
    assert candidacy.token(view) is None
    assert decided(view) == [taking_over(2, f"{ME} takes over, as the node says")]


def test_who_is_designated_takes_the_node_over_into_its_own_session() -> None:
    view = a_view(ANNOUNCED | a_master(ME, ANOTHER, 1))
    assert decided(view) == [taking_over(1, f"{ME} takes over, as the node says")]


def test_our_own_address_in_a_session_that_is_not_ours_is_taken_over_too() -> None:
    view = a_view(ANNOUNCED | a_master(ME, ANOTHER, 0))
    assert decided(view) == [taking_over(0, f"{ME} takes over, as the node says")]


def test_a_master_steps_down_for_whoever_is_designated() -> None:
    view = a_view(ANNOUNCED | {THEIRS: Node("other", 0, ANOTHER, 4, 4)} | a_master(OTHER, OURS, 1), token=5)
    assert candidacy.token(view) is None
    assert candidacy.why_not(view) == f"{OTHER} was designated"
    assert decided(view) == []


def test_an_address_that_nobody_has_is_noticed_then_waited_for_then_filled_anew() -> None:
    there = ANNOUNCED | a_master("10.9.9.9:1", ANOTHER, 1, written=8)
    assert decided(a_view(there)) == [do(then=Notice(8))]
    noticed = Local(noticed=(8, 100.0))
    assert decided(a_view(there, boot=102.0, local=noticed)) == [
        Look(100.0 + GRACE, "whether anybody is 10.9.9.9:1")
    ]
    anew = taking_over(1, "nobody is '10.9.9.9:1', who was designated: elected anew")
    assert decided(a_view(there, boot=100.0 + GRACE, local=noticed)) == [anew]


def test_another_stranger_is_given_as_much_time() -> None:
    there = ANNOUNCED | a_master("10.9.9.9:2", ANOTHER, 2, written=9)
    late = a_view(there, boot=200.0, local=Local(noticed=(8, 100.0)))
    assert decided(late) == [do(then=Notice(9))]


def test_a_persistent_node_is_said_and_not_touched() -> None:
    (step,) = decided(a_view(ANNOUNCED | a_master(OTHER, "")))
    assert step == do(
        then=Say(
            f"/soa/master/{NODE} is persistent, so nobody's end will end it: delete it to have an election"
        )
    )


def test_our_address_in_anothers_hands_may_be_who_we_were_and_is_refused_if_it_lives_on() -> None:
    there = WARRANTED | {MINE: Node("somebody", 0, ANOTHER, 3, 3)}
    end = 100.0 + LINGERS * 10.0
    assert decided(a_view(there)) == [
        do(
            then=Say(f"{ME} is announced already, by somebody: waiting 15 s to see whether it lives on"),
        ),
        Look(end, f"whether somebody lives on as {ME}"),
    ]
    refused = (
        f"{SERVICE}: another is a candidate as {ME} already (somebody): give this one an address of its own"
    )
    assert decided(a_view(there, boot=end)) == [do(then=Refuse(refused))]
    assert decided(a_view(there, boot=end, local=Local(announced=True))) == [
        do(then=Say(f"another took {ME} while we were away: we stand when it has gone"))
    ]


def test_who_resigns_is_master_no_more_before_it_says_so_and_lets_others_go_first() -> None:
    view = a_view(ANNOUNCED | a_master(ME, OURS), token=5, local=Local(resigning=True))
    assert candidacy.token(view) is None
    assert decided(view) == [do(USED, Delete(NODE, 0), then=Resigned(True))]
    after = a_view(ANNOUNCED, boot=103.0, local=Local(resigned=100.0))
    assert decided(after) == [Look(100.0 + STAND_BACK, "others go first: we have resigned")]
    assert decided(a_view(ANNOUNCED, boot=105.0, local=Local(resigned=100.0))) == [STAND]


def test_who_finds_its_node_gone_when_it_resigns_was_master_all_the_same() -> None:
    """As after an answer that was lost."""
    view = a_view(ANNOUNCED, local=Local(resigning=True, was_master=True))
    assert decided(view) == [do(then=Resigned(True))]


def test_who_resigns_from_nothing_changes_nothing() -> None:
    view = a_view(ANNOUNCED | a_master(OTHER, ANOTHER), local=Local(resigning=True))
    assert decided(view) == [do(then=Resigned(False))]


def test_who_leaves_takes_its_nodes_along_and_nobody_elses() -> None:
    leaving = Local(leaving=True)
    ours = a_view(ANNOUNCED | a_master(ME, OURS), token=5, local=leaving)
    assert candidacy.token(ours) is None
    assert decided(ours) == [do(USED, Delete(NODE, 0), Delete(MINE), then=Leave())]
    theirs = a_view(ANNOUNCED | a_master(OTHER, ANOTHER), local=leaving)
    assert decided(theirs) == [do(Delete(MINE), then=Leave())]
    designated = a_view(ANNOUNCED | a_master(OTHER, OURS, 1), local=leaving)
    assert decided(designated) == [do(Delete(MINE), then=Leave())]
    assert decided(a_view({}, local=leaving)) == [do(then=Leave())]


def test_who_leaves_without_having_been_a_candidate_leaves_the_node_to_another_of_its_process() -> None:
    theirs = WARRANTED | {MINE: Node("another here", 0, OURS, 3, 3)} | a_master(ME, OURS)
    assert decided(a_view(theirs, local=Local(leaving=True))) == [do(then=Leave())]


def test_everybodys_masters_are_told_from_the_nodes() -> None:
    tree = a_view(a_master(OTHER, ANOTHER) | {"services/Other:2": Node("x:1", 0, ANOTHER, 1, 1)}).tree
    assert candidacy.masters(tree) == {SERVICE: OTHER, "Other:2": "x:1"}


# What we may not read


def unreadable(view: View, path: str) -> View:
    assert isinstance(view.tree, Mirror)
    view.tree.stale(path, 100.0)
    view.tree.deny(path)
    return view


def test_a_master_that_we_may_not_read_is_left_out_of_what_is_told() -> None:
    others = a_master(OTHER, ANOTHER) | {"services/Secret:1": Node("x:1", 0, ANOTHER, 1, 1)}
    view = unreadable(a_view(ANNOUNCED | others), "services/Secret:1")
    assert candidacy.masters(view.tree) == {SERVICE: OTHER}
    assert candidacy.hidden(view.tree) == ["services/Secret:1"]


def test_who_may_not_read_the_node_is_not_master_and_does_nothing() -> None:
    view = unreadable(a_view(ANNOUNCED | a_master(ME, OURS), token=5), NODE)
    assert candidacy.token(view) is None
    assert candidacy.why_not(view) == "who is master cannot be read"
    assert decided(view) == []
