"""The desk: what the handlers work with, a room for each registry.

    registry    a connection of one's own while it is borrowed: a few are kept open, none is shared
    history     the store, opened when it is first asked for, and again after trouble
    picture     how all jobs stand, kept up to date by a watcher of its own
    streams     those who follow what changes

Everything has a deadline: who cannot be served in time is told so. Few wait for one registry at a time, or
for its history, or one that hangs would take all the threads there are.
"""

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Self

from ..clock import Clock, SystemClock
from ..errors import OperationError, RegistryError, ShardwrightError, Unreachable
from ..history.engine import HistoryDown
from ..history.store import Store
from ..ops import audit as audits
from ..ops import opening
from ..ops.audit import Action
from ..ops.opening import NoHistory
from ..registry import Registry
from .doors import Door
from .lasts import Lasts
from .live import Listener, Picture, Watcher
from .refusals import Refusal
from .settings import Place

log = logging.getLogger("shardwright.console")

#: How many connections to a registry are open at once, how many of them while nobody needs one, and how many
#: may wait for one: those who wait have threads that serve everybody.
MOST_CONNECTIONS, MOST_IDLE, MOST_IN_LINE = 6, 2, 8

#: For how many seconds a registry's answer is waited for, and what others have, or are opening.
PATIENCE, PATIENCE_IN_LINE = 8.0, 2.0

#: For how many seconds the first look at all jobs is waited for.
PATIENCE_FOR_ALL = 15.0

#: How many streams of events one user may follow, and all of them.
MOST_STREAMS, MOST_STREAMS_OF_ALL = 20, 500


class Connections:
    """Connections to one registry, each lent to one thread at a time. A registry that hangs keeps few threads
    waiting, and after a while one at most."""

    def __init__(self, open_it: Callable[[], Registry], clock: Clock) -> None:
        self._door = Door(open_it, clock, Unreachable)
        self._idle: list[Registry] = []
        self._free = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self._in_line = threading.BoundedSemaphore(MOST_IN_LINE)
        self._closed = False
        self._lock = threading.Lock()

    @contextmanager
    def borrowed(self) -> Iterator[Registry]:
        """A connection that works, while this lasts. One that breaks is not lent again."""
        self._line_up()
        try:
            registry = self._taken() or self._door.open()
            sound = False
            try:
                yield registry
                sound = True
            except OperationError:
                sound = True
                raise
            finally:
                self._put_back(registry, sound)
        finally:
            self._free.release()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for registry in idle:
            registry.close()

    def _line_up(self) -> None:
        if self._free.acquire(blocking=False):
            return
        if self._in_line.acquire(blocking=False):
            try:
                if self._free.acquire(timeout=PATIENCE_IN_LINE):
                    return
            finally:
                self._in_line.release()
        raise Refusal(503, "busy", "too many ask this registry at the moment: try again in a moment")

    def _taken(self) -> Registry | None:
        """One that was kept, and still has its session."""
        while True:
            with self._lock:
                if self._closed:
                    raise RegistryError("the console is stopping")
                if not self._idle:
                    return None
                registry = self._idle.pop()
            try:
                registry.pump()
                if registry.session() is not None:
                    return registry
            except RegistryError as error:
                log.debug("a connection that was kept is of no use any more: %s", error)
            registry.close()

    def _put_back(self, registry: Registry, sound: bool) -> None:
        with self._lock:
            keep = sound and not self._closed and len(self._idle) < MOST_IDLE
            if keep:
                self._idle.append(registry)
        if not keep:
            registry.close()


class Room:
    """One registry with all that belongs to it."""

    patience = PATIENCE

    def __init__(self, place: Place) -> None:
        self.place = place
        self._connections = Connections(self._open, SystemClock())
        self._store: Store | None = None
        self._door = Door(lambda: _open_history(place), SystemClock(), HistoryDown)
        self._opening = threading.Lock()
        self.lasts = Lasts(place.name, self.history)
        self._watcher = Watcher(place.name, self._open, self.lasts)
        self._streams: dict[Listener, str] = {}
        self._counting = threading.Lock()

    @contextmanager
    def registry(self) -> Iterator[Registry]:
        """A connection of one's own."""
        with self._connections.borrowed() as registry:
            yield registry

    @contextmanager
    def history(self) -> Iterator[Store]:
        """The history; one that is down is opened anew the next time."""
        store = self._opened()
        try:
            yield store
        except HistoryDown:
            self._let_go(store)
            raise

    def has_history(self) -> bool:
        """Whether there is one, as far as that can be told without asking a database."""
        if self.place.history is None:
            return False
        try:
            opening.check_file(self.place.history)
        except NoHistory:
            return False
        except ShardwrightError as error:  # it is there, and kept from us: who asks for it is told why
            log.debug("%s: %s", self.place.name, error)
        return True

    def audit(self, action: Action) -> None:
        """Tell of a change. A history that cannot be told hinders none."""
        audits.to_log(action)
        try:
            with self.history() as store:
                audits.note(store, action)
        except NoHistory:
            pass
        except (ShardwrightError, OSError) as error:
            log.warning("%s: this is not in the audit of the history: %s", self.place.name, error)

    def start(self) -> None:
        """Begin to watch."""
        self._watcher.start()

    def picture(self) -> Picture:
        """How all jobs stand; waits for the first look at them."""
        return self._watcher.picture(PATIENCE_FOR_ALL)

    def listen(self, user: str, job: str | None) -> Listener:
        """Follow what changes; to be closed by whoever does."""
        with self._counting:
            theirs = sum(each == user for each in self._streams.values())
            if theirs >= MOST_STREAMS or len(self._streams) >= MOST_STREAMS_OF_ALL:
                raise Refusal(429, "busy", f"{user} follows {theirs} streams already: close some of them")
            listener = Listener(job, self._leave)
            self._streams[listener] = user
        self._watcher.join(listener)
        return listener

    def end_streams(self) -> None:
        with self._counting:
            listeners = list(self._streams)
        for listener in listeners:
            listener.end()

    def close(self) -> None:
        self._watcher.stop()
        self.end_streams()
        self._connections.close()
        with self._opening:
            if self._store is not None:
                self._store.close()
                self._store = None

    def _leave(self, listener: Listener) -> None:
        self._watcher.leave(listener)
        with self._counting:
            self._streams.pop(listener, None)

    def _open(self) -> Registry:
        return opening.registry(self.place.url, patience=PATIENCE)

    def _opened(self) -> Store:
        if self._store is None:
            self._door.check()
        if not self._opening.acquire(timeout=PATIENCE_IN_LINE):
            raise HistoryDown("the history is being opened, and has not answered yet: try again in a moment")
        try:
            store = self._store  # asked once: who lets go of it does so without the lock
            if store is None:
                store = self._store = self._door.open()
            return store
        finally:
            self._opening.release()

    def _let_go(self, store: Store) -> None:
        # Without the lock, for which one would wait as long as somebody opens another: only that of one's own
        # is taken away, and another is opened only when there is none.
        if self._store is store:
            self._store = None
        store.close()


def _open_history(place: Place) -> Store:
    if place.history is None:
        raise NoHistory(
            f"the registry {place.name!r} has no history: name one by --history {place.name}=ADDRESS"
        )
    return opening.history(place.history)


class Desk:
    """All rooms there are."""

    def __init__(self, places: Sequence[Place]) -> None:
        self._rooms = {place.name: Room(place) for place in places}

    def room(self, name: str) -> Room:
        room = self._rooms[name]
        room.start()
        return room

    def has_history(self, name: str) -> bool:
        return self._rooms[name].has_history()

    def start(self) -> None:
        """Begin to watch every registry, before anybody asks."""
        for room in self._rooms.values():
            room.start()

    def end_streams(self) -> None:
        """Tell all who follow that it is over: a server that is to stop would wait for them."""
        for room in self._rooms.values():
            room.end_streams()

    def close(self) -> None:
        for room in self._rooms.values():
            room.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()
