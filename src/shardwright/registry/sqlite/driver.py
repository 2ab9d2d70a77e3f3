"""The registry in a file: what its owner calls, and what the clerk's notes do when they are taken."""

import itertools
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from ...clock import Clock, SystemClock
from ...errors import RegistryUrlError, Unreachable
from .. import writes as words
from ..driver import Driver, Session, State, fail, settle
from ..tree import Mirror, Node, Tree
from ..url import Address, namespace_of
from ..writes import Outcome, Refused, Unknown, Write
from . import plan
from .clerk import Clerk
from .file import File, News
from .requests import Anew, Commit, Follow, Note, Question, Read

T = TypeVar("T")

#: CPU-bound user code holds the interpreter for this long at a time; the default is ten times that.
SWITCH_INTERVAL = 0.0005

#: The clerk says whether a commit was refused when its time is up; a clerk that says nothing for so many
#: seconds more hangs in the disk, and then nobody knows.
_GRACE = 1.0

#: Shorter sessions would end whenever the machine is busy.
SHORTEST_SESSION = 0.5


class _Mail:
    """Where the clerk leaves word: each word becomes a note for the owner."""

    def __init__(self, registry: "SqliteRegistry") -> None:
        self._registry = registry

    def tell(self, notes: Iterable[Note]) -> None:
        self._registry._post_all(notes)

    def connected(self, session: Session) -> Note:
        return partial(self._registry._connected, session)

    def suspended(self) -> Note:
        return self._registry._suspended

    def lost(self) -> Note:
        return self._registry._lost

    def broke(self, error: BaseException) -> None:
        self._registry._break(error)

    def news(self, news: News) -> Note:
        return partial(self._registry._told, news)

    def settled(self, future: "Future[Outcome]", outcome: Outcome) -> Note:
        return partial(settle, future, outcome)


class SqliteRegistry(Driver):
    """One session on a registry's file."""

    def __init__(
        self,
        path: Path,
        *,
        namespace: str,
        timeout: float,
        patience: float,
        end_stopped: bool = False,
        clock: Clock | None = None,
        plant: str | None = None,
    ) -> None:
        super().__init__(
            clock or SystemClock(), namespace=namespace, largest=words.LARGEST, patience=patience
        )
        self.path = path
        self._refs = itertools.count(1)
        self._clerk = Clerk(
            path,
            _Mail(self),
            self.clock,
            timeout=timeout,
            patience=patience,
            end_stopped=end_stopped,
            plant=plant,
        )
        self._clerk.start()

    # -- what a caller asks -------------------------------------------------------------------------

    def forget(self, tree: Tree) -> None:
        if self._mirrors.get(tree.root) is tree:
            self._mirrors.remove(tree.root)

    def read(self, paths: Iterable[str], *, fresh: bool = False) -> "Future[dict[str, Node | None]]":
        wanted = words.check_paths(paths)
        future: Future[dict[str, Node | None]] = Future()
        self._send(future, Read(wanted, partial(settle, future), partial(fail, future)))
        return future

    def names(
        self, paths: Iterable[str], *, fresh: bool = False
    ) -> "Future[dict[str, tuple[str, ...] | None]]":
        wanted = words.check_paths(paths)
        return self._ask(lambda file: file.names(wanted))

    def commit(self, *writes: Write, patience: float | None = None) -> "Future[Outcome]":
        (future,) = self.commit_all([writes], patience=patience)
        return future

    def commit_all(
        self, commits: Sequence[Sequence[Write]], *, patience: float | None = None
    ) -> "list[Future[Outcome]]":
        """Handed over at once, so that the clerk finds them together and lands them by one statement."""
        begun = [self._begin(writes, patience) for writes in commits]
        self._clerk.put(*(each for each in begun if isinstance(each, Commit)))
        return [each.future if isinstance(each, Commit) else each for each in begun]

    def _begin(self, writes: Sequence[Write], patience: float | None) -> "Commit | Future[Outcome]":
        """A commit on its way, or how it has ended already."""
        ordered = words.in_order(writes)
        future: Future[Outcome] = Future()
        session = self.session()
        too_large = words.too_large(ordered, self.largest)
        planned = plan.of(ordered)
        if session is None:
            future.set_result(Refused(self._not_connected()))
        elif too_large is not None:
            future.set_result(too_large)
        elif isinstance(planned, Refused):
            future.set_result(planned)
        else:
            seconds = self.patience if patience is None else patience
            self._await(
                future, seconds + _GRACE, lambda: settle(future, Unknown(f"no answer within {seconds:g} s"))
            )
            until = self.clock.boot() + seconds
            size = words.weight(ordered)
            return Commit(planned, session.id, next(self._refs), size, until, future)
        return future

    def now(self) -> datetime:
        return self.clock.wall()

    @property
    def trouble(self) -> str:
        """What is in the way at present, in words."""
        return self._clerk.trouble

    # -- what the notes do --------------------------------------------------------------------------

    def _connected(self, session: Session) -> None:
        if self._closed:
            return
        if self._session is not None and self._session is not session:
            self._lost()
        self._session = session
        self._move(State.CONNECTED)
        for mirror in self._mirrors:
            self._follow(mirror)

    def _suspended(self) -> None:
        if self.state is State.CONNECTED:
            self._move(State.SUSPENDED)

    def _lost(self) -> None:
        self._end_lease()
        self._move(State.LOST)

    def _told(self, news: News) -> None:
        """Bring every mirror up to where the log was read. What a mirror knew already is told again: it
        comes to the same, because what is put is what the nodes held at the end."""
        now = self.clock.boot()
        if not news.complete:
            for mirror in self._mirrors:
                mirror.suspend()
                self._follow(mirror)
            return
        for entry in news.entries:
            for path in entry.gone:
                self._mirrors.tell(path, None, now)
            for path in entry.razed:
                self._raze(path, now)
            for path in (*entry.touched, *entry.names):
                self._touch(path, news.nodes.get(path), now)
        for path in {path for entry in news.entries for path in (*entry.touched, *entry.names)}:
            if path not in news.nodes:
                self._mirrors.tell(path, None, now)

    def _raze(self, path: str, now: float) -> None:
        """All below the path is gone, and so is what mirrors hold whose own root was down there."""
        for mirror in self._mirrors:
            if mirror.root.startswith(f"{path}/"):
                mirror.drop("", now)

    def _touch(self, path: str, node: Node | None, now: float) -> None:
        if node is not None:
            self._mirrors.tell(path, node, now)
            return
        # It came and has gone since: then it counts as absent from now, not from before it came.
        for mirror, relative in self._mirrors.over(path):
            if relative not in mirror:
                mirror.stale(relative, now)

    # -- what goes to the clerk ---------------------------------------------------------------------

    def _follow(self, mirror: Mirror) -> None:
        """Read all of a mirror anew and tell it what differs from what it knew."""
        root = mirror.root

        def learn(found: dict[str, Node]) -> None:
            if self._mirrors.get(root) is not mirror or self.state is not State.CONNECTED:
                return
            now = self.clock.boot()
            relative = {path[len(root) :].lstrip("/"): node for path, node in found.items()}
            for gone in [path for path in mirror if path not in relative]:
                mirror.drop(gone, now)
            for path, node in relative.items():
                mirror.put(path, node, now)
            mirror.complete(now)

        self._clerk.put(Follow(root, learn))

    def _ask(self, ask: Callable[[File], T]) -> "Future[T]":
        future: Future[T] = Future()
        self._send(future, Question(lambda file: partial(settle, future, ask(file)), partial(fail, future)))
        return future

    def _send(self, future: "Future[Any]", request: Read | Question) -> None:
        """Have something asked, unless nobody can be."""
        if self.session() is None:
            fail(future, self._not_connected())
            return
        self._await(future, None, lambda: fail(future, f"no answer within {self.patience:g} s"))
        self._clerk.put(request)

    def _doubt(self) -> None:
        """Somebody may have judged us by an old heartbeat already: this session is not to be trusted."""
        if self._session is not None:
            self._clerk.put(Anew(self._session.id, "we stood still for longer than the lease"))

    def _shut(self) -> None:
        self._clerk.stop(self.patience + _GRACE)

    def _not_connected(self) -> str:
        trouble = self._clerk.trouble
        return f"not connected to the registry: {trouble}" if trouble else "not connected to the registry"


def open_at(address: Address, patience: float) -> SqliteRegistry:
    """Open the file an address names, and wait until we have a session on it."""
    address.only("namespace", "session_timeout", "end_stopped")
    timeout = address.seconds("session_timeout", 10.0)
    if address.hosts or address.user is not None or address.path.strip("/") in ("", ":memory:"):
        raise RegistryUrlError(
            f"{address}: name a file by its whole path after three slashes, sqlite:///var/lib/app/registry.db"
        )
    if timeout < SHORTEST_SESSION:
        raise RegistryUrlError(f"{address}: session_timeout must be at least {SHORTEST_SESSION:g}s")
    sys.setswitchinterval(min(sys.getswitchinterval(), SWITCH_INTERVAL))
    registry = SqliteRegistry(
        Path("/" + address.path.lstrip("/")),
        namespace=namespace_of(address.options.get("namespace", "")),
        timeout=timeout,
        patience=patience,
        end_stopped=address.yes("end_stopped"),
    )
    try:
        registry.wait_for(lambda: registry.session() is not None, patience)
    except TimeoutError as late:
        trouble = registry.trouble or "it stays locked"
        registry.close()
        raise Unreachable(f"{address}: no session within {patience:g} s: {trouble}") from late
    return registry
