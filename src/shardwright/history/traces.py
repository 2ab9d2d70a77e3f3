"""ElasticJob's two tables of event tracing as they are read: what its members have written there, and ours.

    JOB_EXECUTION_LOG      its console's "Job trace": one row for each run of a shard
    JOB_STATUS_TRACE_LOG   its "History status": one row for each state of a run, with or without `source`

The tables are often somebody else's. Where they are not there, or have other columns, there is nothing to
tell. No index leads to the newest of them: the database looks through all, and sorts what is asked for. Their
times know no zone, and are taken for UTC: that is what our members write, and what MySQL keeps by itself; a
Java member writes into PostgreSQL by the clock of its own zone.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    Boolean,
    ColumnElement,
    Connection,
    MetaData,
    RowMapping,
    Select,
    String,
    Table,
    and_,
    cast,
    inspect,
    or_,
    select,
    type_coerce,
)
from sqlalchemy.dialects import mysql

from .. import secrets
from .elasticjob import EXECUTIONS, STATES
from .engine import HistoryError
from .store import Store

#: No question is answered with more rows than this at once.
MOST = 1000

_EXECUTION = {
    *("id", "job_name", "task_id", "hostname", "ip", "sharding_item", "execution_source"),
    *("failure_cause", "is_success", "start_time", "complete_time"),
}
_STATE = {"id", "job_name", "task_id", "slave_id", "sharding_item", "state", "message", "creation_time"}


@dataclass(frozen=True, slots=True)
class Execution:
    """One run of a shard. Secrets in its failure are masked: not everybody who writes there does that."""

    id: str
    job: str
    task: str
    host: str
    ip: str
    shard: int
    source: str
    success: bool
    failure: str
    began: datetime | None
    ended: datetime | None


@dataclass(frozen=True, slots=True)
class State:
    """One state of a run, which may be of several shards. Secrets in its message are masked."""

    id: str
    job: str
    task: str
    server: str
    shards: str
    """As ElasticJob writes them: `[0, 1]`."""
    state: str
    message: str
    at: datetime | None


@dataclass(frozen=True, slots=True)
class Executions:
    """Some runs, the newest first, and where the next page begins if there is one."""

    runs: tuple[Execution, ...]
    after: str | None


@dataclass(frozen=True, slots=True)
class States:
    """Some states, the newest first, and where the next page begins if there is one."""

    states: tuple[State, ...]
    after: str | None


def executions(
    store: Store,
    *,
    job: str | None = None,
    ip: str | None = None,
    begin: datetime | None = None,
    end: datetime | None = None,
    success: bool | None = None,
    limit: int = 100,
    after: str | None = None,
) -> Executions:
    """The runs that began from `begin` until before `end`, the newest first."""

    def ask(connection: Connection) -> tuple[Sequence[RowMapping], str | None]:
        table = _found(connection, EXECUTIONS, _EXECUTION)
        if table is None:
            return [], None
        where = _same(connection, {"job_name": job, "ip": ip}, table)
        if success is not None:
            kept = table.c.is_success
            where.append(kept == (success if isinstance(kept.type, Boolean) else int(success)))
        page = _Page(table, "start_time", connection.dialect.name)
        return page.read(connection, _EXECUTION, [*where, *page.between(begin, end)], limit, after)

    found, more = store.reading(ask)
    return Executions(tuple(map(_execution, found)), more)


def states(
    store: Store,
    *,
    job: str | None = None,
    state: str | None = None,
    begin: datetime | None = None,
    end: datetime | None = None,
    limit: int = 100,
    after: str | None = None,
) -> States:
    """The states that were come to from `begin` until before `end`, the newest first."""

    def ask(connection: Connection) -> tuple[Sequence[RowMapping], str | None]:
        table = _found(connection, STATES, _STATE)
        if table is None:
            return [], None
        where = _same(connection, {"job_name": job, "state": state}, table)
        page = _Page(table, "creation_time", connection.dialect.name)
        return page.read(connection, _STATE, [*where, *page.between(begin, end)], limit, after)

    found, more = store.reading(ask)
    return States(tuple(map(_state, found)), more)


# Tables


def _found(connection: Connection, called: str, columns: Iterable[str]) -> Table | None:
    """A table that is there, whatever the case of its name, if it has these columns."""
    there = {table.upper(): table for table in inspect(connection).get_table_names()}
    if called not in there:
        return None
    table = Table(there[called], MetaData(), autoload_with=connection, resolve_fks=False)
    return table if set(columns) <= set(table.c.keys()) else None


def _same(connection: Connection, asked: Mapping[str, str | None], table: Table) -> list[ColumnElement[bool]]:
    """Texts compare by their bytes, also in MySQL, whatever letters the table was made for."""

    def whole(column: str) -> ColumnElement[str]:
        if connection.dialect.name != "mysql":
            return table.c[column]
        return cast(table.c[column], mysql.CHAR(charset="utf8mb4")).collate("utf8mb4_bin")

    return [whole(column) == value for column, value in asked.items() if value is not None]


# Pages


class _Page:
    """Rows of a table by when they came, the newest first; those without a time come last."""

    def __init__(self, table: Table, at: str, dialect: str) -> None:
        self._table = table
        # SQLite keeps a time as whoever wrote it spelled it: it is compared as it stands.
        self._plain = dialect == "sqlite"
        self._at = type_coerce(table.c[at], String) if self._plain else table.c[at]
        # Of what came at once the later row is the newer one, where rows are numbered.
        self._row = table.c["auto_id"] if "auto_id" in table.c else table.c["id"]

    def between(self, begin: datetime | None, end: datetime | None) -> list[ColumnElement[bool]]:
        where = [self._at >= self._kept(begin)] if begin is not None else []
        return [*where, self._at < self._kept(end)] if end is not None else where

    def read(
        self,
        connection: Connection,
        columns: Iterable[str],
        where: Iterable[ColumnElement[bool]],
        limit: int,
        after: str | None,
    ) -> tuple[Sequence[RowMapping], str | None]:
        limit = max(1, min(limit, MOST))
        beyond = [self._beyond(after)] if after is not None else []
        question: Select[tuple[object, ...]] = (
            select(*(self._shown(column) for column in sorted(columns)))
            .add_columns(self._at.label("_at"), self._row.label("_row"))
            .where(*where, *beyond)
            .order_by(self._at.is_(None), self._at.desc(), self._row.desc())
            .limit(limit + 1)
        )
        found = connection.execute(question).mappings().all()
        last = found[limit - 1] if len(found) > limit else None
        return found[:limit], f"{last['_at'] or ''}/{last['_row']}" if last is not None else None

    def _shown(self, column: str) -> ColumnElement[Any]:
        kept = self._table.c[column]
        return type_coerce(kept, String).label(column) if self._plain and column.endswith("_time") else kept

    def _kept(self, moment: datetime) -> datetime | str:
        naive = moment.astimezone(UTC).replace(tzinfo=None)
        return naive.isoformat(" ") if self._plain else naive

    def _beyond(self, after: str) -> ColumnElement[bool]:
        moment, slash, row = after.rpartition("/")
        try:
            if not slash:
                raise ValueError
            at = datetime.fromisoformat(moment) if moment else None
            mark = int(row) if self._row.name == "auto_id" else row
        except ValueError:
            raise HistoryError(
                f"{after!r} is not where a page begins: take `after` from the page before"
            ) from None
        earlier = self._row < mark
        if at is None:
            return and_(self._at.is_(None), earlier)
        kept = moment if self._plain else at.replace(tzinfo=None)
        return or_(self._at < kept, and_(self._at == kept, earlier), self._at.is_(None))


# Rows


def _execution(row: RowMapping) -> Execution:
    return Execution(
        _text(row["id"]),
        _text(row["job_name"]),
        _text(row["task_id"]),
        _text(row["hostname"]),
        _text(row["ip"]),
        int(_text(row["sharding_item"])),
        _text(row["execution_source"]),
        bool(row["is_success"]),
        secrets.masked(_text(row["failure_cause"])),
        _moment(row["start_time"]),
        _moment(row["complete_time"]),
    )


def _state(row: RowMapping) -> State:
    return State(
        _text(row["id"]),
        _text(row["job_name"]),
        _text(row["task_id"]),
        _text(row["slave_id"]),
        _text(row["sharding_item"]),
        _text(row["state"]),
        secrets.masked(_text(row["message"])),
        _moment(row["creation_time"]),
    )


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _moment(value: object) -> datetime | None:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) else None
