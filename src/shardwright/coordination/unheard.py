"""Unheard: shards that are claimed for us and do not run here. The answer to a claim was lost, or came
when we may have been given up. The cursor knows: a claim of ours is run now, however late; a mark without
one goes."""

from collections.abc import Iterator

from . import claim, execution, instance, sharding
from .step import Claim, Delete, Require, Start, Step, Sure, do
from .view import Source, View


def decide(view: View) -> Iterator[Step]:
    if not view.local.stopped:
        yield from take_up(view)
    yield from restore(view)
    yield from claim.save(view)


def take_up(view: View) -> Iterator[Step]:
    """Run what is ours by its cursor. Should we have an old idea of that, the step is refused, and we read it
    again."""
    marked = {item for item in execution.marked(view) if _is_mine(view, item)}
    wondered = {*marked, *sharding.mine(view), *view.local.unsure}
    candidates = [item for item in sorted(wondered) if item not in view.local.runs]
    view.cursors.need(candidates)
    for item in candidates:
        run = claim.cursor(view, item).run
        if run is not None and run.by == view.me:
            guards = (Require(instance.alive_node(view.me)), claim.unmoved(view, item))
            yield do(*guards, then=Start((again(view, item, run),)))
        elif item in marked:
            yield do(claim.unmoved(view, item), Delete(execution.running_node(item)))
        elif item in view.local.unsure:
            # What we have sent may land yet, and nobody would see it: with the cursor moved it cannot.
            yield do(claim.put(view, item, claim.cursor(view, item)), then=Sure(item))


def _is_mine(view: View, item: int) -> bool:
    return view.tree.get(execution.running_node(item)) == view.me


def again(view: View, item: int, run: claim.Tenure) -> Claim:
    """The claim that a cursor tells of."""
    return Claim(
        item, run.fire, Source(run.source), run.attempt, run.tries, claim.cursor(view, item).checkpoint
    )


def restore(view: View) -> Iterator[Step]:
    """Mark again what runs here, where somebody took the mark away, or nobody was to make one before."""
    for item, run in view.local.runs.items():
        unmarked = run.outcome is None and execution.running_node(item) not in view.tree
        if unmarked and view.config.monitor_execution:
            view.cursors.need([item])
            if claim.still_ours(view, item):
                guards = (Require(instance.alive_node(view.me)), claim.unmoved(view, item))
                yield do(*guards, *execution.begin(view, [item]))
