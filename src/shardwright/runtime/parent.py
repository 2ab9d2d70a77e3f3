"""The parent of a replica, as the replica sees it: whom it tells how it is, and without whom it ends.

A replica learns by its environment that it is one, and which file its line to the parent is. By that it says,
in lines of JSON,

    {"running": true}                     that it is in its jobs
    {"session": "…", "password": "…"}     what its session with the registry can be ended by
    {"left": true}                        that it has ended the session itself

This is said nowhere else: it is not logged, no argument, and not in the environment. The parent says nothing,
but when it is gone the line breaks.
"""

import contextlib
import json
import os
import re
import socket
import stat
import threading
from collections.abc import Callable

from ..registry import Credentials

#: By what a replica knows that it is one: its number, its line's file, and what tells that file from others.
VARIABLE = "SHARDWRIGHT_REPLICA"

#: How much is read from a line at once, at either end of it.
READ = 1 << 16


class Line:
    """The line of a replica to its parent. What the parent does not hear any more is not missed."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line

    def running(self) -> None:
        self._say(running=True)

    def session(self, credentials: Credentials) -> None:
        self._say(session=credentials.session, password=credentials.password)

    def left(self) -> None:
        """The session is ended, in order."""
        self._say(left=True)

    def close(self) -> None:
        self._line.close()

    def on_break(self, tell: Callable[[], None]) -> None:
        """Have somebody told, in a thread of its own, when the parent is gone."""

        def wait() -> None:
            with contextlib.suppress(OSError):
                while self._line.recv(READ):
                    pass
            tell()

        threading.Thread(target=wait, name="shardwright-parent", daemon=True).start()

    def _say(self, **word: object) -> None:
        with contextlib.suppress(OSError):
            self._line.send(json.dumps(word).encode() + b"\n", socket.MSG_DONTWAIT)


def introduction(number: int, file: int) -> dict[str, str]:
    """What a replica's environment must hold, so that it finds its line."""
    return {VARIABLE: f"{number}:{file}:{os.fstat(file).st_ino}"}


_ours: Line | None = None


def line() -> Line | None:
    """Our line to the parent, if this process is a replica. What it starts itself from now on is none."""
    global _ours
    told = re.fullmatch(r"\d+:(\d+):(\d+)", os.environ.get(VARIABLE, ""))
    if told is not None and _is_socket(file := int(told[1]), int(told[2])):
        del os.environ[VARIABLE]
        os.set_inheritable(file, False)
        _ours = Line(socket.socket(fileno=file))
    return _ours


def _is_socket(file: int, inode: int) -> bool:
    try:
        found = os.fstat(file)
    except OSError:
        return False
    return stat.S_ISSOCK(found.st_mode) and found.st_ino == inode


def _fork() -> None:
    """A fork is no replica: its parent's parent hears nothing of it."""
    global _ours
    if _ours is not None:
        _ours.close()
        _ours = None


os.register_at_fork(after_in_child=_fork)
