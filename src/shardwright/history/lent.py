"""Connections of a history while they are lent, and what a fork makes of them.

SQLite    one is inside (see `forks`) from when the pool lends it until it is given back: a fork waits
any       the child's engine has a pool of its own. The old one is kept, as to let go of it would close
          what is the parent's
"""

import os
import sqlite3
import weakref
from typing import Any

from sqlalchemy import Engine, Pool, event
from sqlalchemy.engine import Dialect
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection

from ..errors import Unsuitable
from ..forks import Connection


class Guest(sqlite3.Connection):
    """A connection of a pool."""

    stay: Connection
    inside = False

    def enter(self) -> None:
        if not self.inside:
            self.stay.enter()
            self.inside = True

    def leave(self) -> None:
        if self.inside:
            self.inside = False
            self.stay.leave()

    def close(self) -> None:
        self.enter()
        try:
            super().close()
            self.stay.forget()
        finally:
            self.leave()


_engines: "weakref.WeakSet[Engine]" = weakref.WeakSet()

_left: list[Pool] = []
"""Pools of the processes that have forked us."""


def mind_forks(engine: Engine) -> None:
    _engines.add(engine)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "do_connect", _connect)
        event.listen(engine, "checkout", _enter)
        event.listen(engine, "checkin", _leave)


def _connect(
    dialect: Dialect, entry: ConnectionPoolEntry, where: list[str], options: dict[str, Any]
) -> Guest:
    """A new one, which is lent as soon as it has been set up."""
    (file,) = where
    try:
        stay = Connection(file, lambda: sqlite3.connect(file, factory=Guest, **options))
    except (Unsuitable, OSError) as error:
        raise sqlite3.OperationalError(str(error)) from error
    guest = stay.plain
    assert isinstance(guest, Guest)
    guest.stay = stay
    guest.enter()
    return guest


def _enter(guest: DBAPIConnection, entry: ConnectionPoolEntry, lent: PoolProxiedConnection) -> None:
    if isinstance(guest, Guest):
        guest.enter()


def _leave(guest: DBAPIConnection | None, entry: ConnectionPoolEntry) -> None:
    if isinstance(guest, Guest):  # else it was of no use any more, and has been closed
        guest.leave()


def _in_the_child() -> None:
    for engine in list(_engines):
        _left.append(engine.pool)
        engine.dispose(close=False)


os.register_at_fork(after_in_child=_in_the_child)
