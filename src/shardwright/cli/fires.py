"""What the history tells of fires, as it is shown in a table."""

from collections.abc import Iterable
from datetime import timedelta

from .. import durations
from ..history.ledger import Disposition, Entry
from ..outcomes import OK
from .blocks import NONE, Table, said

COLUMNS = ("fire", "job", "shard", "what", "began", "took", "late", "process", "why")


def in_order(entries: Iterable[Entry]) -> list[Entry]:
    """The latest first, and the shards of a fire one after the other."""
    by_shard = sorted(
        entries, key=lambda entry: (entry.key.job, entry.key.fire, entry.key.made, entry.key.item)
    )
    return sorted(by_shard, key=lambda entry: entry.due, reverse=True)


def fire_table(entries: Iterable[Entry], empty: str) -> Table:
    return Table(COLUMNS, [_row(entry) for entry in entries], empty)


def _row(entry: Entry) -> tuple[str, ...]:
    return (
        entry.key.fire,
        entry.key.job,
        str(entry.key.item),
        f"{entry.disposition.value} {entry.outcome}".rstrip(),
        said(entry.result.began if entry.result else entry.began),
        _took(entry),
        NONE if entry.late is None else length(entry.late),
        said(entry.by),
        _why(entry),
    )


def length(seconds: float) -> str:
    """A length of time, as exactly as people care."""
    if seconds < 60:
        return f"{seconds:.1f}s"
    return durations.text(timedelta(seconds=round(seconds)))


def _took(entry: Entry) -> str:
    return NONE if entry.took is None else length(entry.took)


def _why(entry: Entry) -> str:
    """Why it did not come out well, or not then, or not there, in a few words."""
    if entry.disposition is Disposition.MADE_GOOD and entry.verdict:
        return f"made good by {entry.verdict.later}"
    if entry.result and entry.outcome != OK:
        return entry.result.failure.strip().rsplit("\n", 1)[-1]
    if entry.result is None and entry.verdict:
        return entry.verdict.reason
    if entry.result and entry.result.tries:
        return f"not at the first try: {len(entry.result.tries)} went wrong"
    return ""
