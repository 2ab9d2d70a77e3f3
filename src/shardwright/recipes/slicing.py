"""Dynamic sharding: as many slices as there are live instances, each instance with one of its own.

    instances/<id>                     ephemeral     a live process: YAML, who and on which server
    leader/election/instance           ephemeral     the leading instance's id
    leader/election/latch/…            ephemeral     the line of those who would lead
    leader/sharding                    persistent    its version is a leader's warrant: every commit of a
                                                     leader sets it, so that one of yesterday has no say
    leader/sharding/necessary          persistent    a round is open: everybody pauses, the leader shares out
    leader/sharding/processing         ephemeral     the leader is at it
    leader/sharding/acknowledged/<id>  ephemeral     it has paused, for the round that the node names; with
                                                     `exclusive` only, and a sign of life at all times
    sharding/<n>/instance              persistent    who has slice n

Rounds are the leader's: it opens one when those who live are not those who have slices, and closes it with
the commit that gives out all slices anew, which is the round's number and the slices' epoch. Whoever finds
a round open pauses, and goes on with its new slice when it is closed. Members in other languages do the same
with the same nodes, except that they neither acknowledge nor are waited for.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .. import beans, snakeyaml
from ..coordination import latch
from ..coordination.instance import address_of, is_python
from ..coordination.step import Create, Delete, Effect, Leave, Look, Put, Require, Say, Step, Write, do
from ..registry import Tree
from ..snakeyaml import Pairs, Scalar

INSTANCES, SLICES = "instances", "sharding"
LEADER, LATCH = "leader/election/instance", "leader/election/latch"
WARRANT = "leader/sharding"
NECESSARY, PROCESSING = f"{WARRANT}/necessary", f"{WARRANT}/processing"
ACKNOWLEDGED = f"{WARRANT}/acknowledged"

#: How slices may be given out: so that as few as possible change hands, or by the ids.
ORDERS = STICKY, SORTED = ("sticky", "sorted")

#: For how many seconds a round waits for those who do not acknowledge, unless one is told.
DEADLINE = 30.0


@dataclass(frozen=True, slots=True)
class Slice:
    """One of the slices: `index` of `total`, under an epoch that grows with every round, for ever."""

    index: int
    total: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Remember(Effect):
    """The round that was over when we came: it is none of ours."""

    round: int


@dataclass(frozen=True, slots=True)
class Pause(Effect):
    """A round is open, or we are out of the last: what we have is no longer ours."""


@dataclass(frozen=True, slots=True)
class GoOn(Effect):
    """A round is closed: this is ours now."""

    round: int
    slice: Slice | None


@dataclass(frozen=True, slots=True)
class Local:
    """What this process has told its owner, and what it wants."""

    round: int | None = None
    """The last round whose end was told; None: we have not looked yet."""
    slice: Slice | None = None
    """What we have, as our owner was told."""
    paused: bool = False
    """Whether a pause was told since."""
    at_rest: bool = False
    """Whether it came to its end: nothing here uses the old slice any more."""
    leaving: bool = False


@dataclass(frozen=True, slots=True)
class View:
    """A dynamic sharding as this process sees it at one moment."""

    tree: Tree
    me: str
    session: str
    boot: float
    order: str = STICKY
    exclusive: bool = False
    patience: float = DEADLINE
    """For how many seconds a round waits for those who do not acknowledge."""
    local: Local = field(default_factory=Local)


# What there is


def card(who: str) -> str:
    said = {"instanceId": who, "serverIp": address_of(who)}
    return snakeyaml.write(Pairs(tuple((Scalar(key), Scalar(text)) for key, text in said.items())))


def named(document: str) -> str | None:
    """Whose card this is; None where it cannot be read."""
    try:
        return beans.text(beans.settings(snakeyaml.read(document))["instanceId"])
    except (ValueError, KeyError):
        return None


def online(view: View) -> bool:
    return f"{INSTANCES}/{view.me}" in view.tree


def live(view: View) -> list[str]:
    """Those who are there and say so in words we understand, in the order of their ids."""
    names = view.tree.children(INSTANCES)
    view.tree.need(f"{INSTANCES}/{name}" for name in names)
    return [name for name in names if named(_read(view, f"{INSTANCES}/{name}") or "") is not None]


def shared_out(view: View) -> list[str | None]:
    """Who has which slice; None for one that is nobody's, or that we may not read."""
    numbers = sorted(int(name) for name in view.tree.children(SLICES) if _is_number(name))
    paths = [holder(number) for number in numbers]
    view.tree.need(paths)
    return [_read(view, path) for path in paths]


def holder(number: int) -> str:
    return f"{SLICES}/{number}/instance"


def last_round(view: View) -> int:
    """The number of the commit that gave out the slices as they are; 0: none has."""
    paths = [path for path in view.tree.named("instance") if path.startswith(f"{SLICES}/")]
    view.tree.need(paths)
    read = (path for path in paths if not view.tree.unreadable(path))
    return max((view.tree.node(path).written for path in read), default=0)


def is_open(view: View) -> bool:
    return NECESSARY in view.tree


def mine(view: View) -> Slice | None:
    """The slice that we were given in the last round."""
    owners = shared_out(view)
    if view.me not in owners or not online(view):
        return None
    while owners[-1] is None:  # members in other languages leave what they no longer need, empty
        owners.pop()
    return Slice(owners.index(view.me), len(owners), last_round(view))


def leads(view: View) -> bool:
    return _read(view, LEADER) == view.me and view.tree.owner(LEADER) == view.session


def _read(view: View, path: str) -> str | None:
    """What a node holds; None where it is absent, or we may not read it."""
    return None if view.tree.unreadable(path) else view.tree.get(path)


def _is_number(name: str) -> bool:
    """Whether a slice can be called so: not with thousands of digits, nor in another script's."""
    return name.isascii() and name.isdecimal() and len(name) < 10 and str(int(name)) == name


# What to do


def decide(view: View) -> Iterator[Step | Look]:
    told = list(tell(view))
    yield from told
    if told:
        return
    if view.local.leaving:
        yield from leave(view)
        return
    if not online(view):
        yield come(view)
        return
    yield from acknowledge(view)
    yield from elect(view)
    if leads(view):
        yield from lead(view)


def tell(view: View) -> Iterator[Step]:
    """What our owner must hear before anything else happens: pauses and ends of pauses, in turns."""
    local = view.local
    if local.leaving:
        if local.slice is not None:
            yield do(then=Pause())
        return
    last = last_round(view)
    if local.round is None:
        yield do(then=Remember(last))
    elif local.paused:
        # A round's end is told also where the next is open already: nobody gets our slice before we have
        # paused for that. Without one, the round was taken back, or we were cut off and are not given up.
        if last > local.round or (not is_open(view) and mine(view) is not None):
            yield do(then=GoOn(last, mine(view)))
    elif is_open(view) or last > local.round or (local.slice is not None and not online(view)):
        yield do(then=Pause())


def come(view: View) -> Step:
    """Be online. With `exclusive` there is a second sign of life from the beginning: who is given a slice is
    known to live for as long as that may be in use, also if its instance is taken away by hand."""
    here = Create(f"{INSTANCES}/{view.me}", card(view.me), ephemeral=True)
    sign = f"{ACKNOWLEDGED}/{view.me}"
    if not view.exclusive or sign in view.tree:
        return do(here)
    return do(here, Create(sign, ephemeral=True))


def acknowledge(view: View) -> Iterator[Step]:
    """Say for which round we have paused."""
    if not view.exclusive:
        return
    sign = f"{ACKNOWLEDGED}/{view.me}"
    rests = is_open(view) and view.local.at_rest
    said = str(view.tree.node(NECESSARY).made) if rests else ""
    if sign not in view.tree:
        yield do(Create(sign, said, ephemeral=True))
    elif rests and _read(view, sign) != said:
        yield do(Put(sign, said, view.tree.version(sign)))


def elect(view: View) -> Iterator[Step | Look]:
    if LEADER in view.tree:
        yield from latch.withdraw(view, LATCH)
        return
    candidates = [name for name in view.tree.children(INSTANCES) if is_python(name)]
    yield from latch.act(
        view,
        LATCH,
        Require(f"{INSTANCES}/{view.me}"),
        *_new_warrant(view),
        Create(LEADER, view.me, ephemeral=True),
        turn=candidates.index(view.me),
        since=view.tree.since(LEADER),
    )


def lead(view: View) -> Iterator[Step | Look]:
    """The leader's three commits of a round, whoever made the ones before."""
    there = live(view)
    if WARRANT not in view.tree:
        yield do(Require(LEADER, view.tree.version(LEADER)), Create(WARRANT))
        return
    for name in view.tree.children(INSTANCES):
        if name not in there:
            yield do(then=Say(f"{INSTANCES}/{name} cannot be read: it is given no slice"))
    if not is_open(view):
        if sorted(there) != sorted(who or "" for who in shared_out(view)) or not _in_a_row(view):
            yield do(*_warrant(view), Create(NECESSARY))
        return
    if PROCESSING not in view.tree:
        yield do(*_warrant(view), Create(PROCESSING, ephemeral=True))
        return
    end = view.tree.since(NECESSARY) + view.patience
    awaited = _awaited(view, there)
    if awaited and view.boot < end:
        yield Look(end, f"whether {', '.join(awaited)} will acknowledge")
        return
    if awaited:
        yield do(then=Say(f"{', '.join(awaited)} did not pause within {view.patience:g} s: not waited for"))
    yield share_out(view, there)


def share_out(view: View, there: Sequence[str]) -> Step:
    """Give out all slices in one commit, for as long as those who get one live."""
    chosen = assign(shared_out(view), there, view.order)
    given: list[Write] = []
    for number, who in enumerate(chosen):
        given.append(Put(holder(number), who) if holder(number) in view.tree else Create(holder(number), who))
    kept = {str(number) for number in range(len(chosen))}
    surplus = [
        Delete(f"{SLICES}/{name}", recursive=True) for name in view.tree.children(SLICES) if name not in kept
    ]
    return do(
        *_warrant(view),
        *(Require(f"{INSTANCES}/{who}") for who in chosen),
        *given,
        *surplus,
        Delete(NECESSARY),
        Delete(PROCESSING),
    )


def assign(before: Sequence[str | None], there: Sequence[str], order: str) -> list[str]:
    """Who gets which slice: in the order of their ids, or so that as few as possible change hands.

    >>> assign(["a", "b", "c"], ["a", "c", "d"], "sticky")
    ['a', 'd', 'c']
    >>> assign(["a", "b", "c"], ["a", "c"], "sticky")
    ['a', 'c']
    >>> assign(["c", "b"], ["b", "c", "a"], "sorted")
    ['a', 'b', 'c']
    """
    if order == SORTED:
        return sorted(there)
    kept: dict[int, str] = {}
    for number, who in enumerate(before[: len(there)]):
        if who is not None and who in there and who not in kept.values():
            kept[number] = who
    others = iter(sorted(set(there) - set(kept.values())))
    return [kept[number] if number in kept else next(others) for number in range(len(there))]


def leave(view: View) -> Iterator[Step]:
    """Go, once nothing here uses our slice any more. Our place in line goes too, and so does leadership."""
    if view.local.paused and not view.local.at_rest:
        return
    left: list[Write] = [Delete(place) for place in latch.ours(view, LATCH)]
    for path in (f"{INSTANCES}/{view.me}", f"{ACKNOWLEDGED}/{view.me}"):
        if path in view.tree:
            left.append(Delete(path))
    if leads(view):
        left.append(Delete(LEADER, view.tree.version(LEADER)))
    yield do(*left, then=Leave())


def _awaited(view: View, there: Sequence[str]) -> list[str]:
    """Whose acknowledgement is missing. Who has no slice has nothing to give up; a member in another
    language does not know how. One whose instance was taken away by hand may be at work all the same."""
    if not view.exclusive:
        return []
    said = str(view.tree.node(NECESSARY).made)
    holders = {who for who in shared_out(view) if who is not None and is_python(who)}
    paths = {who: f"{ACKNOWLEDGED}/{who}" for who in sorted(holders)}
    view.tree.need(paths.values())
    alive = (who for who, path in paths.items() if who in there or path in view.tree)
    return [who for who in alive if _read(view, paths[who]) != said]


def _in_a_row(view: View) -> bool:
    names = view.tree.children(SLICES)
    return sorted(names) == sorted(str(number) for number in range(len(names)))


def _warrant(view: View) -> tuple[Write, ...]:
    """What every commit of a leader requires, and uses up."""
    return (Require(LEADER, view.tree.version(LEADER)), Put(WARRANT, "", view.tree.version(WARRANT)))


def _new_warrant(view: View) -> tuple[Write, ...]:
    return (Put(WARRANT, "", view.tree.version(WARRANT)),) if WARRANT in view.tree else (Create(WARRANT),)
