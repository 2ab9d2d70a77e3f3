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
from . import account, claim, gap, group, instance, overlap, server
from .step import Look
from .view import LONG_AGO, Source, View, once

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
    be given the shard before that, nor where it takes a place in a group that others could use meanwhile."""
    return timedelta(0) if instance.java_members(view) or group.is_limited(view) else AHEAD


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
    """From when on somebody was there for a shard: we, one of the others, or whoever was running it when we
    came."""
    known = claim.cursor(view, item)
    # Where fires are made up for, none is lost by our coming later; and whoever is said to be there may have
    # been frozen all the time.
    others = not makes_up(view) and _is_behind(view, item)
    there = somebody_came(view) if others else view.local.since
    began, ended = known.began or there, known.ended or LONG_AGO
    return began if began < there <= ended else there


@once
def somebody_came(view: View) -> datetime:
    """Since when the first of those is there who may work now. What fell since was not to be skipped because
    its owner was dead or frozen, whoever has the shard by now."""
    others = [who for who in server.workers(view) if who != view.me and instance.is_python(who)]
    view.tree.need(map(instance.alive_node, others))
    told = (instance.since(view, who) for who in others)
    return min([view.local.since, *(since for since in told if since is not None)])


def _is_behind(view: View, item: int) -> bool:
    """Whether a fire of the shard fell before we came that is not accounted for. Only then does it matter
    since when others are there, which would have to be read."""
    at, found = claim.cursor(view, item).at, gap.known(view)
    if view.schedule is None or found is None or (at is not None and at >= view.local.since):
        return False
    since = max(at or LONG_AGO, found.counts_from(item))
    name = f"due.is_behind {since}"
    if name not in view.answers:  # most shards have come equally far
        following = view.schedule.next(since) if since < view.local.since else None
        view.answers[name] = following is not None and following.astimezone(UTC) <= view.local.since
    return bool(view.answers[name])


def answered(view: View, item: int) -> datetime:
    """Up to when the shard's fires are accounted for, or are none of ours. Where it has never run, since the
    job's beginning: its first fire, or its only one, may have fallen while nobody was there, too."""
    at, found = claim.cursor(view, item).at, gap.known(view)
    if at is None and found is not None and found.born > LONG_AGO:
        at = found.born
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
    return claim.Fire(item, fire.isoformat(), why(view, item, fire), fire, passed=passed(view, item, fire))


#: Why fires were not to run.
NOT_THEN = "the shard was disabled or not there, nobody was allowed to work, or the schedule was another one"
NOBODY = "nobody was there to run it"
JAVA = "Java members were in the job, and keep no account"
TOO_OLD = "it was too old to be made up for"
TOO_MANY = "there were more than are made up for"
TOOK_LONGER = "the run before it took longer"


def passed(view: View, item: int, fire: datetime) -> tuple[account.Passed, ...]:
    """What becomes of the fires between the last one that a shard has come to and the one it comes to now."""
    at = claim.cursor(view, item).at
    found = gap.known(view)
    told = view.local.kept is not None or view.local.heard
    if not told or view.schedule is None or found is None:
        return ()
    name = f"due.passed {at} {found.counts_from(item)} {came(view, item)} {fire}"
    if name not in view.answers:  # most shards have come equally far
        view.answers[name] = tuple(_passed(view, item, at or found.born, fire))
    return view.answers[name]  # type: ignore[return-value]


def _passed(view: View, item: int, since: datetime, fire: datetime) -> Iterator[account.Passed]:
    assert view.schedule is not None
    following = view.schedule.next(since)
    if following is None or following.astimezone(UTC) >= fire:
        return
    for until, how, reason in _stretches(view, item, fire):
        end = min(until, fire - timedelta(microseconds=1))
        last = last_fires(view.schedule, end, 1, since) if end > since else []
        if last:
            yield account.Passed(since, last[0], how, reason, account.timetable(view.config))
        since = max(since, end)


def _stretches(view: View, item: int, fire: datetime) -> Iterator[tuple[datetime, str, str]]:
    """Up to when what became of a shard's fires, and why."""
    found = gap.known(view)
    assert found is not None
    yield found.counts_from(item), account.SKIPPED, NOT_THEN
    there = came(view, item)
    yield there if instance.java_members(view) else found.alone, account.UNKNOWN, JAVA
    if not makes_up(view):
        yield there, account.SKIPPED, NOBODY
    else:
        if view.config.catch_up_max_age is not None:
            yield min(there, view.now - view.config.catch_up_max_age), account.SKIPPED, TOO_OLD
        if view.config.catch_up == "all":
            yield there, account.SKIPPED, TOO_MANY
    yield fire, account.MADE_GOOD, fire.isoformat()


def last_of_all(view: View) -> datetime | None:
    """The last fire of a schedule that has come to its end."""
    here = span(view.schedule, view.now) if view.schedule is not None else None
    return here.fire if here is not None and here.following is None else None


def missed_for_good(view: View, item: int, last: datetime) -> tuple[account.Passed, ...]:
    """What became of the fires up to the last of all, which a shard has not come to and will not come to,
    unless that was said before."""
    known, found = claim.cursor(view, item), gap.known(view)
    since = known.at or (found.born if found is not None else LONG_AGO)
    if view.local.kept is None:  # a history may still want to be told, and is not if that was said
        return ()
    if known.closed == last or not LONG_AGO < since < last <= answered(view, item):
        return ()
    return passed(view, item, last + timedelta(microseconds=1))


def fallen_into(view: View, item: int, at: datetime | None) -> Iterator[account.Passed]:
    """The fires that a shard's cursor goes past, up to this one, because its run took longer."""
    since = claim.cursor(view, item).at
    if at is not None and since is not None and at > since:
        yield account.Passed(since, at, account.SKIPPED, TOOK_LONGER, account.timetable(view.config))


def had_by_java(view: View, at: datetime | None, until: datetime | None) -> Iterator[account.Passed]:
    """The fires that a shard had while it was a Java member's."""
    found = gap.known(view)
    since = at or (found.born if found is not None else None)
    if since is not None and until is not None and until > since:
        yield account.Passed(since, until, account.UNKNOWN, JAVA, account.timetable(view.config))


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
