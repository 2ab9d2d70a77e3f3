"""Founding: a job that nobody has yet is begun in one commit.

Whoever makes the job's own node is alone in it at that moment: nobody has registered, stands in line to lead,
or owns a shard, for all that is below the node, and Java members make it before anything else. So the
settings, the first member, its term as the leader and the first assignment need no turns of their own, and
nobody ever sees a job that is half begun. Who comes second finds it made, is refused, and joins as everybody
does.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from . import gap, instance, leader, server, settings, sharding
from .step import Create, Step, Write, portions
from .view import View


def possible(view: View) -> bool:
    """Whether nobody has the job, we are to be in it, and nothing is left of one that somebody removed."""
    if settings.ROOT in view.tree or view.tree.children("~") or settings.declared(view).disabled:
        return False
    return view.local.adopted is None and not settings.is_on_its_way_out(view)


def begin(view: View) -> Step:
    """The settings, and all that follows from our being alone."""
    step = settings.publish(view)
    ours = replace(view, config=settings.declared(view), answers={})
    return replace(step, writes=(*step.writes, *_members(ours), *_shards(ours)))


def _members(view: View) -> Iterator[Write]:
    yield Create(server.mine(view), server.ENABLED)
    yield from instance.register(view).writes
    yield from leader.new_term(view)
    yield Create(leader.NODE, view.me, ephemeral=True)
    yield Create(gap.NODE, gap.first(view).text())


def _shards(view: View) -> Iterator[Write]:
    """As many as the registry takes at a time, less what the rest of the step takes; others are shared out
    next."""
    owners = {item: [Create(sharding.owner_node(item), view.me)] for item in view.items}
    return chain.from_iterable(next(portions(view, owners), {}).values())
