"""Firing: the story of one fire, told in order.

Each look answers the first question that is still open. Where the answer is "not yet" there is no step:
the next change in the registry, or the next moment asked for, makes us look again.
"""

from collections.abc import Collection, Generator, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain

from . import (
    again,
    claim,
    due,
    execution,
    failover,
    gap,
    group,
    misfire,
    overlap,
    rotation,
    server,
    sharding,
    timekeeping,
    trigger,
)
from .step import Look, Step, Write, do, portions
from .view import View, once


@once
def open_to_fires(view: View) -> bool:
    """Only those who may work start anything, and nobody while a Java leader asks for a quiet moment."""
    here = not view.local.draining and not view.local.stopped
    return here and server.may_work(view) and sharding.settled(view)


@once
def ours(view: View) -> list[int]:
    """The shards assigned to us, less what an operator disabled and what somebody took over."""
    off = execution.disabled(view)
    assigned = rotation.turn(view, sharding.mine(view))
    return [item for item in assigned if item not in off and not failover.taken(view, item)]


def recall(view: View) -> None:
    """Read how far our shards have come, before anything is decided: a look that finds in the middle that it
    must read was for nothing."""
    if open_to_fires(view):
        view.cursors.need(ours(view))


def _proof(view: View, past: Collection[int], item: int) -> Iterator[Write]:
    """What goes with the claim of a shard of ours. A fire of the past pays for nothing that is owed."""
    if item in past:
        yield sharding.owned(view, item)
        yield from again.granted(view, item)
    else:
        yield from misfire.proof(view, item)


def _is_wanted(view: View, item: int) -> bool:
    """Whether somebody waits for the shard, whatever the calendar says."""
    return trigger.asked(view) or trigger.owed_node(item) in view.tree or again.node(item) in view.tree


def close(view: View, items: list[int]) -> Iterator[Step]:
    """Fires that do not run are told of with the next that does. Where the schedule has none any more, as
    that of one fire that fell while nobody was there, they are told of by themselves. The cursor stays where
    it is: a clock may have been ahead for a moment, and the fire be still to come."""
    last = due.last_of_all(view)
    if last is None:
        return
    missed = {item: due.missed_for_good(view, item, last) for item in items}
    writes = {
        item: [
            sharding.owned(view, item),
            claim.put(view, item, replace(claim.cursor(view, item), closed=last), *told),
        ]
        for item, told in missed.items()
        if told
    }
    for part in portions(view, writes):
        yield do(*chain.from_iterable(part.values()))


def decide(view: View) -> Iterator[Step | Look]:
    wanting = yield from fire(view)
    if wanting is not None:
        yield from group.leave_line(view, wanting.union(failover.rescuing(view)))


def fire(view: View) -> Generator[Step | Look, None, set[int] | None]:
    """Begin what is to begin; which shards that is, whether there is room for them or not, and None where it
    cannot be told yet."""
    if not open_to_fires(view):
        return set()
    if not timekeeping.trusted(view):
        yield from timekeeping.complain(view)
        return set()

    # Who was asked to fire does so; what has just been claimed for that has no fire of its own to come to.
    mine = ours(view)
    view.cursors.need(mine)
    asked = list(trigger.decide(view, mine))
    yield from asked
    if any(step.then is not None for step in asked) or not gap.settled(view):
        return None

    # What still runs is made good when it has ended; what the dead left unfinished is failover's.
    fires = due.fires(view, gap.open_for(view, mine))
    fires = {item: fire for item, fire in fires.items() if rotation.came_after_our_turn(view, fire)}
    beside = [item for item in mine if overlap.beside(view, item)]
    free = [item for item in mine if not claim.busy(view, item)]
    busy = sorted(set(mine).difference(free, beside))
    come = due.latest(view.schedule, view.now) if view.schedule is not None else None
    yield from overlap.supersede(view, busy, fires, come)
    yield from misfire.remember(view, {item: fires[item] for item in busy if item in fires})
    yield from claim.watch_unmarked(view, [item for item in busy if item in fires or _is_wanted(view, item)])
    idle = [item for item in free if not failover.owns(view, item)]
    free = idle + beside

    noted = set(misfire.left_by_java(view, free))
    yield from misfire.wait_for_java(view, free)
    open_to_past = [item for item in idle if item in fires or item not in noted]
    past = again.wished(
        view, [item for item in open_to_past if again.has_its_turn(view, item, fires.get(item))]
    )
    begin = [due.claimed(view, item, fires[item]) for item in free if item in fires and item not in past]
    begin += [misfire.owed(view, item) for item in free if item in noted and item not in fires]
    begin += past.values()
    items = [each.item for each in begin]
    yield from misfire.owe(view, [item for item in group.left_out(view, items) if item in fires])
    yield from group.stand_in_line(view, items)
    yield from claim.start(view, begin, partial(_proof, view, past))
    yield from close(view, [item for item in idle if item not in items])
    yield from due.next_look(view)
    return {*items, *trigger.ready(view, mine)}
