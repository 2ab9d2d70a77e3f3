"""The fleet: a small parent that keeps several replicas of this program going, and runs no job itself.

    scheduler.run(processes=4)   starts this program four more times; each comes to the same line, and runs

    one dies            its session with the registry is ended as soon as all it ran has ended, so that others
                        have what it had, and another is started: soon, and later if that goes on
    all die at once,    it is given up, and the exit code says so
    again and again
    SIGTERM, SIGINT     are passed on, and what runs may end first; told twice, all are killed
    SIGHUP              one after the other is replaced, each when all others run
    the parent dies     the kernel (on Linux) and the line that breaks tell the replicas to end

Around it: `replica.py` is one of them as it is seen from here, `parent.py` is this process as they see it,
`berth.py` says when the next is started, and `succession.py` ends the sessions of the dead.
"""

import contextlib
import logging
import os
import random
import selectors
import signal
import socket
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from types import FrameType

from .. import registry as registries
from .. import signals
from ..clock import SystemClock
from ..errors import JobError
from ..executors.child import ending
from ..registry.url import parse
from . import berth as berths
from . import parent
from .berth import Berth
from .replica import Replica, this_program
from .succession import Succession

log = logging.getLogger("shardwright")

#: Who dies within so many seconds and never ran has died at once; that is given up after so many times.
AT_ONCE, TOO_OFTEN = 10.0, 5

#: Seconds that a replica has to end beyond the grace time of its runs.
MARGIN = 7.0
#: Who is told to end again within so many seconds was told once: a terminal tells us and our replicas.
TOLD_ONCE = 1.0
#: How often to look who lives, where the kernel does not say.
LOOK = 0.1
#: How long to wait at most where nothing is due.
LONGEST_WAIT = 3600.0

_ENDS = (signal.SIGINT, signal.SIGTERM)

_boot = SystemClock().boot


def check(processes: int, url: str) -> None:
    """Raise where so many processes cannot be had."""
    if isinstance(processes, bool) or not isinstance(processes, int) or processes < 1:
        raise JobError(f"processes must be a whole number of at least 1, not {processes!r}")
    if threading.current_thread() is not threading.main_thread():
        raise JobError("run(processes=…) hears signals, which it only can in the main thread: call it there")
    if parent.VARIABLE in os.environ:  # to go on could mean processes that start processes without end
        raise JobError(
            "this process has a replica's environment and not its files: start it without "
            f"{parent.VARIABLE}, or call run(processes=…) before anything forks, closes files or starts the "
            "program again"
        )
    if processes > 1 and parse(url).scheme == "memory":
        raise JobError(
            f"{processes} processes cannot share memory://, which is kept in one: "
            "give sqlite:///path.db, or no address at all, or leave processes out"
        )


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
        self._succession = Succession(registries.session_ender(url))
        self._grace = grace
        self._chance = chance or random.Random()  # noqa: S311 - it keeps no secret
        self._berths = [Berth(number) for number in range(1, size + 1)]
        self._to_replace: deque[Berth] = deque()
        self._at_once_in_a_row = 0
        self._told_at: float | None = None
        self._failed = False
        self._selector = selectors.DefaultSelector()

    def run(self) -> int:
        """Keep them going until told to end, and say how that went as an exit code. In the main thread."""
        try:
            with self._hearing_signals():
                log.info(
                    "%d replicas are started; process %d looks after them", len(self._berths), os.getpid()
                )
                while not self._is_over():
                    self._round()
        finally:
            self._close()
        return 1 if self._failed else 0

    def _is_over(self) -> bool:
        return self._told_at is not None and all(berth.replica is None for berth in self._berths)

    def _round(self) -> None:
        """Look at everybody, do what is to be done, and wait until there may be more."""
        self._bury_the_dead()
        now = _boot()
        self._kill_those_late(now)
        self._start_those_due(now)
        self._replace_the_next(now)
        if not self._is_over():
            for key, _ in self._selector.select(self._moment() - _boot()):
                key.data()

    def _living(self) -> list[Replica]:
        return [berth.replica for berth in self._berths if berth.replica is not None]

    def _moment(self) -> float:
        """When there is something to do although nobody says anything."""
        moments = [replica.kill_at for replica in self._living()]
        if self._told_at is None:
            moments += [berth.due for berth in self._berths if berth.replica is None]
        if any(replica.death is None for replica in self._living()):
            moments.append(_boot() + LOOK)
        return min(_boot() + LONGEST_WAIT, *moments)

    def _close(self) -> None:
        """Nobody is left behind, also where we fail ourselves."""
        for replica in self._living():
            replica.kill()
        self._succession.close()
        self._selector.close()

    # -- starting and replacing ---------------------------------------------------------------------

    def _start_those_due(self, now: float) -> None:
        for berth in self._berths:
            if self._told_at is None and berth.replica is None and now >= berth.due:
                self._start(berth, now)

    def _start(self, berth: Berth, now: float) -> None:
        try:
            replica = Replica(berth.number, self._program, now)
        except OSError as error:
            log.error("replica %d cannot be started: %s", berth.number, error)
            berth.mourn(lived=0.0)
            self._try_again(berth, at_once=True)
            return
        berth.replica = replica
        self._selector.register(replica.line, selectors.EVENT_READ, lambda: self._hear(replica))
        if replica.death is not None:
            self._selector.register(replica.death, selectors.EVENT_READ, _noted)
        log.info("%s is started", replica)

    def _replace_the_next(self, now: float) -> None:
        if self._told_at is None and self._to_replace and all(berth.runs for berth in self._berths):
            replica = self._to_replace.popleft().replica
            assert replica is not None
            log.info("%s is to be replaced, %d more to come", replica, len(self._to_replace))
            replica.tell(signal.SIGTERM, now + self._grace + MARGIN)

    def _hear(self, replica: Replica) -> None:
        ran = replica.runs
        if not replica.hear():
            self._selector.unregister(replica.line)
        if replica.runs and not ran:
            self._at_once_in_a_row = 0
            log.info("%s runs", replica)

    # -- deaths -------------------------------------------------------------------------------------

    def _kill_those_late(self, now: float) -> None:
        for replica in self._living():
            if now >= replica.kill_at:
                log.error("%s has not ended in time: it is killed", replica)
                replica.kill()

    def _bury_the_dead(self) -> None:
        for berth in self._berths:
            replica = berth.replica
            if replica is not None and (code := replica.ended()) is not None:
                self._bury(replica)
                berth.replica = None
                self._judge(berth, replica, code)

    def _bury(self, replica: Replica) -> None:
        """See to what one that died leaves behind."""
        # All it will ever say is there by now, unless somebody it forked holds the line.
        while replica.has_said_more():
            self._hear(replica)
        if replica.line in self._selector.get_map():
            self._selector.unregister(replica.line)
        if replica.death is not None:
            self._selector.unregister(replica.death)
        replica.close()
        self._succession.open(replica)

    def _judge(self, berth: Berth, replica: Replica, code: int) -> None:
        """What a death means, and what is to follow it."""
        how = ending(code)
        if self._told_at is not None:
            # Nobody heard us who was not there yet.
            well = code == 0 or (not replica.runs and replica.told is not None and code == -replica.told)
            self._failed = self._failed or not well
            log.log(logging.INFO if well else logging.ERROR, "%s %s", replica, how)
            return
        if replica.told is not None:
            log.log(logging.ERROR if code else logging.INFO, "%s %s, as it is to be replaced", replica, how)
            berth.due = _boot()
            return
        log.error("%s %s, and nobody told it to", replica, how)
        lived = _boot() - replica.began
        berth.mourn(lived)
        self._try_again(berth, at_once=not replica.runs and lived < AT_ONCE)

    def _try_again(self, berth: Berth, *, at_once: bool) -> None:
        self._at_once_in_a_row = self._at_once_in_a_row + 1 if at_once else 0
        if self._at_once_in_a_row >= TOO_OFTEN and not any(each.is_hopeful for each in self._berths):
            self._give_up()
            return
        left = berths.pause(berth.deaths, self._chance)
        berth.due = _boot() + left
        log.info("replica %d is started again in %.1f s", berth.number, left)

    def _give_up(self) -> None:
        log.critical(
            "replicas have died %d times in a row as soon as they were started, and none runs: "
            "this is given up; what they have printed says why",
            self._at_once_in_a_row,
        )
        self._failed = True
        self._end(signal.SIGTERM)

    # -- being told ---------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _hearing_signals(self) -> Iterator[None]:
        """Have the signals that concern us wake the loop, which acts on them between two rounds."""
        woken, wakes = socket.socketpair()
        for end in (woken, wakes):
            end.setblocking(False)
        self._selector.register(woken, selectors.EVENT_READ, lambda: self._hear_signals(woken))
        have_all_as_before = signals.hear(dict.fromkeys((*_ENDS, signal.SIGHUP), _noted), wakes)
        try:
            yield
        finally:
            have_all_as_before()
            woken.close()
            wakes.close()

    def _hear_signals(self, woken: socket.socket) -> None:
        for number in woken.recv(parent.READ):
            if number == signal.SIGHUP and self._told_at is None:
                log.info("told by SIGHUP to replace all, one after the other")
                self._to_replace = deque(self._berths)
            elif number in _ENDS and self._told_at is None:
                log.info("told to end by %s: what runs may end first", signal.Signals(number).name)
                self._end(signal.Signals(number))
            elif number in _ENDS and self._told_at is not None and _boot() > self._told_at + TOLD_ONCE:
                log.warning("told to end once more: all are killed")
                for replica in self._living():
                    replica.kill()

    def _end(self, number: signal.Signals) -> None:
        self._told_at = _boot()
        for replica in self._living():
            replica.tell(number, self._told_at + self._grace + MARGIN)


def _noted(number: int = 0, frame: FrameType | None = None) -> None:
    """That it came is all there is to it: whoever waits has been woken."""
