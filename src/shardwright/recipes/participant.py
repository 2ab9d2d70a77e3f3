"""What every recipe is to its user: something that is started and stopped, and takes part in between."""

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from types import TracebackType
from typing import Generic, Self, TypeVar

from ..errors import RecipeError
from ..registry import Outcome, Registry
from ..registry.url import found
from ..registry.writes import check_path
from ..runtime.turns import Turns
from .station import Station

log = logging.getLogger("shardwright")

#: For how many seconds the registry may take to tell what there is.
PATIENCE = 60.0


class Part(Turns):
    """Who takes turns and can leave in order."""

    @abstractmethod
    def leave(self) -> None:
        """Be out of it as soon as that can be."""


P = TypeVar("P", bound=Part)


class Participant(ABC, Generic[P]):
    """What is known of it is told by `_tell`, from the reactor's thread, and waited for by `_until`."""

    def __init__(self, registry: str | None) -> None:
        self._url = found(registry)
        self._part: P | None = None
        self._gone = False
        self._out = True
        """Whether it does not run: what its part says then is no longer its own."""
        self._news = threading.Condition()
        self._changing = threading.Lock()
        self._station: Station | None = None
        self._name = ""

    def start(self) -> None:
        """Begin, in threads of its own; returns when we take part."""
        with self._changing:
            if self._station is not None:
                raise RecipeError("this runs already")
            self._gone = False
            self._station = Station.at(self._url)
            self._out = False
            try:
                self._name = self._station.add(self._join)
                self._settle()
            except BaseException:
                self._withdraw()
                raise

    def stop(self, within: float = 10.0) -> None:
        """Leave in order, so that others take over at once."""
        with self._changing:
            if self._station is None:
                return
            self._post(lambda part: part.leave())
            if not self._until(lambda: self._gone, within):
                log.warning("left without having been able to say so: others see it when the session ends")
            self._withdraw()

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
    def _settle(self) -> None:
        """Wait until we take part; raise if we cannot."""

    @abstractmethod
    def _forget(self) -> None:
        """It does not run any more, whether or not it could leave in order: nothing is ours."""

    def _post(self, note: Callable[[P], None]) -> None:
        """Have something done to our part in the thread that takes its turns."""
        self._check_runs()
        station, part = self._station, self._part
        if station is not None and part is not None:
            station.post(lambda: note(part))

    def _check_runs(self) -> None:
        if self._out:
            raise RecipeError("this does not run: call start() first")

    def _tell(self, news: Callable[[], None]) -> None:
        with self._news:
            news()
            self._news.notify_all()

    def _until(self, done: Callable[[], bool], within: float | None) -> bool:
        with self._news:
            return self._news.wait_for(done, within)

    def _has_gone(self) -> None:
        def gone() -> None:
            self._gone = True

        self._tell(gone)

    def _join(
        self, registry: Registry, wake: Callable[[], None], commit: Callable[..., Future[Outcome]]
    ) -> P:
        self._part = self._make(registry, wake, commit)
        return self._part

    def _withdraw(self) -> None:
        def out() -> None:
            self._out = True
            self._forget()

        self._tell(out)
        station, part = self._station, self._part
        self._station = self._part = None
        if station is not None:
            if part is not None:
                station.post(part.leave)
            station.remove(self._name, part)
            station.leave()


def checked_root(path: str) -> str:
    """A path that everything of a recipe may stand below."""
    if path == "/":
        raise RecipeError("the root '/' is everybody's: name a node below it")
    try:
        check_path(path)
    except ValueError as error:
        raise RecipeError(str(error)) from None
    return path
