"""One commit, from its writes to its outcome.

A ZooKeeper transaction knows create, delete, set and check-version. What it does not know is made of
those: absence is forbidden by a create and a delete of the same node; missing parents are looked for and
made in the same transaction; a whole subtree is listed and deleted leaf by leaf. An attempt that was
refused has certainly not landed, so it may be made again; one whose answer was lost ends the matter as
unknown.

Nothing here sends anything: `Attempt` says what to send, and what the answer means.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..tree import Node
from ..writes import Create, Delete, Forbid, Put, Require, Write, parents
from . import wire

#: How often a commit is made again because parents or children came and went meanwhile.
ATTEMPTS = 10

Effects = list[tuple[str, Node | None]]

#: The write it is for, the path it touches, and its bytes.
Operation = tuple[Write, str, bytes]


@dataclass(frozen=True, slots=True)
class Done:
    """It landed: the names given to sequential nodes, what is in the tree now, and the server's time."""

    names: tuple[str, ...]
    effects: Effects
    time: float | None


@dataclass(frozen=True, slots=True)
class Look:
    """More must be known for another attempt: which of these nodes are there."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class List:
    """More must be known for another attempt: everything below these nodes."""

    roots: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Failed:
    """It cannot land on the tree as it is."""

    why: str


@dataclass(slots=True)
class Attempt:
    """One commit's writes, and what is known so far about the ground they stand on."""

    writes: tuple[Write, ...]
    missing: frozenset[str] = frozenset()
    """Nodes above ours that were not there when last looked."""
    below: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """For recursive deletes: all that stood below, leaves first."""
    impossible: dict[str, str] = field(default_factory=dict)
    """Forbidden nodes below an ephemeral one, each with that: they cannot be there while it stands."""
    session: str = ""
    """Whose the ephemeral nodes will be."""
    versions: bool = True
    """Off only in tests that check whether they would notice."""

    def ground(self) -> tuple[str, ...]:
        """The nodes ours will stand on, or be missing from."""
        above = {
            path
            for write in self.writes
            if isinstance(write, Create | Forbid)
            for path in parents(write.path)
        }
        return tuple(sorted(above))

    def unlisted(self) -> tuple[str, ...]:
        """The subtrees to list before anything can be sent."""
        return tuple(
            w.path for w in self.writes if isinstance(w, Delete) and w.recursive and w.path not in self.below
        )

    def operations(self, acl: wire.Acl, made: set[str]) -> list[Operation]:
        """What to send: each operation with the write it is for and the path it touches. `made` are the nodes
        that commits before this one make in the same transaction, and gains those that this one makes."""
        found: list[Operation] = []
        gone: set[str] = set()
        for write in self.writes:
            version = write.version if isinstance(write, Put | Delete | Require) else None
            expected = -1 if version is None or not self.versions else version
            match write:
                case Require(path):
                    found.append((write, path, wire.check(path, expected)))
                case Forbid(path):
                    if path in self.impossible:
                        found.append((write, path, wire.check(self.impossible[path], -1)))
                        continue
                    # Where a parent is missing already, forbidding that says the same.
                    top = next((above for above in parents(path) if above in self.missing), path)
                    found.append((write, top, wire.create(top, "", 0, acl)))
                    found.append((write, top, wire.delete(top, -1)))
                case Put(path, data):
                    found.append((write, path, wire.set_data(path, data, expected)))
                case Delete(path):
                    taken = [each for each in self.below.get(path, ()) if each not in gone]
                    found.extend((write, each, wire.delete(each, -1)) for each in taken)
                    found.append((write, path, wire.delete(path, expected)))
                    gone.update(taken)
                    gone.add(path)
                case Create(path, data, ephemeral, sequential):
                    for above in parents(path):
                        if (above in self.missing or above in gone) and above not in made:
                            made.add(above)
                            found.append((write, above, wire.create(above, "", 0, acl)))
                    if not sequential:
                        made.add(path)
                    flags = (wire.EPHEMERAL if ephemeral else 0) | (wire.SEQUENTIAL if sequential else 0)
                    found.append((write, path, wire.create(path, data, flags, acl)))
        return found

    def understand(
        self, operations: Sequence[Operation], parts: Sequence[wire.Result], number: int
    ) -> Done | Look | List | Failed:
        """What the server's answer to these operations means."""
        fault = wire.first_fault(parts)
        if fault is None:
            return self._done(operations, parts, number)
        index, code = fault
        write, path, _ = operations[index]
        own = path == write.path
        if code == wire.NO_NODE and isinstance(write, Create | Forbid):
            self.impossible.clear()
            return Look(self.ground())
        if code == wire.NO_CHILDREN_FOR_EPHEMERALS and isinstance(write, Forbid):
            self.impossible[write.path] = path.rpartition("/")[0]
            return Look(())
        if code == wire.NODE_EXISTS and not own:
            # A parent, or the stand-in of a forbidden node, has appeared since we looked.
            return Look(self.ground())
        if (
            isinstance(write, Delete)
            and write.recursive
            and (code == wire.NOT_EMPTY or (code == wire.NO_NODE and not own))
        ):
            return List((write.path,))
        return Failed(wire.explain(code, path))

    def _done(self, operations: Sequence[Operation], parts: Sequence[wire.Result], number: int) -> Done:
        names: list[str] = []
        effects: Effects = []
        time: float | None = None
        for (write, path, _), part in zip(operations, parts, strict=True):
            match write, part:
                case ((Require() | Forbid()), _):
                    pass
                case Create(own, data, ephemeral, sequential), wire.Made(given) if own == path:
                    if sequential:
                        names.append(given)
                    effects.append((given, Node(data, 0, self.session if ephemeral else "", number, number)))
                case Create(), _:
                    effects.append((path, Node("", 0, "", number, number)))
                case Put(_, data), wire.Stat(made, written, time, version, owner):
                    effects.append((path, Node(data, version, owner, made, written)))
                case Delete(), _:
                    effects.append((path, None))
        return Done(tuple(names), effects, time)
