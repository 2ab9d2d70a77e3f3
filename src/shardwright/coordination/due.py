"""Due: which fire a shard has come to, by the calendar, its cursor, and what we answer for.

T, the scheduled time, is a fire's identity; "now" never is. So a clock that is stepped neither loses a
fire nor doubles one, and all members mean the same fire by the same name.

Of the fires that fell while somebody was there and could not start them, the latest is run and stands for
all. Those that fell while nobody was there are skipped, or made up for: by the latest of them (`once`),
or one after the other, the oldest first (`all`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ..schedule import Schedule
from . import claim, gap, instance, overlap
from .step import Look
from .view import LONG_AGO, Source, View

#: A claim may be made this long before its fire, so that the run starts on time.
AHEAD = timedelta(seconds=1)

#: How long a Java member may take from its fire to having seen what is its own.
STIR = timedelta(seconds=2)

#: How far to look back for the latest fire, one after the other: most jobs fire often.
_WINDOWS = (
    timedelta(seconds=20),
    timedelta(minutes=5),
    timedelta(hours=2),
    timedelta(hours=26),
    timedelta(days=62),
    timedelta(days=400),
    timedelta(days=2000),
)


def ahead(view: View) -> timedelta:
    """How long before its fire a claim may be made: not at all beside Java members, who begin on time and may
    be given the shard before that."""
    return timedelta(0) if instance.java_members(view) else AHEAD


def stirring(view: View) -> datetime | None:
    """Until when Java members may be starting what is theirs, because a fire is near; None if none is. With
    fires at every moment there is no better one."""
    fire = latest(view.schedule, view.now + AHEAD) if view.schedule is not None else None
    if fire is None or view.schedule is None or fire + STIR <= view.now:
        return None
    following = view.schedule.next(fire)
    return fire + STIR if following is None or following - fire > 2 * STIR else None


def fires(view: View, items: list[int]) -> dict[int, datetime]:
    """Of these shards, those that have a fire to come to, each with that fire."""
    if view.schedule is None:
        return {}
    last = latest(view.schedule, view.now + ahead(view))
    if last is None:
        return {}
    found = {}
    for item in items:
        since = answered(view, item)
        if last > since:
            found[item] = oldest_missed(view, item, since) or last
    return found


@dataclass(frozen=True, slots=True)
class Span:
    """A time between two fires."""

    since: datetime
    fire: datetime | None
    """The fire it begins with, in UTC; None if there was none for years."""
    following: datetime | None
    """The one it ends with, in the schedule's zone."""

    def holds(self, moment: datetime) -> bool:
        return self.since <= moment and (self.following is None or moment < self.following.astimezone(UTC))


#: Where each schedule was found to be last: most looks find it there again, or in the span after.
_spans: dict[Schedule, Span] = {}
_SPANS_KEPT = 20_000


def span(schedule: Schedule, moment: datetime) -> Span:
    """Between which fires a moment lies; a moment that is one begins its span."""
    found = _spans.get(schedule)
    if found is not None and found.holds(moment):
        return found
    if found is not None and found.following is not None and moment >= found.since:
        fire = found.following.astimezone(UTC)
        found = Span(fire, fire, schedule.next(found.following))
    if found is None or not found.holds(moment):
        fires = last_fires(schedule, moment, 1)
        fire = fires[0] if fires else moment
        found = Span(fire, fire if fires else None, schedule.next(fire))
    if len(_spans) >= _SPANS_KEPT:
        _spans.clear()
    _spans[schedule] = found
    return found


def latest(schedule: Schedule, until: datetime) -> datetime | None:
    """The last fire up to a moment, in UTC: how a zone tells it is no part of its identity."""
    return span(schedule, until).fire


def last_fires(
    schedule: Schedule, until: datetime, count: int, since: datetime | None = None
) -> list[datetime]:
    """As many of the last fires up to a moment, the oldest first.

    Found by going forward, because that is how the calendar is defined where clocks change.
    """
    found: list[datetime] = []
    for back in _WINDOWS:
        begin = until - back if since is None else max(until - back, since)
        found, fire = [], schedule.next(begin)
        while fire is not None and (here := fire.astimezone(UTC)) <= until:
            found.append(here)
            fire = schedule.next(fire)
        if len(found) >= count or begin == since:
            break
    return found[-count:]


def makes_up(view: View) -> bool:
    """Whether fires are made up for that fell while nobody was there; Java members, which keep no cursors,
    may have run them."""
    return view.config.catch_up != "skip" and not instance.java_members(view)


def oldest_missed(view: View, item: int, since: datetime) -> datetime | None:
    """The next to be made up for where all are, as many as the job wants."""
    if view.config.catch_up != "all" or not makes_up(view) or view.schedule is None:
        return None
    before_us = min(came(view, item), view.now)
    if since >= before_us:
        return None
    name = f"due.oldest_missed {since} {before_us}"
    if name not in view.answers:  # most shards have come equally far
        missed = last_fires(view.schedule, before_us, view.config.catch_up_max_count, since)
        view.answers[name] = next(iter(missed), None)
    return view.answers[name]  # type: ignore[return-value]


def came(view: View, item: int) -> datetime:
    """From when on somebody was there for a shard: we, or whoever was running it when we came."""
    known = claim.cursor(view, item)
    began, ended = known.began or view.local.since, known.ended or LONG_AGO
    return began if began < view.local.since <= ended else view.local.since


def answered(view: View, item: int) -> datetime:
    """Up to when the shard's fires are accounted for, or are none of ours."""
    at, found = claim.cursor(view, item).at, gap.known(view)
    counts = found.counts_from(item) if found is not None else view.local.since
    if at is None or found is None or not makes_up(view):
        return max(moment for moment in (at, came(view, item), counts) if moment is not None)
    age = view.config.catch_up_max_age
    oldest = min(came(view, item), view.now - age) if age is not None else at
    return max(at, counts, found.alone, oldest)


def after_run(view: View, item: int) -> datetime | None:
    """Where the cursor stands when a run has ended. Fires that fell into it and are not made good are passed
    over with its end."""
    at = claim.cursor(view, item).at
    if overlap.made_good(view) or view.schedule is None or at is None:
        return at
    if view.config.catch_up == "all" and at < came(view, item):
        return at
    fallen = latest(view.schedule, view.now)
    return max(at, fallen) if fallen is not None else at


def claimed(view: View, item: int, fire: datetime) -> claim.Fire:
    """What is claimed for a fire of the calendar."""
    return claim.Fire(item, fire.isoformat(), why(view, item, fire), fire)


def why(view: View, item: int, fire: datetime) -> Source:
    """A fire that fell into the run before it is made good; one from before our time is made up for; any
    other has come in time, or somewhat late."""
    if makes_up(view) and fire <= came(view, item):
        return Source.CATCH_UP
    ended = claim.cursor(view, item).ended
    return Source.MISFIRE if ended is not None and ended > fire else Source.SCHEDULED


def next_look(view: View) -> Iterator[Look]:
    early = ahead(view)
    fire = span(view.schedule, view.now + early).following if view.schedule is not None else None
    if fire is not None:
        yield Look(view.boot + (fire - early - view.now).total_seconds(), f"fires at {fire.isoformat()}")
