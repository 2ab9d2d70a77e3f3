"""Doors: the way into what may hang, a registry or a database. While it does not answer only one tries, and
only once in a while: whoever waits has a thread that serves everybody."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from ..clock import Clock
from ..errors import ShardwrightError

T = TypeVar("T")

#: For how many seconds it is left alone where it did not answer, and after how many it counts as that: what
#: says at once why it cannot be used holds nobody up.
LEFT_ALONE, SLOW = 5.0, 1.0


class Door(Generic[T]):
    """Opens by `open_it`; who comes while nobody answers is told so by an error of the type `down`."""

    def __init__(self, open_it: Callable[[], T], clock: Clock, down: type[ShardwrightError]) -> None:
        self._open = open_it
        self._clock = clock
        self._down = down
        self._lock = threading.Lock()
        self._trouble = ""
        """Why it could not be opened the last time, if that took its time."""
        self._away_until = 0.0
        self._is_tried = False
        """Whether somebody tries if it is over."""

    def check(self) -> None:
        """Refuse at once where it is known that nobody answers."""
        with self._lock:
            self._check()

    def open(self) -> T:
        with self._lock:
            self._check()
            began = self._clock.boot()
            self._is_tried = bool(self._trouble)
        why = ""
        try:
            return self._open()
        except (ShardwrightError, TimeoutError) as error:
            why = str(error)
            raise
        finally:
            with self._lock:
                now = self._clock.boot()
                self._trouble = why if now - began >= SLOW else ""
                self._away_until = now + LEFT_ALONE
                self._is_tried = False

    def _check(self) -> None:
        if self._trouble and (self._is_tried or self._clock.boot() < self._away_until):
            raise self._down(self._trouble)
