"""The reference driver: a tree in memory, shared by every session opened on it, as weak as ZooKeeper.

Notifications say that a node changed and not what it holds; a re-made node starts at version 0 again;
a commit can be given up on and land all the same; absence can be forbidden, data cannot be required.
What drivers promise is tried here first, and simulations run on it: with a `HandClock` everything
happens in an order that depends on nothing but the calls made.

A `Store` is the server. Each `connect` opens a session over a `Link` of its own, which can be told to
delay, to cut, to lose a reply or to fall silent.
"""

import itertools
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeVar

from ..clock import Clock, HandClock, SystemClock
from . import writes as words
from .driver import Driver, Session, State, fail, settle
from .tree import Mirror, Node, Tree
from .writes import Create, Delete, Forbid, Landed, Outcome, Put, Refused, Require, Unknown, Write

T = TypeVar("T")
Effects = list[tuple[str, Node | None]]

#: Of a session's time-out, what our own clock keeps in hand.
MARGIN = 0.15


class Store:
    """The server's side: the nodes, the sessions, and the links to everybody connected."""

    def __init__(self, clock: Clock | None = None, *, plant: str | None = None) -> None:
        self.clock = clock or SystemClock()
        self.nodes: dict[str, Node] = {}
        self.number = 0
        self.lock = threading.RLock()
        self._names: dict[str, dict[str, None]] = {"/": {}}
        self._sequences: dict[str, int] = {}
        self._owned: dict[str, dict[str, None]] = {}
        self._links: list[Link] = []
        self._ids = itertools.count(1)
        self._undo: list[Callable[[], object]] = []
        self._plant = plant

    def connect(
        self, *, namespace: str = "/shardwright", timeout: float = 10.0, patience: float = 10.0
    ) -> "MemoryRegistry":
        return MemoryRegistry(self, namespace=namespace, timeout=timeout, patience=patience)

    def open_session(self) -> str:
        session = f"{next(self._ids):016x}"
        self._owned[session] = {}
        return session

    def is_alive(self, session: str) -> bool:
        return session in self._owned

    def expire(self, session: str) -> None:
        """End a session as the server does when it has heard nothing for too long."""
        with self.lock:
            owned = list(self._owned.get(session, {}))
            effects: Effects = []
            if owned:
                self.number += 1
                for path in owned:
                    self._remove(path, effects)
                self._undo.clear()
                self._notify(effects)
            self._owned.pop(session, None)
            for link in list(self._links):
                if link.session == session:
                    link.drop()

    def commit(self, session: str, writes: tuple[Write, ...]) -> tuple[Outcome, Effects]:
        """Check every guard and do every write, or change nothing."""
        if session not in self._owned:
            return Refused("the session has ended"), []
        self.number += 1
        names: list[str] = []
        effects: Effects = []
        for write in writes:
            why = self._write(session, write, names, effects)
            if why is not None:
                while self._undo:
                    self._undo.pop()()
                self.number -= 1
                return Refused(why), []
        self._undo.clear()
        self._notify(effects)
        return Landed(self.number, tuple(names)), effects

    def node(self, path: str) -> Node | None:
        return Node("", 0, "", 0, 0) if path == "/" else self.nodes.get(path)

    def children(self, path: str) -> tuple[str, ...] | None:
        names = self._names.get(path)
        return None if names is None else tuple(sorted(names))

    def below(self, root: str) -> Iterator[str]:
        """A node and all below it, parents first."""
        if root in self._names:
            yield root
            for name in self.children(root) or ():
                yield from self.below(f"{root.rstrip('/')}/{name}")

    def join(self, link: "Link") -> None:
        self._links.append(link)

    def leave(self, link: "Link") -> None:
        if link in self._links:
            self._links.remove(link)

    def _write(self, session: str, write: Write, names: list[str], effects: Effects) -> str | None:
        """Do one write; the reason where it cannot be done."""
        node = self.node(write.path)
        if isinstance(write, Require | Put | Delete):
            if node is None:
                return f"{write.path} is not there"
            if write.version is not None and write.version != node.version and self._plant != "versions":
                return f"{write.path} is at version {node.version}, not {write.version}"
        match write:
            case Forbid(path) if path in self._names:
                return f"{path} is there"
            case Put(path, data) if node is not None:
                self._store(
                    path, replace(node, data=data, version=node.version + 1, written=self.number), effects
                )
            case Delete(path, _, recursive):
                if self._names[path] and not recursive:
                    return f"{path} has children"
                for gone in reversed(list(self.below(path))):
                    self._remove(gone, effects)
            case Create():
                return self._create(session, write, names, effects)
            case _:
                pass
        return None

    def _create(self, session: str, write: Create, names: list[str], effects: Effects) -> str | None:
        for parent in words.parents(write.path):
            if parent not in self.nodes:
                self._store(parent, Node("", 0, "", self.number, self.number), effects)
            elif self.nodes[parent].owner:
                return f"{parent} is ephemeral and can have no children"
        path = write.path
        if write.sequential:
            parent = path.rpartition("/")[0] or "/"
            count = self._sequences.get(parent, 0)
            self._sequences[parent] = count + 1
            self._undo.append(lambda: self._sequences.update({parent: count}))
            path = f"{path}{count:010d}"
            names.append(path)
        if path in self.nodes:
            return f"{path} is there"
        owner = session if write.ephemeral else ""
        self._store(path, Node(write.data, 0, owner, self.number, self.number), effects)
        return None

    def _store(self, path: str, node: Node, effects: Effects) -> None:
        old = self.nodes.get(path)
        self._place(path, node)
        effects.append((path, node))
        self._undo.append(lambda: self._place(path, old) if old is not None else self._erase(path))

    def _remove(self, path: str, effects: Effects) -> None:
        old, sequence = self.nodes[path], self._sequences.get(path)
        self._erase(path)
        effects.append((path, None))
        self._undo.append(lambda: self._place(path, old, sequence))

    def _place(self, path: str, node: Node, sequence: int | None = None) -> None:
        if path not in self.nodes:
            parent, _, name = path.rpartition("/")
            self._names[parent or "/"][name] = None
            self._names[path] = {}
        if sequence is not None:
            self._sequences[path] = sequence
        self.nodes[path] = node
        if node.owner:
            self._owned[node.owner][path] = None

    def _erase(self, path: str) -> None:
        parent, _, name = path.rpartition("/")
        del self._names[parent or "/"][name]
        owner = self.nodes[path].owner
        if owner:
            del self._owned[owner][path]
        del self.nodes[path], self._names[path]
        self._sequences.pop(path, None)

    def _notify(self, effects: Effects) -> None:
        for link in list(self._links):
            link.notify(effects)


@dataclass(slots=True, eq=False)
class Link:
    """What carries a client's requests to the store and the answers back, each way in order."""

    store: Store
    client: "MemoryRegistry"
    session: str
    up: bool = True
    deaf: bool = False
    out_delay: float = 0.0
    in_delay: float = 0.0
    out_until: float = 0.0
    in_until: float = 0.0
    eat_replies: int = 0
    underway: "dict[Future[Any], Callable[[], None]]" = field(default_factory=dict)

    def request(self, act: Callable[[], None]) -> None:
        """Carry a request to the store. What is on its way when the link is cut may still arrive."""
        self.out_until = self._carry(self.out_delay, self.out_until, lambda: None if self.deaf else act())

    def answer(self, note: Callable[[], None]) -> None:
        """Carry something back to the client, unless the link is down by then."""
        if self.up:
            self.in_until = self._carry(self.in_delay, self.in_until, lambda: self._arrive(note))

    def notify(self, effects: Effects) -> None:
        """Say what changed, not what it holds now: that must be asked for."""
        self.answer(lambda: self.client.told(effects))

    def drop(self) -> None:
        """The connection is gone, for whatever reason."""
        if self.up:
            self.up = False
            self.store.leave(self)
            self.client.hung_up(self)

    def _arrive(self, note: Callable[[], None]) -> None:
        if self.up:
            self.client.hear(note)

    def _carry(self, delay: float, until: float, act: Callable[[], None]) -> float:
        clock = self.store.clock
        arrival = max(until, clock.boot() + delay)
        if arrival <= clock.boot():
            act()
        elif isinstance(clock, HandClock):
            clock.at(arrival, act)
        else:
            raise TypeError("a delayed link needs a store with a HandClock")
        return arrival


class _Heard(Session):
    """A session whose store hears of it all the time, until it falls silent."""

    silent = False
    lag = 0.0

    def ends(self) -> float:
        if not self.silent:
            self.renew(self._clock.boot() - self.lag)
        return super().ends()


class MemoryRegistry(Driver):
    """One session on a store, and the strings a test may pull on its link."""

    def __init__(self, store: Store, *, namespace: str, timeout: float, patience: float) -> None:
        super().__init__(store.clock, namespace=namespace, largest=words.LARGEST, patience=patience)
        self._store = store
        self._timeout = timeout
        self._reachable = True
        self._silences = 0
        with store.lock:
            self._open(store.open_session())
        self.state = State.CONNECTED

    # -- what a caller asks -------------------------------------------------------------------------

    def forget(self, tree: Tree) -> None:
        if self._mirrors.get(tree.root) is tree:
            self._mirrors.remove(tree.root)

    def read(self, paths: Iterable[str], *, fresh: bool = False) -> "Future[dict[str, Node | None]]":
        wanted = words.check_paths(paths)

        def learn(found: dict[str, Node | None]) -> None:
            for path, node in found.items():
                self._mirrors.tell(path, node, self.clock.boot())

        return self._ask(lambda: {path: self._store.node(path) for path in wanted}, learn)

    def names(
        self, paths: Iterable[str], *, fresh: bool = False
    ) -> "Future[dict[str, tuple[str, ...] | None]]":
        wanted = words.check_paths(paths)
        return self._ask(lambda: {path: self._store.children(path) for path in wanted})

    def commit(self, *writes: Write, patience: float | None = None) -> "Future[Outcome]":
        ordered = words.in_order(writes)
        future: Future[Outcome] = Future()
        if self.session() is None:
            future.set_result(Refused("not connected to the registry"))
        elif refused := words.too_large(ordered, self.largest):
            future.set_result(refused)
        else:
            self._send(future, patience, lambda link: self._serve(link, ordered, future), Unknown)
        return future

    def now(self) -> datetime:
        return self.clock.wall()

    # -- the strings to pull ------------------------------------------------------------------------

    def expire(self) -> None:
        """Have the store end our session, as if it had not heard of us."""
        self._store.expire(self._link.session)

    def disconnect(self, *, lose_requests: bool = False) -> None:
        """Cut the link until `reconnect`. Answers on their way are lost; requests land all the same,
        unless told to be lost."""
        with self._store.lock:
            self._reachable = False
            self._link.deaf = lose_requests
            self._fall_silent()
            self._link.drop()

    def reconnect(self) -> None:
        """Let the client reach the store again; the session goes on if it has not ended meanwhile."""
        self._reachable = True
        self._post(self._reconnect)

    def delay(self, *, requests: float = 0.0, answers: float = 0.0) -> None:
        """Slow the link down. Delayed answers are also what a follower that lags behind looks like."""
        self._link.out_delay, self._link.in_delay = requests, answers
        self._heard().lag = requests + answers  # what was answered by now was sent that long ago

    def lose_reply(self, count: int = 1) -> None:
        """The next commit reaches the store, and the connection breaks before its answer gets back."""
        self._link.eat_replies = count

    def pause(self) -> None:
        """Stop beating, as a process does that is stopped; the link stays up, and nobody speaks."""
        with self._store.lock:
            self._fall_silent()

    def resume(self) -> None:
        """Go on as a process does that does not know it was stopped: if the store has not given it up and
        its own lease has not run out, it beats again as if nothing had been. One that is cut off beats in
        vain."""
        session = self._heard()
        if session.silent and self._link.up and session.lease_left() > 0:
            session.silent = False
            self._silences += 1

    # -- what goes on between the client and the store ----------------------------------------------

    def told(self, effects: Effects) -> None:
        now = self.clock.boot()
        for path, node in effects:
            for mirror, relative in self._mirrors.over(path):
                if node is None:
                    mirror.drop(relative, now)
                else:
                    mirror.stale(relative, now)

    def hear(self, note: Callable[[], None]) -> None:
        self._post(note)

    def hung_up(self, link: Link) -> None:
        """The connection is gone: what was under way may or may not have been done."""

        def note() -> None:
            if self.state is State.CONNECTED and link is self._link:
                self._move(State.SUSPENDED)
            for give_up in list(link.underway.values()):
                give_up()
            link.underway.clear()
            if link is self._link:
                self._reconnect()

        self._post(note)

    def _heard(self) -> _Heard:
        assert isinstance(self._session, _Heard)
        return self._session

    def _open(self, session: str) -> None:
        self._link = Link(self._store, self, session)
        self._store.join(self._link)
        if self._session is None or self._session.id != session:
            self._session = _Heard(session, self.clock, self._timeout, MARGIN)

    def _send(
        self,
        future: "Future[T]",
        patience: float | None,
        serve: Callable[[Link], None],
        lost: Callable[[str], T] | None,
    ) -> None:
        """Send a request whose answer `serve` sends back, and give up on it when the link or time does."""
        link = self._link
        seconds = self.patience if patience is None else patience

        def give_up(why: str) -> None:
            if lost is None:
                fail(future, why)
            else:
                settle(future, lost(why))

        link.underway[future] = lambda: give_up("the connection broke before the answer came")
        self._await(future, patience, lambda: give_up(f"no answer within {seconds:g} s"))
        with self._store.lock:
            link.request(lambda: serve(link))

    def _serve(self, link: Link, writes: tuple[Write, ...], future: "Future[Outcome]") -> None:
        """At the store: do it, and send the answer back."""
        with self._store.lock:
            outcome, effects = self._store.commit(link.session, writes)
            if link.eat_replies > 0:
                link.eat_replies -= 1
                link.drop()

        def note() -> None:
            for path, node in effects:
                self._mirrors.tell(path, node, self.clock.boot())
            link.underway.pop(future, None)
            settle(future, outcome)

        link.answer(note)

    def _ask(self, ask: Callable[[], T], learn: Callable[[T], None] = lambda found: None) -> "Future[T]":
        future: Future[T] = Future()
        if self.session() is None:
            fail(future, "not connected to the registry")
            return future

        def serve(link: Link) -> None:
            with self._store.lock:
                found = ask()

            def note() -> None:
                link.underway.pop(future, None)
                learn(found)
                settle(future, found)

            link.answer(note)

        self._send(future, None, serve, None)
        return future

    def _follow(self, mirror: Mirror) -> None:
        """Read all of a mirror anew and tell it what differs from what it knew."""
        root = mirror.root

        def ask() -> dict[str, Node | None]:
            return {path[len(root) :].lstrip("/"): self._store.node(path) for path in self._store.below(root)}

        def learn(found: dict[str, Node | None]) -> None:
            now = self.clock.boot()
            for gone in [path for path in mirror if path not in found]:
                mirror.drop(gone, now)
            for path, node in found.items():
                if node is not None:
                    mirror.put(path, node, now)
            mirror.complete(now)

        self._ask(ask, learn)

    def _reconnect(self) -> None:
        """Find the store again if it can be reached: with the old session while that lives, else anew."""
        if self._closed or not self._reachable or (self._link.up and self.state is State.CONNECTED):
            return
        with self._store.lock:
            self._link.drop()
            session = self._link.session
            if not self._store.is_alive(session):
                self._end_lease()
                self._move(State.LOST)
                session = self._store.open_session()
            self._open(session)
            self._heard().silent, self._heard().lag = False, 0.0
            self._silences += 1
        self._move(State.CONNECTED)
        for mirror in self._mirrors:
            self._follow(mirror)

    def _doubt(self) -> None:
        self._post(self._reconnect)

    def _shut(self) -> None:
        self._store.expire(self._link.session)
        self._link.drop()

    def _fall_silent(self) -> None:
        """From now on the store hears nothing. Under a HandClock it ends the session when the time-out has
        passed; otherwise only `expire` does."""
        session = self._heard()
        if session.silent:
            return
        session.renew(self.clock.boot())
        session.silent = True
        self._silences += 1
        this_time = self._silences

        def expire() -> None:
            if self._silences == this_time:
                self._store.expire(session.id)

        if isinstance(self.clock, HandClock):
            self.clock.at(self.clock.boot() + self._timeout, expire)
