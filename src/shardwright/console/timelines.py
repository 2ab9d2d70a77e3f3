"""Timelines: the last fires of a job with their shards, when each began and ended."""

from datetime import UTC, datetime

from ..errors import NotValid
from ..history import recent
from ..history.ledger import Entry
from ..history.recent import Fire
from .desk import Room
from .models import RunBar, Timeline, TimelineFire


def read(here: Room, job: str, limit: int, before: str | None, first: int) -> Timeline:
    """A page of fires, the latest first, with their shards from the first on that is asked for. A job that
    nobody knows has none."""
    moment = _moment(before) if before is not None else None
    with here.history() as store:
        found = recent.fires(store, job, limit + 1, moment, first=first)
    shown = found[:limit]
    more = shown[-1].due.isoformat() if len(found) > limit else None
    beyond = first + recent.MOST_SHARDS
    return Timeline(
        fires=[_fire(each) for each in shown],
        before=more,
        next=beyond if any(each.last >= beyond for each in shown) else None,
    )


def _moment(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
        return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise NotValid(f"{text!r} is not where a page begins: take `before` from the page before") from None


def _fire(fire: Fire) -> TimelineFire:
    return TimelineFire(
        fire=fire.fire,
        due=fire.due,
        shards=[_bar(entry) for entry in fire.shards],
        left_out=fire.total - len(fire.shards),
    )


def _bar(entry: Entry) -> RunBar:
    return RunBar.model_validate(
        {
            "shard": entry.key.item,
            "began": entry.began,
            "ended": entry.ended,
            "disposition": entry.disposition.value,
            "outcome": entry.outcome,
            "process": entry.by,
        }
    )
