"""Upgrades of the schema: safe when any number of processes start at once.

Who finds the schema as it should be takes no lock, and does not even load alembic. Otherwise one upgrades
while the others wait: PostgreSQL has locks of that kind that end with the transaction, MySQL has them by
name, and a SQLite file is locked whole.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, String, column, inspect, select, table, text

from . import elasticjob
from .engine import WRITES, HistoryDown, HistoryError, shown
from .tables import VERSION_TABLE

if TYPE_CHECKING:
    from alembic.config import Config

#: The last of the steps: where this version of Shardwright wants the schema.
HEAD = "0001"

#: How long one waits for another to upgrade, in seconds.
PATIENCE = 60


def upgrade(engine: Engine, *, trace: bool, old: bool = False) -> None:
    """Bring the schema to where this version of Shardwright wants it; with ElasticJob's tables if asked, made
    in their older form if asked for that."""
    with engine.connect() as connection:
        if _is_done(connection, trace):
            return
    with _alone(engine) as connection:
        # In here, where one who forks waits for us: a fork in the midst of it could never load it itself.
        from alembic import command

        _refuse_newer(connection, shown(engine))
        command.upgrade(_config(connection), "head")
        if trace:
            elasticjob.make(connection, old=old)


def version(connection: Connection) -> str | None:
    """How far the schema has come, as alembic has noted it; None where it has not even begun."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.scalar(select(column("version_num", String)).select_from(table(VERSION_TABLE)))


def _is_done(connection: Connection, trace: bool) -> bool:
    if version(connection) != HEAD:
        return False
    return not trace or elasticjob.find(connection) is not None


def _refuse_newer(connection: Connection, where: str) -> None:
    from alembic.script import ScriptDirectory

    found, steps = version(connection), ScriptDirectory.from_config(_config(None))
    if found and found not in {step.revision for step in steps.walk_revisions()}:
        raise HistoryError(
            f"the history at {where} was made by a newer Shardwright (its schema is {found}): "
            "upgrade this one, or keep the history elsewhere"
        )


def _config(connection: Connection | None) -> "Config":
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", "shardwright.history:migrations")
    return config


@contextmanager
def _alone(engine: Engine) -> Iterator[Connection]:
    """A connection in a transaction, while nobody else has one like it."""
    with engine.connect().execution_options(**{WRITES: "alone"}) as connection, connection.begin():
        match engine.dialect.name:
            case "postgresql":
                connection.execute(text(f"set local lock_timeout = '{PATIENCE}s'"))
                connection.execute(
                    text("select pg_advisory_xact_lock(:key)"), {"key": _number("shardwright")}
                )
                yield connection
            case "mysql":
                with _named_lock(connection, f"shardwright {engine.url.database}"):
                    yield connection
            case _:
                yield connection


@contextmanager
def _named_lock(connection: Connection, called: str) -> Iterator[None]:
    # Such locks are the whole server's, and their names short.
    lock = {"lock": f"shardwright-{_number(called):x}"}
    if (
        connection.execute(text("select get_lock(:lock, :patience)"), lock | {"patience": PATIENCE}).scalar()
        != 1
    ):
        raise HistoryDown(f"somebody else upgrades the history, and was not done after {PATIENCE} s")
    try:
        yield
    finally:
        connection.execute(text("select release_lock(:lock)"), lock)


def _number(word: str) -> int:
    return int.from_bytes(hashlib.sha256(word.encode()).digest()[:7])
