"""A tree says what its driver told it: each answer is compared with a plain dictionary of paths."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardwright.registry import Unread
from shardwright.registry import tree as trees
from shardwright.registry.tree import Mirror, Mirrors, Node, snapshot

ROOT = "/ns/job"


def a_node(data: str = "", *, version: int = 0, made: int = 1, written: int = 1) -> Node:
    return Node(data, version, "", made, written)


def a_mirror(nodes: Iterable[str] = (), *, root: str = ROOT, at: float = 0.0) -> Mirror:
    """A mirror that is complete and holds these nodes, each with its own path for data."""
    mirror = Mirror(root)
    for path in nodes:
        mirror.put(path, a_node(path), at)
    mirror.complete(at)
    return mirror


# -- what is there ------------------------------------------------------------------------------------


def test_a_new_mirror_is_empty_and_not_synced() -> None:
    mirror = Mirror(ROOT)
    assert (len(mirror), list(mirror), mirror.synced, "" in mirror) == (0, [], False, False)
    assert repr(mirror) == "<Tree /ns/job: 0 nodes, not synced>"


def test_nodes_of_one_name_are_found_wherever_they_are_as_they_come_and_go() -> None:
    mirror = a_mirror(["sharding/0/running", "sharding/1/instance", "running"])
    assert set(mirror.named("running")) == {"sharding/0/running", "running"}
    assert set(mirror.named("instance")) == {"sharding/1/instance"}
    mirror.put("sharding/2/running", a_node(), 1.0)
    mirror.stale("sharding/3/running/deep", 1.0)
    mirror.drop("sharding/0", 1.0)
    assert set(mirror.named("running")) == {"running", "sharding/2/running", "sharding/3/running"}
    mirror.drop("sharding", 2.0)
    assert set(mirror.named("running")) == {"running"}
    assert set(mirror.named("instance")) == set()


def test_a_node_answers_with_all_that_was_told_of_it() -> None:
    mirror = a_mirror()
    mirror.put("a", Node("x", 3, "session-7", 11, 12), 1.0)
    assert mirror.node("a") == Node("x", 3, "session-7", 11, 12)
    assert (mirror.get("a"), mirror.version("a"), mirror.owner("a")) == ("x", 3, "session-7")


def test_an_absent_node_has_no_data_and_anything_else_asked_of_it_is_a_key_error() -> None:
    mirror = a_mirror()
    assert mirror.get("a") is None
    assert mirror.children("a") == ()
    for ask in (mirror.node, mirror.version, mirror.owner):
        with pytest.raises(KeyError):
            ask("a")


def test_children_stand_in_the_order_of_their_names_whatever_the_order_they_came_in() -> None:
    mirror = a_mirror(["b", "10", "9", "a", "2", "a/z", "a/y"])
    assert list(mirror.children("")) == ["10", "2", "9", "a", "b"]
    assert list(mirror.children("a")) == ["y", "z"]


def test_children_are_those_directly_below_and_not_those_of_a_longer_name() -> None:
    mirror = a_mirror(["a/b/c", "ab", "a.b"])
    assert list(mirror.children("")) == ["a", "a.b", "ab"]
    assert list(mirror.children("a")) == ["b"]


def test_a_snapshot_is_every_node_by_its_path() -> None:
    mirror = a_mirror(["", "b", "a"])
    assert snapshot(mirror) == {"": a_node(""), "a": a_node("a"), "b": a_node("b")}
    assert list(snapshot(mirror)) == ["", "a", "b"]


# -- what was not told --------------------------------------------------------------------------------


def test_a_node_that_was_only_announced_is_there_and_must_be_read() -> None:
    mirror = a_mirror([""])
    mirror.stale("a", 1.0)
    assert "a" in mirror
    assert list(mirror.children("")) == ["a"]
    with pytest.raises(Unread, match=r"not read yet below /ns/job: a") as unread:
        mirror.get("a")
    assert unread.value.paths == ("/ns/job/a",)


def test_a_node_that_changed_must_be_read_again_before_it_answers() -> None:
    mirror = a_mirror(["a"])
    mirror.stale("a", 1.0)
    for ask in (mirror.get, mirror.node, mirror.version, mirror.owner):
        with pytest.raises(Unread):
            ask("a")
    mirror.put("a", a_node("new", version=1, written=2), 2.0)
    assert mirror.get("a") == "new"


def test_a_node_that_is_kept_from_us_is_there_and_is_not_waited_for_until_somebody_writes_it() -> None:
    mirror = a_mirror([""])
    mirror.stale("a", 1.0)
    before = mirror.changes
    mirror.deny("a")
    assert mirror.unreadable("a")
    assert mirror.changes > before
    mirror.need(["a"])
    with pytest.raises(Unread):
        mirror.get("a")
    mirror.stale("a", 2.0)
    assert not mirror.unreadable("a")
    with pytest.raises(Unread):
        mirror.need(["a"])
    mirror.put("a", a_node("told"), 3.0)
    mirror.deny("a")  # of what we know already
    assert not mirror.unreadable("a")


def test_what_is_known_of_a_node_is_told_without_reading_and_nothing_else() -> None:
    mirror = a_mirror(["a"])
    assert (mirror.known("a"), mirror.known("nothing")) == (mirror.get("a"), None)
    mirror.stale("a", 1.0)
    mirror.stale("b", 1.0)
    assert (mirror.known("a"), mirror.known("b")) == (None, None)


def test_a_parent_nobody_told_of_is_there_and_must_be_read() -> None:
    mirror = a_mirror()
    mirror.put("a/b/c", a_node("deep"), 1.0)
    assert sorted(mirror) == ["", "a", "a/b", "a/b/c"]
    with pytest.raises(Unread) as unread:
        mirror.need(["", "a", "a/b", "a/b/c", "nothing"])
    assert unread.value.paths == ("/ns/job", "/ns/job/a", "/ns/job/a/b")


def test_need_names_all_that_must_be_read_and_passes_when_nothing_must() -> None:
    mirror = a_mirror(["a", "b", "c"])
    mirror.need(["a", "b", "c", "nothing"])
    mirror.stale("c", 1.0)
    mirror.stale("a", 1.0)
    with pytest.raises(Unread) as unread:
        mirror.need(["a", "b", "c"])
    assert unread.value.paths == ("/ns/job/a", "/ns/job/c")


def test_what_must_be_read_below_the_root_of_all_is_named_by_its_full_path() -> None:
    mirror = a_mirror(root="/")
    mirror.stale("a/b", 1.0)
    with pytest.raises(Unread) as unread:
        mirror.need(["", "a", "a/b"])
    assert unread.value.paths == ("/", "/a", "/a/b")


# -- what changed -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "counts"),
    [
        (lambda mirror: mirror.put("new", a_node(), 1.0), True),
        (lambda mirror: mirror.put("a", a_node("other"), 1.0), True),
        (lambda mirror: mirror.put("a", a_node("a"), 1.0), False),
        (lambda mirror: mirror.stale("a", 1.0), True),
        (lambda mirror: mirror.drop("a", 1.0), True),
        (lambda mirror: mirror.drop("nothing", 1.0), False),
        (lambda mirror: mirror.keep_only("", ["a"], 1.0), False),
        (lambda mirror: mirror.keep_only("", ["b"], 1.0), True),
        (lambda mirror: mirror.suspend(), True),
        (lambda mirror: mirror.complete(1.0), True),
    ],
    ids=[
        "a new node",
        "new data",
        "the same again",
        "an announcement",
        "a drop",
        "a drop of nothing",
        "the same children",
        "other children",
        "being cut off",
        "being complete",
    ],
)
def test_the_count_of_changes_grows_exactly_when_an_answer_may_differ(
    change: Callable[[Mirror], object], counts: bool
) -> None:
    mirror = a_mirror(["", "a"])
    before = mirror.changes
    change(mirror)
    assert (mirror.changes > before) is counts


def test_reading_what_was_announced_counts_as_a_change_even_if_it_holds_the_same() -> None:
    mirror = a_mirror(["a"])
    mirror.stale("a", 1.0)
    before = mirror.changes
    mirror.put("a", a_node("a"), 2.0)
    assert mirror.changes > before


def test_a_dropped_node_takes_all_below_it_along_and_nothing_else() -> None:
    mirror = a_mirror(["", "a", "a/b", "a/b/c", "ab", "b"])
    mirror.drop("a", 1.0)
    assert sorted(mirror) == ["", "ab", "b"]
    assert list(mirror.children("")) == ["ab", "b"]
    mirror.drop("", 2.0)
    assert list(mirror) == []


def test_keep_only_drops_the_others_and_announces_the_new() -> None:
    mirror = a_mirror(["", "a", "a/old", "b", "c"])
    assert mirror.keep_only("", ["c", "e", "d", "b"], 1.0) == ["d", "e"]
    assert sorted(mirror) == ["", "b", "c", "d", "e"]
    assert mirror.get("b") == "b"
    with pytest.raises(Unread) as unread:
        mirror.need(mirror)
    assert unread.value.paths == ("/ns/job/d", "/ns/job/e")


def test_a_mirror_that_is_cut_off_keeps_what_it_knows_and_says_it_may_be_old() -> None:
    mirror = a_mirror(["a"])
    mirror.suspend()
    assert not mirror.synced
    assert mirror.get("a") == "a"
    mirror.complete(5.0)
    assert mirror.synced


def test_a_path_deeper_than_the_stack_of_calls_is_kept_and_dropped_like_any_other() -> None:
    mirror = a_mirror()
    path = "/".join(["x"] * 5_000)
    mirror.put(path, a_node("deep"), 1.0)
    assert len(mirror) == 5_001
    assert mirror.get(path) == "deep"
    mirror.drop("x", 2.0)
    assert list(mirror) == [""]


# -- since when ---------------------------------------------------------------------------------------


def test_since_is_when_a_node_appeared_and_new_data_does_not_move_it() -> None:
    mirror = a_mirror(at=1.0)
    mirror.put("a", a_node("1"), 2.0)
    mirror.put("a", a_node("2", version=1, written=2), 3.0)
    mirror.stale("a", 4.0)
    assert mirror.since("a") == 2.0


def test_a_node_made_anew_is_there_since_then() -> None:
    mirror = a_mirror(["a"], at=1.0)
    mirror.put("a", a_node("a", made=2, written=2), 3.0)
    assert mirror.since("a") == 3.0


def test_since_is_when_a_node_vanished_with_all_below_it() -> None:
    mirror = a_mirror(["a/b"], at=1.0)
    mirror.drop("a", 2.0)
    assert (mirror.since("a"), mirror.since("a/b")) == (2.0, 2.0)
    mirror.put("a", a_node(), 3.0)
    assert (mirror.since("a"), mirror.since("a/b")) == (3.0, 2.0)


def test_what_was_never_seen_is_absent_since_the_mirror_was_complete() -> None:
    mirror = a_mirror(at=4.0)
    assert mirror.since("a") == 4.0


def test_absence_counts_anew_after_being_cut_off_and_presence_does_not() -> None:
    mirror = a_mirror(["stays", "goes"], at=1.0)
    mirror.drop("goes", 2.0)
    mirror.suspend()
    mirror.complete(9.0)
    assert mirror.since("goes") == 9.0
    assert mirror.since("stays") == 1.0


def test_the_memory_of_vanished_paths_is_bounded_however_much_vanishes_at_once() -> None:
    mirror = a_mirror([""])
    for turn in range(1, 4):
        for n in range(trees._REMEMBERED + 5_000):
            mirror.put(f"many/{turn}-{n}", a_node(), float(turn))
        mirror.drop("many", float(turn))
        assert len(mirror._gone) <= trees._REMEMBERED


def test_a_vanished_path_that_was_forgotten_is_not_taken_for_long_absent() -> None:
    mirror = a_mirror([""], at=1.0)
    for n in range(2 * trees._REMEMBERED):
        mirror.put(f"many/{n}", a_node(), 50.0)
    mirror.drop("many", 60.0)
    assert {mirror.since(f"many/{n}") for n in range(2 * trees._REMEMBERED)} == {60.0}
    for n in range(2 * trees._REMEMBERED):
        mirror.put("one", a_node(), 61.0)
        mirror.drop("one", 61.0 + n)
    assert mirror.since("one") == 60.0 + 2 * trees._REMEMBERED


# -- many mirrors -------------------------------------------------------------------------------------


def test_a_path_is_found_in_every_mirror_that_holds_it_as_each_one_says_it() -> None:
    mirrors = Mirrors()
    for root in ("/", "/a", "/a/b", "/a/bc", "/other"):
        mirrors.add(root)

    def found(path: str) -> list[tuple[str, str]]:
        return [(mirror.root, relative) for mirror, relative in mirrors.over(path)]

    assert found("/a/b/c") == [("/a/b", "c"), ("/a", "b/c"), ("/", "a/b/c")]
    assert found("/a/b") == [("/a/b", ""), ("/a", "b"), ("/", "a/b")]
    assert found("/a/bc/d") == [("/a/bc", "d"), ("/a", "bc/d"), ("/", "a/bc/d")]
    assert found("/otherwise") == [("/", "otherwise")]
    assert found("/") == [("/", "")]


def test_without_a_mirror_of_the_root_of_all_a_strange_path_is_nobodys() -> None:
    mirrors = Mirrors()
    mirrors.add("/a/b")
    assert list(mirrors.over("/a")) == []
    assert list(mirrors.over("/")) == []
    assert list(mirrors.over("/a/bc")) == []


def test_what_is_told_of_a_path_reaches_all_its_mirrors() -> None:
    mirrors = Mirrors()
    outer, inner = mirrors.add("/"), mirrors.add("/a")
    mirrors.tell("/a/b", a_node("x"), 1.0)
    assert (outer.get("a/b"), inner.get("b")) == ("x", "x")
    mirrors.tell("/a", None, 2.0)
    assert ("a" in outer, "" in inner, "b" in inner) == (False, False, False)


def test_a_removed_mirror_is_told_nothing_more() -> None:
    mirrors = Mirrors()
    mirror = mirrors.add("/a")
    mirrors.remove("/a")
    mirrors.remove("/never-there")
    mirrors.tell("/a/b", a_node(), 1.0)
    assert (len(mirror), len(mirrors), mirrors.get("/a")) == (0, 0, None)


# -- against a plain dictionary -----------------------------------------------------------------------


@dataclass
class Known:
    node: Node | None
    fresh: bool
    since: float


@dataclass
class Plain:
    """What a mirror should say, worked out the slow way: every question looks at every path."""

    known: dict[str, Known] = field(default_factory=dict)
    gone: dict[str, float] = field(default_factory=dict)
    complete: float = 0.0

    def make(self, path: str, node: Node | None, now: float) -> None:
        ancestors = [path[:at] for at, char in enumerate(path) if char == "/"]
        for absent in ["", *ancestors, path]:
            if absent not in self.known:
                self.known[absent] = Known(None, False, now)
                self.gone.pop(absent, None)
        if node is not None:
            self.known[path] = Known(node, True, self.known[path].since)

    def put(self, path: str, node: Node, now: float) -> None:
        before = self.known.get(path)
        self.make(path, node, now)
        if before is not None and before.node is not None and before.node.made != node.made:
            self.known[path].since = now

    def stale(self, path: str, now: float) -> None:
        self.make(path, None, now)
        self.known[path].fresh = False

    def drop(self, path: str, now: float) -> None:
        for other in list(self.known):
            if not path or other == path or other.startswith(f"{path}/"):
                del self.known[other]
                self.gone[other] = now

    def keep_only(self, path: str, names: list[str], now: float) -> None:
        for name in self.children(path):
            if name not in names:
                self.drop(f"{path}/{name}" if path else name, now)
        for name in names:
            child = f"{path}/{name}" if path else name
            if child not in self.known:
                self.stale(child, now)

    def children(self, path: str) -> list[str]:
        return sorted(
            other.rpartition("/")[2] for other in self.known if other and other.rpartition("/")[0] == path
        )

    def since(self, path: str) -> float:
        return self.known[path].since if path in self.known else self.gone.get(path, self.complete)

    def answers(self) -> object:
        """Everything a tree could be asked."""
        return {
            path: (
                path in self.known,
                replace(self.known[path]) if path in self.known else None,
                self.children(path),
                self.since(path),
            )
            for path in UNIVERSE
        }


NAMES = ("a", "b", "ab")
UNIVERSE = ["", *NAMES, *(f"{a}/{b}" for a in NAMES for b in NAMES)]
UNIVERSE += [f"{path}/{name}" for path in UNIVERSE if path.count("/") == 1 for name in NAMES]

paths = st.sampled_from(UNIVERSE)
nodes = st.builds(Node, st.sampled_from("xy"), st.integers(0, 1), st.just(""), st.integers(1, 2), st.just(1))
changes = st.one_of(
    st.tuples(st.just("put"), paths, nodes),
    st.tuples(st.just("stale"), paths),
    st.tuples(st.just("drop"), paths),
    st.tuples(st.just("keep only"), paths, st.lists(st.sampled_from(NAMES), unique=True)),
    st.tuples(st.just("complete")),
    st.tuples(st.just("suspend")),
)


def answers(mirror: Mirror) -> object:
    def known(path: str) -> Known | None:
        entry = mirror._entries.get(path)
        return None if entry is None else Known(entry.node, entry.fresh, entry.since)

    return {
        path: (path in mirror, known(path), list(mirror.children(path)), mirror.since(path))
        for path in UNIVERSE
    }


@settings(deadline=None, max_examples=150)
@given(st.lists(changes, max_size=40))
def test_a_mirror_answers_as_a_plain_dictionary_does(told: list[tuple[object, ...]]) -> None:
    mirror, plain = Mirror(ROOT), Plain()
    for now, change in enumerate(told, start=1):
        before = (plain.answers(), mirror.synced)
        count = mirror.changes
        match change:
            case ("put", str(path), Node() as node):
                mirror.put(path, node, now)
                plain.put(path, node, now)
            case ("stale", str(path)):
                mirror.stale(path, now)
                plain.stale(path, now)
            case ("drop", str(path)):
                mirror.drop(path, now)
                plain.drop(path, now)
            case ("keep only", str(path), list(names)) if path in mirror:
                mirror.keep_only(path, names, now)
                plain.keep_only(path, names, now)
            case ("complete",):
                mirror.complete(now)
                plain.complete, plain.gone = now, {}
            case ("suspend",):
                mirror.suspend()
        assert answers(mirror) == plain.answers()
        assert len(mirror) == len(plain.known)
        if mirror.changes == count:
            assert (plain.answers(), mirror.synced) == before
