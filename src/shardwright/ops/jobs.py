"""Jobs: which there are, how each of them is, and all about one.

A job's status is ElasticJob's, the first that holds: CRASHED (nobody is in it), DISABLED (all its servers
are), SHARDING_FLAG (a shard belongs to somebody who is not there, or none belongs to anybody), OK.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from .. import secrets
from ..coordination import instance, server, settings, sharding
from ..coordination import leader as leading
from ..errors import CronError
from ..registry import Registry
from ..schedule import Schedule
from . import looking, shards
from .looking import Sight
from .values import Shown


class Status(Enum):
    """How a job is."""

    CRASHED = "CRASHED"
    DISABLED = "DISABLED"
    SHARDING_FLAG = "SHARDING_FLAG"
    OK = "OK"


@dataclass(frozen=True, slots=True)
class Brief(Shown):
    """A job in a line; secrets masked."""

    name: str
    status: Status
    shards: int | None
    """None where its settings cannot be read."""
    schedule: str
    """When it fires, as it was written; empty: only when asked to."""
    next_fires: tuple[datetime, ...]
    instances: int
    description: str
    trouble: str
    """Why its settings cannot be read, if they cannot."""


@dataclass(frozen=True, slots=True)
class Member(Shown):
    """One process that is in a job."""

    id: str
    server: str
    python: bool
    alive: bool
    """Whether it gives the signs of life that it should: a Python process has one besides its node."""
    draining: bool
    """It is about to leave, and gets nothing more."""
    leader: bool
    enabled: bool
    owns: int
    runs: int


@dataclass(frozen=True, slots=True)
class Server(Shown):
    """One server of a job."""

    address: str
    state: str
    """ENABLED, DISABLED, or what else somebody wrote."""
    instances: int


@dataclass(frozen=True, slots=True)
class Detail(Shown):
    """All about a job."""

    brief: Brief
    kind: str
    """What runs: a class name or a job type; empty says nothing."""
    config: dict[str, object] | None
    """Its settings, secrets masked."""
    leader: str | None
    members: tuple[Member, ...]
    servers: tuple[Server, ...]
    shards: tuple[shards.Item, ...]
    draining: tuple[str, ...]


def names(registry: Registry) -> tuple[str, ...]:
    return looking.jobs(registry)


def listing(registry: Registry, *, fires: int = 1) -> tuple[Brief, ...]:
    """Every job in a line, by name, each with its next fires."""
    return seen(looking.all_at(registry, names(registry), own=False), fires=fires)


def seen(sights: Iterable[Sight], *, fires: int = 1) -> tuple[Brief, ...]:
    return tuple(_brief(sight, fires) for sight in sights)


def brief(registry: Registry, name: str, *, fires: int = 1) -> Brief:
    return _brief(looking.at(registry, name), fires)


def detail(registry: Registry, name: str, *, fires: int = 5) -> Detail:
    return described(looking.at(registry, name), fires=fires)


def described(sight: Sight, *, fires: int = 5) -> Detail:
    items = shards.seen(sight)
    return Detail(
        _brief(sight, fires),
        sight.data(settings.ROOT),
        sight.config.masked() if sight.config is not None else None,
        leader_of(sight),
        members(sight),
        tuple(_server(sight, address) for address in sight.job.children(server.ROOT)),
        items,
        tuple(sight.own.children("draining")),
    )


def members(sight: Sight) -> tuple[Member, ...]:
    """The processes that are in a job."""
    items = sight.items
    owned = Counter(sight.data(sharding.owner_node(item)) for item in items)
    run = Counter(shards.running_by(sight, item) for item in items)
    return tuple(_member(sight, who, owned[who], run[who]) for who in sight.members)


def leader(registry: Registry, name: str) -> str | None:
    """Who leads a job; None while nobody does."""
    return leader_of(looking.at(registry, name))


def leader_of(sight: Sight) -> str | None:
    return sight.job.get(leading.NODE)


def status(sight: Sight) -> Status:
    here = set(sight.members)
    if not here:
        return Status.CRASHED
    if all(sight.data(server.node(each)) == server.DISABLED for each in sight.job.children(server.ROOT)):
        return Status.DISABLED
    assigned = {owner for item in sight.job.children(sharding.ROOT) if (owner := _owner(sight, item))}
    return Status.OK if assigned and assigned <= here else Status.SHARDING_FLAG


def _owner(sight: Sight, item: str) -> str:
    return sight.data(f"{sharding.ROOT}/{item}/instance")


def next_fires(schedule: Schedule | None, now: datetime, count: int) -> tuple[datetime, ...]:
    """The next fires of a schedule, as many as there are."""
    found: list[datetime] = []
    fire = schedule.next(now) if schedule is not None else None
    while schedule is not None and fire is not None and len(found) < count:
        found.append(fire)
        fire = schedule.next(fire)
    return tuple(found)


def _brief(sight: Sight, fires: int) -> Brief:
    config, trouble = sight.config, sight.trouble
    coming: tuple[datetime, ...] = ()
    try:
        coming = next_fires(config.timetable(), sight.now, fires) if config is not None else ()
    except CronError as error:  # one job that cannot fire here must not hide the others
        trouble = str(error)
    return Brief(
        sight.name,
        status(sight),
        config.shards if config is not None else None,
        (config.cron or config.schedule or "") if config is not None else "",
        coming,
        len(sight.members),
        secrets.masked(config.description) if config is not None else "",
        trouble,
    )


def _member(sight: Sight, who: str, owns: int, runs: int) -> Member:
    address = sight.address(who)
    return Member(
        who,
        address,
        instance.is_python(who),
        sight.alive(who),
        f"draining/{who}" in sight.own,
        leader_of(sight) == who,
        sight.data(server.node(address)) not in ("", server.DISABLED),
        owns,
        runs,
    )


def _server(sight: Sight, address: str) -> Server:
    here = sum(sight.address(who) == address for who in sight.members)
    return Server(address, sight.data(server.node(address)), here)
