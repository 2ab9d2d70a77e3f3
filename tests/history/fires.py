"""Fires for tests: one job, one moment, and what is told about them."""

from datetime import UTC, datetime, timedelta

from shardwright.history import events
from shardwright.history.ledger import Attempt, Disposition, Entry, Key, Verdict
from shardwright.outcomes import OK

T = datetime(2030, 1, 1, 2, 0, tzinfo=UTC)
FIRE = T.isoformat()
ME, OTHER = "10.0.0.1@-@17-aa", "10.0.0.2@-@18-bb"


def after(seconds: float) -> datetime:
    return T + timedelta(seconds=seconds)


def a_key(item: int = 0, *, job: str = "reindex", at: datetime = T, made: int = 7) -> Key:
    return Key(job, made, at.isoformat(), item)


def an_attempt(
    name: str = "a1",
    *,
    by: str = ME,
    number: int = 1,
    began: float = 0,
    ended: float | None = None,
    outcome: str = "",
    at: datetime = T,
    source: str = "scheduled",
    failure: str = "",
) -> Attempt:
    end = None if ended is None else at + timedelta(seconds=ended)
    return Attempt(name, by, source, number, at + timedelta(seconds=began), end, outcome, failure)


def a_run(
    item: int = 0, *, job: str = "reindex", at: datetime = T, outcome: str = OK, late: float = 0, by: str = ME
) -> Entry:
    """A shard that ran at once, for a second."""
    attempt = an_attempt(
        f"{job}-{at:%d%H%M%S}-{item}", by=by, began=late, ended=late + 1, outcome=outcome, at=at
    )
    return Entry(a_key(item, job=job, at=at), at, (attempt,))


def a_verdict(kind: Disposition, *, reason: str = "", later: str = "", at: float = 1) -> Entry:
    return Entry(a_key(), T, (), Verdict(kind, after(at), reason, later))


def started(item: int = 0, *, fire: str = FIRE, attempt: str = "a1", at: datetime = T) -> events.Started:
    return events.Started(at=at, job="reindex", made=7, fire=fire, item=item, attempt=attempt, by=ME)


def ended(
    item: int = 0, *, fire: str = FIRE, outcome: str = OK, failure: str = "", at: datetime | None = None
) -> events.Ended:
    return events.Ended(
        at=at or after(1),
        job="reindex",
        made=7,
        fire=fire,
        item=item,
        attempt="a1",
        by=ME,
        outcome=outcome,
        failure=failure,
    )
