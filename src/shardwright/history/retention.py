"""Retention: how much of a history is kept, by age and by number of rows, so that no table grows for ever.

Rows go a few at a time, and in the transaction in which they go they are counted in the roll-up: what became
of how many fires of a job on a day stays known. From when on rows are kept is noted first, so that nobody
tells of something again that has been counted already. Of ElasticJob's tables only what we wrote is deleted.

A SQLite file gives the room back, a little at a time.
"""

from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta
from functools import partial

from sqlalchemy import (
    BindParameter,
    Column,
    Connection,
    Table,
    Update,
    bindparam,
    case,
    delete,
    func,
    or_,
    select,
    update,
)

from .elasticjob import Trace
from .keeping import Retention
from .ledger import Disposition
from .store import Again, Store, insert_new
from .tables import ATTEMPT_LOG, AUDIT, LEDGER, RETENTION, ROLLUP

#: How many rows go at once.
AT_ONCE = 500

#: How many pages a SQLite file gives back at once.
PAGES = 2000

# Ours are of version 5, made from what they name; Java's are of version 4, made by chance.
_OUR_IDS = "______________5%"

_TICK = timedelta(microseconds=1)

# When something last happened of a row.
_heard = func.coalesce(LEDGER.c.ended, LEDGER.c.began, LEDGER.c.due)

_SUMS = ("fires", "late_ms", "ran_ms")


def tidy(store: Store, keep: Retention, now: datetime) -> int:
    """Delete what is not to be kept; how many rows of the ledger that were."""
    cut = _cut(store, keep, now)
    gone = _tidy_ledger(store, cut, now - keep.age)
    _delete_before(store, ATTEMPT_LOG, ATTEMPT_LOG.c.due, cut)
    _delete_before(store, AUDIT, AUDIT.c.at, now - keep.audit_age)
    if store.trace:
        _delete_traces(store, store.trace, cut)
    if store.dialect == "sqlite":
        _give_back(store)
    return gone


def _tidy_ledger(store: Store, cut: datetime, oldest: datetime) -> int:
    newest = store.reading(lambda connection: connection.scalar(select(func.max(LEDGER.c.due))))
    if newest is None:
        return 0
    if cut > newest:
        # However far ahead somebody's clock is: what comes after all that is known is not too old.
        heard = store.reading(lambda connection: connection.scalar(select(func.max(_heard))))
        cut = min(cut, (heard or newest) + _TICK)
    store.writing(partial(_note, cut=cut))
    gone = 0
    while portion := store.writing(partial(_roll_up, cut=cut, oldest=min(cut, oldest))):
        gone += portion
    return gone


def _cut(store: Store, keep: Retention, now: datetime) -> datetime:
    """What was due before this goes."""
    by_age = now - keep.age
    beyond = select(LEDGER.c.due).order_by(LEDGER.c.due.desc()).offset(max(0, keep.rows - 1)).limit(1)
    by_number = store.reading(lambda connection: connection.scalar(beyond))
    return max(by_age, by_number) if by_number else by_age


def _note(connection: Connection, cut: datetime) -> None:
    connection.execute(insert_new(connection, RETENTION), {"id": 1, "kept_from": cut})
    connection.execute(update(RETENTION).where(RETENTION.c.kept_from < cut), {"kept_from": cut})


def _roll_up(connection: Connection, cut: datetime, oldest: datetime) -> int:
    """Count some rows that go, and delete them: what was due long ago, and not run since. What still runs is
    not counted as that, unless it is so old that nobody will tell of its end."""
    columns = (LEDGER.c.known_as, LEDGER.c.job, LEDGER.c.day, LEDGER.c.disposition, LEDGER.c.outcome)
    over = or_(_heard < oldest, LEDGER.c.disposition != Disposition.RUNNING.value)
    wanted = select(*columns, LEDGER.c.late_ms, LEDGER.c.ran_ms).where(LEDGER.c.due < cut, _heard < cut, over)
    locked = wanted.order_by(LEDGER.c.due, LEDGER.c.known_as).limit(AT_ONCE).with_for_update()
    found = connection.execute(locked).mappings().all()
    if not found:
        return 0
    _count(connection, _counts(dict(row) for row in found))
    connection.execute(delete(LEDGER).where(LEDGER.c.known_as.in_([row["known_as"] for row in found])))
    return len(found)


Counted = tuple[str, date, str, str]


def _count(connection: Connection, counts: Mapping[Counted, Mapping[str, int]]) -> None:
    """Add to what was counted before."""
    keys = ("job", "day", "disposition", "outcome")
    empty = [dict(zip(keys, key, strict=True), fires=0, late_ms=0, latest_ms=0, ran_ms=0) for key in counts]
    connection.execute(insert_new(connection, ROLLUP), empty)
    for key, count in counts.items():
        which = {f"the_{name}": part for name, part in zip(keys, key, strict=True)}
        if connection.execute(_added(), {**which, **count}).rowcount != 1:
            raise Again  # its row is not there, for once: it must not be deleted without being counted


def _counts(found: Iterable[Mapping[str, object]]) -> dict[Counted, dict[str, int]]:
    counts: dict[Counted, dict[str, int]] = {}
    for row in found:
        job, day, disposition, outcome = (row[name] for name in ("job", "day", "disposition", "outcome"))
        assert isinstance(day, date)
        count = counts.setdefault(
            (str(job), day, str(disposition), str(outcome)),
            {"more_fires": 0, "more_late_ms": 0, "more_ran_ms": 0, "late": 0},
        )
        late, ran = row["late_ms"] or 0, row["ran_ms"] or 0
        assert isinstance(late, int)
        assert isinstance(ran, int)
        count["more_fires"] += 1
        count["more_late_ms"] += late
        count["more_ran_ms"] += ran
        count["late"] = max(count["late"], late)
    return dict(sorted(counts.items()))


def _added() -> Update:
    where = [ROLLUP.c[name] == bindparam(f"the_{name}") for name in ("job", "day", "disposition", "outcome")]
    sums = {ROLLUP.c[name]: ROLLUP.c[name] + bindparam(f"more_{name}") for name in _SUMS}
    late: BindParameter[int] = bindparam("late")
    latest = case((ROLLUP.c.latest_ms < late, late), else_=ROLLUP.c.latest_ms)
    return update(ROLLUP).where(*where).values({**sums, ROLLUP.c.latest_ms: latest})


def _delete_traces(store: Store, trace: Trace, cut: datetime) -> None:
    before = cut.replace(tzinfo=None)
    for table, time in ((trace.executions, "start_time"), (trace.states, "creation_time")):
        _delete_before(store, table, table.c[time], before, ours=table.c.id)


def _delete_before(
    store: Store, table: Table, time: Column[datetime], cut: datetime, *, ours: Column[str] | None = None
) -> None:
    where = [time < cut] if ours is None else [time < cut, ours.like(_OUR_IDS)]
    keys = list(table.primary_key)

    def portion(connection: Connection) -> int:
        found = connection.execute(select(*keys).where(*where).limit(AT_ONCE).with_for_update()).all()
        if not found:
            return 0
        matches = [dict(zip((f"the_{key.name}" for key in keys), row, strict=True)) for row in found]
        connection.execute(
            delete(table).where(*(key == bindparam(f"the_{key.name}") for key in keys)), matches
        )
        return len(found)

    while store.writing(portion) == AT_ONCE:
        pass


def _give_back(store: Store) -> None:
    """Give pages that hold nothing any more back to the file system."""

    def portion(connection: Connection) -> bool:
        before = free(connection)
        # It frees a page for each row it is asked for, and SQLAlchemy does not know that it has any.
        cursor = connection.connection.cursor()
        cursor.execute(f"pragma incremental_vacuum({PAGES})")
        cursor.fetchall()
        cursor.close()
        return 0 < free(connection) < before  # a file that was not made by us may never give any back

    def free(connection: Connection) -> int:
        return connection.exec_driver_sql("pragma freelist_count").scalar() or 0

    while store.writing(portion):
        pass
