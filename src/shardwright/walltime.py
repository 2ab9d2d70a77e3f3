"""Patterns of wall-clock time: which seconds of which days match, with no zone and no clock in sight.

Every field is a sorted tuple, a rule says which days of a month count, and a search looks up the next member
of each. Nothing here can run on for ever: the years are few, and so is all that is in them.
"""

from bisect import bisect_left, bisect_right
from calendar import monthrange
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

# Quartz knows the years from 1970 to a hundred from now. Ours must not depend on the day it is asked, so the
# last is fixed: it is Quartz's own in the year in which its answers were recorded (tests/fixtures, 2026).
FIRST_YEAR, LAST_YEAR = 1970, 2126

SUNDAY, SATURDAY = 1, 7  # weekdays are numbered as Quartz does

Date = tuple[int, int, int]
Clock = tuple[int, int, int]
Wall = tuple[int, int, int, int, int, int]


# Which days of a month


@dataclass(frozen=True, slots=True)
class Dates:
    """These days of the month: `1,15`."""

    days: frozenset[int]


@dataclass(frozen=True, slots=True)
class LastDate:
    """So many days before the last: `L`, `L-3`; or the weekday nearest to it: `LW`, `L-3W`."""

    offset: int
    on_weekday: bool


@dataclass(frozen=True, slots=True)
class NearestWeekday:
    """The working day nearest to a day of the month: `15W`."""

    day: int


@dataclass(frozen=True, slots=True)
class Weekdays:
    """These days of the week: `MON-FRI`."""

    weekdays: frozenset[int]


@dataclass(frozen=True, slots=True)
class LastWeekday:
    """The last such day of the month: `6L`."""

    weekday: int


@dataclass(frozen=True, slots=True)
class NthWeekday:
    """The third Friday, say: `6#3`."""

    weekday: int
    nth: int


@dataclass(frozen=True, slots=True)
class Either:
    """UNIX: a day of the month or a day of the week."""

    dates: Dates
    weekdays: Weekdays


@dataclass(frozen=True, slots=True)
class Both:
    """UNIX, where one of the two begins with a star: they must agree."""

    dates: Dates
    weekdays: Weekdays


DayRule = Dates | LastDate | NearestWeekday | Weekdays | LastWeekday | NthWeekday | Either | Both


def days_of(rule: DayRule, first: int, length: int) -> tuple[int, ...]:
    """The matching days of a month that begins on weekday `first` and has `length` days."""
    return tuple(day for day in sorted(_days(rule, first, length)) if 1 <= day <= length)


def _days(rule: DayRule, first: int, length: int) -> Iterable[int]:
    match rule:
        case Dates(days):
            return days
        case LastDate(offset, on_weekday):
            return {_nearest(length - offset, first, length) if on_weekday else length - offset}
        case NearestWeekday(day):
            return {_nearest(day, first, length)}
        case Weekdays(weekdays):
            return {day for day in range(1, length + 1) if _weekday(day, first) in weekdays}
        case LastWeekday(weekday):
            return {day for day in range(length - 6, length + 1) if _weekday(day, first) == weekday}
        case NthWeekday(weekday, nth):
            return {day for day in range(7 * nth - 6, 7 * nth + 1) if _weekday(day, first) == weekday}
        case Either(dates, weekdays):
            return {*_days(dates, first, length), *_days(weekdays, first, length)}
        case Both(dates, weekdays):
            return set(_days(dates, first, length)).intersection(_days(weekdays, first, length))


def _weekday(day: int, first: int) -> int:
    return (first + day - 2) % 7 + 1


def _nearest(day: int, first: int, length: int) -> int:
    """Quartz's `W`. It looks even at a day the month lacks: `31W` is 30 April if 1 May is a Saturday."""
    weekday = _weekday(day, first)
    if weekday == SATURDAY:
        return 3 if day == 1 else day - 1
    if weekday == SUNDAY:
        return day - 2 if day == length else day + 1
    return day


@lru_cache(maxsize=12 * (LAST_YEAR - FIRST_YEAR + 2))
def shape(year: int, month: int) -> tuple[int, int]:
    """The weekday a month begins on, and its length."""
    monday_is_0, length = monthrange(year, month)
    return (monday_is_0 + 1) % 7 + 1, length


# Which seconds of all time


class Pattern:
    """The wall times that match: ask it for the first from a given one on, or for the last up to it."""

    __slots__ = (
        "_days",
        "_in_years",
        "first_clock",
        "hour_from",
        "hours",
        "minute_from",
        "minutes",
        "months",
        "rule",
        "second_from",
        "seconds",
        "years",
    )

    def __init__(
        self,
        seconds: frozenset[int],
        minutes: frozenset[int],
        hours: frozenset[int],
        rule: DayRule,
        months: frozenset[int],
        years: frozenset[int],
    ) -> None:
        self.seconds, self.minutes, self.hours = _in_order(seconds), _in_order(minutes), _in_order(hours)
        self.rule, self.months, self.years = rule, _in_order(months), _in_order(years)
        self.first_clock = self.hours[0], self.minutes[0], self.seconds[0]
        self.second_from = _first_from(seconds, 60)
        self.minute_from = _first_from(minutes, 60)
        self.hour_from = _first_from(hours, 24)
        self._in_years = years
        # Filled as asked; there are 28 shapes of a month, so it stays small.
        self._days: dict[tuple[int, int], tuple[int, ...]] = {}

    def days(self, year: int, month: int) -> tuple[int, ...]:
        """The days the rule gives in this month, whether or not the month itself counts."""
        month_shape = shape(year, month)
        days = self._days.get(month_shape)
        if days is None:
            days = self._days[month_shape] = days_of(self.rule, *month_shape)
        return days

    def first_from(self, year: int, month: int, day: int, hour: int, minute: int, second: int) -> Wall | None:
        """The first match at this time or after it. A second of 60 means the next minute."""
        clock = self._clock_from(hour, minute, second)
        if clock is None:
            day, clock = day + 1, self.first_clock
        date = self.date_from(year, month, day)
        if date is None:
            return None
        return date + (clock if date == (year, month, day) else self.first_clock)

    def last_until(self, year: int, month: int, day: int, hour: int, minute: int, second: int) -> Wall | None:
        """The last match at this time or before it."""
        clock = self._clock_until(hour, minute, second)
        last_clock = self.hours[-1], self.minutes[-1], self.seconds[-1]
        if clock is None:
            day, clock = day - 1, last_clock
        date = self._date_until(year, month, day)
        if date is None:
            return None
        return date + (clock if date == (year, month, day) else last_clock)

    def date_from(self, year: int, month: int, day: int) -> Date | None:
        """The first matching date at this one or after it."""
        if month in self.months and year in self._in_years:
            days = self.days(year, month)
            later = bisect_left(days, day)
            if later < len(days):
                return year, month, days[later]
        month += self._passed_over(year, month, day)
        for at in range(bisect_left(self.years, year), len(self.years)):
            each_year = self.years[at]
            for each_month in self.months:
                if (each_year > year or each_month > month) and (days := self.days(each_year, each_month)):
                    return each_year, each_month, days[0]
        return None

    def _date_until(self, year: int, month: int, day: int) -> Date | None:
        for each_year in reversed(self.years[: bisect_right(self.years, year)]):
            for each_month in reversed(self.months):
                if (each_year, each_month) > (year, month):
                    continue
                days = self.days(each_year, each_month)
                count = bisect_right(days, day) if (each_year, each_month) == (year, month) else len(days)
                if count:
                    return each_year, each_month, days[count - 1]
        return None

    def _passed_over(self, year: int, month: int, day: int) -> int:
        """Whether Quartz misses the next month: past January's `29W` it goes to "29 February", in March."""
        if not isinstance(self.rule, NearestWeekday) or not FIRST_YEAR <= year <= LAST_YEAR:
            return 0
        days, length = self.days(year, month), shape(year, month)[1]
        past = bool(days) and days[-1] < day <= length
        return int(past and month < 12 and self.rule.day > shape(year, month + 1)[1])

    def _clock_from(self, hour: int, minute: int, second: int) -> Clock | None:
        if self.hour_from[hour] == hour:
            if self.minute_from[minute] == minute:
                later = self.second_from[second]
                if later >= 0:
                    return hour, minute, later
            later = self.minute_from[minute + 1]
            if later >= 0:
                return hour, later, self.seconds[0]
        later = self.hour_from[hour + 1]
        return (later, self.minutes[0], self.seconds[0]) if later >= 0 else None

    def _clock_until(self, hour: int, minute: int, second: int) -> Clock | None:
        if hour in self.hours:
            if minute in self.minutes and (count := bisect_right(self.seconds, second)):
                return hour, minute, self.seconds[count - 1]
            if count := bisect_left(self.minutes, minute):
                return hour, self.minutes[count - 1], self.seconds[-1]
        if count := bisect_left(self.hours, hour):
            return self.hours[count - 1], self.minutes[-1], self.seconds[-1]
        return None


@lru_cache(maxsize=1024)  # many patterns share what most of them are made of
def _in_order(members: frozenset[int]) -> tuple[int, ...]:
    return tuple(sorted(members))


@lru_cache(maxsize=1024)
def _first_from(members: frozenset[int], size: int) -> tuple[int, ...]:
    """For every number up to and including `size` the first member from it on, or -1."""
    table = [-1] * (size + 1)
    for number in reversed(range(size)):
        table[number] = number if number in members else table[number + 1]
    return tuple(table)
