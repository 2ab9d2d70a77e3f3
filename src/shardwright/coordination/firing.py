"""Firing: the story of one fire, told in order.

Each look answers the first question that is still open. Where the answer is "not yet" there is no step:
the next change in the registry, or the next moment asked for, makes us look again.
"""

from collections.abc import Iterator
from functools import partial

from . import (
    claim,
    due,
    execution,
    failover,
    gap,
    misfire,
    rotation,
    server,
    sharding,
    timekeeping,
    trigger,
)
from .step import Look, Step
from .view import View


def decide(view: View) -> Iterator[Step | Look]:
    # Only those who may work start anything, and nobody while a Java leader asks for a quiet moment.
    if view.local.draining or view.local.stopped or not server.may_work(view) or not sharding.settled(view):
        return
    if not timekeeping.trusted(view):
        yield from timekeeping.complain(view)
        return

    # Ours are those assigned to us, less what an operator disabled and what somebody took over.
    off = execution.disabled(view)
    assigned = rotation.turn(view, sharding.mine(view))
    ours = [item for item in assigned if item not in off and not failover.taken(view, item)]
    view.cursors.need(ours)

    # Who was asked to fire does so; what has just been claimed for that has no fire of its own to come to.
    asked = list(trigger.decide(view, ours))
    yield from asked
    if any(step.then is not None for step in asked) or not gap.settled(view):
        return

    # What still runs is made good when it has ended; what the dead left unfinished is failover's.
    fires = due.fires(view, gap.open_for(view, ours))
    free = [item for item in ours if not claim.busy(view, item)]
    busy = sorted(set(ours).difference(free))
    yield from misfire.remember(view, [item for item in busy if item in fires])
    yield from claim.watch_unmarked(view, [item for item in busy if item in fires or trigger.asked(view)])
    free = [item for item in free if not failover.owns(view, item)]

    begin = [due.claimed(view, item, fires[item]) for item in free if item in fires]
    begin += [misfire.owed(view, item) for item in misfire.left_by_java(view, free) if item not in fires]
    yield from claim.start(view, begin, partial(misfire.proof, view))
    yield from due.next_look(view)
