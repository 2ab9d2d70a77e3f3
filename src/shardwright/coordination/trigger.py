"""Trigger: fire now, because somebody asked.

Its nodes are those of `request`. Requests merge. After the last one at least one run of each shard starts,
also when it came in the midst of a run: a shard that is busy runs when it is free, the others do not wait
for it, and the node goes with the last claim, not before. (Where the last shard that owed a run has meanwhile
moved away there is no claim to go with; a request that is made again in that very moment goes with the old
one.) The request's identity is the number of the commit that made its node; each shard's cursor knows which
it has run for.
"""

from collections.abc import Iterator
from functools import partial

from . import claim, failover, group, misfire, overlap, request, sharding
from .step import Delete, Say, Step, Write, do
from .view import Source, View

node = request.node
owed_node = request.owed_node


def asked(view: View) -> bool:
    return node(view.me) in view.tree


def owed(view: View, item: int) -> int:
    """The last request that a shard of ours has not run for; 0 where it has, or there was none."""
    return request.owed(view, item, view.me)


def _proof(view: View, item: int) -> Iterator[Write]:
    yield from misfire.proof(view, item)
    if owed_node(item) in view.tree:
        yield Delete(owed_node(item))


def ready(view: View, ours: list[int]) -> list[int]:
    """Of these shards of ours, those that were asked for and may begin."""
    return [item for item in ours if owed(view, item) and _may_begin(view, item)]


def _may_begin(view: View, item: int) -> bool:
    free = not claim.busy(view, item) and not failover.owns(view, item)
    return free or overlap.beside(view, item)


def _fire(view: View, item: int, number: int) -> claim.Fire:
    """What is claimed for a request."""
    parameter = request.parameter(view, item, view.me)
    return claim.Fire(item, f"#{number}", Source.TRIGGER, asked=number, parameter=parameter)


def decide(view: View, ours: list[int]) -> Iterator[Step]:
    """Run each of these shards of ours as soon as it is free; the request goes with the claim of the last."""
    if not ours and not sharding.shared_out(view):
        return  # what is ours is not said yet
    owing = {item: number for item in ours if (number := owed(view, item))}
    idle = ready(view, ours)
    free = list(group.places(view, idle))
    yield from group.stand_in_line(view, idle)
    done = [Delete(node(view.me))] if asked(view) and len(free) == len(owing) else []
    if free:
        fires = [_fire(view, item, owing[item]) for item in free]
        yield from claim.start(view, fires, partial(_proof, view), last=done)
    elif done and not ours:
        yield do(*done, then=Say("asked to fire, and no shard of the job is ours to run"))
    elif done:
        yield do(*done)
