"""Time, handed in: the boot clock for leases and deadlines, the wall clock for calendars.

The boot clock counts seconds since the machine came up, also while it sleeps, and nobody can set it.
The wall clock can be set, so nothing that must not be fooled is measured by it.
"""

import heapq
import itertools
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Protocol

BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Clock(Protocol):
    def boot(self) -> float:
        """Seconds on a clock that only ever moves on."""

    def wall(self) -> datetime:
        """The time of day, in UTC."""


class SystemClock:
    """The machine's own clocks."""

    def boot(self) -> float:
        return time.clock_gettime(BOOT)

    def wall(self) -> datetime:
        return datetime.now(UTC)


class HandClock:
    """A clock that stands still until it is moved, and then does what was due on the way, in order."""

    def __init__(self, start: datetime = datetime(2030, 1, 1, tzinfo=UTC)) -> None:
        self._start = start
        self._boot = 0.0
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()

    def boot(self) -> float:
        return self._boot

    def wall(self) -> datetime:
        return self._start + timedelta(seconds=self._boot)

    def set_wall(self, to: datetime) -> None:
        """Step the wall clock, as an operator or a time server may; the boot clock does not care."""
        self._start = to - timedelta(seconds=self._boot)

    def at(self, when: float, act: Callable[[], None]) -> None:
        """Have something done when the boot clock gets there; if it is there already, when it next moves."""
        heapq.heappush(self._due, (max(when, self._boot), next(self._order), act))

    def next_due(self) -> float | None:
        return self._due[0][0] if self._due else None

    def pass_time(
        self, seconds: float, settle: Callable[[], None], moments: Callable[[], Iterable[float | None]]
    ) -> None:
        """Move on, with a halt at every moment that somebody asked for: there, and at the end, all settle."""
        end = self._boot + seconds
        while True:
            settle()
            if self._due and self._due[0][0] <= self._boot:
                self.advance(0.0)  # it was asked for as all settled, and others may wait for it
                continue
            asked = [at for at in (self.next_due(), *moments()) if at is not None and at > self._boot]
            upcoming = min(asked, default=end)
            self.advance(min(upcoming, end) - self._boot)
            if upcoming >= end:
                settle()
                return

    def advance(self, seconds: float) -> None:
        """Move on, doing what falls due at its very moment."""
        if seconds < 0:
            raise ValueError(f"the boot clock cannot be turned back, not by {-seconds:g} s: see set_wall")
        target = self._boot + seconds
        while self._due and self._due[0][0] <= target:
            when, _, act = heapq.heappop(self._due)
            self._boot = when
            act()
        self._boot = target
