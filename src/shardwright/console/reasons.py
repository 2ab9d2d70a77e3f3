"""Reasons: why a fire came to what it did, in words, from the history; where that knows nothing, what the
job's schedule says."""

from ..clock import SystemClock
from ..errors import NotThere, NotValid, ShardwrightError
from ..history import ledger, queries, why
from ..history.ledger import Entry
from ..history.store import Store
from ..jobs import JobConfig
from ..ops import looking, timetable, told
from .desk import Room
from .models import Why

LAST = "last"


def explain(here: Room, job: str, fire: str) -> Why:
    """Why all shards of a fire came to what they did; the last fire, or one by its name."""
    with here.history() as store:
        name = _last(store, job) if fire == LAST else _named(fire)
        found = why.of(store, job, name) if name is not None else []
        words = _words(store, job, name, found)
        known = bool(found) or bool(queries.history(store, job=job, limit=1).entries)
    if found:
        return _told(job, name, words, found)
    config = _settings(here, job, known=known)
    by_schedule = timetable.around(config, name, SystemClock().wall()) if config is not None else None
    answer = _told(job, name, f"{words}\n{timetable.told(by_schedule, name)}", [])
    if by_schedule is None:
        return answer
    return Why.model_validate({**answer.model_dump(), "timetable": by_schedule.as_json()})


def _told(job: str, fire: str | None, words: str, found: list[Entry]) -> Why:
    shards = [told.entry(entry) for entry in found]
    return Why.model_validate(
        {"job": job, "fire": fire, "known": bool(found), "words": words, "timetable": None, "shards": shards}
    )


def _named(fire: str) -> str:
    try:
        return ledger.named(fire)
    except (ValueError, OverflowError):
        raise NotValid(
            f"{fire!r} is no fire: write its time, such as 2026-03-29T00:00:00+01:00, #3, or last"
        ) from None


def _last(store: Store, job: str) -> str | None:
    newest = queries.history(store, job=job, limit=1).entries
    return newest[0].key.fire if newest else None


def _words(store: Store, job: str, fire: str | None, found: list[Entry]) -> str:
    if fire is None:
        return f"{job}: nothing is known of any fire of it yet."
    return why.why(found, job=job, at=fire, before=why.before(store, found))


def _settings(here: Room, job: str, *, known: bool) -> JobConfig | None:
    """The job's settings as they are now; refused where neither history nor registry knows it."""
    try:
        with here.registry() as registry:
            return looking.at(registry, job).config
    except NotThere:
        if known:
            return None
        raise
    except (ShardwrightError, TimeoutError):  # the question is to the history, which has answered
        return None
