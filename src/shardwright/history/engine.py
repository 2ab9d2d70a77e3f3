"""Databases by their address: which driver speaks to one, and how it is set up for us.

    sqlite:////var/lib/app/history.db
    postgresql://user:password@host/database
    mysql://user:password@host/database        also mariadb://

A SQLite file is made whole, with its settings, under another name, and then put where it belongs: so several
processes that start at once find either none or one that is ready.
"""

import os
import sqlite3
import tempfile
from contextlib import closing, suppress
from inspect import signature
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import (
    ArgumentError,
    DataError,
    DBAPIError,
    IntegrityError,
    ProgrammingError,
    SQLAlchemyError,
)
from sqlalchemy.pool import ConnectionPoolEntry

from .. import forks, secrets
from ..errors import MissingExtra, ShardwrightError
from .lent import mind_forks

_DRIVERS = {
    "sqlite": "sqlite+pysqlite",
    "postgresql": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mariadb": "mysql+pymysql",
}
_EXTRAS = {"postgresql": "postgres", "mysql": "mysql", "mariadb": "mysql"}

#: How long to wait for a server to answer, or for other processes to be done with a file, in seconds.
PATIENCE = 10

#: How long a server that has accepted us may be silent before it counts as gone, in seconds.
SILENCE = 60

#: An execution option of connections that are going to write.
WRITES = "shardwright_writes"


class HistoryError(ShardwrightError):
    """The history cannot be kept or read there."""


class HistoryDown(HistoryError):
    """The database does not answer now; it may later."""


def open_engine(where: str | Path) -> Engine:
    """An engine for the database at an address, or in a file. It has not been spoken to yet, but a file that
    was not there is."""
    url = _url(where)
    if url.get_backend_name() == "sqlite":
        _make_file(url)
    return _engine(url)


def check(where: str | Path) -> None:
    """Refuse an address, or a file, that no history can ever be kept at, or whose driver is not installed. It
    speaks to no database and makes no file: one that does not answer now may later."""
    _engine(_url(where)).dispose()


def _engine(url: URL) -> Engine:
    kind = url.get_backend_name()
    try:
        engine = create_engine(
            url, pool_pre_ping=kind != "sqlite", connect_args=_manners(kind), **_pool(kind)
        )
    except ImportError as missing:
        extra = _EXTRAS.get(kind, "trace")
        raise MissingExtra(
            f"a history in {kind} needs a driver that is not installed: pip install 'shardwright[{extra}]'"
        ) from missing
    _check_options(engine)
    _set_up(engine, kind)
    return engine


def is_refusal(error: SQLAlchemyError) -> bool:
    """Whether the database refuses what it is told, so that it would refuse it again; otherwise it is ill."""
    if isinstance(error, DataError | IntegrityError | ProgrammingError):
        return True
    cause = error.orig if isinstance(error, DBAPIError) else None
    # The drivers of SQLite and MySQL call nearly everything an operational error.
    if isinstance(cause, sqlite3.Error):
        return getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR
    return str(getattr(cause, "sqlstate", "")).startswith(("22", "42S"))


def shown(engine: Engine) -> str:
    """Its address without the password, which may also be among the options."""
    url = engine.url.set(drivername=engine.url.get_backend_name(), query={})
    options = [
        f"{name}={secrets.masked(value, key=name)}"
        for name, values in engine.url.normalized_query.items()
        for value in values
    ]
    return f"{url.render_as_string(hide_password=True)}{'?' if options else ''}{'&'.join(options)}"


def _url(where: str | Path) -> URL:
    if isinstance(where, Path):
        return URL.create(_DRIVERS["sqlite"], database=str(where))
    try:
        url = make_url(where)
    except (ArgumentError, ValueError):  # the latter: its port is no number
        # The address may hold a password: it is not repeated.
        raise HistoryError(
            "the history's address cannot be read: write sqlite:////folder/history.db, "
            "postgresql://user:password@host/database or mysql://user:password@host/database"
        ) from None
    kind = url.get_backend_name()
    if kind not in _DRIVERS:
        raise HistoryError(
            f"a history can be kept in {', '.join(_DRIVERS)}, and not in {kind}: "
            "begin its address with one of these, such as postgresql://"
        )
    if "@" in (url.host or ""):  # what is after the first one is a part of the password: it is not repeated
        raise HistoryError("the history's address cannot be read: write @ in a password as %40")
    if kind == "sqlite" and url.database in (None, "", ":memory:"):
        raise HistoryError("a history is kept in a file: write sqlite:////folder/history.db")
    url = url.set(drivername=_DRIVERS[kind])
    return url.update_query_dict({"charset": "utf8mb4"}) if kind in ("mysql", "mariadb") else url


def _check_options(engine: Engine) -> None:
    """Refuse an option that the driver does not know: PyMySQL would say so when it connects, as of a mistake
    in this program."""
    if engine.dialect.name != "mysql":
        return
    _, options = engine.dialect.create_connect_args(engine.url)
    known = signature(engine.dialect.loaded_dbapi.connect).parameters
    if unknown := sorted(options.keys() - known):
        raise HistoryError(f"the history at {shown(engine)}: the driver knows no option {unknown[0]!r}")


def _manners(kind: str) -> dict[str, object]:
    match kind:
        case "sqlite":
            return {"timeout": PATIENCE, "check_same_thread": False}
        case "postgresql":
            # A connection through PgBouncer is not the same one for long, so it knows no prepared statements.
            silence = {"tcp_user_timeout": SILENCE * 1000, "keepalives_idle": SILENCE // 2}
            return {"connect_timeout": PATIENCE, "prepare_threshold": None, **silence}
        case _:
            # ElasticJob's columns of times are in the zone of the connection.
            silence = {"read_timeout": SILENCE, "write_timeout": SILENCE}
            return {"connect_timeout": PATIENCE, "init_command": "set time_zone = '+00:00'", **silence}


def _pool(kind: str) -> dict[str, object]:
    # Not MySQL's own level: under it, a row that somebody else has just changed is not seen.
    return {} if kind == "sqlite" else {"pool_timeout": PATIENCE, "isolation_level": "READ COMMITTED"}


def _make_file(url: URL) -> None:
    file = Path(url.database or "")
    try:
        if file.exists():
            return
        if not file.parent.is_dir():
            raise HistoryError(f"the history {file} cannot be made: there is no folder {file.parent}")
        handle, whole = tempfile.mkstemp(prefix=f".{file.name}-", dir=file.parent)
    except OSError as error:
        raise HistoryError(f"the history {file} cannot be made: {error.strerror}") from error
    os.close(handle)
    try:
        made = forks.Connection(whole, lambda: sqlite3.connect(whole, check_same_thread=False))
        with closing(made) as connection:
            connection.row("pragma auto_vacuum = incremental")
            connection.row("pragma journal_mode = wal")
            connection.row("vacuum")  # without anything written, the settings would not be kept
        with suppress(FileExistsError):  # somebody else was quicker, and theirs is as good
            os.link(whole, file)
    except (OSError, sqlite3.Error) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise HistoryError(f"the history {file} cannot be made: {why}") from error
    finally:
        for left in (whole, f"{whole}-wal", f"{whole}-shm"):
            Path(left).unlink(missing_ok=True)


def _set_up(engine: Engine, kind: str) -> None:
    mind_forks(engine)
    if kind != "sqlite":
        return

    def connected(connection: DBAPIConnection, entry: ConnectionPoolEntry) -> None:
        # Transactions are begun below, not by the driver, which begins none before the first write.
        connection.isolation_level = None
        try:
            cursor = connection.cursor()
            cursor.execute("pragma synchronous = full")
            cursor.close()
        except BaseException:
            connection.close()  # nobody else does
            raise

    def begun(connection: Connection) -> None:
        writes = connection.get_execution_options().get(WRITES)
        connection.exec_driver_sql(
            "begin exclusive" if writes == "alone" else "begin immediate" if writes else "begin"
        )

    event.listen(engine, "connect", connected)
    event.listen(engine, "begin", begun)
