"""Reading Quartz cron expressions as Quartz 2.3.2 does, leniencies and refusals included.

    seconds minutes hours day-of-month month day-of-week [year]

A field is a list of items: `*`, `5`, `5-10` (which may wrap around: `22-2`, `NOV-FEB`), with a step (`*/5`,
`5/10`, `5-50/10`), and names for months and weekdays. The day-of-month also knows `L`, `L-3`, `LW` and `15W`;
the day-of-week (1 is Sunday) knows `6L`, `6#3` and `L`. Exactly one of the two day fields is `?`.

Quartz reads an item from the left and mostly ignores what it does not understand behind that. Configurations
in use mean what they mean today, so this is kept; each case leaves a remark, which `schedule.lint` shows.
"""

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from .errors import CronError
from .walltime import (
    FIRST_YEAR,
    LAST_YEAR,
    SATURDAY,
    Dates,
    DayRule,
    LastDate,
    LastWeekday,
    NearestWeekday,
    NthWeekday,
    Pattern,
    Weekdays,
)

LONGEST = 1000  # characters: a bound on the text is a bound on the work


@dataclass(frozen=True, slots=True)
class Field:
    """One of the seven: its name, what it counts, and from where to where."""

    name: str
    noun: str
    low: int
    high: int
    names: tuple[str, ...] = ()


MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")

SECOND = Field("seconds", "seconds", 0, 59)
MINUTE = Field("minutes", "minutes", 0, 59)
HOUR = Field("hours", "hours", 0, 23)
DAY_OF_MONTH = Field("day-of-month", "days of the month", 1, 31)
MONTH = Field("month", "months", 1, 12, MONTHS)
DAY_OF_WEEK = Field("day-of-week", "days of the week", 1, 7, WEEKDAYS)
YEAR = Field("year", "years", FIRST_YEAR, LAST_YEAR)
FIELDS = (SECOND, MINUTE, HOUR, DAY_OF_MONTH, MONTH, DAY_OF_WEEK, YEAR)

_BLANK = "".join(map(chr, range(33)))  # what Java's trim() takes away
_DIGITS = "0123456789"
_LAST = re.compile(r"L|LW|L-([0-9]*)W?")
_STEP = re.compile(r"\*?/([+-]?[0-9]+)")

# Inside Quartz two numbers are marks, and it does not notice when they come from the text.
_EVERY, _OPEN = 99, 98
_LARGEST = 2**31 - 1


# Expression


@dataclass(frozen=True, slots=True)
class Said:
    """What an item, or a whole field, says."""

    values: frozenset[int] = frozenset()
    from_last: int | None = None  # the 3 of `L-3`
    nearest: bool = False  # `W`
    last: bool = False  # the `L` of `6L`
    nth: int = 0  # the 3 of `6#3`
    remarks: tuple[str, ...] = ()

    @property
    def is_open(self) -> bool:
        return _OPEN in self.values


def read(text: str) -> tuple[Pattern, tuple[str, ...]]:
    """The wall times an expression means, and remarks on what Quartz makes of its odder parts."""
    return _read(text, tuple(_parts(text)))


@lru_cache(maxsize=16_384)  # a job's is read when it is declared, when it is checked and when it begins
def _read(text: str, parts: tuple[str, ...]) -> tuple[Pattern, tuple[str, ...]]:
    fields = [_field(text, field, part) for field, part in zip(FIELDS, parts, strict=False)]
    second, minute, hour, day, month, weekday, year = fields
    if day.is_open and weekday.is_open:
        raise CronError(f"cron {text!r}: day-of-month and day-of-week are both '?'; give one of them")
    if not day.is_open and not weekday.is_open:
        raise CronError(
            f"cron {text!r}: day-of-month and day-of-week are both given; one of them must be '?'"
        )
    rule = _weekday_rule(weekday) if day.is_open else _date_rule(day)
    pattern = Pattern(second.values, minute.values, hour.values, rule, month.values, year.values)
    remarks = [remark for said in fields for remark in said.remarks]
    if len(parts) > len(FIELDS):
        remarks.append(f"Quartz ignores everything after the year: {' '.join(parts[len(FIELDS) :])!r}")
    return pattern, tuple(remarks)


def _parts(text: str) -> list[str]:
    if not isinstance(text, str):
        raise CronError(f"a cron expression is text such as '0 0 2 * * ?', not {type(text).__name__}")
    if len(text) > LONGEST:
        raise CronError(
            f"cron {text[:40] + '…'!r}: {len(text)} characters are too many; at most {LONGEST} are read"
        )
    parts = [part.strip(_BLANK) for part in re.split("[ \t]+", text.strip(_BLANK).upper())]
    if len(parts) == 5:
        raise CronError(
            f"cron {text!r}: five fields; Quartz wants six or seven, seconds first. "
            f"For a UNIX line: from shardwright.schedule import crontab; crontab({text.strip()!r})"
        )
    if len(parts) < 6:
        raise CronError(
            f"cron {text!r}: Quartz wants six or seven fields, seconds first, not {len(text.split())}"
        )
    return [*parts, "*"] if len(parts) == 6 else parts


def _date_rule(day: Said) -> DayRule:
    if day.from_last is not None:
        return LastDate(day.from_last, day.nearest)
    if day.nearest:
        return NearestWeekday(min(day.values))
    return Dates(day.values)


def _weekday_rule(weekday: Said) -> DayRule:
    first = min(weekday.values)
    if weekday.last:
        return LastWeekday(first)
    if weekday.nth:
        # Before a '#' Quartz checks nothing: 0 finds Saturdays, 8 and more find nothing at all.
        return NthWeekday(first or SATURDAY, weekday.nth)
    return Weekdays(weekday.values)


# Field


class _Wrong(Exception):
    """A reason, on its way up to where the field and the text are known."""


def _field(text: str, field: Field, part: str) -> Said:
    item = part
    try:
        _check_list(field, part)
        said = []
        for item in filter(None, part.split(",")):
            said.append(_item(field, item))
        item = part
        return _merged(field, part, said)
    except _Wrong as wrong:
        raise CronError(f"cron {text!r}: the {field.name} field {item!r}: {wrong}") from None


def _check_list(field: Field, part: str) -> None:
    if field in (DAY_OF_MONTH, DAY_OF_WEEK) and "L" in part and "," in part:
        raise _Wrong("'L' must stand alone, not in a list")
    if field is DAY_OF_WEEK and part.count("#") > 1:
        raise _Wrong("only one '#' is possible")


def _merged(field: Field, part: str, items: list[Said]) -> Said:
    if len(items) == 1:
        return _checked(field, items[0])
    nearest, nth = any(item.nearest for item in items), max((item.nth for item in items), default=0)
    remarks = [remark for item in items for remark in item.remarks]
    if nearest or nth:
        remarks.append(
            f"the {field.name} field {part!r}: with 'W' or '#' in a list Quartz keeps its smallest day only"
        )
    return _checked(
        field,
        Said(
            values=frozenset().union(*(item.values for item in items)),
            nearest=nearest,
            nth=nth,
            remarks=tuple(remarks),
        ),
    )


def _checked(field: Field, said: Said) -> Said:
    # No year that comes is a schedule that has ended. Any other field that is empty makes Quartz fail later.
    if not said.values and said.from_last is None and field is not YEAR:
        raise _Wrong(f"it names nothing; {_bounds(field)}")
    return said


# Item


def _item(field: Field, item: str) -> Said:
    if _LAST.fullmatch(item):
        return _last(field, item)
    if "A" <= item[0] <= "Z":
        return _named(field, item)
    if item[0] == "?":
        return _open(field, item)
    if item[0] in ("*", "/"):
        return _every(field, item)
    if item[0] in _DIGITS:
        return _numbered(field, item)
    raise _Wrong(f"{item[0]!r} is not understood; {_bounds(field)}")


def _open(field: Field, item: str) -> Said:
    if field not in (DAY_OF_MONTH, DAY_OF_WEEK):
        raise _Wrong(f"'?' is for day-of-month and day-of-week; {_bounds(field)}")
    if len(item) > 2:
        raise _Wrong("'?' stands alone")
    return Said(frozenset({_OPEN}), remarks=_ignored(field, item, item[1:]))


def _every(field: Field, item: str) -> Said:
    if item[0] == "*" and item[1:2] != "/":
        return Said(_span(field, field.low, field.high), remarks=_ignored(field, item, item[1:]))
    step = _STEP.fullmatch(item)
    if not step:
        raise _Wrong("'/' is followed by a number")
    # Quartz takes a step of nought, or less, to be one.
    return Said(_span(field, field.low, field.high, max(1, _step(field, step[1]))))


def _last(field: Field, item: str) -> Said:
    if field is DAY_OF_WEEK:
        return Said(frozenset({SATURDAY}), remarks=_ignored(field, item, item[1:]))
    if field is not DAY_OF_MONTH:
        return Said(remarks=_ignored(field, item, item))
    if item == "L-":
        raise _Wrong("'L-' is followed by a number of days")
    offset = _number(item.strip("LW-") or "0")
    if offset > 30:
        raise _Wrong(f"at most 30 days before the last, not {offset}")
    return Said(from_last=offset, nearest=item.endswith("W"))


def _named(field: Field, item: str) -> Said:
    first, rest = _by_name(field, item[:3]), item[3:]
    if rest.startswith("-"):
        return Said(_span(field, first, _by_name(field, rest[1:4])), remarks=_ignored(field, item, rest[4:]))
    if field is DAY_OF_WEEK and rest.startswith("#"):
        return Said(frozenset({first}), nth=_nth(rest[1:]))
    if field is DAY_OF_WEEK and rest.startswith("L"):
        return Said(frozenset({first}), last=True, remarks=_ignored(field, item, rest[1:]))
    return Said(frozenset({first}), remarks=_ignored(field, item, rest))


def _numbered(field: Field, item: str) -> Said:
    digits, rest = _digits(item)
    number, mark, tail = _number(digits), rest[:1], rest[1:]
    if mark == "#" and field is DAY_OF_WEEK:
        return Said(frozenset({number}), nth=_nth(tail))
    if mark == "L" and field is DAY_OF_WEEK:
        return Said(_within(field, number), last=True, remarks=_ignored(field, item, tail))
    if mark == "W" and field is DAY_OF_MONTH:
        return Said(_within(field, number), nearest=True, remarks=_ignored(field, item, tail))
    if mark and mark in "LW#":
        raise _Wrong(f"{mark!r} has no meaning for {field.noun}")
    if number == _EVERY:
        said = _range(field, item, field.low, tail) if mark == "-" else _every(field, f"*{rest}")
        return replace(said, remarks=(f"the {field.name} field {item!r}: Quartz takes 99 for '*'",))
    if mark == "-":
        return _range(field, item, number, tail)
    if mark == "/":
        return _onwards(field, item, number, tail)
    return Said(_one(field, number), remarks=_ignored(field, item, rest))


def _range(field: Field, item: str, first: int, rest: str) -> Said:
    digits, rest = _digits(rest)
    if not digits:
        raise _Wrong("a range ends in a number, such as 5-10")
    last, step = _number(digits), 1
    if rest.startswith("/"):
        digits, rest = _digits(rest[1:])
        if not digits:
            raise _Wrong("'/' is followed by a number")
        step = _number(digits)
    if last > field.high and field is not YEAR:
        raise _Wrong(_bounds(field))
    values = _one(field, first)
    if step:
        values = _span(field, first, last, step)
    return Said(values, remarks=_ignored(field, item, rest))


def _onwards(field: Field, item: str, first: int, rest: str) -> Said:
    digits, rest = _digits(rest)
    if not digits or (rest and len(digits) == 1):  # after a second digit Quartz looks no further
        raise _Wrong("'/' is followed by a number")
    values, step = _one(field, first), _step(field, digits)
    if step:
        values = _span(field, first, field.high, step)
    return Said(values, remarks=_ignored(field, item, rest))


# Numbers, names, and what to say about them


def _within(field: Field, number: int) -> frozenset[int]:
    if field.low <= number <= field.high:
        return frozenset({number})
    raise _Wrong(_bounds(field))


def _one(field: Field, number: int) -> frozenset[int]:
    if field is YEAR and not field.low <= number <= field.high:
        return frozenset()  # any number is a year; one that never comes is never met
    if field in (DAY_OF_MONTH, DAY_OF_WEEK) and number == _OPEN:
        return frozenset({_OPEN})
    return _within(field, number)


@lru_cache(maxsize=1024)  # most schedules have most fields in common, every year above all
def _span(field: Field, first: int, last: int, step: int = 1) -> frozenset[int]:
    """From first to last in steps, around the end of the field if need be."""
    if field is YEAR:
        if last < first:
            raise _Wrong(f"a range of years goes forward, and {field.noun} end with {field.high}")
        return frozenset(range(first, min(last, field.high) + 1, step)) - frozenset(range(field.low))
    size = field.high - field.low + 1
    if last < first:
        last += size
    return frozenset((number - field.low) % size + field.low for number in range(first, last + 1, step))


def _step(field: Field, digits: str) -> int:
    step = _number(digits)
    if step > field.high and field is not YEAR:
        raise _Wrong(f"a step of {field.noun} is at most {field.high}, not {step}")
    return step


def _nth(digits: str) -> int:
    if re.fullmatch(r"\+?0*[1-5]", digits):
        return int(digits)
    raise _Wrong("'#' is followed by a number from 1 to 5")


def _by_name(field: Field, name: str) -> int:
    if name in field.names:
        return field.names.index(name) + field.low
    if field.names:
        raise _Wrong(f"{name!r} is none of {', '.join(field.names)}")
    raise _Wrong(f"{name!r} is not a number; {_bounds(field)}")


def _number(digits: str) -> int:
    number = int(digits)
    if abs(number) > _LARGEST:
        raise _Wrong("the number is too large")
    return number


def _digits(text: str) -> tuple[str, str]:
    """The digits a text begins with, and the rest."""
    rest = text.lstrip(_DIGITS)
    return text[: len(text) - len(rest)], rest


def _bounds(field: Field) -> str:
    return f"{field.noun} go from {field.low} to {field.high}"


def _ignored(field: Field, item: str, tail: str) -> tuple[str, ...]:
    if not tail:
        return ()
    what = "drops a step after a name" if tail.startswith("/") else f"ignores {tail!r}"
    return (f"the {field.name} field {item!r}: Quartz {what}",)
