"""Listeners: what is called around the fires of a job.

    class Audit(Listener):
        def before(self, fire: Fire) -> None: ...       # in each process, before its first shard of a fire
        def after(self, fire: Fire) -> None: ...        # in each process, after its last
        def started(self, fire: Fire) -> None: ...      # once in the cluster, before any shard begins
        def completed(self, fire: Fire) -> None: ...    # once in the cluster, when all have ended

Those of a job are called in their `order`, the lower first, and the other way round afterwards. One that
raises, or does not come back within its `deadline`, is reported; the others are called and the shards run all
the same, unless it is `vital`.
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
from .tries import End
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
    """The shards it is about: those that run in this process, or all of them that are not disabled."""
    parameter: str = ""
    """The job's."""
    disabled: tuple[int, ...] = ()
    """The shards that were left out of it, as they are disabled; for `started` and `completed`."""
    failed: tuple[int, ...] = ()
    """The shards that did not come to a good end, for `after` and `completed`: they failed, took too long,
    were stopped, or their process died and nobody runs them again. How one ended that a Java member ran is
    not known here, and it is not among them; nor is one that is so far ahead of the others that it has
    failed for ten later fires."""


class Listener:
    """Somebody who is called around fires: override what you want to hear of."""

    order = 0
    """Who comes first."""
    vital = False
    """Whether shards must not run when `before` or `started` has failed, or has not come back in time: then
    they fail with it; those of this process, or all of the fire. Where `started` is not called at all, as
    shards did not come within its `timeout`, they run. Those that Java members run do so anyway."""
    again = True
    """Whether `started` and `completed` are called once more where their caller died in the midst of it. One
    that is not has failed."""
    deadline: float | None = 600.0
    """For how many seconds a call may take, until those go on who wait for it: it has failed then, and nobody
    calls it again for that fire. A thread cannot be ended from outside: it is left behind, and until it has
    come back the same is not called in this process for later fires either, which is a failure, too. None:
    a call may take as long as it likes."""
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
    who = type(listener).__name__
    if not isinstance(listener.order, int):
        return f"{who}.order must be a whole number, not {listener.order!r:.100}"
    for name, seconds in (("timeout", listener.timeout), ("deadline", listener.deadline)):
        if seconds is not None and not (isinstance(seconds, int | float) and 0 < seconds < math.inf):
            return f"{who}.{name} must be None or a number of seconds above 0, not {seconds!r:.100}"
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
        vital=any(each.vital for each in started),
    )


def _shortest(listeners: Iterable[Listener]) -> float | None:
    return min((each.timeout for each in listeners if each.timeout is not None), default=None)


class Failing(Exception):
    """A listener raised, or did not come back: which, and whether the shards may run all the same."""

    def __init__(self, listener: Listener, name: str, how: str = "failed") -> None:
        super().__init__(f"{type(listener).__name__}.{name} {how}")
        self.vital = listener.vital


class Caller:
    """Calls listeners, one after the other, whatever becomes of the others; each for as long as it may take.
    In the reactor's thread, except what is called.

    `later` has something done after so many seconds, and gives back how to call that off. `report` is told of
    each that has failed.
    """

    def __init__(
        self,
        workers: Workers,
        post: Callable[[Callable[[], None]], None],
        later: Callable[[float, Callable[[], None]], Callable[[], None]],
        report: Callable[[JobConfig, Failing], None],
    ) -> None:
        self._workers, self._post, self._later, self._report = workers, post, later, report
        self._hung: set[tuple[int, str]] = set()
        """Which listeners have not come back from which call, and are not waited for any longer."""

    def call(
        self,
        config: JobConfig,
        listeners: Sequence[Listener],
        name: str,
        fire: Fire,
        then: Callable[[Failing | None], None],
    ) -> None:
        """Call all of them. `then` is told which has failed, if one has, and rather which is vital."""
        left = iter(overriding(listeners, name))
        failed: list[Failing] = []

        def go_on(failing: Failing | None = None) -> None:
            if failing is not None:
                failed.append(failing)
                self._report(config, failing)
            listener = next(left, None)
            if listener is not None:
                self._call_one(config, listener, name, fire, go_on)
            else:
                then(min(failed, key=lambda each: not each.vital, default=None))

        go_on()

    def _call_one(
        self,
        config: JobConfig,
        listener: Listener,
        name: str,
        fire: Fire,
        then: Callable[[Failing | None], None],
    ) -> None:
        key, waited_for = (id(listener), name), True
        if key in self._hung:
            then(Failing(listener, name, "has not come back from the call before, and is not called"))
            return

        def ended(end: End) -> None:
            nonlocal waited_for
            if not waited_for:
                self._hung.discard(key)
                return
            waited_for = False
            if call_off is not None:
                call_off()
            failing = Failing(listener, name) if end.error is not None else None
            if failing is not None:
                failing.__cause__ = end.error
            then(failing)

        def give_up() -> None:
            nonlocal waited_for
            waited_for = False
            if leave_behind():
                self._hung.add(key)
                then(Failing(listener, name, f"has not come back within {seconds:g} s: it is left behind"))
            else:
                then(Failing(listener, name, f"could not be called within {seconds:g} s: no thread is free"))

        seconds = listener.deadline
        call_off = self._later(seconds, give_up) if seconds is not None else None
        leave_behind = self._workers.call(
            config, lambda: getattr(listener, name)(fire), lambda end: self._post(lambda: ended(end))
        )


class Party:
    """The shards of one fire in this process: nobody begins before `before` is over, and `after` comes when
    the last has ended. In the reactor's thread, except what is called."""

    def __init__(
        self,
        listeners: Sequence[Listener],
        config: JobConfig,
        time: datetime | None,
        caller: Caller,
        post: Callable[[Callable[[], None]], None],
    ) -> None:
        self._listeners, self._config, self._time = listeners, config, time
        self._caller, self._post = caller, post
        self._items: set[int] = set()
        self._failed: set[int] = set()
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

    def leave(self, item: int, *, failed: bool = False) -> bool:
        """A shard has ended; whether it was the last."""
        self._left -= 1
        if failed:
            self._failed.add(item)
        if self._left:
            return False
        if self._begun and self._waiting is None:
            self._close()
        return True

    def _open(self) -> None:
        if self._left:  # else all were called off
            self._begun = True
            self._call("before", self._listeners, self._opened)

    def _opened(self, failing: Failing | None) -> None:
        self._vital = failing if failing is not None and failing.vital else None
        waiting, self._waiting = self._waiting or [], None
        if not self._left:
            self._close()  # all were called off meanwhile
        for begin in waiting:
            begin(self._vital)

    def _close(self) -> None:
        self._call("after", self._listeners[::-1], lambda failing: None)

    def _call(self, name: str, listeners: Sequence[Listener], then: Callable[[Failing | None], None]) -> None:
        items, failed = tuple(sorted(self._items)), tuple(sorted(self._failed))
        fire = Fire(self._config.name, self._time, items, self._config.parameter, failed=failed)
        self._caller.call(self._config, listeners, name, fire, then)
