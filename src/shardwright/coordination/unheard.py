"""Unheard: shards that are claimed for us and do not run here. The answer to a claim was lost, or came
when we may have been given up, or when the shard may have been somebody else's. The cursor knows: a claim
of ours is run now, however late, unless the shard was a Java member's before; a mark without one goes."""

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
        if run is not None and run.by == view.me and given_to_java_before(view, item, run):
            why = f"it was {sharding.owners(view)[item]}'s already"
            mark = [Delete(execution.running_node(item))] if item in marked else []
            yield do(*claim.give_up(view, item, why), *mark, then=Sure(item))
        elif run is not None and run.by == view.me:
            guards = (Require(instance.alive_node(view.me)), claim.unmoved(view, item))
            yield do(*guards, then=Start((again(view, item, run),)))
        elif item in marked:
            yield do(claim.unmoved(view, item), Delete(execution.running_node(item)))
        elif item in view.local.unsure:
            # What we have sent may land yet, and nobody would see it: with the cursor moved it cannot.
            yield do(claim.put(view, item, claim.cursor(view, item)), then=Sure(item))


def given_to_java_before(view: View, item: int, run: claim.Tenure) -> bool:
    """Whether the shard was a Java member's when we claimed it as ours: that one has run the fire, or will. A
    Java leader makes owners' nodes anew, so that their versions do not guard a claim made on an old view."""
    owner, cursor = sharding.owners(view).get(item), view.cursors.node(item)
    if run.source == Source.FAILOVER.value or owner is None or instance.is_python(owner) or cursor is None:
        return False
    return view.tree.node(sharding.owner_node(item)).made < cursor.written


def _is_mine(view: View, item: int) -> bool:
    """We know a mark of ours without reading it, unless it is one whose making we have not heard of."""
    mark = execution.running_node(item)
    return (view.tree.get if item in view.local.unsure else view.tree.known)(mark) == view.me


def again(view: View, item: int, run: claim.Tenure) -> Claim:
    """The claim that a cursor tells of."""
    checkpoint = claim.cursor(view, item).checkpoint
    return Claim(item, run.fire, Source(run.source), run.attempt, run.tries, checkpoint, run.parameter)


def restore(view: View) -> Iterator[Step]:
    """Mark again what runs here, where somebody took the mark away, or nobody was to make one before."""
    for item, run in view.local.runs.items():
        unmarked = run.outcome is None and execution.running_node(item) not in view.tree
        if unmarked and view.config.monitor_execution:
            view.cursors.need([item])
            tenure = claim.cursor(view, item).run
            if claim.still_ours(view, item) and tenure is not None:
                taken_over = tenure.source == Source.FAILOVER.value
                guards = (Require(instance.alive_node(view.me)), claim.unmoved(view, item))
                yield do(*guards, *execution.begin(view, [item], taken_over=taken_over))
