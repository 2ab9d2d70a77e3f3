"""Misfire: a fire that finds its shard still running is made good right after that run; any number of them
collapses to one.

    sharding/<i>/misfire    persistent    for Java members: a fire of this shard was missed

Nothing needs to be remembered of a run among Python members: a cursor that is behind the calendar says it
all. The node is written while Java members are in the job, since one of them may own the shard next, and
where a fire waits for a place in its group, since who owns the shard then may not have been there; it is
honoured when found. A fire that falls into the run of a Java member is the node's alone from then on: that
member makes it good, moves no cursor, and would be asked to again as often as it did.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from itertools import chain

from . import claim, due, execution, instance, overlap, sharding
from .step import Create, Delete, Look, Require, Step, Write, do, portions
from .view import Source, View


def node(item: int) -> str:
    return f"sharding/{item}/misfire"


def owed(view: View, item: int) -> claim.Fire:
    """What is claimed for a fire of which only this is known: the number of the commit that noted it."""
    return claim.Fire(item, f"#{view.tree.node(node(item)).made}", Source.MISFIRE)


def left_by_java(view: View, items: Iterable[int]) -> list[int]:
    """Of these shards, those of which a missed fire is noted, and which no Java member is about to run for
    it."""
    if not overlap.made_good(view):
        return []
    return [item for item in items if node(item) in view.tree and view.boot >= _left_at(view, item)]


def wait_for_java(view: View, items: Iterable[int]) -> Iterator[Look]:
    """Who has just ended a run may be about to make good what was noted meanwhile."""
    for item in items:
        if node(item) in view.tree and view.boot < _left_at(view, item):
            yield Look(_left_at(view, item), f"a Java member may run shard {item} once more")


def _left_at(view: View, item: int) -> float:
    ended = view.tree.since(execution.running_node(item))
    return ended + sharding.HEED if instance.java_members(view) else 0.0


def remember(view: View, fires: Mapping[int, datetime]) -> Iterator[Step]:
    """Note that these fires of shards of ours were missed, for a Java member that runs the shard, or will own
    it."""
    if not instance.java_members(view):
        return
    running = execution.runners(view, fires)
    javas = {item: fire for item, fire in fires.items() if item in running and _is_java(running[item])}
    yield from _hand_over(view, javas)
    yield from owe(view, [item for item in fires if item not in javas])


def _is_java(who: str) -> bool:
    return not instance.is_python(who)


def _hand_over(view: View, fires: Mapping[int, datetime]) -> Iterator[Step]:
    """Have whoever finds the note make these good, once."""
    if not overlap.made_good(view):
        return
    writes = {item: list(_handing_over(view, item, fire)) for item, fire in fires.items()}
    for part in portions(view, writes):
        yield do(Require(instance.alive_node(view.me)), *chain.from_iterable(part.values()))


def _handing_over(view: View, item: int, fire: datetime) -> Iterator[Write]:
    now = claim.cursor(view, item)
    yield sharding.owned(view, item)
    yield Require(node(item)) if node(item) in view.tree else Create(node(item))
    yield claim.put(view, item, replace(now, at=fire), *due.had_by_java(view, now.at, fire))


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
