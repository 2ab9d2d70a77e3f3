"""Statistics: a namespace in a handful of numbers."""

from collections import Counter
from dataclasses import dataclass

from ..registry import Registry
from . import jobs, looking, servers
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
    """Shards that are marked as running."""


def gather(registry: Registry) -> Statistics:
    sights = looking.all_at(registry, looking.jobs(registry), own=False)
    counts = Counter(jobs.status(sight) for sight in sights)
    return Statistics(
        len(sights),
        {status.value: counts[status] for status in jobs.Status},
        len(servers.addresses(sights)),
        len({who for sight in sights for who in sight.members}),
        sum(len(sight.items) for sight in sights),
        sum(len(sight.job.named("running")) for sight in sights),
    )
