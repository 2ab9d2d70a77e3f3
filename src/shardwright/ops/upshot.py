"""Upshots: how runs of the past came out, for who has waited for their end.

A cursor says how runs of its shard came out until the history has it (`coordination.account`). So who reads
the cursors first, and the history after them, overlooks little: only what many short runs left no room for
comes into the history a moment later. Where schedulers keep no history, a cursor says of the last run only.
"""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from ..coordination.account import Ran
from ..history import ledger
from .looking import Sight

if TYPE_CHECKING:
    from ..history.store import Store

#: A fire by its name, and a shard of it.
Run = tuple[str, int]

#: A run, the number of its claim, and how it came out if that is known.
Told = tuple[Run, int, str]

_TICK = timedelta(microseconds=1)


def outcomes(
    before: Sight, now: Sight, fires: Sequence[datetime], items: Collection[int], store: "Store | None"
) -> dict[Run, str]:
    """How the runs of these fires came out that were claimed since one look and are over by another, as far
    as that is known. Of several runs of one fire the last counts."""
    wanted = {(ledger.named(fire), item) for fire in fires for item in items}
    last = dict.fromkeys(wanted, (-1, ""))
    told = list(_by_cursors(now, items))
    if store is not None:
        told += _by_history(store, before, fires, items)
    for run, claim, outcome in told:
        if run in wanted and claim > _version(before, run[1]):
            last[run] = max(last[run], (claim, outcome))
    found = {run: outcome for run, (_, outcome) in last.items() if outcome}
    return _by_last_words(before, now, ledger.named(fires[-1]), items) | found


def _by_cursors(now: Sight, items: Collection[int]) -> Iterator[Told]:
    for item in items:
        for entry in now.cursor(item).tail:
            if isinstance(entry, Ran):
                yield (ledger.named(entry.fire), item), _number(entry.attempt), entry.outcome


def _by_history(
    store: "Store", before: Sight, fires: Sequence[datetime], items: Collection[int]
) -> Iterator[Told]:
    from ..history import queries

    made, begin, end = before.job.node("").made, fires[0], fires[-1] + _TICK
    for item in items:
        page = queries.history(store, job=before.name, begin=begin, end=end, item=item, limit=queries.MOST)
        for entry in page.entries:
            if entry.key.made == made:
                for attempt in entry.attempts:
                    yield (entry.key.fire, item), _number(attempt.id), attempt.outcome


def _by_last_words(before: Sight, now: Sight, fire: str, items: Collection[int]) -> dict[Run, str]:
    """What a cursor says of the last run of its shard, where that was of the past: fires are run in their
    order, so it was the last one's."""
    return {
        (fire, item): cursor.last
        for item in items
        if (cursor := now.cursor(item)).past
        and cursor.run is None
        and cursor.last
        and _version(now, item) > _version(before, item)
    }


def _version(sight: Sight, item: int) -> int:
    """What no claim is numbered by that was made after a look: each has the version it gave the cursor."""
    found = sight.cursors.get(item)
    return found.version if found is not None else -1


def _number(attempt: str) -> int:
    return int(attempt) if attempt.isdecimal() else -1
