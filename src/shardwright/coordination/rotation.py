"""Rotation: with SINGLE_SHARDING_BALANCE a job of one shard goes round, each run on the next instance.

    next-job-instance-ip    ephemeral    the server whose turn it is, written by the last runner

Among Python members the shard itself is handed on with the end of each run. Java members go by the node
alone, so it is written and honoured; one that names a server where nobody may work is nobody's turn, and the
owner runs as ever. The leader takes it away, since a Java owner would wait for that server.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from . import instance, server, sharding
from .step import Create, Delete, Put, Write
from .view import View

NODE = "next-job-instance-ip"
STRATEGY = "SINGLE_SHARDING_BALANCE"


def rotates(view: View) -> bool:
    return view.config.strategy == STRATEGY and len(view.items) == 1


def turn(view: View, assigned: list[int]) -> list[int]:
    """Of the shards assigned to us, those whose turn is ours; and the one shard, if its turn is."""
    address = view.tree.get(NODE) if rotates(view) else None
    if not address or sharding.NECESSARY in view.tree or sharding.owner_node(0) not in view.tree:
        return assigned
    there = _workers_on(view, address)
    if not there:
        return assigned
    owner = view.tree.get(sharding.owner_node(0))
    return [0] if view.me == (owner if owner in there else there[0]) else []


def nobodys(view: View) -> list[str]:
    """The turn, if it is that of a server where nobody may work. Java's own leader raises its flag when such
    a server goes, and under the flag the owner runs; one of ours lowers it where nothing is to be moved."""
    address = view.tree.get(NODE) if rotates(view) else None
    return [NODE] if address and not _workers_on(view, address) else []


def _workers_on(view: View, address: str) -> list[str]:
    return [who for who in server.workers(view) if instance.address_of(who) == address]


def came_after_our_turn(view: View, fire: datetime) -> bool:
    """Whether a fire is not one of those before us: Java members run theirs and tell no cursor."""
    if not rotates(view) or not instance.java_members(view) or NODE not in view.tree:
        return True
    return fire > view.now - timedelta(seconds=view.boot - view.tree.since(NODE))


def pass_on(view: View, heir: str | None) -> Iterator[Write]:
    """With the end of a run: say whose turn is next, and give it the shard, unless that has an heir
    already."""
    if not rotates(view):
        return
    if NODE in view.tree:
        yield Delete(NODE)
    following = heir or following_us(view)
    if following is None:
        return
    yield Create(NODE, instance.address_of(following), ephemeral=True)
    owner = sharding.owner_node(0)
    if heir is None and view.tree.get(owner) == view.me != following:
        yield Put(owner, following, view.tree.version(owner))


def following_us(view: View) -> str | None:
    able = server.workers(view)
    if view.me not in able:
        return next(iter(able), None)
    return able[(able.index(view.me) + 1) % len(able)]
