"""Claims: a fire of a shard starts by one transaction and ends by one, and both move its cursor.

    ~~cursor/<i>    persistent, not watched    which scheduled fire the shard has come to, who runs it now,
                                               how the last run ended, and a checkpoint for a successor

The cursor's version is the one exact guard there is: the node is never deleted, so whoever claims at the
version it read is the only one to do so, whoever believes what. Its runner knows it from its own commits;
a new owner reads it once; a stale idea of it is refused. It remembers which making of the job it belongs
to, so that a job removed and made anew starts anew.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from itertools import chain

from ..outcomes import CUT_SHORT, OK
from . import account, execution, group, instance, milestone, timekeeping
from .step import Claim, Create, Forbid, Look, Put, Require, Reread, Saved, Start, Step, Write, do, portions
from .view import Source, View, birth

#: Cursors up to this length are taken apart once; of longer ones, with checkpoints, fewer are kept.
_SHORT = 2048

#: Why a run that was cut short is the end of its fire.
NOT_AGAIN = "it was told to stop, and the job does not want it to be run again"

#: How often a cursor is read again that says its shard runs where no mark does.
ASK_AGAIN = 1.0


@dataclass(frozen=True, slots=True)
class Tenure:
    """An unfinished claim: who runs the shard, for which fire, why, and the how-manieth time."""

    by: str
    attempt: str
    fire: str
    source: str
    tries: int
    place: str = ""
    """Which place of its group it has, if it needs one."""
    parameter: str = ""
    """What it runs with instead of the job's parameter, if who asked for it said so."""

    def told(self) -> list[object]:
        more = [self.place, self.parameter] if self.parameter else [self.place] if self.place else []
        return [self.by, self.attempt, self.fire, self.source, self.tries, *more]


@dataclass(frozen=True, slots=True)
class Cursor:
    """What a shard's cursor says."""

    made: int = 0
    """The number of the commit that made the job."""
    at: datetime | None = None
    """The last scheduled fire that is accounted for."""
    run: Tenure | None = None
    last: str = ""
    """How the last run ended."""
    began: datetime | None = None
    """When the last run, or the one that goes on, was claimed."""
    ended: datetime | None = None
    """When the last run ended."""
    checkpoint: str | None = None
    asked: int = 0
    """The last request to fire that the shard has run for."""
    past: bool = False
    """Whether the last claim was of a fire of the past that somebody wanted."""
    told: int = 0
    """How many entries of its account there have been."""
    tail: tuple[account.Entry, ...] = ()
    """Those of them that the history may not have yet."""
    closed: datetime | None = None
    """The last fire of its schedule, where it was said that the shard will not come to it."""

    def text(self) -> str:
        told = {
            "made": self.made,
            "at": self.at.isoformat() if self.at is not None else None,
            "run": self.run.told() if self.run is not None else None,
            "last": self.last,
            "began": self.began.isoformat() if self.began is not None else None,
            "ended": self.ended.isoformat() if self.ended is not None else None,
            "checkpoint": self.checkpoint,
            "asked": self.asked or None,
            "past": self.past or None,
            "told": self.told or None,
            "tail": [entry.told() for entry in self.tail] or None,
            "closed": self.closed.isoformat() if self.closed is not None else None,
        }
        return json.dumps({key: value for key, value in told.items() if value not in (None, "")})


def node(item: int) -> str:
    return f"~~cursor/{item}"


def read(text: str) -> Cursor:
    """A cursor from its text. One that makes no sense says nothing: the shard starts anew."""
    return _read_short(text) if len(text) < _SHORT else _read_long(text)


def _read(text: str) -> Cursor:
    try:
        told = json.loads(text)
        run = _tenure(*told["run"]) if told.get("run") else None
        checkpoint = told.get("checkpoint")
        return Cursor(
            int(told.get("made", 0)),
            _moment(told.get("at")),
            run,
            str(told.get("last", "")),
            _moment(told.get("began")),
            _moment(told.get("ended")),
            None if checkpoint is None else str(checkpoint),
            int(told.get("asked", 0)),
            bool(told.get("past", False)),
            int(told.get("told", 0)),
            account.read(told.get("tail", [])),
            _moment(told.get("closed")),
        )
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return Cursor()


_read_short = lru_cache(maxsize=20_000)(_read)
_read_long = lru_cache(maxsize=100)(_read)


def _tenure(
    by: str, attempt: str, fire: str, source: str, tries: int, place: str = "", parameter: str = ""
) -> Tenure:
    milestone.check(str(fire))
    kind = Source(source).value
    return Tenure(str(by), str(attempt), str(fire), kind, int(tries), str(place), str(parameter))


def _moment(text: str | None) -> datetime | None:
    if not text:
        return None
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def cursor(view: View, item: int) -> Cursor:
    """The shard's cursor as we know it; blank for a shard, or a making of the job, that has none yet."""
    found = view.cursors.node(item)
    told = read(found.data) if found is not None else Cursor()
    made = birth(view)
    return told if told.made == made else Cursor(made=made)


def busy(view: View, item: int) -> bool:
    """Whether the shard is marked as running, by anybody, or claimed by somebody alive."""
    if item in view.local.runs or execution.running_node(item) in view.tree:
        return True
    run = cursor(view, item).run
    return run is not None and run.by != view.me and not instance.dead(view, run.by)


def watch_unmarked(view: View, items: Iterable[int]) -> Iterator[Step | Look]:
    """A shard that only its cursor says is running: nobody will tell us when it ends, so ask now and then."""
    for item in items:
        if item in view.local.runs or execution.runner(view, item) is not None:
            continue
        again = view.cursors.learned(item) + ASK_AGAIN
        if view.boot < again:
            yield Look(again, f"does shard {item} still run?")
        else:
            yield do(then=Reread((item,)))


def attempt(view: View, item: int) -> str:
    """What a claim made on this view is called: the version it would give the cursor."""
    found = view.cursors.node(item)
    return str(0 if found is None else found.version + 1)


@dataclass(frozen=True, slots=True)
class ToldCreate(Create):
    """A cursor's first move, and what is told here of what it leaves behind."""

    entries: tuple[account.Entry, ...] = ()


@dataclass(frozen=True, slots=True)
class ToldPut(Put):
    """A cursor's move, and what is told here of what it leaves behind."""

    entries: tuple[account.Entry, ...] = ()


def put(view: View, item: int, new: Cursor, *entries: account.Entry) -> Write:
    """Move a cursor, and say what it leaves behind."""
    found = view.cursors.node(item)
    if view.local.kept is None and view.local.heard and entries:
        if found is None:
            return ToldCreate(node(item), new.text(), entries=entries)
        return ToldPut(node(item), new.text(), found.version, entries)
    if view.local.kept is not None:
        left = account.trimmed(new.tail, view.local.kept.get(item, (0, 0)), new.made)
        tail, told = account.added(left, new.told, entries, account.timetable(view.config))
        new = replace(new, tail=tail, told=told)
    return Create(node(item), new.text()) if found is None else Put(node(item), new.text(), found.version)


@dataclass(frozen=True, slots=True)
class Fire:
    """One shard's fire that is about to be claimed; `at` where it moves the shard's place in the schedule."""

    item: int
    fire: str
    source: Source
    at: datetime | None = None
    tries: int = 1
    asked: int | None = None
    """The request it answers, if it does."""
    past: bool = False
    """Whether it is one that somebody wants run after its time."""
    parameter: str = ""
    """What it is to run with instead of the job's parameter, if with anything."""
    passed: tuple[account.Passed, ...] = ()
    """The fires that it goes past."""


def unmoved(view: View, item: int) -> Write:
    """A guard: nobody has claimed or ended the shard since. Marks come and go under one name, so that their
    versions say little; the cursor's says all."""
    found = view.cursors.node(item)
    return Forbid(node(item)) if found is None else Require(node(item), found.version)


def start(
    view: View,
    fires: Sequence[Fire],
    proof: Callable[[int], Iterable[Write]],
    *,
    last: Sequence[Write] = (),
    places: Mapping[int, str] | None = None,
) -> Iterator[Step]:
    """Claim these shards and run them, all in one transaction if the registry takes it. `proof` is what makes
    each ours to run; `last` is written with the last of them. Those that their group has no room for wait."""
    if places is None:
        places = group.places(view, [fire.item for fire in fires])
    fires = [fire for fire in fires if fire.item in places]
    claims = {fire.item: _claim(view, fire) for fire in fires}
    writes = {fire.item: [*proof(fire.item), *_claiming(view, fire, places[fire.item])] for fire in fires}
    parts = list(portions(view, writes))
    for number, part in enumerate(parts, 1):
        yield do(
            Require(instance.alive_node(view.me)),
            *(timekeeping.touch(view) if number == 1 else ()),
            *(last if number == len(parts) else ()),
            *chain.from_iterable(part.values()),
            then=Start(tuple(claims[item] for item in part)),
        )


def _claim(view: View, fire: Fire) -> Claim:
    name, checkpoint = attempt(view, fire.item), cursor(view, fire.item).checkpoint
    return Claim(fire.item, fire.fire, fire.source, name, fire.tries, checkpoint, fire.parameter)


def _claiming(view: View, fire: Fire, place: str) -> Iterator[Write]:
    now = cursor(view, fire.item)
    name, source = attempt(view, fire.item), fire.source.value
    tenure = Tenure(view.me, name, fire.fire, source, fire.tries, place, fire.parameter)
    yield from group.take(view, place, fire.item)
    if fire.item not in view.local.runs:  # else its mark stands for both
        yield from execution.begin(view, [fire.item], taken_over=fire.source is Source.FAILOVER)
    asked = fire.asked or now.asked
    claimed = replace(now, at=fire.at or now.at, run=tenure, began=view.now, asked=asked, past=fire.past)
    yield put(view, fire.item, claimed, *_left(view, now), *fire.passed)
    if not _is_past(now, fire.fire):
        yield from milestone.marks(view, milestone.STARTED, fire.item, fire.fire)


def _left(view: View, now: Cursor) -> Iterator[account.Ran]:
    """The run before, where the cursor still tells of it: its runner died, or it goes on beside this one."""
    if now.run is not None and now.run.by != instance.NOBODY:
        yield _ran(view, now, "" if now.run.by == view.me else account.LOST)


def left_to_java(view: View, now: Cursor, run: Tenure | None) -> Iterator[account.Ran]:
    """The run that a cursor told of, and tells of no more: a Java member had the shard."""
    if now.run is not None and run is None:
        yield _ran(view, now, account.LOST, "a Java member had the shard")


def _ran(view: View, now: Cursor, outcome: str, why: str = "") -> account.Ran:
    """What there is to say of the run that a cursor tells of."""
    run = now.run
    assert run is not None
    ended = view.now if outcome else None
    return account.Ran(run.fire, outcome, run.by, run.attempt, run.source, run.tries, now.began, ended, why)


def still_ours(view: View, item: int) -> bool:
    """Whether the run of a shard here is the one its cursor tells of. If not, somebody has taken it over, and
    what was done under the old claim is history."""
    run = cursor(view, item).run
    return run is not None and run.by == view.me and run.attempt == view.local.runs[item].attempt


def save(view: View) -> Iterator[Step]:
    """Write the checkpoints of what runs here; a run that was taken over has no say any more."""
    texts = {
        item: run.unsaved
        for item, run in view.local.runs.items()
        if run.unsaved is not None and run.outcome is None
    }
    view.cursors.need(texts)
    writes = {
        item: [put(view, item, replace(cursor(view, item), checkpoint=text))]
        if still_ours(view, item)
        else []
        for item, text in texts.items()
    }
    for part in portions(view, writes):
        yield do(*chain.from_iterable(part.values()), then=Saved(tuple((item, texts[item]) for item in part)))


def end(
    view: View, item: int, outcome: str, at: datetime | None, passed: Iterable[account.Passed] = ()
) -> Iterator[Write]:
    """The run is over: write how it ended, and which fires fell into it that are not made good; take its mark
    away."""
    now = cursor(view, item)
    checkpoint = _checkpoint(view, item)
    fire = now.run.fire if now.run is not None else ""
    over = replace(now, at=at, run=None, last=outcome, ended=view.now, checkpoint=checkpoint)
    why = NOT_AGAIN if outcome == CUT_SHORT else ""
    ran = [_ran(view, now, outcome, why)] if now.run is not None else []
    yield put(view, item, over, *ran, *passed)
    yield from _give_place_back(view, item)
    yield from execution.end(view, [item])
    if not _is_past(now, fire):
        yield from milestone.marks(view, milestone.COMPLETED, item, fire, failed=outcome != OK)


def _is_past(now: Cursor, fire: str) -> bool:
    """Whether a shard came to later fires already: nobody waits for this one."""
    return fire[:1] not in ("", "#") and now.at is not None and datetime.fromisoformat(fire) < now.at


def leave(view: View, item: int) -> Iterator[Write]:
    """The fire is not over, and nobody runs it."""
    now = cursor(view, item)
    assert now.run is not None
    nobody = replace(now.run, by=instance.NOBODY, place="")
    left = replace(now, run=nobody, checkpoint=_checkpoint(view, item))
    yield put(view, item, left, _ran(view, now, CUT_SHORT))
    yield from _give_place_back(view, item)


def _give_place_back(view: View, item: int) -> Iterator[Write]:
    run = cursor(view, item).run
    if run is not None:
        yield from group.give_back(view, run.place, run.by, item)


def _checkpoint(view: View, item: int) -> str | None:
    """What a run of ours leaves to its successor, written or not."""
    unsaved = view.local.runs[item].unsaved
    return cursor(view, item).checkpoint if unsaved is None else unsaved


def give_up(view: View, item: int, why: str) -> Iterator[Write]:
    """Account for a run whose end nobody will tell."""
    now = cursor(view, item)
    run = [_ran(view, now, account.LOST, why)] if now.run is not None else []
    yield put(view, item, replace(now, run=None, last=why), *run)
    yield from _give_place_back(view, item)


def lose(view: View, item: int, why: str) -> Iterator[Write]:
    """The same, and its fire is over by that: nobody runs it again."""
    now = cursor(view, item)
    yield from give_up(view, item, why)
    if now.run is not None and not _is_past(now, now.run.fire):
        yield from milestone.marks(view, milestone.COMPLETED, item, now.run.fire, failed=True)
