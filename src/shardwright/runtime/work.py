"""Work: where runs take place. Plain functions have threads: those that all jobs share, or a pool that a job
asks for; coroutines have a loop of their own.

A try that fails is its own outcome and nobody else's matter. How it came out is told to whoever asked for
it, in the thread that ran it; nothing here waits for anything.
"""

import contextvars
import inspect
import logging
import os
import queue
import threading
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Protocol

from ..errors import Failed, JobError
from ..jobs import JobConfig
from ..outcomes import FAILED
from ..shard import Shard
from .bodies import Body
from .loop import MANY, Loop
from .tries import End, Ended, do_it, try_it, whatever_comes

log = logging.getLogger("shardwright")


class Workers(Protocol):
    """Whoever runs shards."""

    def free(self, config: JobConfig) -> int:
        """How many more shards of a job could begin at once."""

    def run(self, config: JobConfig, shard: Shard, body: Body, ended: Ended) -> None:
        """Run a shard when there is room, and tell how it came out; returns at once."""

    def call(self, config: JobConfig, act: Callable[[], object], ended: Ended) -> Callable[[], bool]:
        """Do something for a job that is no run, and tell how it came out; returns at once, with what to call
        when nobody waits for that any longer. What has not begun never will then; else it is left behind with
        its thread, which that says, and its end is told when it comes."""

    def forget(self, job: str) -> None:
        """A job is no longer here: what is kept for it alone may go."""

    def close(self) -> None:
        """Begin nothing more."""


class Place(Protocol):
    """One kind of room for runs."""

    def free(self) -> int: ...

    def run(self, shard: Shard, body: Body, ended: Ended) -> None: ...

    def close(self) -> None: ...


class Here(threading.local):
    """What is under way in the thread that asks."""

    runs = 0

    def __enter__(self) -> None:
        self.runs += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.runs -= 1


def checked(threads: int) -> int:
    """A number of threads; refused where it cannot be."""
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise JobError(f"threads must be a whole number of at least 1, not {threads!r:.100}")
    return threads


class Workshop:
    """All that this process has to run shards with. `in_loop` says whether a job is known to be a coroutine,
    by its name: its room is in the loop before anything of it has run."""

    def __init__(self, threads: int, *, in_loop: Callable[[str], bool] = lambda job: False) -> None:
        self._here = Here()
        self._shared = Pool(checked(threads), self._here)
        self._in_loop = in_loop
        self._loop = Loop()
        self._own: dict[str, Pool] = {}
        self._limits: dict[str, Limit] = {}
        self._puzzling: set[str] = set()

    def free(self, config: JobConfig) -> int:
        limit = self._limits.get(config.name)
        allowed = limit.free() if limit is not None else MANY
        place: Place = self._loop if self._in_loop(config.name) else self._pool(config)
        return min(allowed, place.free())

    def runs_here(self) -> bool:
        """Whether it is in a run, or in the thread of one, that this is asked."""
        return self._here.runs > 0

    def run(self, config: JobConfig, shard: Shard, body: Body, ended: Ended) -> None:
        is_coroutine = inspect.iscoroutinefunction(body)
        place: Place = self._loop if is_coroutine else self._pool(config)
        body = self._noted(body) if is_coroutine else body
        if config.concurrency is None or config.group is not None:  # a group is limited in the registry
            self._limits.pop(config.name, None)
            place.run(shard, body, ended)
            return
        limit = self._limits.setdefault(config.name, Limit(config.concurrency, place))
        limit.most, limit.place = config.concurrency, place
        limit.run(shard, body, ended)

    def _noted(self, coroutine: Body) -> Body:
        async def run(shard: Shard) -> object:
            with self._here:
                return await coroutine(shard)  # type: ignore[misc]

        return run

    def call(self, config: JobConfig, act: Callable[[], object], ended: Ended) -> Callable[[], bool]:
        return self._pool(config).call(act, ended)

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
        pool = Pool(threads, self._here, config.name) if threads is not None else self._shared
        if own is not None:
            self._replace(config.name, own, pool)
        if threads is not None:
            self._own[config.name] = pool
        return pool

    def _replace(self, job: str, old: "Pool", new: "Pool") -> None:
        """What waits for its turn in the old pool has it in the new one."""
        limit = self._limits.get(job)
        if limit is not None and limit.place is old:
            limit.place = new
        self._own.pop(job).close()

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
    """Threads, and a line of runs before them.

    Not those of `concurrent.futures`, for which the interpreter waits at its end, however long they take:
    what does not stop when told to is left behind.

    There are as many threads as were ever needed at once, and who has nothing to do waits at the line: so
    nothing there waits for one that is busy. Who is left behind has its place taken by another. How many are
    needed is told by a set that is shared without a lock: hundreds of runs may begin and end at once, and one
    thread that lost the interpreter over a lock would hold up all of them.
    """

    def __init__(self, threads: int, here: Here, of: str = "work") -> None:
        self.threads = threads
        self._here = here
        self._name = f"shardwright-{of}"
        self._begun = 0
        self._beginning = threading.Lock()
        self._busy: set[threading.Lock] = set()
        """What was asked for and is not over, by the lock that says whether it has begun."""
        self._line: queue.SimpleQueue[Callable[[], bool] | None] = queue.SimpleQueue()
        """What is to be done; each says whether its thread is still one of ours afterwards."""
        self._closed = False

    def free(self) -> int:
        return max(0, self.threads - len(self._busy))

    def run(self, shard: Shard, body: Body, ended: Ended) -> None:
        def act() -> End:
            with self._here:
                return try_it(shard, body)

        self._submit(lambda: whatever_comes(act), ended)

    def call(self, act: Callable[[], object], ended: Ended) -> Callable[[], bool]:
        return self._submit(lambda: whatever_comes(lambda: do_it(act)), ended)

    def _submit(self, act: Callable[[], End], ended: Ended) -> Callable[[], bool]:
        context, begun = contextvars.copy_context(), threading.Lock()

        def work() -> bool:
            return not begun.acquire(blocking=False) or over(context.run(act))

        def over(end: End) -> bool:
            was_waited_for = self._is_off(begun)
            ended(end)
            return was_waited_for

        def leave_behind() -> bool:
            was_in_line = begun.acquire(blocking=False)
            if not self._is_off(begun) or was_in_line:
                return False
            with self._beginning:
                self._begun -= 1
            self._have_it_done()
            return True

        self._busy.add(begun)
        self._line.put(work)
        why = self._have_it_done()
        if why and begun.acquire(blocking=False):  # it stays in the line all the same
            over(End(FAILED, Failed(f"there is no thread to run it in: {why}")))
        return leave_behind

    def _is_off(self, begun: threading.Lock) -> bool:
        """Whether we are the one to take it off the books: somebody else may have."""
        try:
            self._busy.remove(begun)
        except KeyError:
            return False
        return True

    def _have_it_done(self) -> str:
        """See to it that somebody comes to what is in the line; says why nobody will."""
        if self._closed:
            return "its pool is closed"
        if self._are_enough():
            return ""
        with self._beginning:
            if self._are_enough():
                return ""
            name = f"{self._name}_{self._begun}"
            try:
                threading.Thread(target=self._work, name=name, daemon=True).start()
            except RuntimeError as error:
                return "" if self._begun else str(error)
            self._begun += 1
            return ""

    def _are_enough(self) -> bool:
        return self._begun >= min(self.threads, len(self._busy))

    def _work(self) -> None:
        while (work := self._line.get()) is not None:
            try:
                if not work():
                    return  # it was left behind, and another has its place
            except Exception:
                log.exception("how a run came out could not be told")
        self._line.put(None)  # for the others

    def close(self) -> None:
        """Begin nothing more that was not asked for. What runs goes on until it ends; nobody waits for it."""
        self._closed = True
        self._line.put(None)


class Limit:
    """A job's own limit: so many of its shards at once in this process, the others wait in line."""

    def __init__(self, most: int, place: Place) -> None:
        self.most, self.place = most, place
        self._lock = threading.Lock()
        self._busy = 0
        self._waiting: deque[Callable[[], None]] = deque()

    def free(self) -> int:
        return max(0, self.most - self._busy - len(self._waiting))

    def run(self, shard: Shard, body: Body, ended: Ended) -> None:
        def over(end: End) -> None:
            with self._lock:
                self._busy -= 1
            ended(end)
            self._go_on()

        with self._lock:
            self._waiting.append(lambda: self.place.run(shard, body, over))
        self._go_on()

    def _go_on(self) -> None:
        while True:
            with self._lock:
                if not self._waiting or self._busy >= self.most:
                    return
                begin = self._waiting.popleft()
                self._busy += 1
            begin()
