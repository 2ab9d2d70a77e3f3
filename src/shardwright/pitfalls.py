"""What a schedule will do that its author may not expect: missing times, silent hours, dropped steps.

Everything is worked out from the schedule, its zone and the years in question; no clock is read.
"""

from calendar import month_name
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Literal

from . import zones
from .cron import Timetable
from .walltime import DayRule, Pattern, days_of, shape
from .zones import SECOND, Change

HOUR = timedelta(hours=1)

Kind = Literal["never", "ignored", "some months", "gap", "overlap"]


@dataclass(frozen=True, slots=True)
class Caution:
    """One thing to know about a schedule, in a sentence; `at` is the clock change that brings it about."""

    kind: Kind
    text: str
    at: datetime | None = None

    def __str__(self) -> str:
        return self.text


def of_timetable(timetable: Timetable, after: datetime, years: int) -> Iterator[Caution]:
    """What the text, the calendar and the clock changes of some years have in store."""
    yield from (Caution("ignored", remark) for remark in timetable.remarks)
    yield from _months_without_a_run(timetable.pattern)
    start = zones.instant(after)
    for change in zones.changes(timetable.tz, start, start + years * timedelta(days=366)):
        if timetable.dst == "continuous":
            yield from _doubled(timetable, change)
        elif change.is_gap:
            yield from _skipped(timetable, change)
        else:
            yield from _silent(timetable, change)


def _months_without_a_run(pattern: Pattern) -> Iterator[Caution]:
    fewest = {month: _fewest_days(pattern.rule, month) for month in pattern.months}
    never, sometimes = ([month_name[month] for month in fewest if fewest[month] == kind] for kind in (0, 1))
    if never and len(never) < len(fewest):
        yield Caution("some months", f"there is no such day in {', '.join(never)}: it does not fire then")
    if sometimes:
        yield Caution("some months", f"in some years there is no such day in {', '.join(sometimes)}")


@lru_cache(maxsize=256)  # most schedules say every day, or one of the first
def _fewest_days(rule: DayRule, month: int) -> int:
    """0 if the month never has a matching day, 1 if it has one in some years, 2 if it always has."""
    lengths = (28, 29) if month == 2 else (shape(2001, month)[1],)
    found = [bool(days_of(rule, first, length)) for first in range(1, 8) for length in lengths]
    return 2 if all(found) else int(any(found))


# Clock changes


def _skipped(timetable: Timetable, change: Change) -> Iterator[Caution]:
    """Quartz does not fire in a gap: no loss to a schedule that fires every hour, unless it oversleeps."""
    wall = _first_wall(timetable, change.low)
    if wall and wall < change.high and not timetable.repeats:
        yield _caution(
            timetable,
            change,
            f"{wall:%Y-%m-%d %H:%M:%S} does not exist in {timetable.zone}, where the clocks go from "
            f"{change.low:%H:%M} to {change.high:%H:%M}: it does not fire. {_ADVICE}",
        )
    expected = _first_wall(timetable, change.high)
    last = timetable.previous(change.at)
    fire = timetable.next(last or change.at - SECOND)
    if expected and (fire is None or fire.replace(tzinfo=None) > expected):
        yield _caution(
            timetable,
            change,
            f"in {timetable.zone} the clocks go from {change.low:%H:%M} to {change.high:%H:%M} on "
            f"{change.low:%Y-%m-%d}: Quartz then passes over {expected:%Y-%m-%d %H:%M:%S} and next fires at "
            f"{fire or 'no time'}. {_ADVICE}",
        )


def _silent(timetable: Timetable, change: Change) -> Iterator[Caution]:
    """Quartz fires in the second of two equal hours only: a busy schedule falls silent for the first."""
    last = timetable.previous(change.at - (change.before - change.after))
    fire = last and timetable.next(last)
    if last is None or fire is None:
        return
    usual = fire.replace(tzinfo=None) - last.replace(tzinfo=None)
    silence = fire.astimezone(UTC) - last.astimezone(UTC)
    if usual <= HOUR and silence > usual:
        yield _caution(
            timetable,
            change,
            f"in {timetable.zone} the time from {change.low:%H:%M} to {change.high:%H:%M} comes twice on "
            f"{change.low:%Y-%m-%d}, and it fires the second time only: nothing from {last:%H:%M:%S} for "
            f"{silence}, instead of {usual}. {_ADVICE}",
        )


def _doubled(timetable: Timetable, change: Change) -> Iterator[Caution]:
    wall = _first_wall(timetable, change.low)
    if change.is_gap or not timetable.repeats or wall is None or wall >= change.high:
        return
    yield _caution(
        timetable,
        change,
        f"in {timetable.zone} {wall:%Y-%m-%d %H:%M:%S} comes twice, and it fires both times: "
        f"tell the two apart by the instant, not by the time on the wall",
    )


_ADVICE = "Choose dst='continuous', a zone whose clocks do not change, or another time"


def _caution(timetable: Timetable, change: Change, text: str) -> Caution:
    return Caution("gap" if change.is_gap else "overlap", text, change.at.astimezone(timetable.tz))


def _first_wall(timetable: Timetable, wall: datetime) -> datetime | None:
    match = timetable.pattern.first_from(*wall.timetuple()[:6])
    return datetime(*match) if match else None
