"""Time zones: finding one by name, and what its clock changes do to wall time.

A change of the clocks either skips wall times (a *gap*) or brings them twice (an *overlap*). A *wall* is
always a naive `datetime`: what the clock on the wall shows, in a zone known from elsewhere.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from .errors import CronError

SECOND = timedelta(seconds=1)
DAY = timedelta(days=1)

# A day away from what datetime can hold, so that a look from another zone, or a second on, cannot fail.
_EARLIEST, _LATEST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)

# What java.util.TimeZone reads, and all that ElasticJob allows: GMT+8, GMT+08, GMT+8:00, GMT+08:00, GMT+0800.
_GMT = re.compile(r"GMT([+-])([0-9]{1,2}?)(?::?([0-9]{2}))?")


def instant(moment: datetime) -> datetime:
    """The same moment in UTC. Within any other zone Python compares and adds by the wall, not by the time."""
    if not isinstance(moment, datetime):
        raise CronError(f"an instant is an aware datetime, datetime.now(UTC), not {type(moment).__name__}")
    if moment.utcoffset() is None:
        raise CronError(f"{moment.isoformat()} has no time zone; give an aware datetime: datetime.now(UTC)")
    try:
        return min(max(moment.astimezone(UTC), _EARLIEST), _LATEST)
    except OverflowError:
        return _EARLIEST if moment.year == 1 else _LATEST


# Finding one


def find(zone: str | tzinfo | None) -> tzinfo:
    """The zone of that name: IANA's, `UTC`, or Java's `GMT+08:00`. None is the zone of this machine."""
    if zone is None:
        return _local()
    if isinstance(zone, tzinfo):
        return find(name(zone))
    if not isinstance(zone, str):
        raise CronError(
            f"a time zone is a name such as 'Europe/Berlin', or a tzinfo, not {type(zone).__name__}"
        )
    if zone == "UTC":
        return UTC
    if fixed := _GMT.fullmatch(zone):
        return _fixed(zone, *fixed.groups(default="0"))
    try:
        return ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # no such file, not a name at all, a folder of them
        raise CronError(f"time zone {zone[:60]!r}: {_why_unknown()}") from None


def name(zone: tzinfo) -> str:
    """The name `find` knows it by, which can be stored and shared with other replicas."""
    if isinstance(zone, timezone):
        return _gmt(zone.utcoffset(None))
    # pytz's zones answer with IANA's name too. On a datetime they go wrong silently, so ours takes its place.
    return str(zone)


def _local() -> tzinfo:
    import tzlocal  # only when asked for: it reads files and the environment

    try:
        local = tzlocal.get_localzone_name()
    except ZoneInfoNotFoundError:  # its sources contradict each other
        local = None
    if not local:
        raise CronError("the time zone of this machine has no certain name; give one: 'Europe/Berlin'")
    return find(local)


def _fixed(zone: str, sign: str, hours: str, minutes: str) -> tzinfo:
    if int(hours) > 23 or int(minutes) > 59:
        raise CronError(f"time zone {zone!r}: hours go from 0 to 23 and minutes from 00 to 59")
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    return find("UTC") if not offset else timezone(-offset if sign == "-" else offset)


def _gmt(offset: timedelta) -> str:
    if not offset:
        return "UTC"
    minutes, rest = divmod(abs(offset), timedelta(minutes=1))
    if rest:
        raise CronError(f"time zone {offset}: an offset is a number of whole minutes")
    return f"GMT{'-' if offset < timedelta(0) else '+'}{minutes // 60:02}:{minutes % 60:02}"


def _why_unknown() -> str:
    try:
        ZoneInfo("Europe/London")
    except ZoneInfoNotFoundError:
        return "there is no time zone database on this machine; pip install tzdata brings one"
    return "unknown; give an IANA name such as 'Europe/Berlin', or an offset such as 'GMT+08:00'"


# Its clock changes


@dataclass(frozen=True, slots=True)
class Change:
    """At the instant `at` the clocks go from one offset to another."""

    at: datetime
    before: timedelta
    after: timedelta

    @property
    def is_gap(self) -> bool:
        return self.after > self.before

    @property
    def low(self) -> datetime:
        """The first wall time that is skipped, or that comes twice."""
        return self.at.replace(tzinfo=None) + min(self.before, self.after)

    @property
    def high(self) -> datetime:
        """The first wall time after those."""
        return self.at.replace(tzinfo=None) + max(self.before, self.after)


def offset(zone: tzinfo, moment: datetime) -> timedelta:
    """How far the zone is ahead of UTC, at a wall time or a moment of its own."""
    return zone.utcoffset(moment.replace(tzinfo=zone)) or timedelta(0)


def change_at(zone: tzinfo, wall: datetime) -> Change | None:
    """The change that skips this wall time or brings it twice, if one does."""
    first, second = offset(zone, wall.replace(fold=0)), offset(zone, wall.replace(fold=1))
    if first == second:
        return None
    # Read with the larger offset it is an instant before the change, with the smaller one an instant after.
    low, high = wall - max(first, second), wall - min(first, second)
    return _pin(zone, low.replace(tzinfo=UTC, fold=0), high.replace(tzinfo=UTC, fold=0))


def changes(zone: tzinfo, start: datetime, end: datetime) -> tuple[Change, ...]:
    """Every change of the clocks from one instant to another."""
    return _changes(zone, instant(start), instant(end))


@lru_cache(maxsize=64)  # a service has many jobs and few zones
def _changes(zone: tzinfo, day: datetime, last: datetime) -> tuple[Change, ...]:
    """Looked for day by day."""
    found = []
    while day < last:
        if _ahead(zone, day) != _ahead(zone, day + DAY):
            found.append(_pin(zone, day, day + DAY))
        day += DAY
    return tuple(found)


def settle(zone: tzinfo, wall: datetime) -> datetime:
    """The wall time a lenient calendar such as Java's reads: one in a gap moves on by the gap's length."""
    moved = offset(zone, wall.replace(fold=1)) - offset(zone, wall.replace(fold=0))
    return wall + moved if moved > timedelta(0) else wall


def _ahead(zone: tzinfo, moment: datetime) -> timedelta:
    return offset(zone, moment.astimezone(zone))


def _pin(zone: tzinfo, low: datetime, high: datetime) -> Change:
    """The change between two instants, found by halving: seventeen looks for a day."""
    before, after = _ahead(zone, low), _ahead(zone, high)
    while high - low > SECOND:
        middle = low + (high - low) // SECOND // 2 * SECOND
        if _ahead(zone, middle) == before:
            low = middle
        else:
            high = middle
    return Change(high, before, after)
