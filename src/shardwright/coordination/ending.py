"""Ending: a run is over. Its outcome, its mark, what was taken over, and the shard itself if it is to be
somebody else's: all in one transaction, guarded by the cursor."""

from collections.abc import Iterator

from . import claim, due, failover, sharding
from .step import Delete, Forget, Put, Step, Write, do
from .view import View


def decide(view: View) -> Iterator[Step]:
    over = {item: run for item, run in view.local.runs.items() if run.outcome is not None}
    if not over:
        return
    view.cursors.need(over)
    writes: list[Write] = []
    for item, run in over.items():
        if claim.still_ours(view, item):
            writes += claim.end(view, item, run.outcome or "", due.after_run(view, item))
            writes += failover.finished(view, item)
            writes += hand_over(view, item)
    yield do(*writes, then=Forget(tuple(over)))


def hand_over(view: View, item: int) -> Iterator[Write]:
    """Give the shard to whoever the leader left word for."""
    word, owner = sharding.next_node(item), sharding.owner_node(item)
    if word in view.tree and owner in view.tree and view.tree.get(owner) == view.me:
        yield Put(owner, view.tree.get(word) or "", view.tree.version(owner))
        yield Delete(word, view.tree.version(word))
