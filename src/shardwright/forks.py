"""Forks: nobody is inside SQLite when this process forks, and what a child inherits does no harm.

SQLite keeps a table of the files that its process has open and of the locks it has on them. A forked child
inherits that table, but from the kernel none of the locks: a connection that it opens itself would rely on
locks which nobody has, and what it commits would be lost. So

    who forks       waits until nobody is in SQLite, though not for ever; nobody goes in meanwhile
    the child       takes the file away from the connections that it inherited, and closes them before it
                    opens one of its own: that empties the table. One that was in use cannot be closed, and
                    its file is refused

The registry's connections are inside for a statement, the history's for a transaction.

They are not closed at once: a thread of somebody else's may have been in SQLite, on a file that is none of
ours, with a mutex that closing asks for and that nobody gives back in the child, and most children never open
anything. And who closes a file as the last one deletes its log, which may be somebody else's by the time that
the child opens one of its own: a connection whose file was taken away gets no lock, and lets the log be.
"""

import contextlib
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from .errors import Unsuitable

#: The most seconds that a fork waits for those who are in SQLite.
WAIT = 3.0

#: A file's device and inode.
_Identity = tuple[int, int]

_DESCRIPTORS = Path("/proc/self/fd")


class Connection:
    """A connection to a file. Each call of its methods is one stay inside SQLite, which a fork waits for; who
    uses `plain`, as SQLite has it, is to `enter` before and to `leave` after."""

    def __init__(self, path: str | Path, connect: Callable[[], sqlite3.Connection]) -> None:
        """Raises Unsuitable where this process cannot open the file because of what it inherited."""
        found = Path(path).stat()
        self.file = found.st_dev, found.st_ino
        self._inside = threading.Lock()
        self._known = weakref.ref(self, _open.discard)
        with _door:
            _close_inherited()
            _check(path, self.file)
            _open.add(self._known)
            self._inside.acquire()
        try:
            self.plain = connect()
        except BaseException:
            self.forget()
            raise
        finally:
            self._inside.release()

    def row(self, sql: str, parameters: tuple[object, ...] = ()) -> Any:
        """The first row that a statement gives, if any; it must not give another."""
        with self._stay():
            return self.plain.execute(sql, parameters).fetchone()

    def close(self) -> None:
        with self._stay():
            close(self.plain)
            self.forget()

    def enter(self) -> None:
        with _door:
            self._inside.acquire()

    def leave(self) -> None:
        self._inside.release()

    def forget(self) -> None:
        """It is closed: a child inherits nothing."""
        _open.discard(self._known)

    @contextlib.contextmanager
    def _stay(self) -> Iterator[None]:
        self.enter()
        try:
            yield
        finally:
            self.leave()


#: As SQLite does it, whatever one of a class of ours does besides.
close = sqlite3.Connection.close


#: Whoever goes into SQLite comes through here; who forks keeps it shut.
_door = threading.Lock()

_open: "set[weakref.ref[Connection]]" = set()
"""Whoever lets go of one without closing it has it closed as any other."""

_inherited: list[Connection] = []
"""Connections of the process that forked us, to be closed before we open one."""

_lost: list[Connection] = []
"""And those which cannot be closed. They are kept because to let go of one closes it."""


class _Fork(threading.local):
    """What a thread holds while it forks."""

    door = False
    idle: tuple[Connection, ...] = ()


_fork = _Fork()


def _before() -> None:
    until = time.monotonic() + WAIT
    _fork.door = _door.acquire(timeout=WAIT)
    for each in _all_open():
        if each._inside.acquire(timeout=max(0.0, until - time.monotonic())):
            _fork.idle += (each,)  # one by one: a signal may break this off, and what is held is let go then


def _in_the_parent() -> None:
    for each in _fork.idle:
        each._inside.release()
    if _fork.door:
        _door.release()
    _fork.door, _fork.idle = False, ()


def _in_the_child() -> None:
    global _door
    # Who does not have the door cannot tell what others do with connections they inherited themselves.
    closable = [*_inherited, *_fork.idle] if _fork.door else []
    inherited = [*_inherited, *_all_open()]
    _door = threading.Lock()
    _fork.door, _fork.idle = False, ()
    _open.clear()
    if not _take_away({each.file for each in inherited}):
        closable = []
    _inherited[:] = [each for each in inherited if each in closable]
    _lost.extend(each for each in inherited if each not in closable)


def _all_open() -> list[Connection]:
    return [each for found in list(_open) if (each := found()) is not None]


def _take_away(files: Iterable[_Identity]) -> bool:
    """Have all descriptors of these files lead nowhere; whether that could be done."""
    wanted = set(files)
    if not wanted:
        return True
    try:
        nowhere = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        for descriptor in [int(each.name) for each in _DESCRIPTORS.iterdir()]:
            with contextlib.suppress(OSError):  # that of the list itself is closed by now
                found = os.fstat(descriptor)
                if (found.st_dev, found.st_ino) in wanted:
                    os.dup2(nowhere, descriptor, inheritable=False)
        os.close(nowhere)
    except OSError:
        return False
    return True


def _check(path: str | Path, file: _Identity) -> None:
    if any(each.file == file for each in _lost):
        raise Unsuitable(
            f"{path} was in use at the moment when this process was forked, and cannot be opened in it: "
            "fork again, or before it is opened, or start another program instead"
        )


def _close_inherited() -> None:
    while _inherited:
        each = _inherited.pop()
        try:
            close(each.plain)
        except sqlite3.Error:  # it is as good as in use
            _lost.append(each)


os.register_at_fork(before=_before, after_in_parent=_in_the_parent, after_in_child=_in_the_child)
