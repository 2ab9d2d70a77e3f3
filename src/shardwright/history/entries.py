"""Entries: what an event adds to the ledger."""

from dataclasses import replace

from . import events, ledger, texts
from .ledger import LOST_RUN, Attempt, Disposition, Entry, Key, Try, Verdict

#: How much of a reason is kept.
LONGEST_REASON = 1000


def of(event: events.Event) -> Entry | None:
    """What the event says about a shard of a fire; None if it says nothing the ledger keeps."""
    if not isinstance(event, events.ShardEvent):
        return None
    attempts, verdict = _attempts(event), _verdict(event)
    if not attempts and not verdict:
        return None
    key = Key(event.job, event.made, ledger.named(event.fire), event.item)
    heard = min((attempt.began for attempt in attempts if attempt.began), default=event.at)
    return Entry(key, ledger.due(key.fire, heard), attempts, verdict)


def _attempts(event: events.ShardEvent) -> tuple[Attempt, ...]:
    if not isinstance(event, events.RunEvent):
        return ()
    attempt = Attempt(event.attempt, event.by, event.source, event.number, host=event.host)
    match event:
        case events.Started(at=began):
            return (replace(attempt, began=began),)
        case events.Ended(at=ended, began=began, outcome=outcome, failure=failure):
            return (replace(attempt, began=began, ended=ended, outcome=outcome, failure=failure),)
        case events.Retried(at=ended, tried=number, began=began, outcome=outcome, failure=failure):
            return (replace(attempt, tries=(Try(number, began, ended, outcome, failure),)),)
        case events.FailedOver(at=ended):
            return (replace(attempt, ended=ended, outcome=LOST_RUN),)
        case _:
            return ()


def _verdict(event: events.ShardEvent) -> Verdict | None:
    match event:
        case events.MadeGood(at=at, later=later):
            return Verdict(Disposition.MADE_GOOD, at, later=ledger.named(later))
        case events.Skipped(at=at, reason=reason):
            return Verdict(Disposition.SKIPPED, at, texts.kept(reason, LONGEST_REASON))
        case events.Lost(at=at, reason=reason):
            return Verdict(Disposition.LOST, at, texts.kept(reason, LONGEST_REASON))
        case _:
            return None
