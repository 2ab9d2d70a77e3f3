"""Execution: which shards run now, and which may not.

    sharding/<i>/running     persistent where failover is on,    the runner's id; none where the job does not
                             so that it outlives its runner,     monitor its execution
                             else ephemeral; so is that of a
                             shard which was taken over
    sharding/<i>/disabled    persistent                          an operator's: this shard is left out

A mark whose runner is dead is an orphan: who looks after the shard puts it up for failover. So is one that a
Java process has left behind, which lost its session over a shard that it had taken over, and came back. Who
takes a shard over says so in a node that outlives it (`failovering`), and its mark need not: a Java member
that takes over in turn leaves the mark of the dead where it is, and then waits for it to go.
"""

from collections.abc import Iterable, Iterator

from . import instance
from .step import Create, Delete, Write
from .view import View, once


def running_node(item: int) -> str:
    return f"sharding/{item}/running"


def disabled_node(item: int) -> str:
    return f"sharding/{item}/disabled"


@once
def disabled(view: View) -> set[int]:
    return {item for item in view.tree.items_with("disabled") if item in view.items}


@once
def marked(view: View) -> list[int]:
    """The shards that are marked as running, by the living or the dead."""
    return [item for item in view.tree.items_with("running") if item in view.items]


def runner(view: View, item: int) -> str | None:
    """Who runs a shard now; None where nobody does, or nobody any more."""
    node = running_node(item)
    if node not in view.tree:
        return None
    who = view.tree.get(node) or ""
    return None if instance.dead(view, who) or _left_behind(view, item, who) else who


def _left_behind(view: View, item: int, who: str) -> bool:
    """Whether a Java process marked the shard before it lost its session, and has no title to it any more.
    When it comes back it takes away the marks of the shards that it owns, and of no others; what it had taken
    over (`failover`) went with its session. That we did not see it gone changes nothing: it was."""
    here = instance.node(who)
    if instance.is_python(who) or here not in view.tree:
        return False
    if view.tree.node(here).made <= view.tree.node(running_node(item)).made:
        return False
    # As sharding.owner_node and failover.taken_node have them, which both stand on this file.
    titles = [f"sharding/{item}/instance", f"sharding/{item}/failover"]
    view.tree.need(titles)
    return who not in (view.tree.get(title) for title in titles)


def runners(view: View, items: Iterable[int]) -> dict[int, str]:
    """Of these shards, those that somebody alive runs now, each with who does."""
    some = list(items)
    view.tree.need(map(running_node, some))
    return {item: who for item in some if (who := runner(view, item)) is not None}


def orphans(view: View, items: Iterable[int]) -> list[int]:
    """Of these shards, those whose runner died over them."""
    candidates = [item for item in items if running_node(item) in view.tree]
    alive = runners(view, candidates)
    return [item for item in candidates if item not in alive]


def begin(view: View, items: Iterable[int], *, taken_over: bool = False) -> Iterator[Write]:
    """Mark shards as running; refused where somebody else's mark stands."""
    if view.config.monitor_execution:
        for item in items:
            yield Create(running_node(item), view.me, ephemeral=taken_over or not view.config.failover)


def end(view: View, items: Iterable[int]) -> Iterator[Write]:
    for item in items:
        if running_node(item) in view.tree:
            yield Delete(running_node(item))
