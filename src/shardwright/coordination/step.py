"""What a decision may ask for: writes that land together, then at most one effect here; or another look.

A step whose writes are refused means that the world has moved on: look again. Its effect happens only if
they landed. `Look` asks to be called again when only time will have passed: nothing polls, nothing
sleeps.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..jobs import JobConfig
from ..registry import Create, Delete, Forbid, Put, Require, Write
from ..registry.writes import weight
from .view import Source, View

__all__ = [
    "Adopt",
    "CallHook",
    "Called",
    "Claim",
    "Create",
    "Delete",
    "Effect",
    "Forbid",
    "Forget",
    "Go",
    "Leave",
    "Look",
    "Put",
    "Refuse",
    "Reject",
    "Require",
    "Reread",
    "Saved",
    "Say",
    "Start",
    "Step",
    "Stop",
    "Supersede",
    "Sure",
    "Veto",
    "Write",
    "do",
    "portions",
]


class Effect:
    """What is done in this process once the writes it stands on have landed."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Say(Effect):
    """Tell the operator, once."""

    what: str


@dataclass(frozen=True, slots=True)
class Stop(Effect):
    """Take the job off this process and cancel what runs of it; others go on."""

    why: str


@dataclass(frozen=True, slots=True)
class Start(Effect):
    """Run these shards here, under the number of this step's commit: the claim's, or a later one where the
    claim was found again."""

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
    parameter: str = ""
    """What it runs with instead of the job's parameter, if with anything."""


@dataclass(frozen=True, slots=True)
class Supersede(Effect):
    """The next fire has come for these shards: what runs of them here is to stop, and is not run again."""

    items: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Forget(Effect):
    """The end of these shards' runs has been told."""

    items: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Reread(Effect):
    """Our idea of these shards' cursors is old: read them again."""

    items: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Leave(Effect):
    """We have handed everything over and are gone from the registry."""


@dataclass(frozen=True, slots=True)
class Adopt(Effect):
    """Work by these settings from now on."""

    text: str
    config: JobConfig


@dataclass(frozen=True, slots=True)
class Reject(Effect):
    """The registry's settings make no sense: go on by those we have, and say so."""

    text: str
    why: str


@dataclass(frozen=True, slots=True)
class Refuse(Effect):
    """This process cannot be in the job at all."""

    why: str


@dataclass(frozen=True, slots=True)
class Sure(Effect):
    """No claim of ours on this shard can land any more of which we have not heard."""

    item: int


@dataclass(frozen=True, slots=True)
class Saved(Effect):
    """These shards' checkpoints are written."""

    texts: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Go(Effect):
    """These shards were held until all were claimed: they begin now."""

    items: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Veto(Effect):
    """These shards were held, and are not to begin: what was called for all of them says so."""

    items: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CallHook(Effect):
    """Call a hook for a fire, once for all its shards."""

    round: str
    fire: str
    disabled: tuple[int, ...] = ()
    """The shards that were left out of it."""
    failed: tuple[int, ...] = ()
    """Those that one of us has run for it without a good end."""


@dataclass(frozen=True, slots=True)
class Called(Effect):
    """That a hook was called has been told."""

    round: str


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


def portions(view: View, writes: Mapping[int, Sequence[Write]]) -> Iterator[dict[int, Sequence[Write]]]:
    """What is to be written about each shard, in as few portions as the registry takes at a time."""
    portion: dict[int, Sequence[Write]] = {}
    room = view.room
    for item, some in writes.items():
        size = weight(some) + 2 * len(view.tree.root.encode()) * len(some)
        if portion and size > room:
            yield portion
            portion, room = {}, view.room
        portion[item] = some
        room -= size
    if portion:
        yield portion
