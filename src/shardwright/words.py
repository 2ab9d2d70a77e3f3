"""A pattern of wall times in words, said by cron-descriptor (the extra `words`).

cron-descriptor reads texts, and reads some of them otherwise than Quartz does: it honours a step that Quartz
drops, and so on. So it is never shown what the user wrote, but a plain expression made from what that means.
Where its translation into a language lacks a phrase, it leaves out what the phrase says; here that is said in
English.
"""

import re
from importlib import resources
from itertools import pairwise

from .errors import CronError, MissingExtra
from .quartz import DAY_OF_MONTH, DAY_OF_WEEK, HOUR, MINUTE, MONTH, SECOND, WEEKDAYS, YEAR, Field
from .walltime import (
    FIRST_YEAR,
    Both,
    Dates,
    DayRule,
    Either,
    LastDate,
    LastWeekday,
    NearestWeekday,
    NthWeekday,
    Pattern,
    Weekdays,
)

# Phrases that need no translation: without one cron-descriptor takes another that means the same.
_SPARE = re.compile(r", (second|minute|hour|month|year) \{0\} through |.*\[grThen20\]|, every \{0\} weeks")


def say(pattern: Pattern, locale: str | None = None) -> str:
    """Such as "At 02:00, on the last Friday of the month"; `locale` is one of cron-descriptor's: `de_DE`.

    Names of days and months come in the language of the process (`locale.setlocale`), whatever that is.
    """
    try:
        from cron_descriptor import ExpressionDescriptor, Options
    except ImportError:
        raise MissingExtra("cron in words needs an extra: pip install 'shardwright[words]'") from None
    _check(locale)
    if pattern.first_from(FIRST_YEAR, 1, 1, 0, 0, 0) is None:
        return "Never"

    class Descriptor(ExpressionDescriptor):  # type: ignore[misc]  # cron-descriptor may be missing
        def translate(self, message: str) -> str:
            said: str = super().translate(message)
            return said if said or _SPARE.match(message) else message

    options = Options(
        locale_code=locale or "en_US", day_of_week_start_index_zero=False, use_24hour_time_format=True
    )
    return f"{Descriptor(plain(pattern), options).get_description()}{_unsaid(pattern.rule)}"


def _check(locale: str | None) -> None:
    folder = resources.files("cron_descriptor") / "locale"
    known = sorted(each.name.removesuffix(".mo") for each in folder.iterdir() if each.name.endswith(".mo"))
    if locale and locale not in known:
        raise CronError(
            f"locale {str(locale)[:60]!r}: there are no words for it; take one of {', '.join(known)}"
        )


def plain(pattern: Pattern) -> str:
    """A Quartz expression for the pattern that cannot be read in two ways; `_unsaid` adds what it lacks."""
    days, weekdays = _days(pattern.rule)
    fields = [
        _field(SECOND, pattern.seconds),
        _field(MINUTE, pattern.minutes),
        _field(HOUR, pattern.hours),
        days,
        _field(MONTH, pattern.months),
        weekdays,
        _field(YEAR, pattern.years),
    ]
    return " ".join(fields)


def _unsaid(rule: DayRule) -> str:
    """What cron-descriptor leaves out or gets wrong, in any language; we add it in English."""
    match rule:
        case LastDate(offset, True) if offset:
            return " (the weekday nearest to it)"
        case Both(_, Weekdays(weekdays)):
            return f" (if that is {' or '.join(WEEKDAYS[weekday - 1] for weekday in sorted(weekdays))})"
    return ""


def _days(rule: DayRule) -> tuple[str, str]:
    match rule:
        case Dates(days):
            return _field(DAY_OF_MONTH, tuple(sorted(days))), "?"
        case LastDate(offset, on_weekday):
            return f"L{f'-{offset}' if offset else ''}{'W' if on_weekday and not offset else ''}", "?"
        case NearestWeekday(day):
            return f"{day}W", "?"
        case Weekdays(weekdays):
            return "?", _field(DAY_OF_WEEK, tuple(sorted(weekdays)))
        case LastWeekday(weekday):
            return "?", f"{weekday}L"
        case NthWeekday(weekday, nth):
            return "?", f"{weekday}#{nth}"
        case Either(dates, weekdays):
            return _days(dates)[0], _days(weekdays)[1]
        case Both(dates, _):
            return _days(dates)


def _field(field: Field, values: tuple[int, ...]) -> str:
    """These values, in the way that is easiest to follow."""
    if len(values) == field.high - field.low + 1:
        return "*"
    steps = {later - earlier for earlier, later in pairwise(values)}
    if len(steps) == 1:
        return _in_steps(field, values, steps.pop())
    breaks = [index for index, (earlier, later) in enumerate(pairwise(values), 1) if later > earlier + 1]
    if len(breaks) == 1 and (values[0], values[-1]) == (field.low, field.high):
        return f"{values[breaks[0]]}-{values[breaks[0] - 1]}"  # around the end of the field: 22-2
    return ",".join(map(str, values))


def _in_steps(field: Field, values: tuple[int, ...], step: int) -> str:
    first, last = values[0], values[-1]
    if step == 1 and len(values) > 2:
        return f"{first}-{last}"
    if step > 1 and first == field.low and last + step > field.high and field is not DAY_OF_WEEK:
        return f"*/{step}"
    if step > 1 and len(values) > 4:
        return f"{first}-{last}/{step}"
    return ",".join(map(str, values))
