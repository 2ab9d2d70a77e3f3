"""Listeners: what is called around the fires of a job.

    class Audit(Listener):
        def before(self, fire: Fire) -> None: ...       # in each process, before its first shard of a fire
        def after(self, fire: Fire) -> None: ...        # in each process, after its last
        def started(self, fire: Fire) -> None: ...      # once in the cluster, before any shard begins
        def completed(self, fire: Fire) -> None: ...    # once in the cluster, when all have ended

Those of a job are called in their `order`, the lower first, and the other way round afterwards. One that
raises is reported; the shards run all the same, unless it is `vital`.
"""

import inspect
import logging
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from ..coordination.view import Hooks
from ..errors import JobError
from ..jobs import JobConfig
from .tries import RAISED, End
from .work import Workers

log = logging.getLogger("shardwright")

_METHODS = ("before", "after", "started", "completed")


@dataclass(frozen=True, slots=True)
class Fire:
    """One fire of a job, as a listener is told of it."""

    job: str
    time: datetime | None
    """When it was scheduled for; None for one that somebody asked for."""
    items: tuple[int, ...]
    """The shards it is about: those that run in this process, or all of them."""
    parameter: str = ""
    """The job's."""


class Listener:
    """Somebody who is called around fires: override what you want to hear of."""

    order = 0
    """Who comes first."""
    vital = False
    """Whether shards must not run when `before` has failed: then they fail with it."""
    again = True
    """Whether `started` and `completed` are called once more where their caller died in the midst of it."""
    timeout: float | None = None
    """For how many seconds `started` and `completed` are waited for until all shards have come there; None:
    for as long as it takes, or a minute for `started` in a job of a group, whose shards may wait for one
    another's places."""

    def before(self, fire: Fire) -> None:
        """This process is about to run its shards of a fire."""

    def after(self, fire: Fire) -> None:
        """This process has run its shards of a fire."""

    def started(self, fire: Fire) -> None:
        """All shards have been claimed, and none has begun. Called once in the cluster."""

    def completed(self, fire: Fire) -> None:
        """All shards have ended. Called once in the cluster."""


def check(listeners: Iterable[object], job: str) -> tuple[Listener, ...]:
    """A job's listeners in their order; refused where one is none."""
    some = list(listeners)
    for each in some:
        if fault := _fault(each):
            raise JobError(f"job {job!r}: {fault}")
    return tuple(sorted((each for each in some if isinstance(each, Listener)), key=lambda each: each.order))


def _fault(listener: object) -> str | None:
    if isinstance(listener, type) and issubclass(listener, Listener):
        return f"{listener.__name__} is a listener's class: give an object of it: {listener.__name__}()"
    if not isinstance(listener, Listener):
        return f"{listener!r:.200} is no listener: derive its class from shardwright.Listener"
    who, seconds = type(listener).__name__, listener.timeout
    if not isinstance(listener.order, int):
        return f"{who}.order must be a whole number, not {listener.order!r:.100}"
    if seconds is not None and not (isinstance(seconds, int | float) and 0 < seconds < math.inf):
        return f"{who}.timeout must be None or a number of seconds above 0, not {seconds!r:.100}"
    return next(filter(None, (_method_fault(listener, name) for name in _METHODS)), None)


def _method_fault(listener: Listener, name: str) -> str | None:
    method, whose = getattr(listener, name), f"{type(listener).__name__}.{name}"
    if inspect.iscoroutinefunction(method):
        return f"{whose} is a coroutine, which is not awaited: make it a plain method"
    try:
        inspect.signature(method).bind(None)
    except TypeError:
        return f"{whose} must be callable as def {name}(self, fire)"
    except ValueError:
        return None  # built in, and nothing is known of it
    return None


def overriding(listeners: Iterable[Listener], name: str) -> list[Listener]:
    """Those that want to be called so."""
    return [each for each in listeners if getattr(type(each), name) is not getattr(Listener, name)]


def hooks(listeners: Sequence[Listener]) -> Hooks:
    """What the cluster is to call once per fire on their behalf."""
    started, completed = overriding(listeners, "started"), overriding(listeners, "completed")
    return Hooks(
        started=bool(started),
        completed=bool(completed),
        started_timeout=_shortest(started),
        completed_timeout=_shortest(completed),
        again=all(each.again for each in (*started, *completed)),
    )


def _shortest(listeners: Iterable[Listener]) -> float | None:
    return min((each.timeout for each in listeners if each.timeout is not None), default=None)


class Failing(Exception):
    """A listener raised: which, and whether the shards may run all the same."""

    def __init__(self, listener: Listener, name: str) -> None:
        super().__init__(f"{type(listener).__name__}.{name} failed")
        self.vital = listener.vital


def call_all(listeners: Sequence[Listener], name: str, fire: Fire) -> None:
    """Call each, whatever becomes of the others; the first failure is raised at the end, the vital ones
    before others."""
    failed: list[Failing] = []
    for listener in overriding(listeners, name):
        try:
            getattr(listener, name)(fire)
        except RAISED as error:
            failing = Failing(listener, name)
            failing.__cause__ = error
            failed.append(failing)
    for failing in sorted(failed, key=lambda each: not each.vital)[:1]:
        raise failing


class Party:
    """The shards of one fire in this process: nobody begins before `before` is over, and `after` comes when
    the last has ended. In the reactor's thread, except what is called."""

    def __init__(
        self,
        listeners: Sequence[Listener],
        config: JobConfig,
        time: datetime | None,
        workers: Workers,
        post: Callable[[Callable[[], None]], None],
        report: Callable[[BaseException], None],
    ) -> None:
        self._listeners, self._config, self._time = listeners, config, time
        self._workers, self._post, self._report = workers, post, report
        self._items: set[int] = set()
        self._left = 0
        self._begun = False
        self._waiting: list[Callable[[BaseException | None], None]] | None = []
        self._vital: BaseException | None = None

    def join(self, item: int, begin: Callable[[BaseException | None], None]) -> None:
        """One more shard: `begin` is called when it may, with what keeps it from that if something does."""
        self._items.add(item)
        self._left += 1
        if self._waiting is None:
            begin(self._vital)
            return
        self._waiting.append(begin)
        if len(self._waiting) == 1:
            # What was claimed together is here by the time this note is read.
            self._post(self._open)

    def leave(self) -> bool:
        """A shard has ended; whether it was the last."""
        self._left -= 1
        if self._left:
            return False
        if self._begun and self._waiting is None:
            self._close()
        return True

    def _open(self) -> None:
        if not self._left:
            return  # all were called off
        self._begun = True
        if overriding(self._listeners, "before"):
            self._call("before", self._listeners, self._opened)
        else:
            self._opened(None)

    def _opened(self, error: BaseException | None) -> None:
        self._heard(error)
        self._vital = error if isinstance(error, Failing) and error.vital else None
        waiting, self._waiting = self._waiting or [], None
        if not self._left:
            self._close()  # all were called off meanwhile
        for begin in waiting:
            begin(self._vital)

    def _close(self) -> None:
        if overriding(self._listeners, "after"):
            self._call("after", self._listeners[::-1], self._heard)

    def _heard(self, error: BaseException | None) -> None:
        if error is not None:
            self._report(error)

    def _call(
        self, name: str, listeners: Sequence[Listener], then: Callable[[BaseException | None], None]
    ) -> None:
        fire = Fire(self._config.name, self._time, tuple(sorted(self._items)), self._config.parameter)

        def ended(end: End) -> None:
            self._post(lambda: then(end.error))

        self._workers.call(self._config, lambda: call_all(listeners, name, fire), ended)
