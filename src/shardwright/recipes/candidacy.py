"""The master of a service: of all the processes that offer it, the one that acts for it.

    services/<service>:<version>                 ephemeral    the master's address; its session's end is the
                                                              end of its mastership
    candidates/<service>:<version>/<address>     ephemeral    who would be master; nobody else has its address

Whoever makes the node is master. It is not the text that makes one master but the session the node goes
with: an operator designates another by writing its address into the node, and the one so named takes the
node over into its own session, in one commit. Others, in other languages, do the same with the same
nodes, though they announce no candidacy: a node as its maker made it is respected whatever it says.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from ..coordination.step import Create, Delete, Effect, Leave, Look, Refuse, Require, Say, Step, do
from ..registry import Node, Tree

#: Below what everything stands, unless one is told.
ROOT = "/soa/master"

SERVICES, CANDIDATES = "services", "candidates"

#: For how many seconds an address that nobody has may stand in the node before it is filled anew.
GRACE = 5.0

#: For how many seconds one who has resigned lets others go first.
STAND_BACK = 5.0

#: How many of its time-outs a session may outlive its process by.
LINGERS = 1.5


@dataclass(frozen=True, slots=True)
class Notice(Effect):
    """This write names nobody: see how long that lasts."""

    written: int


@dataclass(frozen=True, slots=True)
class Resigned(Effect):
    """We are not master any more, by our own wish."""

    gave_up: bool
    """Whether we were: then others go first."""


@dataclass(frozen=True, slots=True)
class Local:
    """What this process wants, and what it has noticed."""

    leaving: bool = False
    resigning: bool = False
    resigned: float | None = None
    """The boot clock when we gave mastership up by ourselves."""
    announced: bool = False
    """Whether we have been a candidate already: then it is our own former self that we find announced."""
    noticed: tuple[int, float] | None = None
    """A write that names nobody, and the boot clock when we saw it."""


@dataclass(frozen=True, slots=True)
class View:
    """One service's mastership as this process sees it at one moment."""

    tree: Tree
    """All services and all their candidates."""
    service: str
    """Its name and version, as `<service>:<version>`."""
    address: str
    card: str
    """What our candidacy says about this process."""
    session: str
    timeout: float
    """How long a session outlives the last sign of life."""
    boot: float
    held: int | None = None
    """The token we are master under, if we are."""
    local: Local = field(default_factory=Local)


def node(service: str) -> str:
    return f"{SERVICES}/{service}"


def candidacy(view: View) -> str:
    return f"{CANDIDATES}/{view.service}/{view.address}"


def masters(tree: Tree) -> dict[str, str]:
    """Everybody's masters, as the nodes name them."""
    paths = {service: node(service) for service in tree.children(SERVICES)}
    tree.need(paths.values())
    return {service: tree.get(path) or "" for service, path in paths.items()}


def announced(view: View) -> bool:
    """Whether we are a candidate: not another one of this process, under the same address."""
    mine = candidacy(view)
    if mine not in view.tree or view.tree.owner(mine) != view.session:
        return False
    return view.tree.get(mine) == view.card


def token(view: View) -> int | None:
    """The number of the commit that made us master; None while we are not, or are about to give it up: the
    next one may be master before we hear that we are none."""
    path = node(view.service)
    if not announced(view) or view.local.leaving or view.local.resigning or path not in view.tree:
        return None
    held = view.tree.node(path)
    return held.made if _is_ours(view, held) else None


def _is_ours(view: View, held: Node) -> bool:
    """Whether the node is as we made it. One that was changed since and names us again is not: somebody else
    may have been designated in between."""
    ours = held.owner == view.session and held.data == view.address
    return ours and (held.version == 0 or held.made == view.held)


def why_not(view: View) -> str:
    """Why we are not master, in words."""
    if view.local.leaving or view.local.resigning:
        return "it gives up"
    path = node(view.service)
    if path not in view.tree:
        return "nobody is master"
    held = view.tree.node(path)
    if held.owner == view.session and held.data != view.address:
        return f"{held.data} was designated"
    return f"{held.data} is master"


def decide(view: View) -> Iterator[Step | Look]:
    if view.local.leaving:
        yield _leave(view)
    elif not announced(view):
        yield from _announce(view)
    elif view.local.resigning:
        yield _resign(view)
    elif node(view.service) not in view.tree:
        yield from _stand(view)
    else:
        yield from _heed(view, view.tree.node(node(view.service)))


def _leave(view: View) -> Step:
    mine = [Delete(candidacy(view))] if announced(view) else []
    return do(*_give_up(view), *mine, then=Leave())


def _announce(view: View) -> Iterator[Step | Look]:
    path = candidacy(view)
    if path not in view.tree:
        yield do(Create(path, view.card, ephemeral=True))
        return
    other = view.tree.node(path)
    # It may be who we were before: that goes with its session.
    end = view.tree.since(path) + LINGERS * view.timeout
    if view.boot < end:
        yield Look(end, f"whether {other.data} lives on as {view.address}")
    elif view.local.announced:
        yield do(then=Say(f"another took {view.address} while we were away: we stand when it has gone"))
    else:
        yield do(
            then=Refuse(
                f"{view.service}: another is a candidate as {view.address} already "
                f"({other.data or 'unnamed'}): give this one an address of its own"
            )
        )


def _resign(view: View) -> Step:
    given_up = _give_up(view)
    return do(*given_up, then=Resigned(bool(given_up)))


def _give_up(view: View) -> list[Delete]:
    """Let go of the node if it is ours. One that names another by now is left to that one, and so is that of
    another in this process who was a candidate under our address before us."""
    path = node(view.service)
    if path not in view.tree or (candidacy(view) in view.tree and not announced(view)):
        return []
    held = view.tree.node(path)
    ours = held.owner == view.session and held.data == view.address
    return [Delete(path, held.version)] if ours else []


def _stand(view: View) -> Iterator[Step | Look]:
    resigned = view.local.resigned
    if resigned is not None and view.boot < resigned + STAND_BACK:
        yield Look(resigned + STAND_BACK, "others go first: we have resigned")
    else:
        yield do(Require(candidacy(view)), _make(view))


def _heed(view: View, held: Node) -> Iterator[Step | Look]:
    """There is a node: is it ours, are we named by it, is anybody?"""
    if _is_ours(view, held):
        return
    if held.data == view.address:
        yield _take_over(view, held, then=Say(f"{view.address} takes over, as the node says"))
    elif not held.owner:
        path = view.tree.full(node(view.service))
        yield do(
            then=Say(f"{path} is persistent, so nobody's end will end it: delete it to have an election")
        )
    elif held.version and held.data not in view.tree.children(f"{CANDIDATES}/{view.service}"):
        yield from _fill_anew(view, held)


def _take_over(view: View, held: Node, then: Effect) -> Step:
    path = node(view.service)
    return do(Require(candidacy(view)), Delete(path, held.version), _make(view), then=then)


def _fill_anew(view: View, held: Node) -> Iterator[Step | Look]:
    noticed = view.local.noticed
    if noticed is None or noticed[0] != held.written:
        yield do(then=Notice(held.written))
    elif view.boot < noticed[1] + GRACE:
        yield Look(noticed[1] + GRACE, f"whether anybody is {held.data}")
    else:
        yield _take_over(view, held, then=Say(f"nobody is {held.data!r}, who was designated: elected anew"))


def _make(view: View) -> Create:
    return Create(node(view.service), view.address, ephemeral=True)
