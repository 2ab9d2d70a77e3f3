"""What every recipe is to its user: something that is started and stopped, and takes part in between."""

import atexit
import logging
import os
import random
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Generic, ParamSpec, Self, TypeVar

from ..errors import RecipeError
from ..registry import Outcome, Registry
from ..registry.url import found, parse
from ..runtime.turns import Turns
from .station import Station
from .teller import Teller

log = logging.getLogger("shardwright")

#: For how many seconds the registry may take to tell what there is.
PATIENCE = 60.0

#: For how many seconds one that is to stop may take to leave in order.
LEAVING = 10.0


class Part(Turns):
    """Who takes turns below one root, and can leave in order."""

    def __init__(
        self,
        name: str,
        registry: Registry,
        root: str,
        *,
        wake: Callable[[], None],
        commit: Callable[..., Future[Outcome]] | None,
        chance: random.Random | None,
    ) -> None:
        self._tree = registry.mirror(root)
        super().__init__(name, registry, (self._tree,), wake=wake, commit=commit, chance=chance)
        self.timeout = self._timeout()
        """For how many seconds the session outlives the last sign of life, when we came."""

    @abstractmethod
    def leave(self) -> None:
        """Be out of it as soon as that can be."""

    def _timeout(self) -> float:
        session = self._registry.session()
        return session.timeout if session is not None else 0.0

    def _full(self, path: str) -> str:
        return self._tree.full(path)


P = TypeVar("P", bound=Part)
Q = ParamSpec("Q")


class Participant(ABC, Generic[P]):
    """What is known of it is published from the reactor's thread, and waited for by `_until`. `label` is what
    the log calls it."""

    def __init__(self, label: str, registry: str | None) -> None:
        self._label = label
        self._url = found(registry)
        parse(self._url)
        self._be_idle()
        _known.add(self)

    def _be_idle(self) -> None:
        """Nothing runs: as it was made, and in a fork, where what our parent runs is not ours."""
        self._teller = Teller(self._label)
        self._part: P | None = None
        self._station: Station | None = None
        self._name = ""
        self._gone = False
        self._out = True
        """Whether it does not run."""
        self._run: object = None
        """Which of our parts is ours: one that could not leave in time may go on for a while."""
        self._starting = False
        self._called_off = False
        """Whether somebody would stop it, who may have to wait until it has started."""
        self._news = threading.Condition()
        self._changing = threading.RLock()  # a signal's handler may stop what is about to start

    def start(self) -> None:
        """Begin, in threads of its own; returns when we take part, or when somebody stops us meanwhile. What
        was started is stopped when the interpreter ends, if not before."""
        with self._changing:
            if self._station is not None:
                raise RecipeError(f"{self._label}: this runs already")
            self._called_off, self._gone, self._starting = False, False, True
            try:
                self._enter()
            except BaseException:
                self._withdraw()
                self._teller.stop(0.0)
                raise
            finally:
                self._starting = False
            atexit.register(self.stop)
            if self._called_off:
                self.stop()

    def stop(self, within: float = LEAVING) -> None:
        """Leave in order, so that others take over at once; not waited for longer than so many seconds."""
        end = time.monotonic() + within
        self._publish(self._call_off)
        with self._changing:
            if self._starting:
                return  # we are in a signal's handler, and whoever starts it goes no further
            atexit.unregister(self.stop)
            if self._station is not None and not self._leave(within):
                return
        self._teller.stop(max(0.0, end - time.monotonic()))

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @abstractmethod
    def _make(
        self, registry: Registry, wake: Callable[[], None], commit: Callable[..., Future[Outcome]]
    ) -> P:
        """Our part, made again should the connection fail inside."""

    @abstractmethod
    def _is_settled(self) -> bool:
        """Whether we take part; raises if we cannot."""

    @abstractmethod
    def _forget(self) -> None:
        """It does not run any more, whether or not it could leave in order: nothing is ours."""

    def _patience(self) -> float:
        """For how many seconds we may take to settle."""
        return PATIENCE

    def _enter(self) -> None:
        self._station = Station.at(self._url)
        self._out = False
        if self._called_off:
            return
        self._name = self._station.add(self._label, self._join)
        patience = self._patience()
        if not self._until(lambda: self._called_off or self._is_settled(), patience):
            raise TimeoutError(
                f"{self._label}: does not take part within {patience:g} s: the log says what the registry did"
            )

    def _leave(self, within: float) -> bool:
        """Whether it was us who left, and not a signal's handler that was in more of a hurry."""
        self._post(lambda part: part.leave())
        gone = self._until(lambda: self._gone or self._out, within)
        if self._out:
            return False
        if not gone:
            log.warning(
                "%s: left without having been able to say so: others see it when the session ends",
                self._label,
            )
        self._withdraw()
        return True

    def _post(self, note: Callable[[P], None]) -> None:
        """Have something done to our part in the thread that takes its turns."""
        station, part = self._station, self._part
        if station is not None and part is not None:
            station.post(lambda: note(part))

    def _check_runs(self) -> None:
        if self._out:
            raise RecipeError(f"{self._label}: this does not run: call start() first")

    def _publish(self, news: Callable[[], None]) -> None:
        with self._news:
            news()
            self._news.notify_all()

    def _until(self, done: Callable[[], bool], within: float | None) -> bool:
        with self._news:
            return self._news.wait_for(done, within)

    def _if_ours(self, told: Callable[Q, None]) -> Callable[Q, None]:
        """Have this told by the part that is about to be made, for as long as that is ours."""
        run = self._run

        def tell(*args: Q.args, **options: Q.kwargs) -> None:
            with self._news:
                if self._run is run:
                    told(*args, **options)

        return tell

    def _call_off(self) -> None:
        self._called_off = True

    def _has_gone(self) -> None:
        def gone() -> None:
            self._gone = True

        self._publish(gone)

    def _join(
        self, registry: Registry, wake: Callable[[], None], commit: Callable[..., Future[Outcome]]
    ) -> P:
        self._run = object()
        self._part = self._make(registry, wake, commit)
        return self._part

    def _withdraw(self) -> None:
        def out() -> None:
            self._out, self._run = True, None
            self._forget()

        self._publish(out)
        station, part, name = self._station, self._part, self._name
        self._station, self._part, self._name = None, None, ""
        if station is not None:
            if part is not None:
                station.post(part.leave)
            station.remove(name, part)
            station.leave()


_known: "weakref.WeakSet[Participant[Any]]" = weakref.WeakSet()


def _fork() -> None:
    """What our parent runs is not ours, and its threads are not here."""
    Station.fork()
    for each in list(_known):
        each._be_idle()


os.register_at_fork(after_in_child=_fork)
