"""The store: a history in a database, opened by its address.

Writing is indifferent to repetition. An entry is put where none is; where one is, that row is locked, what
both know is joined, and written if that is news. So the same told twice, by two processes, in any order, is
one row, and what a row knows is never forgotten for something earlier.
"""

import contextlib
import logging
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Self, TypeVar

from sqlalchemy import Connection, Insert, Table, bindparam, insert, select, update
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from . import elasticjob, ledger, rows, texts, upgrade
from .engine import WRITES, HistoryDown, HistoryError, is_refusal, open_engine, shown
from .events import Logged
from .keeping import NEW_TABLES, OLD_TABLES, is_choice_of_tables
from .ledger import Disposition, Entry, Key
from .tables import ATTEMPT_LOG, AUDIT, LEDGER, LONGEST_ATTEMPT, RETENTION

log = logging.getLogger("shardwright")

#: How many rows are written in one transaction.
AT_ONCE = 500

#: How often a transaction is begun anew that two of them could not both end.
TRIES = 10

#: How long to stand back after that, at most, the first time; in seconds.
SHORT_PAUSE = 0.02

_CHANCE = random.SystemRandom()  # so that they do not clash again

_CLASHES = {"40001", "40P01", 1213, 1205, 1020}

Answer = TypeVar("Answer")


class Again(Exception):
    """A transaction that has to be begun anew."""


class Store:
    """A history that is open.

    `trace` is whether ElasticJob's tables are written, too: as a rule where its console may look, which is
    not in SQLite. "3.0.4" or "3.0.5" says in which version's form they are made where they are not there.
    """

    def __init__(self, where: str | Path, *, trace: bool | str | None = None) -> None:
        if not is_choice_of_tables(trace):
            raise HistoryError(f"trace must be True, False, {OLD_TABLES!r} or {NEW_TABLES!r}, not {trace!r}")
        self._engine = open_engine(where)
        self.address = shown(self._engine)
        self.dialect = self._engine.dialect.name
        try:
            wanted = self.dialect != "sqlite" if trace is None else bool(trace)
            self._trace = self._prepared(trace=wanted, old=trace == OLD_TABLES)
        except BaseException:
            self.close()
            raise

    @property
    def trace(self) -> elasticjob.Trace | None:
        """ElasticJob's tables, if they are written."""
        return self._trace

    def close(self) -> None:
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def reading(self, ask: Callable[[Connection], Answer]) -> Answer:
        """What is answered, within one transaction."""
        with self._told_plainly("read"), self._engine.connect() as connection, connection.begin():
            return ask(connection)

    def writing(self, act: Callable[[Connection], Answer]) -> Answer:
        """What comes of it, in one transaction, begun anew where another was in its way."""
        with self._told_plainly("written"):
            for tried in range(1, TRIES):
                try:
                    return self._once(act)
                except DBAPIError as error:
                    if not _is_clash(error):
                        raise
                except Again:
                    log.debug("a row that was to be there is not: once more")
                time.sleep(_CHANCE.uniform(0, SHORT_PAUSE * tried))
            return self._once(act)

    def write(self, told: Iterable[Entry], logged: Iterable[Logged] = ()) -> None:
        """Keep what is told, a portion at a time."""
        joined: dict[Key, Entry] = {}
        for entry in told:
            joined[entry.key] = joined[entry.key].joined(entry) if entry.key in joined else entry
        # In order: two who write the same rows in another order would wait for each other.
        entries = sorted(joined.values(), key=lambda entry: rows.known_as(entry.key))
        for portion in _portions(entries):
            self.writing(partial(_write, told=portion, trace=self._trace))
        for lines in _portions(list(logged)):
            self.writing(partial(_write_logs, logged=lines))

    def gaps(self, job: str, fires: Iterable[datetime], shards: int, *, made: int) -> list[tuple[str, int]]:
        """The shards of these fires of which nothing is known; what is not kept any more is no gap."""
        wanted = self._kept(fires)
        known = self._known(job, made, wanted.values())
        return [(name, item) for name in wanted for item in range(shards) if (name, item) not in known]

    def audit(
        self, *, at: datetime, who: str, what: str, target: str, detail: str = "", outcome: str = "done"
    ) -> None:
        """Note who asked for what, of whom, and what came of it."""
        noted = {"at": at, "who": texts.cut(who, 255), "what": texts.cut(what, 100)}
        noted |= {
            "target": texts.cut(target, 255),
            "detail": texts.kept(detail),
            "outcome": texts.kept(outcome),
        }
        self.writing(lambda connection: connection.execute(insert(AUDIT), noted))

    def _prepared(self, *, trace: bool, old: bool) -> elasticjob.Trace | None:
        """Bring the schema up to date."""
        with self._told_plainly("opened"):
            upgrade.upgrade(self._engine, trace=trace, old=old)
            with self._engine.connect() as connection:
                return elasticjob.find(connection) if trace else None

    def _kept(self, fires: Iterable[datetime]) -> dict[str, datetime]:
        """The fires that the history still goes back to, by name."""
        first = self.reading(_kept_from)
        return {ledger.named(fire): fire for fire in fires if first is None or fire >= first}

    def _known(self, job: str, made: int, fires: Iterable[datetime]) -> dict[tuple[str, int], Disposition]:
        moments = list(fires)
        if not moments:
            return {}
        asked = select(LEDGER.c.fire, LEDGER.c.item, LEDGER.c.disposition).where(
            LEDGER.c.job == job, LEDGER.c.made == made, LEDGER.c.due.between(min(moments), max(moments))
        )
        found = self.reading(lambda connection: connection.execute(asked).all())
        return {(fire, item): Disposition(disposition) for fire, item, disposition in found}

    def _once(self, act: Callable[[Connection], Answer]) -> Answer:
        with self._engine.connect().execution_options(**{WRITES: True}) as connection, connection.begin():
            return act(connection)

    @contextlib.contextmanager
    def _told_plainly(self, done: str) -> Iterator[None]:
        try:
            yield
        except Again as error:
            raise HistoryDown(f"the history at {self.address} cannot be {done} now: rows vanish") from error
        except (OverflowError, UnicodeEncodeError) as error:
            # A number, or half a character, that no driver gets to its database.
            raise HistoryError(f"the history at {self.address} cannot be {done}: {error}") from error
        except SQLAlchemyError as error:
            if is_refusal(error):
                raise HistoryError(
                    f"the history at {self.address} cannot be {done}: {_why(error)}"
                ) from error
            raise HistoryDown(f"the history at {self.address} cannot be {done} now: {_why(error)}") from error


def insert_new(connection: Connection, table: Table) -> Insert:
    """An insert that leaves alone what is there already."""
    match connection.dialect.name:
        case "postgresql":
            return postgresql.insert(table).on_conflict_do_nothing()
        case "mysql":
            # Not "insert ignore", which would cut what is too long, and say nothing.
            first = next(iter(table.primary_key))
            return mysql.insert(table).on_duplicate_key_update({first.name: first})
        case _:
            return sqlite.insert(table).on_conflict_do_nothing()


def _write(connection: Connection, told: Sequence[Entry], trace: elasticjob.Trace | None) -> None:
    stored, first = _stored(connection, told), _kept_from(connection)
    told = [
        entry
        for entry in told
        if first is None or max(entry.due, entry.heard) >= first or entry.key in stored
    ]
    if not told:
        return
    # Looked for first: an insert that finds its row there already locks more in MySQL than that row.
    if new := [entry for entry in told if entry.key not in stored]:
        connection.execute(insert_new(connection, LEDGER), [rows.of(entry) for entry in new])
        stored |= _stored(connection, new)
    if any(entry.key not in stored for entry in told):
        # When transactions clash, MariaDB has been seen to insert some rows of a statement only.
        raise Again
    joined = [entry.joined(stored[entry.key]) for entry in told]
    if news := [rows.of(entry) for entry in joined if entry != stored[entry.key]]:
        changed = [row | {"the_row": row["known_as"]} for row in news]
        connection.execute(update(LEDGER).where(LEDGER.c.known_as == bindparam("the_row")), changed)
    if trace:
        elasticjob.write(connection, trace, joined)


def _kept_from(connection: Connection) -> datetime | None:
    """From when on rows are kept: what is older has been counted, and is not taken in again."""
    return connection.scalar(select(RETENTION.c.kept_from))


def _stored(connection: Connection, told: Sequence[Entry]) -> dict[Key, Entry]:
    """What the rows of these shards and fires say that are there; they are locked now."""
    names = [rows.known_as(entry.key) for entry in told]
    wanted = select(LEDGER).where(LEDGER.c.known_as.in_(names)).order_by(LEDGER.c.known_as).with_for_update()
    # MySQL would read all of a small table otherwise, and lock it in another order.
    wanted = wanted.with_hint(LEDGER, "force index (primary)", "mysql")
    found = [rows.entry(dict(row)) for row in connection.execute(wanted).mappings()]
    return {entry.key: entry for entry in found}


def _write_logs(connection: Connection, logged: Sequence[Logged]) -> None:
    connection.execute(
        insert_new(connection, ATTEMPT_LOG),
        [
            {
                "job": each.job,
                "made": each.made,
                "fire": ledger.named(each.fire),
                "item": each.item,
                "attempt": each.attempt[:LONGEST_ATTEMPT],
                "due": max(ledger.due(each.fire, each.at), each.at),  # it may be of a fire of long ago
                "lines": each.text,
                "left_out": each.left_out,
            }
            for each in logged
        ],
    )


def _portions(found: Sequence[Answer]) -> Iterator[Sequence[Answer]]:
    return (found[first : first + AT_ONCE] for first in range(0, len(found), AT_ONCE))


def _is_clash(error: DBAPIError) -> bool:
    """Whether two transactions were in each other's way, and one of them was told to begin anew."""
    cause = error.orig
    codes = {getattr(cause, "sqlstate", None), *(cause.args[:1] if cause else ())}
    return bool(codes & _CLASHES)


def _why(error: SQLAlchemyError) -> str:
    """What the driver says, without the statement and its values."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return " ".join(str(cause).split())[:500]
