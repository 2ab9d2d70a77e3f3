"""Rows: entries as the ledger's table keeps them, and back.

What is known stands in `due`, `attempts` and the columns of the verdict; all else in a row follows from that
and is there to be searched by.
"""

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from . import texts
from .ledger import Attempt, Disposition, Entry, Key, Try, Verdict
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
        "ran_ms": None if entry.took is None else round(entry.took * 1000),
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
        "tries": [_tried(each) for each in attempt.tries],
    }
    return {key: value for key, value in told.items() if value not in (None, "", [])}


def _tried(each: Try) -> dict[str, object]:
    return {
        "number": each.number,
        "began": each.began.isoformat() if each.began else None,
        "ended": each.ended.isoformat(),
        "outcome": each.outcome,
        "failure": each.failure,
    }


def _attempt(told: Mapping[str, Any]) -> Attempt:
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
        tuple(map(_try, told.get("tries", ()))),
    )


def _try(told: Mapping[str, Any]) -> Try:
    ended = datetime.fromisoformat(told["ended"])
    return Try(int(told["number"]), _moment(told["began"]), ended, told["outcome"], told["failure"])


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _int(value: object) -> int:
    assert isinstance(value, int)
    return value
