"""The past: fires that are to run once more, or after all, because an operator wants them to.

They are put on the lists of their shards (`coordination.again`), which whoever owns a shard works off, one
fire after the other, whenever nothing is due or by turns with it. Only Python members know of that.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice

from ..coordination import again, instance
from ..coordination.again import Wish
from ..errors import NotValid, OperationError
from ..registry import Create, Put, Registry
from ..schedule import Schedule
from . import looking, steering
from .looking import Sight
from .steering import Plan
from .values import Shown

#: How many fires are put on the lists at a time, at most: those of all shards together.
MOST = 1000

_FIRST, _TICK = datetime.min.replace(tzinfo=UTC), timedelta(microseconds=1)

#: As which try a fire runs that has run before, and one that may not have.
ONCE_MORE, AFTER_ALL = 2, 1


@dataclass(frozen=True, slots=True)
class Left(Shown):
    """What is still on the lists of a job's shards, or runs from there."""

    job: str
    waiting: int
    running: int


def rerun(sight: Sight, at: datetime, items: Collection[int] | None = None) -> Plan:
    """Have one fire run once more, all its shards or these."""
    schedule = _schedule(sight)
    moment = _aware(at)
    if moment > sight.now:
        raise NotValid(f"job {sight.name!r}: {moment.isoformat()} has not come yet")
    if schedule.next(just_before(moment)) != moment:
        after = schedule.next(moment)
        hint = f"; the next one after it is {after.isoformat()}" if after is not None else ""
        raise NotValid(f"job {sight.name!r}: it does not fire at {moment.isoformat()}{hint}")
    return _put(sight, [(moment.astimezone(UTC).isoformat(), ONCE_MORE)], items)


def fires(
    sight: Sight, begin: datetime, end: datetime, items: Collection[int] | None = None
) -> list[datetime]:
    """The fires from one time until before another, as a backfill would put them on the lists; refused where
    there are too many, or none."""
    schedule, first, last = _schedule(sight), _aware(begin), min(_aware(end), sight.now)
    if _aware(end) <= first:
        raise NotValid(
            f"job {sight.name!r}: the stretch ends at {_aware(end).isoformat()}, which is not after its "
            f"beginning at {first.isoformat()}; give the earlier time first"
        )
    if last <= first:
        raise NotValid(f"job {sight.name!r}: {first.isoformat()} has not come yet")
    shards = len(_items(sight, items))
    found = list(
        islice(
            schedule.between(just_before(first), just_before(last)),
            MOST // max(1, shards) + 1,
        )
    )
    if not found:
        raise NotValid(f"job {sight.name!r}: it does not fire from {first.isoformat()} to {last.isoformat()}")
    if len(found) * shards > MOST:
        raise NotValid(
            f"job {sight.name!r}: that is more than {MOST} runs at a time; take a shorter stretch, "
            f"that ends before {found[-1].isoformat()}"
        )
    return found


def backfill(sight: Sight, begin: datetime, end: datetime, items: Collection[int] | None = None) -> Plan:
    """Have all fires of a stretch run, the oldest first, whether they have run before or not."""
    wanted = fires(sight, begin, end, items)
    return _put(sight, [(fire.astimezone(UTC).isoformat(), AFTER_ALL) for fire in wanted], items)


def left(registry: Registry, job: str) -> Left:
    """How much is left to do of what was put on the lists. A claim takes a fire off its list and into the
    cursor: who reads the lists first, and the cursors after them, overlooks none."""
    lists = looking.at(registry, job)
    waiting = sum(len(_list(lists, item)) for item in lists.items)
    sight = looking.at(registry, job)
    cursors = map(sight.cursor, sight.items)
    return Left(job, waiting, sum(cursor.past and cursor.run is not None for cursor in cursors))


def _put(sight: Sight, wishes: list[Wish], items: Collection[int] | None) -> Plan:
    steering.check_somebody(sight, "asked for anything")
    if not any(map(instance.is_python, sight.members)):
        raise OperationError(
            f"job {sight.name!r}: only Java processes are in it, which cannot run past fires"
        )
    return steering.together(*(_put_one(sight, wishes, item) for item in _items(sight, items)))


def _put_one(sight: Sight, wishes: Iterable[Wish], item: int) -> Plan:
    known = _list(sight, item)
    new = [wish for wish in wishes if wish[0] not in {fire for fire, _ in known}]
    if not new:
        return Plan()
    if len(known) + len(new) > MOST:
        raise OperationError(
            f"job {sight.name!r}: {len(known)} fires wait for shard {item} already: let it run them"
        )
    node, told = sight.at(again.node(item)), again.text([*known, *new], sight.made)
    there = again.node(item)[1:] in sight.own
    write = Put(node, told, sight.own.version(again.node(item)[1:])) if there else Create(node, told)
    said = tuple(f"shard {item} runs {fire} as soon as it is free" for fire, _ in new)
    return Plan((steering.still_there(sight), write), said)


def _list(sight: Sight, item: int) -> list[Wish]:
    return again.read(sight.own.get(again.node(item)[1:]) or "", sight.made)


def _items(sight: Sight, items: Collection[int] | None) -> list[int]:
    if items is None:
        return sight.items
    if not items:
        raise NotValid(f"job {sight.name!r}: name the shards that are to run, or ask for all of them")
    for item in items:
        steering.check_shard(sight, item)
    return sorted(set(items))


def _schedule(sight: Sight) -> Schedule:
    schedule = sight.settings.timetable()
    if schedule is None:
        raise OperationError(
            f"job {sight.name!r}: it has no schedule, so it has no past fires; trigger it instead"
        )
    return schedule


def just_before(moment: datetime) -> datetime:
    """The last moment before another; before the first one that there is comes none."""
    return max(moment, _FIRST + _TICK) - _TICK


def _aware(moment: datetime) -> datetime:
    if not isinstance(moment, datetime):
        raise NotValid(f"a fire is known by its time, a datetime with an offset, and not by {moment!r}")
    if moment.tzinfo is None:
        raise NotValid(f"{moment.isoformat()} has no offset: write {moment.isoformat()}+00:00, or another")
    return moment
