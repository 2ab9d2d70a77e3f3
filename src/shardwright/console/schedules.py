"""Schedules as an author tries them out: when they fire, in words, and what to know about them."""

from .. import schedule, zones
from ..clock import SystemClock
from ..cron import Dst
from ..errors import CronError, MissingExtra, NotValid
from ..ops.jobs import next_fires
from ..schedule import Schedule
from .models import Caution, Next


def read(expression: str, zone: str | None, count: int, dst: Dst | None = None) -> Next:
    """The next fires of a schedule from now on; refused where it cannot be read."""
    try:
        place = zones.find(zone or None)
        found = schedule.parse(expression, place, dst=dst)
    except CronError as error:
        raise NotValid(_advised(str(error), expression)) from None
    now = SystemClock().wall()
    return Next(
        schedule=found.text,
        zone=zones.name(place),
        words=_words(found),
        fires=[fire.astimezone(place) for fire in next_fires(found, now, count)],
        cautions=[
            Caution(kind=each.kind, text=each.text, at=each.at) for each in schedule.lint(found, after=now)
        ],
    )


def _advised(error: str, expression: str) -> str:
    """The error for somebody who fills in a form, and does not write Python."""
    what, unix, _ = error.partition("For a UNIX line: ")
    advice = f"for a UNIX line leave cron empty and give as schedule: crontab {expression.strip()}"
    return f"{what}{advice}" if unix else error


def _words(found: Schedule) -> str | None:
    try:
        return schedule.words(found)
    except MissingExtra:
        return None
