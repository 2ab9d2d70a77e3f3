"""Writes: what a commit may hold, and how it may end.

A commit is a handful of writes that land together or not at all. `Require` and `Forbid` are guards:
they look at the tree as it was before the commit; the others change it, in the order given. Versions
are all that can be required of a node, because that is all ZooKeeper can check, and a node that was
deleted and made again starts at version 0 there: a version is exact only for nodes that are never
re-made under one name.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

#: The largest commit every driver takes: what a ZooKeeper server reads unless it was told otherwise.
LARGEST = 0xFFFFF

#: What a commit takes on the wire besides its writes, and a write besides its path and data, at most.
_FRAME, _OVERHEAD = 24, 68

#: What a ZooKeeper server takes in no path: controls, surrogates, private use, specials, and all that Java
#: writes as two surrogates.
_NOT_IN_A_PATH = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\U0010ffff]")

#: What most paths are like, none of which needs a closer look.
_USUAL = re.compile("(?:/[A-Za-z0-9~@_-][A-Za-z0-9~@_.-]*)+")


@dataclass(frozen=True, slots=True)
class Create:
    """Add a node that must not be there yet; missing parents are made along with it.

    An ephemeral node goes with the session that made it and has no children. A sequential one gets a
    ten-digit number appended that is greater than those of its living siblings.
    """

    path: str
    data: str = ""
    ephemeral: bool = False
    sequential: bool = False


@dataclass(frozen=True, slots=True)
class Put:
    """Give a node that is there new data; its version grows by one."""

    path: str
    data: str = ""
    version: int | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove a node that is there; one with children only if asked to take all below it too."""

    path: str
    version: int | None = None
    recursive: bool = False


@dataclass(frozen=True, slots=True)
class Require:
    """Go on only while the node is there, at this version if one is named."""

    path: str
    version: int | None = None


@dataclass(frozen=True, slots=True)
class Forbid:
    """Go on only while the node is not there."""

    path: str


Write = Create | Put | Delete | Require | Forbid


@dataclass(frozen=True, slots=True)
class Landed:
    """The commit is in the tree. Its number is greater than that of every commit before it, for ever."""

    number: int
    names: tuple[str, ...] = ()
    """The full paths that sequential creates were given, in order."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The commit is not in the tree and never will be."""

    why: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nobody can say: the commit may have landed, or may still. Look at the tree to find out."""

    why: str


Outcome = Landed | Refused | Unknown


def protected(name: str, token: str) -> str:
    """A name for a sequential create that its maker finds again after an unknown outcome.

    Curator's form: whoever made `_c_<token>-latch-` looks for a child that begins so before making another.

    >>> protected("latch-", "6d2c")
    '_c_6d2c-latch-'
    """
    return f"_c_{token}-{name}"


def moved(write: Write, path: str) -> Write:
    """The same write to another node. As `dataclasses.replace` would, at a fifth of its price."""
    match write:
        case Create():
            return Create(path, write.data, write.ephemeral, write.sequential)
        case Put():
            return Put(path, write.data, write.version)
        case Delete():
            return Delete(path, write.version, write.recursive)
        case Require():
            return Require(path, write.version)
        case Forbid():
            return Forbid(path)


def check_path(path: str) -> None:
    """Raise where the text cannot be a node's path."""
    if not isinstance(path, str):
        raise ValueError(f"a path is a text, not {path!r}")
    if path == "/" or _USUAL.fullmatch(path):
        return
    if not path.startswith("/") or path.endswith("/"):
        raise ValueError(f"the path {path!r} must begin with a slash and not end with one")
    for segment in path[1:].split("/"):
        if segment in ("", ".", ".."):
            raise ValueError(f"the path {path!r} has a part that is empty or only dots")
    if odd := _NOT_IN_A_PATH.search(path):
        raise ValueError(f"the path {path!r} has a character that no path may have: {odd[0]!a}")


def check_paths(paths: Iterable[str]) -> list[str]:
    """These paths, each once, in order; raises where one cannot be a path, or where they are one text."""
    if isinstance(paths, str):
        raise ValueError(f"give a list of paths, such as [{paths!r}]")
    wanted = list(dict.fromkeys(paths))
    for path in wanted:
        check_path(path)
    return wanted


def in_order(writes: Sequence[Write]) -> tuple[Write, ...]:
    """The writes with their guards first, after a check that they do not contradict each other.

    Contradictions are mistakes of the caller, not of the world, so they raise.
    """
    if not writes:
        raise ValueError("a commit needs at least one write")
    changed: dict[str, Write] = {}
    guards: list[Write] = []
    effects: list[Write] = []
    for write in writes:
        check_path(write.path)
        _check_version(write)
        if isinstance(write, Require | Forbid):
            guards.append(write)
            continue
        if write.path == "/":
            raise ValueError("the root itself cannot be written")
        _check_data(write)
        effects.append(write)
        before = changed.get(write.path)
        if before is not None and not (isinstance(before, Delete) and isinstance(write, Create)):
            raise ValueError(f"one commit writes {write.path!r} twice")
        changed[write.path] = write
    if len(effects) > 1 and any(isinstance(write, Delete) for write in effects):
        _check_below(effects)
    return (*guards, *effects)


def _check_version(write: Write) -> None:
    version = getattr(write, "version", None)
    if version is not None and not 0 <= version < 2**31:
        raise ValueError(f"{write.path!r} cannot be at version {version}: versions count from 0")


def _check_data(write: Write) -> None:
    """Text that is UTF-8, or that stands for bytes which are not: as it is read, it must be written."""
    data = getattr(write, "data", "")
    if data.isascii():
        return
    try:
        same = data.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape") == data
    except UnicodeEncodeError:
        same = False
    if not same:
        raise ValueError(f"the data for {write.path!r} has half a character in it (a lone surrogate)")


def _check_below(effects: Sequence[Write]) -> None:
    """Raise where something is written below a node that is taken away afterwards, or is gone by then."""
    written: dict[str, str] = {}
    gone: set[str] = set()
    for write in effects:
        if isinstance(write, Delete):
            gone.add(write.path)
            if write.path in written:
                raise ValueError(f"one commit writes {written[write.path]!r} and takes {write.path!r} away")
            continue
        gone.discard(write.path)
        for above in _above(write.path):
            written[above] = write.path
            if above in gone:
                raise ValueError(f"one commit writes {write.path!r} and takes {above!r} away")


@lru_cache(maxsize=4096)  # asked several times of every path on its way
def _above(path: str) -> tuple[str, ...]:
    parts = path.split("/")
    return tuple(["/".join(parts[:end]) for end in range(2, len(parts))])


def parents(path: str) -> tuple[str, ...]:
    """All the nodes a node stands on, the topmost first, without the root.

    >>> parents("/a/b/c")
    ('/a', '/a/b')
    """
    return _above(path)


def weight(writes: Sequence[Write]) -> int:
    """About how many bytes the commit takes on the wire: never less than it really does, unless missing
    parents come on top."""
    total = _FRAME
    for write in writes:
        total += _OVERHEAD + 2 * _bytes(write.path) + _bytes(getattr(write, "data", ""))
    return total


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogateescape"))


def too_large(writes: Sequence[Write], largest: int) -> Refused | None:
    """Say so here and now: a server would drop the whole connection over it."""
    size = weight(writes)
    if size <= largest:
        return None
    return Refused(
        f"the commit takes about {size:,} bytes and the registry takes at most {largest:,}: split it"
    )
