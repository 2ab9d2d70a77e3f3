"""What every registry promises. Each driver's own test file asks it these questions through a `Cluster`."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

import pytest

from shardwright.errors import RegistryError
from shardwright.registry import (
    Create,
    Delete,
    Forbid,
    Landed,
    Outcome,
    Put,
    Refused,
    Registry,
    Require,
    Session,
    State,
    Tree,
    Unknown,
    Unread,
    Write,
    protected,
    weight,
)
from shardwright.registry.tree import Node, snapshot

ROOT = "/contract/job"


class Cluster(ABC):
    """One registry that many sessions can be opened on, and the ways to end them."""

    def __init__(self) -> None:
        self._opened: list[Registry] = []

    def open(self) -> Registry:
        registry = self.connect()
        self._opened.append(registry)
        return registry

    def close(self) -> None:
        for registry in self._opened:
            registry.close()

    @abstractmethod
    def connect(self) -> Registry: ...

    @abstractmethod
    def expire(self, registry: Registry) -> None:
        """Have the registry end this session although its process lives."""


class NetworkCluster(Cluster):
    """A registry at the other end of a connection that can break."""

    @abstractmethod
    def cut(self, registry: Registry) -> None: ...

    @abstractmethod
    def heal(self, registry: Registry) -> None: ...

    @abstractmethod
    def lose_reply(self, registry: Registry) -> None:
        """The next commit arrives, and the connection breaks before its answer does."""


def land(registry: Registry, *writes: Write) -> Landed:
    outcome = registry.wait(registry.commit(*writes))
    assert isinstance(outcome, Landed), outcome
    return outcome


def refuse(registry: Registry, *writes: Write) -> Refused:
    outcome = registry.wait(registry.commit(*writes))
    assert isinstance(outcome, Refused), outcome
    return outcome


def read(registry: Registry, path: str) -> Node | None:
    return registry.wait(registry.read([path], fresh=True))[path]


def data(registry: Registry, path: str) -> str | None:
    node = read(registry, path)
    return None if node is None else node.data


def mirror(registry: Registry, path: str = ROOT) -> Tree:
    tree = registry.mirror(path)
    registry.wait_for(lambda: tree.synced, what=f"the mirror of {path}")
    return tree


def look(registry: Registry, question: Callable[[], object]) -> object:
    """Ask a question of a mirror as the reactor does: read what it needs, then ask again."""
    while True:
        try:
            return question()
        except Unread as unread:
            registry.wait(registry.read(unread.paths))


def sees(registry: Registry, question: Callable[[], bool], what: str = "the change") -> None:
    registry.wait_for(lambda: bool(look(registry, question)), what=what)


@pytest.fixture
def registry(cluster: Cluster) -> Registry:
    return cluster.open()


@pytest.fixture
def other(cluster: Cluster) -> Registry:
    return cluster.open()


class Contract:
    """Promises about nodes, commits, numbers, mirrors and sessions."""

    # -- commits ------------------------------------------------------------------------------------

    def test_what_is_created_is_read_with_all_that_belongs_to_it(self, registry: Registry) -> None:
        number = land(registry, Create("/contract/a", "hello")).number
        assert read(registry, "/contract/a") == Node("hello", 0, "", number, number)

    def test_an_absent_node_reads_as_none(self, registry: Registry) -> None:
        assert read(registry, "/contract/nothing") is None
        assert registry.wait(registry.names(["/contract/nothing"])) == {"/contract/nothing": None}

    @pytest.mark.parametrize("text", ["", "ünïcödé 漢字 😀", "line\nline\n", " ", "x" * 50_000, "\x00\x01"])
    def test_any_text_comes_back_as_it_was_written(self, registry: Registry, text: str) -> None:
        land(registry, Create("/contract/text", text))
        assert data(registry, "/contract/text") == text

    def test_paths_may_hold_any_printable_text(self, registry: Registry) -> None:
        path = "/contract/10.0.0.1@-@7-x y%z漢 ~'\"_\\"
        land(registry, Create(path, "odd"))
        assert data(registry, path) == "odd"
        assert registry.wait(registry.names(["/contract"], fresh=True))["/contract"] == (
            path.rpartition("/")[2],
        )

    def test_a_second_create_is_refused_and_changes_nothing(
        self, registry: Registry, other: Registry
    ) -> None:
        land(registry, Create("/contract/leader", "one"))
        refuse(other, Create("/contract/leader", "two"))
        assert data(other, "/contract/leader") == "one"

    def test_missing_parents_are_made_persistent_and_empty(self, registry: Registry) -> None:
        land(registry, Create("/contract/a/b/c", "deep", ephemeral=True))
        parent = read(registry, "/contract/a/b")
        assert parent is not None
        assert (parent.data, parent.owner, parent.version) == ("", "", 0)

    def test_a_put_replaces_the_data_and_counts_the_version(self, registry: Registry) -> None:
        made = land(registry, Create("/contract/a", "1")).number
        written = land(registry, Put("/contract/a", "2")).number
        assert read(registry, "/contract/a") == Node("2", 1, "", made, written)

    def test_a_put_to_an_absent_node_is_refused(self, registry: Registry) -> None:
        refuse(registry, Put("/contract/a", "1"))
        assert read(registry, "/contract/a") is None

    def test_a_put_lands_only_at_the_version_it_names(self, registry: Registry) -> None:
        land(registry, Create("/contract/a", "1"))
        land(registry, Put("/contract/a", "2", version=0))
        refuse(registry, Put("/contract/a", "3", version=0))
        assert data(registry, "/contract/a") == "2"

    def test_a_delete_lands_only_at_the_version_it_names(self, registry: Registry) -> None:
        land(registry, Create("/contract/a"))
        refuse(registry, Delete("/contract/a", version=1))
        land(registry, Delete("/contract/a", version=0))
        refuse(registry, Delete("/contract/a"))
        assert read(registry, "/contract/a") is None

    def test_a_node_with_children_is_deleted_only_with_all_below_it(self, registry: Registry) -> None:
        land(registry, Create("/contract/a/b/c"), Create("/contract/a/d"))
        refuse(registry, Delete("/contract/a"))
        land(registry, Delete("/contract/a", recursive=True))
        assert registry.wait(registry.names(["/contract", "/contract/a/b"])) == {
            "/contract": (),
            "/contract/a/b": None,
        }

    def test_children_and_then_their_parent_go_in_one_commit(self, registry: Registry) -> None:
        land(registry, Create("/contract/a/b"))
        land(registry, Delete("/contract/a/b"), Delete("/contract/a"))
        assert read(registry, "/contract/a") is None

    def test_a_recursive_delete_of_an_absent_node_is_refused(self, registry: Registry) -> None:
        refuse(registry, Delete("/contract/nothing", recursive=True))

    def test_an_ephemeral_node_has_no_children(self, registry: Registry) -> None:
        land(registry, Create("/contract/e", ephemeral=True))
        refuse(registry, Create("/contract/e/child"))
        assert read(registry, "/contract/e/child") is None

    @pytest.mark.parametrize(
        "guard",
        [
            Require("/contract/missing"),
            Require("/contract/there", version=7),
            Forbid("/contract/there"),
            Create("/contract/there"),
            Put("/contract/missing"),
            Delete("/contract/missing"),
            Delete("/contract/there", version=7),
            Put("/contract/there", "x", version=7),
        ],
        ids=repr,
    )
    def test_writes_land_together_or_not_at_all(self, registry: Registry, guard: Write) -> None:
        land(registry, Create("/contract/there", "as it was"))
        refuse(registry, Create("/contract/a/b"), Create("/contract/c"), guard)
        assert data(registry, "/contract/there") == "as it was"
        assert read(registry, "/contract/c") is None
        assert read(registry, "/contract/a/b") is None

    def test_guards_let_a_commit_through_while_they_hold(self, registry: Registry) -> None:
        land(registry, Create("/contract/a"))
        land(
            registry,
            Require("/contract/a"),
            Require("/contract/a", version=0),
            Forbid("/contract/b"),
            Put("/contract/a", "1"),
        )
        land(registry, Forbid("/contract/x/y/z"), Put("/contract/a", "2"))
        assert data(registry, "/contract/a") == "2"
        assert read(registry, "/contract/x") is None
        assert read(registry, "/contract/b") is None

    def test_what_would_stand_below_an_ephemeral_node_is_absent(self, registry: Registry) -> None:
        land(registry, Create("/contract/e", ephemeral=True))
        land(registry, Forbid("/contract/e/x"), Forbid("/contract/e/x/y"), Create("/contract/a"))

    def test_guards_look_at_the_tree_before_the_commit_wherever_they_stand(self, registry: Registry) -> None:
        land(registry, Create("/contract/a"))
        land(registry, Put("/contract/a", "1"), Require("/contract/a", version=0))
        land(registry, Create("/contract/b"), Forbid("/contract/b"))
        refuse(registry, Create("/contract/c"), Require("/contract/c"))
        assert read(registry, "/contract/c") is None

    def test_a_node_may_be_made_anew_in_one_commit_and_is_another_then(
        self, registry: Registry, other: Registry
    ) -> None:
        land(registry, Create("/contract/master", "old", ephemeral=True))
        number = land(
            other, Delete("/contract/master", version=0), Create("/contract/master", "new", ephemeral=True)
        ).number
        session = other.session()
        assert session is not None
        assert read(other, "/contract/master") == Node("new", 0, session.id, number, number)

    def test_a_re_made_node_starts_at_version_0_again(self, registry: Registry) -> None:
        land(registry, Create("/contract/a"))
        land(registry, Put("/contract/a", "1"))
        land(registry, Delete("/contract/a"))
        land(registry, Create("/contract/a"))
        land(registry, Require("/contract/a", version=0), Put("/contract/a", "mistaken for the first one"))

    def test_what_one_commit_deletes_twice_over_or_makes_anew_comes_to_the_same(
        self, registry: Registry
    ) -> None:
        land(registry, Create("/contract/a/b/c", "old"))
        land(registry, Delete("/contract/a/b/c", version=0), Delete("/contract/a/b", recursive=True))
        land(registry, Create("/contract/a/b/c", "old"))
        land(registry, Delete("/contract/a/b", recursive=True), Delete("/contract/a", recursive=True))
        land(registry, Create("/contract/a/b/c", "old"))
        land(
            registry,
            Delete("/contract/a", recursive=True),
            Create("/contract/a"),
            Create("/contract/a/b/c", "new"),
        )
        assert data(registry, "/contract/a/b/c") == "new"

    def test_the_root_is_always_there_at_version_0(self, registry: Registry) -> None:
        land(registry, Require("/"), Require("/", version=0), Create("/contract/a"))
        refuse(registry, Require("/", version=7), Create("/contract/b"))
        refuse(registry, Forbid("/"), Create("/contract/b"))
        root = read(registry, "/")
        assert root is not None
        assert (root.data, root.version, root.owner) == ("", 0, "")
        tree = mirror(registry, "/")
        assert look(registry, lambda: tree.get("")) == ""
        assert "contract/a" in tree

    @pytest.mark.parametrize(
        "paths", ["/contract", ["contract"], ["/a//b"], [None], [3], ["/a\x00b"]], ids=repr
    )
    def test_what_cannot_be_a_path_is_a_mistake_of_the_reader(
        self, registry: Registry, paths: list[str]
    ) -> None:
        with pytest.raises(ValueError, match="path"):
            registry.read(paths)
        with pytest.raises(ValueError, match="path"):
            registry.names(paths)
        land(registry, Create("/contract/a"))

    def test_a_tree_is_asked_by_relative_paths_and_says_so(self, registry: Registry) -> None:
        tree = mirror(registry)
        with pytest.raises(ValueError, match="relative"):
            tree.get(f"{ROOT}/a")
        with pytest.raises(ValueError, match="relative"):
            tree.children(ROOT)

    def test_a_listener_that_fails_changes_nothing(self, cluster: Cluster) -> None:
        registry = cluster.open()
        tree = mirror(registry)
        first = registry.session()

        def fail(state: State, session: Session | None) -> None:
            raise RuntimeError("not the registry's fault")

        registry.listener = fail
        cluster.expire(registry)
        registry.wait_for(lambda: registry.session() not in (None, first) and tree.synced, 20)
        land(registry, Create("/contract/a"))

    def test_a_commit_made_while_closing_is_refused(self, cluster: Cluster) -> None:
        registry = cluster.open()
        again: list[Outcome] = []
        futures = [registry.commit(Create(f"/contract/{n}")) for n in range(50)]
        for future in futures:
            future.add_done_callback(lambda _: again.append(registry.commit(Create("/contract/x")).result(0)))
        registry.close()
        assert all(future.done() for future in futures)
        assert len(again) == len(futures)
        assert all(isinstance(outcome, Refused) for outcome in again)

    @pytest.mark.parametrize(
        "writes",
        [
            [],
            [Create("no-slash")],
            [Create("/ends/")],
            [Create("/double//slash")],
            [Create("/a/../b")],
            [Create("/a/\n")],
            [Create("/")],
            [Delete("/")],
            [Create("/a"), Create("/a")],
            [Put("/a"), Delete("/a")],
            [Create("/a"), Delete("/a")],
            [Delete("/a", recursive=True), Create("/a/b")],
            [Put("/a", version=-1)],
            [Require("/a", version=2**31)],
            [Put("/a", "\ud800")],
            [Put("/a", "\udcc3\udca9")],
        ],
        ids=repr,
    )
    def test_a_commit_that_contradicts_itself_is_a_mistake_of_the_caller(
        self, registry: Registry, writes: list[Write]
    ) -> None:
        with pytest.raises(ValueError, match=r"path|twice|takes|needs|root|version|surrogate"):
            registry.commit(*writes)

    def test_a_commit_too_large_for_the_server_is_refused_here_with_a_sentence(
        self, registry: Registry
    ) -> None:
        land(registry, Create("/contract"))
        half = "x" * (registry.largest // 2)
        before = registry.session()
        why = refuse(
            registry, Create("/contract/a", half), Create("/contract/b", half), Create("/contract/c", half)
        ).why
        assert "split it" in why
        assert registry.session() is before
        fits = "x" * (registry.largest - weight([Create("/contract/a")]))
        land(registry, Create("/contract/a", fits))

    def test_a_thousand_writes_land_as_one(self, registry: Registry) -> None:
        landed = land(registry, *(Create(f"/contract/many/{n}", str(n)) for n in range(1000)))
        assert registry.wait(registry.names(["/contract/many"], fresh=True))["/contract/many"] == tuple(
            sorted(str(n) for n in range(1000))
        )
        node = read(registry, "/contract/many/999")
        assert node is not None
        assert node.made == landed.number

    # -- many at once -------------------------------------------------------------------------------

    def test_many_commits_under_way_each_end_by_themselves_and_in_order(self, registry: Registry) -> None:
        land(registry, Create("/contract/n", "0"))
        futures = [
            registry.commit(Put("/contract/n", str(n), version=n if n % 3 else 10_000)) for n in range(100)
        ]
        outcomes = [registry.wait(future) for future in futures]
        landed = [outcome for outcome in outcomes if isinstance(outcome, Landed)]
        assert all(isinstance(outcome, Landed | Refused) for outcome in outcomes)
        assert [o.number for o in landed] == sorted({o.number for o in landed})
        assert isinstance(outcomes[0], Refused)
        assert data(registry, "/contract/n") == "0"  # the first was refused, so no version after it is right

    def test_of_many_who_claim_one_node_one_wins(self, cluster: Cluster) -> None:
        registries = [cluster.open() for _ in range(4)]
        futures = [(r, r.commit(Create("/contract/claim", str(n)))) for n, r in enumerate(registries)]
        outcomes = [registry.wait(future) for registry, future in futures]
        winners = [n for n, outcome in enumerate(outcomes) if isinstance(outcome, Landed)]
        assert len(winners) == 1
        assert all(isinstance(outcome, Landed | Refused) for outcome in outcomes)
        assert data(registries[0], "/contract/claim") == str(winners[0])

    # -- numbers ------------------------------------------------------------------------------------

    def test_numbers_grow_over_sessions_deletes_and_all(self, cluster: Cluster) -> None:
        numbers = []
        for turn in range(3):
            registry = cluster.open()
            numbers.append(land(registry, Create("/contract/a")).number)
            numbers.append(land(registry, Put("/contract/a", "x")).number)
            numbers.append(land(registry, Delete("/contract/a")).number)
            registry.close()
            assert numbers == sorted(set(numbers)), turn

    def test_a_token_is_learned_from_a_node_somebody_else_wrote(
        self, registry: Registry, other: Registry
    ) -> None:
        tree = mirror(other)
        made = land(registry, Create(f"{ROOT}/cursor", "1")).number
        sees(other, lambda: "cursor" in tree and tree.node("cursor").made == made)
        written = land(registry, Put(f"{ROOT}/cursor", "2")).number
        sees(other, lambda: tree.node("cursor").written == written)
        assert look(other, lambda: tree.node("cursor")) == Node("2", 1, "", made, written)

    def test_all_that_one_commit_makes_bears_its_number_in_the_eyes_of_its_writer_and_of_others(
        self, registry: Registry, other: Registry
    ) -> None:
        """So who reads both knows that they were made together, without having been told the number."""
        trees = [mirror(each) for each in (registry, other)]
        number = land(registry, Create(f"{ROOT}/job", "a"), Create(f"{ROOT}/beside/gap", "b")).number
        for each, tree in zip((registry, other), trees, strict=True):
            sees(each, lambda: "beside/gap" in tree and "job" in tree)  # noqa: B023
            assert look(each, lambda: tree.node("job")) == Node("a", 0, "", number, number)  # noqa: B023
            assert look(each, lambda: tree.node("beside/gap")) == Node("b", 0, "", number, number)  # noqa: B023

    # -- sequential nodes ---------------------------------------------------------------------------

    def test_sequential_nodes_are_given_growing_ten_digit_names(
        self, registry: Registry, other: Registry
    ) -> None:
        paths: list[str] = []
        for who in (registry, other, registry):
            name = protected("latch-", "6d2c0000-0000-4000-8000-000000000000")
            paths += land(who, Create(f"/contract/latch/{name}", ephemeral=True, sequential=True)).names
        suffixes = [path.rpartition("latch-")[2] for path in paths]
        assert suffixes == sorted(set(suffixes))
        assert {len(suffix) for suffix in suffixes} == {10}
        assert all(suffix.isdigit() for suffix in suffixes)
        assert registry.wait(registry.names(["/contract/latch"], fresh=True))["/contract/latch"] == tuple(
            path.rpartition("/")[2] for path in paths
        )

    def test_the_maker_of_a_sequential_node_sees_it_without_reading(self, registry: Registry) -> None:
        tree = mirror(registry)
        landed = land(registry, Create(f"{ROOT}/latch/n-", "mine", ephemeral=True, sequential=True))
        session = registry.session()
        assert session is not None
        (path,) = landed.names
        assert tree.node(path.removeprefix(f"{ROOT}/")) == Node(
            "mine", 0, session.id, landed.number, landed.number
        )

    # -- mirrors ------------------------------------------------------------------------------------

    def test_a_mirror_holds_what_was_there_before(self, registry: Registry, other: Registry) -> None:
        land(
            registry,
            Create(ROOT, "root"),
            Create(f"{ROOT}/a/b", "deep"),
            Create("/contract/jobs-other", "not ours"),
        )
        tree = mirror(other)
        assert {path: node.data for path, node in snapshot(tree).items()} == {
            "": "root",
            "a": "",
            "a/b": "deep",
        }
        assert tree.children("") == ["a"]
        assert tree.get("a/b") == "deep"
        assert tree.get("nothing") is None

    def test_a_mirror_of_nothing_is_complete_and_empty_and_sees_its_root_appear(
        self, registry: Registry, other: Registry
    ) -> None:
        tree = mirror(other)
        assert len(tree) == 0
        land(registry, Create(f"{ROOT}/config", "x"))
        sees(other, lambda: tree.get("config") == "x")
        assert tree.children("") == ["config"]

    def test_a_mirror_follows_every_kind_of_change(self, registry: Registry, other: Registry) -> None:
        tree = mirror(other)
        land(registry, Create(f"{ROOT}/a", "1"), Create(f"{ROOT}/b/c", "2"))
        sees(other, lambda: tree.get("a") == "1" and tree.get("b/c") == "2")
        land(registry, Put(f"{ROOT}/a", "3"), Delete(f"{ROOT}/b", recursive=True))
        sees(other, lambda: tree.get("a") == "3" and "b" not in tree and "b/c" not in tree)
        assert tree.children("") == ["a"]
        land(registry, Delete(f"{ROOT}/a"), Create(f"{ROOT}/a", "anew"))
        sees(other, lambda: tree.get("a") == "anew" and tree.version("a") == 0)

    def test_own_commits_are_in_the_mirror_when_they_are_answered(self, registry: Registry) -> None:
        tree = mirror(registry)
        session = registry.session()
        assert session is not None
        one = land(registry, Create(f"{ROOT}/a", "1"), Create(f"{ROOT}/b", "2", ephemeral=True)).number
        assert tree.node("a") == Node("1", 0, "", one, one)
        assert tree.node("b") == Node("2", 0, session.id, one, one)
        two = land(registry, Put(f"{ROOT}/a", "3"), Delete(f"{ROOT}/b")).number
        assert tree.node("a") == Node("3", 1, "", one, two)
        assert "b" not in tree

    def test_the_count_of_changes_stands_still_while_nothing_changes(
        self, registry: Registry, other: Registry
    ) -> None:
        tree = mirror(registry)
        land(registry, Create(f"{ROOT}/a"))
        sees(registry, lambda: tree.get("a") == "")
        registry.pump()
        before = tree.changes
        land(other, Create("/contract/elsewhere"))
        read(registry, "/contract/elsewhere")
        refuse(registry, Put(f"{ROOT}/a", version=5))
        assert tree.changes == before
        land(other, Put(f"{ROOT}/a", "x"))
        registry.wait_for(lambda: tree.changes > before)

    def test_children_are_sorted_whatever_the_order_they_came_in(self, registry: Registry) -> None:
        tree = mirror(registry)
        for name in ("10", "9", "2", "b", "a"):
            land(registry, Create(f"{ROOT}/{name}"))
        assert list(tree.children("")) == ["10", "2", "9", "a", "b"]

    def test_since_tells_when_a_node_came_and_when_it_went(self, registry: Registry) -> None:
        tree = mirror(registry)
        start = tree.since("a")
        land(registry, Create(f"{ROOT}/a"))
        came = tree.since("a")
        land(registry, Put(f"{ROOT}/a", "again"))
        assert tree.since("a") == came
        land(registry, Delete(f"{ROOT}/a"))
        went = tree.since("a")
        land(registry, Create(f"{ROOT}/a"))
        assert start <= came <= went <= tree.since("a") <= registry.clock.boot()

    def test_two_mirrors_one_inside_the_other_are_both_kept(
        self, registry: Registry, other: Registry
    ) -> None:
        outer, inner = mirror(other, "/contract"), mirror(other, ROOT)
        land(registry, Create(f"{ROOT}/a", "1"))
        sees(other, lambda: outer.get("job/a") == "1" and inner.get("a") == "1")

    def test_a_mirror_is_emptied_when_all_below_a_node_above_its_root_is_deleted(
        self, registry: Registry, other: Registry
    ) -> None:
        inner, own = mirror(other), mirror(registry)
        land(registry, Create(f"{ROOT}/a/b", "1"))
        sees(other, lambda: inner.get("a/b") == "1")
        land(registry, Delete("/contract", recursive=True))
        assert len(own) == 0
        sees(other, lambda: len(inner) == 0)
        land(registry, Create(f"{ROOT}/c", "2"))
        sees(other, lambda: inner.get("c") == "2")
        assert list(inner.children("")) == ["c"]

    def test_a_forgotten_mirror_is_not_kept(self, registry: Registry) -> None:
        tree = mirror(registry)
        registry.forget(tree)
        land(registry, Create(f"{ROOT}/a"))
        assert "a" not in tree
        again = mirror(registry)
        assert again is not tree
        assert "a" in again

    def test_forgetting_a_mirror_twice_leaves_its_successor(self, registry: Registry) -> None:
        first = mirror(registry)
        registry.forget(first)
        second = mirror(registry)
        registry.forget(first)
        land(registry, Create(f"{ROOT}/a"))
        assert "a" in second

    def test_commits_made_together_land_or_are_refused_each_by_itself(self, registry: Registry) -> None:
        land(registry, *(Create(f"{ROOT}/{n}", "0") for n in range(5)))
        futures = registry.commit_all(
            [[Put(f"{ROOT}/{n}", "1", version=9 if n == 2 else 0)] for n in range(5)]
        )
        assert [type(registry.wait(future)) for future in futures] == [
            Landed,
            Landed,
            Refused,
            Landed,
            Landed,
        ]
        assert data(registry, f"{ROOT}/4") == "1"

    def test_a_mirror_agrees_with_the_registry_after_a_storm(
        self, registry: Registry, other: Registry
    ) -> None:
        tree = mirror(other)
        futures = []
        for n in range(300):
            futures.append(registry.commit(Create(f"{ROOT}/{n % 17}/{n}", str(n))))
            if n >= 40:
                futures.append(registry.commit(Delete(f"{ROOT}/{(n - 40) % 17}/{n - 40}")))
        for future in futures:
            assert isinstance(registry.wait(future), Landed)
        land(registry, Create(f"{ROOT}/done"))
        sees(other, lambda: "done" in tree)
        whole = {path for path in tree if path.count("/") == 1}
        assert whole == {f"{n % 17}/{n}" for n in range(260, 300)}
        look(other, lambda: tree.need(whole))
        assert {tree.get(path) for path in whole} == {str(n) for n in range(260, 300)}

    # -- sessions -----------------------------------------------------------------------------------

    def test_an_ephemeral_node_tells_whose_it_is(self, registry: Registry, other: Registry) -> None:
        land(registry, Create("/contract/e", ephemeral=True))
        node, session = read(other, "/contract/e"), registry.session()
        assert node is not None
        assert session is not None
        assert node.owner == session.id

    def test_ephemeral_nodes_go_when_their_session_is_closed(
        self, registry: Registry, other: Registry
    ) -> None:
        tree = mirror(other)
        land(registry, Create(f"{ROOT}/instances/one", ephemeral=True), Create(f"{ROOT}/stays", "y"))
        sees(other, lambda: list(tree.children("instances")) == ["one"])
        registry.close()
        sees(other, lambda: "instances/one" not in tree)
        assert look(other, lambda: tree.get("stays")) == "y"

    def test_a_put_leaves_an_ephemeral_node_with_its_maker(self, registry: Registry, other: Registry) -> None:
        land(registry, Create("/contract/e", "a", ephemeral=True))
        land(other, Put("/contract/e", "b"))
        registry.close()
        other.wait_for(lambda: data(other, "/contract/e") is None)

    def test_a_session_expired_by_the_registry_is_told_and_followed_by_a_new_one(
        self, cluster: Cluster
    ) -> None:
        registry, other = cluster.open(), cluster.open()
        told: list[tuple[State, str]] = []

        def listen(state: State, session: Session | None) -> None:
            told.append((state, session.id if session is not None else ""))

        registry.listener = listen
        first = registry.session()
        assert first is not None
        tree, theirs = mirror(registry), mirror(other)
        land(registry, Create(f"{ROOT}/instances/me", ephemeral=True))
        sees(other, lambda: "instances/me" in theirs)
        cluster.expire(registry)
        registry.wait_for(
            lambda: bool(told) and told[-1][0] is State.CONNECTED and told[-1][1] != first.id, 20
        )
        states = [state for state, _ in told]
        assert State.LOST in states
        assert states.index(State.LOST) < len(states) - 1
        assert first.lease_left() <= 0
        sees(other, lambda: "instances/me" not in theirs)
        registry.wait_for(lambda: tree.synced)
        assert "instances/me" not in tree
        land(registry, Create(f"{ROOT}/instances/me", ephemeral=True))
        session, node = registry.session(), look(registry, lambda: tree.node("instances/me"))
        assert session is not None
        assert isinstance(node, Node)
        assert node.owner == session.id != first.id

    def test_a_lease_is_left_while_connected_and_shorter_than_the_session(self, registry: Registry) -> None:
        session = registry.session()
        assert session is not None
        land(registry, Create("/contract/a"))
        assert 0 < session.lease_left() < session.timeout

    def test_after_close_there_is_no_session_and_commits_are_refused(self, registry: Registry) -> None:
        registry.close()
        assert registry.session() is None
        assert registry.state is State.LOST
        refuse(registry, Create("/contract/a"))
        registry.close()

    def test_nobody_can_rely_on_the_lease_of_a_session_that_we_ended(self, cluster: Cluster) -> None:
        for end in (Registry.close, Registry.abandon):
            registry = cluster.open()
            session = registry.session()
            assert session is not None
            assert session.lease_left() > 0
            end(registry)
            assert session.lease_left() <= 0
            registry.close()

    def test_session_ids_never_come_again(self, cluster: Cluster) -> None:
        ids = []
        for _ in range(5):
            registry = cluster.open()
            session = registry.session()
            assert session is not None
            ids.append(session.id)
            registry.close()
        assert len(set(ids)) == 5

    def test_the_registrys_time_is_about_ours(self, registry: Registry) -> None:
        land(registry, Create("/contract/a"))
        assert abs((registry.now() - registry.clock.wall()).total_seconds()) < 5

    # -- giving up ----------------------------------------------------------------------------------

    def test_a_commit_given_up_on_is_unknown_never_refused_and_may_land_all_the_same(
        self, registry: Registry
    ) -> None:
        land(registry, Create("/contract"))
        future = registry.commit(Create("/contract/late", "x"), patience=0.0)
        outcome: Outcome = registry.wait(future)
        assert isinstance(outcome, Unknown | Landed)
        registry.wait_for(lambda: data(registry, "/contract/late") == "x")


class NetworkContract(Contract):
    """Promises of registries at the other end of a connection."""

    def test_a_lost_reply_leaves_the_commit_unknown_and_a_look_settles_it(
        self, cluster: NetworkCluster
    ) -> None:
        registry = cluster.open()
        tree = mirror(registry)
        land(registry, Create(f"{ROOT}/latch"))
        cluster.lose_reply(registry)
        name = protected("latch-", "11111111-2222-4333-8444-555555555555")
        outcome = registry.wait(
            registry.commit(Create(f"{ROOT}/latch/{name}", ephemeral=True, sequential=True))
        )
        assert isinstance(outcome, Unknown)
        registry.wait_for(lambda: registry.state is State.CONNECTED and tree.synced)
        (found,) = [child for child in tree.children("latch") if child.startswith("_c_11111111")]
        session = registry.session()
        assert session is not None
        assert look(registry, lambda: tree.owner(f"latch/{found}")) == session.id

    def test_a_short_cut_keeps_session_and_nodes_and_loses_no_change(self, cluster: NetworkCluster) -> None:
        registry, other = cluster.open(), cluster.open()
        told: list[State] = []
        registry.listener = lambda state, session: told.append(state)
        before = registry.session()
        tree = mirror(registry)
        land(
            registry,
            Create(f"{ROOT}/me", ephemeral=True),
            Create(f"{ROOT}/goes"),
            Create(f"{ROOT}/changes", "1"),
        )
        cluster.cut(registry)
        registry.wait_for(lambda: registry.state is not State.CONNECTED)
        assert registry.session() is None
        assert not tree.synced
        refuse(registry, Create(f"{ROOT}/while-cut-off"))
        land(other, Create(f"{ROOT}/new/one", "2"), Delete(f"{ROOT}/goes"), Put(f"{ROOT}/changes", "3"))
        cluster.heal(registry)
        registry.wait_for(lambda: registry.state is State.CONNECTED and tree.synced)
        assert registry.session() is before
        assert told[0] is State.SUSPENDED
        assert told[-1] is State.CONNECTED
        assert State.LOST not in told
        found = look(registry, lambda: {path: tree.get(path) for path in tree})
        assert found == {"": "", "me": "", "changes": "3", "new": "", "new/one": "2"}

    def test_a_question_that_cannot_be_asked_fails_with_a_sentence(self, cluster: NetworkCluster) -> None:
        registry = cluster.open()
        cluster.cut(registry)
        registry.wait_for(lambda: registry.state is not State.CONNECTED)
        with pytest.raises(RegistryError, match="not connected"):
            registry.wait(registry.read(["/contract/a"]))


def closing(cluster: Cluster) -> Iterator[Cluster]:
    """For a fixture: hand the cluster out, and close all that was opened on it."""
    try:
        yield cluster
    finally:
        cluster.close()
