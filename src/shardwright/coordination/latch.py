"""Latches: Curator's way of letting one at a time do something, as nodes in the view.

    <latch>/_c_<uuid>-latch-<number>    ephemeral    somebody's place in the line; the lowest number is
                                                     its head

Nobody blocks. Who has a reason stands in line; who is first acts and leaves in one transaction, which
checks the reason again; whose reason has gone withdraws. The uuid is made of who we are and which latch
it is, so that a place whose making was never confirmed is found again and is ours.
"""

import uuid
from collections.abc import Iterator, Sequence
from typing import Protocol

from .step import Create, Delete, Effect, Look, Step, Write, do

#: How long each gives the one before it in ElasticJob's order, so that a fleet does not stampede.
TURN = 0.05

_OURS = uuid.UUID("5f1d1c5e-6c0a-4f0e-9f5b-2f5d0f0c3a10")


class Nodes(Protocol):
    def children(self, path: str) -> Sequence[str]: ...


class View(Protocol):
    """What standing in line takes: who we are, the nodes, and the time."""

    @property
    def me(self) -> str: ...
    @property
    def tree(self) -> Nodes: ...
    @property
    def boot(self) -> float: ...


def place(view: View, latch: str) -> str:
    """What our place in the line is called, up to its number."""
    return f"{latch}/_c_{uuid.uuid5(_OURS, f'{view.me} {latch}')}-latch-"


def ours(view: View, latch: str) -> list[str]:
    """Our places in the line; more than one only after an answer was lost."""
    waiting = line(view, latch)
    if not waiting:
        return []
    begins = place(view, latch).rpartition("/")[2]
    return [f"{latch}/{name}" for name in waiting if name.startswith(begins)]


def line(view: View, latch: str) -> list[str]:
    """Everybody's places, as Curator orders them: by the text after the last `latch-`."""
    return sorted(view.tree.children(latch), key=lambda name: name.rpartition("latch-")[2])


def act(
    view: View, latch: str, *writes: Write, turn: int = 0, since: float = 0.0, then: Effect | None = None
) -> Iterator[Step | Look]:
    """Have these writes made by whoever is first in line, and leave the line with them.

    `turn` is how many others are likely to want the same since the given time: we let them go first.
    """
    places = ours(view, latch)
    if not places:
        begin = since + turn * TURN
        if view.boot < begin:
            yield Look(begin, f"our turn to stand in line at {latch}")
        else:
            yield do(Create(place(view, latch), ephemeral=True, sequential=True))
        return
    for surplus in places[1:]:
        yield do(Delete(surplus))
    if f"{latch}/{line(view, latch)[0]}" == places[0]:
        yield do(*writes, Delete(places[0]), then=then)


def withdraw(view: View, latch: str) -> Iterator[Step]:
    """Our reason has gone: leave the line, so that nobody waits behind us."""
    for each in ours(view, latch):
        yield do(Delete(each))
