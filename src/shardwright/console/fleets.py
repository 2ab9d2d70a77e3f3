"""Fleets: a page of all jobs there are, searched, filtered and sorted as somebody wants them. They come from
the picture; only for the jobs of the page is the history asked, once."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from ..history import recent
from ..history.recent import Summary
from ..ops.jobs import Status
from ..ops.overview import Row
from . import lasts, live
from .desk import Room
from .models import Fleet, JobRow

#: How many fires the line of lateness goes back.
FIRES = 20

_STATUSES = (Status.CRASHED, Status.SHARDING_FLAG, Status.DISABLED, Status.OK)


class Order(Enum):
    """What jobs are sorted by; those that are equal in it, by name."""

    NAME = "name"
    STATUS = "status"
    NEXT = "next"
    SHARDS = "shards"
    LATE = "late"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which jobs, in which order, and which part of them."""

    search: str = ""
    status: str | None = None
    outcome: str | None = None
    order: Order = Order.NAME
    descending: bool = False
    offset: int = 0
    limit: int = 50


def page(here: Room, wanted: Wanted) -> Fleet:
    picture = here.picture()
    if wanted.outcome is not None:
        here.lasts.check()
    found = list(_found(picture.rows, wanted, here))
    counts = Counter(row.brief.status for row in found)
    fitting = [row for row in found if wanted.status in (None, row.brief.status.value)]
    shown = _sorted(fitting, wanted, here)[wanted.offset : wanted.offset + wanted.limit]
    fires = here.lasts.read({row.brief.name: row.brief.shards or 1 for row in shown}, FIRES)
    return Fleet(
        jobs=[_row(row, fires.get(row.brief.name, ()), here) for row in shown],
        total=len(fitting),
        by_status={status.value: counts[status] for status in Status},
    )


def _found(rows: Mapping[str, Row], wanted: Wanted, here: Room) -> Iterable[Row]:
    words = wanted.search.casefold().split()
    for name, row in rows.items():
        text = f"{name}\n{row.brief.description}".casefold() if words else ""
        if not all(word in text for word in words):
            continue
        if wanted.outcome is not None:
            last = here.lasts.of(name)
            if last is None or last.outcome != wanted.outcome:
                continue
        yield row


def _sorted(rows: list[Row], wanted: Wanted, here: Room) -> list[Row]:
    """In the order that is wanted. Those of whom there is nothing to say come last, whichever way."""
    by_name = sorted(rows, key=lambda row: row.brief.name)
    match wanted.order:
        case Order.NAME:
            return by_name[::-1] if wanted.descending else by_name
        case Order.STATUS:
            keys: dict[str, object] = {row.brief.name: _STATUSES.index(row.brief.status) for row in rows}
        case Order.NEXT:
            keys = {row.brief.name: row.brief.next_fires[0] for row in rows if row.brief.next_fires}
        case Order.SHARDS:
            keys = {row.brief.name: row.brief.shards for row in rows if row.brief.shards is not None}
        case Order.LATE:
            lates = {row.brief.name: _late(here.lasts.of(row.brief.name)) for row in rows}
            keys = {name: late for name, late in lates.items() if late is not None}
    known = [row for row in by_name if row.brief.name in keys]
    unknown = [row for row in by_name if row.brief.name not in keys]
    known.sort(key=lambda row: keys[row.brief.name], reverse=wanted.descending)  # type: ignore[arg-type,return-value]
    return known + unknown


def _late(last: Summary | None) -> float | None:
    return last.late if last is not None else None


def _row(row: Row, fires: tuple[Summary, ...], here: Room) -> JobRow:
    last = recent.last(fires) or here.lasts.of(row.brief.name)
    # What is told live goes on from the last one.
    late = [fire.late for fire in reversed(fires[fires.index(last) :] if last in fires else ())]
    return JobRow.model_validate({**live.told(row), "last": lasts.told(last), "late": late})
