"""Barrier: what is called once per fire, for all shards together: before the first begins, after the last
ended.

    ~barrier/<kind>/<round>/called    persistent    which fire was last called for, by whom, how far it got,
                                                    and in which making of the job
    guarantee/<kind>-latch/…          ephemeral     the line of those who would call, Java's among them

Milestones say which fire each shard has come to. All shards have come to a fire when the one furthest
behind has: one that passed a fire over, because it ran late, is not waited for there. Shards that are
disabled are left out.

Nobody waits with a thread in hand: a shard that must not begin yet is claimed and held, and what ran in a
member that died is run by another, also by one whose own shards have all ended.

Java members report their shards in `guarantee/<kind>`. One that finds all there calls; the others wait, each
with a thread, until that node is gone, and notice only what happens while they wait. So ours give them a
while to call or to begin to wait before they call themselves, and take the node away with their call; before
the first shard when the call has ended.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from . import claim, execution, failover, instance, latch, milestone, server, sharding
from .milestone import ASKED, COMPLETED, SCHEDULED, STARTED, Place, order, round_of, wanted
from .step import (
    Called,
    CallHook,
    Create,
    Delete,
    Go,
    Look,
    Put,
    Require,
    Say,
    Step,
    Veto,
    Write,
    do,
)
from .view import View, birth

#: For how long is waited where the job sets no limit, for shards that may never come: not all may have been
#: asked to fire; and those of a group may wait for the very places that those hold who wait for them.
PATIENCE = 60.0

#: Of so many disabled shards a call makes sure that they still are: more would be too much for one commit.
MOST_LEFT_OUT = 1000

#: So many fires are remembered whose shards are not to begin, for those who rescue one of them later.
MOST_VETOES = 20

#: What a call says of itself.
CALLING, DONE, FAILED, LATE, UNKNOWN = "calling", "done", "failed", "timed out", "unknown"

#: The same: it has failed, and the shards are not to begin.
VETOED = "vetoed"


@dataclass(frozen=True, slots=True)
class Last:
    """The last call of a hook."""

    fire: str
    by: str
    state: str
    round: int = 0
    """The number of the commit that made the node that Java members wait at; 0 where they do not."""
    disabled: tuple[int, ...] = ()
    failed: tuple[int, ...] = ()
    """What it is told of the shards, for whoever has to call again."""
    before: tuple[str, ...] = ()
    """The last fires before it whose shards are not to begin, for who still holds one, or rescues one."""
    made: int = 0
    """The number of the commit that made the job."""

    def text(self) -> str:
        told = [self.round, list(self.disabled), list(self.failed), list(self.before)]
        while told and not told[-1]:
            told.pop()
        return json.dumps([self.fire, self.by, self.state, self.made, *told])

    def hook(self, place: Place) -> CallHook:
        return CallHook("/".join(place), self.fire, self.disabled, self.failed)

    def over(self, state: str) -> "Last":
        return replace(self, state=state, disabled=(), failed=())

    @property
    def vetoed(self) -> tuple[str, ...]:
        """The last fires whose shards are not to begin, the latest last."""
        return (*self.before, self.fire)[-MOST_VETOES:] if self.state == VETOED else self.before


def called_node(place: Place) -> str:
    return f"~barrier/{place[0]}/{place[1]}/called"


def last_call(view: View, place: Place) -> Last | None:
    """The last call in this making of the job; None where there was none, or what is told makes no sense."""
    text = view.tree.get(called_node(place))
    try:
        fire, by, state, made, *more = json.loads(text) if text else (None, None, None, 0)
        if fire is None or int(made) != birth(view):
            return None
        milestone.check(str(fire))
        told: list[Any] = [*more, *[0, (), (), ()][len(more) :]]
        round_, disabled, failed, before = told
        vetoed = tuple(map(str, before))
        for each in vetoed:
            milestone.check(each)
        items = tuple(map(int, disabled)), tuple(map(int, failed))
        return Last(str(fire), str(by), str(state), int(round_), *items, vetoed, int(made))
    except (ValueError, TypeError, OverflowError, RecursionError):
        return None


def expected(view: View, kind: str) -> list[int]:
    """The shards that are waited for; those that a Java member has reported need no more."""
    off = left_out(view, kind)
    reported = set(view.tree.children(reports(kind))) if instance.java_members(view) else set()
    owners = sharding.owners(view)
    theirs = {
        item
        for item, owner in owners.items()
        if str(item) in reported and not instance.is_python(owner) and not _is_ours(view, kind, item)
    }
    return [item for item in view.items if item not in off and item not in theirs]


def left_out(view: View, kind: str) -> set[int]:
    """The shards that are disabled. One that was while one of us ran it comes to its end all the same, also
    where its runner dies over it."""
    off = execution.disabled(view)
    return off if kind == STARTED else off - _run_by_us(view, off) - _to_be_rescued(view, off)


def _is_ours(view: View, kind: str, item: int) -> bool:
    """Whether a shard that is a Java member's is ours all the same: one of us still runs it, or has reported
    it."""
    return bool(_run_by_us(view, {item})) or _reported_by_us(view, kind, item)


def _run_by_us(view: View, items: set[int]) -> set[int]:
    """Of these shards, those that one of us runs, whoever owns them."""
    runners = execution.runners(view, items)
    return {item for item in items if item in view.local.runs or instance.is_python(runners.get(item, ""))}


def _to_be_rescued(view: View, items: set[int]) -> set[int]:
    """Of these shards, those that the dead were running: until another has run or accounted for them."""
    return {*execution.orphans(view, items), *(item for item in items if failover.taken(view, item))}


def _reported_by_us(view: View, kind: str, item: int) -> bool:
    """Whether one of us has told Java members of the shard, in a round that was not called for yet: it may be
    theirs since, and run for a later fire where it was."""
    told = view.tree.node(milestone.guarantee_node(kind, item)).made
    for place in ((kind, SCHEDULED), (kind, ASKED)):
        mark, last = milestone.marks_of(view, place).get(item), last_call(view, place)
        if mark is None or not mark.java or (last is not None and order(mark.fire) <= order(last.fire)):
            continue
        if told <= view.tree.node(milestone.mark_node(place, item)).written:
            return True
    return False


def reached(view: View, place: Place, last: Last | None) -> str | None:
    """The fire that all shards have come to since the last call; None where one has not come to any.

    The same request has another number at each instance: all are answered when the last has come.
    """
    every = milestone.marks_of(view, place)
    marks = {item: mark for item, mark in every.items() if not _closed_by_java(view, place, item)}
    fires = [marks[item].fire if item in marks else None for item in expected(view, place[0])]
    known = sorted((fire for fire in fires if fire is not None), key=order)
    if not known or len(known) < len(fires) or (last is not None and order(known[0]) <= order(last.fire)):
        return None
    return known[0] if place[1] == SCHEDULED else known[-1]


def claimed(view: View, place: Place, fire: str, last: Last | None) -> Last:
    """Our call for a fire that all have come to, with what is known of the shards: a Java member does not say
    how one ended that it ran."""
    marks = milestone.marks_of(view, place)
    off = (item for item in left_out(view, place[0]) if item not in marks or _is_before(marks[item], fire))
    ill = (item for item, mark in marks.items() if any(_is_of(last, fire, each) for each in mark.failed))
    before = last.vetoed if last is not None else ()
    told = tuple(sorted(off)), tuple(sorted(ill))
    return Last(fire, view.me, CALLING, 0, *told, before, birth(view))


def _is_before(mark: milestone.Mark, fire: str) -> bool:
    return order(mark.fire) < order(fire)


def _is_of(last: Last | None, fire: str, each: str) -> bool:
    """Whether a shard's fire is the one that is called for: a request has another number at each instance."""
    if round_of(fire) == SCHEDULED:
        return each == fire
    return order(each) <= order(fire) and (last is None or order(each) > order(last.fire))


def _closed_by_java(view: View, place: Place, item: int) -> bool:
    """Whether a Java member has called for the fire that this shard came to: it took the report away."""
    mark = milestone.marks_of(view, place)[item]
    told = mark.java and bool(instance.java_members(view))
    return told and milestone.guarantee_node(place[0], item) not in view.tree


def latch_of(kind: str) -> str:
    return f"guarantee/{kind}-latch"


def caller(view: View) -> bool:
    """Whether the calling is ours: the owner's of the first shard, or the first Python worker's; where nobody
    may work any more, that of one who is still there."""
    able = [who for who in server.workers(view) if instance.is_python(who)]
    ours = able or [who for who in view.tree.children(instance.ROOT) if instance.is_python(who)]
    first = view.tree.get(sharding.owner_node(0))
    return view.me == (first if first in ours else next(iter(ours), None))


def decide(view: View) -> Iterator[Step | Look]:
    if not instance.registered(view):
        return
    yield from tell(view)
    if view.local.stopped:
        for kind in (STARTED, COMPLETED):
            yield from latch.withdraw(view, latch_of(kind))
        return
    for kind in (STARTED, COMPLETED):
        if wanted(view, kind):
            yield from look_at(view, kind)
            yield from close_round(view, (kind, SCHEDULED))
            yield from close_round(view, (kind, ASKED))
    yield from release(view)


def tell(view: View) -> Iterator[Step]:
    """Our call is over: say so, unless somebody has called again since."""
    for name, call in view.local.calls.items():
        kind, _, round_ = name.partition("/")
        place = (kind, round_)
        last = last_call(view, place)
        if call.outcome is None:
            continue
        if last is not None and (last.fire, last.by) == (call.fire, view.me):
            ended = last.over(call.outcome).text()
            node = called_node(place)
            yield do(Put(node, ended, view.tree.version(node)), then=Called(name))
        else:
            yield do(then=Called(name))


def look_at(view: View, kind: str) -> Iterator[Step | Look]:
    """Call, if all have come to a fire that was not called for; call again, or give up, where that failed."""
    ready = False
    for place in ((kind, SCHEDULED), (kind, ASKED)):
        last = last_call(view, place)
        if last is not None and last.state == CALLING:
            yield from unfinished(view, place, last)
        elif not caller(view):
            continue
        elif (fire := reached(view, place, last)) is not None:
            ready = True
            yield from call(view, place, claimed(view, place, fire, last))
        else:
            yield from give_up(view, place, last)
    if not ready:
        yield from latch.withdraw(view, latch_of(kind))


def unfinished(view: View, place: Place, last: Last) -> Iterator[Step | Look]:
    """A call that goes on, or that nobody will tell the end of."""
    kind, name, node = place[0], "/".join(place), called_node(place)
    if last.by == view.me:
        if name not in view.local.calls:
            # Ours, and the answer was lost: call now.
            guard = (Require(instance.alive_node(view.me)), Require(node, view.tree.version(node)))
            yield do(*guard, then=last.hook(place))
    elif not instance.dead(view, last.by):
        yield from instance.when_dead(view, last.by)
    elif caller(view) and view.local.hooks.again:
        yield do(*written(view, place, replace(last, by=view.me)), then=last.hook(place))
    elif caller(view):
        said = Say(f"what is called once all shards have {kind} was cut short for {last.fire} and is let be")
        state = VETOED if kind == STARTED and view.local.hooks.vital else UNKNOWN
        yield do(*written(view, place, last.over(state)), then=said)


def call(view: View, place: Place, last: Last) -> Iterator[Step | Look]:
    """Claim a call. While Java members are there, whose listeners would call too, by their latch. A shard
    that is not waited for because it is disabled may have been enabled since, and run."""
    still = [
        Require(execution.disabled_node(item)) for item in sorted(left_out(view, place[0]))[:MOST_LEFT_OUT]
    ]
    writes, then = [*still, *record(view, place, last)], last.hook(place)
    if not instance.java_members(view):
        yield do(*writes, then=then)
        return
    begin = max(map(view.tree.since, _reported(view, place[0])), default=0.0) + sharding.HEED
    if view.boot < begin:
        yield Look(begin, f"Java members may call that all shards have {place[0]}")
    else:
        yield from latch.act(view, latch_of(place[0]), *writes, then=then)


def record(view: View, place: Place, last: Last) -> list[Write]:
    """Write of a call, and close the round that Java members are in: at once, unless their shards are not to
    begin before it has ended."""
    root = reports(place[0])
    if root not in view.tree:
        return written(view, place, last)
    if place[0] == STARTED and instance.java_members(view):
        return written(view, place, replace(last, round=view.tree.node(root).made))
    return [*written(view, place, last), Delete(root, recursive=True)]


def reports(kind: str) -> str:
    return f"guarantee/{kind}"


def _reported(view: View, kind: str) -> list[str]:
    return [f"{reports(kind)}/{name}" for name in view.tree.children(reports(kind))]


def close_round(view: View, place: Place) -> Iterator[Step]:
    """Let Java members go on when what they wait for has been called."""
    root, node, last = reports(place[0]), called_node(place), last_call(view, place)
    if last is None or last.state == CALLING or not last.round or not caller(view):
        return
    if root in view.tree and view.tree.node(root).made == last.round:
        yield do(Require(node, view.tree.version(node)), Delete(root, recursive=True))


def written(view: View, place: Place, last: Last) -> list[Write]:
    node = called_node(place)
    known = node in view.tree
    return [
        Require(instance.alive_node(view.me)),
        Put(node, last.text(), view.tree.version(node)) if known else Create(node, last.text()),
    ]


def give_up(view: View, place: Place, last: Last | None) -> Iterator[Step | Look]:
    """Wait no longer than the job wants for shards that do not come."""
    hooks = view.local.hooks
    patience = hooks.started_timeout if place[0] == STARTED else hooks.completed_timeout
    if patience is None and (place[1] == ASKED or (place[0] == STARTED and view.config.group)):
        patience = PATIENCE
    waiting = [
        mark
        for item, mark in milestone.marks_of(view, place).items()
        if (last is None or order(mark.fire) > order(last.fire))
        and not (mark.java and milestone.guarantee_node(place[0], item) not in view.tree)
    ]
    if patience is None or not waiting:
        return
    first = min(waiting, key=lambda mark: mark.at)
    # A mark from the future was made before the registry's clock was set back: nobody waits for that.
    left = patience - abs((view.now - first.at).total_seconds())
    if left > 0:
        yield Look(view.boot + left, f"have all shards {place[0]}?")
        return
    said = Say(f"not all shards have {place[0]} for {first.fire} within {patience:g} s: it is not waited for")
    before = last.vetoed if last is not None else ()
    late = Last(first.fire, view.me, LATE, before=before, made=birth(view))
    yield do(*record(view, place, late), then=said)


def release(view: View) -> Iterator[Step]:
    """Let begin what was held until all were claimed and the hook was called."""
    held = [item for item, run in view.local.runs.items() if run.held and run.outcome is None]
    ready = tuple(item for item in held if may_begin(view, item))
    vetoed = tuple(item for item in ready if is_vetoed(view, item))
    if vetoed:
        yield do(then=Veto(vetoed))
    if begin := tuple(item for item in ready if item not in vetoed):
        yield do(then=Go(begin))


def may_begin(view: View, item: int) -> bool:
    fire = view.local.runs[item].fire
    last = last_call(view, (STARTED, round_of(fire)))
    if last is not None and order(last.fire) >= order(fire):
        return last.state != CALLING
    # A Java member has called, and closed the round in which we had told it of ours.
    mark = milestone.marks_of(view, (STARTED, round_of(fire))).get(item)
    told = mark is not None and mark.fire == fire and mark.java
    return told and milestone.guarantee_node(STARTED, item) not in view.tree


def is_vetoed(view: View, item: int) -> bool:
    """Whether the call that a held run has waited for forbids it to begin. Nothing was called for one that
    somebody wants of a fire of the past."""
    fire = view.local.runs[item].fire
    last = last_call(view, (STARTED, round_of(fire)))
    if last is None or not last.vetoed or claim.cursor(view, item).past:
        return False
    if round_of(fire) == SCHEDULED:
        return fire in last.vetoed
    return order(fire) <= order(last.vetoed[-1])  # a request has another number at each instance
