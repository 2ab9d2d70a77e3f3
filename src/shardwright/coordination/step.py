"""What a decision may ask for: writes that land together, then at most one effect here; or another look.

A step whose writes are refused means that the world has moved on: look again. Its effect happens only if
they landed. `Look` asks to be called again when only time will have passed: nothing polls, nothing
sleeps.
"""

from dataclasses import dataclass

from ..registry import Create, Delete, Forbid, Put, Require, Write
from .view import Source

__all__ = [
    "Claim",
    "Create",
    "Delete",
    "Effect",
    "Forbid",
    "Forget",
    "Leave",
    "Look",
    "Put",
    "Require",
    "Reread",
    "Say",
    "Start",
    "Step",
    "Stop",
    "Write",
    "do",
]


@dataclass(frozen=True, slots=True)
class Say:
    """Tell the operator, once."""

    what: str


@dataclass(frozen=True, slots=True)
class Stop:
    """Take the job off this process and cancel what runs of it; others go on."""

    why: str


@dataclass(frozen=True, slots=True)
class Start:
    """Run these shards here, under the number of the commit that claimed them."""

    claims: "tuple[Claim, ...]"


@dataclass(frozen=True, slots=True)
class Claim:
    """One shard to run: for which fire, why, the how-manieth try, and under which attempt."""

    item: int
    fire: str
    source: Source
    attempt: str
    tries: int = 1
    checkpoint: str | None = None


@dataclass(frozen=True, slots=True)
class Forget:
    """The end of these shards' runs has been told."""

    items: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Reread:
    """Our idea of these shards' cursors is old: read them again."""

    items: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Leave:
    """We have handed everything over and are gone from the registry."""


Effect = Say | Stop | Start | Forget | Reread | Leave


@dataclass(frozen=True, slots=True)
class Step:
    """All the writes or none, and the effect only if they landed."""

    writes: tuple[Write, ...] = ()
    then: Effect | None = None


@dataclass(frozen=True, slots=True)
class Look:
    """Look again when the boot clock gets there."""

    at: float
    why: str


def do(*writes: Write, then: Effect | None = None) -> Step:
    return Step(writes, then)
