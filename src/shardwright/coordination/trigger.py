"""Trigger: fire now, because somebody asked.

    trigger/<id>    persistent    a request to this instance; ElasticJob's console deletes and re-makes
                                  them all

Requests merge. After the last one at least one run starts, also when it came in the midst of a run: the
node goes with the claim, and not before. The request's identity is the number of the commit that made its
node.
"""

from collections.abc import Iterator

from . import claim, misfire
from .step import Delete, Say, Step, do
from .view import Source, View


def node(who: str) -> str:
    return f"trigger/{who}"


def asked(view: View) -> bool:
    return node(view.me) in view.tree


def decide(view: View, ours: list[int]) -> Iterator[Step]:
    """Run these shards of ours, once none of them is running any more."""
    if not asked(view):
        return
    request = node(view.me)
    if not ours:
        yield do(Delete(request), then=Say("asked to fire, and no shard of the job is ours to run"))
        return
    if any(claim.busy(view, item) for item in ours):
        return
    number = f"#{view.tree.node(request).made}"
    fires = [claim.Fire(item, number, Source.TRIGGER) for item in ours]
    yield claim.start(view, fires, Delete(request), *claim.owned(view, ours), *misfire.made_good(view, ours))
