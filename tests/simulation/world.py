"""A cluster in one thread: processes, one store, one clock, and a seed that decides all that chance
decides.

Processes are the real thing: real members making real decisions over the memory registry, which is as
weak as ZooKeeper. Java members are modelled. The world only moves the clock, breaks things, and remembers
what it saw.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from shardwright import coordination
from shardwright.clock import HandClock
from shardwright.coordination import settings
from shardwright.coordination.step import Claim, Look, Step
from shardwright.coordination.view import Hooks, View
from shardwright.jobs import JobConfig
from shardwright.outcomes import CUT_SHORT, FAILED, OK, SUPERSEDED, TIMED_OUT
from shardwright.registry import Create, Delete, Put, State
from shardwright.registry.memory import MemoryRegistry
from shardwright.runtime.member import Member
from shardwright.runtime.runs import Running

from .books import Books, Teller
from .hands import Hands
from .java import JavaMember
from .promises import Observed, Watch

START = datetime(2030, 1, 1, tzinfo=UTC)
ROOT = "/ns/job"

#: Settings that make no sense.
NONSENSE = "cron: '* * *'\nshardingTotalCount: 0\n"

#: How long a hook takes.
HOOK = 0.3

#: From which try on a run is one that somebody asked for again.
RERUN = 1000

#: How far apart the first tries of what is asked for again are: who dies over one is followed by the next.
TRIES = 10


@dataclass
class Process:
    """One process: its connection, its member, and what it is running."""

    name: str
    registry: MemoryRegistry
    member: Member
    running: dict[tuple[int, str], int] = field(default_factory=dict)
    paused: bool = False
    dead: bool = False
    slow: bool = False
    session: str = ""
    hands: Hands | None = None


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
        hooks: Hooks | None = None,
        registry: type[MemoryRegistry] = MemoryRegistry,
        member: type[Member] = Member,
        running: type[Running] = Running,
    ) -> None:
        self.random = random.Random(seed)
        self.clock = HandClock(START)
        self.store = Observed(self.clock)
        self.config = config
        self._good = config
        self.timeout = timeout
        self.lengths = lengths
        self.decide = decide
        self.hooks = hooks or Hooks()
        self.processes: dict[str, Process] = {}
        self.javas: dict[str, JavaMember] = {}
        self.started: list[Started] = []
        self.java_runs: list[tuple[float, str, int, str]] = []
        self.calls: list[tuple[float, str, str, str]] = []
        """Which hook was called when, by whom and for which fire."""
        self.finished: set[tuple[int, str, int]] = set()
        self.ends: dict[tuple[int, str], str] = {}
        """How each run came out that came to its end, by shard and attempt."""
        self.trouble: random.Random | None = None
        """The chance by which tries fail, where any do."""
        self.vetoes: random.Random | None = None
        """The chance by which what is called before all shards fails, where it does."""
        self.vetoed: set[str] = set()
        """The fires whose shards were not to begin."""
        wishes = random.Random(f"wishes {seed}")
        self.wishes = wishes if wishes.random() < 0.3 else None
        """The chance by which somebody asks for fires of the past, where anybody does."""
        self.asked: dict[int, str] = {}
        """With which parameter somebody asked for a run, by the number of the request."""
        self.rerun: list[tuple[int, str, int]] = []
        """Which fires of the past were asked for again, of which shard, as which try."""
        self.wanted: dict[int, int] = {}
        """How many of them each shard was still to run when all was mended."""
        self.orphaned: list[Claim] = []
        """What ran in processes that crashed."""
        self.log: list[str] = []
        self.seen: Counter[str] = Counter()
        self.looks = 0
        self.steady = True
        """Whether nobody has changed the settings or the clock."""
        self.stepped = False
        self.quiet = False
        """Whether nothing is broken any more, and only time passes."""
        self.rare: tuple[Callable[[World, Process], None], ...] = ()
        """What happens to processes now and then."""
        self.violation: str | None = None
        self._registry, self._member, self._running = registry, member, running
        self._names = 0
        self._ids = 0
        self._ours: set[str] = set()
        self._operator = self.store.connect(namespace="/ns")
        self._accepted: dict[int, int] = {}
        self._latest: dict[int, Started] = {}
        self._tries: set[tuple[int, str, int]] = set()
        self._calling: dict[tuple[str, str], tuple[Process, str]] = {}
        self.called: set[tuple[str, str]] = set()
        """Which hooks have been called for which fires, and it was told."""
        self.watch = self.store.watch = Watch(self)
        self.books = Books(self, seed)

    # -- what happens -------------------------------------------------------------------------------

    def join(self, **changes: object) -> Process:
        self._names += 1
        name = f"p{self._names}"
        address = f"10.0.0.{self._names % 6 + 1}"
        registry = self._registry(self.store, namespace="/ns", timeout=self.timeout, patience=5.0)
        process: Process

        def identity() -> str:
            self._ids += 1
            return f"{address}@-@{self._names}-{self._ids:04x}"

        member = self._member(
            registry,
            self.config.replace(**changes),
            identity=identity,
            work=lambda claim, token: self._begin(process, claim, token),
            cancel=lambda item, attempt: self._cancel(process, item, attempt),
            supersede=lambda item, attempt: self._cancel(process, item, attempt, SUPERSEDED),
            call=lambda hook: self._call(process, hook.round, hook.fire),
            hooks=self.hooks,
            witness=Teller(lambda *told: self.books.tell(process, *told)),
            decide=self.decide,
            chance=random.Random(self.random.random()),
        )
        process = self.processes[name] = Process(name, registry, member, session=registry._link.session)
        process.hands = Hands(self, process, self._running)
        registry.listener = lambda state, session: self._told(process, state)
        self.note(f"{name} joins")
        self.changed()
        return process

    def join_java(self, *, lengths: tuple[float, ...] | None = None) -> JavaMember:
        self._names += 1
        member = JavaMember(
            self.store,
            self.settings,
            me=f"10.0.1.{self._names}@-@{self._names}00",
            chance=random.Random(self.random.random()),
            began=self._java_begins,
            ended=self._java_ends,
            lengths=lengths or self.lengths,
            timeout=self.timeout,
        )
        self.javas[member.me] = member
        self.note(f"{member.me} joins")
        self.changed()
        return member

    def crash(self, process: Process) -> None:
        self.note(f"{process.name} crashes, running {sorted(process.running)}")
        process.dead = True
        self.orphaned += [  # of several runs of one shard, only the newest is looked after
            started.claim
            for started in self._latest.values()
            if started.who == process.name and (started.claim.item, started.claim.attempt) in process.running
        ]
        process.running.clear()
        process.registry.disconnect(lose_requests=self.random.random() < 0.5)
        del self.processes[process.name]
        self.changed()

    def crash_java(self, member: JavaMember) -> None:
        self.note(f"{member.me} crashes, running {sorted(member.runs)}")
        member.crash()
        del self.javas[member.me]
        self.changed()

    def operator(self, *writes: Create | Put | Delete) -> None:
        self._operator.commit(*writes)
        self._operator.pump()
        self.changed()

    def step_clock(self, seconds: float) -> None:
        self.clock.set_wall(self.clock.wall() + timedelta(seconds=seconds))
        self.stepped = True
        self.changed()

    def changed(self) -> None:
        self.watch.last_change = self.clock.boot()

    def advance(self, seconds: float) -> None:
        """Let time pass, everybody taking turns whenever something is due or has come in."""

        def settle() -> None:
            self.settle()
            self.watch.moment()

        def moments() -> Iterator[float | None]:
            for process in self._awake():
                yield process.due() if isinstance(process, JavaMember) else process.member.due()
                yield process.registry.due()

        self.clock.pass_time(seconds, settle, moments)

    def settle(self) -> None:
        """Everybody who can looks, until nothing moves at this moment."""
        for _ in range(400):
            moved = False
            everybody = self._awake()
            self.random.shuffle(everybody)
            for process in everybody:
                moved |= process.registry.pump()
                if isinstance(process, JavaMember):
                    moved |= process.turn()
                else:
                    looked = process.member.turn()
                    self.looks += looked
                    moved |= looked
            if self.violation is not None:
                raise AssertionError(self.violation)
            if not moved:
                return
        raise AssertionError("the cluster does not come to rest\n" + self.story())

    def _awake(self) -> list[Process | JavaMember]:
        everybody: list[Process | JavaMember] = [*self.processes.values(), *self.javas.values()]
        return [process for process in everybody if not process.paused]

    # -- who is who ---------------------------------------------------------------------------------

    def data(self, path: str) -> str | None:
        node = self.store.nodes.get(path)
        return None if node is None else node.data

    @property
    def made(self) -> int:
        """The number of the commit that made the job; 0 where it is not there."""
        job = self.store.nodes.get(ROOT)
        return 0 if job is None else job.made

    def members(self) -> list[str]:
        """The instances that are in the job, as the store sees it."""
        return [path.rpartition("/")[2] for path in self.store.nodes if path.startswith(f"{ROOT}/instances/")]

    def may_work(self, member: str) -> bool:
        own = "/ns~shardwright/job/watched"
        alive = f"{own}/alive/{member}" in self.store.nodes or "-" not in member.partition("@-@")[2]
        enabled = self.data(f"{ROOT}/servers/{member.partition('@-@')[0]}") not in (None, "", "DISABLED")
        return alive and enabled and f"{own}/draining/{member}" not in self.store.nodes

    def session_of(self, member: str) -> str | None:
        node = self.store.nodes.get(f"/ns~shardwright/job/watched/alive/{member}")
        return node.owner if node is not None else None

    @property
    def settings(self) -> JobConfig:
        """What the members should have agreed on: the last settings in the registry that made sense."""
        text = self.data(f"{ROOT}/config")
        if text is not None and text != NONSENSE:
            self._good = settings.parse(text)
        return self._good

    def who(self, session: str) -> str | None:
        """Which of our processes a session belongs to."""
        for process in self.processes.values():
            if process.registry._session is not None and process.registry._session.id == session:
                self._ours.add(session)
                return process.name
        return None

    def was_ours(self, session: str) -> bool:
        """Whether a session belongs to one of our processes, or did to one that has died."""
        return self.who(session) is not None or session in self._ours

    # -- runs ---------------------------------------------------------------------------------------

    def _begin(self, process: Process, claim: Claim, token: int) -> None:
        assert not process.dead
        self.note(f"{process.name} runs {claim.item} for {claim.fire[11:19]} ({claim.source.value}, {token})")
        self.seen[f"{claim.source.value} run"] += 1
        self.seen["claim found again"] += self.watch.claims.get((claim.item, claim.attempt), token) < token
        self.seen["failover of a failover"] += claim.tries > 2
        key = (claim.item, claim.fire, claim.tries)
        if key in self._tries:
            self.object(f"started twice: {claim}")
        self.seen["run once more"] += claim.tries >= RERUN
        if 1 < claim.tries < RERUN and self.settings.delivery == "at_most_once":
            self.object(f"started again, although at most once was asked for: {claim}")
        self._tries.add(key)
        if not self._is_alive(process):
            self.object(f"{process.name} begins although it may be given up: {claim}")
        held = self.watch.cursor(claim.item)
        if held.run is None or (held.run.by, held.run.attempt) != (process.member.me, claim.attempt):
            self.object(f"{process.name} begins what is not claimed for it: {claim} {held}")
        if claim.item in self._latest and token <= self._latest[claim.item].token:
            self.object(f"the token did not grow: {claim} {token}")
        self._runs_nowhere_else(claim.item)
        self._has_a_place(claim)
        if claim.fire.startswith("#") and claim.parameter != self.asked.get(int(claim.fire[1:]), ""):
            self.object(f"begun with another parameter than was asked for: {claim}")
        if self.hooks.started and not self._may_begin(claim):
            self.object(f"begun before all were claimed and the hook was called: {claim}")
        self._latest[claim.item] = Started(self.clock.boot(), process.name, claim, token)
        self.started.append(self._latest[claim.item])
        if claim.fire in self.vetoed and claim.tries < RERUN:
            self.object(f"begun although what was called before it forbids it: {claim}")
        process.running[claim.item, claim.attempt] = token
        assert process.hands is not None
        process.hands.begin(claim, token)

    def may_try_again(self, process: Process, claim: Claim) -> None:
        """A try follows another: nobody may have begun the shard since. Only one that the registry gave up
        before its time, and that has not heard of it yet, cannot be kept from it."""
        lease = process.registry._session
        if lease is None or lease.lease_left() <= 0:
            self.object(f"{process.name} tries again although it may be given up: {claim}")
        elif not self.store.is_alive(lease.id):
            return
        token = process.running.pop((claim.item, claim.attempt))
        self._runs_nowhere_else(claim.item)
        process.running[claim.item, claim.attempt] = token

    def _runs_nowhere_else(self, item: int) -> None:
        if self.settings.overlap == "allow":
            runs = [each for process in self.processes.values() for each, _ in process.running]
            self.seen["run beside another"] += item in runs
            return
        for java in self.javas.values():
            if (
                java.keeps(item) and not self.hooks.started
            ):  # a Java member may take what we have claimed and hold
                self.object(f"shard {item} runs on {java.me} too")
        for other in self.processes.values():
            if self._is_alive(other) and any(running == item for running, _ in other.running):
                self.object(f"shard {item} runs on {other.name} too")

    def _has_a_place(self, claim: Claim) -> None:
        most = self.settings.concurrency
        if self.settings.group is None or most is None:
            return
        running = sum(len(process.running) for process in self.processes.values() if self._is_alive(process))
        self.seen["all places taken"] += running + 1 == most
        if running >= most:
            self.object(f"the group has {most} places, and {running} run beside {claim}")

    def _is_alive(self, process: Process) -> bool:
        """Whether neither the process nor the store has given up its session."""
        lease = process.registry._session
        return lease is not None and lease.lease_left() > 0 and self.store.is_alive(lease.id)

    def length(self) -> float:
        """How long a run takes: by chance, or one after the other where there are only a few lengths."""
        if len(self.lengths) > 2:
            return self.random.choice(self.lengths)
        return self.lengths[min(len(self.started), len(self.lengths)) - 1]

    def ended(self, process: Process, claim: Claim, token: int, outcome: str) -> None:
        """A run has come to its end, and its process is told."""
        process.running.pop((claim.item, claim.attempt), None)
        self.ends[claim.item, claim.attempt] = outcome
        if outcome in (FAILED, TIMED_OUT):
            self.note(f"{process.name} has run {claim.item}: {outcome}")
            self.seen[outcome] += 1
        if outcome == OK:
            if token >= self._accepted.get(claim.item, 0):
                self._accepted[claim.item] = token
            else:
                self.seen["stale effect refused"] += 1
            self.finished.add((claim.item, claim.fire, claim.tries))
        process.member.finished(claim.item, claim.attempt, outcome)

    def _cancel(self, process: Process, item: int, attempt: str, outcome: str = CUT_SHORT) -> None:
        if (item, attempt) in process.running and process.hands is not None:
            self.note(f"{process.name} cancels {item}: {outcome}")
            self.seen["cancelled" if outcome == CUT_SHORT else outcome] += 1
            process.hands.cancel(item, attempt, outcome)

    def _java_begins(self, member: JavaMember, item: int, fire: str) -> None:
        self.note(f"{member.me} runs {item} for {fire}")
        self.seen["java run"] += 1
        beside = [other for other in self.processes.values() if any(run == item for run, _ in other.running)]
        self.seen["java run beside ours"] += bool(beside)
        self.java_runs.append((self.clock.boot(), member.me, item, fire))

    def _java_ends(self, member: JavaMember, item: int) -> None:
        self.note(f"{member.me} has run {item}")

    # -- hooks --------------------------------------------------------------------------------------

    def _call(self, process: Process, round_: str, fire: str) -> None:
        kind = round_.partition("/")[0]
        self.note(f"{process.name} calls {kind} for {fire}")
        self.seen[f"{kind} hook"] += 1
        if (kind, fire) in self.called:
            self.object(f"{kind} called again for {fire}, although the first call came to its end")
        other, name = self._calling.get((kind, fire), (process, ""))
        if other.member.me == name and other.name in self.processes and self._is_alive(other):
            self.object(f"{kind} called for {fire} by {process.name}, while {other.name} calls it")
        self._calling[kind, fire] = process, process.member.me
        if kind == "completed" and not fire.startswith("#"):
            # Who makes a call again that another has claimed goes by what that one knew: of a disabled shard
            # that runs without a mark only its runner knows.
            first = not any(each[2:] == (kind, fire) for each in self.calls)
            going = [
                each.claim.item
                for other in self.processes.values()
                for each in self._latest.values()
                if (each.claim.item, each.claim.attempt) in other.running
                and each.claim.fire == fire
                and each.claim.tries < RERUN  # else it has been run before
                and not self.watch.is_overtaken(each.claim)
                and self._is_alive(other)
                and each.claim.item < self.settings.shards
                and (
                    self._is_enabled(each.claim.item)
                    or self.settings.monitor_execution
                    or (other is process and first)
                )
            ]
            if going and self.clock.boot() > self.watch.last_change + 1:
                self.object(f"completed called for {fire} while {going} run")
        self.seen["hook called again"] += any(each[2:] == (kind, fire) for each in self.calls)
        self.calls.append((self.clock.boot(), process.name, kind, fire))
        self.clock.at(self.clock.boot() + HOOK, lambda: self._call_ends(process, round_, fire))

    def _is_enabled(self, item: int) -> bool:
        return f"{ROOT}/sharding/{item}/disabled" not in self.store.nodes

    def _call_ends(self, process: Process, round_: str, fire: str) -> None:
        if process.dead:
            return
        if process.paused:
            self.clock.at(self.clock.boot() + 1.0, lambda: self._call_ends(process, round_, fire))
            return
        if round_.startswith("started") and self._fails():
            self.seen["vetoed"] += 1
            process.member.called(round_, fire, "vetoed")
        else:
            process.member.called(round_, fire, "done")

    def _fails(self) -> bool:
        return self.vetoes is not None and not self.quiet and self.vetoes.random() < 0.3

    def _may_begin(self, claim: Claim) -> bool:
        if claim.fire.startswith("#") or self.javas:
            return True
        return self.watch.released >= claim.fire

    # -- what is seen -------------------------------------------------------------------------------

    def _told(self, process: Process, state: State) -> None:
        self.note(f"{process.name} is {state.value}")
        self.seen[state.value] += 1
        if state is State.CONNECTED:
            session = process.registry._link.session
            self.seen["same session again" if session == process.session else "another session"] += 1
            process.session = session
        if state is State.LOST:
            for item, attempt in list(process.running):
                self._cancel(process, item, attempt)

    def object(self, what: str) -> None:
        """Something happened that must not. Kept, because whoever called us may swallow what we raise."""
        if self.violation is None:
            self.violation = f"{what}\n{self.story()}"

    def note(self, what: str) -> None:
        self.log.append(f"{self.clock.boot():8.2f} {what}")

    def story(self, lines: int = 60) -> str:
        tree = "\n".join(
            f"    {path} = {node.data}"
            for path, node in sorted(self.store.nodes.items())
            if node.data and not path.endswith("/config")
        )
        return "\n".join(self.log[-lines:]) + "\n" + tree
