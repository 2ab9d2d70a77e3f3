"""Bugs planted on purpose, one at a time: a simulation that does not find them proves nothing.

Some take a guard, or a part, out of what was decided; some forget a question; some are in what does the
deciding's bidding.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from types import ModuleType

from shardwright import coordination
from shardwright.coordination import (
    account,
    barrier,
    claim,
    due,
    failover,
    group,
    instance,
    sharding,
    strategies,
    trigger,
)
from shardwright.coordination.step import Create, Delete, Forbid, Look, Put, Require, Start, Step, Write
from shardwright.coordination.view import View
from shardwright.outcomes import FAILED
from shardwright.registry.memory import MemoryRegistry
from shardwright.registry.tree import Mirror
from shardwright.runtime.member import Member
from shardwright.runtime.runs import Running
from shardwright.runtime.tries import End

from . import chaos

Decide = Callable[[View], Iterable[Step | Look]]


@dataclass(frozen=True)
class Bug:
    """What is wrong, and where it is put in."""

    decide: Decide = coordination.decide
    registry: type[MemoryRegistry] = MemoryRegistry
    member: type[Member] = Member
    instead: tuple[tuple[ModuleType, str, object], ...] = ()
    """Answers that are given instead of the right ones."""
    java: bool | None = None
    """Whether it takes Java members to show."""
    hooks: bool | None = None
    """Whether it takes hooks."""
    group: bool | None = None
    """Whether it takes a group."""
    catch_up: str | None = None
    """How missed fires are to be caught up with, if it takes that."""
    running: type[Running] = Running
    troubled: bool | None = None
    """Whether it takes tries that fail or take too long."""

    def run(self, seed: int) -> chaos.Report:
        with answering(self.instead):
            return chaos.run(
                seed,
                decide=self.decide,
                registry=self.registry,
                member=self.member,
                java=self.java,
                hooks=self.hooks,
                group=self.group,
                catch_up=self.catch_up,
                running=self.running,
                troubled=self.troubled,
            )


@contextmanager
def answering(instead: tuple[tuple[ModuleType, str, object], ...]) -> Iterator[None]:
    before = [(module, name, getattr(module, name)) for module, name, _ in instead]
    for module, name, answer in instead:
        setattr(module, name, answer)
    try:
        yield
    finally:
        for module, name, answer in before:
            setattr(module, name, answer)


# Guards left out, and writes


def rewriting(rewrite: Callable[[Write, Step], Write | None]) -> Bug:
    """Decisions with some of their writes changed, or left out."""

    def decide(view: View) -> Iterator[Step | Look]:
        for each in coordination.decide(view):
            if isinstance(each, Look):
                yield each
            else:
                writes = (rewrite(write, each) for write in each.writes)
                yield replace(each, writes=tuple(write for write in writes if write is not None))

    return Bug(decide)


def without(kind: str) -> Bug:
    """Decisions of the concepts that are left."""
    left = tuple(each for each in coordination.CONCEPTS if each.__name__.rpartition(".")[2] != kind)
    assert len(left) == len(coordination.CONCEPTS) - 1
    return Bug(instead=((coordination, "CONCEPTS", left),))


def _cursor_without_version(write: Write, step: Step) -> Write:
    return replace(write, version=None) if isinstance(write, Put) and "~~cursor" in write.path else write


def _no_cursor(write: Write, step: Step) -> Write | None:
    return None if "~~cursor" in write.path else write


def _unguarded_rescue(write: Write, step: Step) -> Write | None:
    guard = isinstance(write, Require | Forbid) and "~~cursor" in write.path
    return None if guard and not isinstance(step.then, Start) else write


def _mark_stays(write: Write, step: Step) -> Write | None:
    return None if isinstance(write, Delete) and write.path.endswith("/running") else write


def _item_stays_up(write: Write, step: Step) -> Write | None:
    return None if isinstance(write, Delete) and write.path.startswith(failover.WAITING) else write


def _request_stays(write: Write, step: Step) -> Write | None:
    return None if isinstance(write, Delete) and write.path.startswith("trigger/") else write


def _latch_is_kept(write: Write, step: Step) -> Write | None:
    return None if isinstance(write, Delete) and "/latch/" in write.path else write


def _assignments_never_land(write: Write, step: Step) -> Write:
    if isinstance(write, Put) and write.path.endswith("/instance"):
        return replace(write, version=99)
    return write


def _leader_unguarded(write: Write, step: Step) -> Write | None:
    if isinstance(write, Require) and write.path in (coordination.leader.NODE, coordination.leader.TERM):
        return None
    if isinstance(write, Put) and write.path.startswith("sharding/"):
        return replace(write, version=None)
    return write


_UNPROTECTED = count()


def _unprotected_create(write: Write, step: Step) -> Write:
    """Each try to stand in line is under another name, so that one whose answer was lost is never found."""
    if isinstance(write, Create) and write.sequential:
        folder = write.path.rpartition("/")[0]
        return replace(write, path=f"{folder}/_c_{next(_UNPROTECTED):032x}-latch-")
    return write


def _calls_unguarded(write: Write, step: Step) -> Write:
    if isinstance(write, Put) and write.path.endswith("/called"):
        return replace(write, version=None)
    return write


def _owner_not_required(write: Write, step: Step) -> Write | None:
    guard = isinstance(write, Require) and write.path.startswith("sharding/") and isinstance(step.then, Start)
    return None if guard else write


# Hands that do something else


class EffectBeforeClaim(Member):
    """Runs what it has claimed before it knows whether it has."""

    def _perform(self, step: Step) -> None:
        if isinstance(step.then, Start) and self._holds() and isinstance(self._registry, MemoryRegistry):
            self._start(step.then.claims, self._registry._store.number + 1)
            step = replace(step, then=None)
        super()._perform(step)


class KeptAtOnce(Member):
    """Does not wait for the history to have written anything."""

    def _tell(self, item: int, cursor: claim.Cursor, *, ours: bool) -> None:
        super()._tell(item, cursor, ours=ours)
        self.kept(item, cursor.made, 0, cursor.told)


class TrustsWhatCameLater(Member):
    """Takes what the history has for all that it was told before."""

    def kept(self, item: int, made: int, after: int, number: int) -> None:
        super().kept(item, made, 0, number)


class SameNameAgain(Member):
    """Comes back from a lost session as who it was before."""

    def _begin(self) -> None:
        before = self.me
        super()._begin()
        self.me = before or self.me


class WatchesOnly(MemoryRegistry):
    """Goes on from what it knew when it is connected again, without reading what it missed."""

    def _follow(self, mirror: Mirror) -> None:
        if mirror.changes:
            mirror.complete(self.clock.boot())
        else:
            super()._follow(mirror)


class TriesOnWhenToldToStop(Running):
    """Does not remember, when it is about to try again, that it was told to stop."""

    def cancel(self) -> None:
        self._tell_to_stop()


class TooSlowIsStopped(Running):
    """Takes a try that was too slow for one that somebody stopped."""

    def _stop_slow_try(self, seconds: float) -> None:
        self._tell_to_stop()


class TriesOnce(Running):
    """Tells the end of a try for that of the run, and goes on all the same."""

    def _came_out(self, end: End) -> None:
        super()._came_out(end)
        if end.outcome == FAILED and not self._over:
            self._told(end, self.shard)


# Questions forgotten


def _only_on_time(view: View, items: list[int]) -> dict[int, object]:
    found = _fires(view, items)
    return {item: fire for item, fire in found.items() if (view.now - fire).total_seconds() < 2}


_fires = due.fires


def _average(view: View) -> object:
    able = coordination.server.workers(view)
    if not able:
        return sharding.owners(view)
    question = strategies.Question(view.config.name, able, len(view.items), view.now, {})
    return strategies.answer("AVG_ALLOCATION", question)


def _not_registered(view: View, who: str) -> bool:
    return instance.node(who) not in view.tree


def _only_deletes(view: View, ours: list[int]) -> Iterator[Step]:
    if trigger.asked(view):
        yield Step((Delete(trigger.node(view.me)),))


def _give_any_back(view: View, place: str, by: str, item: int) -> Iterator[Write]:
    if place and f"places/{place.rpartition('/')[2]}" in view.groups[place.rpartition("/")[0]]:
        yield Delete(group.node(place))


def _never(*_: object) -> bool:
    return False


def _always(*_: object) -> bool:
    return True


#: What each bug is called.
#: That a shard is moved although a run of it has begun shows in fewer than one of four hundred seeds: its
#: guard stands in tests/coordination/test_sharding.py.
#: That an answer from an earlier session is believed, or one that comes when the lease is out, shows in fewer
#: than one of a hundred seeds: tests/runtime/test_member.py shows both step by step.
BUGS: dict[str, Bug] = {
    "the cursor is written at whatever version": rewriting(_cursor_without_version),
    "there is no cursor": rewriting(_no_cursor),
    "orphans are put up unguarded by the cursor": rewriting(_unguarded_rescue),
    "a claim does not require the shard to be ours": rewriting(_owner_not_required),
    "the mark of a run stays": rewriting(_mark_stays),
    "a taken item stays up": rewriting(_item_stays_up),
    "a trigger is never taken away": rewriting(_request_stays),
    "the latch is never left": rewriting(_latch_is_kept),
    "a place in line is not found again after a lost answer": rewriting(_unprotected_create),
    "assignments are guarded by versions nobody has": rewriting(_assignments_never_land),
    "a leader's writes are not guarded by its term": rewriting(_leader_unguarded),
    "a hook is called by whoever comes": replace(
        rewriting(_calls_unguarded), instead=((barrier, "caller", _always),), hooks=True
    ),
    "nobody rescues": without("failover"),
    "nobody shares out": without("sharding"),
    "nobody is elected": without("leader"),
    "ends are not told": without("ending"),
    "nobody keeps the time from which fires count": without("gap"),
    "the effect comes before the claim": Bug(member=EffectBeforeClaim),
    "an instance's name is used again": Bug(member=SameNameAgain),
    "watches only, nothing is read again": Bug(registry=WatchesOnly),
    "a fire that is late is not run": Bug(instead=((due, "fires", _only_on_time),)),
    "all shards are shared out anew each time": Bug(instead=((sharding, "wanted", _average),)),
    "a new owner ignores an unfinished claim": Bug(
        instead=((failover, "owns", _never), (failover, "put_up_unmarked", lambda view: ()))
    ),
    "an orphan is what has no instance node": Bug(instead=((instance, "dead", _not_registered),), java=True),
    "a request to fire is only taken away": Bug(instead=((trigger, "decide", _only_deletes),)),
    "a place of a group is not taken": Bug(
        instead=((group, "take", lambda view, place, item: ()),), group=True
    ),
    "a place of a group is given back by whoever accounts for a run": Bug(
        instead=((group, "give_back", _give_any_back),), group=True
    ),
    "a newcomer takes its own time for everybody's": Bug(
        instead=((due, "somebody_came", lambda view: view.local.since),),
        java=False,
        group=False,
        catch_up="skip",
    ),
    "fires that are passed over are not told of": Bug(
        instead=((due, "passed", lambda view, item, fire: ()),)
    ),
    "the history is taken to have what it was only told": Bug(member=KeptAtOnce),
    "the history is taken to have what it dropped": Bug(member=TrustsWhatCameLater),
    "what a cursor has no room for is forgotten": Bug(instead=((account, "_summed_up", lambda *_: ()),)),
    "a run that was told to stop between its tries is tried again": Bug(
        running=TriesOnWhenToldToStop, troubled=True
    ),
    "a try that took too long counts as stopped": Bug(running=TooSlowIsStopped, troubled=True),
    "the end of a try is told as the end of the run": Bug(running=TriesOnce, troubled=True),
    "a vetoed fire begins": Bug(instead=((barrier, "is_vetoed", _never),), hooks=True),
    "a fire starts under a Java leader's flag": Bug(instead=((sharding, "settled", _always),), java=True),
}
