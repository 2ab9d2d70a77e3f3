"""A hub: one connection to the registry and one reactor that turns on it, watched over."""

from collections.abc import Callable

from ..registry import Registry, State
from .reactor import Reactor
from .watchdog import EVERY, Watchdog

#: Of a session's time-out, how long a round of the reactor may take before it counts as hung.
HUNG = 0.5


class Hub:
    """`failed` is told, from whatever thread, if it cannot go on; `told` of the registry's state, in the
    reactor's thread."""

    def __init__(
        self,
        registry: Registry,
        *,
        failed: Callable[[Exception], None],
        told: Callable[[State], None] = lambda state: None,
    ) -> None:
        self.registry = registry
        self.reactor = Reactor(registry, told=told)
        self._failed = failed
        self._patience = 0.0
        self._watchdog: Watchdog | None = None

    def start(self) -> None:
        """Take turns in a thread of our own, watched over."""
        session = self.registry.session()
        self._patience = HUNG * (session.timeout if session is not None else 10.0)
        self._watchdog = Watchdog(self.reactor, self._patience, self.kill_children, self._failed)
        self.reactor.start(self._failed)

    def kill_children(self) -> bool:
        """End what runs in processes of its own, before the session ends; whether there was any."""
        return False

    def close(self) -> None:
        """Take no more turns and end the session. A reactor that is stuck is left behind, when the watchdog
        has had the time to say where."""
        self.reactor.told = lambda state: None
        ended = self.reactor.stop(self._patience + 2 * EVERY)
        if self._watchdog is not None:
            self._watchdog.stop()
        if ended:
            self.registry.close()
        else:
            self.registry.abandon()

    def abandon(self) -> None:
        """End the session although the reactor may be stuck."""
        if self._watchdog is not None:
            self._watchdog.stop()
        self.registry.abandon()
        self.reactor.stop(within=0.0)
