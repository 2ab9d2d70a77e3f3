"""A commit as the file takes it: what must hold of the tree as it is, and what becomes of it.

Writes happen one after the other; SQL thinks in sets. So a commit is played through here on a tree of which
nothing is known: what it finds out it needs becomes a guard on the tree before, and what is left at the end
becomes the change. Both are plain lists of paths, which one statement can check and do.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from ..writes import Create, Delete, Forbid, Put, Refused, Require, Write, parents

#: What SQLite's JSON cannot carry: text ends at a NUL there, and half a surrogate pair is no UTF-8.
_ODD = re.compile("[\x00\x1a\ud800-\udfff]")
_TAMED = re.compile("\x1a([0-9a-f]{4})")


class _Is(Enum):
    """What is known of a node in the midst of a commit."""

    THERE = "there"
    PERSISTENT = "there, and may have children"
    EPHEMERAL = "there, and may have none"
    GONE = "not there"


class _Never(Exception):
    """No tree lets this commit through."""


@dataclass(slots=True)
class Plan:
    """Guards first, then the change: all that goes, then all that comes, then all that is written to."""

    there: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    versions: dict[str, int] = field(default_factory=dict)
    """Of nodes that may be absent, too: one that the commit itself would make is at version 0."""
    persistent: list[str] = field(default_factory=list)
    """Not ephemeral, if there."""
    childless: dict[str, list[str]] = field(default_factory=dict)
    """No children but these, which the commit takes away before."""

    gone: list[str] = field(default_factory=list)
    razed: list[str] = field(default_factory=list)
    """Those of the gone that take all below with them."""
    ground: list[str] = field(default_factory=list)
    """Made, empty, where they are missing."""
    made: dict[str, str] = field(default_factory=dict)
    born: dict[str, str] = field(default_factory=dict)
    """The ephemeral ones among the made."""
    put: dict[str, str] = field(default_factory=dict)
    queued: list[tuple[str, str, str]] = field(default_factory=list)
    """Sequential ones: what their name begins with, their data, and `p`ersistent, `e`phemeral or `x` for
    one that the same commit takes away again."""

    def request(self, ref: int, session: str) -> list[object]:
        """The plan in the order of the columns of `request` in the schema; nothing for what is empty."""
        touched = [*self.ground, *self.made, *self.born, *self.put]
        parts = (
            *(self.there, self.absent, self.versions, self.persistent, self.childless),
            *(self.gone, self.razed, self.ground, self.made, self.born, self.put, self.queued, touched),
        )
        return [ref, session, *(part or None for part in parts)]

    def refers_to(self) -> set[str]:
        """The nodes that its guards ask about."""
        return {*self.there, *self.absent, *self.versions, *self.persistent}


def of(writes: Sequence[Write]) -> Plan | Refused:
    """Work out what writes, guards first, ask of the tree and do to it; or why they never can."""
    play = _Play()
    try:
        for write in writes:
            play.take(write)
    except _Never as never:
        return Refused(str(never))
    return play.plan


class _Play:
    """A commit played through on a tree of which nothing is known at first."""

    def __init__(self) -> None:
        self.plan = Plan()
        self._known: dict[str, _Is] = {}
        self._above: set[str] = set()
        self._cleared: set[str] = set()

    def take(self, write: Write) -> None:
        match write:
            case Require(path, version):
                if path != "/":
                    self._require(path, version)
                elif version:
                    raise _Never(f"/ is at version 0, not {version}")
            case Forbid(path):
                if path == "/":
                    raise _Never("/ is there")
                self.plan.absent.append(path)
            case Put(path, data, version):
                self._find(path, version)
                if path not in self._known:
                    self._learn(path, _Is.THERE)
                self.plan.put[path] = tame(data)
            case Delete():
                self._delete(write)
            case Create():
                self._create(write)

    def _learn(self, path: str, what: _Is) -> None:
        self._known[path] = what
        self._above.update(parents(path))

    def _is(self, path: str) -> _Is | None:
        known = self._known.get(path)
        if known is None and self._cleared and not self._cleared.isdisjoint(parents(path)):
            return _Is.GONE
        return known

    def _require(self, path: str, version: int | None) -> None:
        self.plan.there.append(path)
        self._at(path, version)

    def _at(self, path: str, version: int | None) -> None:
        if version is not None and self.plan.versions.setdefault(path, version) != version:
            raise _Never(f"{path} cannot be at two versions at once")

    def _find(self, path: str, version: int | None) -> None:
        """The node must be there now: because it is there before, or because the commit has seen to it."""
        known = self._is(path)
        if known is _Is.GONE:
            raise _Never(f"{path} is not there")
        if path in self.plan.made:
            if version:
                raise _Never(f"{path} is at version 0, not {version}")
        elif known is _Is.PERSISTENT and path in self.plan.ground:
            self._at(path, version)
        else:
            self._require(path, version)

    def _delete(self, write: Delete) -> None:
        path, plan = write.path, self.plan
        self._find(path, write.version)
        under = f"{path}/"
        below = (
            {known: what for known, what in self._known.items() if known.startswith(under)}
            if path in self._above
            else {}
        )
        if not write.recursive:
            if any(what is not _Is.GONE for what in below.values()):
                raise _Never(f"{path} has children")
            if any(prefix.startswith(under) and kind != "x" for prefix, _, kind in plan.queued):
                raise _Never(f"{path} has children")
            if not self._cleared & {path, *parents(path)}:
                plan.childless[path] = [child for child in below if "/" not in child[len(under) :]]
        for taken in (path, *below):
            self._known.pop(taken, None)
            for part in (plan.made, plan.born, plan.put):
                part.pop(taken, None)
        plan.ground = [each for each in plan.ground if each != path and not each.startswith(under)]
        plan.queued = [(p, d, "x" if p.startswith(under) else kind) for p, d, kind in plan.queued]
        self._learn(path, _Is.GONE)
        self._cleared.add(path)
        plan.gone.append(path)
        if write.recursive:
            plan.razed.append(path)

    def _create(self, write: Create) -> None:
        for parent in parents(write.path):
            self._stand_on(parent)
        if write.sequential:
            self.plan.queued.append((write.path, tame(write.data), "e" if write.ephemeral else "p"))
            return
        known = self._is(write.path)
        if known is None:
            self.plan.absent.append(write.path)
        elif known is not _Is.GONE:
            raise _Never(f"{write.path} is there")
        into = self.plan.born if write.ephemeral else self.plan.made
        into[write.path] = tame(write.data)
        self._learn(write.path, _Is.EPHEMERAL if write.ephemeral else _Is.PERSISTENT)

    def _stand_on(self, parent: str) -> None:
        known = self._is(parent)
        if known is _Is.PERSISTENT:
            return
        if known is _Is.EPHEMERAL:
            raise _Never(f"{parent} is ephemeral and can have no children")
        if known is _Is.GONE:
            self.plan.made[parent] = ""
        else:
            self.plan.persistent.append(parent)
            if known is None:
                self.plan.ground.append(parent)
        self._learn(parent, _Is.PERSISTENT)


Glance = Mapping[str, tuple[int, str]]  # of nodes that are there: version and owner, by path


def why_not(plan: Plan, nodes: Glance, children: Mapping[str, tuple[str, ...] | None]) -> str:
    """Why the plan's guards do not hold, judged by a look after it was refused."""
    for path in plan.there:
        if path not in nodes:
            return f"{path} is not there"
    for path, version in plan.versions.items():
        at = nodes[path][0] if path in nodes else 0
        if at != version:
            return f"{path} is at version {at}, not {version}"
    for path in plan.absent:
        if path in nodes:
            return f"{path} is there"
    for path in plan.persistent:
        if path in nodes and nodes[path][1]:
            return f"{path} is ephemeral and can have no children"
    for path, expected in plan.childless.items():
        if any(f"{path}/{name}" not in expected for name in children.get(path) or ()):
            return f"{path} has children"
    return "the nodes it relies on had changed, and have changed back since"


def as_text(requests: Sequence[list[object]]) -> str:
    return json.dumps(requests, ensure_ascii=False, separators=(",", ":"))


def tame(data: str) -> str:
    """Text that goes through SQLite's JSON unharmed; `restore` makes it what it was."""
    return _ODD.sub(lambda odd: f"\x1a{ord(odd[0]):04x}", data)


def restore(text: str) -> str:
    if "\x1a" not in text:
        return text
    return _TAMED.sub(lambda tamed: chr(int(tamed[1], 16)), text)
