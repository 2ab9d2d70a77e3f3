"""Trigger: fire now, because somebody asked.

    trigger/<id>    persistent    a request to this instance; ElasticJob's console deletes and re-makes
                                  them all
    ~owed/<i>       persistent    the request that a shard had not run for when it was handed on

Requests merge. After the last one at least one run of each shard starts, also when it came in the midst
of a run: a shard that is busy runs when it is free, the others do not wait for it, and the node goes with
the last claim, not before. (Where the last shard that owed a run has meanwhile moved away there is no
claim to go with; a request that is made again in that very moment goes with the old one.) The request's
identity is the number of the commit that made its node; each shard's cursor knows which it has run for.
"""

from collections.abc import Iterator
from functools import partial

from . import claim, failover, misfire, sharding
from .step import Create, Delete, Put, Say, Step, Write, do
from .view import Source, View

OWED = "~owed"
_DIGITS = 25


def node(who: str) -> str:
    return f"trigger/{who}"


def asked(view: View) -> bool:
    return node(view.me) in view.tree


def owed_node(item: int) -> str:
    return f"{OWED}/{item}"


def number(view: View) -> int:
    """The request to us; 0 where there is none."""
    return view.tree.node(node(view.me)).made if asked(view) else 0


def owed(view: View, item: int) -> int:
    """The last request that a shard has not run for; 0 where it has, or there was none."""
    text = view.tree.get(owed_node(item)) or "0"
    left = int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else 0
    request = max(number(view), left)
    return request if request and claim.cursor(view, item).asked < request else 0


def pass_on(view: View, item: int) -> Iterator[Write]:
    """With a shard that is handed on goes the run it still owes: who gets it may have answered its own
    request already."""
    request = owed(view, item)
    if request:
        path = owed_node(item)
        yield Put(path, str(request)) if path in view.tree else Create(path, str(request))


def _proof(view: View, item: int) -> Iterator[Write]:
    yield from misfire.proof(view, item)
    if owed_node(item) in view.tree:
        yield Delete(owed_node(item))


def decide(view: View, ours: list[int]) -> Iterator[Step]:
    """Run each of these shards of ours as soon as it is free; the request goes with the claim of the last."""
    if not ours and not sharding.shared_out(view):
        return  # what is ours is not said yet
    owing = {item: request for item in ours if (request := owed(view, item))}
    free = [item for item in owing if not claim.busy(view, item) and not failover.owns(view, item)]
    done = [Delete(node(view.me))] if asked(view) and len(free) == len(owing) else []
    if free:
        fires = [claim.Fire(item, f"#{owing[item]}", Source.TRIGGER, asked=owing[item]) for item in free]
        yield from claim.start(view, fires, partial(_proof, view), last=done)
    elif done and not ours:
        yield do(*done, then=Say("asked to fire, and no shard of the job is ours to run"))
    elif done:
        yield do(*done)
