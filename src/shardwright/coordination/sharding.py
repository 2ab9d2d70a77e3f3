"""Sharding: which instance owns which shard.

    sharding/<i>/instance         persistent    the owner's id
    leader/sharding/necessary     persistent    for Java members: wait, the shards are about to be
                                                shared out anew
    leader/sharding/processing    ephemeral     for Java members: they are being shared out right now
    ~next/<i>                     persistent    who is to own a shard that still runs: its runner hands
                                                it over

The assignment is right when the job's strategy, asked today, would give the same answer. The leader mends
at once what is wrong with it: it moves what is idle, by one transaction, and leaves word for what runs.
So nobody waits for a slow shard, and nobody starts on an assignment that is about to change: an owner's
version guards its start.

Java members know only the old way. While one is there, the leader raises `necessary` before it takes
anything from a Java member, gives that a moment to be heeded, and lowers it with the moves.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from . import claim, due, execution, instance, leader, server, strategies
from .step import Create, Delete, Forbid, Look, Put, Require, Step, Write, do
from .view import View, once

ROOT = "sharding"
NECESSARY, PROCESSING = "leader/sharding/necessary", "leader/sharding/processing"

#: How long a Java member may take from asking whether `necessary` stands to marking its shards as running.
HEED = 1.0

#: How many shards are moved in one transaction: about half of what a server takes.
MOST = 4000

#: Asked again it answers otherwise, so it is asked only when there is a reason.
_FICKLE = "SINGLE_SHARDING_BALANCE"


def owner_node(item: int) -> str:
    return f"{ROOT}/{item}/instance"


def next_node(item: int) -> str:
    return f"~next/{item}"


@once
def owners(view: View) -> dict[int, str]:
    """Who owns which shard, the dead included."""
    nodes = {item: owner_node(item) for item in view.items if owner_node(item) in view.tree}
    view.tree.need(nodes.values())
    return {item: view.tree.get(node) or "" for item, node in nodes.items()}


@once
def mine(view: View) -> list[int]:
    return [item for item, owner in owners(view).items() if owner == view.me]


def owned(view: View, items: list[int]) -> list[Write]:
    """The proof that shards are ours by assignment."""
    return [Require(owner_node(item), view.tree.version(owner_node(item))) for item in items]


def surplus(view: View) -> list[int]:
    """Shards left from when there were more."""
    numbers = (int(name) for name in view.tree.children(ROOT) if name.isdecimal())
    return sorted(item for item in numbers if item not in view.items)


def wanted(view: View) -> Mapping[int, str]:
    """Who should own which shard; as things stand where nothing needs to change."""
    now, able = owners(view), server.workers(view)
    whole = len(now) == len(view.items)
    if not able or (view.config.static_sharding and whole):
        return now
    name = view.config.strategy if strategies.known(view.config.strategy) else "sticky"
    if name == _FICKLE and whole and _fair(now, able):
        return now
    return strategies.answer(
        name, strategies.Question(view.config.name, able, len(view.items), view.now, now)
    )


def _fair(now: Mapping[int, str], able: list[str]) -> bool:
    """Whether nobody but these owns anything, and none much more than another."""
    counts = Counter(now.values())
    loads = [counts[who] for who in able]
    return counts.keys() <= set(able) and max(loads) - min(loads) <= 1


def settled(view: View) -> bool:
    """Whether everybody may start what is theirs. A Java leader finds no quiet moment otherwise."""
    return not (leader.is_java(view) and (NECESSARY in view.tree or PROCESSING in view.tree))


def decide(view: View) -> Iterator[Step | Look]:
    if not leader.is_me(view):
        return
    now, want = owners(view), wanted(view)
    away = {owner for owner in now.values() if _may_have_blinked(view, owner)}
    for gone in sorted(away):
        yield from instance.when_dead(view, gone)
    moves = {item: who for item, who in want.items() if now.get(item) not in (who, *away)}
    held = {item: runner for item in moves if (runner := execution.runner(view, item)) is not None}
    idle = {item: who for item, who in moves.items() if item not in held}
    yield from leave_word(view, {item: want[item] for item in held}, want)
    yield from clear_surplus(view)

    taken = {owner for item in idle if (owner := now.get(item))} | set(held.values())
    from_java = [who for who in taken if not instance.is_python(who) and instance.node(who) in view.tree]
    if from_java and NECESSARY not in view.tree:
        yield do(*leader.warrant(view), Create(NECESSARY))
        return
    if from_java and view.boot < view.tree.since(NECESSARY) + HEED:
        yield Look(view.tree.since(NECESSARY) + HEED, "Java members have heeded the flag by then")
        return
    waits_for_java = any(not instance.is_python(who) for who in held.values())
    if idle:
        yield move(view, idle, now, done=not waits_for_java)
    elif not waits_for_java:
        yield from lower_flags(view)


def _may_have_blinked(view: View, owner: str) -> bool:
    """A Java member that has gone just now, and may be back at once."""
    return (
        not instance.is_python(owner)
        and instance.node(owner) not in view.tree
        and not instance.dead(view, owner)
    )


def settle_with_java(view: View, items: Mapping[int, str], now: Mapping[int, str]) -> Iterator[Write]:
    """Java members keep no cursors. What one has had is accounted for up to now, so that nobody runs it
    again."""
    theirs = [item for item in items if (owner := now.get(item)) and not instance.is_python(owner)]
    view.cursors.need(theirs)
    fire = due.latest(view.schedule, view.now) if theirs and view.schedule is not None else None
    for item in theirs:
        known = claim.cursor(view, item)
        if fire is not None and (known.at is None or known.at < fire):
            yield claim.put(view, item, replace(known, at=fire))


def move(view: View, idle: Mapping[int, str], now: Mapping[int, str], *, done: bool) -> Step:
    """Give these shards to their new owners, by as few transactions as the server's limit allows."""
    batch = dict(list(idle.items())[:MOST])
    last = len(batch) == len(idle)
    writes: list[Write] = [*leader.warrant(view), *settle_with_java(view, batch, now)]
    for item, who in batch.items():
        writes.append(Forbid(execution.running_node(item)))
        if item in now:
            writes.append(Put(owner_node(item), who, view.tree.version(owner_node(item))))
        else:
            writes.append(Create(owner_node(item), who))
        if next_node(item) in view.tree:
            writes.append(Delete(next_node(item)))
    if not last and PROCESSING not in view.tree:
        writes.append(Create(PROCESSING, ephemeral=True))
    if last:
        writes += [Delete(PROCESSING)] if PROCESSING in view.tree else []
        writes += [Delete(NECESSARY)] if done and NECESSARY in view.tree else []
    return do(*writes)


def leave_word(view: View, held: Mapping[int, str], want: Mapping[int, str]) -> Iterator[Step]:
    """Say who is to have a shard that still runs, and take back what is no longer meant."""
    writes: list[Write] = []
    for item, who in held.items():
        node = next_node(item)
        if node not in view.tree:
            writes.append(Create(node, who))
        elif view.tree.get(node) != who:
            writes.append(Put(node, who, view.tree.version(node)))
    for name in view.tree.children("~next"):
        if name.isdecimal() and int(name) not in held and _is_stale(view, int(name), want):
            writes.append(Delete(next_node(int(name))))
    for start in range(0, len(writes), MOST):
        yield do(*leader.warrant(view), *writes[start : start + MOST])


def _is_stale(view: View, item: int, want: Mapping[int, str]) -> bool:
    """Word left about a shard that is where it belongs, or is no more."""
    return item not in want or owners(view).get(item) == want[item]


def clear_surplus(view: View) -> Iterator[Step]:
    idle = [item for item in surplus(view) if execution.runner(view, item) is None]
    for start in range(0, len(idle), 500):
        some = idle[start : start + 500]
        yield do(*leader.warrant(view), *(Delete(f"{ROOT}/{item}", recursive=True) for item in some))


def lower_flags(view: View) -> Iterator[Step]:
    """Everything is where it belongs: let nobody wait any longer."""
    raised = [flag for flag in (NECESSARY, PROCESSING) if flag in view.tree]
    if raised:
        yield do(*leader.warrant(view), *(Delete(flag) for flag in raised))
