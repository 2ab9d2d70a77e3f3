"""Again: fires of the past that somebody wants run, once more or after all, one after the other.

    ~again/<i>    persistent    which fires the shard is to run, in this order, and as which try each; and
                                of which making of the job

Each is claimed under the name it always had. What is due goes first, and where the runs of a shard leave no
time between them, the two take turns. The place in the schedule stays where it is, and the claim takes the
fire off the list: so it is run once, whoever owns the shard by then.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from . import claim, due, milestone, overlap
from .step import Delete, Put, Write
from .view import Source, View, birth

ROOT = "~again"

#: A fire, and the how-manieth try it is.
Wish = tuple[str, int]


def node(item: int) -> str:
    return f"{ROOT}/{item}"


def text(wishes: Iterable[Wish], made: int) -> str:
    return json.dumps({"made": made, "fires": [list(wish) for wish in wishes]})


def read(told: str, made: int) -> list[Wish]:
    """The wishes in a node's text; what makes no sense, or was wanted of another making of the job, asks for
    nothing."""
    try:
        found = json.loads(told)
        fires = [(str(fire), int(tries)) for fire, tries in found["fires"]]
        for fire, _ in fires:
            milestone.check(fire)
        return fires if int(found["made"]) == made else []
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return []


def wishes(view: View, item: int) -> list[Wish]:
    return read(view.tree.get(node(item)) or "", birth(view))


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
    lists = {item: wishes(view, item) for item in asked}
    return {
        item: claim.Fire(item, first[0][0], Source.TRIGGER, tries=first[0][1], past=True)
        for item, first in lists.items()
        if first
    }


def granted(view: View, item: int) -> Iterator[Write]:
    """With the claim the fire is off the list."""
    left = wishes(view, item)[1:]
    version = view.tree.version(node(item))
    yield Put(node(item), text(left, birth(view)), version) if left else Delete(node(item), version)
