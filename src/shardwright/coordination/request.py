"""Requests: that somebody asked for a run, and that a shard which changes hands still owes it.

    trigger/<id>    persistent    a request to this instance; ElasticJob's console deletes and re-makes
                                  them all
    ~owed/<i>       persistent    the request that a shard had not run for when it was handed on

`trigger` answers them. Who gets a shard may have answered its own request by then, so the run goes with the
shard; and a shard is not handed on over a request to its owner that was not seen yet.
"""

from collections.abc import Iterator, Mapping

from . import claim
from .step import Create, Forbid, Put, Write
from .view import View

OWED = "~owed"
_DIGITS = 25


def node(who: str) -> str:
    return f"trigger/{who}"


def owed_node(item: int) -> str:
    return f"{OWED}/{item}"


def number(view: View, who: str) -> int:
    """The request to an instance: the number of the commit that made it; 0 where there is none."""
    return view.tree.node(node(who)).made if node(who) in view.tree else 0


def owed(view: View, item: int, who: str) -> int:
    """The last request that a shard of this instance's has not run for; 0 where it has, or there was none."""
    text = view.tree.get(owed_node(item)) or "0"
    left = int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else 0
    request = max(number(view, who), left)
    return request if request and claim.cursor(view, item).asked < request else 0


def pass_on(view: View, item: int, who: str) -> Iterator[Write]:
    """With a shard that this instance hands on goes the run it still owes."""
    request = owed(view, item, who)
    if request:
        path = owed_node(item)
        yield Put(path, str(request)) if path in view.tree else Create(path, str(request))


def heard(view: View, who: str) -> Iterator[Write]:
    """A guard: no request to this instance has come that we have not seen."""
    if node(who) not in view.tree:
        yield Forbid(node(who))


def take_along(view: View, owners: Mapping[int, str]) -> dict[int, list[Write]]:
    """With shards that are taken from these owners go the runs they owe."""
    asked = {item: who for item, who in owners.items() if node(who) in view.tree}
    view.cursors.need(asked)
    return {item: list(pass_on(view, item, who)) for item, who in asked.items()}
