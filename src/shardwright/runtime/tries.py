"""A try: a body is run here and now, and how it came out is said. What it raises is its own outcome and
nobody else's matter."""

import asyncio
import contextlib
import inspect
import traceback
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from itertools import dropwhile
from pathlib import Path
from typing import Any

from .. import secrets
from ..alerts.alert import beginning
from ..errors import Cancelled, Failed, ShardwrightError
from ..outcomes import CUT_SHORT, FAILED, OK
from ..shard import Shard
from .bodies import Body

_HERE = Path(__file__).parent

#: What user code may raise to end more than itself, and does not: who leaves by `sys.exit` only fails.
RAISED = (Exception, SystemExit, asyncio.CancelledError)


@dataclass(frozen=True, slots=True)
class End:
    """How a try came out, and what was raised where it failed."""

    outcome: str
    error: BaseException | None = None


Ended = Callable[[End], None]


class Left:
    """What a try leaves to the next one of its run, by `save`. It is also written, for whoever runs the shard
    after that; a try need not wait for it."""

    def __init__(self, checkpoint: str | None, write: Callable[[str], None]) -> None:
        self.checkpoint = checkpoint
        self._write = write

    def save(self, checkpoint: str) -> None:
        """Keep it, in the thread of the try; an empty one is none."""
        self.checkpoint = checkpoint or None
        self._write(checkpoint)


def cancel(loop: asyncio.AbstractEventLoop, task: "asyncio.Task[Any]") -> None:
    """Cancel a task, from another thread; one that has ended, with its loop, needs it no more."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(task.cancel)


def said(error: BaseException) -> str:
    """What an error says of itself, in a sentence."""
    try:
        return str(error) if isinstance(error, ShardwrightError) else f"{type(error).__name__}: {error}"
    except BaseException:  # its own code runs here, and we must go on
        return _unsaid(error)


def told(error: BaseException) -> str:
    """An error with its traceback, as people may see it: from where their own code begins. What we raise
    ourselves is a sentence, and where we did is nobody's concern."""
    try:
        return _story(error)
    except BaseException:  # as above: what tells of an error asks for its attributes, too
        return _unsaid(error)


def _unsaid(error: BaseException) -> str:
    return f"{type(error).__name__}, which cannot say what it is: see to that first"


def _story(error: BaseException) -> str:
    if isinstance(error, Failed):
        return secrets.masked("\n".join(getattr(error, "__notes__", ())))
    story = traceback.TracebackException.from_exception(error)
    theirs = dropwhile(lambda frame: Path(frame.filename).parent == _HERE, story.stack)
    story.stack = traceback.StackSummary.from_list(list(theirs))
    return secrets.masked(beginning("".join(story.format())))


def failure(error: BaseException) -> End:
    """The end of what failed. Whoever cannot say what it is, is told of in our words."""
    try:
        str(error)
    except BaseException:
        unsaid = Failed(_unsaid(error))
        unsaid.add_note(told(error))
        return End(FAILED, unsaid)
    return End(FAILED, error)


def stopped(shard: Shard, error: BaseException) -> End:
    """Who is cancelled by somebody else than us has failed."""
    return End(CUT_SHORT) if shard.cancelled else failure(error)


def try_it(shard: Shard, body: Body) -> End:
    """Run it here, and say how it came out."""
    try:
        shard.raise_if_cancelled()
        found = body(shard)
        if inspect.iscoroutine(found):
            return asyncio.run(_try_alone(shard, found))
        if inspect.isgenerator(found) or inspect.isasyncgen(found):
            raise Failed(
                "its function yields, so calling it runs nothing of it: have it return, or give "
                "Dataflow(fetch, process) where fetch yields"
            )
    except Cancelled:
        return End(CUT_SHORT)
    except RAISED as error:
        return failure(error)
    return End(OK)


def do_it(act: Callable[[], object]) -> End:
    """Do it here, and say how it came out."""
    try:
        act()
    except RAISED as error:
        return failure(error)
    return End(OK)


def whatever_comes(act: Callable[[], End]) -> End:
    """How something came out in a thread where nobody else would hear of what it raises."""
    try:
        return act()
    except BaseException as error:
        return failure(error)


async def _try_alone(shard: Shard, coroutine: Coroutine[Any, Any, object]) -> End:
    """Run what showed only when it was called that it is a coroutine, in a loop that is its own."""
    task = asyncio.ensure_future(try_coroutine(shard, lambda _: coroutine))
    with shard.on_cancel(partial(cancel, asyncio.get_running_loop(), task)):
        return await task


async def try_coroutine(shard: Shard, body: Callable[[Shard], Coroutine[Any, Any, object]] | Body) -> End:
    """Run it in this loop, and say how it came out. Who swallows the order to stop has the last word."""
    try:
        shard.raise_if_cancelled()
        await body(shard)  # type: ignore[misc]
    except Cancelled:
        return End(CUT_SHORT)
    except asyncio.CancelledError as error:
        return stopped(shard, error)
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        return failure(error)
    return End(OK)
