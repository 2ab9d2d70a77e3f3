"""Tidying: what nobody needs any more. The leader takes it away.

    ~empty/<address>    persistent    a server that nobody is on: as which version it was noted

Nodes of failover and of monitoring go in a job that has switched them off; a run that goes on is not
disturbed, since its cursor says that it does. What was asked of a shard goes with it; a Java leader takes
shards away and knows nothing of that, so whoever of us keeps the gap looks after the rest. Servers go when
they have been empty for a while, but never one that an operator has DISABLED.
"""

from collections.abc import Iterator

from . import again, execution, gap, instance, leader, request, rotation, server, settings, sharding, trigger
from .step import Create, Delete, Look, Require, Step, do
from .view import View, number

EMPTY, UP = "~empty", "leader/failover/items"

#: For how many seconds a server is empty before it is taken away.
A_WHILE = 60.0

#: How many nodes are taken away in one transaction.
MOST = 500


def leftovers(view: View) -> list[str]:
    """Nodes of what is switched off."""
    off = [] if view.config.failover else ["failover", "failovering"]
    found = [f"sharding/{item}/{name}" for name in off for item in view.tree.items_with(name)]
    return found if view.config.monitor_execution else [*found, *_unkept_marks(view)]


def _unkept_marks(view: View) -> list[str]:
    """Marks that nobody will take away. A Python member does that with the end of its run; it may also not
    have heard of the new settings, and would make a mark again that it misses."""
    marked = view.tree.items_with("running")
    kept = {item for item, who in execution.runners(view, marked).items() if instance.is_python(who)}
    return [execution.running_node(item) for item in marked if item not in kept]


def unwanted(view: View) -> list[str]:
    """What is up for failover, although that is switched off or there is no such shard any more."""
    return [
        f"{UP}/{name}"
        for name in view.tree.children(UP)
        if not view.config.failover or number(name) is None or number(name) not in view.items
    ]


def unheeded(view: View) -> list[str]:
    """Requests to fire that were made to the dead."""
    here = set(view.tree.children(instance.ROOT))
    asked = [who for who in view.tree.children("trigger") if who not in here]
    return [trigger.node(who) for who in asked if instance.dead(view, who)]


def outlived(view: View) -> list[str]:
    """What was asked of shards that are no more, and word left about them."""
    # Of those that are still there it goes with them; and word, where one of us leads, once it is stale.
    kept = (again.ROOT, request.OWED, *((sharding.NEXT,) if leader.is_java(view) else ()))
    return [f"{root}/{name}" for root in kept for name in view.tree.children(root) if _is_no_more(view, name)]


def _is_no_more(view: View, name: str) -> bool:
    item = number(name)
    return item is not None and item not in view.items and f"{sharding.ROOT}/{name}" not in view.tree


def forget(view: View) -> Iterator[Step]:
    """Take that away, by the settings that say so."""
    paths = outlived(view)
    for start in range(0, len(paths), MOST):
        gone = (Delete(path) for path in paths[start : start + MOST])
        yield do(Require(instance.alive_node(view.me)), *settings.unchanged(view), *gone)


def empty(view: View) -> list[str]:
    """Servers that nobody is on, and that no operator has DISABLED."""
    inhabited = {instance.address_of(who) for who in view.tree.children(instance.ROOT)}
    bare = [address for address in view.tree.children(server.ROOT) if address not in inhabited]
    view.tree.need(map(server.node, bare))
    return [address for address in bare if view.tree.get(server.node(address)) == server.ENABLED]


def sweep(view: View) -> Iterator[Step | Look]:
    """Take away servers that have been empty for a while. A member that is just starting has a server before
    it is an instance, so the server must have stood untouched since it was noted."""
    bare = empty(view)
    noted = view.tree.children(EMPTY)
    view.tree.need(f"{EMPTY}/{address}" for address in noted)
    for address in bare:
        note, node = f"{EMPTY}/{address}", server.node(address)
        version = view.tree.version(node)
        if note not in view.tree:
            yield do(*leader.warrant(view), Create(note, str(version)))
        elif view.tree.get(note) != str(version):
            yield do(*leader.warrant(view), Delete(note))
        elif view.boot < view.tree.since(note) + A_WHILE:
            yield Look(view.tree.since(note) + A_WHILE, f"is {address} still empty?")
        else:
            yield do(*leader.warrant(view), Delete(node, version), Delete(note))
    for address in sorted(set(noted).difference(bare)):
        yield do(*leader.warrant(view), Delete(f"{EMPTY}/{address}"))


def decide(view: View) -> Iterator[Step | Look]:
    if gap.warden(view) and not view.local.stopped:
        yield from forget(view)
    if not leader.is_me(view):
        return
    paths = unwanted(view) + leftovers(view) + unheeded(view) + rotation.nobodys(view)
    for start in range(0, len(paths), MOST):
        yield do(*leader.warrant(view), *(Delete(path) for path in paths[start : start + MOST]))
    yield from sweep(view)
