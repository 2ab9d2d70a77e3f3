"""A cluster in one thread: processes, one store, one clock, and a seed that decides all that chance decides.

Processes are the real thing: real members making real decisions over the memory registry, which is as weak as
ZooKeeper. The world only moves the clock, breaks things, and remembers what it saw.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from shardwright import coordination
from shardwright.clock import HandClock
from shardwright.coordination.ending import CUT_SHORT
from shardwright.coordination.step import Claim, Look, Step
from shardwright.coordination.view import View
from shardwright.jobs import JobConfig
from shardwright.registry import Create, Delete, Put, State
from shardwright.registry.memory import MemoryRegistry, Store
from shardwright.runtime.member import Member

START = datetime(2030, 1, 1, tzinfo=UTC)
ROOT = "/ns/job"


@dataclass
class Process:
    """One process: its connection, its member, and what it is running."""

    name: str
    registry: MemoryRegistry
    member: Member
    running: dict[tuple[int, str], int] = field(default_factory=dict)
    paused: bool = False
    dead: bool = False


@dataclass(frozen=True)
class Started:
    """One run that began."""

    at: float
    who: str
    claim: Claim
    token: int


class World:
    def __init__(
        self,
        seed: int,
        config: JobConfig,
        *,
        timeout: float = 10.0,
        lengths: tuple[float, ...] = (0.1, 0.5, 2.0, 12.0, 25.0),
        decide: Callable[[View], Iterable[Step | Look]] = coordination.decide,
    ) -> None:
        self.random = random.Random(seed)
        self.clock = HandClock(START)
        self.store = Store(self.clock)
        self.config = config
        self.timeout = timeout
        self.lengths = lengths
        self.decide = decide
        self.processes: dict[str, Process] = {}
        self.started: list[Started] = []
        self.finished: set[tuple[int, str, int]] = set()
        self.orphaned: list[Claim] = []
        """What ran in processes that crashed."""
        self.log: list[str] = []
        self.seen: Counter[str] = Counter()
        self.looks = 0
        self._names = 0
        self._ids = 0
        self._operator = self.store.connect(namespace="/ns")
        self._accepted: dict[int, int] = {}
        self.violation: str | None = None

    # -- what happens -------------------------------------------------------------------------------

    def join(self) -> Process:
        self._names += 1
        name = f"p{self._names}"
        address = f"10.0.0.{self._names % 6 + 1}"
        registry = self.store.connect(namespace="/ns", timeout=self.timeout, patience=5.0)
        process: Process

        def identity() -> str:
            self._ids += 1
            return f"{address}@-@{self._names}-{self._ids:04x}"

        member = Member(
            registry,
            self.config,
            identity=identity,
            work=lambda claim, token: self._begin(process, claim, token),
            cancel=lambda item, attempt: self._cancel(process, item, attempt),
            decide=self.decide,
            chance=random.Random(self.random.random()),
        )
        process = self.processes[name] = Process(name, registry, member)
        registry.listener = lambda state, session: self._told(process, state)
        self._note(f"{name} joins")
        return process

    def crash(self, process: Process) -> None:
        self._note(f"{process.name} crashes, running {sorted(process.running)}")
        process.dead = True
        self.orphaned += [
            started.claim
            for started in self.started
            if started.who == process.name and (started.claim.item, started.claim.attempt) in process.running
        ]
        process.running.clear()
        process.registry.disconnect(lose_requests=self.random.random() < 0.5)
        del self.processes[process.name]

    def operator(self, *writes: Create | Put | Delete) -> None:
        self._operator.commit(*writes)
        self._operator.pump()

    def advance(self, seconds: float) -> None:
        """Let time pass, everybody taking turns whenever something is due or has come in."""
        end = self.clock.boot() + seconds
        while True:
            self.settle()
            following = [
                at for process in self._awake() for at in (process.member.due(), process.registry.due()) if at
            ]
            event = self.clock.next_due()
            now = self.clock.boot()
            upcoming = min([at for at in (*following, event) if at is not None and at > now], default=end)
            if upcoming >= end:
                self.clock.advance(end - now)
                self.settle()
                return
            self.clock.advance(upcoming - now)

    def settle(self) -> None:
        """Everybody who can looks, until nothing moves at this moment."""
        for _ in range(200):
            moved = False
            everybody = self._awake()
            self.random.shuffle(everybody)
            for process in everybody:
                moved |= process.registry.pump()
                looked = process.member.turn()
                self.looks += looked
                moved |= looked
            if self.violation is not None:
                raise AssertionError(self.violation)
            if not moved:
                return
        raise AssertionError("the cluster does not come to rest\n" + self.story())

    def _awake(self) -> list[Process]:
        return [process for process in self.processes.values() if not process.paused]

    # -- runs ---------------------------------------------------------------------------------------

    def _begin(self, process: Process, claim: Claim, token: int) -> None:
        assert not process.dead
        self._note(
            f"{process.name} runs {claim.item} for {claim.fire[11:19]} ({claim.source.value}, {token})"
        )
        self.seen[claim.source.value] += 1
        key = (claim.item, claim.attempt)
        for started in self.started:
            same = (started.claim.item, started.claim.fire) == (claim.item, claim.fire)
            assert not (same and started.claim.tries == claim.tries), (
                f"started twice: {claim}\n{self.story()}"
            )
            if started.claim.item == claim.item and token <= started.token:
                self._object(f"the token did not grow: {claim} {token}")
        for other in self.processes.values():
            holders = [k for k in other.running if k[0] == claim.item]
            lease = other.registry._session
            alive = lease is not None and lease.lease_left() > 0 and self.store.is_alive(lease.id)
            if holders and alive:
                self._object(f"shard {claim.item} runs on {other.name} too")
        self.started.append(Started(self.clock.boot(), process.name, claim, token))
        process.running[key] = token
        length = self._length()
        self.clock.at(self.clock.boot() + length, lambda: self._end(process, claim, token))

    def _length(self) -> float:
        """How long a run takes: by chance, or one after the other where there are only a few lengths."""
        if len(self.lengths) > 2:
            return self.random.choice(self.lengths)
        return self.lengths[min(len(self.started), len(self.lengths)) - 1]

    def _end(self, process: Process, claim: Claim, token: int) -> None:
        if process.dead or (claim.item, claim.attempt) not in process.running:
            return
        if process.paused:
            self.clock.at(self.clock.boot() + 1.0, lambda: self._end(process, claim, token))
            return
        process.running.pop((claim.item, claim.attempt), None)
        if token >= self._accepted.get(claim.item, 0):
            self._accepted[claim.item] = token
        else:
            self.seen["stale effect refused"] += 1
        self.finished.add((claim.item, claim.fire, claim.tries))
        process.member.finished(claim.item, claim.attempt, "ok")

    def _cancel(self, process: Process, item: int, attempt: str) -> None:
        if process.running.pop((item, attempt), None) is not None:
            self._note(f"{process.name} cancels {item}")
            self.seen["cancelled"] += 1
            process.member.finished(item, attempt, CUT_SHORT)

    def _told(self, process: Process, state: State) -> None:
        self._note(f"{process.name} is {state.value}")
        self.seen[state.value] += 1
        if state is State.LOST:
            for item, attempt in list(process.running):
                self._cancel(process, item, attempt)

    def _object(self, what: str) -> None:
        """Something happened that must not. Kept, because whoever called us may swallow what we raise."""
        if self.violation is None:
            self.violation = f"{what}\n{self.story()}"

    def _note(self, what: str) -> None:
        self.log.append(f"{self.clock.boot():8.2f} {what}")

    def story(self, lines: int = 60) -> str:
        tree = "\n".join(
            f"    {path} = {node.data}" for path, node in sorted(self.store.nodes.items()) if node.data
        )
        return "\n".join(self.log[-lines:]) + "\n" + tree
