"""The master of a service: of all the processes that offer it, the one that acts for it.

    services/<service>:<version>                 ephemeral    the master's address; its session's end is the
                                                              end of its mastership
    candidates/<service>:<version>               persistent   its version is a warrant: every commit of ours
                                                              that makes the node or takes it away sets it
    candidates/<service>:<version>/<address>     ephemeral    who would be master; nobody else has its address

Whoever makes the node is master. It is not the text that makes one master but the session the node goes
with: an operator designates another by writing its address into the node, and the one so named takes the
node over into its own session, in one commit. Others, in other languages, do the same with the same
nodes, though they announce no candidacy: a node as its maker made it is respected whatever it says.

The node is deleted and made again under one name, so its own version guards nothing: who acts on what it
saw uses up the warrant, and is refused if anybody has done so since.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from ..coordination.step import (
    Create,
    Delete,
    Effect,
    Leave,
    Look,
    Put,
    Refuse,
    Require,
    Say,
    Step,
    Write,
    do,
)
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
class Report(Effect):
    """Tell the operator, each time."""

    what: str


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
    was_master: bool = False
    """Whether we were master when we were asked to resign."""
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
    token: int | None = None
    """What we are master under, if we are."""
    local: Local = field(default_factory=Local)


def node(service: str) -> str:
    return f"{SERVICES}/{service}"


def warrant(view: View) -> str:
    return f"{CANDIDATES}/{view.service}"


def candidacy(view: View) -> str:
    return f"{warrant(view)}/{view.address}"


def masters(tree: Tree) -> dict[str, str]:
    """Everybody's masters, as the nodes name them; without those that we may not read."""
    paths = {service: node(service) for service in tree.children(SERVICES)}
    tree.need(paths.values())
    return {service: tree.get(path) or "" for service, path in paths.items() if not tree.unreadable(path)}


def hidden(tree: Tree) -> list[str]:
    """The nodes of those that we may not read."""
    return [path for path in map(node, tree.children(SERVICES)) if tree.unreadable(path)]


def announced(view: View) -> bool:
    """Whether we are a candidate: not another one of this process, under the same address."""
    mine = candidacy(view)
    if mine not in view.tree or view.tree.unreadable(mine) or view.tree.owner(mine) != view.session:
        return False
    return view.tree.get(mine) == view.card


def held(view: View) -> Node | None:
    """The node as it is; None where there is none, or we may not read it."""
    path = node(view.service)
    return None if path not in view.tree or view.tree.unreadable(path) else view.tree.node(path)


def token(view: View) -> int | None:
    """The number of the commit that made us master; None while we are not, or are about to give it up: the
    next one may be master before we hear that we are none."""
    if not announced(view) or view.local.leaving or view.local.resigning:
        return None
    there = held(view)
    return there.made if there is not None and _is_ours(view, there) else None


def _is_ours(view: View, there: Node) -> bool:
    """Whether the node is as we made it. One that was changed since and names us again is not: somebody else
    may have been designated in between."""
    return _names_us(view, there) and (there.version == 0 or there.made == view.token)


def _names_us(view: View, there: Node) -> bool:
    """Whether the node goes with our session, and with us in it."""
    return there.owner == view.session and there.data == view.address


def why_not(view: View) -> str:
    """Why we are not master, in words."""
    if view.local.leaving or view.local.resigning:
        return "it gives up"
    if node(view.service) not in view.tree:
        return "nobody is master"
    there = held(view)
    if there is None:
        return "who is master cannot be read"
    if there.owner == view.session and there.data != view.address:
        return f"{there.data} was designated"
    return f"{there.data} is master"


def decide(view: View) -> Iterator[Step | Look]:
    view.tree.need((node(view.service), candidacy(view), warrant(view)))
    if view.local.leaving:
        yield _leave(view)
    elif not announced(view):
        yield from _announce(view)
    elif view.local.resigning:
        yield _resign(view)
    elif node(view.service) not in view.tree:
        yield from _stand(view)
    elif (there := held(view)) is not None:
        yield from _heed(view, there)


def _leave(view: View) -> Step:
    mine = [Delete(candidacy(view))] if announced(view) else []
    return do(*_give_up(view), *mine, then=Leave())


def _announce(view: View) -> Iterator[Step | Look]:
    path = candidacy(view)
    if path not in view.tree:
        yield do(Create(path, view.card, ephemeral=True))
        return
    other = "somebody" if view.tree.unreadable(path) else view.tree.get(path) or "somebody unnamed"
    # It may be who we were before: that goes with its session.
    lingers = LINGERS * view.timeout
    end = view.tree.since(path) + lingers
    if view.boot < end:
        yield do(
            then=Say(
                f"{view.address} is announced already, by {other}: "
                f"waiting {lingers:g} s to see whether it lives on"
            )
        )
        yield Look(end, f"whether {other} lives on as {view.address}")
    elif view.local.announced:
        yield do(then=Say(f"another took {view.address} while we were away: we stand when it has gone"))
    else:
        yield do(
            then=Refuse(
                f"{view.service}: another is a candidate as {view.address} already ({other}): "
                "give this one an address of its own"
            )
        )


def _resign(view: View) -> Step:
    """An answer that was lost has us find the node gone: what counts is that we were master."""
    given_up = _give_up(view)
    return do(*given_up, then=Resigned(bool(given_up) or view.local.was_master))


def _give_up(view: View) -> list[Write]:
    """Let go of the node if it is ours. One that names another by now is left to that one, and so is that of
    another in this process who was a candidate under our address before us."""
    if candidacy(view) in view.tree and not announced(view):
        return []
    there = held(view)
    if there is None or not _names_us(view, there):
        return []
    return [*_use_warrant(view), Delete(node(view.service), there.version)]


def _stand(view: View) -> Iterator[Step | Look]:
    resigned = view.local.resigned
    if resigned is not None and view.boot < resigned + STAND_BACK:
        yield Look(resigned + STAND_BACK, "others go first: we have resigned")
    else:
        yield do(Require(candidacy(view)), *_use_warrant(view), _make(view))


def _heed(view: View, there: Node) -> Iterator[Step | Look]:
    """There is a node: is it ours, are we named by it, is anybody?"""
    if _is_ours(view, there):
        return
    if there.data == view.address:
        yield _take_over(view, there, f"{view.address} takes over, as the node says")
    elif not there.owner:
        path = view.tree.full(node(view.service))
        yield do(
            then=Say(f"{path} is persistent, so nobody's end will end it: delete it to have an election")
        )
    elif there.version and there.data not in view.tree.children(warrant(view)):
        yield from _fill_anew(view, there)


def _take_over(view: View, there: Node, why: str) -> Step:
    path = node(view.service)
    return do(
        Require(candidacy(view)),
        *_use_warrant(view),
        Delete(path, there.version),
        _make(view),
        then=Report(why),
    )


def _fill_anew(view: View, there: Node) -> Iterator[Step | Look]:
    noticed = view.local.noticed
    if noticed is None or noticed[0] != there.written:
        yield do(then=Notice(there.written))
    elif view.boot < noticed[1] + GRACE:
        yield Look(noticed[1] + GRACE, f"whether anybody is {there.data}")
    else:
        yield _take_over(view, there, f"nobody is {there.data!r}, who was designated: elected anew")


def _use_warrant(view: View) -> list[Write]:
    """Land only if what we saw is as it was. Nothing keeps us where all of it was taken away by hand."""
    path = warrant(view)
    if path not in view.tree or view.tree.unreadable(path):
        return []
    return [Put(path, "", view.tree.version(path))]


def _make(view: View) -> Create:
    return Create(node(view.service), view.address, ephemeral=True)
