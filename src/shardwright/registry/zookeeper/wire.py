"""ZooKeeper's bytes: the requests we send and the answers we take apart, and nothing that sends them.

kazoo knows most of the protocol; three things it does not: a transaction that tells its number and the
state of every node it wrote, many reads in one request (`multiRead`), and one watch for a whole subtree.
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..tree import Node

# Operations, as the protocol numbers them.
CREATE, DELETE, GET_DATA, SET_DATA, GET_CHILDREN, SYNC = 1, 2, 4, 5, 8, 9
CHECK, MULTI, REMOVE_WATCHES, MULTI_READ, ADD_WATCH = 13, 14, 18, 22, 106

# What an answer says in place of a part that failed.
FAULT = -1

# Events of a watch.
CREATED, DELETED, CHANGED = 1, 2, 3

# Errors that mean something to us.
OK, NO_NODE, NO_AUTH, BAD_VERSION, NO_CHILDREN_FOR_EPHEMERALS, NODE_EXISTS, NOT_EMPTY = (
    0,
    -101,
    -102,
    -103,
    -108,
    -110,
    -111,
)
SESSION_EXPIRED, RUNTIME_INCONSISTENCY = -112, -2

EPHEMERAL, SEQUENTIAL = 1, 2

#: What stands before every request: which one it is, and its kind.
REQUEST_HEADER = 8

#: And before every answer: which request it answers, the number of the last commit, an error.
REPLY_HEADER = 16

RECURSIVE, ANY_WATCH = 1, 3

#: Permissions, scheme and id: everything to whoever made the node, or everything to everybody.
Acl = tuple[int, str, str]
CREATOR_ALL: Acl = (31, "auth", "")
WORLD_ALL: Acl = (31, "world", "anyone")

_int = struct.Struct("!i")
_header = struct.Struct("!iqi")
_op = struct.Struct("!i?i")
_stat = struct.Struct("!qqqqiiiqiiq")
_END = _op.pack(-1, True, -1)


@dataclass(frozen=True, slots=True)
class Stat:
    """What the server keeps about a node besides its data."""

    made: int
    written: int
    written_at: float
    version: int
    owner: str


@dataclass(frozen=True, slots=True)
class Made:
    """One create of a transaction: the path it was given."""

    path: str


@dataclass(frozen=True, slots=True)
class Fault:
    """One part of a request that could not be done."""

    code: int


@dataclass(frozen=True, slots=True)
class Event:
    """Something happened to a node; what, but not what it holds now."""

    kind: int
    path: str


#: One part of a transaction's answer; None where there is nothing to tell.
Result = Made | Stat | Fault | None


def create(path: str, data: str, flags: int, acl: Acl) -> bytes:
    permissions, scheme, identity = acl
    return b"".join(
        (
            _op.pack(CREATE, False, -1),
            _text(path),
            _bytes(_encode(data)),
            _int.pack(1),
            _int.pack(permissions),
            _text(scheme),
            _text(identity),
            _int.pack(flags),
        )
    )


def delete(path: str, version: int) -> bytes:
    return _op.pack(DELETE, False, -1) + _text(path) + _int.pack(version)


def set_data(path: str, data: str, version: int) -> bytes:
    return _op.pack(SET_DATA, False, -1) + _text(path) + _bytes(_encode(data)) + _int.pack(version)


def check(path: str, version: int) -> bytes:
    return _op.pack(CHECK, False, -1) + _text(path) + _int.pack(version)


def transaction(operations: Iterable[bytes]) -> bytes:
    return b"".join((*operations, _END))


def many_reads(kind: int, paths: Iterable[str]) -> bytes:
    one = _op.pack(kind, False, -1)
    return b"".join((*(one + _text(path) + b"\0" for path in paths), _END))


def in_batches(paths: Sequence[str], most: int, largest: int) -> Iterator[Sequence[str]]:
    """Paths in the order given, as many at a time as a request may ask for and the server takes."""
    start, size = 0, 0
    for at, path in enumerate(paths):
        weight = len(path.encode()) + 2 * _op.size
        if at > start and (at - start == most or size + weight > largest // 2):
            yield paths[start:at]
            start, size = at, 0
        size += weight
    if start < len(paths):
        yield paths[start:]


def add_watch(path: str) -> bytes:
    return _text(path) + _int.pack(RECURSIVE)


def remove_watches(path: str) -> bytes:
    return _text(path) + _int.pack(ANY_WATCH)


def sync(path: str) -> bytes:
    return _text(path)


def header(frame: bytes) -> tuple[int, int, int]:
    """The request this answers, the number of the last commit behind the answer, and an error."""
    xid, number, error = _header.unpack_from(frame)
    return xid, number, error


def event(frame: bytes) -> Event:
    at = _header.size
    (kind,) = _int.unpack_from(frame, at)
    size = _int.unpack_from(frame, at + 8)[0]
    return Event(kind, frame[at + 12 : at + 12 + size].decode())


def results(frame: bytes) -> list[Result]:
    """The parts of a transaction's answer, one for each operation."""
    found: list[Result] = []
    parts = _Parts(frame)
    while (kind := parts.next_kind()) is not None:
        if kind == CREATE:
            found.append(Made(parts.text()))
        elif kind == SET_DATA:
            found.append(parts.stat()[0])
        elif kind == FAULT:
            found.append(Fault(parts.number()))
        else:
            found.append(None)
    return found


def nodes(frame: bytes) -> list[tuple[Node, int] | Fault]:
    """What a multiRead of data found: each node with the number of its children."""
    found: list[tuple[Node, int] | Fault] = []
    parts = _Parts(frame)
    while (kind := parts.next_kind()) is not None:
        if kind == FAULT:
            found.append(Fault(parts.number()))
            continue
        data = parts.data().decode("utf-8", "surrogateescape")
        stat, children = parts.stat()
        found.append((Node(data, stat.version, stat.owner, stat.made, stat.written), children))
    return found


def name_lists(frame: bytes) -> list[list[str] | Fault]:
    """What a multiRead of children found."""
    found: list[list[str] | Fault] = []
    parts = _Parts(frame)
    while (kind := parts.next_kind()) is not None:
        if kind == FAULT:
            found.append(Fault(parts.number()))
        else:
            found.append([parts.text() for _ in range(parts.number())])
    return found


class _Parts:
    """An answer of many parts, read one after the other."""

    def __init__(self, frame: bytes) -> None:
        self._frame = frame
        self._at = _header.size

    def next_kind(self) -> int | None:
        """What the next part is; None after the last."""
        kind, done, _ = _op.unpack_from(self._frame, self._at)
        self._at += _op.size
        return None if done else kind

    def number(self) -> int:
        (number,) = _int.unpack_from(self._frame, self._at)
        self._at += _int.size
        return int(number)

    def data(self) -> bytes:
        size = max(0, self.number())
        self._at += size
        return self._frame[self._at - size : self._at]

    def text(self) -> str:
        return self.data().decode()

    def stat(self) -> tuple[Stat, int]:
        """What the server keeps about a node, and how many children it has."""
        made, written, _, written_ms, version, _, _, owner, _, children, _ = _stat.unpack_from(
            self._frame, self._at
        )
        self._at += _stat.size
        return Stat(made, written, written_ms / 1000.0, version, session_text(owner)), children


def session_text(session: int) -> str:
    """A session's number as text; empty for none."""
    return f"{session & 0xFFFFFFFFFFFFFFFF:016x}" if session else ""


def session_number(text: str) -> int:
    """And back; as the protocol has it, which knows no number without a sign."""
    number = int(text, 16)
    return number - (1 << 64) if number >> 63 else number


def explain(code: int, path: str) -> str:
    """A fault in words."""
    said = {
        NO_NODE: f"{path} is not there",
        NO_AUTH: f"no permission for {path}: check the credentials in the registry's address",
        BAD_VERSION: f"{path} is at another version",
        NO_CHILDREN_FOR_EPHEMERALS: f"the parent of {path} is ephemeral and can have no children",
        NODE_EXISTS: f"{path} is there",
        NOT_EMPTY: f"{path} has children",
        SESSION_EXPIRED: "the session has ended",
    }
    return said.get(code, f"the server answered {path} with error {code}")


def first_fault(parts: Sequence[object]) -> tuple[int, int] | None:
    """Where a transaction failed and why; the rest of it was only rolled back."""
    for index, part in enumerate(parts):
        # The parts before the culprit say OK, those after it say that they were not tried.
        if isinstance(part, Fault) and part.code not in (OK, RUNTIME_INCONSISTENCY):
            return index, part.code
    return next(((i, part.code) for i, part in enumerate(parts) if isinstance(part, Fault)), None)


def _encode(data: str) -> bytes:
    return data.encode("utf-8", "surrogateescape")


def _bytes(data: bytes) -> bytes:
    return _int.pack(len(data)) + data


def _text(text: str) -> bytes:
    return _bytes(text.encode())
