"""The succession: the session of a replica that died is ended, so that others have what it had.

The registry would take it for alive until the session times out. But what it ran in processes of their own
ends a moment after it, and must have before others begin: until then the session is left as it is.
"""

import contextlib
import logging
import os
import select
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

from ..clock import SystemClock
from ..executors import guard
from ..registry import Credentials
from .replica import Replica, death_of

log = logging.getLogger("shardwright")

#: For how many seconds it is tried to end the session of one that died.
PATIENCE = 10.0

EndSession = Callable[[Credentials, float], bool]

_boot = SystemClock().boot


class Succession:
    """Ends sessions by `end_session`, each in a thread of its own: the registry may be slow to answer. Where
    that is None, sessions end with their processes."""

    def __init__(self, end_session: EndSession | None) -> None:
        self._end_session = end_session
        self._threads: list[threading.Thread] = []

    def open(self, replica: Replica) -> None:
        """One has died: others are to have what it had."""
        credentials, end_session = replica.credentials, self._end_session
        if credentials is None or end_session is None:
            return

        def end() -> None:
            if not _have_ended(_guards_of(replica.pid)):
                log.warning("%s: what it ran goes on; its session will end by itself in time", replica)
            elif end_session(credentials, PATIENCE):
                log.info("%s: its session is ended, and others have what it had", replica)
            else:
                log.warning("%s: its session cannot be ended; it will by itself in time", replica)

        thread = threading.Thread(target=end, name=f"end of {replica.pid}", daemon=True)
        self._threads = [each for each in self._threads if each.is_alive()] + [thread]
        thread.start()

    def close(self) -> None:
        """Wait for what is under way, for a while."""
        for thread in self._threads:
            thread.join(PATIENCE)


def _guards_of(pid: int) -> list[int]:
    """Those who end what a process ran, found by what they were started with: who started them is dead."""
    theirs = os.fsencode(f"\0{guard.__file__}\0{pid}\0")
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if file.read_bytes().endswith(theirs):
                found.append(int(file.parent.name))
    return found


def _have_ended(pids: Iterable[int]) -> bool:
    """Whether these processes, which are not our children, have ended in time."""
    until = _boot() + PATIENCE
    for death in (death_of(pid) for pid in pids):
        if death is not None:
            ended = select.select([death], [], [], max(0.0, until - _boot()))[0]
            os.close(death)
            if not ended:
                return False
    return True
