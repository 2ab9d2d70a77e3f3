"""Runs: a claimed shard on its way here, from its moment to the end that is told, in as many tries as its job
allows.

A try that takes longer than the job's timeout is told to stop. One that failed, or was too slow, is followed
by another after a pause that doubles each time, as long as there are tries left and nobody has ordered us to
stop. The end is told once, whatever happens at the same moment. Everything here happens in the reactor's
thread, except the tries themselves.
"""

import inspect
import logging
import random
import threading
from collections.abc import Callable
from functools import partial
from typing import Protocol

from ..errors import Cancelled
from ..jobs import JobConfig
from ..outcomes import CUT_SHORT, FAILED, SUPERSEDED, TIMED_OUT
from ..registry import Registry
from ..shard import Shard
from .bodies import Body
from .reactor import Later
from .tries import End, told
from .work import Workers

log = logging.getLogger("shardwright")

_WORDS = {FAILED: "failed", TIMED_OUT: "took too long"}


class Turning(Protocol):
    """What runs need of the reactor."""

    @property
    def registry(self) -> Registry: ...

    def post(self, note: Callable[[], None]) -> None: ...

    def later(self, when: float, note: Callable[[], None]) -> Later: ...

    def call_off(self, later: Later) -> None: ...


class Running:
    """One claimed shard.

    `shard` makes what the how-manieth try is handed. `told` is told how it all came out, together with the
    shard of the last try; `retried` how each try did that another follows.
    """

    def __init__(
        self,
        reactor: Turning,
        workers: Workers,
        config: JobConfig,
        body: Body,
        shard: Callable[[int], Shard],
        told: Callable[[End, Shard], None],
        retried: Callable[[End, Shard], None],
    ) -> None:
        self._reactor, self._workers, self._config, self._body = reactor, workers, config, body
        self._shard_for, self._told, self._retried = shard, told, retried
        self.shard = shard(0)
        self._tries = 0
        self._ordered = self._superseded = False
        self._over = False
        self._too_slow = False
        self._begun = threading.Lock()
        self._timer: Later | None = None

    def begin(self, wait: float = 0.0) -> None:
        """Try for the first time, when so many seconds have passed."""
        self._in(wait, self._try)

    def cancel(self) -> None:
        """Stop. What has not begun never will; what has is told, and has the last word."""
        self._ordered = True
        self._tell_to_stop()
        if self._begun.acquire(blocking=False):
            self._end(End(CUT_SHORT))

    def fail(self, error: BaseException) -> None:
        """It is not to begin, and that is a failure."""
        self._end(End(FAILED, error))

    def supersede(self) -> None:
        """Stop, because the next fire has come: what was not done is not done again."""
        self._superseded = True
        self.cancel()

    def _try(self) -> None:
        """Hand a try to the workers. Who has the lock first decides whether it begins: they, or `cancel`."""
        if self._over:
            return  # it was called off while others were waited for
        self._begun, self._too_slow = threading.Lock(), False
        begins = partial(self._post_begin, self._tries) if self._config.timeout is not None else None
        body = _once(self._body, self._begun, begins)
        self._workers.run(self._config, self.shard, body, partial(self._post_end, self._tries))

    def _post_begin(self, number: int) -> None:
        """A try begins; in the thread that runs it. Time counts from here, not from when it stood in line."""
        self._reactor.post(lambda: self._watch_the_time(number))

    def _watch_the_time(self, number: int) -> None:
        if number == self._tries and not self._over and self._config.timeout is not None:
            seconds = self._config.timeout.total_seconds()
            self._in(seconds, partial(self._stop_slow_try, seconds))

    def _stop_slow_try(self, seconds: float) -> None:
        """A thread cannot be ended from outside: only what runs in a process of its own can."""
        self._too_slow = True
        log.warning(
            "%s: shard %d takes longer than its timeout of %g s and is told to stop; it is not run again "
            "before it has",
            *(self._config.name, self.shard.item, seconds),
        )
        self._tell_to_stop()

    def _tell_to_stop(self) -> None:
        try:
            self.shard.cancel()
        except Exception:  # what the job's own code does about it is called here
            log.exception("%s: shard %d failed when told to stop", self._config.name, self.shard.item)

    def _post_end(self, number: int, end: End) -> None:
        """A try is over; in the thread that ran it."""
        self._reactor.post(lambda: self._came_out(end) if number == self._tries else None)

    def _came_out(self, end: End) -> None:
        if self._over:
            return
        self._off()
        if self._too_slow and not self._ordered and end.outcome in (CUT_SHORT, FAILED):
            end = End(TIMED_OUT, end.error)
        again = end.outcome in (FAILED, TIMED_OUT) and self._tries < self._config.retries
        if self._ordered or not again:
            self._end(end)
            return
        self._retried(end, self.shard)
        self._tries += 1
        wait = self._pause()
        story = f"\n{self.shard.masked(told(end.error))}" if end.error is not None else ""
        log.warning(
            "%s: shard %d %s, and is tried again in %.3g s (%d of %d)%s",
            *(self._config.name, self.shard.item, _WORDS[end.outcome], wait),
            *(self._tries, self._config.retries, story),
        )
        self.shard = self._shard_for(self._tries)
        self._begun = threading.Lock()  # nothing has begun: an order to stop ends it at once
        self._in(wait, self._try)

    def _pause(self) -> float:
        """Somewhere in the upper half of what is doubled each time: shards that failed together are not to
        come back together."""
        least, most = self._config.retry_delay.total_seconds(), self._config.retry_delay_max.total_seconds()
        whole = min(most, least * 2.0 ** min(self._tries - 1, 64))
        chance = random.Random(f"{self.shard.token} {self.shard.item} {self._tries}")  # noqa: S311
        return whole * (0.5 + chance.random() / 2)

    def _end(self, end: End) -> None:
        if not self._over:
            self._over = True
            self._off()
            if self._superseded and end.outcome == CUT_SHORT:
                end = End(SUPERSEDED)
            self._told(end, self.shard)

    def _in(self, seconds: float, note: Callable[[], None]) -> None:
        if seconds <= 0:
            note()
            return
        self._timer = self._reactor.later(self._reactor.registry.clock.boot() + seconds, note)

    def _off(self) -> None:
        if self._timer is not None:
            self._reactor.call_off(self._timer)
            self._timer = None


def _once(body: Body, begun: threading.Lock, begins: Callable[[], None] | None) -> Body:
    """The body, unless somebody has decided that it is not to begin, or its lease is over: the process may
    have stood still since the shard was claimed, and the shard be somebody else's by now."""

    def run(shard: Shard) -> object:
        if not begun.acquire(blocking=False):
            raise Cancelled("called off before it began")
        if not shard.lease_left:
            raise Cancelled("its lease was over before it began")
        if begins is not None:
            begins()
        return body(shard)

    async def run_in_loop(shard: Shard) -> object:
        return await run(shard)  # type: ignore[misc]

    return run_in_loop if inspect.iscoroutinefunction(body) else run
