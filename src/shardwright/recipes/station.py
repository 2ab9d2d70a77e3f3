"""The station: one connection and one reactor for all the recipes of this process that share a registry.

The first to come opens it, the last to leave closes it. What takes part is made anew with the station
should that fail inside. A fork begins without any.
"""

import itertools
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import ClassVar

from .. import registry as registries
from ..registry import Outcome, Registry, State
from ..runtime.hub import Hub
from ..runtime.supervisor import Supervisor
from ..runtime.turns import Turns

log = logging.getLogger("shardwright")

#: For how many seconds the reactor may take to come to what it is asked.
PATIENCE = 30.0

#: How often it is asked whether one that could not leave in time has left.
ASKED_EVERY = 1.0

#: Makes one who takes part: with a registry, and the means to wake its reactor and to commit.
Make = Callable[[Registry, Callable[[], None], Callable[..., Future[Outcome]]], Turns]


class Station:
    """All that take part at one registry, by the registry's address."""

    _open: ClassVar[dict[str, "Station"]] = {}
    _counting: ClassVar[threading.RLock] = threading.RLock()
    """Held by whoever comes or goes, and never while somebody connects: what one registry does is nothing
    to the others."""
    _inherited: ClassVar[list["Station"]] = []

    def __init__(self, url: str) -> None:
        self._url = url
        self._guests = 0
        self._parts: dict[str, Make] = {}
        self._numbers = itertools.count()
        self._supervisor = Supervisor(self._begin, lambda error: None)

    @classmethod
    def at(cls, url: str) -> "Station":
        """The station at this registry, opened if nobody is there yet; each who comes must `leave`."""
        with cls._counting:
            station = cls._open.get(url)
            if station is None:
                station = cls._open[url] = cls(url)
            station._guests += 1
        try:
            with station._supervisor.changing:
                if station._supervisor.inside is None:
                    station._supervisor.start()
        except BaseException:
            station.leave()
            raise
        return station

    @classmethod
    def fork(cls) -> None:
        """We are a fork: all of this is our parent's. It is kept, so that nothing of it is ended here."""
        cls._inherited.extend(cls._open.values())
        cls._open = {}
        cls._counting = threading.RLock()

    def leave(self) -> None:
        """One who came has gone; the last one closes the door."""
        with self._counting:
            self._guests -= 1
            if self._guests:
                return
            del self._open[self._url]
        hub = self._supervisor.let_go()
        if hub is not None:
            hub.close()

    def add(self, label: str, make: Make) -> str:
        """Have somebody take part; the name, which the log knows it by, is to remove it by."""
        name = f"{label}#{next(self._numbers)}"
        with self._supervisor.changing:
            self._parts[name] = make
            hub = self._supervisor.inside
            try:
                if hub is not None:
                    hub.reactor.ask(lambda: self._join(hub, name)).result(PATIENCE)
            except BaseException:
                # It may have joined all the same, or be about to: whoever is told that it failed has no name
                # to remove it by.
                self.remove(name, None)
                raise
        return name

    def remove(self, name: str, part: Turns | None) -> None:
        """Have it take part no longer. One that has not left goes on until it has: the session, and its nodes
        with it, may last for as long as there are others here."""
        with self._supervisor.changing:
            self._parts.pop(name, None)
            hub = self._supervisor.inside
        if hub is None:
            return

        def removed() -> None:
            if part is None or part.left:
                hub.reactor.remove(name)
            else:
                hub.reactor.later(hub.registry.clock.boot() + ASKED_EVERY, removed)

        hub.reactor.post(removed)

    def post(self, note: Callable[[], None]) -> None:
        """Have something done in the reactor's thread."""
        hub = self._supervisor.inside
        if hub is not None:
            hub.reactor.post(note)

    def _begin(self, failed: Callable[[Exception], None]) -> Hub:
        hub = Hub(registries.connect(self._url), failed=failed, told=_say)
        for name in self._parts:
            self._join(hub, name)
        hub.start()
        return hub

    def _join(self, hub: Hub, name: str) -> None:
        make = self._parts.get(name)
        if make is None:
            return  # whoever asked has waited for too long, and gone
        hub.reactor.add(name, lambda wake, commit: make(hub.registry, wake, commit))


def _say(state: State) -> None:
    match state:
        case State.CONNECTED:
            log.info("connected to the registry again")
        case State.SUSPENDED:
            log.warning("cut off from the registry")
        case State.LOST:
            log.warning("given up by the registry, or about to be")
