"""The registry on ZooKeeper: commits, reads, mirrors and the session, put together.

Everything in here happens on the owner's thread, in the order in which it came over the wire; only
`_Mail` is called by the connection's thread, and it only renews the lease and leaves notes.
"""

import math
import re
import ssl
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

from ...clock import Clock, SystemClock
from ...errors import NotAllowed, RegistryError, RegistryUrlError, Unreachable
from ...logs import Log
from .. import writes as words
from ..driver import Credentials, Driver, Heir, Session, State, fail, settle
from ..tree import Mirror, Node, Tree
from ..url import Address, namespace_of
from ..writes import Landed, Outcome, Refused, Unknown, Write
from . import wire
from .client import Access, Call, Client
from .commits import ATTEMPTS, Attempt, Done, Failed, List, Look
from .mirrors import BATCH, Found, Loader

log = Log("shardwright.registry.zookeeper")

#: Of the time-out the server granted, what our own clock keeps in hand.
MARGIN = 0.15

#: CPU-bound user code holds the interpreter for this long at a time; the default is ten times that.
SWITCH_INTERVAL = 0.0005

#: What a server must take at once at the least: what one run leaves to the next is written whole.
LEAST_LARGEST = 1 << 18

#: Of two estimates of the server's time the closer one is kept for this long.
_ESTIMATE_LASTS = 60.0

#: How many seconds an answer about the time may take before it is asked for again, and how often it is then.
_CLOSE = 1.0
_ASKED_AGAIN = 3

#: Answers to a whole request that leave no doubt that nothing was done: unimplemented, bad arguments, no
#: permission, session expired, invalid ACL, session moved, read-only server, throttled.
_CERTAINLY_NOT = (-6, -8, wire.NO_AUTH, wire.SESSION_EXPIRED, -114, -118, -119, -127)

#: How long a server may take to answer that we leave.
_GOODBYE = 1.0

#: How many nodes are remembered as being there; beyond that all are forgotten.
_GROUND_KEPT = 100_000

T = TypeVar("T")


@dataclass(slots=True)
class _Commit:
    """A commit on its way: whom to tell, what to try, how often it was tried, and whether it went out."""

    future: "Future[Outcome]"
    attempt: Attempt
    tries: int = 0
    sent: bool = False


class _Mail:
    """Where the connection's thread leaves word. It owns the lease: nobody must wait to hear of it."""

    def __init__(self, registry: "ZookeeperRegistry") -> None:
        self._registry = registry
        self._session: Session | None = None

    def connected(self, session: str, timeout: float, sent: float) -> None:
        current = self._session
        if current is None or current.id != session:
            current = self._session = Session(session, self._registry.clock, timeout, MARGIN, heard=sent)
        current.grant(timeout, MARGIN)
        current.renew(sent)
        self._registry._post(lambda: self._registry._connected(current))

    def suspended(self) -> None:
        self._registry._post(self._registry._suspended)

    def expired(self) -> None:
        self._registry._post(self._registry._expired)

    def heard(self, sent: float) -> None:
        if self._session is not None:
            self._session.renew(sent)

    def take(self, notes: Iterable[Callable[[], None]]) -> None:
        self._registry._post_all(notes)

    def changed(self, event: wire.Event) -> None:
        self._registry._changed(event)

    def broke(self, error: BaseException) -> None:
        self._registry._post(self._registry._expired)
        self._registry._break(error)


class ZookeeperRegistry(Driver):
    """One client of a ZooKeeper ensemble."""

    def __init__(
        self,
        hosts: str,
        access: Access,
        *,
        namespace: str,
        timeout: float,
        patience: float,
        largest: int = words.LARGEST,
        clock: Clock | None = None,
        plant: str | None = None,
    ) -> None:
        super().__init__(clock or SystemClock(), namespace=namespace, largest=largest, patience=patience)
        self._client = Client(hosts, access, timeout, self.clock, _Mail(self))
        self._loader = Loader(self._ask_for_mirrors, self.clock.boot, largest)
        self._versions = plant != "versions"
        self._line: deque[Sequence[_Commit]] = deque()
        self._held = self._serving = False
        self._ground: set[str] = set()
        self._time_ahead: float | None = None
        self._time_error = math.inf
        self._time_known_at = 0.0
        self._heir: Heir = _nobody
        self._confided = ""
        self._client.start()

    # -- what a caller asks -------------------------------------------------------------------------

    def forget(self, tree: Tree) -> None:
        mirror = self._mirrors.get(tree.root)
        if mirror is None or mirror is not tree:
            return
        self._mirrors.remove(tree.root)
        self._loader.forget(mirror)
        if self.session() is not None:
            self._send(Call(wire.REMOVE_WATCHES, wire.remove_watches(tree.root), _no_matter, _no_matter))

    def read(self, paths: Iterable[str], *, fresh: bool = False) -> "Future[dict[str, Node | None]]":
        return self._gather(wire.GET_DATA, paths, fresh, self._learn_node)

    def names(
        self, paths: Iterable[str], *, fresh: bool = False
    ) -> "Future[dict[str, tuple[str, ...] | None]]":
        return self._gather(wire.GET_CHILDREN, paths, fresh, _learn_names)

    def commit(self, *writes: Write, patience: float | None = None) -> "Future[Outcome]":
        commit = self._begin(writes, patience)
        if not commit.future.done():
            self._line_up([commit])
        return commit.future

    def commit_all(
        self, commits: Sequence[Sequence[Write]], *, patience: float | None = None
    ) -> "list[Future[Outcome]]":
        begun = [self._begin(writes, patience) for writes in commits]
        share: list[_Commit] = []
        size = 0
        for commit in (each for each in begun if not each.future.done()):
            weight = words.weight(commit.attempt.writes)
            if share and size + weight > self.largest:
                self._line_up(share)
                share, size = [], 0
            share.append(commit)
            size += weight
        if share:
            self._line_up(share)
        return [commit.future for commit in begun]

    def now(self) -> datetime:
        if self._time_ahead is None:
            return self.clock.wall()
        return datetime.fromtimestamp(self.clock.boot() + self._time_ahead, UTC)

    def confide(self, heir: Heir) -> None:
        self._heir, self._confided = heir, ""
        self._confide()

    @property
    def trouble(self) -> str:
        """Why the last attempt to connect failed, in words."""
        return self._client.trouble

    @property
    def turned_away(self) -> bool:
        """Whether the server does not accept our credentials."""
        return self._client.refused

    # -- commits ------------------------------------------------------------------------------------

    def _begin(self, writes: Sequence[Write], patience: float | None) -> _Commit:
        ordered = words.in_order(writes)
        session = self.session()
        who = session.id if session is not None else ""
        commit = _Commit(Future(), Attempt(ordered, session=who, versions=self._versions))
        if session is None:
            commit.future.set_result(Refused("not connected to the registry"))
        elif refused := words.too_large(ordered, self.largest):
            commit.future.set_result(refused)
        else:
            why = f"no answer within {self.patience if patience is None else patience:g} s"
            self._await(
                commit.future,
                patience,
                lambda: settle(commit.future, Unknown(why) if commit.sent else Refused(why)),
            )
        return commit

    def _line_up(self, commits: Sequence[_Commit]) -> None:
        """Send these when their turn comes: in the order in which they were given, unless one has to be sent
        again because the ground it stands on changed."""
        self._line.append(commits)
        self._serve_line()

    def _serve_line(self) -> None:
        if self._serving:
            return  # whoever serves goes on with what was added
        self._serving = True
        while self._line and not self._held:
            commits = [commit for commit in self._line.popleft() if not commit.future.done()]
            if commits:  # nobody waits any more for what was given up on before it was sent
                self._try(commits)
        self._serving = False

    def _try(self, commits: Sequence[_Commit]) -> None:
        """Send these in one transaction; if it is refused, each of them is tried by itself. Where more
        must be known first, find it out, and hold up those behind."""
        unlisted = [commit for commit in commits if commit.attempt.unlisted()]
        if unlisted and len(commits) > 1:
            self._line_up_singly(commits)
            return
        if paths := {path: None for commit in commits for path in self._unknown_ground(commit)}:
            self._held = True
            self._look(commits, tuple(paths))
            return
        if unlisted:
            self._held = True
            self._list(commits[0], commits[0].attempt.unlisted())
            return
        made: set[str] = set()
        parts = [(commit, commit.attempt.operations(self._client.acl, made)) for commit in commits]
        body = wire.transaction(operation for _, operations in parts for _, _, operation in operations)
        if len(body) + wire.REQUEST_HEADER > self.largest:
            self._too_large(commits, len(body))
            return

        for commit in commits:
            commit.sent = True

        def answered(call: Call, frame: bytes) -> None:
            _, number, error = wire.header(frame)
            if error:
                why = wire.explain(error, commits[0].attempt.writes[0].path)
                for commit in commits:
                    settle(commit.future, Refused(why) if error in _CERTAINLY_NOT else Unknown(why))
                return
            results = wire.results(frame)
            if len(commits) > 1 and wire.first_fault(results) is not None:
                self._line_up_singly(commits)
                self._serve_line()
                return
            at = 0
            for commit, operations in parts:
                mine = results[at : at + len(operations)]
                at += len(operations)
                self._conclude(commit, call, number, commit.attempt.understand(operations, mine, number))

        def failed(call: Call, why: str) -> None:
            for commit in commits:
                settle(commit.future, Refused(why) if call.sent is None else Unknown(why))

        self._send(Call(wire.MULTI, body, answered, failed))

    def _conclude(
        self, commit: _Commit, call: Call, number: int, verdict: Done | Look | List | Failed
    ) -> None:
        match verdict:
            case Done(names, effects, time):
                now = self.clock.boot()
                for path, node in effects:
                    self._mirrors.tell(path, node, now)
                self._remember(set(commit.attempt.ground()) - commit.attempt.missing)
                self._remember(path for path, node in effects if node is not None and not node.owner)
                self._ground.difference_update(path for path, node in effects if node is None)
                if time is not None and call.sent is not None:
                    self._set_time(time, call.sent, call.received)
                settle(commit.future, Landed(number, names))
            case Failed(why):
                settle(commit.future, Refused(why))
            case _ if commit.future.done():
                pass  # given up on, and certainly not landed: there is no one to try again for
            case _ if commit.tries >= ATTEMPTS:
                settle(commit.future, Refused("the nodes around it kept coming and going"))
            case Look(paths):
                commit.tries += 1
                self._ground.difference_update(paths)
                commit.attempt.missing = frozenset()
                self._line_up_first([commit])
            case List(roots):
                commit.tries += 1
                commit.attempt.below = {
                    path: listed for path, listed in commit.attempt.below.items() if path not in roots
                }
                self._line_up_first([commit])

    def _line_up_first(self, commits: Sequence[_Commit]) -> None:
        for commit in commits:
            commit.sent = False  # what was sent has certainly not landed
        self._line.appendleft(commits)
        self._serve_line()

    def _line_up_singly(self, commits: Sequence[_Commit]) -> None:
        """Put these in front again, each by itself: none of them has landed."""
        for commit in commits:
            commit.sent = False
        self._line.extendleft([commit] for commit in reversed(commits))

    def _too_large(self, commits: Sequence[_Commit], size: int) -> None:
        if len(commits) > 1:
            self._line_up_singly(commits)
        else:
            why = f"the commit takes {size:,} bytes and the registry takes at most {self.largest:,}: split it"
            settle(commits[0].future, Refused(why))

    def _unknown_ground(self, commit: _Commit) -> tuple[str, ...]:
        """Note the parents that a mirror shows missing; give back those of which we know nothing. What we
        think we know may be old: then the server refuses, and we look."""
        unknown = []
        for path in commit.attempt.ground():
            if path in self._ground or path in commit.attempt.missing:
                continue
            seen = next(((rel in mirror) for mirror, rel in self._mirrors.over(path) if mirror.synced), None)
            if seen is None or commit.tries:
                unknown.append(path)
            elif not seen:
                commit.attempt.missing |= {path}
        return tuple(unknown)

    def _look(self, commits: Sequence[_Commit], paths: Sequence[str]) -> None:
        """Find out which parents are there and which are missing, then let the line move on."""

        def answered(found: Sequence[Found]) -> None:
            absent = frozenset(
                p for p, each in zip(paths, found, strict=True) if each == wire.Fault(wire.NO_NODE)
            )
            self._remember(path for path in paths if path not in absent)
            self._ground.difference_update(absent)
            for commit in commits:
                commit.attempt.missing |= absent.intersection(commit.attempt.ground())
            self._resume(commits)

        self._ask_all(wire.GET_DATA, paths, answered, lambda why: self._give_up_unsent(commits, why))

    def _list(self, commit: _Commit, roots: Sequence[str]) -> None:
        """Find out all that stands below some nodes, then let the line move on."""
        below: dict[str, list[str]] = {root: [] for root in roots}
        origin = {root: root for root in roots}

        def step(frontier: list[str]) -> None:
            if not frontier:
                listed = {root: tuple(reversed(found)) for root, found in below.items()}
                commit.attempt.below = {**commit.attempt.below, **listed}
                self._resume([commit])
                return

            def answered(found: Sequence[Found]) -> None:
                further: list[str] = []
                for parent, names in zip(frontier, found, strict=True):
                    if isinstance(names, wire.Fault) and names.code != wire.NO_NODE:
                        self._give_up_unsent([commit], wire.explain(names.code, parent))
                        return
                    if isinstance(names, list):
                        children = [f"{parent}/{name}" for name in names]
                        origin.update((child, origin[parent]) for child in children)
                        below[origin[parent]].extend(children)
                        further += children
                step(further)

            self._ask_all(
                wire.GET_CHILDREN, frontier, answered, lambda why: self._give_up_unsent([commit], why)
            )

        step(list(roots))

    def _remember(self, paths: Iterable[str]) -> None:
        if len(self._ground) > _GROUND_KEPT:
            self._ground.clear()
        self._ground.update(paths)

    def _resume(self, commits: Sequence[_Commit]) -> None:
        self._held = False
        self._line_up_first(commits)

    def _give_up_unsent(self, commits: Sequence[_Commit], why: str) -> None:
        self._held = False
        for commit in commits:
            settle(commit.future, Refused(why))
        self._serve_line()

    # -- reads and mirrors --------------------------------------------------------------------------

    def _ask(
        self,
        kind: int,
        paths: Sequence[str],
        answered: Callable[[Sequence[Found]], None],
        failed: Callable[[str], None] = lambda why: None,
    ) -> None:
        """Read many nodes in one request."""

        def take(call: Call, frame: bytes) -> None:
            _, _, error = wire.header(frame)
            if error:
                failed(wire.explain(error, paths[0]))
            elif kind == wire.GET_DATA:
                answered(wire.nodes(frame))
            else:
                answered(wire.name_lists(frame))

        self._send(Call(wire.MULTI_READ, wire.many_reads(kind, paths), take, lambda call, why: failed(why)))

    def _ask_for_mirrors(
        self, kind: int, paths: Sequence[str], answered: Callable[[Sequence[Found]], None]
    ) -> None:
        def failed(why: str) -> None:
            if self.state is State.CONNECTED:
                log.error("mirrors cannot be read (%s): connecting anew", why)
                self._client.drop()

        self._ask(kind, paths, answered, failed)

    def _ask_all(
        self,
        kind: int,
        paths: Sequence[str],
        answered: Callable[[Sequence[Found]], None],
        failed: Callable[[str], None],
    ) -> None:
        """Read any number of nodes, in as many requests as it takes; the last answer tells all."""
        found: list[Found] = []

        def more(answers: Sequence[Found]) -> None:
            found.extend(answers)
            if len(found) == len(paths):
                answered(found)

        for batch in wire.in_batches(paths, BATCH, self.largest):
            self._ask(kind, batch, more, failed)
        if not paths:
            answered(found)

    def _gather(
        self, kind: int, paths: Iterable[str], fresh: bool, learn: Callable[[str, Found], T]
    ) -> "Future[dict[str, T]]":
        future: Future[dict[str, T]] = Future()
        wanted = words.check_paths(paths)
        if self.session() is None:
            fail(future, "not connected to the registry")
            return future
        self._await(future, None, lambda: fail(future, f"no answer within {self.patience:g} s"))

        def learn_all(answers: Sequence[Found]) -> None:
            found: dict[str, T] = {}
            refused: list[RegistryError] = []
            for path, each in zip(wanted, answers, strict=True):
                try:
                    found[path] = learn(path, each)
                except RegistryError as error:
                    refused.append(error)
            if not refused:
                settle(future, found)
            elif not future.done():
                future.set_exception(refused[0])

        def synced(call: Call, frame: bytes) -> None:
            _, _, error = wire.header(frame)
            if error:
                fail(future, f"the server could not make sure of being up to date (error {error})")

        if fresh:
            self._send(Call(wire.SYNC, wire.sync("/"), synced, _no_matter))
        self._ask_all(kind, wanted, learn_all, lambda why: fail(future, why))
        return future

    def _learn_node(self, path: str, found: Found) -> Node | None:
        if isinstance(found, wire.Fault) and found.code != wire.NO_NODE:
            self._mirrors.deny(path)
            raise NotAllowed(wire.explain(found.code, path))
        node = found[0] if isinstance(found, tuple) else None
        self._mirrors.tell(path, node, self.clock.boot())
        return node

    def _follow(self, mirror: Mirror) -> None:
        self._watch([mirror])

    def _watch(self, mirrors: Sequence[Mirror]) -> None:
        """Follow these mirrors and read all they hold. The watch stands first, so nothing slips between."""

        def answered(call: Call, frame: bytes) -> None:
            _, _, error = wire.header(frame)
            if error:
                log.error("the server does not watch a subtree for us (error %d; 3.6 or newer can)", error)
                self._client.drop()

        self._send(
            *(Call(wire.ADD_WATCH, wire.add_watch(mirror.root), answered, _no_matter) for mirror in mirrors)
        )
        for mirror in mirrors:
            self._loader.load(mirror)
        self._loader.flush()

    def _changed(self, event: wire.Event) -> None:
        now = self.clock.boot()
        for mirror, path in self._mirrors.over(event.path):
            if event.kind == wire.DELETED:
                mirror.drop(path, now)
            else:
                mirror.stale(path, now)

    # -- the session --------------------------------------------------------------------------------

    def _connected(self, session: Session) -> None:
        if self._closed:
            return
        if self._session is not session:
            if self._session is not None:
                self._expired()
            self._session = session
        self._confide()
        if self._time_error > _CLOSE:
            here = f"{self.namespace}~shardwright/~time-{session.id}"
            self._ask_time(session, ["", *words.parents(here)])
        else:
            self._enter(session)

    def _ask_time(self, session: Session, folders: list[str], again: int = _ASKED_AGAIN) -> None:
        """Ask the server what time it is, before anything goes by it: have a node made, written and taken
        away again in one transaction, in the last of these places that is there, and where we may. An answer
        that took long may be as far off: a better one is asked for so many times."""
        *others, folder = folders
        node = f"{folder}/~time-{session.id}"
        asked = (wire.create(node, "", 0, self._client.acl), wire.set_data(node, "", 0), wire.delete(node, 1))

        def answered(call: Call, frame: bytes) -> None:
            _, _, error = wire.header(frame)
            told = [] if error else [each for each in wire.results(frame) if isinstance(each, wire.Stat)]
            if self._closed or self._session is not session or call.sent is None:
                return
            if told:
                self._set_time(told[0].written_at, call.sent, call.received)
                if self._time_error > _CLOSE and again:
                    self._ask_time(session, folders, again - 1)
                    return
            elif others:
                self._ask_time(session, others, again)
                return
            else:
                log.info("the registry cannot be asked for its time here: it is learned with the first claim")
            self._enter(session)

        self._client.send(session.id, [Call(wire.MULTI, wire.transaction(asked), answered, _no_matter)])

    def _enter(self, session: Session) -> None:
        if session.lease_left() <= 0:
            self._client.drop()  # old news by now: connect anew and see
            return
        self._loader.reset()
        self._move(State.CONNECTED)
        if len(self._mirrors):
            self._watch(list(self._mirrors))

    def _confide(self) -> None:
        """Tell the heir of a session it does not know of."""
        session, known = self._session, self._client.identity()
        if session is None or known is None or session.id == self._confided:
            return
        number, password = known
        if wire.session_text(number) == session.id:  # else there is another by now, and it will be told
            self._confided = session.id
            self._heir(Credentials(session.id, password.hex()))

    def _suspended(self) -> None:
        self._loader.reset()
        self._held = False
        waiting, self._line = self._line, deque()
        if self.state is State.CONNECTED:
            self._move(State.SUSPENDED)
        for commit in (commit for commits in waiting for commit in commits):
            settle(commit.future, Refused("the connection broke before it was sent"))

    def _expired(self) -> None:
        self._end_lease()
        self._suspended()
        self._move(State.LOST)

    def _doubt(self) -> None:
        self._client.drop()

    def _shut(self) -> None:
        self._client.stop(_GOODBYE)

    def _send(self, *calls: Call) -> None:
        session = self.session()
        if session is None:
            for call in calls:
                call.failed(call, "not connected to the registry")
        else:
            self._client.send(session.id, calls)

    def _set_time(self, server: float, sent: float, received: float) -> None:
        """The server said what time it was, somewhere between our asking and its answer reaching us."""
        error = received - sent
        if (
            error <= self._time_error
            or received > self._time_known_at + _ESTIMATE_LASTS
            or self._time_ahead is None
        ):
            self._time_ahead = server - (sent + received) / 2
            self._time_error = error
            self._time_known_at = received


def _no_matter(call: Call, answer: object) -> None:
    """For requests whose answer changes nothing."""


def _nobody(credentials: Credentials) -> None:
    """Nobody inherits from us."""


def _learn_names(path: str, found: Found) -> tuple[str, ...] | None:
    if isinstance(found, wire.Fault) and found.code != wire.NO_NODE:
        raise NotAllowed(wire.explain(found.code, path))
    return tuple(sorted(found)) if isinstance(found, list) else None


def open_at(address: Address, patience: float) -> ZookeeperRegistry:
    """Connect to the ensemble an address names, and wait until it lets us in."""
    address.only(
        "session_timeout", "auth", "tls", "tls_ca", "tls_cert", "tls_key", "tls_key_password", "tls_verify",
        "tls_check_hostname", "switch_interval", "largest",
    )  # fmt: skip
    namespace = namespace_of(address.path)
    largest = address.number("largest", words.LARGEST, least=LEAST_LARGEST)
    sys.setswitchinterval(min(sys.getswitchinterval(), address.seconds("switch_interval", SWITCH_INTERVAL)))
    registry = ZookeeperRegistry(
        _hosts(address),
        _access(address),
        namespace=namespace,
        timeout=address.seconds("session_timeout", 10.0),
        patience=patience,
        largest=largest,
    )
    try:
        _get_in(registry, address, registry.clock.boot() + patience)
    except TimeoutError as late:
        trouble = registry.trouble or "no answer"
        registry.close()
        raise Unreachable(
            f"{address}: no ZooKeeper server answered within {patience:g} s ({trouble}): "
            "is it running, and is the address right?"
        ) from late
    except RegistryError:
        registry.close()
        raise
    return registry


def session_ender(address: Address) -> Callable[[Credentials, float], bool]:
    """What ends the session of a process that died, within so many seconds; whether that is certain then.

    Its ephemeral nodes go at once, where the server would keep them until the time-out is over.
    """
    hosts, access = _hosts(address), _access(address)
    timeout = address.seconds("session_timeout", 10.0)
    clock = SystemClock()

    def end(credentials: Credentials, within: float) -> bool:
        session = wire.session_number(credentials.session), bytes.fromhex(credentials.password)
        until = clock.boot() + within
        while (left := until - clock.boot()) > 0:
            post = _Resumed(credentials.session)
            client = Client(hosts, access, timeout, clock, post, session=session)
            client.start()
            post.known.wait(left)
            client.stop(_GOODBYE)
            if post.is_gone or (post.is_back and client.ended):
                return True
        return False

    return end


class _Resumed:
    """Waits to hear whether a session could be taken over, and of nothing else."""

    def __init__(self, session: str) -> None:
        self.known = threading.Event()
        self.is_back = self.is_gone = False
        self._session = session

    def connected(self, session: str, timeout: float, sent: float) -> None:
        self.is_back = session == self._session
        self.known.set()

    def expired(self) -> None:
        self.is_gone = True
        self.known.set()

    def broke(self, error: BaseException) -> None:
        self.known.set()

    def suspended(self) -> None: ...
    def heard(self, sent: float) -> None: ...
    def take(self, notes: Iterable[Callable[[], None]]) -> None: ...
    def changed(self, event: wire.Event) -> None: ...


def _get_in(registry: ZookeeperRegistry, address: Address, until: float) -> None:
    """Wait for a session in which we may see the namespace."""
    while True:
        left = max(0.0, until - registry.clock.boot())
        registry.wait_for(lambda: registry.session() is not None or registry.turned_away, left)
        if registry.turned_away:
            raise NotAllowed(f"{address}: the server does not accept these credentials")
        look = registry.read([registry.namespace])
        registry.wait_for(look.done, max(0.0, until - registry.clock.boot()))
        failed = look.exception()
        if failed is None:
            return
        if isinstance(failed, NotAllowed):
            raise failed  # any other failure is the connection's, which comes back


def _hosts(address: Address) -> str:
    hosts = [host.strip() for host in address.hosts.split(",")]
    if not any(hosts):
        raise RegistryUrlError(
            f"{address}: name at least one server, for example zookeeper://localhost:2181/prod"
        )
    return ",".join(_host(address, host) for host in hosts)


def _host(address: Address, text: str) -> str:
    """One server as `name:port`; an IPv6 address stands in brackets."""
    found = re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:]+)(?::(\d{1,5}))?", text)
    port = int(found[2] or 2181) if found is not None else 0
    if found is None or not 0 < port < 65536:
        raise RegistryUrlError(f"{address}: {text!r} is not host:port, nor [IPv6]:port")
    try:
        found[1].encode("idna")
    except UnicodeError as wrong:
        raise RegistryUrlError(f"{address}: {text!r} cannot be the name of a server") from wrong
    return f"{found[1]}:{port}"


def _access(address: Address) -> Access:
    auth = address.options.get("auth", "digest")
    if auth not in ("digest", "sasl"):
        raise RegistryUrlError(f"{address}: auth={auth!r} is neither digest nor sasl")
    if auth == "sasl" and address.user is None:
        raise RegistryUrlError(f"{address}: auth=sasl needs user:password@ before the servers")
    return Access(user=address.user, password=address.password, sasl=auth == "sasl", tls=_tls(address))


def _tls(address: Address) -> ssl.SSLContext | None:
    """What guards the connection; any option about TLS asks for it."""
    option = address.options.get
    if not address.yes("tls", default=any(name.startswith("tls_") for name in address.options)):
        return None
    try:
        context = ssl.create_default_context(cafile=option("tls_ca"))
        if option("tls_cert"):
            context.load_cert_chain(option("tls_cert", ""), option("tls_key"), option("tls_key_password", ""))
    except (OSError, ValueError) as wrong:
        files = ", ".join(
            f"{name}={option(name)}" for name in ("tls_ca", "tls_cert", "tls_key") if option(name)
        )
        raise RegistryUrlError(f"{address}: the certificates cannot be used ({files}): {wrong}") from wrong
    verify = address.yes("tls_verify", default=True)
    context.check_hostname = verify and address.yes("tls_check_hostname", default=True)
    context.verify_mode = ssl.CERT_REQUIRED if verify else ssl.CERT_NONE
    return context
