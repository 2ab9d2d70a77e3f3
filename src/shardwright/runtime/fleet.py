"""The fleet: a small parent that keeps several replicas of this program going, and runs no job itself.

    scheduler.run(processes=4)   starts this program four more times; each comes to the same line, and runs

    one dies            its session with the registry is ended as soon as all it ran has ended, so that others
                        have what it had, and another is started: soon, and later if that goes on
    all die at once,    it is given up, and the exit code says so
    again and again
    SIGTERM, SIGINT     are passed on, and what runs may end first; told twice, all are killed
    SIGHUP              one after the other is replaced, each when all others run
    the parent dies     the kernel (on Linux) and the line that breaks tell the replicas to end

A replica learns by its environment that it is one, and which file its line to the parent is. By that it says
in lines of JSON that it runs, what its session can be ended by, and that it has left. This is said nowhere
else: it is not logged, no argument, and not in the environment.
"""

import contextlib
import json
import logging
import math
import os
import random
import re
import select
import selectors
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import FrameType

from .. import registry as registries
from ..clock import BOOT
from ..errors import JobError
from ..executors import guard
from ..registry import Credentials
from ..registry.url import parse

log = logging.getLogger("shardwright")

#: By what a replica knows that it is one: its number, its line's file, and what tells that file from others.
VARIABLE = "SHARDWRIGHT_REPLICA"

#: After a death: how many seconds until the next is started, at first and at most, and by how much more.
PAUSE, PAUSE_MOST, JITTER = 1.0, 60.0, 0.25
#: Who has lived for so many seconds begins with the shortest pause again.
SETTLED = 60.0

#: Who dies within so many seconds and never ran has died at once; that is given up after so many times.
AT_ONCE, TOO_OFTEN = 10.0, 5

#: Seconds that a replica has to end beyond the grace time of its runs.
MARGIN = 7.0
#: Who is told to end again within so many seconds was told once: a terminal tells us and our replicas.
TOLD_ONCE = 1.0
#: For how many seconds it is tried to end the session of one that died.
PATIENCE = 10.0
#: How often to look who lives, where the kernel does not say.
LOOK = 0.1

_ENDS = (signal.SIGINT, signal.SIGTERM)
_READ = 1 << 16

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


def check(processes: int, url: str) -> None:
    """Raise where so many processes cannot be had."""
    if isinstance(processes, bool) or not isinstance(processes, int) or processes < 1:
        raise JobError(f"processes must be a whole number of at least 1, not {processes!r}")
    if VARIABLE in os.environ:  # to go on could mean processes that start processes without end
        raise JobError(
            f"this process has a replica's environment and not its files: start it without {VARIABLE}, or "
            "call run(processes=…) before anything forks, closes files or starts the program again"
        )
    if processes > 1 and parse(url).scheme == "memory":
        raise JobError(
            f"{processes} processes cannot share memory://, which is kept in one: "
            "give sqlite:///path.db, or no address at all, or leave processes out"
        )


def pause(deaths: int, chance: random.Random) -> float:
    """Seconds until another is started, when so many in a row have died before they had settled."""
    return min(PAUSE_MOST, PAUSE * 2.0 ** min(deaths - 1, 32)) * (1.0 + JITTER * chance.random())


# -- one of them, as its parent sees it ---------------------------------------------------------------------


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
        self.death = _death_of(self.pid)
        """A file that can be read once it is dead, where there is such a thing."""

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
            data = self.line.recv(_READ)
        except BlockingIOError:
            return True
        except OSError:
            data = b""
        *lines, self._heard = (self._heard + data).split(b"\n")
        for line in lines:
            self._understand(json.loads(line))
        return bool(data)

    def close(self) -> None:
        self.line.close()
        if self.death is not None:
            os.close(self.death)

    def _understand(self, word: object) -> None:
        match word:
            case {"running": True}:
                self.runs = True
            case {"session": str(session), "password": str(password)}:
                self.credentials = Credentials(session, password)
            case {"left": True}:
                self.credentials = None

    def __str__(self) -> str:
        return f"replica {self.number} (process {self.pid})"


def _begun(program: Sequence[str], number: int, line: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        _tethered(program),
        stdin=subprocess.DEVNULL,
        cwd=_BEGAN_IN,
        env={**os.environ, VARIABLE: f"{number}:{line}:{os.fstat(line).st_ino}"},
        pass_fds=[line],
    )


def _tethered(program: Sequence[str]) -> list[str]:
    if sys.platform != "linux":
        return list(program)
    return [sys.executable, "-I", "-S", "-c", _TETHERED, str(os.getpid()), *program]


def _death_of(pid: int) -> int | None:
    if not hasattr(os, "pidfd_open"):
        return None
    with contextlib.suppress(OSError):
        return os.pidfd_open(pid)
    return None


class Place:
    """Where there is to be a replica, whatever becomes of those that were there."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.replica: Replica | None = None
        self.due = 0.0
        """When to start the next."""
        self.deaths = 0
        """How many in a row have died before they had settled."""

    @property
    def runs(self) -> bool:
        return self.replica is not None and self.replica.runs and self.replica.told is None

    @property
    def is_hopeful(self) -> bool:
        """Whether one runs, or is the first to come and has not died yet."""
        return self.replica is not None and (self.replica.runs or not self.deaths)


# -- all of them --------------------------------------------------------------------------------------------


class Fleet:
    """So many replicas of a program, on the registry at an address. `grace` is for how many seconds what runs
    may go on when they are to end."""

    def __init__(
        self,
        size: int,
        url: str,
        *,
        grace: float,
        program: Sequence[str] | None = None,
        chance: random.Random | None = None,
    ) -> None:
        check(size, url)
        self._program = this_program() if program is None else program
        self._end_session = registries.session_ender(url)
        self._grace = grace
        self._chance = chance or random.Random()  # noqa: S311 - it keeps no secret
        self._places = [Place(number) for number in range(1, size + 1)]
        self._to_replace: deque[Place] = deque()
        self._in_a_row = 0
        self._told_at: float | None = None
        self._failed = False
        self._enders: list[threading.Thread] = []
        self._selector = selectors.DefaultSelector()

    def run(self) -> int:
        """Keep them going until told to end, and say how that went as an exit code. In the main thread."""
        woken, wakes = socket.socketpair()
        for end in (woken, wakes):
            end.setblocking(False)
        self._selector.register(woken, selectors.EVENT_READ, lambda: self._hear_signals(woken))
        woken_before = signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
        before = {number: signal.signal(number, _noted) for number in (*_ENDS, signal.SIGHUP)}
        try:
            log.info("%d replicas are started; process %d looks after them", len(self._places), os.getpid())
            while not self._is_over():
                self._round()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(woken_before)
            self._close()
            woken.close()
            wakes.close()
        return 1 if self._failed else 0

    def _is_over(self) -> bool:
        return self._told_at is not None and all(place.replica is None for place in self._places)

    def _round(self) -> None:
        """Look at everybody, do what is to be done, and wait until there may be more."""
        for place in self._places:
            replica = place.replica
            if replica is not None and (code := replica.ended()) is not None:
                self._bury(place, replica, code)
        now = boot()
        for replica in self._living():
            if now >= replica.kill_at:
                log.error("%s has not ended in time: it is killed", replica)
                replica.kill()
        self._start_those_due(now)
        self._replace_the_next(now)
        if not self._is_over():
            for key, _ in self._selector.select(self._moment() - boot()):
                key.data()

    def _living(self) -> list[Replica]:
        return [place.replica for place in self._places if place.replica is not None]

    def _moment(self) -> float:
        """When there is something to do although nobody says anything."""
        moments = [replica.kill_at for replica in self._living()]
        if self._told_at is None:
            moments += [place.due for place in self._places if place.replica is None]
        if any(replica.death is None for replica in self._living()):
            moments.append(boot() + LOOK)
        return min(boot() + 3600.0, *moments)

    # -- starting and replacing ---------------------------------------------------------------------

    def _start_those_due(self, now: float) -> None:
        for place in self._places:
            if self._told_at is None and place.replica is None and now >= place.due:
                self._start(place, now)

    def _start(self, place: Place, now: float) -> None:
        try:
            replica = Replica(place.number, self._program, now)
        except OSError as error:
            log.error("replica %d cannot be started: %s", place.number, error)
            self._try_again(place, at_once=True)
            return
        place.replica = replica
        self._selector.register(replica.line, selectors.EVENT_READ, lambda: self._hear(replica))
        if replica.death is not None:
            self._selector.register(replica.death, selectors.EVENT_READ, _noted)
        log.info("%s is started", replica)

    def _replace_the_next(self, now: float) -> None:
        if self._told_at is None and self._to_replace and all(place.runs for place in self._places):
            replica = self._to_replace.popleft().replica
            assert replica is not None
            log.info("%s is to be replaced, %d more to come", replica, len(self._to_replace))
            replica.tell(signal.SIGTERM, now + self._grace + MARGIN)

    def _hear(self, replica: Replica) -> None:
        ran = replica.runs
        if not replica.hear():
            self._selector.unregister(replica.line)
        if replica.runs and not ran:
            self._in_a_row = 0
            log.info("%s runs", replica)

    # -- deaths -------------------------------------------------------------------------------------

    def _bury(self, place: Place, replica: Replica, code: int) -> None:
        """One has died: see to what it leaves behind, and to what is to follow it."""
        while replica.line in self._selector.get_map():
            # All it will ever say is there by now, unless somebody it forked holds the line.
            if not _has_more(replica.line):
                self._selector.unregister(replica.line)
                break
            self._hear(replica)
        if replica.death is not None:
            self._selector.unregister(replica.death)
        replica.close()
        place.replica = None
        self._succeed(replica)
        self._judge(place, replica, code)

    def _succeed(self, replica: Replica) -> None:
        """End its session, in a thread of its own: the registry may be slow to answer."""
        credentials, end = replica.credentials, self._end_session
        if credentials is None or end is None:
            return

        def end_it() -> None:
            # What it ran in processes of their own ends a moment later, and must have before others begin.
            if not _wait_for_end(_guards_of(replica.pid)):
                log.warning("%s: what it ran goes on; its session will end by itself in time", replica)
            elif end(credentials, PATIENCE):
                log.info("%s: its session is ended, and others have what it had", replica)
            else:
                log.warning("%s: its session cannot be ended; it will by itself in time", replica)

        self._enders = [thread for thread in self._enders if thread.is_alive()]
        self._enders.append(threading.Thread(target=end_it, name=f"end of {replica.pid}", daemon=True))
        self._enders[-1].start()

    def _judge(self, place: Place, replica: Replica, code: int) -> None:
        how = _said(code)
        if self._told_at is not None:
            # Nobody heard us who was not there yet.
            well = code == 0 or (not replica.runs and replica.told is not None and code == -replica.told)
            self._failed = self._failed or not well
            log.log(logging.INFO if well else logging.ERROR, "%s %s", replica, how)
            return
        if replica.told is not None:
            log.log(logging.ERROR if code else logging.INFO, "%s %s, as it is to be replaced", replica, how)
            place.due = boot()
            return
        log.error("%s %s, and nobody told it to", replica, how)
        lived = boot() - replica.began
        if lived >= SETTLED:
            place.deaths = 0
        self._try_again(place, at_once=not replica.runs and lived < AT_ONCE)

    def _try_again(self, place: Place, *, at_once: bool) -> None:
        place.deaths += 1
        self._in_a_row = self._in_a_row + 1 if at_once else 0
        if self._in_a_row >= TOO_OFTEN and not any(each.is_hopeful for each in self._places):
            log.critical(
                "replicas have died %d times in a row as soon as they were started, and none runs: "
                "this is given up; what they have printed says why",
                self._in_a_row,
            )
            self._failed = True
            self._end(signal.SIGTERM)
            return
        left = pause(place.deaths, self._chance)
        place.due = boot() + left
        log.info("replica %d is started again in %.1f s", place.number, left)

    # -- being told ---------------------------------------------------------------------------------

    def _hear_signals(self, woken: socket.socket) -> None:
        for number in woken.recv(_READ):
            if number == signal.SIGHUP and self._told_at is None:
                log.info("told by SIGHUP to replace all, one after the other")
                self._to_replace = deque(self._places)
            elif number in _ENDS and self._told_at is None:
                log.info("told to end by %s: what runs may end first", signal.Signals(number).name)
                self._end(signal.Signals(number))
            elif number in _ENDS and self._told_at is not None and boot() > self._told_at + TOLD_ONCE:
                log.warning("told to end once more: all are killed")
                for replica in self._living():
                    replica.kill()

    def _end(self, number: signal.Signals) -> None:
        self._told_at = boot()
        for replica in self._living():
            replica.tell(number, self._told_at + self._grace + MARGIN)

    def _close(self) -> None:
        """Nobody is left behind, also where we fail ourselves."""
        for replica in self._living():
            replica.kill()
        for thread in self._enders:
            thread.join(PATIENCE)
        self._selector.close()


def boot() -> float:
    return time.clock_gettime(BOOT)


def _has_more(line: socket.socket) -> bool:
    try:
        return bool(line.recv(1, socket.MSG_PEEK))
    except OSError:
        return False


def _guards_of(pid: int) -> list[int]:
    """Those who end what a process ran, found by what they were started with: who started them is dead."""
    theirs = os.fsencode(f"\0{guard.__file__}\0{pid}\0")
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if file.read_bytes().endswith(theirs):
                found.append(int(file.parent.name))
    return found


def _wait_for_end(pids: Iterable[int]) -> bool:
    """Whether these processes, which are not our children, have ended in time."""
    until = boot() + PATIENCE
    for death in (_death_of(pid) for pid in pids):
        if death is not None:
            ended = select.select([death], [], [], max(0.0, until - boot()))[0]
            os.close(death)
            if not ended:
                return False
    return True


def _said(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


def _noted(number: int = 0, frame: FrameType | None = None) -> None:
    """That it came is all there is to it: whoever waits has been woken."""


# -- one of them, as it sees its parent ---------------------------------------------------------------------


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

    def on_break(self, tell: Callable[[], None]) -> None:
        """Have somebody told, in a thread of its own, when the parent is gone."""

        def wait() -> None:
            with contextlib.suppress(OSError):
                while self._line.recv(_READ):
                    pass
            tell()

        threading.Thread(target=wait, name="shardwright-parent", daemon=True).start()

    def _say(self, **word: object) -> None:
        with contextlib.suppress(OSError):
            self._line.send(json.dumps(word).encode() + b"\n", socket.MSG_DONTWAIT)


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
