"""The watchdog: ends the session of a reactor that hangs, so that others take its work over.

The registry's own threads go on telling it that we live, whatever the reactor does; a reactor that is
stuck would hold its shards, its leadership and its place in every line for ever. Nothing in it should
ever take long: what is stuck is told with the line of code it is stuck at.
"""

import logging
import sys
import threading
import traceback
from collections.abc import Callable

from ..errors import ShardwrightError
from . import aside
from .reactor import Reactor

log = logging.getLogger(__name__)

#: How often to look.
EVERY = 0.5

#: For how many seconds what is to be done before the session ends may hold that up.
MOMENT = 2.0


class Hung(ShardwrightError):
    """The reactor did not come round in time."""


class Watchdog:
    """Watches one reactor. `patience` is for how many seconds a round may take; if one takes longer, `before`
    is done before the session ends, or at least begun, and `bite` told from the watchdog's own thread."""

    def __init__(
        self,
        reactor: Reactor,
        patience: float,
        before: Callable[[], object],
        bite: Callable[[Hung], None],
    ) -> None:
        self._reactor = reactor
        self._patience = patience
        self._before = before
        self._bite = bite
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="shardwright-watchdog", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._over.set()

    def _watch(self) -> None:
        while not self._over.wait(EVERY):
            since = self._reactor.awake_since
            if since is None:
                continue
            stuck = self._reactor.registry.clock.boot() - since
            if stuck > self._patience:
                where = self._where()
                aside.do(self._before, MOMENT)
                self._reactor.registry.abandon()
                self._bite(Hung(f"the reactor has not come round for {stuck:.1f} s"))
                # Last of all: if it is stuck in the log, that takes no word of ours either.
                log.critical("the reactor has not come round for %.1f s; it is stuck here:\n%s", stuck, where)
                return

    def _where(self) -> str:
        frame = sys._current_frames().get(self._reactor.thread_id() or 0)
        return "".join(traceback.format_stack(frame)) if frame is not None else "(nowhere)"
