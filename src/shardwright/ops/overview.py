"""Overview: every job in a row, and what the rows come to, kept in step as single jobs change. Pure.

Whoever shows thousands of jobs looks at those again that have changed, and adds up what is otherwise: a row
goes out, a row comes in.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from ..coordination import server
from ..errors import NotThere
from . import jobs, looking, servers, shards
from .jobs import Brief, Member, Status
from .looking import Sight
from .servers import ServerJob
from .statistics import Statistics
from .values import Shown

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class AtServer(ServerJob):
    """One job on one machine, with its processes there."""

    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One job, with all that counts in an overview."""

    brief: Brief
    running: int
    """How many of its shards run."""
    java: bool
    """Only Java processes are in it."""
    members: tuple[Member, ...]
    processes: tuple[tuple[str, str], ...]
    """What tells the processes of its members from others, in the same order."""
    servers: tuple[tuple[str, bool], ...]
    """The servers that it knows, and whether it may work there."""


@dataclass(frozen=True, slots=True)
class Load(Shown):
    """One machine, and how much it has to do."""

    address: str
    instances: int
    jobs: tuple[str, ...]
    disabled: int
    owns: int
    """How many shards the processes there own, over all jobs."""
    runs: int
    """How many shards run there."""
    draining: int
    """How many of its members, over all jobs, are being drained or leave."""


def row(sight: Sight) -> Row:
    members = jobs.members(sight)
    return Row(
        jobs.seen([sight])[0],
        sum(shards.runs(sight, item) for item in sight.items),
        bool(members) and not any(each.python for each in members),
        members,
        tuple(servers.process(sight, each.id) for each in members),
        tuple(
            (address, sight.data(server.node(address)) != server.DISABLED)
            for address in sight.job.children(server.ROOT)
        ),
    )


class Totals:
    """What many rows come to."""

    def __init__(self) -> None:
        self._jobs = self._shards = self._running = 0
        self._status: Counter[Status] = Counter()
        self._servers: Counter[str] = Counter()
        self._processes: Counter[tuple[str, str]] = Counter()

    def change(self, old: Row | None, new: Row | None) -> None:
        """A row goes out, and another comes in its place; None is no row."""
        if old is not None:
            self._count(old, -1)
        if new is not None:
            self._count(new, 1)

    def statistics(self) -> Statistics:
        return Statistics(
            self._jobs,
            {status.value: self._status[status] for status in Status},
            len(self._servers),
            len(self._processes),
            self._shards,
            self._running,
        )

    def _count(self, row: Row, by: int) -> None:
        self._jobs += by
        self._shards += by * (row.brief.shards or 0)
        self._running += by * row.running
        self._status[row.brief.status] += by
        _add(self._servers, (address for address, _ in row.servers), by)
        _add(self._processes, row.processes, by)


def _add(counts: "Counter[Key]", keys: Iterable[Key], by: int) -> None:
    for key in keys:
        counts[key] += by
        if not counts[key]:
            del counts[key]


def loads(rows: Mapping[str, Row]) -> tuple[Load, ...]:
    """Every machine that a job knows, or has processes on, by address, with what it has to do."""
    known: dict[str, list[str]] = {}
    disabled: Counter[str] = Counter()
    processes: dict[str, set[tuple[str, str]]] = {}
    owns: Counter[str] = Counter()
    runs: Counter[str] = Counter()
    draining: Counter[str] = Counter()
    for name, each in rows.items():
        for address, enabled in each.servers:
            known.setdefault(address, []).append(name)
            disabled[address] += not enabled
        for member, process in zip(each.members, each.processes, strict=True):
            processes.setdefault(member.server, set()).add(process)
            owns[member.server] += member.owns
            runs[member.server] += member.runs
            draining[member.server] += member.draining
    return tuple(
        Load(
            address,
            len(processes.get(address, ())),
            tuple(sorted(known.get(address, ()))),
            disabled[address],
            owns[address],
            runs[address],
            draining[address],
        )
        for address in sorted({*known, *processes})
    )


def at_server(rows: Mapping[str, Row], address: str) -> tuple[AtServer, ...]:
    """The jobs that know a machine, or have processes there; a machine that none does is refused."""
    told = []
    for name in sorted(rows):
        here = tuple(each for each in rows[name].members if each.server == address)
        enabled = dict(rows[name].servers).get(address)
        if here or enabled is not None:
            # One that has just come, and has not said so yet, may work.
            status = server.DISABLED if enabled is False else servers.OK
            told.append(AtServer(name, status, len(here), here))
    if not told:
        known = sorted({each for row in rows.values() for each, _ in row.servers})
        raise NotThere(f"no job knows a server {address!r}{looking.nearest(address, known)}")
    return tuple(told)
