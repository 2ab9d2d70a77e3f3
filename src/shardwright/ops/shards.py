"""Shards: who owns each shard of a job, how it is, what it runs and how its last run ended.

A shard's state is ElasticJob's, the first that holds: DISABLED, RUNNING, SHARDING_FLAG (its owner is not
there), PENDING. What its cursor tells comes on top; Java members keep none.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from .. import secrets
from ..coordination import execution, failover, milestone, sharding
from ..registry import Registry
from . import looking
from .looking import Sight
from .values import Shown

#: The place of nobody in a map.
NOBODY = -1


class State(Enum):
    """How a shard is."""

    DISABLED = "DISABLED"
    RUNNING = "RUNNING"
    SHARDING_FLAG = "SHARDING_FLAG"
    PENDING = "PENDING"


@dataclass(frozen=True, slots=True)
class Item(Shown):
    """One shard. Texts are empty where there is nothing to say; secrets in them are masked."""

    item: int
    state: State
    owner: str
    server: str
    failover: bool
    """Somebody has taken it over from one that died."""
    parameter: str
    running_by: str
    running_fire: str
    """Which fire it runs for: its time, or `#<number>` for one that was asked for."""
    running_since: datetime | None
    """Since its time, if it was claimed before that."""
    attempt: int
    """The how-manieth try goes on; 0 while none does, or nobody counts."""
    last_fire: datetime | None
    """The last scheduled fire that is accounted for; None where that is the one which runs."""
    last_outcome: str
    last_ended: datetime | None
    next_owner: str
    """Who gets it when the run that goes on has ended."""


@dataclass(frozen=True, slots=True)
class Map(Shown):
    """All shards of a job, short enough for very many. A process goes by its place among `members`, -1 is
    nobody; one who owns or runs something and is not there any more has a place after those who are."""

    total: int
    members: tuple[str, ...]
    here: int
    """How many of `members` are there: the first ones."""
    owner: tuple[int, ...]
    running: tuple[int, ...]
    state: str
    """The first letter of each one's state."""
    failover: tuple[int, ...]
    moving: dict[int, int]
    """Who gets a shard when the run that goes on has ended."""


def of(registry: Registry, job: str) -> tuple[Item, ...]:
    """Every shard of a job, in order, whoever of its owners is there."""
    return seen(looking.at(registry, job))


def seen(sight: Sight) -> tuple[Item, ...]:
    return tuple(one(sight, item) for item in sight.items)


def mapped(sight: Sight) -> Map:
    """All shards of a job, in short."""
    places = {who: place for place, who in enumerate(sight.members)}

    def place(who: str) -> int:
        return places.setdefault(who, len(places)) if who else NOBODY

    items = sight.items
    owner = tuple(place(sight.data(sharding.owner_node(item))) for item in items)
    running = tuple(place(running_by(sight, item)) for item in items)
    moving = {item: place(heir) for item in items if (heir := sight.own.get(f"next/{item}") or "")}
    return Map(
        len(items),
        tuple(places),
        len(sight.members),
        owner,
        running,
        "".join(state(sight, item).value[0] for item in items),
        tuple(item for item in items if failover.taken_node(item) in sight.job),
        moving,
    )


def running_by(sight: Sight, item: int) -> str:
    """Who runs a shard: by its mark, or where the job has none made, by its cursor."""
    marked = sight.data(execution.running_node(item))
    run = sight.cursor(item).run
    if marked or run is None or not sight.alive(run.by):
        return marked
    return run.by


def runs(sight: Sight, item: int) -> bool:
    return execution.running_node(item) in sight.job or bool(running_by(sight, item))


def state(sight: Sight, item: int) -> State:
    if execution.disabled_node(item) in sight.job:
        return State.DISABLED
    if runs(sight, item):
        return State.RUNNING
    owner = sight.data(sharding.owner_node(item))
    return State.PENDING if owner in sight.members else State.SHARDING_FLAG


def one(sight: Sight, item: int) -> Item:
    owner, by, cursor = sight.data(sharding.owner_node(item)), running_by(sight, item), sight.cursor(item)
    run = cursor.run if cursor.run is not None and cursor.run.by == by else None
    due = _due(run.fire) if run is not None else None
    return Item(
        item,
        state(sight, item),
        owner,
        sight.address(owner) if owner else "",
        failover.taken_node(item) in sight.job,
        secrets.masked(sight.config.item_parameters.get(item, "")) if sight.config is not None else "",
        by,
        run.fire if run is not None else "",
        max(cursor.began, due or cursor.began) if run is not None and cursor.began is not None else None,
        run.tries if run is not None else 0,
        cursor.at if due is None or due != cursor.at else None,
        secrets.masked(cursor.last),
        cursor.ended,
        sight.own.get(f"next/{item}") or "",
    )


def _due(fire: str) -> datetime | None:
    """The time of a fire; None for one that was asked for."""
    return None if milestone.round_of(fire) == milestone.ASKED else datetime.fromisoformat(fire)
