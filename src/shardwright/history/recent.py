"""Recent: the last fires of jobs, of many at once for a list, of one with its shards for a timeline.

A ledger has a row for each shard of each fire, and a job may have millions of them. So no question here looks
at more than the newest: each of its parts goes down an index and stops after some rows. Of jobs with very
many shards it is first asked which fires were the last, and then the database counts these, whole.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import BigInteger, ColumnElement, Connection, Row, String, TextClause, func, or_, select, text

from ..outcomes import FAILED, OK, SUPERSEDED, TIMED_OUT
from . import ledger, rows
from .ledger import Disposition, Entry
from .store import Store
from .tables import LEDGER, Moment

#: How many rows of a job are looked at, at most, and how many jobs are asked for by one statement.
MOST_ROWS, AT_ONCE = 400, 200

#: So many fires of a job are told whole, however many shards it has: the last of them may run. Where they are
#: more than can be looked at, so many rows are counted.
LEAST_FIRES, MOST_COUNTED = 2, 4000

#: How many shards of a fire are told, and how many rows are looked through at a time for more fires.
MOST_SHARDS, STRIDE = 200, 500

#: The earlier here, the more it says about a fire as a whole.
_WORST = (
    *((Disposition.LOST, ""), (Disposition.UNKNOWN, "")),
    *(
        (kind, how)
        for how in (FAILED, TIMED_OUT, SUPERSEDED)
        for kind in (Disposition.RAN, Disposition.FAILED_OVER)
    ),
    *((Disposition.SKIPPED, ""), (Disposition.MADE_GOOD, "")),
    *((Disposition.FAILED_OVER, OK), (Disposition.RAN, OK)),
)
_WEIGHT = {each: place for place, each in enumerate(_WORST)}


@dataclass(frozen=True, slots=True)
class Summary:
    """A fire as a whole: the worst that became of its shards, the latest of them."""

    fire: str
    due: datetime
    disposition: Disposition
    outcome: str
    ended: datetime | None
    late: float | None


@dataclass(frozen=True, slots=True)
class Fire:
    """A fire with some of its shards, how many there are of it, and the number of the last of them."""

    fire: str
    made: int
    due: datetime
    shards: tuple[Entry, ...]
    total: int
    last: int


def summaries(store: Store, jobs: Mapping[str, int], fires: int) -> dict[str, tuple[Summary, ...]]:
    """The last fires of each of these jobs, the latest first, by how many shards each job has. Of a job with
    very many shards fewer fires are told, and each of them whole."""
    found: dict[str, list[Row[tuple[object, ...]]]] = {}
    large = {job: shards for job, shards in jobs.items() if _is_large(shards, fires)}
    wanted = [(job, shards) for job, shards in jobs.items() if job not in large]
    for first in range(0, len(wanted), AT_ONCE):
        asked = {job: _rows(shards, fires) for job, shards in wanted[first : first + AT_ONCE]}
        for row in store.reading(lambda connection: connection.execute(_newest(asked)).all()):  # noqa: B023
            found.setdefault(row.job, []).append(row)
    for job, told in found.items():
        if len(told) > max(1, jobs[job]) and len({(row.made, row.fire) for row in told}) == 1:
            large[job] = len(told)  # it had more shards when it last fired
    for job, shards in large.items():
        found[job] = _counted(store, job, max(LEAST_FIRES, min(fires, MOST_COUNTED // shards)))
    return {job: _summed(told, fires) for job, told in found.items() if told}


def last(told: Sequence[Summary]) -> Summary | None:
    """The last fire of some that is over; where none is, the one that runs."""
    over = (each for each in told if each.disposition is not Disposition.RUNNING)
    return next(over, told[0] if told else None)


def _is_large(shards: int, fires: int) -> bool:
    return shards * min(fires, LEAST_FIRES) > MOST_ROWS


def _rows(shards: int, fires: int) -> int:
    """How many rows to look at, so that no fire is seen in part."""
    shards = max(1, shards)
    return shards * min(fires, MOST_ROWS // shards)


def _counted(store: Store, job: str, fires: int) -> list[Row[tuple[object, ...]]]:
    """What became of all shards of the last fires of a job: a row for each fire and each thing that shards of
    it came to."""
    table = LEDGER.c
    came_to = (table.made, table.fire, table.disposition, table.outcome)
    sums = (
        func.min(table.due).label("due"),
        func.max(table.ended).label("ended"),
        func.max(table.late_ms).label("late_ms"),
    )

    def ask(connection: Connection) -> list[Row[tuple[object, ...]]]:
        names = _last_names(connection, job, fires)
        those = (table.job == job, table.fire.in_(names))
        return list(connection.execute(select(*came_to, *sums).where(*those).group_by(*came_to)))

    return store.reading(ask)


def _last_names(connection: Connection, job: str, fires: int) -> set[str]:
    """What the last fires of a job are called; of each of them only one row is looked at."""
    table, found = LEDGER.c, set[str]()
    question = select(table.made, table.fire, table.due).where(table.job == job).order_by(table.due.desc())
    for _ in range(fires):
        row = connection.execute(question.limit(1)).one_or_none()
        if row is None:
            break
        found.add(row.fire)
        # All shards of a scheduled fire were due at once; of one that was asked for, at various times.
        another = or_(table.fire != row.fire, table.made != row.made)
        question = question.where(another if ledger.is_asked(row.fire) else table.due < row.due)
    return found


def _newest(asked: Mapping[str, int]) -> TextClause:
    """The newest rows of each job, in one statement, whose parts are alike."""
    part = (
        "select * from (select job, made, fire, due, disposition, outcome, ended, late_ms from {ledger} "
        "where job = :job{n} order by due desc limit {rows:d}) as part{n}"
    )
    parts = [part.format(ledger=LEDGER.name, n=place, rows=many) for place, many in enumerate(asked.values())]
    values = {f"job{place}": job for place, job in enumerate(asked)}
    statement = text(" union all ".join(parts)).bindparams(**values)
    return statement.columns(  # type: ignore[return-value]
        job=String, made=BigInteger, fire=String, due=Moment, disposition=String, outcome=String,
        ended=Moment, late_ms=BigInteger,
    )  # fmt: skip


def _summed(told: Iterable[Row[tuple[object, ...]]], fires: int) -> tuple[Summary, ...]:
    by_fire: dict[tuple[int, str], list[Row[tuple[object, ...]]]] = {}
    for row in sorted(told, key=lambda each: each.due, reverse=True):
        by_fire.setdefault((row.made, row.fire), []).append(row)
    return tuple(_summary(fire, shards) for (_, fire), shards in list(by_fire.items())[:fires])


def _summary(fire: str, shards: Sequence[Row[tuple[object, ...]]]) -> Summary:
    kinds = {(Disposition(row.disposition), str(row.outcome)) for row in shards}
    running = any(kind is Disposition.RUNNING for kind, _ in kinds)
    kind, outcome = (
        (Disposition.RUNNING, "") if running else min(kinds, key=lambda each: _WEIGHT.get(each, 0))
    )
    ended = [row.ended for row in shards if row.ended is not None]
    late = [row.late_ms for row in shards if row.late_ms is not None]
    return Summary(
        fire,
        min(row.due for row in shards),
        kind,
        outcome,
        None if running else max(ended, default=None),
        max(late) / 1000 if late else None,
    )


# One job


def fires(
    store: Store, job: str, limit: int, before: datetime | None = None, *, first: int = 0
) -> list[Fire]:
    """The last fires of a job, the latest first, that were due before a time, each with its shards from the
    `first` on, as many as are told."""
    names = _names(store, job, limit, before)
    if not names:
        return []
    of_them = [LEDGER.c.job == job, LEDGER.c.fire.in_({fire for _, fire in names})]
    shown = (LEDGER.c.item >= first, LEDGER.c.item < first + MOST_SHARDS)
    question = select(LEDGER).where(*of_them, *shown).order_by(LEDGER.c.item)
    count = (
        select(LEDGER.c.made, LEDGER.c.fire, func.count(), func.max(LEDGER.c.item))
        .where(*of_them)
        .group_by(LEDGER.c.made, LEDGER.c.fire)
    )
    found, totals = store.reading(
        lambda connection: (connection.execute(question).mappings().all(), connection.execute(count).all())
    )
    many = {(made, fire): (total, highest) for made, fire, total, highest in totals}
    shards: dict[tuple[int, str], list[Entry]] = {}
    for row in found:
        entry = rows.entry(dict(row))
        shards.setdefault((entry.key.made, entry.key.fire), []).append(entry)
    return [
        Fire(fire, made, due, tuple(shards.get((made, fire), ())), *many.get((made, fire), (0, -1)))
        for (made, fire), due in names.items()
    ]


def _names(store: Store, job: str, limit: int, before: datetime | None) -> dict[tuple[int, str], datetime]:
    """Which fires these are, and when each was due. Many shards of a fire are passed over at once."""
    found: dict[tuple[int, str], datetime] = {}
    where: list[ColumnElement[bool]] = [LEDGER.c.due < before] if before is not None else []
    while True:
        question = (
            select(LEDGER.c.made, LEDGER.c.fire, LEDGER.c.due)
            .where(LEDGER.c.job == job, *where)
            .order_by(LEDGER.c.due.desc())
            .limit(STRIDE)
        )
        rows = store.reading(lambda connection: connection.execute(question).all())  # noqa: B023
        for made, fire, due in rows:
            if (made, fire) not in found and len(found) == limit:
                return found
            found[made, fire] = due
        if len(rows) < STRIDE:
            return found
        # All shards of a scheduled fire were due at once; of one that was asked for, at various times.
        asked = ledger.is_asked(rows[-1].fire)
        same = (
            LEDGER.c.due <= rows[-1].due
            if asked and rows[0].due != rows[-1].due
            else LEDGER.c.due < rows[-1].due
        )
        where = [same]
