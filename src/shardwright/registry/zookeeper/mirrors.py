"""Keeping mirrors complete: read everything below a path, at first and after every reconnect.

Reads go out many to a request and several requests at a time; the server answers in order, and what it
tells of changes stands in the same order. So whatever arrives last is the newest truth, and an answer
and a notification need not be told apart by number: each is applied as it comes.
"""

import itertools
from collections import deque
from collections.abc import Callable, Sequence

from ..tree import Mirror, Node, below
from . import wire

#: How many nodes one request asks for, and how many requests are under way at once.
BATCH, WINDOW = 500, 8

Found = tuple[Node, int] | list[str] | wire.Fault
Ask = Callable[[int, Sequence[str], Callable[[Sequence[Found]], None]], None]


class Loader:
    """Loads mirrors. `ask(kind, paths, answered)` is how it reads; an answer that is lost never comes."""

    def __init__(self, ask: Ask, now: Callable[[], float], largest: int) -> None:
        self._ask = ask
        self._now = now
        self._largest = largest
        self._wanted: dict[int, deque[tuple[Mirror, str]]] = {
            wire.GET_DATA: deque(),
            wire.GET_CHILDREN: deque(),
        }
        self._left: dict[Mirror, int] = {}
        self._underway = 0
        self._round = 0

    def reset(self) -> None:
        """The connection broke: nothing that was asked will be answered."""
        for wanted in self._wanted.values():
            wanted.clear()
        self._left.clear()
        self._underway = 0
        self._round += 1

    def load(self, mirror: Mirror) -> None:
        """Read all of a mirror; it is complete when this is done."""
        self._left[mirror] = 0
        self._want(wire.GET_DATA, mirror, "")

    def forget(self, mirror: Mirror) -> None:
        self._left.pop(mirror, None)

    def flush(self) -> None:
        """Ask for as much as may be under way."""
        while self._underway < WINDOW:
            kind = next((kind for kind, wanted in self._wanted.items() if wanted), None)
            if kind is None:
                return
            self._send(kind)

    def _send(self, kind: int) -> None:
        wanted = self._wanted[kind]
        paths = [mirror.full(path) for mirror, path in itertools.islice(wanted, BATCH)]
        paths = list(next(wire.in_batches(paths, BATCH, self._largest)))
        batch = [wanted.popleft() for _ in paths]
        this_round = self._round
        self._underway += 1

        def answered(found: Sequence[Found]) -> None:
            if this_round != self._round:
                return
            self._underway -= 1
            for (mirror, path), each in zip(batch, found, strict=True):
                if mirror in self._left:
                    self._learn(mirror, path, each)
            self.flush()

        self._ask(kind, paths, answered)

    def _want(self, kind: int, mirror: Mirror, path: str) -> None:
        self._left[mirror] += 1
        self._wanted[kind].append((mirror, path))

    def _learn(self, mirror: Mirror, path: str, found: Found) -> None:
        now = self._now()
        match found:
            case wire.Fault(wire.NO_NODE):
                mirror.drop(path, now)
            case wire.Fault():
                mirror.stale(path, now)
                mirror.deny(path)  # there, and not for us to read: whoever insists is told why
            case tuple():
                node, children = found
                mirror.put(path, node, now)
                if children:
                    self._want(wire.GET_CHILDREN, mirror, path)
                else:
                    mirror.keep_only(path, (), now)
            case list():
                mirror.keep_only(path, found, now)
                for name in found:
                    self._want(wire.GET_DATA, mirror, below(path, name))
        self._left[mirror] -= 1
        if not self._left[mirror]:
            del self._left[mirror]
            mirror.complete(now)
