"""Ending: a run is over. Its outcome, its mark, what was taken over, and the shard itself if it is to be
somebody else's: all in one transaction, guarded by the cursor.

A run that we cut short, because we may have been given up or are leaving, has not ended the fire: where the
job wants that, it is put up for somebody else.
"""

from collections.abc import Iterator

from . import claim, due, failover, rotation, sharding
from .step import Delete, Forget, Put, Step, Write, do
from .view import View

#: The outcome of a run that we stopped before it was through.
CUT_SHORT = "cut short"


def decide(view: View) -> Iterator[Step]:
    over = {item: run for item, run in view.local.runs.items() if run.outcome is not None}
    if not over:
        return
    view.cursors.need(over)
    writes: list[Write] = []
    for item, run in over.items():
        if not claim.still_ours(view, item):
            continue
        if run.outcome == CUT_SHORT and failover.wanted(view):
            writes += failover.put_back(view, item)
        else:
            writes += claim.end(view, item, run.outcome or "", due.after_run(view, item))
            writes += failover.finished(view, item)
        writes += hand_over(view, item)
    yield do(*writes, then=Forget(tuple(over)))


def hand_over(view: View, item: int) -> Iterator[Write]:
    """Give the shard to whoever the leader left word for, or whose turn it is."""
    word, owner = sharding.next_node(item), sharding.owner_node(item)
    if owner not in view.tree or view.tree.get(owner) != view.me:
        return
    if word in view.tree:
        yield Put(owner, view.tree.get(word) or "", view.tree.version(owner))
        yield Delete(word, view.tree.version(word))
    yield from rotation.pass_on(view)
