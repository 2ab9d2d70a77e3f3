"""Trigger: fire now, because somebody asked.

    trigger/<id>    persistent    a request to this instance; ElasticJob's console deletes and re-makes
                                  them all

Requests merge. After the last one at least one run of each shard starts, also when it came in the midst of
a run: a shard that is busy runs when it is free, the others do not wait for it, and the node goes with the
last claim, not before. The request's identity is the number of the commit that made its node; each shard's
cursor knows which it has run for.
"""

from collections.abc import Iterator
from functools import partial

from . import claim, failover, misfire
from .step import Delete, Say, Step, do
from .view import Source, View


def node(who: str) -> str:
    return f"trigger/{who}"


def asked(view: View) -> bool:
    return node(view.me) in view.tree


def number(view: View) -> int:
    return view.tree.node(node(view.me)).made


def decide(view: View, ours: list[int]) -> Iterator[Step]:
    """Run each of these shards of ours as soon as it is free; the request goes with the claim of the last."""
    if not asked(view):
        return
    if not ours:
        yield do(Delete(node(view.me)), then=Say("asked to fire, and no shard of the job is ours to run"))
        return
    request = number(view)
    owing = [item for item in ours if claim.cursor(view, item).asked < request]
    free = [item for item in owing if not claim.busy(view, item) and not failover.owns(view, item)]
    done = [Delete(node(view.me))] if len(free) == len(owing) else []
    if free:
        fires = [claim.Fire(item, f"#{request}", Source.TRIGGER, asked=request) for item in free]
        yield from claim.start(view, fires, partial(misfire.proof, view), last=done)
    elif done:
        yield do(*done)
