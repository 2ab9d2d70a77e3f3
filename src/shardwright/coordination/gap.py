"""Gaps: from when on the fires of a shard count.

    ~gap    persistent    how things stood when somebody last looked (the schedule, the number of shards,
                          which of them were disabled, whether anybody might work, whether Java members
                          were there), and since when they do; and in which making of the job

A cursor behind the calendar means a fire that is owed, unless the shard had no such fire: the schedule was
another one, the shard was disabled or not there, or operators let nobody work. That outlives processes, so it
is kept where they are. One member writes it, at each such change; until it has, nobody starts what it is
about.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from ..registry import Node
from . import execution, instance, leader, server
from .step import Create, Look, Put, Step, do
from .view import LONG_AGO, View, birth, once

NODE = "~gap"

#: Shards from one to another, and since when they count.
Birth = tuple[int, int, datetime]


@dataclass(frozen=True, slots=True)
class Gap:
    """How things stand, and since when."""

    schedule: str = ""
    shards: int = 0
    disabled: frozenset[int] = frozenset()
    idle: bool = False
    """Operators let nobody work."""
    java: bool = False
    """Java members are there: they keep no cursors."""
    since: datetime = LONG_AGO
    """Since when this schedule holds and somebody may work."""
    alone: datetime = LONG_AGO
    """Since when no Java member is there."""
    births: tuple[Birth, ...] = ()
    born: datetime = LONG_AGO
    """Since when there is an account of the job's fires."""
    made: int = field(default=0, compare=False)
    """The number of the commit that made the job. 0: the same that wrote this, whose number was not known."""

    def text(self) -> str:
        births = [[first, last, at.isoformat()] for first, last, at in self.births]
        told = {
            "schedule": self.schedule,
            "shards": self.shards,
            "disabled": sorted(self.disabled),
            "idle": self.idle,
            "java": self.java,
            "since": self.since.isoformat(),
            "alone": self.alone.isoformat(),
            "births": births,
            "born": self.born.isoformat(),
            "made": self.made,
        }
        return json.dumps(told)

    def counts_from(self, item: int) -> datetime:
        """From when on a shard's fires count."""
        return _newborn(self).get(item, self.since)


@lru_cache(maxsize=64)
def _newborn(gap: Gap) -> dict[int, datetime]:
    """The shards that count from a time of their own."""
    found: dict[int, datetime] = {}
    for first, last, at in gap.births:
        for item in range(first, min(last, gap.shards) + 1):
            found[item] = max(at, found.get(item, at))
    return found


@lru_cache(maxsize=20_000)  # one for each job, as a rule
def read(text: str) -> Gap | None:
    """What the node says; None if that makes no sense, and it is written anew."""
    try:
        told = json.loads(text)
        return Gap(
            str(told["schedule"]),
            int(told["shards"]),
            frozenset(int(item) for item in told["disabled"]),
            bool(told["idle"]),
            bool(told["java"]),
            _moment(told["since"]),
            _moment(told["alone"]),
            tuple((int(first), int(last), _moment(at)) for first, last, at in told["births"]),
            _moment(told.get("born", told["since"])),
            int(told.get("made", 0)),
        )
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def of(node: Node | None, made: int) -> Gap | None:
    """What a node says of this making of the job; None where it says nothing of it."""
    found = read(node.data) if node is not None else None
    if node is None or found is None or (found.made or node.written) != made:
        return None
    return found


@once
def known(view: View) -> Gap | None:
    return of(view.tree.node(NODE) if NODE in view.tree else None, birth(view))


def timetable(view: View) -> str:
    """The schedule in a word: another one means other fires."""
    config = view.config
    return " ".join(
        str(part) for part in (config.cron or config.schedule, config.time_zone, config.dst) if part
    )


def idle(view: View) -> bool:
    """Whether there are members, and operators let none of them work. That nobody is there is no order."""
    present = instance.live(view)
    return bool(present) and not server.workers(view)


def off(view: View) -> set[int]:
    """Shards that do not fire: those disabled, and those that stay with a server that is."""
    found = set(execution.disabled(view))
    if view.config.static_sharding:
        view.tree.need(f"sharding/{item}/instance" for item in view.items)
        owners = {item: view.tree.get(f"sharding/{item}/instance") for item in view.items}
        live = set(view.tree.children(instance.ROOT)).difference(server.workers(view))
        found |= {item for item, owner in owners.items() if owner in live}
    return found


def gone(view: View) -> list[str]:
    """Java members that own something, and are not there any more."""
    view.tree.need(f"sharding/{item}/instance" for item in view.items)
    owners = {view.tree.get(f"sharding/{item}/instance") or "" for item in view.items}
    return sorted(
        who for who in owners if who and not instance.is_python(who) and instance.node(who) not in view.tree
    )


def blinking(view: View) -> list[str]:
    """Those of them that have gone just now: they may be back at once."""
    return [who for who in gone(view) if not instance.dead(view, who)]


def alone(view: View) -> datetime:
    """When the last Java member left, none being there now: some are waited for before that is known, and
    what fell meanwhile none of them ran."""
    ago = min((view.boot - view.tree.since(instance.node(who)) for who in gone(view)), default=0.0)
    return view.now - timedelta(seconds=max(0.0, ago))


def first(view: View) -> Gap:
    """How things stand in a job that is begun with this."""
    since = view.local.since
    return Gap(timetable(view), len(view.items), since=since, alone=since, born=since)


def now(view: View) -> Gap:
    """How things stand, told on from what was known."""
    before = known(view)
    java = bool(instance.java_members(view)) or (before is not None and before.java and bool(blinking(view)))
    here = Gap(timetable(view), len(view.items), frozenset(off(view)), idle(view), java, made=birth(view))
    if before is None:
        return replace(here, since=view.local.since, alone=view.local.since, born=view.local.since)
    anew = before.schedule != here.schedule or (before.idle and not here.idle)
    # What lies in the future was written before the registry's clock was set back.
    since = view.now if anew else min(before.since, view.now)
    left = alone(view) if before.java and not java else min(before.alone, view.now)
    births = tuple(_births(view, before, here, since))
    return replace(here, since=since, alone=left, births=births, born=min(before.born, view.now))


def _births(view: View, before: Gap, here: Gap, since: datetime) -> Iterator[Birth]:
    """Shards that count from a later time than the job: those new, and those enabled again."""
    enabled = sorted(item for item in before.disabled - here.disabled if item < here.shards)
    new = [(before.shards, here.shards - 1, view.now)] if here.shards > before.shards else []
    newborn = [*new, *((first, last, view.now) for first, last in _ranges(enabled))]
    for first, last, then in before.births:
        at = min(then, view.now)
        if at > since and first < here.shards and not any(f <= first and last <= t for f, t, _ in newborn):
            yield first, last, at
    yield from newborn


def _ranges(items: list[int]) -> Iterator[tuple[int, int]]:
    """Neighbours together."""
    start = 0
    for end in range(1, len(items) + 1):
        if end == len(items) or items[end] != items[end - 1] + 1:
            yield items[start], items[end - 1]
            start = end


def settled(view: View) -> bool:
    """Whether what is written is how things stand, as far as the starting of anything goes."""
    found = known(view)
    return (
        found is not None
        and found.schedule == timetable(view)
        and found.shards == len(view.items)
        and (found.java or not instance.java_members(view))
        and (instance.java_members(view) or not found.java or view.config.catch_up == "skip")
        and not found.idle
    )


def open_for(view: View, items: Iterable[int]) -> list[int]:
    """Of these shards, those whose fires count."""
    found = known(view)
    return [item for item in items if item not in found.disabled] if found is not None else []


def warden(view: View) -> bool:
    """Whether it is ours to write: the leader's, or the first Python member's where that is none."""
    if leader.current(view) is not None and not leader.is_java(view):
        return leader.is_me(view)
    ours = [who for who in instance.live(view) if instance.is_python(who)]
    return instance.registered(view) and ours[:1] == [view.me]


def decide(view: View) -> Iterator[Step | Look]:
    if view.local.stopped or view.local.draining or not warden(view):
        return
    for who in blinking(view):
        yield from instance.when_dead(view, who)
    here = now(view)
    if NODE not in view.tree:
        yield do(Create(NODE, here.text()))
    elif here != known(view):
        yield do(Put(NODE, here.text(), view.tree.version(NODE)))
