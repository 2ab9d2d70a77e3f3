"""Leaving: a member that was asked to go hands everything over first.

    ~draining/<id>    ephemeral    this one is about to leave: give it nothing, take what falls idle

It says so, lets the leader take what is idle, finishes what runs, and only then is an instance no more.
"""

from collections.abc import Iterator

from . import instance, leader, server, sharding
from .step import Create, Delete, Leave, Look, Step, do
from .view import View


def will_be_taken(view: View) -> bool:
    """Whether what we own is going to be somebody else's while we are still here. Nobody takes it where
    nobody may work or shards stay where they are, and a Java leader only when we are gone."""
    takers = bool(server.workers(view)) and not view.config.static_sharding and not leader.is_java(view)
    return takers and bool(sharding.mine(view))


def decide(view: View) -> Iterator[Step | Look]:
    if not view.local.draining:
        return
    if not instance.registered(view):
        if not instance.at_work(view):
            yield do(then=Leave())
    elif view.local.stopped:
        return
    elif instance.draining_node(view.me) not in view.tree:
        yield do(Create(instance.draining_node(view.me), ephemeral=True))
    elif not instance.at_work(view) and not will_be_taken(view):
        yield do(
            *(Delete(path) for path in _ours(view) if path in view.tree),
            then=Leave(),
        )


def _ours(view: View) -> tuple[str, str, str]:
    me = view.me
    return instance.node(me), instance.alive_node(me), instance.draining_node(me)
