"""Coordination: what should happen next, decided from what is known now.

Nothing in this package reads a clock, touches the registry or starts a thread. Every module is one
concept: the nodes it keeps, the questions one can ask of them, and what it decides.
"""

from collections.abc import Iterator
from dataclasses import replace

from . import (
    barrier,
    ending,
    failover,
    firing,
    founding,
    gap,
    instance,
    leader,
    leaving,
    server,
    settings,
    sharding,
    tidying,
    unheard,
)
from .step import Create, Forbid, Look, Require, Step, Stop
from .view import View

#: In this order: tell what ended, be known, have a leader, have an assignment, rescue, call, find what
#: was claimed unheard, and fire.
CONCEPTS = (ending, server, instance, leader, gap, tidying, sharding, failover, barrier, unheard, firing)


def decide(view: View) -> Iterator[Step | Look]:
    """All that the job asks of this process at this moment."""
    for each in _decide(view):
        yield reviving_nothing(each) if isinstance(each, Step) else each


def reviving_nothing(step: Step) -> Step:
    """The step, relying on something of the job that is there. One that is being removed goes bit by bit in
    our eyes, and what is made below it, with all that this stands on, would bring it back."""
    theirs = [write for write in step.writes if write.path[:1] not in ("~", "+")]
    makes = any(isinstance(write, Create) for write in theirs)
    relies = any(not isinstance(write, Create | Forbid) or write.path == settings.ROOT for write in theirs)
    return replace(step, writes=(Require(settings.ROOT), *step.writes)) if makes and not relies else step


def _decide(view: View) -> Iterator[Step | Look]:
    """Before anything, that the job is there and its settings are agreed, and when nothing else is to be
    done, to leave if we are to."""
    if founding.possible(view):
        yield founding.begin(view)
        return
    yield from settings.decide(view)
    if not settings.agreed(view):
        return
    firing.recall(view)
    idle = True
    for concept in CONCEPTS:
        for each in concept.decide(view):
            yield each
            if isinstance(each, Step) and isinstance(each.then, Stop):
                return
            idle = idle and isinstance(each, Look)
    if idle:
        yield from leaving.decide(view)
