"""Work: where runs take place. Plain functions have threads: those that all jobs share, or a pool that a job
asks for; coroutines have a loop of their own.

A try that fails is its own outcome and nobody else's matter. How it came out is told to whoever asked for
it, in the thread that ran it; nothing here waits for anything.
"""

import asyncio
import contextvars
import inspect
import logging
import os
import threading
import traceback
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import dropwhile
from pathlib import Path
from typing import Any, Protocol

from .. import secrets
from ..errors import Cancelled, Failed
from ..jobs import JobConfig
from ..outcomes import CUT_SHORT, FAILED, OK
from ..shard import Shard
from .bodies import Body

log = logging.getLogger("shardwright")

_HERE = Path(__file__).parent

#: How many coroutines may be under way where a job sets no limit.
MANY = 1000


@dataclass(frozen=True, slots=True)
class End:
    """How a try came out, and what was raised where it failed."""

    outcome: str
    error: BaseException | None = None


Ended = Callable[[End], None]


class Workers(Protocol):
    """Whoever runs shards."""

    def free(self, config: JobConfig) -> int:
        """How many more shards of a job could begin at once."""

    def run(self, config: JobConfig, shard: Shard, body: Body, ended: Ended) -> None:
        """Run a shard when there is room, and tell how it came out; returns at once."""

    def call(self, act: Callable[[], object], ended: Ended) -> None:
        """Do something that is no run, and tell how it came out; returns at once."""

    def forget(self, job: str) -> None:
        """A job is no longer here: what is kept for it alone may go."""

    def close(self) -> None:
        """Begin nothing more."""


class Place(Protocol):
    """One kind of room for runs."""

    def free(self) -> int: ...

    def run(self, shard: Shard, body: Body, ended: Ended) -> None: ...

    def close(self) -> None: ...


class Workshop:
    """All that this process has to run shards with."""

    def __init__(self, threads: int) -> None:
        self._shared = Pool(threads)
        self._loop = Loop()
        self._own: dict[str, Pool] = {}
        self._limits: dict[str, Limit] = {}
        self._puzzling: set[str] = set()

    def free(self, config: JobConfig) -> int:
        limit = self._limits.get(config.name)
        allowed = limit.free() if limit is not None else MANY
        return min(allowed, self._pool(config).free())

    def run(self, config: JobConfig, shard: Shard, body: Body, ended: Ended) -> None:
        place: Place = self._loop if inspect.iscoroutinefunction(body) else self._pool(config)
        if config.concurrency is None or config.group is not None:  # a group is limited in the registry
            self._limits.pop(config.name, None)
            place.run(shard, body, ended)
            return
        limit = self._limits.setdefault(config.name, Limit(config.concurrency))
        limit.most = config.concurrency
        limit.run(place, shard, body, ended)

    def call(self, act: Callable[[], object], ended: Ended) -> None:
        self._shared.call(act, ended)

    def forget(self, job: str) -> None:
        self._limits.pop(job, None)
        pool = self._own.pop(job, None)
        if pool is not None:
            pool.close()

    def close(self) -> None:
        places: list[Place] = [self._shared, self._loop, *self._own.values()]
        for place in places:
            place.close()

    def _pool(self, config: JobConfig) -> "Pool":
        """The pool that a job asks for today; it may have asked for another yesterday, which ends when its
        runs have."""
        threads = self._size(config)
        own = self._own.get(config.name)
        if own is not None and own.threads == threads:
            return own
        if own is not None:
            self.forget(config.name)
        if threads is None:
            return self._shared
        self._own[config.name] = Pool(threads, config.name)
        return self._own[config.name]

    def _size(self, config: JobConfig) -> int | None:
        asked = (config.pool or "").strip().upper()
        if asked == "CPU":
            return 2 * (os.cpu_count() or 1)
        if asked == "SINGLE_THREAD":
            return 1
        if asked.isascii() and asked.isdigit() and 0 < int(asked) <= MANY:
            return int(asked)
        if asked and config.name not in self._puzzling:
            self._puzzling.add(config.name)
            log.warning(
                "%s: the pool %r is not known here, so the threads are used that all jobs share; give CPU, "
                "SINGLE_THREAD or a number up to %d",
                config.name,
                config.pool,
                MANY,
            )
        return None


class Pool:
    """Threads, and a line of runs before them."""

    def __init__(self, threads: int, of: str = "work") -> None:
        self.threads = threads
        self._busy = 0
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=f"shardwright-{of}")

    def free(self) -> int:
        return max(0, self.threads - self._busy)

    def run(self, shard: Shard, body: Body, ended: Ended) -> None:
        self._submit(lambda: try_it(shard, body), ended)

    def call(self, act: Callable[[], object], ended: Ended) -> None:
        self._submit(lambda: do_it(act), ended)

    def _submit(self, act: Callable[[], End], ended: Ended) -> None:
        with self._lock:
            self._busy += 1
        context = contextvars.copy_context()

        def work() -> None:
            try:
                end = context.run(act)
            finally:
                with self._lock:
                    self._busy -= 1
            ended(end)

        self._pool.submit(work)

    def close(self) -> None:
        """Begin nothing more that was not asked for. What runs goes on until it ends; nobody waits for it."""
        self._pool.shutdown(wait=False)


class Loop:
    """A thread for coroutines, from the first one on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def free(self) -> int:
        return max(0, MANY - len(self._tasks))

    def run(self, shard: Shard, body: Body, ended: Ended) -> None:
        context = contextvars.copy_context()

        def begin() -> None:
            task = asyncio.get_running_loop().create_task(self._work(shard, body, ended), context=context)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        self._running().call_soon_threadsafe(begin)

    async def _work(self, shard: Shard, body: Body, ended: Ended) -> None:
        loop, trying = asyncio.get_running_loop(), asyncio.ensure_future(try_coroutine(shard, body))

        def stop() -> None:
            loop.call_soon_threadsafe(trying.cancel)

        with shard.on_cancel(stop):
            ended(await trying)

    def close(self) -> None:
        """Cancel what runs, and end the thread when that has ended."""
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None:
            loop.call_soon_threadsafe(lambda: loop.create_task(self._end(loop)))

    async def _end(self, loop: asyncio.AbstractEventLoop) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        loop.stop()

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                thread = threading.Thread(
                    target=_turn, args=(self._loop,), name="shardwright-loop", daemon=True
                )
                thread.start()
            return self._loop


def _turn(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()


class Limit:
    """A job's own limit: so many of its shards at once in this process, the others wait in line."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._lock = threading.Lock()
        self._busy = 0
        self._waiting: deque[Callable[[], None]] = deque()

    def free(self) -> int:
        return max(0, self.most - self._busy - len(self._waiting))

    def run(self, place: Place, shard: Shard, body: Body, ended: Ended) -> None:
        def over(end: End) -> None:
            with self._lock:
                self._busy -= 1
            self._go_on()
            ended(end)

        with self._lock:
            self._waiting.append(lambda: place.run(shard, body, over))
        self._go_on()

    def _go_on(self) -> None:
        while True:
            with self._lock:
                if not self._waiting or self._busy >= self.most:
                    return
                begin = self._waiting.popleft()
                self._busy += 1
            begin()


def told(error: BaseException) -> str:
    """An error with its traceback, as people may see it: from where their own code begins. What we raise
    ourselves is a sentence, and where we did is nobody's concern."""
    if isinstance(error, Failed):
        return secrets.masked("\n".join(getattr(error, "__notes__", ())))
    story = traceback.TracebackException.from_exception(error)
    theirs = dropwhile(lambda frame: Path(frame.filename).parent == _HERE, story.stack)
    story.stack = traceback.StackSummary.from_list(list(theirs))
    return secrets.masked("".join(story.format()))


def try_it(shard: Shard, body: Body) -> End:
    """Run it here, and say how it came out."""
    try:
        shard.raise_if_cancelled()
        found = body(shard)
        if inspect.iscoroutine(found):
            return asyncio.run(try_coroutine(shard, lambda _: found))
    except Cancelled:
        return End(CUT_SHORT)
    except Exception as error:
        return End(FAILED, error)
    return End(OK)


def do_it(act: Callable[[], object]) -> End:
    """Do it here, and say how it came out."""
    try:
        act()
    except Exception as error:
        return End(FAILED, error)
    return End(OK)


async def try_coroutine(shard: Shard, body: Callable[[Shard], Coroutine[Any, Any, object]] | Body) -> End:
    """Run it in this loop, and say how it came out. Who swallows the order to stop has the last word."""
    try:
        shard.raise_if_cancelled()
        await body(shard)  # type: ignore[misc]
    except (Cancelled, asyncio.CancelledError) as error:
        return End(CUT_SHORT) if shard.cancelled else End(FAILED, error)
    except Exception as error:
        return End(FAILED, error)
    return End(OK)
