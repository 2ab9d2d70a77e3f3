"""Schedules of every kind, and their texts: when a job fires, worked out without a clock.

    0 0 2 * * ?                             Quartz cron, see `cron`
    crontab */5 * * * *                     a UNIX line, see `crontab`
    every 10s                               at multiples of a length of time, counted from an anchor
    once 2026-01-01T00:00:00+00:00          at one instant

A fire's identity is its time, so all replicas must find the same times: nothing here knows when it was
started. The kind is said by the first word and never guessed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Protocol, runtime_checkable

from . import durations, pitfalls, zones
from . import words as in_words
from .cron import Cron, Dst, Timetable, walk
from .crontab import Crontab
from .errors import CronError
from .pitfalls import Caution
from .zones import SECOND

__all__ = ["Caution", "Every", "Once", "Schedule", "crontab", "every", "lint", "once", "parse", "words"]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@runtime_checkable
class Schedule(Protocol):
    """A set of instants, in order. All times given and taken are aware."""

    @property
    def text(self) -> str:
        """What `parse` makes an equal schedule of."""

    def next(self, after: datetime) -> datetime | None:
        """The first fire after an instant, or None if there is none."""

    def previous(self, before: datetime) -> datetime | None:
        """The last fire before an instant, or None if there is none."""

    def between(self, start: datetime, end: datetime) -> Iterator[datetime]:
        """Every fire after `start`, up to and including `end`."""


# Every so often


@dataclass(frozen=True, slots=True)
class Every:
    """At the multiples of a period, counted from an anchor both ways. Clock changes do not touch it."""

    period: timedelta
    anchor: datetime = EPOCH

    def __post_init__(self) -> None:
        if not isinstance(self.period, timedelta):
            raise CronError(
                f"a period is a timedelta here, not {type(self.period).__name__}; every() takes text"
            )
        zones.instant(self.anchor)
        if self.period < SECOND or self.period % SECOND:
            raise CronError(f"every {self.period}: a period is a whole number of seconds, at least one")
        if self.anchor.microsecond:
            raise CronError(f"every {self.period}: the anchor {self.anchor} is not a whole second")
        object.__setattr__(self, "anchor", zones.instant(self.anchor))

    @property
    def text(self) -> str:
        start = "" if self.anchor == EPOCH else f" from {self.anchor.isoformat()}"
        return f"every {durations.text(self.period)}{start}"

    def __str__(self) -> str:
        return self.text

    def next(self, after: datetime) -> datetime | None:
        return self._multiple((zones.instant(after) - self.anchor) // self.period + 1)

    def previous(self, before: datetime) -> datetime | None:
        return self._multiple(-((self.anchor - zones.instant(before)) // self.period) - 1)

    def between(self, start: datetime, end: datetime) -> Iterator[datetime]:
        return walk(self.next, start, end)

    def _multiple(self, count: int) -> datetime | None:
        try:
            return self.anchor + count * self.period
        except OverflowError:  # beyond the years that datetime knows
            return None


def every(period: str | timedelta, *, anchor: datetime = EPOCH) -> Every:
    """`every("1h30m")`: at the multiples of that, counted from 1970 in UTC or from the anchor given."""
    try:
        length = durations.read(period)
    except ValueError as wrong:
        raise CronError(f"every {str(period)[:60]!r}: the period {wrong}") from None
    return Every(length, anchor)


# Once


@dataclass(frozen=True, slots=True)
class Once:
    """At one instant."""

    at: datetime

    def __post_init__(self) -> None:
        object.__setattr__(self, "at", zones.instant(self.at))

    @property
    def text(self) -> str:
        return f"once {self.at.isoformat()}"

    def __str__(self) -> str:
        return self.text

    def next(self, after: datetime) -> datetime | None:
        return self.at if zones.instant(after) < self.at else None

    def previous(self, before: datetime) -> datetime | None:
        return self.at if self.at < zones.instant(before) else None

    def between(self, start: datetime, end: datetime) -> Iterator[datetime]:
        return walk(self.next, start, end)


def once(at: datetime) -> Once:
    """`once(datetime(2026, 1, 1, tzinfo=UTC))`: then, and never again."""
    return Once(at)


# UNIX lines, and texts of all kinds


def crontab(line: str, zone: str | tzinfo | None = "UTC", *, dst: Dst = "continuous") -> Crontab:
    """`crontab("*/5 * * * *")`: a UNIX line of five fields, or `@daily` and the like."""
    return Crontab(line, zone, dst=dst)


def parse(text: str, zone: str | tzinfo | None = "UTC", *, dst: Dst | None = None) -> Schedule:
    """The schedule a text stands for; `zone` and `dst` count for the two kinds of cron."""
    if not isinstance(text, str):
        raise CronError(f"a schedule is parsed from text such as 'every 10s', not {type(text).__name__}")
    kind, rest = [*text.split(maxsplit=1), "", ""][:2]
    match kind:
        case "every":
            return _parse_every(text, rest)
        case "once":
            return once(_moment(text, rest))
        case "crontab":
            return crontab(rest.strip(), zone, dst=dst or "continuous")
    return Cron(text, zone, dst=dst or "quartz")


def _parse_every(text: str, rest: str) -> Every:
    period, separator, anchor = rest.partition(" from ")
    return every(period.strip(), anchor=_moment(text, anchor) if separator else EPOCH)


def _moment(text: str, iso: str) -> datetime:
    try:
        moment = datetime.fromisoformat(iso.strip())
    except ValueError:
        raise CronError(f"{text[:80]!r}: write the instant as 2026-01-01T00:00:00+00:00") from None
    if moment.tzinfo is None:
        raise CronError(f"{text[:80]!r}: add an offset, such as +00:00: {moment.isoformat()}+00:00")
    return moment


# What to know about one, and how to say it


def lint(schedule: Schedule, *, after: datetime, years: int = 2) -> tuple[Caution, ...]:
    """What the schedule will do, in the years after an instant, that its author may not expect."""
    _check(schedule)
    cautions = list(pitfalls.of_timetable(schedule, after, years)) if isinstance(schedule, Timetable) else []
    if schedule.next(after) is None:
        cautions.insert(0, Caution("never", f"{schedule.text!r} does not fire after {after.isoformat()}"))
    return tuple(cautions)


def words(schedule: Schedule, locale: str | None = None) -> str:
    """The schedule for people to read; cron needs the extra `words`, and speaks many languages."""
    _check(schedule)
    match schedule:
        case Timetable():
            return in_words.say(schedule.pattern, locale)
        case Every(period, anchor):
            since = "" if anchor == EPOCH else f", counted from {anchor}"
            return f"Every {_length(period)}{since}"
        case Once(at):
            return f"Once, at {at}"
    return schedule.text


def _check(schedule: Schedule) -> None:
    if not isinstance(schedule, Schedule):
        raise CronError(
            f"this wants a schedule, not {type(schedule).__name__}: make one of a text with parse()"
        )


def _length(period: timedelta) -> str:
    minutes, seconds = divmod(period.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    counts = {"day": period.days, "hour": hours, "minute": minutes, "second": seconds}
    said = [f"{count} {unit}{'s' if count > 1 else ''}" for unit, count in counts.items() if count]
    return " ".join(said).removeprefix("1 ") if len(said) == 1 else " ".join(said)
