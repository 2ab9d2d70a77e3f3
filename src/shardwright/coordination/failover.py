"""Failover: what ran in a process that died is run by one that lives, in the same fire.

    leader/failover/items/<i>    persistent    waiting for somebody to take it
    leader/failover/latch/…      ephemeral     the line of those who would
    sharding/<i>/failover        ephemeral     who has taken it over
    sharding/<i>/failovering     persistent    the same, outliving a taker that dies over it, too

When a runner dies its shards are put up, those it had taken over itself as well as its own, by whoever looks
after them: their owner, who knows its own marks and so need not read them at every fire, or where that is
dead itself, or Java, by anybody who sees it. Idle members take them, the lowest first, under the latch that
Java's take them under too; taking over and starting are one transaction, so nobody dies in between, and the
run is of the taken shard and nothing else.
"""

from collections.abc import Iterator

from . import claim, execution, gap, group, instance, latch, rotation, server, sharding, timekeeping
from .step import Create, Delete, Look, Put, Reread, Step, Write, do
from .view import Source, View, number

WAITING = "leader/failover/items"
LATCH = "leader/failover/latch"

DIED = "its runner died"

#: How often to see whether there is room for what is up, in seconds.
LOOK_FOR_ROOM = 1.0

#: For how many seconds those who are idle may pass over what is up, before those who are busy take it.
PASSED_OVER = 5.0


def waiting_node(item: int) -> str:
    return f"{WAITING}/{item}"


def taken_node(item: int) -> str:
    return f"sharding/{item}/failover"


def taking_node(item: int) -> str:
    return f"sharding/{item}/failovering"


def waiting(view: View) -> list[int]:
    """The shards that are up and that nobody runs after all, the lowest first."""
    numbers = (number(name) for name in view.tree.children(WAITING))
    items = sorted(item for item in numbers if item is not None and item in view.items)
    return [item for item in items if execution.running_node(item) not in view.tree]


def taken(view: View, item: int) -> bool:
    """Whether somebody has taken the shard over, or may: then it is not its owner's to start. Where failover
    is off such nodes are what is left of it, and a Java leader leaves them where they are."""
    return view.config.failover and any(
        node(item) in view.tree for node in (taken_node, taking_node, waiting_node)
    )


def owns(view: View, item: int) -> bool:
    """An unfinished claim is not silently the new owner's: it is put up and taken, or accounted for."""
    return claim.cursor(view, item).run is not None


def decide(view: View) -> Iterator[Step | Look]:
    if view.local.stopped or not instance.registered(view):
        yield from latch.withdraw(view, LATCH)
        return
    yield from put_up(view)
    if view.config.failover and not wanted(view):
        yield from take_down(view)
    up = rescuing(view)
    if not up:
        yield from latch.withdraw(view, LATCH)
        yield from look_for_room(view)
    elif taken_up_since(view, up[0]):
        yield do(claim.unmoved(view, up[0]), Delete(waiting_node(up[0])))
    elif group.is_limited(view) and not group.out_of_turn(view):
        yield from latch.withdraw(view, LATCH)
        yield from group.stand_in_line(view, up)
    else:
        yield from stand_in_line(view, up[0])


def rescuing(view: View) -> list[int]:
    """The shard that we would take over next, if there is one and we may."""
    up = waiting(view) if wanted(view) and may_take(view) else []
    return up[:1] if up and (is_ours_to_take(view) or view.boot >= passed_over(view, up[0])) else []


def passed_over(view: View, item: int) -> float:
    """When those who are idle have had the time to take what is up, and did not."""
    return view.tree.since(waiting_node(item)) + PASSED_OVER


def look_for_room(view: View) -> Iterator[Look]:
    """Other jobs have all the threads here, and nobody tells us when one is free: so look now and then. And
    those who are idle may have none either: what they pass over is ours."""
    up = waiting(view) if wanted(view) else []
    if up and view.local.slots < 1:
        yield Look(view.boot + LOOK_FOR_ROOM, "is there room for what is up?")
    elif up and may_take(view):
        yield Look(passed_over(view, up[0]), "does nobody idle take what is up?")


def stand_in_line(view: View, item: int) -> Iterator[Step | Look]:
    """Take a shard over when we are first of those who would; the others let the first by their order go
    first."""
    step = take(view, item)
    yield from latch.act(
        view,
        LATCH,
        *step.writes,
        turn=server.workers(view).index(view.me),
        since=view.tree.since(waiting_node(item)),
        then=step.then,
    )


def put_up(view: View) -> Iterator[Step | Look]:
    """Turn what the dead left into what can be taken."""
    running = looked_after(view)
    orphaned = execution.orphans(view, running)
    for who in sorted({view.tree.get(execution.running_node(item)) or "" for item in running}):
        yield from instance.when_dead(view, who)
    view.cursors.need(orphaned)
    for item in orphaned:
        mark = execution.running_node(item)
        if taken_up_since(view, item):
            continue
        if wanted(view):
            yield do(claim.unmoved(view, item), Delete(mark), *up(view, item))
        elif not view.tree.node(mark).owner:
            yield do(Delete(mark), *lost(view, item))
    for item in view.tree.items_with("failovering"):
        if item in view.items:
            yield from look_after_taker(view, item)
    yield from put_up_unmarked(view)


def looked_after(view: View) -> list[int]:
    """The running shards that are ours to look after: our own, and those whose owner does not."""
    owners = sharding.owners(view)
    return [item for item in execution.marked(view) if not _minds(view, owners.get(item, instance.NOBODY))]


def _minds(view: View, owner: str) -> bool:
    """Whether this is somebody else who looks after what it owns: one of us, alive, and not ordered to
    stop."""
    return (
        owner != view.me
        and instance.is_python(owner)
        and instance.node(owner) in view.tree
        and not instance.dead(view, owner)
    )


def wanted(view: View) -> bool:
    return view.config.failover and view.config.delivery == "at_least_once"


def taken_up_since(view: View, item: int) -> bool:
    """Whether the cursor tells of somebody alive: then the mark we see is older than what we know."""
    run = claim.cursor(view, item).run
    return run is not None and not instance.dead(view, run.by)


def put_up_unmarked(view: View) -> Iterator[Step]:
    """A claim of the dead that has no mark: only the shard's owner knows of it, by the cursor, or whose turn
    it is where that is another."""
    owned = sharding.mine(view)
    ours = sorted({*owned, *rotation.turn(view, owned)})
    view.cursors.need(ours)
    for item in ours:
        run = claim.cursor(view, item).run
        marked = execution.running_node(item) in view.tree or taken(view, item)
        if run is None or marked or not instance.dead(view, run.by):
            continue
        if wanted(view):
            yield do(claim.unmoved(view, item), *up(view, item))
        else:
            yield do(*lost(view, item))


def take_down(view: View) -> Iterator[Step]:
    """Java members put shards up that the job wants at most once: they are accounted for, and not run. One
    that somebody alive has claimed since goes on."""
    up_now = waiting(view)
    view.cursors.need(up_now)
    for item in up_now:
        account = [claim.unmoved(view, item)] if taken_up_since(view, item) else lost(view, item)
        yield do(Delete(waiting_node(item)), *account)


def look_after_taker(view: View, item: int) -> Iterator[Step | Look]:
    """A taker that died before it started, or a Java one that only blinked."""
    who = view.tree.get(taking_node(item)) or ""
    if execution.running_node(item) in view.tree or waiting_node(item) in view.tree:
        yield from leave_to_java(view, item, who)
        return
    if who == view.me and item not in view.local.runs:
        yield from let_go(view, item)
        return
    if not instance.dead(view, who):
        yield from instance.when_dead(view, who)
        yield from leave_to_java(view, item, who)
        return
    view.cursors.need([item])
    if instance.is_python(who) and view.cursors.learned(item) < view.tree.since(instance.alive_node(who)):
        yield do(then=Reread((item,)))  # it may not be ours, and have moved since we read it
    elif taken_up_since(view, item) or not view.config.failover:
        return
    elif instance.is_python(who) and view.cursors.node(item) and claim.cursor(view, item).run is None:
        yield do(claim.unmoved(view, item), Delete(taking_node(item)))  # what it began is accounted for
    elif wanted(view):
        yield do(claim.unmoved(view, item), *up(view, item))
    else:
        yield do(*lost(view, item))


def let_go(view: View, item: int) -> Iterator[Step]:
    """Ours by its nodes and not by its cursor, which somebody has replaced: let it be nobody's."""
    view.cursors.need([item])
    run = claim.cursor(view, item).run
    if run is None or run.by != view.me:
        nodes = (node for node in (taken_node(item), taking_node(item)) if node in view.tree)
        yield do(claim.unmoved(view, item), *(Delete(node) for node in nodes))


def leave_to_java(view: View, item: int, who: str) -> Iterator[Step]:
    """A Java member has taken a shard over. It will not tell the cursor, so that is done for it: else the
    shard would be put up again as soon as it has ended."""
    if instance.is_python(who) or not gap.warden(view):
        return
    view.cursors.need([item])
    if view.cursors.learned(item) < view.tree.since(taking_node(item)):
        yield do(then=Reread((item,)))  # it may not be ours, and have moved since we read it
        return
    run = claim.cursor(view, item).run
    if run is not None and instance.dead(view, run.by):
        yield do(*claim.give_up(view, item, f"taken over by {who}"))


def up(view: View, item: int) -> Iterator[Write]:
    if waiting_node(item) not in view.tree:
        yield Create(waiting_node(item))
    if taking_node(item) in view.tree:
        yield Delete(taking_node(item))


def lost(view: View, item: int) -> Iterator[Write]:
    """The job does not want it run again: account for it."""
    if taking_node(item) in view.tree and instance.dead(view, view.tree.get(taking_node(item)) or ""):
        yield Delete(taking_node(item))
    if claim.cursor(view, item).run is not None:
        yield from claim.lose(view, item, DIED)
    else:
        yield claim.unmoved(view, item)


def may_take(view: View) -> bool:
    """Whether we may work, and have room."""
    if view.local.stopped or view.local.draining or view.local.slots < 1 or not server.may_work(view):
        return False
    return timekeeping.trusted(view) and sharding.settled(view)


def is_ours_to_take(view: View) -> bool:
    """Idle members first; a busy one only when nobody is idle."""
    if not view.local.runs:
        return True
    at_work = {view.me, *execution.runners(view, execution.marked(view)).values()}
    return all(who in at_work for who in server.workers(view))


def take(view: View, item: int) -> Step:
    """Take a shard over and start it: for the fire its runner died over, once more."""
    now = claim.cursor(view, item)
    if now.run is not None:
        tries = now.run.tries + 1
        again = claim.Fire(
            item, now.run.fire, Source.FAILOVER, tries=tries, past=now.past, parameter=now.run.parameter
        )
    else:
        again = claim.Fire(item, f"#{view.tree.node(waiting_node(item)).made}", Source.FAILOVER, tries=2)
    taking = taking_node(item)
    known = (
        Put(taking, view.me, view.tree.version(taking)) if taking in view.tree else Create(taking, view.me)
    )
    proof = [
        Delete(waiting_node(item)),
        *([Delete(taken_node(item))] if taken_node(item) in view.tree else []),
        Create(taken_node(item), view.me, ephemeral=True),
        known,
    ]
    return next(claim.start(view, [again], lambda _: proof, places={item: group.out_of_turn(view)}))


def put_back(view: View, item: int) -> Iterator[Write]:
    """A run of ours was cut short: the claim is nobody's, and the shard is up for whoever is free."""
    yield from claim.leave(view, item)
    yield from execution.end(view, [item])
    yield from up(view, item)
    if taken_node(item) in view.tree and view.tree.get(taken_node(item)) == view.me:
        yield Delete(taken_node(item))


def finished(view: View, item: int) -> Iterator[Write]:
    """With the end of the run we have it no more, and nobody needs to take it."""
    for node in (taken_node(item), taking_node(item)):
        if node in view.tree and view.tree.get(node) == view.me:
            yield Delete(node)
    if waiting_node(item) in view.tree:
        yield Delete(waiting_node(item))
