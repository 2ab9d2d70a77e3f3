"""Rows: entries as the ledger's table keeps them, and back.

What is known stands in `due`, `attempts` and the columns of the verdict; all else in a row follows from that
and is there to be searched by.
"""

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime

from . import texts
from .ledger import Attempt, Disposition, Entry, Key, Verdict
from .tables import LONGEST_BY


def known_as(key: Key) -> str:
    """The one name of a shard of a fire: told by anybody, it is the same."""
    whole = "\n".join([key.job, str(key.made), key.fire, str(key.item)])
    return hashlib.sha256(whole.encode()).hexdigest()[:32]


def of(entry: Entry) -> dict[str, object]:
    began, ended = entry.began, entry.ended
    return {
        "known_as": known_as(entry.key),
        "job": entry.key.job,
        "made": entry.key.made,
        "fire": entry.key.fire,
        "item": entry.key.item,
        "due": entry.due,
        "day": entry.due.date(),
        "disposition": entry.disposition.value,
        "outcome": entry.outcome,
        "began": began,
        "ended": ended,
        "late_ms": None if entry.late is None else round(entry.late * 1000),
        "ran_ms": _ran(entry),
        "ran_by": texts.cut(entry.by, LONGEST_BY),
        "attempts": json.dumps([_told(attempt) for attempt in entry.attempts]),
        "verdict": entry.verdict.kind.value if entry.verdict else "",
        "told": entry.verdict.at if entry.verdict else None,
        "reason": entry.verdict.reason if entry.verdict else "",
        "later": entry.verdict.later if entry.verdict else "",
    }


def entry(row: Mapping[str, object]) -> Entry:
    key = Key(str(row["job"]), _int(row["made"]), str(row["fire"]), _int(row["item"]))
    due, told = row["due"], row["told"]
    assert isinstance(due, datetime)
    verdict = None
    if isinstance(told, datetime):
        kind = Disposition(str(row["verdict"]))
        verdict = Verdict(kind, told, str(row["reason"]), str(row["later"]))
    return Entry(key, due, tuple(map(_attempt, json.loads(str(row["attempts"])))), verdict)


def _ran(entry: Entry) -> int | None:
    """How long its last run took that came to an end."""
    last = entry.result
    if last is None or last.began is None or last.ended is None:
        return None
    return max(0, round((last.ended - last.began).total_seconds() * 1000))


def _told(attempt: Attempt) -> dict[str, object]:
    told = {
        "id": attempt.id,
        "by": attempt.by,
        "source": attempt.source,
        "number": attempt.number,
        "began": attempt.began.isoformat() if attempt.began else None,
        "ended": attempt.ended.isoformat() if attempt.ended else None,
        "outcome": attempt.outcome,
        "failure": attempt.failure,
        "host": attempt.host,
    }
    return {key: value for key, value in told.items() if value not in (None, "")}


def _attempt(told: Mapping[str, str]) -> Attempt:
    return Attempt(
        told["id"],
        told.get("by", ""),
        told.get("source", ""),
        int(told.get("number", 1)),
        _moment(told.get("began")),
        _moment(told.get("ended")),
        told.get("outcome", ""),
        told.get("failure", ""),
        told.get("host", ""),
    )


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _int(value: object) -> int:
    assert isinstance(value, int)
    return value
