"""The sentry: one process of a namespace that notices what nobody did.

    ~shardwright~sentry    ephemeral    whoever made it is the sentry, for all jobs of the namespace

Who is dead cannot say that a fire was missed. So whoever runs jobs here also looks at those of others, now
and then: have the fires that were due a while ago begun? It reads what is there and writes nothing, and reads
nothing of what this process is told anyway: who is in the jobs that it has itself.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeVar

from .. import elasticjob
from ..alerts import Alert, Kind
from ..coordination import claim, due, gap
from ..coordination.step import Create, Effect, Look, Step, do
from ..errors import ConfigError
from ..jobs import JobConfig
from ..registry import Node, Outcome, Registry
from .turns import Turns

log = logging.getLogger("shardwright")

NODE = "~shardwright~sentry"

#: How often it looks around, how often it asks which jobs there are, and after how long the settings of a job
#: are read anew and those that have members and fire often are inspected all the same, in seconds.
ROUND, LISTED, KNOWN = 30.0, 300.0, 600.0

#: The settings of how many jobs are read at a time.
FEW = 50

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Inspect(Effect):
    """Look around."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of one job at one moment."""

    config: JobConfig
    alive: tuple[str, ...] = ()
    stood: gap.Gap | None = None
    cursors: Mapping[int, claim.Cursor] = field(default_factory=dict)
    disabled: frozenset[int] = frozenset()


def overdue(facts: Facts, fire: datetime) -> list[int]:
    """The shards that should have come to a fire by now, and have not. Java members keep no cursors, so of
    theirs nothing is known; what still runs is late by its own length, and is made good."""
    known = facts.stood
    if known is None or known.idle or known.java:
        return []
    found = []
    for item in range(facts.config.shards):
        cursor = facts.cursors.get(item, claim.Cursor())
        runs = cursor.run is not None and cursor.run.by in facts.alive
        counts = item not in facts.disabled and item not in known.disabled and fire > known.counts_from(item)
        if counts and not runs and (cursor.at is None or cursor.at < fire):
            found.append(item)
    return found


@dataclass(slots=True)
class _Known:
    """A job's settings as they were read, its next fire that was not looked at, and when it was last
    inspected."""

    config: JobConfig
    read: float
    next: datetime | None
    inspected: float

    def is_seen(self, fire: datetime) -> None:
        """This fire need not be looked at any more."""
        self.next = self._after(fire)

    def is_rare(self, fire: datetime) -> bool:
        """Whether the next fire is so far off that this one has to be looked at itself."""
        after = self._after(fire)
        return after is None or (after - fire).total_seconds() >= KNOWN

    def _after(self, fire: datetime) -> datetime | None:
        schedule = self.config.timetable()
        return schedule.next(fire) if schedule is not None else None


class Sentry(Turns):
    """This process's part in it. `tell` is told of what was missed, with the job's settings; `grace` is for
    how many seconds a fire may be late; `ours` are the settings of a job that this process has itself, and
    `members` those who are in it."""

    def __init__(
        self,
        registry: Registry,
        *,
        me: str,
        tell: Callable[[JobConfig, Alert], None],
        grace: float,
        ours: Callable[[str], JobConfig | None] = lambda name: None,
        members: Callable[[str], Sequence[str]] = lambda name: (),
        wake: Callable[[], None] = lambda: None,
        commit: Callable[..., Future[Outcome]] | None = None,
    ) -> None:
        self._node = registry.mirror(f"{registry.namespace}{NODE}")
        super().__init__("sentry", registry, (self._node,), wake=wake, commit=commit)
        self._me, self._tell, self._grace = me, tell, timedelta(seconds=grace)
        self._ours, self._members = ours, members
        self._jobs: dict[str, _Known] = {}
        self._next = self._list_at = 0.0

    # -- taking turns -------------------------------------------------------------------------------

    def _begin(self) -> None:
        self._jobs.clear()
        self._list_at = 0.0

    def _full(self, path: str) -> str:
        return self._node.root

    def _decide_now(self) -> Iterable[Step | Look]:
        boot = self._registry.clock.boot()
        if "" not in self._node:
            return [do(Create("", self._me, ephemeral=True))]
        if self._node.unreadable("") or self._node.owner("") != self._session:
            return []
        if boot < self._next:
            return [Look(self._next, "look around")]
        self._next = boot + ROUND
        return [do(then=Inspect()), Look(self._next, "look around again")]

    def _effect(self, effect: Effect, number: int) -> None:
        namespace, now = self._registry.namespace, self._registry.clock.boot()
        if now < self._list_at:
            self._learn_ours(self._jobs)
            self._look()
            return
        self._list_at = now + LISTED
        self._then(self._registry.names([namespace]), lambda names: self._learn(names[namespace] or ()))

    def _then(self, asked: "Future[T]", act: "Callable[[T], None]") -> None:
        """Go on with an answer; without one, at the next round."""

        def answered(future: "Future[T]") -> None:
            if future.exception() is not None:
                self._list_at = 0.0
            elif not self.left:
                act(future.result())

        asked.add_done_callback(self._heeding(answered))

    # -- looking around -----------------------------------------------------------------------------

    def _learn(self, names: Iterable[str]) -> None:
        """Know the settings of all jobs that there are."""
        now, there = self._registry.clock.boot(), set(names)
        for gone in set(self._jobs) - there:
            del self._jobs[gone]
        strange = there - self._learn_ours(there)
        self._learn_some(
            [
                name
                for name in sorted(strange)
                if name not in self._jobs or self._jobs[name].read + KNOWN < now
            ]
        )

    def _learn_ours(self, names: Iterable[str]) -> set[str]:
        """Know the settings of those of these jobs that this process has itself, which those are."""
        found = {name: config for name in names if (config := self._ours(name)) is not None}
        for name, config in found.items():
            self._take_down(name, config)
        return set(found)

    def _learn_some(self, names: list[str]) -> None:
        """Read the settings of these, a few at a time: others have something to do here too."""
        paths = {self._path(name, "config"): name for name in names[:FEW]}
        if not paths:
            self._look()
            return

        def learned(found: Mapping[str, Node | None]) -> None:
            for path, node in found.items():
                self._take_down(paths[path], _settings(node, paths[path]))
            self._learn_some(names[FEW:])

        self._then(self._registry.read(paths), learned)

    def _take_down(self, name: str, config: JobConfig | None) -> None:
        if config is None:
            self._jobs.pop(name, None)
            return
        known, boot = self._jobs.get(name), self._registry.clock.boot()
        if known is not None and known.config is config:
            known.read = boot
            return
        # What fell before anybody looked was somebody else's to tell.
        schedule, looked = config.timetable(), self._registry.now() - self._grace
        fire = schedule.next(looked) if schedule is not None else None
        if known is None or known.config != config:
            self._jobs[name] = _Known(config, boot, fire, boot)
        else:
            known.config, known.read = config, boot

    def _look(self) -> None:
        """See who is there for those of which a fire was due in the meantime."""
        until = self._registry.now() - self._grace
        fires: dict[str, datetime] = {}
        for name, known in self._jobs.items():
            if known.next is not None and known.next <= until:
                schedule = known.config.timetable()
                assert schedule is not None
                fires[name] = due.latest(schedule, until) or known.next
        ours = {name: fire for name, fire in fires.items() if self._ours(name) is not None}
        self._visit(ours, {name: self._members(name) for name in ours})
        there = {self._path(name, "instances"): name for name in fires if name not in ours}
        if there:
            asked = self._registry.names(there, fresh=True)
            self._then(asked, lambda found: self._visit(fires, {there[path]: found[path] for path in found}))

    def _visit(self, fires: Mapping[str, datetime], members: Mapping[str, Sequence[str] | None]) -> None:
        """Inspect the jobs that nobody has, and those that fire seldom. Others have members who look, and
        what these miss they miss again: so they are inspected now and then."""
        now = self._registry.clock.boot()
        for name, there in members.items():
            known, alive = self._jobs.get(name), tuple(there or ())
            if known is None:
                continue
            if not alive or now >= known.inspected + KNOWN or known.is_rare(fires[name]):
                self._inspect(name, known, fires[name], alive)
            else:
                known.is_seen(fires[name])

    def _inspect(self, name: str, known: _Known, fire: datetime, alive: tuple[str, ...]) -> None:
        config, own = known.config, f"{self._registry.namespace}~shardwright/{name}"
        cursors = {f"{own}/cursor/{item}": item for item in range(config.shards)}
        off = {self._path(name, f"sharding/{item}/disabled"): item for item in range(config.shards)}
        noted, root = f"{own}/watched/gap", self._path(name)

        def found(nodes: Mapping[str, Node | None]) -> None:
            job = nodes[root]
            made = job.made if job is not None else 0
            told = {item: claim.read(node.data) for path, item in cursors.items() if (node := nodes[path])}
            facts = Facts(
                config,
                alive,
                gap.of(nodes[noted], made),
                {item: cursor for item, cursor in told.items() if cursor.made == made},
                frozenset(item for path, item in off.items() if nodes[path] is not None),
            )
            known.inspected = self._registry.clock.boot()
            known.is_seen(fire)
            self._judge(facts, fire)

        self._then(self._registry.read([*cursors, *off, noted, root], fresh=True), found)

    def _judge(self, facts: Facts, fire: datetime) -> None:
        missed = overdue(facts, fire)
        if not missed:
            return
        kind = Kind.MISSED if facts.alive else Kind.NOBODY_ALIVE
        shards = f"shard {', '.join(map(str, missed[:10]))}{' …' if len(missed) > 10 else ''}"
        why = "" if facts.alive else "; nobody who has the job is alive"
        now = self._registry.now()
        what = f"{shards}: due {fire:%Y-%m-%d %H:%M:%S}, not started by {now:%H:%M:%S}{why}"
        self._tell(facts.config, Alert(kind, facts.config.name, what, fire=fire))

    def _path(self, name: str, *path: str) -> str:
        return "/".join((self._registry.namespace, name, *path))


def _settings(node: Node | None, name: str) -> JobConfig | None:
    """A job's settings; None where there are none that make sense, which its own members say."""
    try:
        return elasticjob.read_config(node.data, job=name) if node is not None else None
    except ConfigError:
        return None
