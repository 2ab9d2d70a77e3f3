"""The supervisor: keeps going what may fail inside. It never lives on silently dead: it is made anew a few
times, and then the process ends."""

import logging
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Generic, Protocol, TypeVar

log = logging.getLogger("shardwright")

#: How often the inside may fail and be made anew, and within how many seconds, before we give up.
RESTARTS, WITHIN = 3, 600.0


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
            inside, self.inside = self.inside, None
            return inside

    def _failed(self, generation: int, error: Exception) -> None:
        """The inside has failed; told by a thread that is part of it, so that another must mend it."""
        threading.Thread(target=self.mend, args=(generation, error), name="shardwright-supervisor").start()

    def mend(self, generation: int, error: Exception) -> None:
        """Have done with what has failed, and make it anew."""
        with self.changing:
            if self.inside is None or generation != self._generation:
                return  # what has failed was given up already
            log.critical("failed inside", exc_info=error)
            self.inside.abandon()
            self.inside = None
            while not self._too_often():
                log.warning("it is made anew")
                try:
                    self.start()
                    return
                except Exception as again:
                    log.critical("it could not be made anew", exc_info=again)
                    error = again
            log.critical(
                "it has failed %d times within %g s: it ends, and with it this process", RESTARTS + 1, WITHIN
            )
            self._given_up(error)
        os.kill(os.getpid(), signal.SIGTERM)

    def _too_often(self) -> bool:
        now = time.monotonic()
        self._failures.append(now)
        while now - self._failures[0] > WITHIN:
            self._failures.popleft()
        return len(self._failures) > RESTARTS
