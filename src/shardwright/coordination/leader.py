"""Leader: the one instance that hands out the shards, for each job its own.

    leader/election/instance      ephemeral     the leading instance's id
    leader/election/latch/…       ephemeral     the line of those who would lead
    ~term                         persistent    counts elections of Python members: its version is a
                                                leader's warrant

Whoever makes the node leads for as long as its session lasts. Only instances that may work lead: one
whose server is disabled, or that is about to leave, steps down, and another steps in. All writes of a
leader are guarded by the term it was elected in, which is never made anew, so that a leader of yesterday
has no say today.
"""

from collections.abc import Iterator

from . import instance, latch, server
from .step import Create, Delete, Look, Put, Require, Step, Write, do
from .view import View

NODE = "leader/election/instance"
LATCH = "leader/election/latch"
TERM = "~term"


def current(view: View) -> str | None:
    return view.tree.get(NODE)


def is_me(view: View) -> bool:
    """Whether we lead, in the term that we were elected in."""
    return current(view) == view.me and view.tree.get(TERM) == view.me


def is_java(view: View) -> bool:
    who = current(view)
    return who is not None and not instance.is_python(who)


def verdict(view: View) -> bool | None:
    """Whether we lead; None while that is being settled, so that it is worth waiting for."""
    who = current(view)
    if who == view.me:
        return True if is_me(view) else None
    if who is not None:
        return False
    joining = not (instance.registered(view) or view.local.stopped or view.local.draining)
    return None if joining or server.workers(view) else False


def warrant(view: View) -> tuple[Write, ...]:
    """What every write of a leader requires."""
    return (Require(instance.alive_node(view.me)), Require(NODE), Require(TERM, view.tree.version(TERM)))


def decide(view: View) -> Iterator[Step | Look]:
    able = not view.local.stopped and not view.local.draining and server.may_work(view)
    if NODE in view.tree or not able:
        yield from latch.withdraw(view, LATCH)
        if current(view) == view.me and not (able and is_me(view)):
            yield do(*_same_term(view), Delete(NODE, view.tree.version(NODE)))
        return
    rank = server.workers(view).index(view.me)
    yield from latch.act(
        view,
        LATCH,
        Require(instance.alive_node(view.me)),
        *new_term(view),
        Create(NODE, view.me, ephemeral=True),
        turn=rank,
        since=view.tree.since(NODE),
    )


def _same_term(view: View) -> tuple[Write, ...]:
    """That nobody was elected since. The leader's node is made anew under one name, so its version says
    little."""
    return (Require(TERM, view.tree.version(TERM)),) if TERM in view.tree else ()


def new_term(view: View) -> tuple[Write, ...]:
    if TERM not in view.tree:
        return (Create(TERM, view.me),)
    return (Put(TERM, view.me, view.tree.version(TERM)),)
