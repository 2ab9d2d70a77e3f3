"""Instances: the processes that have the job.

    instances/<id>    ephemeral    one for each live process: ElasticJob's YAML, who and on which server
    ~alive/<id>       ephemeral    the same for Python processes, made and ended with the session: the one
                                   exact sign of life, which no reconnect and no operator disturbs; says since
                                   when it is there
    ~draining/<id>    ephemeral    it is about to leave: see leaving

An id is `<address>@-@<pid>-<random>`, new for every session and never used again; Java's have no random
part and keep theirs. A Java process is taken for dead when its node has been away for a while: it deletes
and re-makes it at every reconnect. A Python process whose `instances` node was taken away while it is
alive has been ordered to stop.
"""

from collections.abc import Iterator
from datetime import datetime

from .. import elasticjob
from .step import Create, Delete, Look, Step, Stop, do
from .view import View, once

ROOT, ALIVE, DRAINING = "instances", "~alive", "~draining"

#: Who runs what nobody runs.
NOBODY = ""

#: For how long a Java process's node may be away before it is taken for dead.
BLINK = 2.0


def node(who: str) -> str:
    return f"{ROOT}/{who}"


def alive_node(who: str) -> str:
    return f"{ALIVE}/{who}"


def draining_node(who: str) -> str:
    return f"{DRAINING}/{who}"


def address_of(who: str) -> str:
    """The server an instance runs on."""
    return who.partition("@-@")[0]


def is_python(who: str) -> bool:
    return "-" in who.partition("@-@")[2]


def registered(view: View) -> bool:
    return alive_node(view.me) in view.tree


def ordered_to_stop(view: View) -> bool:
    """Whether somebody took our node away while we live."""
    return registered(view) and node(view.me) not in view.tree


@once
def live(view: View) -> list[str]:
    """Those that are in the job and can be reckoned with, ourselves included."""
    return [
        who
        for who in view.tree.children(ROOT)
        if (not is_python(who) or alive_node(who) in view.tree) and draining_node(who) not in view.tree
    ]


@once
def java_members(view: View) -> list[str]:
    return [who for who in view.tree.children(ROOT) if not is_python(who)]


def dead(view: View, who: str) -> bool:
    """Whether nothing of this instance can be running any more."""
    if who == NOBODY:
        return True
    if is_python(who):
        return alive_node(who) not in view.tree
    return node(who) not in view.tree and view.boot >= view.tree.since(node(who)) + BLINK


def when_dead(view: View, who: str) -> Iterator[Look]:
    """For a Java process that is away: look again when it has been away for long enough."""
    if not is_python(who) and node(who) not in view.tree and not dead(view, who):
        yield Look(view.tree.since(node(who)) + BLINK, f"has {who} gone, or did it only blink?")


def register(view: View) -> Step:
    """Be known. Both nodes in one commit, so that one without the other always means something."""
    card = elasticjob.write_instance(elasticjob.Instance(view.me, address_of(view.me)))
    mine = node(view.me)
    known = () if mine in view.tree else (Create(mine, card, ephemeral=True),)
    return do(*known, Create(alive_node(view.me), view.local.since.isoformat(), ephemeral=True))


def since(view: View, who: str) -> datetime | None:
    """Since when a Python process is there, as it says itself; None where that makes no sense."""
    try:
        told = datetime.fromisoformat(view.tree.get(alive_node(who)) or "")
    except ValueError:
        return None
    return told if told.tzinfo is not None else None


def decide(view: View) -> Iterator[Step | Look]:
    if view.local.stopped:
        if registered(view) and not at_work(view):
            yield do(Delete(alive_node(view.me)))
    elif not registered(view):
        if not view.local.draining:
            yield register(view)
    elif ordered_to_stop(view):
        yield do(then=Stop("its instance node was taken away, which is an order to stop"))


def at_work(view: View) -> bool:
    """Whether something runs here, or a hook is being called: others would take it for the work of the
    dead."""
    return bool(view.local.runs or view.local.calls or view.local.loose)
