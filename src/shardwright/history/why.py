"""Why: what became of a fire, in words, from the ledger alone.

One line for the fire, and one for each shard, or group of shards, that did not simply run on time: why it ran
late, elsewhere, not well, or not at all.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from sqlalchemy import select

from .. import durations
from ..outcomes import CUT_SHORT, FAILED, OK, SUPERSEDED, TIMED_OUT
from . import ledger, queries, rows
from .ledger import LOST_RUN, Attempt, Disposition, Entry
from .store import Store
from .tables import LEDGER

#: Who begins within so many seconds of the time is on time.
ON_TIME = 1.0

#: How many of the entries before a fire are looked at for one that speaks for it.
LOOKED_AT = 1000

_HOW = {
    OK: "came out well",
    FAILED: "failed",
    TIMED_OUT: "took too long and was stopped",
    SUPERSEDED: "was ended as the next fire came",
    CUT_SHORT: "was cut short",
    LOST_RUN: "was lost with its member",
    "": "has not been heard of since",
}


def ask(store: Store, job: str, at: str | datetime) -> str:
    """Why the fire of a job at a time came to what it did."""
    found = of(store, job, at)
    return why(found, job=job, at=ledger.named(at), before=before(store, found))


def why(found: Sequence[Entry], *, job: str, at: str, before: Mapping[int, Entry] | None = None) -> str:
    """Why the shards of one fire came to what they did. `before` is what is known of the run of each shard
    right before, which may have been in the way."""
    fire = _fire(job, at)
    if not found:
        return (
            f"{fire}: nothing is known. Either it was not due then, or no member has ever known of it, "
            "or it was too long ago: only the statistics go back that far."
        )
    shards = newest(found)
    told = {entry.key.item: _shard(entry, (before or {}).get(entry.key.item)) for entry in shards}
    unusual = [f"  {items}: {what}" for items, what in _grouped(told) if what]
    if shards[0].key.fire != at:
        speaks = (
            f"it is one of very many that came to the same: the line of {shards[0].key.fire} speaks for it"
        )
        return "\n".join([f"{fire}: if it was due, {speaks}.", *unusual])
    return "\n".join([f"{fire}: {_summary(shards)}", *unusual])


def of(store: Store, job: str, at: str | datetime) -> list[Entry]:
    """All shards of a fire, of the last job of that name that had it; where it is one of very many that were
    passed over together, the entries that speak for it."""
    return newest(queries.fire(store, job, at)) or newest(_spoken_for(store, job, ledger.named(at)))


def _spoken_for(store: Store, job: str, at: str) -> list[Entry]:
    if ledger.is_asked(at):
        return []
    fire = datetime.fromisoformat(at)
    last: dict[int, Entry] = {}
    for entry in queries.history(store, job=job, end=fire, limit=LOOKED_AT).entries:
        last.setdefault(entry.key.item, entry)
    return [entry for _, entry in sorted(last.items()) if ledger.speaks_for(entry, fire)]


def newest(found: Sequence[Entry]) -> list[Entry]:
    """Those shards of a fire that are of the last job of that name that had it."""
    last = max((entry.key.made for entry in found), default=0)
    return [entry for entry in found if entry.key.made == last]


def before(store: Store, found: Sequence[Entry]) -> dict[int, Entry]:
    """What each late shard ran for right before, as far as that is not long ago."""
    late = {entry.key.item: entry for entry in found if _is_late(entry)}
    if not late:
        return {}
    first, last, due = min(late), max(late), min(entry.due for entry in late.values())
    question = (
        select(LEDGER)
        .where(
            LEDGER.c.job == found[0].key.job,
            LEDGER.c.item.between(first, last),
            LEDGER.c.due < due,
            LEDGER.c.began.is_not(None),
        )
        .order_by(LEDGER.c.due.desc())
        .limit(2 * (last - first + 1) + 20)
    )
    earlier: dict[int, Entry] = {}
    for row in store.reading(lambda connection: connection.execute(question).mappings().all()):
        entry = rows.entry(dict(row))
        earlier.setdefault(entry.key.item, entry)
    return earlier


def _fire(job: str, at: str) -> str:
    return f"{job}, asked for as {at}" if ledger.is_asked(at) else f"{job} at {at}"


def _summary(shards: Sequence[Entry]) -> str:
    total = len(shards)
    well = [entry for entry in shards if entry.outcome == OK]
    running = [entry for entry in shards if entry.disposition is Disposition.RUNNING]
    if running:
        return f"{len(well)} of {_shards(total)} came out well so far, and {len(running)} not over yet."
    if len(well) < total:
        return f"{len(well)} of {_shards(total)} came out well."
    late = [entry for entry in shards if _is_late(entry)]
    elsewhere = [entry for entry in shards if entry.disposition is Disposition.FAILED_OVER]
    if not late and not elsewhere:
        what = "ran on time and came out well" if not ledger.is_asked(shards[0].key.fire) else "came out well"
        return f"{'it' if total == 1 else _shards(total)} {what}."
    notes = [f"{len(late)} late"] if late else []
    notes += [f"{len(elsewhere)} taken over by another member"] if elsewhere else []
    return f"{_shards(total)} came out well, {' and '.join(notes)}."


def _shard(entry: Entry, before: Entry | None) -> str:
    """What was unusual about it; nothing if nothing was."""
    verdict = entry.verdict
    match entry.disposition:
        case Disposition.MADE_GOOD if verdict:
            more = f"; {verdict.reason}" if verdict.reason else ""
            return f"it could not run in time, and was made good by the run of {verdict.later}{more}."
        case Disposition.SKIPPED if verdict:
            return f"it was skipped: {verdict.reason or 'no reason was given'}."
        case Disposition.LOST:
            return " ".join([*_attempts(entry), _lost(entry)])
        case Disposition.UNKNOWN if verdict:
            return " ".join([*_attempts(entry), f"What became of it is unknown: {verdict.reason}."])
        case Disposition.RUNNING:
            return " ".join([*_late(entry, before), *_attempts(entry)])
        case Disposition.RAN if (
            entry.outcome == OK and len(entry.attempts) == 1 and not entry.attempts[0].tries
        ):
            return " ".join(_late(entry, before))
        case _:
            return " ".join([*_late(entry, before), *_attempts(entry)])


def _lost(entry: Entry) -> str:
    reason = f": {entry.verdict.reason}" if entry.verdict and entry.verdict.reason else ""
    return f"It was not run again{reason}."


def _attempts(entry: Entry) -> list[str]:
    goes_on = entry.attempts[-1:] if entry.disposition is Disposition.RUNNING else ()
    return [_attempt(each, of=len(entry.attempts), goes_on=each in goes_on) for each in entry.attempts]


def _attempt(attempt: Attempt, *, of: int, goes_on: bool) -> str:
    which = f"attempt {attempt.number}" if of > 1 else "it"
    began = f" began at {attempt.began.isoformat()}" if attempt.began else " was begun"
    ended = f" at {attempt.ended.isoformat()}" if attempt.ended and attempt.outcome else ""
    why = _said(attempt.failure) if attempt.outcome not in (OK, "") else ""
    how = "no end of it is known yet" if goes_on else _HOW.get(attempt.outcome, attempt.outcome)
    if attempt.began and _was_only_claimed(attempt):
        claimed = f"was claimed for {attempt.began.isoformat()} by {attempt.by}"
        return f"{which} {claimed}, and {how}{ended}, before it began{why}."
    return f"{which}{began} on {attempt.by}{_tries(attempt)} and {how}{ended}{why}."


def _was_only_claimed(attempt: Attempt) -> bool:
    """Whether it was claimed ahead of its time, and was over before that came. One that came to an end of its
    own did begin, whatever the clock said."""
    if attempt.finished or attempt.began is None or attempt.ended is None:
        return False
    return attempt.ended < attempt.began


def _tries(attempt: Attempt) -> str:
    """Those of its tries that others followed."""
    told = "".join(
        f", {_HOW.get(each.outcome, each.outcome)}{_said(each.failure)} at try {each.number}"
        for each in attempt.tries
    )
    return told and f"{told},"


def _said(failure: str) -> str:
    """The last line of it, which names the error."""
    last = failure.strip().rsplit("\n", 1)[-1]
    return f" ({last})" if last else ""


def _is_late(entry: Entry) -> bool:
    return entry.late is not None and entry.late > ON_TIME


def _late(entry: Entry, before: Entry | None) -> list[str]:
    if entry.late is None or not _is_late(entry):
        return []
    length = durations.text(timedelta(seconds=round(entry.late)))
    return [f"it began {length} late, on {entry.attempts[0].by}, {_because(entry, before)}."]


def _because(entry: Entry, before: Entry | None) -> str:
    if entry.attempts[0].source == "trigger":
        return "because somebody asked for it then, by a rerun or a backfill"
    if before and before.ended and before.ended > entry.due:
        return f"because the run before, of {before.key.fire}, went on until {before.ended.isoformat()}"
    match entry.attempts[0].source:
        case "catch-up":
            return "because no member was there to run it in time: it was caught up"
        case "misfire":
            return "because the run before was still going on: it was made good right after"
        case "failover":
            return "because the member that was to run it had died"
        case _:
            return "and the ledger does not say why: its member was busy, or the registry slow to answer"


def _grouped(told: Mapping[int, str]) -> list[tuple[str, str]]:
    """Shards of which the same is told, together."""
    groups: dict[str, list[int]] = {}
    for item, what in sorted(told.items()):
        groups.setdefault(what, []).append(item)
    return [(_items(items), what) for what, items in groups.items()]


def _items(items: Sequence[int]) -> str:
    if len(items) == 1:
        return f"shard {items[0]}"
    if len(items) > 2 and items[-1] - items[0] == len(items) - 1:
        return f"shards {items[0]} to {items[-1]}"
    return f"shards {', '.join(map(str, items[:-1]))} and {items[-1]}"


def _shards(number: int) -> str:
    return "1 shard" if number == 1 else f"{number} shards"
