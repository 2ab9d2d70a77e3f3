"""A model of an Apache ElasticJob 3.x member, as far as others in its cluster can tell it from the real one.

Where one of ours commits one guarded transaction, a Java member sends many small requests, asks before it
writes and trusts the answer, swallows errors, and blocks its threads while it waits. All of that is here:
each Java thread is a generator that goes one request at a time, so that between any two of them anything may
happen to the registry, to the connection, or to the process. What ElasticJob gets wrong is modelled as
wrong: the node it deletes and makes again at a reconnect, the marks it takes from its own runs, the runs that
go on without a session, the leader that waits for ever.

Left out: changes of `config` while running, the reconcile timer, the run-once listener (`guarantee`), the
clock check, item pools, and a job without cron.
"""

import math
import random
import uuid
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import TypeVar

from shardwright import elasticjob, kinds
from shardwright.coordination import strategies
from shardwright.jobs import JobConfig
from shardwright.registry import (
    Create,
    Delete,
    Landed,
    Node,
    Put,
    Refused,
    Require,
    Session,
    State,
    Unknown,
    Unread,
    Write,
    protected,
)
from shardwright.registry.memory import MemoryRegistry, Store

T = TypeVar("T")

#: ElasticJob waits for everything by asking again after so many seconds.
POLL = 0.1

#: Seconds that a Java thread takes for one request, besides the way there and back; and now and then, when
#: the collector or another thread comes in between. Without that the same one would win every race.
PACE, STALL, STALLS = (0.0005, 0.003), (0.01, 0.1), 1 / 40

#: Curator's retry policy as ElasticJob sets it: how often again, and after how many seconds at most.
RETRIES, LONGEST_PAUSE = 3, 3.0

#: By how much Quartz may be late before it calls that a misfire.
THRESHOLD = timedelta(milliseconds=1)

LEADER, ELECTION = "leader/election/instance", "leader/election/latch"
NECESSARY, PROCESSING = "leader/sharding/necessary", "leader/sharding/processing"
WAITING, FAILOVER = "leader/failover/items", "leader/failover/latch"
NEXT = "next-job-instance-ip"


# -- threads ----------------------------------------------------------------------------------------------


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Wait:
    """What a Java thread waits for: that something is so, or that the boot clock gets there."""

    when: Callable[[], bool] = _never
    at: float | None = None


Steps = Generator[Wait, None, T]


class Thread:
    """A Java thread: goes on, a step at a time, when what it waits for has come."""

    def __init__(self, steps: Steps[None]) -> None:
        self._steps = steps
        self.wait: Wait | None = Wait(at=0.0)

    def step(self, now: float) -> bool:
        """Go on to the next wait, if this one is over; whether it was."""
        wait = self.wait
        if wait is None or not (wait.when() or (wait.at is not None and now >= wait.at)):
            return False
        self.wait = next(self._steps, None)
        return True


# -- the registry, as ElasticJob uses it ------------------------------------------------------------------


class Kind(Enum):
    ADDED = "added"
    UPDATED = "updated"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class Event:
    """Something that the cache noticed about a node, and what the node holds or held."""

    kind: Kind
    path: str
    data: str


class Storage:
    """ElasticJob's JobNodeStorage over Curator: small requests, a cache, and a latch. Paths are the job's."""

    def __init__(self, registry: MemoryRegistry, root: str, chance: random.Random) -> None:
        self.registry = registry
        self.root = root
        self.events: deque[Event] = deque()
        self.loaded = False
        self.reconnects = 0
        self._chance = chance
        self._tree = registry.mirror(root)
        self._known: dict[str, Node] = {}

    def sleep(self, seconds: float) -> Wait:
        return Wait(at=self.registry.clock.boot() + seconds)

    def pace(self) -> Wait:
        stalls = self._chance.random() < STALLS
        return self.sleep(self._chance.uniform(*(STALL if stalls else PACE)))

    def request(self, send: "Callable[[], Future[T]]") -> "Steps[T | None]":
        """Ask until there is an answer, a few times; None where there is none, which ElasticJob swallows."""
        for tried in range(RETRIES + 1):
            if tried:
                yield self.sleep(min(LONGEST_PAUSE, self._chance.randint(1, 2 ** (tried + 1))))
            yield self.pace()
            future = send()
            yield Wait(future.done)
            if future.exception() is None and not _is_trouble(future.result()):
                return future.result()
        return None

    def commit(self, *writes: Write) -> Steps[bool]:
        """Whether it landed. A refusal is a NoNode or a NodeExists: swallowed like a lost connection."""
        full = [replace(each, path=f"{self.root}/{each.path}".rstrip("/")) for each in writes]
        return isinstance((yield from self.request(lambda: self.registry.commit(*full))), Landed)

    # Reading: whether a node is there, and what its children are, is always asked; data is often cached.

    def exists(self, path: str) -> Steps[bool]:
        return (yield from self._node(path)) is not None

    def direct(self, path: str) -> Steps[str | None]:
        node = yield from self._node(path)
        return None if node is None else node.data

    def data(self, path: str) -> Steps[str | None]:
        """From the cache, which may be behind; asked for only where the cache has nothing."""
        if path in self._known:
            return self._known[path].data
        return (yield from self.direct(path))

    def children(self, path: str) -> Steps[list[str]]:
        """In ElasticJob's order, which is descending as text: 9 before 10."""
        return list(reversed((yield from self._names(path)) or ()))

    def _node(self, path: str) -> "Steps[Node | None]":
        full = f"{self.root}/{path}"
        answer = yield from self.request(lambda: self.registry.read([full]))
        return None if answer is None else answer[full]

    def _names(self, path: str) -> "Steps[tuple[str, ...] | None]":
        """The children; None where nobody could be asked."""
        full = f"{self.root}/{path}"
        answer = yield from self.request(lambda: self.registry.names([full]))
        return None if answer is None else answer[full] or ()

    # Writing: first ask, then write, and nothing holds in between.

    def write(self, path: str, data: str) -> Steps[bool]:
        if (yield from self.exists(path)):
            return (yield from self.commit(Put(path, data)))
        return (yield from self.commit(Create(path, data)))

    def write_ephemeral(self, path: str, data: str) -> Steps[bool]:
        """Delete and create: for a moment there is none, and everybody sees that."""
        if (yield from self.exists(path)):
            yield from self.commit(Delete(path, recursive=True))
        return (yield from self.commit(Create(path, data, ephemeral=True)))

    def create_if_needed(self, path: str) -> Steps[None]:
        if not (yield from self.exists(path)):
            yield from self.write(path, "")

    def remove_if_there(self, path: str) -> Steps[None]:
        if (yield from self.exists(path)):
            yield from self.commit(Delete(path, recursive=True))

    # Curator's LeaderLatch: stand in line, wait for ever, act, leave the line whatever it takes.

    def in_latch(self, latch: str, act: Callable[[], Steps[None]]) -> Steps[None]:
        token = uuid.UUID(int=self._chance.getrandbits(128), version=4)
        mine = protected("latch-", str(token))
        while not (yield from self._is_first(latch, mine)):
            pass
        yield from act()
        while True:
            names = yield from self._names(latch)
            left = [name for name in names or () if name.startswith(mine)]
            if names is not None and not left:
                return
            for name in left:
                yield from self.commit(Delete(f"{latch}/{name}"))

    def _is_first(self, latch: str, mine: str) -> Steps[bool]:
        names = yield from self._names(latch)
        if names is None:
            return False
        line = sorted(names, key=lambda name: name.rpartition("latch-")[2])
        place = next((at for at, name in enumerate(line) if name.startswith(mine)), None)
        if place is None:
            made = Create(f"{self.root}/{latch}/{mine}", ephemeral=True, sequential=True)
            # Not by `request`, which would make another where only the answer was lost: look for it first.
            future = self.registry.commit(made)
            yield Wait(future.done)
            if not isinstance(future.result(), Landed):
                yield self.sleep(POLL)
            return False
        if place == 0:
            node = yield from self._node(f"{latch}/{line[0]}")
            session = self.registry.session()
            if node is not None and session is not None and node.owner == session.id:
                return True
            yield self.sleep(POLL)
            return False
        before, reconnects = f"{latch}/{line[place - 1]}", self.reconnects
        yield Wait(lambda: before not in self._tree or self.reconnects != reconnects)
        return False

    # The cache: reads what it is told has changed, then says what is different.

    def keep_cache(self) -> Steps[None]:
        seen, gap = -1, True
        while True:
            before = seen
            yield Wait(lambda: self._tree.changes != before)  # noqa: B023 - the thread waits here
            seen = self._tree.changes
            if not self._tree.synced:
                gap = True
                continue
            try:
                self._tree.need(sorted(self._tree))
            except Unread as unread:
                yield from self._read_for_cache(unread.paths)
                seen = -1
                continue
            self._notice({path: self._tree.node(path) for path in sorted(self._tree)}, gap=gap)
            gap, self.loaded = False, True

    def _read_for_cache(self, paths: Sequence[str]) -> Steps[None]:
        future = self.registry.read(paths)
        yield Wait(future.done)
        yield self.pace()

    def _notice(self, now: dict[str, Node], *, gap: bool) -> None:
        """Tell the listeners what changed. After a gap, a node made again looks like one that changed."""
        for path in sorted(self._known.keys() - now.keys()):
            self.events.append(Event(Kind.DELETED, path, self._known[path].data))
        for path, node in now.items():
            old = self._known.get(path)
            if old is None or (old.made != node.made and not gap):
                if old is not None:
                    self.events.append(Event(Kind.DELETED, path, old.data))
                self.events.append(Event(Kind.ADDED, path, node.data))
            elif old.written != node.written:
                self.events.append(Event(Kind.UPDATED, path, node.data))
        self._known = now


def _is_trouble(answer: object) -> bool:
    """Whether this is no answer of the registry, but that there was none: Curator asks again."""
    if isinstance(answer, Refused):
        return answer.why in ("not connected to the registry", "the session has ended")
    return isinstance(answer, Unknown)


# -- the member -------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Run:
    """One shard running in a Java member."""

    item: int
    fire: str
    zombie: str = ""
    """Why nothing in the registry protects it any more, though it goes on; empty while something does."""
    until: float = math.inf
    """The boot clock at which it ends; it is not begun before its mark is written."""


class JavaMember:
    """One Java process with the job.

    `turn` lets its threads go on, `due` says when one wants to although nothing happened. `began` and `ended`
    are told of runs. A run is of a scheduled fire, told by its time, or of `#failover`, `#misfire`,
    `#trigger`, or `#surplus`: what follows when one member takes several shards over.
    """

    def __init__(
        self,
        store: Store,
        config: JobConfig,
        *,
        me: str,
        chance: random.Random,
        began: "Callable[[JavaMember, int, str], None]" = lambda member, item, fire: None,
        ended: "Callable[[JavaMember, int], None]" = lambda member, item: None,
        lengths: Sequence[float] = (0.1,),
        timeout: float = 10.0,
        namespace: str = "/ns",
    ) -> None:
        self.me = me
        self.config = config
        self.registry = store.connect(namespace=namespace, timeout=timeout, patience=30.0)
        self.registry.listener = self._told
        self.runs: dict[int, Run] = {}
        self.paused = False
        """Stopped by a signal: whoever drives it gives it no turns."""
        self.dead = False
        self.stopped = False
        """Told by the deletion of its node to stop, for ever: only a restart brings it back."""
        self.awaits_quiet = False
        """It leads, or did when it last looked, and waits for a moment in which no shard runs."""
        self._store = store
        self._ip = me.partition("@-@")[0]
        self._began, self._ended = began, ended
        self._lengths = lengths
        self._chance = chance
        self._zk = Storage(self.registry, f"{namespace}/{config.name}", chance)
        self._schedule = config.timetable()
        self._goes_round = config.strategy == "SINGLE_SHARDING_BALANCE" and config.shards == 1
        self._states: deque[State] = deque()
        self._quartz_paused = False
        self._asked: deque[str] = deque()
        self._executing = False
        self._threads = [Thread(self._start()), Thread(self._mind_connection())]

    # What drives it

    def turn(self) -> bool:
        """Let every thread that can go one step on; whether any did."""
        now = self.registry.clock.boot()
        order = list(self._threads)
        self._chance.shuffle(order)
        return sum(thread.step(now) for thread in order) > 0

    def due(self) -> float | None:
        waits = [thread.wait.at for thread in self._threads if thread.wait is not None]
        return min((at for at in waits if at is not None), default=None)

    def keeps(self, item: int) -> bool:
        """Whether a shard runs here and others can tell: then nobody else may run it. They cannot tell of a
        zombie, nor where another Java member has taken the mark away."""
        mark = self._store.nodes.get(f"{self._zk.root}/{_running(item)}")
        run = self.runs.get(item)
        return run is not None and not run.zombie and mark is not None and mark.data == self.me

    def crash(self) -> None:
        """The process is gone; its session and its marks are not."""
        self.dead = True
        self._threads.clear()
        self.registry.disconnect(lose_requests=self._chance.random() < 0.5)

    # Start, connection, stop

    def _start(self) -> Steps[None]:
        yield from self._agree_on_config()
        self._threads += [Thread(self._zk.keep_cache()), Thread(self._listen())]
        yield Wait(lambda: self._zk.loaded)
        yield from self._elect()
        yield from self._zk.write(f"servers/{self._ip}", "DISABLED" if self.config.disabled else "ENABLED")
        yield from self._zk.write_ephemeral(f"instances/{self.me}", self._card())
        yield from self._sweep_servers()
        yield from self._quartz()

    def _agree_on_config(self) -> Steps[None]:
        """The registry's settings win over ours, unless ours say otherwise."""
        found = None if self.config.overwrite else (yield from self._zk.direct("config"))
        if found is None:
            yield from self._zk.write("config", elasticjob.write_config(self.config))
            yield from self._zk.commit(Put("", "org.example.Job"))
        else:
            self.config = elasticjob.read_config(found, job=self.config.name)

    def _card(self) -> str:
        return elasticjob.write_instance(elasticjob.Instance(self.me, self._ip))

    def _sweep_servers(self) -> Steps[None]:
        """Remove every server without an instance: an operator's DISABLED along with it, and the server of a
        member that starts at the same moment and has no instance yet."""
        inhabited = {who.partition("@-@")[0] for who in (yield from self._zk.children("instances"))}
        for ip in (yield from self._zk.children("servers")) if inhabited else ():
            if ip not in inhabited and (yield from self._zk.data(f"servers/{ip}")):
                yield from self._zk.remove_if_there(f"servers/{ip}")

    def _told(self, state: State, session: Session | None) -> None:
        self._states.append(state)
        if state is State.CONNECTED:
            self._zk.reconnects += 1
        if state is State.LOST:
            for run in self.runs.values():
                run.zombie = run.zombie or "its session was lost"

    def _mind_connection(self) -> Steps[None]:
        while True:
            yield Wait(lambda: bool(self._states))
            state = self._states.popleft()
            if self.stopped:
                continue
            if state is State.CONNECTED:
                yield from self._reconnected()
            self._quartz_paused = state is not State.CONNECTED

    def _reconnected(self) -> Steps[None]:
        """The blink: the node is deleted and made again in a session that never ended, and the marks are
        taken from shards that still run."""
        enabled = yield from self._server_enabled(self._ip)
        yield from self._zk.write(f"servers/{self._ip}", "ENABLED" if enabled else "DISABLED")
        yield from self._zk.write_ephemeral(f"instances/{self.me}", self._card())
        for item in (yield from self._local_items()):
            yield from self._zk.remove_if_there(_running(item))
            if item in self.runs:
                self.runs[item].zombie = self.runs[item].zombie or "its own reconnect took its mark away"

    def _stop(self) -> Steps[None]:
        """Shut the job down here. What runs goes on to its end."""
        if (yield from self._is_leader()):
            yield from self._zk.remove_if_there(LEADER)
        self.stopped = True

    # Listeners: one thread, one event after the other, and a listener that blocks keeps all others waiting

    def _listen(self) -> Steps[None]:
        listeners = (
            self._on_election,
            self._on_abdication,
            self._on_membership,
            self._on_crash,
            self._on_coming_back_alone,
            self._on_order_to_stop,
            self._on_trigger,
        )
        while not self.stopped:
            yield Wait(lambda: bool(self._zk.events))
            event = self._zk.events.popleft()
            for listener in listeners:
                if not self.stopped:
                    yield from listener(event)

    def _on_election(self, event: Event) -> Steps[None]:
        if event.path == f"servers/{self._ip}" and event.data != "DISABLED":
            if not (yield from self._zk.exists(LEADER)):
                yield from self._elect()
        elif (event.kind, event.path) == (Kind.DELETED, LEADER) and (
            yield from self._server_available(self._ip)
        ):
            yield from self._elect()

    def _on_abdication(self, event: Event) -> Steps[None]:
        disabled = event.path == f"servers/{self._ip}" and event.data == "DISABLED"
        if disabled and (yield from self._is_leader()):
            yield from self._zk.remove_if_there(LEADER)

    def _on_membership(self, event: Event) -> Steps[None]:
        instances = event.path.startswith("instances") and event.kind is not Kind.UPDATED
        if not instances and not event.path.startswith("servers/"):
            return
        if self.config.static_sharding and (yield from self._zk.children("sharding")):
            return
        if (yield from self._is_leader_at_last()):
            yield from self._zk.create_if_needed(NECESSARY)

    def _on_crash(self, event: Event) -> Steps[None]:
        """Put up what a vanished member was running. Only what it had taken over, if it had: never both."""
        folder, _, who = event.path.partition("/")
        if not self.config.failover or folder != "instances" or event.kind is not Kind.DELETED:
            return
        if not who or who == self.me:
            return
        taken = yield from self._items_where("failovering", who)
        for item in taken:
            yield from self._zk.create_if_needed(f"{WAITING}/{item}")
            yield from self._zk.remove_if_there(_running(item))
            yield from self._take_over()
        if taken or not (yield from self._server_enabled(who.partition("@-@")[0])):
            return
        for item in range(self.config.shards):
            owned = (yield from self._zk.data(f"sharding/{item}/instance")) == who
            if owned and (yield from self._zk.exists(_running(item))):
                yield from self._put_up(item)
                yield from self._take_over()

    def _put_up(self, item: int) -> Steps[None]:
        if not (yield from self._zk.exists(f"sharding/{item}/failover")):
            yield from self._zk.create_if_needed(f"{WAITING}/{item}")
            yield from self._zk.remove_if_there(_running(item))

    def _on_coming_back_alone(self, event: Event) -> Steps[None]:
        """The first one back after all crashed puts up what the dead left, if it is still the only one."""
        mine = (event.kind, event.path) == (Kind.ADDED, f"instances/{self.me}")
        if not mine or not self.config.failover or (yield from self._available()) != [self.me]:
            return
        left = False
        for item in (yield from self._items()):
            taker = yield from self._zk.direct(f"sharding/{item}/failovering")
            runner = yield from self._zk.direct(_running(item))
            if taker not in (None, self.me):
                yield from self._zk.create_if_needed(f"{WAITING}/{item}")
                yield from self._zk.remove_if_there(f"sharding/{item}/failovering")
                yield from self._zk.remove_if_there(_running(item))
            elif runner not in (None, self.me):
                yield from self._put_up(item)
            left = left or taker is not None or runner is not None
        if left:
            yield from self._take_over()

    def _on_order_to_stop(self, event: Event) -> Steps[None]:
        mine = f"instances/{self.me}"
        if (event.kind, event.path) != (Kind.DELETED, mine) or self._quartz_paused:
            return
        if not (yield from self._zk.exists(mine)):
            yield from self._stop()

    def _on_trigger(self, event: Event) -> Steps[None]:
        """Fire now, unless something runs here: then the request is lost."""
        if (event.kind, event.path) != (Kind.ADDED, f"trigger/{self.me}"):
            return
        yield from self._zk.remove_if_there(event.path)
        if not self._executing:
            self._asked.append("#trigger")

    # Election

    def _elect(self) -> Steps[None]:
        yield from self._zk.in_latch(ELECTION, self._lead)

    def _lead(self) -> Steps[None]:
        if not (yield from self._zk.exists(LEADER)):
            yield from self._zk.write_ephemeral(LEADER, self.me)

    def _is_leader(self) -> Steps[bool]:
        return not self.stopped and (yield from self._zk.data(LEADER)) == self.me

    def _is_leader_at_last(self) -> Steps[bool]:
        """Whether we lead; asked for as long as nobody does and somebody could."""
        while not (yield from self._zk.exists(LEADER)) and (yield from self._any_server_available()):
            yield self._zk.sleep(POLL)
            if not self.stopped and (yield from self._server_available(self._ip)):
                yield from self._elect()
        return (yield from self._is_leader())

    # Servers and instances

    def _server_enabled(self, ip: str) -> Steps[bool]:
        for _ in range(10):
            status = yield from self._zk.data(f"servers/{ip}")
            if status:
                return status == "ENABLED"
            yield self._zk.sleep(POLL)
        return False

    def _server_available(self, ip: str) -> Steps[bool]:
        if not (yield from self._server_enabled(ip)):
            return False
        return any(who.startswith(ip) for who in (yield from self._zk.children("instances")))

    def _any_server_available(self) -> Steps[bool]:
        for ip in (yield from self._zk.children("servers")):
            if (yield from self._server_available(ip)):
                return True
        return False

    def _available(self) -> Steps[list[str]]:
        """The instances that can be given shards, in ElasticJob's order."""
        found = []
        for who in (yield from self._zk.children("instances")):
            card = yield from self._zk.data(f"instances/{who}")
            if card and (yield from self._server_enabled(elasticjob.read_instance(card).server_ip)):
                found.append(who)
        return found

    # Sharding: inside a fire, by the leader; everybody else waits for it there

    def _shard_if_necessary(self) -> Steps[None]:
        available = yield from self._available()
        if not (yield from self._zk.exists(NECESSARY)) or not available:
            return
        if not (yield from self._is_leader_at_last()):
            yield from self._await_sharding()
            return
        self.awaits_quiet = True
        while (yield from self._any_running(range(self.config.shards))):
            yield self._zk.sleep(POLL)
        self.awaits_quiet = False
        yield from self._zk.direct("config")
        yield from self._zk.write_ephemeral(PROCESSING, "")
        yield from self._forget_owners()
        owners = self._assign(available)  # of those who were there before the wait
        yield from self._zk.commit(
            *(Require(f"sharding/{item}") for item in owners),
            *(Create(f"sharding/{item}/instance", who) for item, who in owners.items()),
            Delete(NECESSARY),
            Delete(PROCESSING),
        )

    def _await_sharding(self) -> Steps[None]:
        while not (yield from self._is_leader_at_last()):
            if not (yield from self._zk.exists(NECESSARY)) and not (yield from self._zk.exists(PROCESSING)):
                return
            yield self._zk.sleep(POLL)

    def _any_running(self, items: Sequence[int]) -> Steps[bool]:
        for item in items if self.config.monitor_execution else ():
            if (yield from self._zk.exists(_running(item))):
                return True
        return False

    def _forget_owners(self) -> Steps[None]:
        for item in range(self.config.shards):
            yield from self._zk.remove_if_there(f"sharding/{item}/instance")
            yield from self._zk.create_if_needed(f"sharding/{item}")
        count = len((yield from self._zk.children("sharding")))
        for item in range(self.config.shards, count):
            yield from self._zk.remove_if_there(f"sharding/{item}")

    def _assign(self, available: list[str]) -> dict[int, str]:
        name = self.config.strategy
        question = strategies.Question(
            self.config.name, available, self.config.shards, self.registry.clock.wall()
        )
        # What Java does not know it takes for its default.
        known = name in kinds.ELASTICJOB_STRATEGIES
        return strategies.answer(name if known else "AVG_ALLOCATION", question)

    def _items(self) -> Steps[list[int]]:
        return sorted(int(name) for name in (yield from self._zk.children("sharding")))

    def _items_where(self, mark: str, who: str) -> Steps[list[int]]:
        found = []
        for item in (yield from self._items()):
            if (yield from self._zk.direct(f"sharding/{item}/{mark}")) == who:
                found.append(item)
        return found

    def _local_items(self) -> Steps[list[int]]:
        if self.stopped or not (yield from self._server_available(self._ip)):
            return []
        found = []
        for item in range(self.config.shards):
            if (yield from self._zk.data(f"sharding/{item}/instance")) == self.me:
                found.append(item)
        return found

    def _without(self, items: Sequence[int], mark: str) -> Steps[list[int]]:
        """Those of these shards that have no such mark."""
        found = []
        for item in items:
            if not (yield from self._zk.exists(f"sharding/{item}/{mark}")):
                found.append(item)
        return found

    # Failover

    def _may_take_over(self) -> Steps[bool]:
        return not self._executing and bool((yield from self._zk.children(WAITING)))

    def _take_over(self) -> Steps[None]:
        if self.config.failover and (yield from self._may_take_over()):
            yield from self._zk.in_latch(FAILOVER, self._take_one)

    def _take_one(self) -> Steps[None]:
        if self.stopped or not (yield from self._may_take_over()):
            return
        waiting = yield from self._zk.children(WAITING)
        if waiting:
            item = waiting[0]
            yield from self._zk.write_ephemeral(f"sharding/{item}/failover", self.me)
            yield from self._zk.write(f"sharding/{item}/failovering", self.me)
            yield from self._zk.remove_if_there(f"{WAITING}/{item}")
            self._asked.append("#failover")

    # Fires: Quartz has one thread, which is busy from a fire to the end of all that follows from it

    def _quartz(self) -> Steps[None]:
        assert self._schedule is not None
        clock = self.registry.clock
        fire, fired = self._schedule.next(clock.wall()), False
        while not self.stopped and fire is not None:
            yield Wait(lambda: self.stopped or not self._quartz_paused)
            if clock.wall() > fire + THRESHOLD:
                if fired:
                    yield from self._miss((yield from self._local_items()))
                fire = self._schedule.next(clock.wall())
                continue
            at = clock.boot() + (fire - clock.wall()).total_seconds()
            yield Wait(lambda: self.stopped or self._quartz_paused or bool(self._asked), at)
            if self.stopped or self._quartz_paused:
                continue
            if self._asked:
                yield from self._execute(self._asked.popleft())
                continue
            name, fire, fired = _name(fire), self._schedule.next(fire), True
            yield from self._execute(name)

    def _execute(self, fire: str) -> Steps[None]:
        items, fire = yield from self._what_to_run(fire)
        if (yield from self._any_running(items)):
            yield from self._miss(items)
            return
        yield from self._run(items, fire)
        while (yield from self._has_misfired(items)):
            for item in items:
                yield from self._zk.remove_if_there(f"sharding/{item}/misfire")
            yield from self._run(items, "#misfire")
        yield from self._take_over()

    def _what_to_run(self, fire: str) -> Steps[tuple[list[int], str]]:
        """The shards of a fire: what we have taken over and nothing else, or what is ours and free to run."""
        if self.config.failover:
            taken = yield from self._items_where("failover", self.me)
            if taken:
                return taken, "#failover"
        items = yield from self._given()
        if self.config.failover:
            items = yield from self._without(items, "failover")
        items = yield from self._without(items, "disabled")
        if self.config.monitor_execution:
            items = yield from self._without(items, "running")
        return items, "#surplus" if fire == "#failover" else fire

    def _given(self) -> Steps[list[int]]:
        """What is ours; the one shard that goes round is whose turn it is, unless it is to be shared out."""
        if self._goes_round and not (yield from self._zk.exists(NECESSARY)):
            address = yield from self._zk.direct(NEXT)
            if address:
                return [0] if address == self._ip and not self.stopped else []
        yield from self._shard_if_necessary()
        return (yield from self._local_items())

    def _pass_on(self) -> Steps[None]:
        """Say whose turn is next."""
        if not self._goes_round:
            return
        addresses = [who.partition("@-@")[0] for who in (yield from self._available())]
        if addresses:
            here = addresses.index(self._ip) if self._ip in addresses else -1
            yield from self._zk.write_ephemeral(NEXT, addresses[(here + 1) % len(addresses)])

    def _miss(self, items: Sequence[int]) -> Steps[None]:
        for item in items:
            yield from self._zk.create_if_needed(f"sharding/{item}/misfire")

    def _has_misfired(self, items: Sequence[int]) -> Steps[bool]:
        if not self.config.misfire or not items or (yield from self._zk.exists(NECESSARY)):
            return False
        return len((yield from self._without(items, "misfire"))) < len(items)

    def _run(self, items: Sequence[int], fire: str) -> Steps[None]:
        if not items:
            return
        self._executing = True
        for item in items:
            unmarked = "" if (yield from self._mark(item)) else "its mark was never written"
            self.runs[item] = Run(item, fire, unmarked)
        for run in self.runs.values():
            run.until = self.registry.clock.boot() + self._chance.choice(self._lengths)
            self._began(self, run.item, fire)
        for run in sorted(self.runs.values(), key=lambda run: (run.until, run.item)):
            yield Wait(at=run.until)
            del self.runs[run.item]
            self._ended(self, run.item)
        self._executing = False
        yield from self._unmark(items)
        yield from self._pass_on()

    def _mark(self, item: int) -> Steps[bool]:
        """Overwrites whatever mark stands: it was asked before whether one does."""
        if not self.config.monitor_execution:
            return True
        if self.config.failover:
            return (yield from self._zk.write(_running(item), self.me))
        return (yield from self._zk.write_ephemeral(_running(item), self.me))

    def _unmark(self, items: Sequence[int]) -> Steps[None]:
        for item in items if self.config.monitor_execution else ():
            yield from self._zk.remove_if_there(_running(item))
        for item in items if self.config.failover else ():
            yield from self._zk.remove_if_there(f"sharding/{item}/failover")
            yield from self._zk.remove_if_there(f"sharding/{item}/failovering")


def _running(item: int) -> str:
    return f"sharding/{item}/running"


def _name(fire: datetime) -> str:
    """What a scheduled fire is called, here as among ours."""
    return fire.astimezone(UTC).isoformat()
