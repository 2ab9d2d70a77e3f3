"""Milestones: which fire each shard has started, and which it has completed, for those who wait for all
of them.

    ~barrier/<kind>/<round>/<i>    persistent    which fire the shard has come to, when it did, and in which
                                                 making of the job
    guarantee/<kind>/<i>           persistent    for Java members, whose listener waits for the same without
                                                 knowing a fire; only while they are there

There are two kinds, `started` and `completed`, and two rounds, one for the fires of the calendar and one
for those that somebody asked for. They are written with claims and ends, where something is to be called
at all.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from . import instance
from .step import Create, Put, Require, Write
from .view import View, birth

STARTED, COMPLETED = "started", "completed"
SCHEDULED, ASKED = "scheduled", "asked"

_DIGITS = 25

#: Before a fire that failed, in what a mark says.
FAILED = "!"

#: So many fires that failed are known of a shard: as far as it may be ahead of the others.
MOST_FAILED = 10

#: A kind and a round.
Place = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Mark:
    """Which fire a shard has come to, and when."""

    fire: str
    at: datetime
    java: bool = False
    """Whether Java members were told, too."""
    failed: tuple[str, ...] = ()
    """The last fires that failed there: others may be behind, and nothing was called for them yet."""
    made: int = 0
    """The number of the commit that made the job."""

    def text(self) -> str:
        more = [*(["java"] if self.java else []), *(f"{FAILED}{fire}" for fire in self.failed)]
        return " ".join([self.fire, self.at.isoformat(), str(self.made), *more])


def mark_node(place: Place, item: int) -> str:
    return f"~barrier/{place[0]}/{place[1]}/{item}"


def guarantee_node(kind: str, item: int) -> str:
    return f"guarantee/{kind}/{item}"


def round_of(fire: str) -> str:
    return ASKED if fire.startswith("#") else SCHEDULED


def order(fire: str) -> tuple[int, str]:
    """Fires of one round in the order in which they come."""
    return (int(fire[1:]), "") if fire.startswith("#") else (0, fire)


def check(fire: str) -> None:
    """Raise ValueError where this is no fire: neither a time nor a number."""
    if fire.startswith("#") and fire[1:].isascii() and fire[1:].isdigit() and len(fire) <= _DIGITS:
        return
    if datetime.fromisoformat(fire).tzinfo is None or not fire.isascii():
        raise ValueError(f"{fire!r} is no fire")


def read(text: str) -> Mark:
    fire, at, made, *more = text.split(" ")
    failed = tuple(word.removeprefix(FAILED) for word in more if word.startswith(FAILED))
    for each in (fire, *failed):
        check(each)
    moment = datetime.fromisoformat(at)
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return Mark(fire, moment, more[:1] == ["java"], failed, int(made))


def wanted(view: View, kind: str) -> bool:
    hooks = view.local.hooks
    return hooks.started if kind == STARTED else hooks.completed


def marks_of(view: View, place: Place) -> Mapping[int, Mark]:
    """The shards' marks, as far as they have any in this making of the job that make sense."""
    name = f"milestone.marks_of {place}"
    if name not in view.answers:
        view.answers[name] = _marks_of(view, place)
    return view.answers[name]  # type: ignore[return-value]


def _marks_of(view: View, place: Place) -> Mapping[int, Mark]:
    nodes = {item: node for item in view.items if (node := mark_node(place, item)) in view.tree}
    view.tree.need(nodes.values())
    found = {}
    for item, node in nodes.items():
        try:
            mark = read(view.tree.get(node) or "")
        except ValueError:
            continue
        if mark.made == birth(view):
            found[item] = mark
    return found


def marks(view: View, kind: str, item: int, fire: str, *, failed: bool = False) -> Iterator[Write]:
    """The shard has come to this fire; where that is its end, maybe by a failure."""
    if not wanted(view, kind):
        return
    java = bool(instance.java_members(view))
    place = (kind, round_of(fire))
    before = marks_of(view, place).get(item)
    ill = (*(before.failed if before is not None else ()), *([fire] if failed else []))[-MOST_FAILED:]
    node, text = mark_node(place, item), Mark(fire, view.now, java, ill, birth(view)).text()
    yield Put(node, text) if node in view.tree else Create(node, text)
    if java:
        told = guarantee_node(kind, item)
        # Where it stands from the fire before, somebody may be taking it away just now.
        yield Require(told) if told in view.tree else Create(told)
