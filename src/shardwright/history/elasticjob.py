"""ElasticJob's two tables of event tracing, so that its console reads our runs, too.

    JOB_EXECUTION_LOG      one row for each run of a shard: written at its start, completed at its end
    JOB_STATUS_TRACE_LOG   one row for each state of a run: TASK_STAGING, TASK_RUNNING, then how it ended

Up to version 3.0.4 the second has a column `source`, from 3.0.5 on it has none: what is there is written to
as it is, and what is not there is made in the newer form, or in the older one if that is asked for: no
console that was released reads states without that column. Where ElasticJob has one row of states for all
shards of a fire, which overflow its columns at some thirty of them, we have rows for each shard.
"""

import logging
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import (
    TIMESTAMP,
    Boolean,
    Column,
    Connection,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    insert,
    inspect,
    select,
    update,
)
from sqlalchemy.exc import DBAPIError

from ..outcomes import OK
from . import texts
from .engine import is_refusal
from .ledger import LOST_RUN, Attempt, Entry, Key

log = logging.getLogger("shardwright")

EXECUTIONS, STATES = "JOB_EXECUTION_LOG", "JOB_STATUS_TRACE_LOG"
OLD_SOURCE = "LITE_EXECUTOR"

_SOURCES = {"misfire": "MISFIRE", "failover": "FAILOVER"}
_OURS = uuid.UUID("5d4a3f6e-2f6c-5b1e-9d8a-2f9a0c1b7e31")
_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class Trace:
    """The two tables as they are in one database."""

    executions: Table
    states: Table

    @property
    def old(self) -> bool:
        return "source" in self.states.c

    @property
    def boolean(self) -> bool:
        return isinstance(self.executions.c.is_success.type, Boolean)


def find(connection: Connection) -> Trace | None:
    """The tables that are there, whatever the case of their names and their generation."""
    there = {table.upper(): table for table in inspect(connection).get_table_names()}
    if EXECUTIONS not in there or STATES not in there:
        return None
    columns = {column["name"].lower() for column in inspect(connection).get_columns(there[STATES])}
    return _tables(connection, there[EXECUTIONS], there[STATES], old="source" in columns)


def make(connection: Connection, *, old: bool = False) -> None:
    """Make what is not there."""
    there = {table.upper(): table for table in inspect(connection).get_table_names()}
    # As ElasticJob's own statements come out: PostgreSQL turns names without quotes into small letters.
    small = connection.dialect.name == "postgresql"
    wanted = [there.get(table, table.lower() if small else table) for table in (EXECUTIONS, STATES)]
    trace = _tables(connection, *wanted, old=old)
    for table, called in ((trace.executions, EXECUTIONS), (trace.states, STATES)):
        if called not in there:
            table.create(connection)


def _tables(connection: Connection, executions: str, states: str, *, old: bool) -> Trace:
    metadata, dialect = MetaData(), connection.dialect.name
    success: Boolean | Integer = Boolean() if dialect == "postgresql" else Integer()
    source = [Column("source", String(50), nullable=False)] if old else []
    index = Index("TASK_ID_STATE_INDEX", "task_id", "state", mysql_length={"task_id": 128})
    return Trace(
        Table(
            executions,
            metadata,
            *_identity(dialect, unique=True),
            Column("job_name", String(100), nullable=False),
            Column("task_id", String(255), nullable=False),
            Column("hostname", String(255), nullable=False),
            Column("ip", String(50), nullable=False),
            Column("sharding_item", Integer, nullable=False),
            Column("execution_source", String(20), nullable=False),
            Column("failure_cause", String(4000)),
            Column("is_success", success, nullable=False),
            Column("start_time", TIMESTAMP),
            Column("complete_time", TIMESTAMP),
            mysql_charset="utf8mb4",
        ),
        Table(
            states,
            metadata,
            *_identity(dialect, unique=False),
            Column("job_name", String(100), nullable=False),
            Column("original_task_id", String(255), nullable=False),
            Column("task_id", String(255), nullable=False),
            Column("slave_id", String(50), nullable=False),
            *source,
            Column("execution_type", String(20), nullable=False),
            Column("sharding_item", String(100), nullable=False),
            Column("state", String(20), nullable=False),
            Column("message", String(4000)),
            Column("creation_time", TIMESTAMP),
            index,
            mysql_charset="utf8mb4",
        ),
    )


def _identity(dialect: str, *, unique: bool) -> list[Column[object]]:
    if dialect == "mysql":
        return [
            Column("auto_id", Integer, primary_key=True, autoincrement=True),
            Column("id", String(40), nullable=False, unique=unique),
        ]
    return [Column("id", String(40), primary_key=True)]


def write(connection: Connection, trace: Trace, told: Iterable[Entry]) -> None:
    """Write the runs that the entries tell of. The ledger's rows of the same fires are locked meanwhile, so
    nobody else writes them.

    These tables are often somebody else's: what they refuse is told once more in plain letters, and must not
    keep the ledger from being written.
    """
    runs = [(entry.key, attempt) for entry in told for attempt in entry.attempts]
    for first in range(0, len(runs), _AT_ONCE):
        portion = runs[first : first + _AT_ONCE]
        if not (_written(connection, trace, portion) or _written(connection, trace, portion, plain=True)):
            log.warning("ElasticJob's tables refuse %d runs; the ledger has them", len(portion))


def _written(
    connection: Connection, trace: Trace, runs: list[tuple[Key, Attempt]], *, plain: bool = False
) -> bool:
    as_told = _plain if plain else dict[str, object]
    executions = {_id(key, attempt): as_told(_execution(key, attempt, trace)) for key, attempt in runs}
    states = {_id(key, attempt): map(as_told, _states(key, attempt, trace)) for key, attempt in runs}
    try:
        with connection.begin_nested():
            new, completed = _write_executions(connection, trace.executions, executions)
            # In MySQL nothing finds a state quickly, so what is new is known from its run.
            first = [state for id in new for state in states[id]]
            last = [list(states[id])[-1] for id in completed]
            if first or last:
                connection.execute(insert(trace.states), [*first, *last])
    except DBAPIError as error:
        if not is_refusal(error):
            raise
        log.debug("ElasticJob's tables refuse this: %s", str(error.orig))
        return False
    return True


def _plain(row: dict[str, object]) -> dict[str, object]:
    """For tables whose texts hold Latin letters only, as MySQL's did by default."""
    return {
        key: value.encode("ascii", "replace").decode() if isinstance(value, str) else value
        for key, value in row.items()
    }


def _write_executions(
    connection: Connection, table: Table, rows: dict[str, dict[str, object]]
) -> tuple[list[str], list[str]]:
    """Which runs are new, and which were there and have come to their end."""
    asked = select(table.c.id, table.c.complete_time).where(table.c.id.in_(rows))
    there = {row.id: row.complete_time for row in connection.execute(asked)}
    new = [id for id in rows if id not in there]
    completed = [id for id in there if there[id] is None and rows[id]["complete_time"] is not None]
    if new:
        connection.execute(insert(table), [rows[id] for id in new])
    for id in completed:
        connection.execute(update(table).where(table.c.id == id).values(rows[id]))
    return new, completed


def _execution(key: Key, attempt: Attempt, trace: Trace) -> dict[str, object]:
    ok = attempt.outcome == OK
    began = attempt.began or attempt.ended
    return {
        "id": _id(key, attempt),
        "job_name": key.job,
        "task_id": _task(key, attempt),
        "hostname": texts.cut(attempt.host or _ip(attempt), 255),
        "ip": _ip(attempt),
        "sharding_item": key.item,
        "execution_source": _SOURCES.get(attempt.source, "NORMAL_TRIGGER"),
        "failure_cause": None if ok or not attempt.outcome else attempt.failure or attempt.outcome,
        "is_success": ok if trace.boolean else int(ok),
        "start_time": _moment(began),
        "complete_time": _moment(attempt.ended) if attempt.outcome else None,
    }


def _states(key: Key, attempt: Attempt, trace: Trace) -> Iterator[dict[str, object]]:
    began = attempt.began or attempt.ended
    passed = [("TASK_STAGING", began, ""), ("TASK_RUNNING", began, "")]
    if attempt.outcome:
        passed.append((_last_state(attempt), attempt.ended, attempt.failure))
    for state, at, message in passed:
        yield {
            "id": _id(key, attempt, state),
            "job_name": key.job,
            "original_task_id": "",
            "task_id": _task(key, attempt),
            "slave_id": _ip(attempt),
            "execution_type": "READY",
            "sharding_item": f"[{key.item}]",
            "state": state,
            "message": message,
            "creation_time": _moment(at),
            **({"source": OLD_SOURCE} if trace.old else {}),
        }


def _last_state(attempt: Attempt) -> str:
    if attempt.outcome == LOST_RUN:
        return "TASK_LOST"
    return "TASK_FINISHED" if attempt.outcome == OK else "TASK_ERROR"


def _id(key: Key, attempt: Attempt, state: str = "") -> str:
    """The same for the same run, whoever tells of it."""
    return str(
        uuid.uuid5(_OURS, "\n".join([key.job, str(key.made), key.fire, str(key.item), attempt.id, state]))
    )


def _task(key: Key, attempt: Attempt) -> str:
    return texts.cut(f"{key.job}@-@{key.item}@-@READY@-@{attempt.by}", 255)


def _ip(attempt: Attempt) -> str:
    return attempt.by.partition("@-@")[0][:50]


def _moment(at: datetime | None) -> datetime | None:
    """In UTC, in a column that knows no zone."""
    return None if at is None else at.astimezone(UTC).replace(tzinfo=None)
