"""The loop: where coroutines run, all in one thread."""

import asyncio
import contextlib
import contextvars
import logging
import threading
from functools import partial

from ..errors import Failed
from ..outcomes import FAILED
from ..shard import Shard
from .bodies import Body
from .tries import End, Ended, cancel, failure, stopped, try_coroutine

log = logging.getLogger("shardwright")

#: How many coroutines may be under way where a job sets no limit.
MANY = 1000


class Loop:
    """A thread for coroutines, from the first one on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._over = threading.Event()
        self._tasks: set[asyncio.Task[End]] = set()

    def free(self) -> int:
        return max(0, MANY - len(self._tasks))

    def run(self, shard: Shard, body: Body, ended: Ended) -> None:
        context = contextvars.copy_context()
        try:
            loop = self._running()
        except RuntimeError as why:
            ended(End(FAILED, Failed(f"there is no thread to run it in: {why}")))
            return

        def begin() -> None:
            task = loop.create_task(try_coroutine(shard, body), context=context)
            self._tasks.add(task)
            heeding = contextlib.ExitStack()
            heeding.enter_context(shard.on_cancel(partial(cancel, loop, task)))

            # Not by another task that waits for it: whoever cancels all tasks would cancel that one too.
            def over(task: asyncio.Task[End]) -> None:
                self._tasks.discard(task)
                heeding.close()
                ended(_end_of(task, shard))

            task.add_done_callback(over)

        loop.call_soon_threadsafe(begin)

    def close(self) -> None:
        """Cancel what runs, and end the thread when that has ended."""
        with self._lock:
            loop, self._loop = self._loop, None
            over, self._over = self._over, threading.Event()
        if loop is not None:
            loop.call_soon_threadsafe(lambda: loop.create_task(self._end(loop, over)))

    async def _end(self, loop: asyncio.AbstractEventLoop, over: threading.Event) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        over.set()
        loop.stop()

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                loop = asyncio.new_event_loop()
                thread = threading.Thread(
                    target=_turn, args=(loop, self._over), name="shardwright-loop", daemon=True
                )
                try:
                    thread.start()
                except RuntimeError:
                    loop.close()
                    raise
                self._loop = loop
            return self._loop


def _turn(loop: asyncio.AbstractEventLoop, over: threading.Event) -> None:
    """Let it turn until it is over. A coroutine may stop it, or leave by `sys.exit` in a task of its own:
    that is nobody else's matter."""
    while not over.is_set():
        try:
            loop.run_forever()
        except (SystemExit, KeyboardInterrupt) as error:
            log.error("a task of a job raised %r in the loop that all coroutines share; it goes on", error)
        else:
            if not over.is_set():
                log.error("a job stopped the loop that all coroutines share; it goes on")
    loop.close()


def _end_of(task: "asyncio.Task[End]", shard: Shard) -> End:
    if task.cancelled():
        return stopped(shard, asyncio.CancelledError())
    error = task.exception()
    return task.result() if error is None else failure(error)
