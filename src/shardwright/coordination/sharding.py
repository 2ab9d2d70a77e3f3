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
anything from a Java member, gives that a moment to be heeded, and lowers it with the moves. A Java leader
shares out when it is flagged to, and may miss the reason for it: it lowers the flag, too, of somebody who
came while it shared out, and one elected after somebody had gone does not look back. Whoever sees an
assignment that has been wrong for a while raises the flag again.
"""

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain

from . import again, claim, due, execution, instance, leader, request, server, settings, strategies
from .step import Create, Delete, Forbid, Look, Put, Require, Say, Step, Write, do, portions
from .view import View, number, once

ROOT = "sharding"
NEXT = "~next"
NECESSARY, PROCESSING = "leader/sharding/necessary", "leader/sharding/processing"

#: How long a Java member may take from asking whether `necessary` stands to marking its shards as running.
HEED = 1.0

#: How long nothing must have changed until a Java leader is taken to have missed something.
MISSED = 10.0

#: Asked again it answers otherwise, so it is asked only when there is a reason.
_FICKLE = "SINGLE_SHARDING_BALANCE"

STICKY = "sticky"
_TROUBLE = "sharding.trouble"


def owner_node(item: int) -> str:
    return f"{ROOT}/{item}/instance"


def next_node(item: int) -> str:
    return f"{NEXT}/{item}"


@once
def owners(view: View) -> dict[int, str]:
    """Who owns which shard, the dead included."""
    nodes = {item: owner_node(item) for item in view.items if owner_node(item) in view.tree}
    view.tree.need(nodes.values())
    return {item: view.tree.get(node) or "" for item, node in nodes.items()}


@once
def mine(view: View) -> list[int]:
    return [item for item, owner in owners(view).items() if owner == view.me]


def given(view: View) -> dict[int, int]:
    """Our shards, each with the number of the commit that gave it to us."""
    return {item: view.tree.node(owner_node(item)).written for item in mine(view)}


def shared_out(view: View) -> bool:
    """Whether every shard is somebody's who is there: else some may be ours next."""
    found = owners(view)
    return len(found) == len(view.items) and all(instance.node(who) in view.tree for who in found.values())


def owned(view: View, item: int) -> Write:
    """The proof that a shard is ours by assignment."""
    return Require(owner_node(item), view.tree.version(owner_node(item)))


def surplus(view: View) -> list[int]:
    """Shards left from when there were more."""
    numbers = (number(name) for name in view.tree.children(ROOT))
    return sorted(item for item in numbers if item is not None and item not in view.items)


def wanted(view: View) -> Mapping[int, str]:
    """Who should own which shard; as things stand where nothing needs to change."""
    now, able = owners(view), server.workers(view)
    whole = len(now) == len(view.items)
    orphaned = [item for item, owner in now.items() if instance.dead(view, owner)]
    if not able or (view.config.static_sharding and whole and not orphaned):
        return now
    name = view.config.strategy
    if name == _FICKLE and whole and _fair(now, able):
        return now
    answer = _ask(view, name, strategies.Question(view.config.name, able, len(view.items), view.now, now))
    if view.config.static_sharding and whole:
        # Ids are new with every session: what belonged to a dead one must go to somebody.
        return {**now, **{item: answer[item] for item in orphaned}}
    return answer


def _ask(view: View, name: str, question: strategies.Question) -> Mapping[int, str]:
    """Ask a strategy, which may be a user's own, and fail or not be known here: then all is shared out as if
    none was named."""
    if not strategies.known(name):
        view.answers[_TROUBLE] = (
            f"the sharding strategy {name!r} is not known in this process: {STICKY!r} stands in for it; "
            "register it wherever the job may be led"
        )
        return strategies.answer(STICKY, question)
    try:
        return strategies.answer(name, question)
    except Exception as error:
        view.answers[_TROUBLE] = (
            f"the sharding strategy {name!r} failed ({error!r}): {STICKY!r} stands in for it"
        )
        return strategies.answer(STICKY, question)


def _fair(now: Mapping[int, str], able: list[str]) -> bool:
    """Whether nobody but these owns anything, and none much more than another."""
    counts = Counter(now.values())
    loads = [counts[who] for who in able]
    return counts.keys() <= set(able) and max(loads) - min(loads) <= 1


def settled(view: View) -> bool:
    """Whether everybody may start what is theirs. A Java leader finds no quiet moment otherwise."""
    return not (leader.is_java(view) and (NECESSARY in view.tree or PROCESSING in view.tree))


def decide(view: View) -> Iterator[Step | Look]:
    if leader.is_java(view):
        yield from remind(view)
    if not leader.is_me(view):
        return
    now, want = owners(view), wanted(view)
    moves = {item: who for item, who in want.items() if now.get(item) != who}
    if _TROUBLE in view.answers:
        yield do(then=Say(str(view.answers[_TROUBLE])))
    held = execution.runners(view, moves)
    idle = {item: who for item, who in moves.items() if execution.running_node(item) not in view.tree}
    yield from leave_word(view, {item: want[item] for item in held}, want)
    yield from clear_surplus(view)

    movable = idle
    if any(not instance.is_python(who) for who in (*now.values(), *want.values())):
        kindly = yield from mind_java(view, idle, held, now)
        if kindly is None:
            return
        movable = kindly
    waits = len(movable) < len(idle) or any(not instance.is_python(who) for who in held.values())
    if movable:
        yield move(view, movable, now, done=not waits)
    elif not waits:
        yield from lower_flags(view)


def remind(view: View) -> Iterator[Step | Look]:
    """Have a Java leader share out anew where it has missed that it should."""
    flagged = NECESSARY in view.tree or PROCESSING in view.tree
    if flagged or not instance.registered(view) or settings.refused(view) or _as_java_would(view):
        return
    quiet = max(map(view.tree.since, _told_to_a_java_leader(view))) + MISSED
    if view.boot < quiet:
        yield Look(quiet, "the Java leader may have missed that the shards are to be shared out anew")
    else:
        leads = Require(leader.NODE, view.tree.version(leader.NODE))
        yield do(Require(instance.alive_node(view.me)), leads, Create(NECESSARY))


def _as_java_would(view: View) -> bool:
    """Whether the assignment is what a Java leader makes of those who are there, or none that we can tell."""
    name, now = strategies.of_java(view.config.strategy), owners(view)
    # It knows nothing of draining, and lets shards that are to stay where they are stay with the dead.
    able = [who for who in view.tree.children("instances") if server.enabled(view, who)]
    if name is None or view.config.static_sharding or not able:
        return True
    if name == _FICKLE or name != view.config.strategy:
        # It answers otherwise each time; or a leader of ours has shared out by a strategy that Java lacks.
        return len(now) == len(view.items) and _fair(now, able)
    workers = strategies.in_elasticjob_order(able)
    return now == _ask(view, name, strategies.Question(view.config.name, workers, len(view.items), view.now))


def _told_to_a_java_leader(view: View) -> Iterator[str]:
    """What has it share out anew, or says that it has."""
    yield from (leader.NODE, NECESSARY, PROCESSING)
    yield from map(instance.node, view.tree.children("instances"))
    yield from map(instance.node, owners(view).values())
    yield from (f"servers/{address}" for address in view.tree.children("servers"))


def mind_java(
    view: View, idle: Mapping[int, str], held: Mapping[int, str], now: Mapping[int, str]
) -> Generator[Step | Look, None, dict[int, str] | None]:
    """What may be moved at once so that no Java member is surprised; None: nothing yet."""
    away = {owner for owner in now.values() if _may_have_blinked(view, owner)}
    for gone in sorted(away):
        yield from instance.when_dead(view, gone)
    theirs = [item for item in (*idle, *held) if _is_java_here(view, now.get(item) or held.get(item))]
    if theirs and NECESSARY not in view.tree:
        yield do(*leader.warrant(view), Create(NECESSARY))
        return None
    # It may have asked before the flag was up; or it has just ended a run, and runs again if it sees no flag.
    quiet = [view.tree.since(path) + HEED for path in (NECESSARY, *map(execution.running_node, theirs))]
    if theirs and view.boot < max(quiet):
        yield Look(max(quiet), "Java members have heeded the flag by then")
        return None
    free = {item: who for item, who in idle.items() if now.get(item) not in away}
    until = due.stirring(view)
    if until is not None and any(not instance.is_python(who) for who in free.values()):
        yield Look(view.boot + (until - view.now).total_seconds(), "a fire is near that Java may run")
        free = {item: who for item, who in free.items() if instance.is_python(who)}
    return free


def _is_java_here(view: View, who: str | None) -> bool:
    return bool(who) and not instance.is_python(who or "") and instance.node(who or "") in view.tree


def _may_have_blinked(view: View, owner: str) -> bool:
    """A Java member that has gone just now, and may be back at once."""
    return (
        not instance.is_python(owner)
        and instance.node(owner) not in view.tree
        and not instance.dead(view, owner)
    )


def settle_with_java(view: View, items: Iterable[int], now: Mapping[int, str]) -> dict[int, list[Write]]:
    """Java members keep no cursors. What one has had is accounted for up to now, so that nobody runs it
    again."""
    writes: dict[int, list[Write]] = {item: [] for item in items}
    theirs = [item for item in writes if (owner := now.get(item)) and not instance.is_python(owner)]
    view.cursors.need(theirs)
    fire = due.latest(view.schedule, view.now) if theirs and view.schedule is not None else None
    for item in theirs:
        known = claim.cursor(view, item)
        at = max((moment for moment in (known.at, fire) if moment is not None), default=None)
        run = known.run if known.run is not None and not instance.dead(view, known.run.by) else None
        if (known.at, known.run) != (at, run):
            left = claim.left_to_java(view, known, run)
            went = due.had_by_java(view, known.at, at)
            writes[item].append(claim.put(view, item, replace(known, at=at, run=run), *left, *went))
    return writes


def move(view: View, idle: Mapping[int, str], now: Mapping[int, str], *, done: bool) -> Step:
    """Give these shards to their new owners, as many at a time as the registry takes."""
    cursors = settle_with_java(view, idle, now)
    ours = {item: owner for item in idle if (owner := now.get(item)) and instance.is_python(owner)}
    owing = request.take_along(view, ours)
    writes = {
        item: [*_give(view, item, who), *cursors[item], *owing.get(item, ())] for item, who in idle.items()
    }
    batch = next(portions(view, writes))
    losers = sorted({ours[item] for item in batch if item in ours and not instance.dead(view, ours[item])})
    flags: list[Write] = [guard for who in losers for guard in request.heard(view, who)]
    if len(batch) < len(idle) and PROCESSING not in view.tree:
        flags.append(Create(PROCESSING, ephemeral=True))
    if len(batch) == len(idle):
        flags += [Delete(PROCESSING)] if PROCESSING in view.tree else []
        flags += [Delete(NECESSARY)] if done and NECESSARY in view.tree else []
    return do(*leader.warrant(view), *chain.from_iterable(batch.values()), *flags)


def _give(view: View, item: int, who: str) -> Iterator[Write]:
    owner = owner_node(item)
    yield Forbid(execution.running_node(item))
    yield Put(owner, who, view.tree.version(owner)) if owner in view.tree else Create(owner, who)
    if next_node(item) in view.tree:
        yield Delete(next_node(item))


def leave_word(view: View, held: Mapping[int, str], want: Mapping[int, str]) -> Iterator[Step]:
    """Say who is to have a shard that still runs, and take back what is no longer meant."""
    writes: dict[int, list[Write]] = {}
    for item, who in held.items():
        node = next_node(item)
        if node not in view.tree:
            writes[item] = [Create(node, who)]
        elif view.tree.get(node) != who and not _may_stay(view, node):
            writes[item] = [Put(node, who, view.tree.version(node))]
    for name in view.tree.children(NEXT):
        told = number(name)
        if told is not None and told not in held and _is_stale(view, told, want):
            writes[told] = [Delete(next_node(told))]
    for part in portions(view, writes):
        yield do(*leader.warrant(view), *chain.from_iterable(part.values()))


def _may_stay(view: View, node: str) -> bool:
    """Word that names somebody able is good enough where the strategy would say something else each time."""
    return view.config.strategy == _FICKLE and view.tree.get(node) in server.workers(view)


def _is_stale(view: View, item: int, want: Mapping[int, str]) -> bool:
    """Word left about a shard that is where it belongs, or is no more."""
    return item not in want or owners(view).get(item) == want[item]


def clear_surplus(view: View) -> Iterator[Step]:
    left = surplus(view)
    held = execution.runners(view, left)
    gone: dict[int, list[Write]] = {item: list(_clear(view, item)) for item in left if item not in held}
    for part in portions(view, gone):
        yield do(*leader.warrant(view), *settings.unchanged(view), *chain.from_iterable(part.values()))


def _clear(view: View, item: int) -> Iterator[Write]:
    """Take a shard away, and what was asked of it: should it come back one day, nobody waits for that any
    more. Somebody who has not heard of the new total may be starting it."""
    if execution.running_node(item) not in view.tree:
        yield Forbid(execution.running_node(item))
    yield Delete(f"{ROOT}/{item}", recursive=True)
    for asked in (again.node(item), request.owed_node(item)):
        if asked in view.tree:
            yield Delete(asked)


def lower_flags(view: View) -> Iterator[Step]:
    """Everything is where it belongs: let nobody wait any longer."""
    raised = [flag for flag in (NECESSARY, PROCESSING) if flag in view.tree]
    if raised:
        yield do(*leader.warrant(view), *(Delete(flag) for flag in raised))
