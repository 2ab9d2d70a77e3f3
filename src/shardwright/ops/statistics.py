"""Statistics: a namespace in a handful of numbers."""

from collections import Counter
from dataclasses import dataclass

from ..registry import Registry
from . import jobs, looking, servers, shards
from .looking import Sight
from .values import Shown


@dataclass(frozen=True, slots=True)
class Statistics(Shown):
    """How much there is of everything."""

    jobs: int
    by_status: dict[str, int]
    """How many jobs have each status, all of them named."""
    servers: int
    instances: int
    """Processes; one that has several jobs counts once."""
    shards: int
    running: int
    """Shards that run, by their marks or by their cursors."""


def gather(registry: Registry) -> Statistics:
    return seen(looking.all_at(registry, looking.jobs(registry)))


def seen(sights: list[Sight]) -> Statistics:
    counts = Counter(jobs.status(sight) for sight in sights)
    return Statistics(
        len(sights),
        {status.value: counts[status] for status in jobs.Status},
        len(servers.addresses(sights)),
        servers.processes(sights),
        sum(len(sight.items) for sight in sights),
        sum(shards.runs(sight, item) for sight in sights for item in sight.items),
    )
