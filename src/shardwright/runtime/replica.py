"""A replica, as its parent sees it: this program once more, what it has said, and how it may be ended.

On Linux the kernel tells it to end when its parent has died, however that came about; anywhere, the line that
breaks does (see `parent.py`).
"""

import contextlib
import json
import logging
import math
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from ..errors import JobError
from ..registry import Credentials
from . import parent

log = logging.getLogger("shardwright")

# Becomes the program, which the kernel will tell to end when we die, however that comes about.
_TETHERED = (
    "import ctypes, os, signal, sys\n"
    "ctypes.CDLL(None).prctl(1, signal.SIGTERM)\n"
    "if os.getppid() != int(sys.argv[1]): sys.exit('its parent is gone')\n"
    "os.execv(sys.argv[2], sys.argv[2:])"
)


def _here() -> Path | None:
    with contextlib.suppress(OSError):
        return Path.cwd()
    return None


# Where this program was begun, as far as we know: it may go elsewhere before it comes to run.
_BEGAN_IN = _here()


def this_program() -> list[str]:
    """The arguments that run this program once more."""
    file = getattr(sys.modules["__main__"], "__file__", None)
    lasts = "-c" in sys.orig_argv if file is None else not file.startswith("<")  # <stdin> is read already
    if not (sys.executable and lasts):
        raise JobError(
            "run(processes=…) starts the program again, and this one has no file: put it into a script"
        )
    return [sys.executable, *sys.orig_argv[1:]]


class Replica:
    """One process, and what it has said."""

    def __init__(self, number: int, program: Sequence[str], now: float) -> None:
        self.number = number
        self.began = now
        self.runs = False
        """Whether it is in its jobs."""
        self.credentials: Credentials | None = None
        """What its session can be ended by, while it has one. A secret."""
        self.told: signal.Signals | None = None
        """What it was told to end by, if it was."""
        self.kill_at = math.inf
        self._heard = b""
        self.line, theirs = socket.socketpair()
        self.line.setblocking(False)
        with theirs:
            try:
                self._process = _begun(program, number, theirs.fileno())
            except OSError:
                self.line.close()
                raise
        self.pid = self._process.pid
        self.death = death_of(self.pid)
        """A file that can be read once it is dead, where there is such a thing."""

    def __str__(self) -> str:
        return f"replica {self.number} (process {self.pid})"

    def tell(self, number: signal.Signals, until: float) -> None:
        """Tell it to end, and have it killed if it has not by then."""
        if self.told is None:
            self.told, self.kill_at = number, until
            self._process.send_signal(number)

    def kill(self) -> None:
        self.kill_at = math.inf
        self._process.kill()

    def ended(self) -> int | None:
        """Its exit code, once it has one; negative for a signal."""
        return self._process.poll()

    def hear(self) -> bool:
        """Take in what it says; whether there may be more, ever."""
        try:
            data = self.line.recv(parent.READ)
        except BlockingIOError:
            return True
        except OSError:
            data = b""
        *lines, self._heard = (self._heard + data).split(b"\n")
        for line in lines:
            self._understand(line)
        return bool(data)

    def has_said_more(self) -> bool:
        """Whether there is something that was not heard yet."""
        try:
            return bool(self.line.recv(1, socket.MSG_PEEK))
        except OSError:
            return False

    def close(self) -> None:
        self.line.close()
        if self.death is not None:
            os.close(self.death)

    def _understand(self, line: bytes) -> None:
        try:
            word = json.loads(line)
        except ValueError:
            word = None
        match word:
            case {"running": True}:
                self.runs = True
            case {"session": str(session), "password": str(password)}:
                self.credentials = Credentials(session, password)
            case {"left": True}:
                self.credentials = None
            case _:  # whoever it started may have its files; the words are not shown, as one is a secret
                log.warning("%s said what is not understood", self)


def _begun(program: Sequence[str], number: int, line: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        _tethered(program),
        stdin=subprocess.DEVNULL,
        cwd=_BEGAN_IN,
        env={**os.environ, **parent.introduction(number, line)},
        pass_fds=[line],
    )


def _tethered(program: Sequence[str]) -> list[str]:
    if sys.platform != "linux":
        return list(program)
    return [sys.executable, "-I", "-S", "-c", _TETHERED, str(os.getpid()), *program]


def death_of(pid: int) -> int | None:
    """A file that can be read once a process is dead, where there is such a thing."""
    if not hasattr(os, "pidfd_open"):
        return None
    with contextlib.suppress(OSError):
        return os.pidfd_open(pid)
    return None
