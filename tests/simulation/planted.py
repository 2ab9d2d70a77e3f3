"""Bugs planted on purpose, one at a time: a simulation that does not find them proves nothing.

Most take a guard, or a part, out of what was decided.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from shardwright import coordination
from shardwright.coordination import failover
from shardwright.coordination.step import (
    Delete,
    Forbid,
    Look,
    Put,
    Require,
    Start,
    Step,
    Write,
)
from shardwright.coordination.view import View

Decide = Callable[[View], Iterable[Step | Look]]


def rewriting(rewrite: Callable[[Write, Step], Write | None]) -> Decide:
    """Decisions with some of their writes changed, or left out."""

    def decide(view: View) -> Iterator[Step | Look]:
        for each in coordination.decide(view):
            if isinstance(each, Look):
                yield each
            else:
                writes = (rewrite(write, each) for write in each.writes)
                yield replace(each, writes=tuple(write for write in writes if write is not None))

    return decide


def without(*kinds: str) -> Decide:
    """Decisions of the concepts that are left."""
    concepts = [
        concept for concept in coordination.CONCEPTS if concept.__name__.rpartition(".")[2] not in kinds
    ]

    def decide(view: View) -> Iterator[Step | Look]:
        for concept in concepts:
            yield from concept.decide(view)

    return decide


def _cursor_without_version(write: Write, step: Step) -> Write:
    return replace(write, version=None) if isinstance(write, Put) and "~~cursor" in write.path else write


def _no_cursor(write: Write, step: Step) -> Write | None:
    return None if "~~cursor" in write.path else write


def _unguarded_rescue(write: Write, step: Step) -> Write | None:
    guard = isinstance(write, Require | Forbid) and "~~cursor" in write.path
    return None if guard and not isinstance(step.then, Start) else write


def _mark_stays(write: Write, step: Step) -> Write | None:
    return None if isinstance(write, Delete) and write.path.endswith("/running") else write


def _item_stays_up(write: Write, step: Step) -> Write | None:
    return None if isinstance(write, Delete) and write.path.startswith(failover.WAITING) else write


def _request_stays(write: Write, step: Step) -> Write | None:
    return None if isinstance(write, Delete) and write.path.startswith("trigger/") else write


def _latch_is_kept(write: Write, step: Step) -> Write | None:
    return None if isinstance(write, Delete) and "/latch/" in write.path else write


def _owners_are_remade(write: Write, step: Step) -> Write:
    return (
        replace(write, version=99) if isinstance(write, Put) and write.path.endswith("/instance") else write
    )


#: What each bug decides by.
DECISIONS: dict[str, Decide] = {
    "the cursor is written at whatever version": rewriting(_cursor_without_version),
    "there is no cursor": rewriting(_no_cursor),
    "orphans are put up unguarded by the cursor": rewriting(_unguarded_rescue),
    "the mark of a run stays": rewriting(_mark_stays),
    "a taken item stays up": rewriting(_item_stays_up),
    "a trigger is never taken away": rewriting(_request_stays),
    "the latch is never left": rewriting(_latch_is_kept),
    "assignments are guarded by versions nobody has": rewriting(_owners_are_remade),
    "nobody rescues": without("failover"),
    "nobody shares out": without("sharding"),
    "nobody is elected": without("leader"),
    "ends are not told": without("ending"),
}
