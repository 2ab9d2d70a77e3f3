"""The tree: what this process knows of the nodes below one path, kept from changes as they come.

A `Tree` answers questions and is handed to decisions; a `Mirror` is the same thing in the hands of the
driver that keeps it. Both belong to the one thread that pumps the registry, so nothing is copied and
nothing is locked. Paths are relative to the mirrored one, which is itself the empty path.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

#: How many vanished paths are remembered for `since`; beyond that the oldest half is forgotten.
_REMEMBERED = 20_000


@dataclass(frozen=True, slots=True)
class Node:
    """One node as it was read: its data, how often it was set, whose session it goes with, and which
    commits made it and last wrote it."""

    data: str
    version: int
    owner: str
    made: int
    written: int


class Unread(LookupError):
    """The node is there and what it holds is not known here yet: read it, then look again."""

    def __init__(self, root: str, paths: Sequence[str]) -> None:
        super().__init__(f"not read yet below {root}: {', '.join(paths)}")
        self.paths = tuple(_join(root, path) for path in paths)
        """The full paths to read."""


class _Entry:
    """One known node: what it last held, whether that still holds, whether we may know, its children in
    order, since when."""

    __slots__ = ("denied", "fresh", "names", "node", "since")

    def __init__(self, node: Node | None, since: float) -> None:
        self.node = node
        self.fresh = node is not None
        self.denied = False
        self.names: list[str] | tuple[()] = ()
        self.since = since

    def add(self, name: str) -> None:
        """One more child. Most nodes have none, and are spared an empty list."""
        if self.names:
            insort(self.names, name)
        else:
            self.names = [name]

    def remove(self, name: str) -> None:
        names = self.names
        assert isinstance(names, list)
        del names[bisect_left(names, name)]


class Tree:
    """Questions about the nodes below one path. Each costs a look-up, whatever the size of the tree."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.synced = False
        """Whether the mirror is complete; it is not before the first load and while cut off."""
        self.changes = 0
        """Grows with every change, so that whoever saw the same count has missed nothing."""
        self.watchers: list[Callable[[], None]] = []
        """Called with every change, by whoever owns the registry."""
        self.journal: set[str] | None = None
        """The paths of what has changed, for somebody who asks which: they put a set here, and empty it."""
        self._entries: dict[str, _Entry] = {}
        self._named: dict[str, dict[str, None]] = {}
        self._gone: dict[str, float] = {}
        self._absent_since = 0.0

    def __contains__(self, path: str) -> bool:
        if path in self._entries:
            return True
        if path[:1] == "/":
            self._check_relative(path)
        return False

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __repr__(self) -> str:
        return f"<Tree {self.root}: {len(self._entries)} nodes{'' if self.synced else ', not synced'}>"

    def children(self, path: str) -> Sequence[str]:
        """The names directly below a path, sorted; empty where the path is not there."""
        entry = self._entries.get(path)
        if entry is None:
            self._check_relative(path)
            return ()
        return entry.names

    def named(self, name: str) -> Collection[str]:
        """The paths of all nodes of this name, wherever they are. A name that was asked for once is kept
        track of, so that asking costs no more than there are."""
        if name not in self._named:
            ends = f"/{name}"
            found = (path for path in self._entries if path.endswith(ends) or path == name)
            self._named[name] = dict.fromkeys(found)
        return self._named[name].keys()

    def node(self, path: str) -> Node:
        """All that is known of a node. Raises KeyError where it is absent, Unread where it must be read."""
        entry = self._entries[path]
        if entry.node is None or not entry.fresh:
            raise Unread(self.root, [path])
        return entry.node

    def get(self, path: str) -> str | None:
        """The data of a node, or None where it is absent."""
        entry = self._entries.get(path)
        if entry is None:
            self._check_relative(path)
            return None
        if entry.node is None or not entry.fresh:
            raise Unread(self.root, [path])
        return entry.node.data

    def known(self, path: str) -> str | None:
        """The data of a node where that is known without reading: what we wrote ourselves, or have read."""
        entry = self._entries.get(path)
        return entry.node.data if entry is not None and entry.node is not None and entry.fresh else None

    def unreadable(self, path: str) -> bool:
        """Whether the node is there, and the registry does not let us read it. Whoever insists waits until
        somebody writes it anew."""
        entry = self._entries.get(path)
        return entry is not None and entry.denied

    def version(self, path: str) -> int:
        return self.node(path).version

    def owner(self, path: str) -> str:
        """The id of the session an ephemeral node goes with; empty for a persistent one."""
        return self.node(path).owner

    def full(self, path: str) -> str:
        """The path as the registry says it."""
        return _join(self.root, path)

    def need(self, paths: Iterable[str]) -> None:
        """Ask for several nodes at once: raises Unread naming all that must be read first, and can be."""
        unread = [
            path
            for path in paths
            if (entry := self._entries.get(path)) is not None and not (entry.fresh or entry.denied)
        ]
        if unread:
            raise Unread(self.root, unread)

    def since(self, path: str) -> float:
        """The boot clock when the node appeared here, or when it vanished; for a path never seen, when
        the mirror last became complete. After a time of being cut off absence counts anew, and it never
        counts from earlier than the node vanished."""
        entry = self._entries.get(path)
        if entry is not None:
            return entry.since
        return self._gone.get(path, self._absent_since)

    def _check_relative(self, path: str) -> None:
        """Raise for a full path: that is a mistake, not an absent node."""
        if path.startswith("/"):
            raise ValueError(f"a tree's paths are relative to its root {self.root}, not like {path!r}")


class Mirror(Tree):
    """A tree as its driver sees it: told of changes in the order in which they happened."""

    def put(self, path: str, node: Node, now: float) -> None:
        """The node is there and holds this."""
        entry = self._entries.get(path)
        if entry is None:
            self._changed(path)
            self._add(path, node, now)
            return
        if entry.fresh and entry.node == node:
            return
        self._changed(path)
        if entry.node is not None and node.made != entry.node.made:
            entry.since = now
        entry.node = node
        entry.fresh, entry.denied = True, False

    def stale(self, path: str, now: float) -> None:
        """The node was made or changed by somebody, and what it holds now was not told."""
        self._changed(path)
        entry = self._entries.get(path)
        if entry is None:
            self._add(path, None, now)
        else:
            entry.fresh = entry.denied = False

    def deny(self, path: str) -> None:
        """What the node holds is kept from us."""
        entry = self._entries.get(path)
        if entry is not None and not entry.fresh and not entry.denied:
            self._changed(path)
            entry.denied = True

    def drop(self, path: str, now: float) -> None:
        """The node is gone, and all below it."""
        entry = self._entries.get(path)
        if entry is None:
            return
        self._changed(path)
        if path:
            parent, _, name = path.rpartition("/")
            self._entries[parent].remove(name)
        self._forget(path, now)
        if len(self._gone) > _REMEMBERED:
            # For what is forgotten absence counts from the last of it: rather too short than too long.
            for old in list(islice(self._gone, len(self._gone) - _REMEMBERED // 2)):
                self._absent_since = self._gone.pop(old)

    def keep_only(self, path: str, names: Iterable[str], now: float) -> list[str]:
        """These are the node's children now; gives back the paths that were not known before."""
        entry = self._entries[path]
        present = set(names)
        for name in [known for known in entry.names if known not in present]:
            self.drop(below(path, name), now)
        new = sorted(present.difference(entry.names))
        for name in new:
            self.stale(below(path, name), now)
        return [below(path, name) for name in new]

    def suspend(self) -> None:
        """From here on changes may be missed."""
        if self.synced:
            self.synced = False
            self._changed()

    def complete(self, now: float) -> None:
        """Everything is known again. What is absent is counted as absent from now: it may have come and
        gone while nobody looked."""
        self.synced = True
        self._changed()
        self._absent_since = now
        self._gone.clear()

    def _changed(self, path: str | None = None) -> None:
        self.changes += 1
        if path is not None and self.journal is not None:
            self.journal.add(path)
        for watcher in self.watchers:
            watcher()

    def _add(self, path: str, node: Node | None, now: float) -> None:
        self._entries[path] = _Entry(node, now)
        self._gone.pop(path, None)
        while path:
            parent, _, name = path.rpartition("/")
            if name in self._named:
                self._named[name][path] = None
            above = self._entries.get(parent)
            if above is not None:
                above.add(name)
                return
            # A child cannot be without its parent: we only have not been told of that one yet.
            above = self._entries[parent] = _Entry(None, now)
            above.add(name)
            self._gone.pop(parent, None)
            path = parent

    def _forget(self, path: str, now: float) -> None:
        doomed = [path]
        while doomed:
            gone = doomed.pop()
            doomed.extend(below(gone, name) for name in self._entries.pop(gone).names)
            name = gone.rpartition("/")[2]
            if name in self._named:
                self._named[name].pop(gone, None)
            self._gone.pop(gone, None)
            self._gone[gone] = now


class Branch(Tree):
    """What is below one path of a larger tree, as a tree of its own: for questions, which go to the larger
    one. What the registry keeps from us counts as empty."""

    def __init__(self, tree: Tree, path: str) -> None:
        super().__init__(tree.full(path))
        self.synced = tree.synced
        self._tree = tree
        self._path = path

    def __contains__(self, path: str) -> bool:
        return self._within(path) in self._tree

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[str]:
        waiting = [""] if self._path in self._tree else []
        while waiting:
            path = waiting.pop()
            yield path
            waiting.extend(below(path, name) for name in self.children(path))

    def children(self, path: str) -> Sequence[str]:
        return self._tree.children(self._within(path))

    def node(self, path: str) -> Node:
        inner = self._within(path)
        try:
            return self._tree.node(inner)
        except Unread:
            if not self._tree.unreadable(inner):
                raise
            return Node("", 0, "", 0, 0)

    def get(self, path: str) -> str | None:
        inner = self._within(path)
        try:
            return self._tree.get(inner)
        except Unread:
            if not self._tree.unreadable(inner):
                raise
            return ""

    def known(self, path: str) -> str | None:
        return self._tree.known(self._within(path))

    def unreadable(self, path: str) -> bool:
        return self._tree.unreadable(self._within(path))

    def _within(self, path: str) -> str:
        return f"{self._path}/{path}" if path else self._path


class Mirrors:
    """All the mirrors a registry keeps, found by the paths that change."""

    def __init__(self) -> None:
        self._by_root: dict[str, Mirror] = {}

    def __iter__(self) -> Iterator[Mirror]:
        return iter(self._by_root.values())

    def __len__(self) -> int:
        return len(self._by_root)

    def get(self, root: str) -> Mirror | None:
        return self._by_root.get(root)

    def add(self, root: str) -> Mirror:
        mirror = self._by_root[root] = Mirror(root)
        return mirror

    def remove(self, root: str) -> None:
        self._by_root.pop(root, None)

    def over(self, path: str) -> Iterator[tuple[Mirror, str]]:
        """Every mirror that holds the path, with the path as that mirror says it."""
        at = path
        while True:
            mirror = self._by_root.get(at)
            if mirror is not None:
                yield mirror, path[len(at) + (at != "/") :] if path != at else ""
            if at in ("/", ""):
                return
            at = at.rpartition("/")[0] or "/"

    def deny(self, path: str) -> None:
        """The registry does not let us read a node."""
        for mirror, relative in self.over(path):
            mirror.deny(relative)

    def tell(self, path: str, node: Node | None, now: float) -> None:
        """A node was written by us or read: it holds this, or it is not there."""
        for mirror, relative in self.over(path):
            if node is None:
                mirror.drop(relative, now)
            else:
                mirror.put(relative, node, now)


def below(path: str, name: str) -> str:
    return f"{path}/{name}" if path else name


def _join(root: str, path: str) -> str:
    if not path:
        return root
    return f"{root}/{path}" if root != "/" else f"/{path}"


def snapshot(tree: Tree) -> Mapping[str, Node]:
    """Every node by its path; raises Unread where one was not read yet."""
    return {path: tree.node(path) for path in sorted(tree)}
