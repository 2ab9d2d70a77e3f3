"""Questions to a history: what became of fires, how many came to what, what a run wrote to the log."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, date, datetime, time

from sqlalchemy import ColumnElement, Select, Table, and_, func, or_, select

from . import ledger, rows
from .engine import HistoryError
from .ledger import Disposition, Entry, Key
from .store import Store
from .tables import ATTEMPT_LOG, AUDIT, LEDGER, LONGEST_ATTEMPT, ROLLUP

#: No question is answered with more rows than this at once.
MOST = 10_000


@dataclass(frozen=True, slots=True)
class Page:
    """Some entries, the latest first, and where the next page begins if there is one."""

    entries: tuple[Entry, ...]
    after: str | None


@dataclass(frozen=True, slots=True)
class Count:
    """How many fires of a job came to one thing on one day (in UTC), and how late they were in all."""

    job: str
    day: date
    disposition: Disposition
    outcome: str
    fires: int
    late: float
    """Seconds, all of them together."""
    latest: float
    ran: float

    def joined(self, other: "Count") -> "Count":
        return Count(
            self.job,
            self.day,
            self.disposition,
            self.outcome,
            self.fires + other.fires,
            self.late + other.late,
            max(self.latest, other.latest),
            self.ran + other.ran,
        )


@dataclass(frozen=True, slots=True)
class Lines:
    """What a run wrote to the log, and how many lines were too many."""

    text: str
    left_out: int


@dataclass(frozen=True, slots=True)
class Note:
    """Something somebody asked for."""

    at: datetime
    who: str
    what: str
    target: str
    detail: str
    outcome: str


def history(
    store: Store,
    *,
    job: str | None = None,
    begin: datetime | None = None,
    end: datetime | None = None,
    disposition: Disposition | None = None,
    outcome: str | None = None,
    item: int | None = None,
    server: str | None = None,
    limit: int = 100,
    after: str | None = None,
) -> Page:
    """What became of the fires that were due from `begin` until before `end`, the latest first.

    `server` is the address of the machine that ran them, or tried to last, or the whole id of a process. No
    index leads there: all lines of the job, or of the stretch of time, are looked through until there are
    enough, so name one of them where a ledger is large.
    """
    asked = {
        LEDGER.c.job: job,
        LEDGER.c.disposition: disposition,
        LEDGER.c.outcome: outcome,
        LEDGER.c.item: item,
    }
    where = [column == value for column, value in asked.items() if value is not None]
    where += _between(LEDGER, begin, end)
    if server is not None:
        where.append(_ran_at(server))
    if after is not None:
        where.append(_before(after))
    limit = max(1, min(limit, MOST))
    question = (
        select(LEDGER).where(*where).order_by(LEDGER.c.due.desc(), LEDGER.c.known_as.desc()).limit(limit + 1)
    )
    found = store.reading(lambda connection: connection.execute(question).mappings().all())
    shown = found[:limit]
    more = f"{shown[-1]['due'].isoformat()}/{shown[-1]['known_as']}" if len(found) > limit else None
    return Page(tuple(rows.entry(dict(row)) for row in shown), more)


def fire(store: Store, job: str, at: str | datetime, *, made: int | None = None) -> list[Entry]:
    """All shards of one fire; of every making of the job, unless one is named."""
    where = [LEDGER.c.job == job, LEDGER.c.fire == ledger.named(at)]
    if made is not None:
        where.append(LEDGER.c.made == made)
    question = select(LEDGER).where(*where).order_by(LEDGER.c.made, LEDGER.c.item)
    found = store.reading(lambda connection: connection.execute(question).mappings().all())
    return [rows.entry(dict(row)) for row in found]


def statistics(
    store: Store, *, job: str | None = None, begin: datetime | None = None, end: datetime | None = None
) -> list[Count]:
    """How many fires came to what, for each job and day; days whose rows are no longer kept are counted."""
    live = _counted(LEDGER, func.count(), job, begin, end)
    kept = _counted(ROLLUP, func.sum(ROLLUP.c.fires), job, begin, end)
    found = store.reading(lambda connection: [*connection.execute(live), *connection.execute(kept)])
    counts: dict[tuple[str, date, str, str], Count] = {}
    for name, day, disposition, outcome, *sums in found:
        fires, late, latest, ran = (int(value or 0) for value in sums)
        count = Count(
            name, day, Disposition(disposition), outcome, fires, late / 1e3, latest / 1e3, ran / 1e3
        )
        key = (name, day, disposition, outcome)
        counts[key] = counts[key].joined(count) if key in counts else count
    return [counts[key] for key in sorted(counts)]


def log(store: Store, key: Key, attempt: str) -> Lines | None:
    """What one run wrote to the log; None if nothing was kept."""
    table = ATTEMPT_LOG.c
    wanted = (key.job, key.made, key.fire, key.item, attempt[:LONGEST_ATTEMPT])
    columns = (table.job, table.made, table.fire, table.item, table.attempt)
    question = select(table.lines, table.left_out).where(
        *(column == value for column, value in zip(columns, wanted, strict=True))
    )
    found = store.reading(lambda connection: connection.execute(question).one_or_none())
    return Lines(found.lines, found.left_out) if found else None


def audit(
    store: Store,
    *,
    job: str | None = None,
    begin: datetime | None = None,
    end: datetime | None = None,
    without: Collection[str] = (),
    limit: int = 100,
) -> list[Note]:
    """What was asked for, all of it or what was about a job, the latest first; without some kinds of it."""
    where = [_about(job)] if job is not None else []
    if without:
        where.append(AUDIT.c.what.not_in(without))
    if begin is not None:
        where.append(AUDIT.c.at >= begin)
    if end is not None:
        where.append(AUDIT.c.at < end)
    columns = (AUDIT.c.at, AUDIT.c.who, AUDIT.c.what, AUDIT.c.target, AUDIT.c.detail, AUDIT.c.outcome)
    limit = max(1, min(limit, MOST))
    question = select(*columns).where(*where).order_by(AUDIT.c.at.desc(), AUDIT.c.id.desc()).limit(limit)
    found = store.reading(lambda connection: connection.execute(question).all())
    return [Note(*row) for row in found]


def _between(table: Table, begin: datetime | None, end: datetime | None) -> list[ColumnElement[bool]]:
    where = [table.c.due >= begin] if begin is not None else []
    return [*where, table.c.due < end] if end is not None else where


def _ran_at(server: str) -> ColumnElement[bool]:
    """Whether a shard was run by a process, or by any process of a server: `<address>@-@<the rest>`."""
    of_it = f"{server}@-@"
    return or_(LEDGER.c.ran_by == server, func.substr(LEDGER.c.ran_by, 1, len(of_it)) == of_it)


def _about(job: str) -> ColumnElement[bool]:
    """Whether a change was about a job: it is named first, or is part of the path of a node."""
    named, path = f"{job}, ", AUDIT.c.target + "/"
    return or_(
        AUDIT.c.target == job,
        # Not by LIKE, which takes two jobs for one on SQLite where only the case of their names differs.
        func.substr(AUDIT.c.target, 1, len(named)) == named,
        func.replace(path, f"/{job}/", "") != path,
    )


def _before(after: str) -> ColumnElement[bool]:
    moment, _, row = after.rpartition("/")
    try:
        due = datetime.fromisoformat(moment)
    except ValueError:
        raise HistoryError(
            f"{after!r} is not where a page begins: take `after` from the page before"
        ) from None
    return or_(LEDGER.c.due < due, and_(LEDGER.c.due == due, LEDGER.c.known_as < row))


def _counted(
    table: Table,
    fires: ColumnElement[int],
    job: str | None,
    begin: datetime | None,
    end: datetime | None,
) -> Select[tuple[str, date, str, str, int, int, int, int]]:
    """Days count whole: the first and the last of them may be longer than what was asked for."""
    columns = (table.c.job, table.c.day, table.c.disposition, table.c.outcome)
    latest = table.c.latest_ms if table is ROLLUP else table.c.late_ms
    where = [table.c.job == job] if job is not None else []
    if begin is not None:
        where.append(table.c.day >= begin.astimezone(UTC).date())
    if end is not None:
        last = end.astimezone(UTC)
        where.append(table.c.day < last.date() if last.time() == time() else table.c.day <= last.date())
    sums = (fires, func.sum(table.c.late_ms), func.max(latest), func.sum(table.c.ran_ms))
    return select(*columns, *sums).where(*where).group_by(*columns)
