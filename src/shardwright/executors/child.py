"""Children: programs that are run to their end for one shard, in a session of their own.

A child is started by the guard (see `guard.py`), which knows until when it may run and ends it if it must,
also when this process is killed or stopped. Here is the other half of that: for each child the thread that
waits for it, reads what it prints, and may be told to have it stopped.
"""

import contextlib
import errno
import io
import json
import logging
import math
import os
import selectors
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ..clock import SystemClock
from ..errors import Cancelled, Failed
from ..shard import Shard
from .guards import PATIENCE, Guard, the_guard
from .lines import Lines, Source

log = logging.getLogger(__name__)

boot = SystemClock().boot

#: How much is kept of one line of output, and of all of it, in bytes.
LONGEST_LINE = 4096
OUTPUT_LIMIT = 1 << 20

#: What any program may know of its surroundings. The rest must be asked for by name: it may be secret.
BASE = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")

_WHY_REFUSED = {
    errno.ENOEXEC: "it is neither a binary for this machine nor does it begin with #!",
    errno.E2BIG: "its arguments and environment are longer than the system allows",
    errno.ENOENT: "it is not there, or what its first line (#!) names is not",
}


#: How many seconds a guard that was killed may take to be gone.
MOMENT = 1.0


class NotTaken(Exception):
    """The guard let go of an order before it took it: nothing was started. Says whose."""


@dataclass(frozen=True, slots=True)
class Program:
    """What to run, and how."""

    argv: Sequence[str]
    env: Mapping[str, str]
    stdin: bytes = b""
    file: int | None = None
    """The program itself, open, where it is not to be looked up by the first argument once more."""
    grace: float = 5.0
    """How many seconds it has to stop when told to; less if its lease ends before."""
    alone: bool = False
    """Whether it is told to stop by itself, and what it has started is its own to end."""
    bound: bool = True
    """Whether it ends with its lease. If not, it still ends with this process."""
    output_limit: int = OUTPUT_LIMIT


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child came to its end."""

    code: int
    """Its exit code; negative for the signal that killed it."""
    stopped: bool
    """Whether it was told to stop before."""

    @property
    def how(self) -> str:
        return ending(self.code)


def ending(code: int) -> str:
    """What the exit code of a process says, negative for a signal, as the end of a sentence."""
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


def run(
    shard: Shard,
    program: Program,
    printed: Callable[[str, str], None],
    said: Callable[[str], None] | None = None,
) -> Ended:
    """Run a program to its end, in this thread. `printed` is told each line of "stdout" and "stderr". With
    `said` the child has a socket as its file 3: it says lines by it, and hears until when its lease lasts."""
    for _ in range(2):
        guard = the_guard()
        with closing(Child(shard, program, printed, said)) as child:
            try:
                child.start(guard)
            except OSError as error:
                if guard.alive() and not isinstance(error, ConnectionError | TimeoutError):
                    raise
                log.warning("the guard process is replaced: it took no order (%s)", error)
                guard.kill()
                continue
            try:
                with guard.telling(child), shard.on_cancel(child.stop):
                    return child.wait(guard)
            except NotTaken as error:
                if not guard.ends(MOMENT):
                    raise Failed(f"{error}: not started, as its guard process has no room for it") from None
                log.warning("the guard process is replaced: it was killed before it took an order")
                guard.kill()
    raise Failed(f"{shard.job_name}, shard {shard.item}: not started, as no guard process takes the order")


def environment(names: Iterable[str]) -> dict[str, str]:
    """What a child may see of our environment: what any program may, and what is named."""
    return {name: os.environ[name] for name in (*BASE, *names) if name in os.environ}


class Child:
    """One child, as the thread that waits for it sees it. `stop`, `kill` and `tell_lease` are for other
    threads."""

    def __init__(
        self,
        shard: Shard,
        program: Program,
        printed: Callable[[str, str], None],
        said: Callable[[str], None] | None,
    ) -> None:
        self.shard, self._program = shard, program
        self._name = f"{shard.job_name}, shard {shard.item}"
        folder = _here()
        self._pid = 0
        self._taken = False
        self._ended: Ended | None = None
        self._why = ""
        self._refused: int | None = None
        self._until = -math.inf
        self._moves = False
        self._news_by = math.inf
        self._selector = selectors.DefaultSelector()
        self._channel, theirs = socket.socketpair()
        self._channel.settimeout(PATIENCE)
        self._theirs: list[socket.socket | io.FileIO] = [theirs, _file_of(program.stdin)]
        self._talk: socket.socket | None = None
        self._order = {
            "argv": [_bytes(text) for text in program.argv],
            "env": {_bytes(name): _bytes(text) for name, text in program.env.items()},
            "cwd": _bytes(folder),
            "by_file": program.file is not None,
            "grace": program.grace,
            "alone": program.alone,
        }
        self._sources = [self._source(self._channel, Lines(self._answered))]
        for name in ("stdout", "stderr"):
            ours, others = os.pipe()
            self._theirs.append(io.FileIO(others, "w"))
            lines = Lines(partial(printed, name), LONGEST_LINE, program.output_limit)
            self._sources.append(self._source(io.FileIO(ours), lines))
        if said is not None:
            self._talk, talk = socket.socketpair()
            self._theirs.append(talk)
            self._sources.append(self._source(self._talk, Lines(said)))

    def start(self, guard: Guard) -> None:
        """Have the guard start it. Raises OSError where the guard did not hear the whole of it: then nothing
        was started."""
        program = self._program
        files = [each.fileno() for each in self._theirs]
        guard.take([*files, *([program.file] if program.file is not None else [])])
        self._close_theirs()
        self._until = self._lease_end()
        order = {**self._order, "until": self._until if program.bound else math.inf}
        with contextlib.suppress(ConnectionError):  # the guard may have no room for it: see `_lost`
            self._channel.sendall(json.dumps(order).encode() + b"\n")
        self._channel.setblocking(False)  # from now on the reactor speaks by it, which waits for nobody
        self._news_by = boot() + PATIENCE

    def tell_lease(self) -> None:
        """Tell guard and child until when the lease lasts, and the child whether its shard is to move, if
        that has changed."""
        until, moves = self._lease_end(), self.shard.to_move
        if abs(until - self._until) < 0.001 and moves == self._moves:
            return
        self._until, self._moves = until, moves
        if self._program.bound:
            _send(self._channel, f"lease {until:.6f}\n")
        if self._talk is not None:
            _send(self._talk, f"{until:.6f}{' move' if moves else ''}\n")

    def stop(self) -> None:
        """Have it stopped: SIGTERM now, SIGKILL after the grace."""
        self._news_by = min(self._news_by, self._stopped_by())
        _send(self._channel, "stop\n")

    @property
    def ended(self) -> bool:
        return self._ended is not None

    def kill(self) -> None:
        self._news_by = min(self._news_by, boot() + PATIENCE)
        _send(self._channel, "kill\n")

    def wait(self, guard: Guard) -> Ended:
        """Read what it prints and says until it has ended, and say how it did."""
        while self._ended is None:
            late = self._late_by()
            ready = self._selector.select(min(max(-late, 0.0), PATIENCE))
            for key, _ in ready:
                key.data()
            if not ready and late > 0:
                log.error("%s: the guard process hangs, and is killed with all its children", self._name)
                guard.kill()
        for source in self._sources[1:]:
            source.finish()
        if self._refused is not None:
            why = _WHY_REFUSED.get(self._refused, os.strerror(self._refused))
            raise Failed(f"{self._name}: {self._program.argv[0]} cannot be started: {why}")
        if self._why == "lease":
            raise Cancelled(f"{self._name}: ended, as its lease was over")
        return self._ended

    def close(self) -> None:
        """Let go of it; if it still runs, the guard ends it."""
        self._close_theirs()
        self._selector.close()
        for source in self._sources:
            source.file.close()

    def _lease_end(self) -> float:
        # The clock first: if this process stands still between the two, the lease told is the shorter one.
        now = boot()
        return now + self.shard.lease_left

    def _stopped_by(self) -> float:
        return boot() + self._program.grace + PATIENCE

    def _late_by(self) -> float:
        lease = self._until if self._program.bound else math.inf
        return boot() - min(self._news_by, lease + PATIENCE)

    def _answered(self, line: str) -> None:
        match line.split(" "):
            case ["taken"]:
                self._taken = True
            case ["started", pid]:
                self._pid, self._news_by = int(pid), math.inf
                if self.shard.cancelled:
                    self._news_by = self._stopped_by()
                log.debug("%s: runs as process %d", self._name, self._pid)
            case ["refused", number]:
                self._refused = int(number)
            case ["ended", code, why]:
                self._ended, self._why = Ended(int(code), stopped=why != "-"), why

    def _lost(self) -> None:
        """The guard is gone, and the child with it; see to the rest of its group."""
        if self._ended is not None:
            return
        if not self._taken:
            raise NotTaken(self._name)
        if not self._pid:
            raise Failed(f"{self._name}: hardly begun, as its guard process was killed")
        with contextlib.suppress(OSError):
            os.killpg(self._pid, signal.SIGKILL)
        raise Failed(f"{self._name}: ended in mid-run, as its guard process was killed")

    def _source(self, file: socket.socket | io.FileIO, lines: Lines) -> Source:
        source = Source(file, lines)

        def read() -> None:
            if source.read():
                return
            self._selector.unregister(file)
            if file is self._channel:
                self._lost()

        self._selector.register(file, selectors.EVENT_READ, read)
        return source

    def _close_theirs(self) -> None:
        for file in self._theirs:
            file.close()


def _here() -> str:
    try:
        return str(Path.cwd())
    except FileNotFoundError:
        raise Failed("the folder that this process runs in is gone: start it in one that stays") from None


def _file_of(data: bytes) -> io.FileIO:
    """A file without a name to read this from: a pipe would have to be filled while it is read."""
    if sys.platform == "linux":
        number = os.memfd_create("stdin")
    else:
        number, name = tempfile.mkstemp()
        Path(name).unlink()
    file = io.FileIO(number, "r+")
    file.write(data)
    file.seek(0)
    return file


def _bytes(text: str) -> str:
    """A text as the guard wants it: one character for each byte."""
    return text.encode("utf-8", "surrogateescape").decode("latin-1")


def _send(to: socket.socket, line: str) -> None:
    # Whoever does not read, or is gone, is seen to by the thread that waits for the child.
    with contextlib.suppress(OSError):
        to.send(line.encode(), socket.MSG_DONTWAIT)
