"""UNIX cron lines: minutes, hours, day-of-month, month, day-of-week, as Vixie's cron reads them.

It is a dialect of its own, asked for by name and never guessed from the number of fields: Sunday is 0 or 7
here and 1 in Quartz, and the same five words would mean other days.
"""

import re
from datetime import tzinfo

from . import zones
from .cron import Dst, Timetable
from .errors import CronError
from .quartz import DAY_OF_MONTH, HOUR, LONGEST, MINUTE, MONTH, WEEKDAYS, YEAR, Field
from .walltime import Both, Dates, DayRule, Either, Pattern, Weekdays

DAY_OF_WEEK = Field("day-of-week", "days of the week", 0, 7, WEEKDAYS)
FIELDS = (MINUTE, HOUR, DAY_OF_MONTH, MONTH, DAY_OF_WEEK)

NICKNAMES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}

_ITEM = re.compile(r"(?:\*|(?P<first>\w+)(?P<to>-(?P<last>\w+))?)(?P<by>/(?P<step>[0-9]{1,3}))?", re.ASCII)


class Crontab(Timetable):
    """A UNIX cron line in a zone. Clock changes go by UNIX's own rule, `continuous`, unless you say so."""

    __slots__ = ("_line",)

    def __init__(self, line: str, zone: str | tzinfo | None = "UTC", *, dst: Dst = "continuous") -> None:
        super().__init__(f"crontab {line}", read(line), (), zones.find(zone), dst)
        self._line = line

    def __repr__(self) -> str:
        return f"crontab({self._line!r}, zone={self.zone!r}, dst={self.dst!r})"


def read(line: str) -> Pattern:
    """The wall times a line means."""
    if not isinstance(line, str):
        raise CronError(f"a UNIX line is text such as '*/5 * * * *', not {type(line).__name__}")
    if len(line) > LONGEST:
        raise CronError(f"crontab {line[:40] + '…'!r}: {len(line)} characters; at most {LONGEST} are read")
    parts = NICKNAMES.get(line.strip().lower(), line).split()
    if len(parts) != len(FIELDS):
        raise CronError(f"crontab {line!r}: a UNIX line has five fields, minutes first, not {len(parts)}")
    minutes, hours, days, months, weekdays = (
        _field(line, field, part) for field, part in zip(FIELDS, parts, strict=True)
    )
    stars = parts[2].startswith("*") or parts[4].startswith("*")
    rule = _rule(Dates(days), Weekdays(frozenset(day % 7 + 1 for day in weekdays)), stars)
    return Pattern(frozenset({0}), minutes, hours, rule, months, frozenset(range(YEAR.low, YEAR.high + 1)))


def _rule(dates: Dates, weekdays: Weekdays, stars: bool) -> DayRule:
    """Two given day fields mean either; but where one begins with a star, be it `*/2`, both must hold."""
    if not stars:
        return Either(dates, weekdays)
    if len(weekdays.weekdays) == 7:
        return dates
    if len(dates.days) == 31:
        return weekdays
    return Both(dates, weekdays)


def _field(line: str, field: Field, part: str) -> frozenset[int]:
    values: set[int] = set()
    for item in part.split(","):
        try:
            values.update(_item(field, item))
        except ValueError as wrong:
            raise CronError(f"crontab {line!r}: the {field.name} field {item!r}: {wrong}") from None
    return frozenset(values)


def _item(field: Field, item: str) -> range:
    found = _ITEM.fullmatch(item)
    if not found:
        raise ValueError(
            "write *, a number, a range such as 1-5, or one of those two with a step: */2, 1-5/2"
        )
    step = int(found["step"] or 1)
    if not step or step > field.high:
        raise ValueError(f"a step of {field.noun} goes from 1 to {field.high}")
    if not found["first"]:
        return range(field.low, field.high + 1, step)
    first = _number(field, found["first"])
    if not found["last"]:
        if found["by"]:
            raise ValueError("a step needs a range or a star before it")
        return range(first, first + 1)
    last = _number(field, found["last"])
    if field is DAY_OF_WEEK and last == 0:
        last = 7  # Friday to Sunday
    if last < first:
        raise ValueError("a range goes upwards")
    return range(first, last + 1, step)


def _number(field: Field, word: str) -> int:
    if word.upper() in field.names:
        return field.names.index(word.upper()) + field.low
    if word.isdigit() and len(word) < 4 and field.low <= int(word) <= field.high:
        return int(word)
    names = f", or {', '.join(field.names)}" if field.names else ""
    raise ValueError(f"{field.noun} go from {field.low} to {field.high}{names}")
