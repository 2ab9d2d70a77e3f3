"""Cron schedules: from a Quartz expression and a zone to the instants at which to fire.

    >>> Cron("0 30 9 ? * MON-FRI", zone="Europe/Berlin").next(datetime(2026, 1, 1, tzinfo=UTC))
    datetime.datetime(2026, 1, 1, 9, 30, tzinfo=zoneinfo.ZoneInfo(key='Europe/Berlin'))

Nothing here reads a clock, so all replicas compute the same times. Where the zone's clocks change, one of
two rules decides:

`quartz` (what existing configurations mean today, and the default)
    A wall time that is skipped does not fire. One that comes twice fires once, the second time: a schedule
    that repeats falls silent for the first of the two hours, and `next`, asked from inside that hour, answers
    as if it were already the second. Across a gap the search goes as Quartz's own goes (`_step_by_step`),
    which now and then passes over a time soon after it.

`continuous` (the saner one)
    A schedule that *repeats*, that is, whose hours field holds every hour, follows real time: it fires in
    both hours of an overlap, and after a gap it just goes on. Any other schedule is a list of *fixed* wall
    times: those in a gap become one fire, at the first instant after the gap; those in an overlap fire once,
    the first time.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Literal, get_args

from . import quartz, zones
from .errors import CronError
from .walltime import Pattern
from .zones import DAY, SECOND, Change

__all__ = ["Cron", "Dst", "Timetable"]

Dst = Literal["quartz", "continuous"]

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
_NEAR = 3 * DAY


class Timetable:
    """Wall times in a zone: what Quartz's cron and UNIX's have in common. An immutable value."""

    __slots__ = ("_dst", "_fixed", "_pattern", "_remarks", "_text", "_tz", "_zone")

    def __init__(self, text: str, pattern: Pattern, remarks: tuple[str, ...], zone: tzinfo, dst: Dst) -> None:
        if dst not in get_args(Dst):
            raise CronError(f"dst {dst!r}: it is one of {', '.join(map(repr, get_args(Dst)))}")
        self._text = text
        self._pattern = pattern
        self._remarks = remarks
        self._tz = zone
        self._zone = zones.name(zone)
        self._dst = dst
        self._fixed = zone.utcoffset(None) is not None

    @property
    def text(self) -> str:
        return self._text

    @property
    def zone(self) -> str:
        return self._zone

    @property
    def dst(self) -> Dst:
        return self._dst

    @property
    def tz(self) -> tzinfo:
        return self._tz

    @property
    def pattern(self) -> Pattern:
        return self._pattern

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the dialect makes of the odder parts of the text: for `schedule.lint`."""
        return self._remarks

    @property
    def repeats(self) -> bool:
        return len(self._pattern.hours) == 24

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Timetable) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._text!r}, zone={self._zone!r}, dst={self._dst!r})"

    def __str__(self) -> str:
        return self._text

    def _identity(self) -> tuple[type, str, str, str]:
        return type(self), self._text, self._zone, self._dst

    # Questions

    def next(self, after: datetime) -> datetime | None:
        """The first fire after an instant, or None if there is none.

        It is in the schedule's zone. Take it to UTC before comparing it with times of other zones: one on a
        wall time that comes twice equals, to Python, none of them.
        """
        if self._dst == "continuous" and not self._fixed:
            return self._first_moment(_second_after(after))
        if not isinstance(after, datetime):
            zones.instant(after)  # which says why not
        # The ordinary case is worth some care: no conversion, one search, three looks at the zone.
        here, second = after, after.second + 1
        if after.tzinfo is not self._tz or second == 60:  # clocks change on the minute, if they do
            here = _second_after(after).astimezone(self._tz)
            second = here.second
        match = self._pattern.first_from(here.year, here.month, here.day, here.hour, here.minute, second)
        if match is None:
            return None
        found = datetime(*match, tzinfo=self._tz)
        if self._fixed:
            return found
        offset = found.utcoffset()
        if offset == here.utcoffset() and offset == found.replace(fold=1).utcoffset():
            return found
        return self._across_a_change(_second_after(after).astimezone(self._tz))

    def previous(self, before: datetime) -> datetime | None:
        """The last fire before an instant, or None if there is none.

        Quartz cannot be asked this. Here every matching wall time counts, even one its `next` passes over.
        """
        return self._last_moment(_second_before(before))

    def between(self, start: datetime, end: datetime) -> Iterator[datetime]:
        """Every fire after `start`, up to and including `end`."""
        return walk(self.next, start, end)

    # The rule of Quartz

    def _across_a_change(self, start: datetime) -> datetime | None:
        match = self._pattern.first_from(*start.timetuple()[:6])
        if match is None:
            return None
        found = datetime(*match, tzinfo=self._tz)
        again = found.replace(fold=1)
        first, second = zones.offset(self._tz, found), zones.offset(self._tz, again)
        if first > second:
            return again
        if first == second and (first <= zones.offset(self._tz, start) or self._is_far(start, found)):
            return found
        return self._step_by_step(start.replace(tzinfo=None, fold=0))

    def _is_far(self, start: datetime, found: datetime) -> bool:
        """Whether the gap between the two is far from both, so that Quartz cannot stumble over it."""
        steady = zones.offset(self._tz, start) == zones.offset(self._tz, start + _NEAR)
        return steady and zones.offset(self._tz, found) == zones.offset(self._tz, found - _NEAR)

    def _step_by_step(self, wall: datetime) -> datetime | None:
        """The search as Quartz makes it: by fields, on a calendar that moves on when set to a time in a gap.

        Only near a gap does the way there change the answer. Every step goes forward, and the years end.
        """
        pattern, zone = self._pattern, self._tz
        while True:
            second = pattern.second_from[wall.second]
            if second < 0:
                wall = zones.settle(zone, wall.replace(second=pattern.seconds[0]) + MINUTE)
            else:
                wall = zones.settle(zone, wall.replace(second=second))

            minute = pattern.minute_from[wall.minute]
            if minute < 0:
                wall = wall.replace(minute=pattern.minutes[0], second=0) + HOUR
                # Past midnight Quartz sets hour 24, and takes what it gets.
                wall = self._set_hour(wall) if wall.hour else zones.settle(zone, wall)
                continue
            if minute != wall.minute:
                wall = self._set_hour(wall.replace(minute=minute, second=0))
                continue

            hour = pattern.hour_from[wall.hour]
            if hour < 0:
                wall = self._set_hour(wall.replace(hour=pattern.hours[0], minute=0, second=0) + DAY)
                continue
            if hour != wall.hour:
                wall = self._set_hour(wall.replace(hour=hour, minute=0, second=0))
                continue

            date = pattern.date_from(wall.year, wall.month, wall.day)
            if date is None:
                return None
            if date == (wall.year, wall.month, wall.day):
                return wall.replace(tzinfo=zone, fold=int(zones.change_at(zone, wall) is not None))
            wall = zones.settle(zone, datetime(*date))

    def _set_hour(self, wall: datetime) -> datetime:
        """Quartz, finding another hour than it has set, sets the one after, on the day it has landed on."""
        real = zones.settle(self._tz, wall)
        if real.hour == wall.hour:
            return real
        return zones.settle(self._tz, real.replace(hour=wall.hour) + HOUR)

    # Both rules, from the wall time to the moments

    def _moments(self, wall: datetime, change: Change | None) -> tuple[datetime, ...]:
        """The instants at which a matching wall time fires."""
        once, twice = (wall.replace(tzinfo=self._tz, fold=fold).astimezone(UTC) for fold in (0, 1))
        if change is None:
            return (once,)
        if self._dst == "quartz":
            return () if change.is_gap else (twice,)
        if self.repeats:
            return () if change.is_gap else (once, twice)
        return (change.at,) if change.is_gap else (once,)

    def _first_moment(self, start: datetime) -> datetime | None:
        """The first at `start` or after it."""
        wall = start.astimezone(self._tz).replace(tzinfo=None)
        found = self._from_wall(wall, start)
        change = zones.change_at(self._tz, wall)
        if change and start < change.at:  # in the first of two hours: the second may bring earlier wall times
            again = self._from_wall(change.low, start)
            found = min(found, again) if found and again else found or again
        return found and found.astimezone(self._tz)

    def _last_moment(self, end: datetime) -> datetime | None:
        """The last at `end` or before it."""
        wall = end.astimezone(self._tz).replace(tzinfo=None)
        found = self._until_wall(wall, end)
        change = zones.change_at(self._tz, wall)
        if change and end >= change.at:  # in the second of two hours: the first may have had later wall times
            again = self._until_wall(change.high - SECOND, end)
            found = max(found, again) if found and again else found or again
        return found and found.astimezone(self._tz)

    def _from_wall(self, wall: datetime, start: datetime) -> datetime | None:
        while match := self._pattern.first_from(*wall.timetuple()[:6]):
            wall = datetime(*match)
            change = zones.change_at(self._tz, wall)
            moments = [moment for moment in self._moments(wall, change) if moment >= start]
            if change is None or moments:
                return min(moments)
            wall = change.high
        return None

    def _until_wall(self, wall: datetime, end: datetime) -> datetime | None:
        while match := self._pattern.last_until(*wall.timetuple()[:6]):
            wall = datetime(*match)
            change = zones.change_at(self._tz, wall)
            moments = [moment for moment in self._moments(wall, change) if moment <= end]
            if change is None or moments:
                return max(moments)
            wall = change.low - SECOND
        return None


class Cron(Timetable):
    """A Quartz expression in a zone: `Cron("0 0 2 * * ?", zone="Europe/Berlin")`."""

    __slots__ = ()

    def __init__(self, text: str, zone: str | tzinfo | None = "UTC", *, dst: Dst = "quartz") -> None:
        super().__init__(text, *quartz.read(text), zones.find(zone), dst)


def walk(
    next_fire: Callable[[datetime], datetime | None], start: datetime, end: datetime
) -> Iterator[datetime]:
    """Every fire after `start`, up to and including `end`."""
    last = zones.instant(end)
    fire = next_fire(start)
    while fire is not None and fire.astimezone(UTC) <= last:
        yield fire
        fire = next_fire(fire)


def _second_after(moment: datetime) -> datetime:
    return zones.instant(moment).replace(microsecond=0) + SECOND


def _second_before(moment: datetime) -> datetime:
    exact = zones.instant(moment)
    return exact.replace(microsecond=0) - (SECOND if not exact.microsecond else timedelta(0))
