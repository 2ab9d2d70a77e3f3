"""Children: programs that are run to their end for one shard, in a session of their own.

A child is started by the guard (see `guard.py`), which knows until when it may run and ends it if it must,
also when this process is killed or stopped. Here is the other half of that: one guard for all children of
this process, one thread that keeps telling it what is left of each lease, and for each child the thread that
waits for it, reads what it prints, and may be told to have it stopped.
"""

import atexit
import contextlib
import errno
import io
import json
import logging
import math
import os
import re
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ..clock import BOOT
from ..errors import Cancelled, Failed
from ..shard import Shard
from . import guard as guards

log = logging.getLogger(__name__)

#: How often the leases are told, in seconds.
EVERY = 0.1
#: For how many seconds the guard may fail to do what it should before it is taken for hung, and replaced.
PATIENCE = 10.0
#: How much is kept of one line of output, and of all of it, in bytes.
LONGEST_LINE = 4096
OUTPUT_LIMIT = 1 << 20
#: How much a child may say in one line where it speaks to us and not to people.
LONGEST_WORD = 1 << 20

#: What any program may know of its surroundings. The rest must be asked for by name: it may be secret.
BASE = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_READ = 1 << 16
_LAST_READS = 64  # whoever left the group may still hold the pipe, and write for ever
_WHY_REFUSED = {
    errno.ENOEXEC: "it is neither a binary for this machine nor does it begin with #!",
    errno.E2BIG: "its arguments and environment are longer than the system allows",
    errno.ENOENT: "it is not there, or what its first line (#!) names is not",
}


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
        if self.code >= 0:
            return f"ended with exit code {self.code}"
        try:
            return f"was killed by {signal.Signals(-self.code).name}"
        except ValueError:
            return f"was killed by signal {-self.code}"


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
            with guard.telling(child), shard.on_cancel(child.stop):
                return child.wait(guard)
    raise Failed(f"{shard.job_name}, shard {shard.item}: not started, as no guard process takes the order")


def environment(names: Iterable[str]) -> dict[str, str]:
    """What a child may see of our environment: what any program may, and what is named."""
    return {name: os.environ[name] for name in (*BASE, *names) if name in os.environ}


def boot() -> float:
    return time.clock_gettime(BOOT)


class Child:
    """One child, as the thread that waits for it sees it. `stop` and `tell_lease` are for other threads."""

    def __init__(
        self,
        shard: Shard,
        program: Program,
        printed: Callable[[str, str], None],
        said: Callable[[str], None] | None,
    ) -> None:
        self._shard, self._program = shard, program
        self._name = f"{shard.job_name}, shard {shard.item}"
        self._pid = 0
        self._ended: Ended | None = None
        self._why = ""
        self._refused: int | None = None
        self._until = -math.inf
        self._news_by = math.inf
        self._selector = selectors.DefaultSelector()
        self._channel, theirs = socket.socketpair()
        self._channel.settimeout(PATIENCE)
        self._theirs: list[socket.socket | io.FileIO] = [theirs, _file_of(program.stdin)]
        self._talk: socket.socket | None = None
        self._order = {
            "argv": [_bytes(text) for text in program.argv],
            "env": {_bytes(name): _bytes(text) for name, text in program.env.items()},
            "cwd": _bytes(str(Path.cwd())),
            "by_file": program.file is not None,
            "grace": program.grace,
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

    def start(self, guard: "Guard") -> None:
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
        self._news_by = boot() + PATIENCE

    def tell_lease(self) -> None:
        """Tell guard and child until when the lease lasts, if that has changed."""
        until = self._lease_end()
        if abs(until - self._until) < 0.001:
            return
        self._until = until
        if self._program.bound:
            _send(self._channel, f"lease {until:.6f}\n")
        if self._talk is not None:
            _send(self._talk, f"{until:.6f}\n")

    def stop(self) -> None:
        """Have it stopped: SIGTERM now, SIGKILL after the grace."""
        self._news_by = min(self._news_by, self._stopped_by())
        _send(self._channel, "stop\n")

    def wait(self, guard: "Guard") -> Ended:
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
        return now + self._shard.lease_left

    def _stopped_by(self) -> float:
        return boot() + self._program.grace + PATIENCE

    def _late_by(self) -> float:
        lease = self._until if self._program.bound else math.inf
        return boot() - min(self._news_by, lease + PATIENCE)

    def _answered(self, line: str) -> None:
        match line.split(" "):
            case ["started", pid]:
                self._pid, self._news_by = int(pid), math.inf
                if self._shard.cancelled:
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
        if not self._pid:
            raise Failed(f"{self._name}: not started, as its guard process has no room for it, or was killed")
        with contextlib.suppress(OSError):
            os.killpg(self._pid, signal.SIGKILL)
        raise Failed(f"{self._name}: ended in mid-run, as its guard process was killed")

    def _source(self, file: socket.socket | io.FileIO, lines: "Lines") -> "Source":
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


class Source:
    """What comes out of a file, as lines."""

    def __init__(self, file: socket.socket | io.FileIO, lines: "Lines") -> None:
        self.file, self._lines = file, lines

    def read(self) -> bool:
        """Read what is there; says whether there may be more."""
        try:
            data = os.read(self.file.fileno(), _READ)
        except ConnectionResetError:
            data = b""
        self._lines.feed(data)
        return bool(data)

    def finish(self) -> None:
        """Read what is left. Nobody is waited for."""
        os.set_blocking(self.file.fileno(), False)
        with contextlib.suppress(BlockingIOError):
            for _ in range(_LAST_READS):
                if not self.read():
                    break
        self._lines.end()


class Lines:
    """Lines out of bytes, each cut to a length, and all of them to a limit."""

    def __init__(
        self, tell: Callable[[str], None], longest: int = LONGEST_WORD, limit: float = math.inf
    ) -> None:
        self._tell, self._longest, self._limit = tell, longest, limit
        self._line = bytearray()
        self._cut = 0
        self._length = 0

    def feed(self, data: bytes) -> None:
        *whole, rest = data.split(b"\n")
        for part in whole:
            self._add(part)
            self._end_line()
        self._add(rest)

    def end(self) -> None:
        """What came after the last line's end is a line, too."""
        if self._line:
            self._end_line()

    def _add(self, part: bytes) -> None:
        room = self._longest - len(self._line)
        self._line += part[:room]
        self._cut += max(0, len(part) - room)

    def _end_line(self) -> None:
        text = self._line.decode(errors="replace").removesuffix("\r")
        # People read this in a terminal, which would obey what is written there.
        text = _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
        text += f"… ({self._cut:,} bytes more)" if self._cut else ""
        full, self._length = self._length > self._limit, self._length + len(self._line) + 1
        self._line.clear()
        self._cut = 0
        if full:
            return
        if self._length > self._limit:
            text = f"(the rest is left out: it is more than {self._limit:,} bytes)"
        self._tell(text)


class Guard:
    """The guard process, and the thread that keeps telling it what is left of the leases."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair()
        self._control.settimeout(PATIENCE)
        with theirs, _unheard():
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", guards.__file__, str(os.getpid())],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,  # what is meant for us, as Ctrl-C, is not meant for it
            )
        self.pid = self._process.pid
        self._taking = threading.Lock()
        self._news = threading.Condition()
        self._children: set[Child] = set()
        self._over = False
        self._teller = threading.Thread(target=self._tell, name="shardwright-leases", daemon=True)
        self._teller.start()

    def alive(self) -> bool:
        return not self._over and self._process.poll() is None

    def take(self, files: list[int]) -> None:
        """Hand it the files of a new run."""
        with self._taking:
            socket.send_fds(self._control, [b"r"], files)

    @contextmanager
    def telling(self, child: Child) -> Iterator[None]:
        """Keep telling the lease of a child, while in this context."""
        with self._news:
            self._children.add(child)
            self._news.notify()
        try:
            yield
        finally:
            with self._news:
                self._children.discard(child)

    def kill(self) -> None:
        """Kill it, and with it whatever it guards."""
        self._process.kill()
        self.close()

    def close(self) -> None:
        """Let it end, with whatever it guards."""
        with self._news:
            self._over = True
            self._news.notify()
        self._control.close()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _tell(self) -> None:
        while True:
            with self._news:
                self._news.wait_for(lambda: self._children or self._over)
                children = list(self._children)
                self._news.wait_for(lambda: self._over, EVERY)
                if self._over:
                    return
            for child in children:
                try:
                    child.tell_lease()
                except Exception:
                    log.exception("a lease cannot be told: its child will end with what it was told before")


_guard: Guard | None = None
_starting = threading.Lock()


def the_guard() -> Guard:
    """The one guard of this process; a new one if there is none, or it died."""
    global _guard
    with _starting:
        if _guard is None or not _guard.alive():
            if _guard is not None:
                log.warning("the guard process %d has died; another takes its place", _guard.pid)
                _guard.close()
            _guard = Guard()
        return _guard


def _close_guard() -> None:
    if _guard is not None:
        _guard.close()


def _forget_guard() -> None:
    """In a process that was forked: the guard is the parent's."""
    global _guard, _starting
    _forgotten.append(_guard)
    _guard, _starting = None, threading.Lock()


_forgotten: list[Guard | None] = []  # kept, so that nothing takes their process for ours to wait for
atexit.register(_close_guard)
os.register_at_fork(after_in_child=_forget_guard)


@contextmanager
def _unheard() -> Iterator[None]:
    """Have what is started here deaf, from its very first moment, to what a guard does not listen to."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, guards.UNHEARD)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


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
