"""Again: fires of the past that somebody wants run, once more or after all, one after the other.

    ~again/<i>    persistent    which fires the shard is to run, in this order, and as which try each

Each is claimed under the name it always had. What is due goes first, and where the runs of a shard leave no
time between them, the two take turns. The place in the schedule stays where it is, and the claim takes the
fire off the list: so it is run once, whoever owns the shard by then.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from . import claim, due, milestone, overlap
from .step import Delete, Put, Write
from .view import Source, View

ROOT = "~again"

#: A fire, and the how-manieth try it is.
Wish = tuple[str, int]


def node(item: int) -> str:
    return f"{ROOT}/{item}"


def text(wishes: Iterable[Wish]) -> str:
    return json.dumps([list(wish) for wish in wishes])


def read(told: str) -> list[Wish]:
    """The wishes in a node's text; what makes no sense asks for nothing."""
    try:
        wishes = [(str(fire), int(tries)) for fire, tries in json.loads(told or "[]")]
        for fire, _ in wishes:
            milestone.check(fire)
    except (ValueError, TypeError, RecursionError):
        return []
    return wishes


def has_its_turn(view: View, item: int, fire: datetime | None) -> bool:
    """Whether a fire of the past may be begun although this one is to be: it fell into a run, waits already,
    and the run was one of the calendar."""
    if fire is None:
        return True
    waits = overlap.policy(view) == "queue" and due.why(view, item, fire) is Source.MISFIRE
    return waits and not claim.cursor(view, item).past


def wished(view: View, items: Sequence[int]) -> dict[int, claim.Fire]:
    """Of these shards, those that are to run a fire of the past, each with the first."""
    asked = [item for item in items if node(item) in view.tree]
    view.tree.need(map(node, asked))
    lists = {item: read(view.tree.get(node(item)) or "") for item in asked}
    return {
        item: claim.Fire(item, wishes[0][0], Source.TRIGGER, tries=wishes[0][1], past=True)
        for item, wishes in lists.items()
        if wishes
    }


def granted(view: View, item: int) -> Iterator[Write]:
    """With the claim the fire is off the list."""
    left = read(view.tree.get(node(item)) or "")[1:]
    version = view.tree.version(node(item))
    yield Put(node(item), text(left), version) if left else Delete(node(item), version)
