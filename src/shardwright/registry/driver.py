"""What all drivers have in common: one inbox, one owner, one order.

A driver's threads never touch a mirror or a future. They leave notes in the inbox, and the thread that
owns the registry takes them out by `pump`, one after the other: so the state of the connection, what
changed in the tree and how commits ended are told in the order in which they happened, and nothing
needs a lock. All of a driver's public methods are the owner's to call, and only the owner's. `due` says
when to pump at the latest although nobody rang, because a lease runs out or an answer is overdue.
"""

import heapq
import itertools
import logging
import os
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from types import TracebackType
from typing import Any, Self, TypeVar

from ..clock import Clock
from ..errors import RegistryError
from .tree import Mirror, Mirrors, Node, Tree
from .writes import Outcome, Write, check_path

T = TypeVar("T")

log = logging.getLogger("shardwright.registry")


_pid = os.getpid()


def _forked() -> None:
    """Another process begins here. Asking the kernel who we are before each turn of each job costs more than
    being told."""
    global _pid
    _pid = os.getpid()


os.register_at_fork(after_in_child=_forked)


class State(Enum):
    """How things stand between this process and the registry."""

    CONNECTED = "connected"
    """Our ephemeral nodes stand; what we see is complete as soon as the mirrors are synced."""
    SUSPENDED = "suspended"
    """Cut off for the moment: our nodes may still stand, nothing can be written, nothing new is seen."""
    LOST = "lost"
    """By our own clock the session may have ended: our nodes must be taken for gone."""


class Session:
    """One tenure in the registry: ephemeral nodes go when it ends, and its id never comes again."""

    def __init__(
        self, id: str, clock: Clock, timeout: float, margin: float, heard: float | None = None
    ) -> None:
        self.id = id
        self._ended = False
        self.grant(timeout, margin)
        self._clock = clock
        self._heard = clock.boot() if heard is None else heard

    def lease_left(self) -> float:
        """Seconds for which nobody else can hold us for dead, by our own clock and with a safety margin."""
        return self.ends() - self._clock.boot()

    def grant(self, timeout: float, margin: float) -> None:
        """The registry keeps us for so long without a sign of life; it may change its mind on a reconnect."""
        self.timeout = timeout
        self._term = timeout * (1.0 - margin)

    def ends(self) -> float:
        """The boot clock at which the lease runs out if nothing more is heard."""
        return float("-inf") if self._ended else self._heard + self._term

    def renew(self, sent: float) -> None:
        """A message of ours was answered; it counts from when it was sent, since the answer may be old."""
        self._heard = max(self._heard, sent)

    def end(self) -> None:
        """Nobody is to rely on it any more, whatever is still heard or granted."""
        self._ended = True

    def __repr__(self) -> str:
        return f"<Session {self.id}, {self.lease_left():.1f} s left>"


@dataclass(frozen=True, slots=True)
class Credentials:
    """What another needs to end a session when its process has died. Never printed with its secret."""

    session: str
    password: str = field(repr=False)


Listener = Callable[[State, Session | None], None]
Heir = Callable[[Credentials], None]


class Driver(ABC):
    """The part of a registry that does not depend on where the tree is kept."""

    def __init__(self, clock: Clock, *, namespace: str, largest: int, patience: float) -> None:
        self.clock = clock
        self.namespace = namespace
        """The path that this registry's address names; what stands below it is the caller's."""
        self.largest = largest
        """The most bytes one commit may take, by `weight`."""
        self.patience = patience
        """Seconds after which an answer is given up on unless the caller says otherwise."""
        self.listener: Listener = _nobody
        """Told every change of state, in the owner's thread, in order."""
        self.bell: Callable[[], None] = _silent
        """Called by any thread when the inbox has something for the owner."""
        self.state = State.LOST
        self._session: Session | None = None
        self._mirrors = Mirrors()
        self._inbox: deque[Callable[[], None]] = deque()
        self._rung = threading.Event()
        self._awaited: list[tuple[float, int, Future[Any], Callable[[], None]]] = []
        self._asked = itertools.count()
        self._closed = False
        self._broken: BaseException | None = None
        self._pid = _pid

    # -- what a caller asks -------------------------------------------------------------------------

    def mirror(self, path: str) -> Tree:
        """A live tree of the node and all below it. It is complete once `synced`; asked twice, the same."""
        self._check_open()
        check_path(path)
        mirror = self._mirrors.get(path)
        if mirror is None:
            mirror = self._mirrors.add(path)
            if self.state is State.CONNECTED:
                self._follow(mirror)
        return mirror

    @abstractmethod
    def forget(self, tree: Tree) -> None:
        """Keep this mirror no longer."""

    @abstractmethod
    def read(self, paths: Iterable[str], *, fresh: bool = False) -> "Future[dict[str, Node | None]]":
        """What these nodes hold, None for absent ones; what a mirror holds of them is brought up to date.

        The answer may be a moment old, though never older than anything this session has seen; `fresh`
        asks for no older than the call. Where the registry cannot be asked the future fails with
        RegistryError.
        """

    @abstractmethod
    def names(
        self, paths: Iterable[str], *, fresh: bool = False
    ) -> "Future[dict[str, tuple[str, ...] | None]]":
        """The names of these nodes' children, sorted; None for absent nodes."""

    @abstractmethod
    def commit(self, *writes: Write, patience: float | None = None) -> "Future[Outcome]":
        """Have these writes land together or not at all.

        Guards look at the tree as it was before; the rest happens in the order given. The future is done by
        `pump`, in the owner's thread and after the mirrors have been told: so do not call its `result`,
        which would wait for ever; `registry.wait(future)` pumps and waits. `Refused` means it did not land
        and never will; `Unknown` means it was given up on, may have landed and may still.
        """

    def commit_all(
        self, commits: Sequence[Sequence[Write]], *, patience: float | None = None
    ) -> "list[Future[Outcome]]":
        """Have several commits land, each by itself; they may share one transaction and so one number."""
        return [self.commit(*writes, patience=patience) for writes in commits]

    @abstractmethod
    def now(self) -> datetime:
        """The registry's own time of day, as well as it can be told from here."""

    def session(self) -> Session | None:
        """The session while connected, else None."""
        self._check_process()
        return self._session if self.state is State.CONNECTED and not self._closed else None

    def confide(self, heir: Heir) -> None:  # noqa: B027 - there is nothing to tell, not nothing to do yet
        """Have an heir told what our session can be ended by once we have died: now, and whenever there is
        another, in the owner's thread. Where a death is seen at once nobody is told anything."""

    def close(self) -> None:
        """End the session: its ephemeral nodes go at once. What is still under way stays unknown."""
        if self._closed or self._pid != _pid:
            return  # a forked child has nothing of this to end
        self._closed = True
        self._end_lease()
        self._shut()
        self._take_all()
        self._move(State.LOST)

    def abandon(self) -> None:
        """End the session although its owner does not answer any more. Any thread may; the owner finds the
        registry closed."""
        if not self._closed and self._pid == _pid:
            self._closed = True
            self._end_lease()
            self._shut()

    def _end_lease(self) -> None:
        """The session is over, or about to be: whoever still holds it must not rely on it."""
        if self._session is not None:
            self._session.end()

    def pump(self) -> bool:
        """Take what came in, in order; whether anything did. Only ever called by the owner's thread.

        Raises RegistryError where a thread of the driver has ended: nothing will come in any more, so close
        this registry and open another.
        """
        self._check_process()
        lapsed = self._lapse()
        took = self._take_all()
        overdue = self._overdue()
        if self._broken is not None and not self._closed:
            raise RegistryError(f"a thread of the registry has ended: {self._broken!r}") from self._broken
        return overdue or took or lapsed

    def due(self) -> float | None:
        """The boot clock at which to pump even if the bell stays silent."""
        lease = self._session.ends() if self._session is not None and self.state is not State.LOST else None
        answers = self._next_overdue()
        return min((at for at in (lease, answers) if at is not None), default=None)

    def wait(self, future: "Future[T]", patience: float | None = None) -> T:
        """Pump until the future is done, for callers that have nothing else to do; they own the registry."""
        self.wait_for(future.done, patience, what="an answer")
        return future.result(timeout=0)

    def wait_for(self, done: Callable[[], bool], patience: float | None = None, what: str = "it") -> None:
        """Pump until something is true; a TimeoutError where it is not in time."""
        patience = self.patience * 2 if patience is None else patience
        end = self.clock.boot() + patience
        while True:
            self._rung.clear()
            self.pump()
            if done():
                return
            now = self.clock.boot()
            if now >= end:
                raise TimeoutError(f"waited {patience:g} s for {what} from the registry")
            next_due = self.due()
            self._rung.wait(max(0.0, min(end, end if next_due is None else next_due) - now))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.namespace}, {'closed' if self._closed else self.state.value}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- what a driver does -------------------------------------------------------------------------

    def _check_process(self) -> None:
        if self._pid != _pid:
            raise RegistryError(
                f"this registry belongs to process {self._pid}, which forked this one: open another here"
            )

    def _check_open(self) -> None:
        self._check_process()
        if self._closed:
            raise RegistryError("this registry is closed: open another")

    def _post(self, note: Callable[[], None]) -> None:
        """Leave something for the owner's thread to do. Any thread may."""
        self._inbox.append(note)
        self._ring()

    def _post_all(self, notes: Iterable[Callable[[], None]]) -> None:
        self._inbox.extend(notes)
        self._ring()

    def _break(self, error: BaseException) -> None:
        """A thread of the driver has ended that should not have: have the owner fail. Any thread may."""
        self._broken = error
        self._ring()

    def _move(self, state: State) -> None:
        """Enter a state and say so, in the owner's thread."""
        if state is self.state:
            return
        self.state = state
        if state is not State.CONNECTED:
            for mirror in self._mirrors:
                mirror.suspend()
        try:
            self.listener(state, self._session)
        except Exception:
            # It is not ours, and what is to be done about the new state must be done whatever it does.
            log.exception("whoever listens to the registry failed when told that it is %s", state.value)

    def _lapse(self) -> bool:
        """Stand down by our own clock before anything else is looked at: after a long pause what waits
        in the inbox is old news."""
        session = self._session
        if session is None or self.state is State.LOST or session.lease_left() > 0:
            return False
        if self.state is State.CONNECTED:
            self._move(State.SUSPENDED)
        self._move(State.LOST)
        self._doubt()
        return True

    def _take_all(self) -> bool:
        took = bool(self._inbox)
        while self._inbox:
            self._inbox.popleft()()
        return took

    def _ring(self) -> None:
        self._rung.set()
        self.bell()

    @abstractmethod
    def _follow(self, mirror: Mirror) -> None:
        """Read all of a mirror, and tell it of changes from now on."""

    @abstractmethod
    def _shut(self) -> None:
        """End the session and all threads of the driver."""

    @abstractmethod
    def _doubt(self) -> None:
        """The lease ran out by our own clock: find out how things stand, and say so when it is known."""

    def _await(self, future: "Future[Any]", patience: float | None, give_up: Callable[[], None]) -> None:
        """Have the owner give up on an answer that does not come in time."""
        end = self.clock.boot() + (self.patience if patience is None else patience)
        heapq.heappush(self._awaited, (end, next(self._asked), future, give_up))

    def _overdue(self) -> bool:
        """Give up on the answers that are overdue; whether there were any."""
        any_overdue = False
        while (end := self._next_overdue()) is not None and end <= self.clock.boot():
            heapq.heappop(self._awaited)[3]()
            any_overdue = True
        return any_overdue

    def _next_overdue(self) -> float | None:
        while self._awaited and self._awaited[0][2].done():
            heapq.heappop(self._awaited)
        return self._awaited[0][0] if self._awaited else None


def _silent() -> None:
    """Nobody wants to be woken; `wait` wakes by itself."""


def _nobody(state: State, session: Session | None) -> None:
    """Nobody listens."""


def settle(future: "Future[T]", value: T) -> None:
    """Answer a future that may have been answered already, because it was given up on."""
    if not future.done():
        future.set_result(value)


def fail(future: "Future[Any]", why: str) -> None:
    """Say that a question could not be answered."""
    if not future.done():
        future.set_exception(RegistryError(why))
