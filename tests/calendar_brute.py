"""The slow and obvious way to find fires: look at every second and ask whether it matches.

It shares no code with the package, so that both would have to be wrong in the same way.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo

SECOND = timedelta(seconds=1)


@dataclass(frozen=True)
class Spec:
    """A schedule as plain sets, every day of the week numbered as Quartz does (1 is Sunday)."""

    seconds: frozenset[int]
    minutes: frozenset[int]
    hours: frozenset[int]
    weekdays: frozenset[int]
    months: frozenset[int]

    @property
    def quartz(self) -> str:
        clock = (self.seconds, self.minutes, self.hours)
        lists = [",".join(map(str, sorted(field))) for field in (*clock, self.months, self.weekdays)]
        return "{} {} {} ? {} {}".format(*lists)

    def matches(self, wall: datetime) -> bool:
        return (
            wall.second in self.seconds
            and wall.minute in self.minutes
            and wall.hour in self.hours
            and wall.isoweekday() % 7 + 1 in self.weekdays
            and wall.month in self.months
        )


def fires(spec: Spec, zone: tzinfo, start: datetime, end: datetime, dst: str) -> Iterator[datetime]:
    """Every fire from one instant to another, both included, second by second."""
    repeats = len(spec.hours) == 24
    moment, before = start.astimezone(UTC), (start - SECOND).astimezone(zone)
    while moment <= end:
        here = moment.astimezone(zone)
        wall = here.replace(tzinfo=None)
        matches = spec.matches(wall) and ((dst == "continuous" and repeats) or _is_the_one(here, dst))
        made_up = dst == "continuous" and not repeats and _follows_a_missed_fire(spec, before, here)
        if matches or made_up:
            yield here
        moment, before = moment + SECOND, here


def _is_the_one(here: datetime, dst: str) -> bool:
    """Of a time that comes twice Quartz takes the second, a fixed continuous schedule the first."""
    twice = here.replace(fold=0).utcoffset() != here.replace(fold=1).utcoffset()
    return not twice or here.fold == (1 if dst == "quartz" else 0)


def _follows_a_missed_fire(spec: Spec, before: datetime, here: datetime) -> bool:
    wall, now = before.replace(tzinfo=None, fold=0) + SECOND, here.replace(tzinfo=None, fold=0)
    while wall < now:
        if spec.matches(wall):
            return True
        wall += SECOND
    return False


def days(rule: str, year: int, month: int) -> list[int]:
    """The days of a month that L, L-3, LW, 15W, 6L, 6#3 mean, from the calendar on the wall."""
    first = date(year, month, 1)
    length = ((first + timedelta(days=31)).replace(day=1) - first).days
    dates = [date(year, month, day) for day in range(1, length + 1)]
    if "#" in rule:
        weekday, nth = map(int, rule.split("#"))
        return [day.day for day in dates if day.isoweekday() % 7 + 1 == weekday][nth - 1 : nth]
    if rule[0] != "L" and rule.endswith("L"):
        return [day.day for day in dates if day.isoweekday() % 7 + 1 == int(rule[:-1])][-1:]
    wanted = int(rule.strip("W")) if rule[0] != "L" else length - int(rule.strip("LW-") or 0)
    if not 1 <= wanted <= length:
        return []
    if not rule.endswith("W"):
        return [wanted]
    working = [day.day for day in dates if day.isoweekday() < 6]
    return [min(working, key=lambda day: (abs(day - wanted), day))]
