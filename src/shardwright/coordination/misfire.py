"""Misfire: a fire that finds its shard still running is made good right after that run; any number of them
collapses to one.

    sharding/<i>/misfire    persistent    for Java members: a fire of this shard was missed

Nothing needs to be remembered of a run among Python members: a cursor that is behind the calendar says it
all. The node is written while Java members are in the job, since one of them may own the shard next, and
where a fire waits for a place in its group, since who owns the shard then may not have been there; it is
honoured when found.
"""

from collections.abc import Iterable, Iterator
from itertools import chain

from . import claim, instance, overlap, sharding
from .step import Create, Delete, Step, Write, do, portions
from .view import Source, View


def node(item: int) -> str:
    return f"sharding/{item}/misfire"


def owed(view: View, item: int) -> claim.Fire:
    """What is claimed for a fire of which only this is known: the number of the commit that noted it."""
    return claim.Fire(item, f"#{view.tree.node(node(item)).made}", Source.MISFIRE)


def left_by_java(view: View, items: Iterable[int]) -> list[int]:
    """Of these shards, those of which a missed fire is noted."""
    return [item for item in items if node(item) in view.tree] if overlap.made_good(view) else []


def remember(view: View, items: Iterable[int]) -> Iterator[Step]:
    """Note that a fire of these was missed, for a Java owner to come."""
    if instance.java_members(view):
        yield from owe(view, items)


def owe(view: View, items: Iterable[int]) -> Iterator[Step]:
    """Note that a fire of these is owed, whoever will own them."""
    if not overlap.made_good(view):
        return
    new = {item: [Create(node(item))] for item in items if node(item) not in view.tree}
    for part in portions(view, new):
        yield do(*chain.from_iterable(part.values()))


def proof(view: View, item: int) -> Iterator[Write]:
    """What goes with the claim of a shard of ours: that it is, and that with this fire nothing is owed any
    more."""
    yield sharding.owned(view, item)
    if node(item) in view.tree:
        yield Delete(node(item))
