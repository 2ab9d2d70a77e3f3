"""Told: what the history knows, in values that JSON knows."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..history.ledger import Attempt, Entry, Try
from .values import plain

if TYPE_CHECKING:
    from ..history.queries import Count, Note

#: What the runs wrote to the log, by the id of the run.
Logs = Mapping[str, Mapping[str, object]]


def entry(known: Entry, logs: Logs | None = None) -> dict[str, Any]:
    """What became of one shard of one fire."""
    verdict = known.verdict
    return {
        "job": known.key.job,
        "made": known.key.made,
        "fire": known.key.fire,
        "shard": known.key.item,
        "due": plain(known.due),
        "disposition": known.disposition.value,
        "outcome": known.outcome,
        "began": plain(known.began),
        "ended": plain(known.ended),
        "late": known.late,
        "took": known.took,
        "process": known.by,
        "reason": verdict.reason if verdict else "",
        "later": verdict.later if verdict else "",
        "attempts": [_attempt(each, logs or {}) for each in known.attempts],
    }


def _attempt(attempt: Attempt, logs: Logs) -> dict[str, Any]:
    return {
        "id": attempt.id,
        "process": attempt.by,
        "host": attempt.host,
        "source": attempt.source,
        "number": attempt.number,
        "began": plain(attempt.began),
        "ended": plain(attempt.ended),
        "outcome": attempt.outcome,
        "failure": attempt.failure,
        "tries": list(map(_try, attempt.tries)),
        "log": logs.get(attempt.id),
    }


def _try(each: Try) -> dict[str, Any]:
    """One that was followed by another."""
    return {
        "number": each.number,
        "began": plain(each.began),
        "ended": plain(each.ended),
        "outcome": each.outcome,
        "failure": each.failure,
    }


def count(each: "Count") -> dict[str, Any]:
    """How many fires of a job came to one thing on one day."""
    return {
        "job": each.job,
        "day": each.day.isoformat(),
        "disposition": each.disposition.value,
        "outcome": each.outcome,
        "fires": each.fires,
        "late": each.late,
        "latest": each.latest,
        "ran": each.ran,
    }


def note(each: "Note") -> dict[str, Any]:
    """Something somebody asked for."""
    return {
        "at": plain(each.at),
        "who": each.who,
        "what": each.what,
        "target": each.target,
        "detail": each.detail,
        "outcome": each.outcome,
    }
