"""The end of `run()`: what the main thread waits for, told by a signal or by another thread.

No lock does for that. A signal that comes in the moment before the thread waits for one is heard when the
lock is let go, which may be never; and a handler, which runs in the midst of whatever the thread does, must
not want a lock that it holds. So it waits for a socket, which the interpreter itself writes to.
"""

import contextlib
import select
import signal
import socket
from collections.abc import Callable, Iterator, Mapping

from .. import signals


class Ending:
    """Whether it is time to end."""

    def __init__(self) -> None:
        self.told = False
        self._bell: socket.socket | None = None

    def tell(self) -> None:
        """It is time. Anybody may say so, a handler of signals too."""
        self.told = True
        bell = self._bell
        if bell is not None:
            with contextlib.suppress(OSError):  # it was rung often enough, or nobody listens any more
                bell.send(b".")

    def clear(self) -> None:
        self.told = False

    @contextlib.contextmanager
    def hearing(self, handlers: Mapping[signal.Signals, signals.Handler]) -> Iterator[Callable[[], None]]:
        """Have signals handled; what is given is called to wait until it is time to end."""
        rung, bell = socket.socketpair()
        with rung, bell:
            for end in (rung, bell):
                end.setblocking(False)
            self._bell = bell
            have_all_as_before = signals.hear(handlers, bell)
            try:
                yield lambda: self._wait(rung)
            finally:
                have_all_as_before()
                self._bell = None

    def _wait(self, rung: socket.socket) -> None:
        while not self.told:
            select.select([rung], [], [])
            with contextlib.suppress(BlockingIOError):
                rung.recv(4096)
