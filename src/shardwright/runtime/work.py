"""Work: runs in the shared pool of threads, each by itself.

A run that fails is that run's outcome and nobody else's matter. How the run of a shard came out is told
to whoever asked for it, by a note; nothing here waits for anything.
"""

import contextvars
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from ..errors import Cancelled
from ..outcomes import CUT_SHORT, FAILED, OK
from ..shard import Shard
from .bodies import Body

log = logging.getLogger(__name__)


class Workers(Protocol):
    """Whoever runs shards."""

    def free(self) -> int:
        """How many more runs could begin at once."""

    def run(self, shard: Shard, body: Body, ended: Callable[[str], None]) -> None:
        """Run a shard when there is room, and tell how it came out; returns at once."""

    def close(self) -> None:
        """Begin nothing more."""


class Pool:
    """The threads that all jobs of a process share."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._busy = 0
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="shardwright-work")

    def free(self) -> int:
        """How many more runs could begin at once."""
        return max(0, self.threads - self._busy)

    def run(self, shard: Shard, body: Body, ended: Callable[[str], None]) -> None:
        """Run a shard as soon as a thread is free, and tell how it came out."""
        with self._lock:
            self._busy += 1
        context = contextvars.copy_context()

        def work() -> None:
            try:
                outcome = context.run(outcome_of, shard, body)
            finally:
                with self._lock:
                    self._busy -= 1
            ended(outcome)

        self._pool.submit(work)

    def close(self) -> None:
        """Begin nothing more. What runs goes on until it ends; nobody waits for it here."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def outcome_of(shard: Shard, body: Body) -> str:
    """Run it, and say how it came out."""
    if shard.cancelled:
        return CUT_SHORT
    try:
        body(shard)
    except Cancelled:
        return CUT_SHORT
    except Exception:
        log.exception("%s: shard %d failed", shard.job_name, shard.item)
        return FAILED
    return OK
