"""Requests: that somebody asked for a run, and that a shard which changes hands still owes it.

    trigger/<id>    persistent    a request to this instance; ElasticJob's console deletes and re-makes
                                  them all. Ours may say with which parameter instead of the job's
    ~owed/<i>       persistent    the request that a shard had not run for when it was handed on, and its
                                  parameter

`trigger` answers them. Who gets a shard may have answered its own request by then, so the run goes with the
shard; and a shard is not handed on over a request to its owner that was not seen yet. A request is known by
the number of a commit: one from before the job was made was made to another of that name.
"""

from collections.abc import Iterator, Mapping

from . import claim
from .step import Create, Forbid, Put, Write
from .view import View, birth

ROOT, OWED = "trigger", "~owed"

#: How many characters a parameter may have: it goes with the shard's cursor.
LONGEST = 2000
_DIGITS = 25


def node(who: str) -> str:
    return f"{ROOT}/{who}"


def owed_node(item: int) -> str:
    return f"{OWED}/{item}"


def number(view: View, who: str) -> int:
    """The request to an instance: the number of the commit that made it; 0 where there is none."""
    return view.tree.node(node(who)).made if node(who) in view.tree else 0


def owed(view: View, item: int, who: str) -> int:
    """The last request that a shard of this instance's has not run for; 0 where it has, or there was none."""
    request = max(number(view, who), _left(view, item)[0])
    return request if request and claim.cursor(view, item).asked < request else 0


def parameter(view: View, item: int, who: str) -> str:
    """What the shard is to run with for that request instead of the job's parameter; empty for nothing."""
    left, told = _left(view, item)
    return view.tree.get(node(who)) or "" if number(view, who) > left else told


def _left(view: View, item: int) -> tuple[int, str]:
    """The request that a shard brought along, and its parameter; 0 for none."""
    digits, _, told = (view.tree.get(owed_node(item)) or "").partition(" ")
    sound = digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS
    return (int(digits), told) if sound and int(digits) >= birth(view) else (0, "")


def text(request: int, told: str) -> str:
    """What is written of a request that a shard takes along."""
    return f"{request} {told}" if told else str(request)


def check(parameter: str) -> None:
    """ValueError for what cannot go with a request."""
    if not isinstance(parameter, str):
        raise ValueError(f"a parameter is a text, not {parameter!r:.100}")
    if len(parameter) > LONGEST:
        raise ValueError(
            f"a parameter may have up to {LONGEST:,} characters, and this one has {len(parameter):,}: "
            "keep what is large elsewhere, and say where"
        )
    if not parameter.isprintable() and not all(each.isprintable() or each in "\t\n" for each in parameter):
        raise ValueError("a parameter is a text of printable characters, tabs and line ends")


def pass_on(view: View, item: int, who: str) -> Iterator[Write]:
    """With a shard that this instance hands on goes the run it still owes."""
    request = owed(view, item, who)
    if request:
        path, said = owed_node(item), text(request, parameter(view, item, who))
        yield Put(path, said) if path in view.tree else Create(path, said)


def heard(view: View, who: str) -> Iterator[Write]:
    """A guard: no request to this instance has come that we have not seen."""
    if node(who) not in view.tree:
        yield Forbid(node(who))


def take_along(view: View, owners: Mapping[int, str]) -> dict[int, list[Write]]:
    """With shards that are taken from these owners go the runs they owe."""
    asked = {item: who for item, who in owners.items() if node(who) in view.tree}
    view.cursors.need(asked)
    return {item: list(pass_on(view, item, who)) for item, who in asked.items()}
