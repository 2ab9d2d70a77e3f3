"""The supervisor: keeps going what may fail inside. It never lives on silently dead: it is made anew a few
times, and then the process ends."""

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Generic, Protocol, TypeVar

from ..logs import Log

log = Log("shardwright")

#: How often the inside may fail and be made anew, and within how many seconds, before we give up.
RESTARTS, WITHIN = 3, 600.0


#: How often a thread is asked for that mends it, and the seconds between, before we give up.
ASKED, PAUSE = 30, 1.0


class Inside(Protocol):
    def abandon(self) -> None:
        """Have done with it, although it may be stuck."""


S = TypeVar("S", bound=Inside)


class Supervisor(Generic[S]):
    """`make` makes the inside, and is handed what to call if that fails; `given_up` is told when it has
    failed too often, before the process is told to end."""

    def __init__(
        self, make: Callable[[Callable[[Exception], None]], S], given_up: Callable[[Exception], None]
    ) -> None:
        self.inside: S | None = None
        """What runs at present."""
        self.changing = threading.RLock()
        """Whoever starts, stops or mends the inside, or relies on which it is, holds this."""
        self._make, self._given_up = make, given_up
        self._failures: deque[float] = deque()
        self._generation = 0

    def start(self) -> S:
        with self.changing:
            self._generation += 1
            self.inside = self._make(partial(self._failed, self._generation))
            return self.inside

    def let_go(self) -> S | None:
        """What runs at present is the caller's to end, and is not made anew."""
        with self.changing:
            self._generation += 1
            inside, self.inside = self.inside, None
            return inside

    def _failed(self, generation: int, error: Exception) -> None:
        """The inside has failed; told by a thread that is part of it, so that another must mend it, when
        there is one to be had."""
        for _ in range(ASKED):
            mender = threading.Thread(
                target=self.mend, args=(generation, error), name="shardwright-supervisor", daemon=True
            )
            try:
                mender.start()
                return
            except RuntimeError as none:
                log.critical("failed inside, and there is no thread to mend it in: %s", none)
                time.sleep(PAUSE)
        self._give_up(generation, error)

    def mend(self, generation: int, error: Exception) -> None:
        """Have done with what has failed, and make it anew.

        Nothing is held while it is given up, nor while that is told: it may have hung in the job's own code,
        or in a log that nobody reads, and so may we. Whoever would stop it can all the same; it is made anew
        when the log takes our words, and would hang at once before that.
        """
        with self.changing:
            if self.inside is None or generation != self._generation:
                return  # what has failed was given up already
            failed, self.inside = self.inside, None
        try:
            failed.abandon()
        except Exception as worse:
            log.critical("what has failed inside could not be given up in order", exc_info=worse)
        log.critical("failed inside", exc_info=error)
        while not self._too_often():
            log.warning("it is made anew")
            with self.changing:
                if generation != self._generation:
                    return  # somebody has stopped it meanwhile
                try:
                    self.start()
                    return
                except Exception as again:
                    error, generation = again, self._generation
            log.critical("it could not be made anew", exc_info=error)
        log.critical(
            "it has failed %d times within %g s: it ends, and with it this process", RESTARTS + 1, WITHIN
        )
        self._give_up(generation, error)

    def _give_up(self, generation: int, error: Exception) -> None:
        with self.changing:
            if generation != self._generation:
                return
            self._given_up(error)
        os.kill(os.getpid(), signal.SIGTERM)
        if os.getpid() == 1 and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            # The first process of a container does not end by a signal that it does not heed.
            os._exit(128 + signal.SIGTERM)

    def _too_often(self) -> bool:
        now = time.monotonic()
        self._failures.append(now)
        while now - self._failures[0] > WITHIN:
            self._failures.popleft()
        return len(self._failures) > RESTARTS
