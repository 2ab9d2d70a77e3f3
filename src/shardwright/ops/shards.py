"""Shards: who owns each shard of a job, how it is, what it runs and how its last run ended.

A shard's state is ElasticJob's, the first that holds: DISABLED, RUNNING, SHARDING_FLAG (its owner is not
there), PENDING. What its cursor tells comes on top; Java members keep none.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from .. import secrets
from ..coordination import execution, failover, sharding
from ..registry import Registry
from . import looking
from .looking import Sight
from .values import Shown


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
    attempt: int
    """The how-manieth try goes on; 0 while none does, or nobody counts."""
    last_fire: datetime | None
    """The last scheduled fire that is accounted for."""
    last_outcome: str
    last_ended: datetime | None
    next_owner: str
    """Who gets it when the run that goes on has ended."""


def of(registry: Registry, job: str) -> tuple[Item, ...]:
    """Every shard of a job, in order, whoever of its owners is there."""
    return seen(looking.at(registry, job))


def seen(sight: Sight) -> tuple[Item, ...]:
    return tuple(_item(sight, item) for item in sight.items)


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


def _item(sight: Sight, item: int) -> Item:
    owner, by, cursor = sight.data(sharding.owner_node(item)), running_by(sight, item), sight.cursor(item)
    run = cursor.run if cursor.run is not None and cursor.run.by == by else None
    return Item(
        item,
        state(sight, item),
        owner,
        sight.address(owner) if owner else "",
        failover.taken_node(item) in sight.job,
        secrets.masked(sight.config.item_parameters.get(item, "")) if sight.config is not None else "",
        by,
        run.fire if run is not None else "",
        cursor.began if run is not None else None,
        run.tries if run is not None else 0,
        cursor.at,
        secrets.masked(cursor.last),
        cursor.ended,
        sight.own.get(f"next/{item}") or "",
    )
