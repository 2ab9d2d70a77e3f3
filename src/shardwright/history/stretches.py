"""Stretches: fires of a shard that were passed over together, told by their ends.

There may be very many of them, and of many shards at once: when a fleet comes back after hours, say. So a
stretch is handed on as it is, waits as one thing, and is taken apart only where its entries are written or
told, in a thread that may take its time. Which fires they are is found out once for all shards.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice

from ..schedule import parse
from . import ledger
from .ledger import Disposition, Entry, Key, Verdict

log = logging.getLogger("shardwright")

#: Of a stretch, how many fires are listed each by itself.
MOST = 1000

#: Of how many stretches the fires are remembered. The shards of a job come one after another.
_REMEMBERED = 8


@dataclass(frozen=True, slots=True)
class Stretch:
    """The fires of a shard after one moment and up to another, by a schedule, and what became of them."""

    job: str
    made: int
    item: int
    after: datetime
    until: datetime
    schedule: tuple[str, ...]
    """Its text, its zone and its rule for clock changes."""
    kind: Disposition
    reason: str = ""
    later: str = ""
    """The fire that stands for them, if they were made good."""
    told: datetime = field(kw_only=True, compare=False)
    """Told again it is the same stretch."""

    @property
    def key(self) -> "Stretch":
        return self


#: What is told of a shard, of one fire or of several.
Told = Entry | Stretch


def apart(told: Told) -> Iterator[Entry]:
    """An entry for each fire. Of very many the first are listed; the last of those speaks for the others."""
    if isinstance(told, Entry):
        yield told
        return
    fires = _fires(told.schedule, told.after, told.until)
    plain = Verdict(told.kind, told.told, told.reason, told.later)
    for number, (fire, due) in enumerate(fires[:MOST], 1):
        verdict = plain
        if number == MOST < len(fires):
            verdict = Verdict(told.kind, told.told, ledger.speaking(told.reason, told.until), told.later)
        yield Entry(Key(told.job, told.made, fire, told.item), due, (), verdict)


def size(told: Told) -> int:
    """How many entries it is taken apart into."""
    return 1 if isinstance(told, Entry) else min(MOST, len(_fires(told.schedule, told.after, told.until)))


@lru_cache(_REMEMBERED)
def _fires(schedule: tuple[str, ...], after: datetime, until: datetime) -> tuple[tuple[str, datetime], ...]:
    """Up to one more than are listed, by name, and when they were due. Of a schedule that cannot be read
    here, such as one in a zone that this machine does not know, the last fire stands for all."""
    try:
        text, zone, dst = schedule
        by = parse(text, zone or None, dst=dst or None)  # type: ignore[arg-type]
        fires = list(islice(by.between(after, until), MOST + 1))
    except (ValueError, OverflowError) as error:
        log.warning("fires up to %s cannot be told apart: %s", until.isoformat(), error)
        fires = [until]
    return tuple((ledger.named(fire), fire.astimezone(UTC)) for fire in fires)
