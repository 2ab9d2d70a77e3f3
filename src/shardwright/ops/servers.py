"""Servers: the machines of a namespace, over all its jobs."""

from collections.abc import Iterable
from dataclasses import dataclass

from ..coordination import instance, server
from ..errors import NotThere
from ..registry import Registry
from . import looking
from .looking import Sight
from .values import Shown

OK = "OK"


@dataclass(frozen=True, slots=True)
class Server(Shown):
    """One machine."""

    address: str
    instances: int
    """How many processes are there; one that has several jobs counts once."""
    jobs: tuple[str, ...]
    disabled: int
    """How many of its jobs are disabled there."""


@dataclass(frozen=True, slots=True)
class ServerJob(Shown):
    """One job on one machine."""

    job: str
    status: str
    """OK or DISABLED."""
    instances: int


def listing(registry: Registry) -> tuple[Server, ...]:
    """Every machine that a job knows, by address."""
    return seen(looking.all_at(registry, looking.jobs(registry), own=False))


def jobs_of(registry: Registry, address: str) -> tuple[ServerJob, ...]:
    """The jobs that know this machine, by name."""
    sights = looking.all_at(registry, looking.jobs(registry), own=False)
    there = [sight for sight in sights if server.node(address) in sight.job]
    if not there:
        raise NotThere(unknown(address, sights))
    return tuple(ServerJob(each.name, _status(each, address), len(here(each, address))) for each in there)


def seen(sights: list[Sight]) -> tuple[Server, ...]:
    return tuple(_server(address, sights) for address in addresses(sights))


def addresses(sights: list[Sight]) -> list[str]:
    return sorted({address for sight in sights for address in sight.job.children(server.ROOT)})


def here(sight: Sight, address: str) -> list[str]:
    """The instances of a job that are on a machine, by what they say themselves."""
    return [who for who in sight.members if sight.address(who) == address]


def processes(sights: Iterable[Sight], address: str | None = None) -> int:
    """How many processes there are, on all machines or on one. In each of its jobs a process of ours goes by
    another id; only the end of it differs."""
    return len(
        {
            process(sight, who)
            for sight in sights
            for who in (sight.members if address is None else here(sight, address))
        }
    )


def process(sight: Sight, who: str) -> tuple[str, str]:
    """What tells a process from others, whichever of its jobs it is met in."""
    name = who.rpartition("-")[0] if instance.is_python(who) else who
    # Containers may have all the same address and pid, and not the same session.
    return name, sight.job.owner(instance.node(who))


def is_known(sight: Sight, address: str) -> bool:
    """Whether a job has a server of this address, or somebody in it says to be there."""
    return server.node(address) in sight.job or bool(here(sight, address))


def unknown(address: str, sights: list[Sight], job: str | None = None) -> str:
    """The sentence about a machine that no job knows, or that this one does not."""
    whose = "no job knows a" if job is None else f"the job {job!r} knows no"
    return f"{whose} server {address!r}{looking.nearest(address, addresses(sights))}"


def _server(address: str, sights: list[Sight]) -> Server:
    theirs = [sight for sight in sights if server.node(address) in sight.job]
    return Server(
        address,
        processes(theirs, address),
        tuple(sight.name for sight in theirs),
        sum(_status(sight, address) == server.DISABLED for sight in theirs),
    )


def _status(sight: Sight, address: str) -> str:
    return server.DISABLED if sight.data(server.node(address)) == server.DISABLED else OK
