"""A registry compared with a plain dictionary, through any sequence of commits, reads and sessions.

    oracle      `after` and `contradiction`: what a commit does, worked out the slow way on a dictionary
    choices     what hypothesis draws: small paths, so that commits meet each other, and versions mostly right
    machine     several sessions on one store; each outcome, each answer and every mirror is compared

A driver is tried by `try_it(make_cluster, examples)`, which gives back a `Tally` of what was done.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

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
    Tree,
    Write,
)
from shardwright.registry.tree import Node, snapshot

from .contract import Cluster, look, sees

BASE = "/contract/machine"
TICK = f"{BASE}/tick"
SESSIONS = 3
STEPS = 50

#: After so many turns all mirrors are compared.
BATCH = 3

Nodes = Mapping[str, Node]

# -- the oracle ---------------------------------------------------------------------------------------


def after(
    nodes: Nodes, writes: Sequence[Write], *, session: str, number: int, names: Iterable[str]
) -> Nodes | None:
    """The nodes as a commit leaves them, or None where it cannot land. Sequential nodes take the names."""
    name = iter(names)
    if not all(_holds(nodes, guard) for guard in writes):
        return None
    tree = dict(nodes)
    for write in writes:
        match write:
            case Create(path, data, ephemeral, sequential):
                above = [path[:at] for at, char in enumerate(path) if char == "/" and at]
                if any(tree[parent].owner for parent in above if parent in tree):
                    return None
                own = next(name) if sequential else path
                if own in tree:
                    return None
                for parent in above:
                    tree.setdefault(parent, Node("", 0, "", number, number))
                tree[own] = Node(data, 0, session if ephemeral else "", number, number)
            case Put(path, data, version):
                if not _holds(tree, Require(path, version)):
                    return None
                old = tree[path]
                tree[path] = Node(data, old.version + 1, old.owner, old.made, number)
            case Delete(path, version, recursive):
                below = [other for other in tree if other.startswith(f"{path}/")]
                if not _holds(tree, Require(path, version)) or (below and not recursive):
                    return None
                for gone in (path, *below):
                    del tree[gone]
    return tree


def _holds(nodes: Nodes, guard: Write) -> bool:
    match guard:
        case Require(path, None):
            return path in nodes
        case Require(path, version):
            return path in nodes and nodes[path].version == version
        case Forbid(path):
            return path not in nodes
    return True


def contradiction(writes: Sequence[Write]) -> bool:
    """Whether no tree could make sense of this: a node is written twice, except to make it anew, or something
    is written below a node that goes afterwards, or went before and was not made anew."""
    effects = [write for write in writes if not isinstance(write, Require | Forbid)]
    for n, one in enumerate(effects):
        for m, other in enumerate(effects[n + 1 :], start=n + 1):
            if one.path == other.path and not (isinstance(one, Delete) and isinstance(other, Create)):
                return True
            if _is_below(one, other) and isinstance(other, Delete) and not isinstance(one, Delete):
                return True
            if _is_below(other, one) and isinstance(one, Delete) and not isinstance(other, Delete):
                between = effects[n + 1 : m]
                if not any(isinstance(each, Create) and each.path == one.path for each in between):
                    return True
    return False


def _is_below(one: Write, other: Write) -> bool:
    return one.path.startswith(f"{other.path}/")


def children(nodes: Nodes, path: str) -> tuple[str, ...]:
    return tuple(sorted(other.rpartition("/")[2] for other in nodes if other.rpartition("/")[0] == path))


# -- what hypothesis chooses from ---------------------------------------------------------------------

NAMES = ("a", "b")
PATHS = [f"{BASE}/{name}" for name in NAMES]
PATHS += [f"{path}/{name}" for path in list(PATHS) for name in NAMES]
PATHS += [f"{path}/{name}" for path in PATHS[2:4] for name in NAMES]
QUEUES = [f"{parent}/n-" for parent in PATHS[:4]]
TEXTS = ("", "x", "ünï 😀\n")

Idea = Callable[[str, str, int], Write]

#: For a path where nothing should be yet, for a parent of sequential nodes, and for a node that is there.
#: Each is handed the path, some text, and the version at which the node is.
MAKE: tuple[Idea, ...] = (
    lambda path, text, _: Create(path, text),
    lambda path, text, _: Create(path, text),
    lambda path, text, _: Create(path, text),
    lambda path, text, _: Create(path, text, ephemeral=True),
    lambda path, text, _: Create(path, text, ephemeral=True),
    lambda path, _, __: Forbid(path),
)
QUEUE: tuple[Idea, ...] = (
    lambda path, text, _: Create(path, text, sequential=True),
    lambda path, text, _: Create(path, text, ephemeral=True, sequential=True),
)
CHANGE: tuple[Idea, ...] = (
    lambda path, text, _: Put(path, text),
    lambda path, text, version: Put(path, text, version),
    lambda path, text, version: Put(path, text, version),
    lambda path, text, version: Put(path, text, version + 1),
    lambda path, _, __: Delete(path),
    lambda path, _, version: Delete(path, version),
    lambda path, _, version: Delete(path, version, recursive=True),
    lambda path, _, __: Delete(path, recursive=True),
    lambda path, _, version: Delete(path, version + 1),
    lambda path, _, __: Require(path),
    lambda path, _, version: Require(path, version),
    lambda path, _, __: Require(path, 0),
)

# Numbers, because a strategy made anew for each tree would take hypothesis longer than the registry takes.
Choice = tuple[int, int]
choices = st.lists(st.tuples(st.integers(0, 19), st.integers(0, 99)), min_size=1, max_size=5)
several_choices = st.lists(choices, min_size=1, max_size=3)


def write_by(choice: Choice, nodes: Nodes) -> Write:
    """The write a choice stands for; nine of ten find their path as they like it."""
    idea, place = choice
    there = sorted(path for path in nodes if path.startswith(f"{BASE}/") and path != TICK)
    absent = [path for path in PATHS if path not in nodes]
    ideas = (*MAKE, *QUEUE, *CHANGE)
    think = ideas[idea % len(ideas)]
    likely = absent if think in MAKE else QUEUES if think in QUEUE else there
    paths = likely if likely and place < 90 else PATHS
    path = paths[place % len(paths)]
    return think(path, TEXTS[place % len(TEXTS)], nodes[path].version if path in nodes else 0)


some_paths = st.lists(st.sampled_from([*PATHS, TICK, f"{BASE}/nothing"]), min_size=1, max_size=3)
somebody = st.integers(0, SESSIONS - 1)
interludes = st.sampled_from(
    (*[""] * 9, "ask", "ask", "ask names", "ask names", "mirror anew", "close", "expire"),
)


# -- the machine --------------------------------------------------------------------------------------


@dataclass
class Tally:
    """What was done. An operation is one write in a commit, one read, one asking for names, or one change
    of session; what it takes to compare the mirrors is not counted."""

    examples: int = 0
    landed: int = 0
    refused: int = 0
    overtaken: int = 0
    writes: int = 0
    reads: int = 0
    sessions: int = 0
    mirrors: int = 0

    @property
    def operations(self) -> int:
        return self.writes + self.reads + self.sessions

    def __str__(self) -> str:
        commits = self.landed + self.refused
        return (
            f"{self.operations:,} operations in {self.examples} examples: {self.writes:,} writes in "
            f"{commits:,} commits ({self.landed / max(commits, 1):.0%} landed, {self.overtaken} overtaken), "
            f"{self.reads:,} reads, {self.sessions} sessions ended; {self.mirrors:,} mirrors compared"
        )


class Member:
    """One session, with a mirror of everything and one inside that."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.session = ""
        self.mirrors: list[Tree] = []
        self.wait_for_another_session()
        self.mirror_anew()

    def mirror_anew(self) -> None:
        for mirror in self.mirrors:
            self.registry.forget(mirror)
        self.mirrors = [self.registry.mirror(root) for root in (BASE, PATHS[0])]
        self.seen: dict[str, tuple[int, object]] = {}
        """Of each mirror its count of changes and what it held, when it was last compared."""
        self.wait_until_synced()

    def wait_until_synced(self) -> None:
        self.registry.wait_for(lambda: all(mirror.synced for mirror in self.mirrors), what="the mirrors")

    def wait_for_another_session(self) -> None:
        def is_there() -> bool:
            session = self.registry.session()
            return session is not None and session.id != self.session

        self.registry.wait_for(is_there, 20, what="another session")
        session = self.registry.session()
        assert session is not None
        self.session = session.id
        self.wait_until_synced()

    def wait_for_tick(self, tick: int) -> None:
        tree = self.mirrors[0]
        sees(self.registry, lambda: tree.get("tick") == str(tick), what=f"tick {tick}")


class Machine(RuleBasedStateMachine):
    """Several sessions, the oracle, and the rules by which the world moves."""

    def __init__(self, make_cluster: Callable[[], Cluster], tally: Tally) -> None:
        super().__init__()
        tally.examples += 1
        self.tally = tally
        self.cluster = make_cluster()
        self.nodes: Nodes = {"/contract": Node("", 0, "", 0, 0)}
        self.number = 0
        self.turns = 0

    @initialize()
    def begin(self) -> None:
        self.members = [Member(self.cluster.open()) for _ in range(SESSIONS)]
        self.settle(self.members[0], [Create(BASE), Create(TICK)])

    def teardown(self) -> None:
        self.cluster.close()

    @rule(who=somebody, other=somebody, then=interludes, choices=several_choices, paths=some_paths)
    def turn(self, who: int, other: int, then: str, choices: list[list[Choice]], paths: list[str]) -> None:
        """Somebody commits, several at once at times; then somebody asks, or starts anew, or nobody does.

        One rule and not many: hypothesis leaves rules out at random, and without commits nothing happens.
        """
        commits = [[write_by(each, self.nodes) for each in some] for some in choices]
        note(f"session {who} commits {commits}")
        self.commit(self.members[who], commits)
        match then:
            case "ask":
                self.ask(self.members[other], paths)
            case "ask names":
                self.ask_names(self.members[other], paths)
            case "mirror anew":
                self.members[other].mirror_anew()
            case "close":
                self.members[other].registry.close()
                self.end(self.members[other])
                self.members[other] = Member(self.cluster.open())
            case "expire":
                self.cluster.expire(self.members[other].registry)
                self.end(self.members[other])
                self.members[other].wait_for_another_session()
        self.turns += 1
        if self.turns % BATCH == 0:
            self.compare_all(self.turns)

    # -- what happens in a turn ---------------------------------------------------------------------

    def commit(self, member: Member, commits: list[list[Write]]) -> None:
        for writes in filter(contradiction, commits):
            with pytest.raises(ValueError, match="one commit writes"):
                member.registry.commit(*writes)
        sensible = [writes for writes in commits if not contradiction(writes)]
        landed = self.settle(member, *sensible)
        self.tally.landed += landed
        self.tally.refused += len(sensible) - landed
        self.tally.writes += sum(map(len, sensible))

    def ask(self, member: Member, paths: list[str]) -> None:
        found = member.registry.wait(member.registry.read(paths, fresh=True))
        assert found == {path: self.nodes.get(path) for path in paths}
        self.tally.reads += 1

    def ask_names(self, member: Member, paths: list[str]) -> None:
        found = member.registry.wait(member.registry.names(paths, fresh=True))
        assert found == {path: children(self.nodes, path) if path in self.nodes else None for path in paths}
        self.tally.reads += 1

    def end(self, member: Member) -> None:
        """A session has ended, and its ephemeral nodes with it."""
        self.nodes = {path: node for path, node in self.nodes.items() if node.owner != member.session}
        self.tally.sessions += 1

    def compare_all(self, tick: int) -> None:
        """Whoever has seen the last commit has seen everything before it; its maker at once."""
        maker = self.members[tick % SESSIONS]
        self.settle(maker, [Put(TICK, str(tick))])
        for member in sorted(self.members, key=lambda each: each is not maker):
            if member is not maker:
                member.wait_for_tick(tick)
            for mirror in member.mirrors:
                self.compare(member, mirror)
                self.tally.mirrors += 1

    def settle(self, member: Member, *commits: Sequence[Write]) -> int:
        """How many of these commits land. What did is in its maker's mirror then, with nothing to read."""
        before = self.nodes
        futures = [member.registry.commit(*writes) for writes in commits]
        outcomes = [member.registry.wait(future) for future in futures]
        self.explain(member.session, commits, outcomes)
        own = member.mirrors[0]
        for path in before.keys() | self.nodes.keys():
            if before.get(path) != self.nodes.get(path):
                mirrored = path.removeprefix(BASE).removeprefix("/")
                assert (own.node(mirrored) if mirrored in own else None) == self.nodes.get(path), path
        return sum(isinstance(outcome, Landed) for outcome in outcomes)

    def explain(self, session: str, commits: Sequence[Sequence[Write]], outcomes: Sequence[Outcome]) -> None:
        """What landed did so in the order of the numbers, and what was refused could not land at some
        moment between: at the one its turn came, unless others overtook it."""
        landed = {n: outcome for n, outcome in enumerate(outcomes) if isinstance(outcome, Landed)}
        order = sorted(landed, key=lambda n: landed[n].number)
        in_turn = order == sorted(order)
        moments = [self.nodes]
        for n in order:
            self.land(session, commits[n], landed[n])
            moments.append(self.nodes)
        for n, outcome in enumerate(outcomes):
            if n not in landed:
                assert isinstance(outcome, Refused), outcome
                refusing = [not _lands(moment, commits[n], session) for moment in moments]
                assert any(refusing), (outcome, commits[n])
                in_turn = in_turn and refusing[sum(other < n for other in landed)]
        self.tally.overtaken += not in_turn

    def land(self, session: str, writes: Sequence[Write], outcome: Landed) -> None:
        assert outcome.number > self.number
        asked = [write.path for write in writes if _is_sequential(write)]
        assert [name[:-10] for name in outcome.names] == asked
        after_it = after(self.nodes, writes, session=session, number=outcome.number, names=outcome.names)
        assert after_it is not None, (outcome, writes)
        self.nodes, self.number = after_it, outcome.number
        for n, name in enumerate(outcome.names):
            parent = name.rpartition("/")[0]
            older = [
                path[-10:]
                for path in self.nodes.keys() - set(outcome.names[n:])
                if path.startswith(f"{parent}/n-") and path.count("/") == name.count("/")
            ]
            assert name[-10:].isdigit()
            assert name[-10:] > max(older, default=""), (name, older)

    def compare(self, member: Member, mirror: Tree) -> None:
        look(member.registry, lambda: mirror.need(list(mirror)))
        root = mirror.root
        found = snapshot(mirror)
        assert found == {
            path[len(root) + 1 :]: node
            for path, node in self.nodes.items()
            if path == root or path.startswith(f"{root}/")
        }
        for path in mirror:
            assert tuple(mirror.children(path)) == children(self.nodes, mirror.full(path))
        count, before = member.seen.get(root, (-1, None))
        assert before == found or mirror.changes > count
        member.seen[root] = (mirror.changes, found)


def _lands(nodes: Nodes, writes: Sequence[Write], session: str) -> bool:
    names = [f"{write.path}?{n}" for n, write in enumerate(writes) if _is_sequential(write)]
    return after(nodes, writes, session=session, number=0, names=names) is not None


def _is_sequential(write: Write) -> bool:
    return isinstance(write, Create) and write.sequential


def try_it(make_cluster: Callable[[], Cluster], examples: int) -> Tally:
    """Let hypothesis look for a sequence in which the registry and the dictionary differ."""
    tally = Tally()

    class Trial(Machine):
        def __init__(self) -> None:
            super().__init__(make_cluster, tally)

    run_state_machine_as_test(
        Trial,
        settings=settings(
            max_examples=examples,
            stateful_step_count=STEPS,
            deadline=None,
            derandomize="CI" in os.environ,
            print_blob=True,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )
    return tally
