"""Lock-out: whoever fails to sign in has to wait, longer each time. Nobody is kept waiting in a thread.

It counts for a user, wherever the tries come from, and for an address, whomever they name. The first few
tries of a user cost nothing, as people mistype. What is remembered is bounded, and is forgotten with time.
"""

import math
import threading
from dataclasses import dataclass

from ..clock import Clock

#: How many tries may fail before the next has to wait: of a user, and from an address.
FREE = {"user": 4, "address": 20}

#: The first wait in seconds; each further failure doubles it, up to the longest.
SHORTEST, LONGEST = 1.0, 900.0

#: After how many seconds without a failure all is forgotten.
FORGOTTEN = 3600.0

#: How many users and addresses are remembered.
MOST = 10_000


@dataclass(frozen=True, slots=True)
class _Failures:
    count: int
    latest: float
    until: float


class Lockout:
    """Who has to wait, until when."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failed: dict[tuple[str, str], _Failures] = {}

    def wait(self, user: str, address: str) -> int:
        """For how many whole seconds this user from there has to wait; 0 if not."""
        with self._lock:
            boot = self._clock.boot()
            held = [self._failed[each] for each in _marks(user, address) if each in self._failed]
            return max((math.ceil(each.until - boot) for each in held if each.until > boot), default=0)

    def is_locked(self, user: str) -> bool:
        with self._lock:
            held = self._failed.get(("user", user))
            return held is not None and held.until > self._clock.boot()

    def failed(self, user: str, address: str) -> None:
        """A try has failed."""
        with self._lock:
            boot = self._clock.boot()
            for mark in _marks(user, address):
                before = self._failed.pop(mark, None)
                if before is not None and boot - before.latest >= FORGOTTEN:
                    before = None
                count = 1 if before is None else before.count + 1
                over = count - FREE[mark[0]]
                pause = min(SHORTEST * 2.0 ** min(over, 30), LONGEST) if over >= 0 else 0.0
                self._make_room()
                self._failed[mark] = _Failures(count, boot, boot + pause)

    def succeeded(self, user: str) -> None:
        """A user has signed in, whose failures are forgotten; those of the address are not, which may have
        tried for others."""
        with self._lock:
            self._failed.pop(("user", user), None)

    def _make_room(self) -> None:
        while len(self._failed) >= MOST:  # the one that failed longest ago comes first
            del self._failed[next(iter(self._failed))]


def _marks(user: str, address: str) -> list[tuple[str, str]]:
    return [("user", user), ("address", address)]
