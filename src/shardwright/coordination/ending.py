"""Ending: a run is over. Its outcome, its mark, what was taken over, and the shard itself if it is to be
somebody else's: all in one transaction, guarded by the cursor.

A run that we cut short, because we may have been given up or are leaving, has not ended the fire: where the
job wants that, it is put up for somebody else.
"""

from collections.abc import Iterator
from itertools import chain

from ..outcomes import CUT_SHORT
from . import claim, due, failover, instance, request, rotation, sharding
from .step import Delete, Forget, Put, Step, Write, do, portions
from .view import View


def decide(view: View) -> Iterator[Step]:
    over = {item: run for item, run in view.local.runs.items() if run.outcome is not None}
    if not over:
        return
    view.cursors.need(over)
    for part in portions(view, {item: list(_end(view, item)) for item in over}):
        yield do(*chain.from_iterable(part.values()), then=Forget(tuple(part)))


def _end(view: View, item: int) -> Iterator[Write]:
    """Nothing, where somebody has taken the shard over: what was done under the old claim is history."""
    if not claim.still_ours(view, item):
        return
    outcome = view.local.runs[item].outcome or ""
    if outcome == CUT_SHORT and failover.wanted(view):
        yield from failover.put_back(view, item)
    else:
        at = due.after_run(view, item)
        yield from claim.end(view, item, outcome, at, due.fallen_into(view, item, at))
        yield from failover.finished(view, item)
    yield from hand_over(view, item)


def hand_over(view: View, item: int) -> Iterator[Write]:
    """Give the shard to whoever the leader left word for, or whose turn it is. Who is not in the job any
    more, or was in one of that name that was removed, is given nothing, and the word is taken back."""
    word, owner = sharding.next_node(item), sharding.owner_node(item)
    heir = None
    if owner in view.tree and view.tree.get(owner) == view.me and word in view.tree:
        told = view.tree.get(word) or ""
        heir = told if told and instance.node(told) in view.tree else None
        if heir is not None:
            yield Put(owner, heir, view.tree.version(owner))
        yield Delete(word, view.tree.version(word))
        if heir is not None:
            yield from request.heard(view, view.me)
    passed = list(rotation.pass_on(view, heir)) if item == 0 else []
    yield from passed
    if heir is not None or passed:
        yield from request.pass_on(view, item, view.me)
