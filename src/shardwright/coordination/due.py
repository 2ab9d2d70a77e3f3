"""Due: which fire a shard has come to, by the calendar, its cursor, and what we answer for.

T, the scheduled time, is a fire's identity; "now" never is. So a clock that is stepped neither loses a
fire nor doubles one, and all members mean the same fire by the same name.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from ..schedule import Schedule
from . import claim, execution
from .step import Look
from .view import View

#: A claim may be made this long before its fire, so that the run starts on time.
AHEAD = timedelta(seconds=1)

#: How far to look back for the latest fire, one after the other: most jobs fire often.
_WINDOWS = (timedelta(minutes=10), timedelta(hours=26), timedelta(days=62), timedelta(days=2000))


def fires(view: View, items: list[int]) -> dict[int, datetime]:
    """Of these shards, those that have a fire to come to, each with the latest."""
    fire = latest(view.schedule, view.now + AHEAD) if view.schedule is not None else None
    return {item: fire for item in items if fire > answered(view, item)} if fire is not None else {}


def latest(schedule: Schedule, until: datetime) -> datetime | None:
    """The last fire up to a moment, in UTC: how a zone tells it is no part of its identity.

    Found by going forward, because that is how the calendar is defined where clocks change.
    """
    for back in _WINDOWS:
        last, fire = None, schedule.next(until - back)
        while fire is not None and (here := fire.astimezone(UTC)) <= until:
            last, fire = here, schedule.next(fire)
        if last is not None:
            return last
    return None


def answered(view: View, item: int) -> datetime:
    """Up to when the shard's fires are accounted for, or are none of ours."""
    enabled = view.now - timedelta(seconds=view.boot - view.tree.since(execution.disabled_node(item)))
    known = claim.cursor(view, item).at
    return max(at for at in (known, view.local.since, enabled) if at is not None)


def after_run(view: View, item: int) -> datetime | None:
    """Where the cursor stands when a run has ended. Fires that fell into it and are not made good are passed
    over with its end."""
    at = claim.cursor(view, item).at
    if view.config.misfire or view.schedule is None or at is None:
        return at
    fallen = latest(view.schedule, view.now)
    return max(at, fallen) if fallen is not None else at


def next_look(view: View) -> Iterator[Look]:
    fire = view.schedule.next(view.now + AHEAD) if view.schedule is not None else None
    if fire is not None:
        yield Look(view.boot + (fire - AHEAD - view.now).total_seconds(), f"fires at {fire.isoformat()}")
