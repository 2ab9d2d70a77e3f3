"""The reactor: one thread that owns the registry and takes all the members' turns.

It sleeps until the registry has news, a note was left for it, or a moment has come that a member asked
for. Whose job has not changed costs nothing. What members decide in one round is sent together, so that
commits of many jobs share a transaction. User code never runs here: it leaves notes.
"""

import heapq
import itertools
import logging
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from functools import partial
from typing import TypeVar

from ..registry import Outcome, Registry, Session, State, Write
from .turns import JUMP, Turns

log = logging.getLogger(__name__)

T = TypeVar("T")
M = TypeVar("M", bound=Turns)

#: How often the clocks are compared although nothing happens, in seconds.
COMPARED_EVERY = 5.0

#: For how many seconds a round goes on with notes, and with turns. What is left over waits for the next one:
#: with thousands of jobs somebody's run would begin late, and the watchdog would take us for hung.
SLICE = 0.05

#: For how many seconds nobody looks, for each run that begins, so that those can: looks hold the interpreter.
BREATH, LONGEST_BREATH = 0.0001, 0.05

#: After a job's turn has failed: how long until its next, at first and at most.
BACK_OFF, BACK_OFF_MOST = 1.0, 60.0

#: After how many seconds whoever could not look when it was to is asked again, unless something wakes it.
HINDERED = 0.25

#: How much that is no longer asked for may lie in a heap, whatever its size.
FEW = 1000


class Later:
    """Something to be done at a moment; `note` is None once it has been called off."""

    __slots__ = ("_order", "note", "when")

    def __init__(self, when: float, order: int, note: Callable[[], None]) -> None:
        self.when = when
        self.note: Callable[[], None] | None = note
        self._order = order

    def __lt__(self, other: "Later") -> bool:
        return (self.when, self._order) < (other.when, other._order)


class Reactor:
    """All the jobs of a process on one registry.

    `told` is told of the registry's state, in the reactor's thread, after the members were.
    """

    def __init__(self, registry: Registry, *, told: Callable[[State], None] = lambda state: None) -> None:
        self.registry = registry
        self.awake_since: float | None = None
        """The boot clock when the present round began; None while asleep."""
        self.told = told
        self._bell = threading.Event()
        self._notes: deque[Callable[[], None]] = deque()
        self._members: dict[str, Turns] = {}
        self._ready: OrderedDict[str, None] = OrderedDict()
        self._due: list[tuple[float, int, str]] = []
        self._next: dict[str, float] = {}
        """Whose moment in the heap is which: others that stand there are no longer asked for."""
        self._later: list[Later] = []
        self._called_off = 0
        self._breath = 0.0
        self._order = itertools.count()
        self._failures: dict[str, int] = {}
        self._gathered: list[tuple[tuple[Write, ...], Future[Outcome]]] = []
        self._stopping = False
        self._ahead = registry.now().timestamp() - registry.clock.boot()
        self._thread: threading.Thread | None = None
        registry.bell = self._bell.set
        registry.listener = self._state

    # -- what anybody may call ----------------------------------------------------------------------

    def post(self, note: Callable[[], None]) -> None:
        """Have something done in the reactor's thread."""
        self._notes.append(note)
        # To ask is cheap, to ring is not, and ends of runs come by the hundred. A bell that rings already is
        # cleared before the notes are looked at, and ours is among them.
        if not self._bell.is_set():
            self._bell.set()

    def ask(self, question: "Callable[[], T]") -> "Future[T]":
        """Have something answered in the reactor's thread."""
        future: Future[T] = Future()

        def note() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(question())
            except Exception as error:
                future.set_exception(error)

        self.post(note)
        return future

    def start(self, failed: Callable[[Exception], None]) -> None:
        """Begin to turn, in a thread of its own; `failed` is told if that ends by a failure."""

        def loop() -> None:
            try:
                while self._goes_on():
                    self.awake_since = self.registry.clock.boot()
                    self.round()
                    self.awake_since = None
                    self._sleep()
            except Exception as error:
                if not self._stopping:  # else somebody has given us up already
                    failed(error)

        self._thread = threading.Thread(target=loop, name="shardwright-reactor", daemon=True)
        self._thread.start()

    def thread_id(self) -> int | None:
        return self._thread.ident if self._thread is not None else None

    def stop(self, within: float) -> bool:
        """Turn no more; from its own thread or another's. Whether its last round is over within so many
        seconds: one that is stuck does not come to its end."""
        self._stopping = True
        self._bell.set()
        if self._thread is None or self._thread is threading.current_thread():
            return True
        self._thread.join(within)
        return not self._thread.is_alive()

    # -- what only its own thread calls -------------------------------------------------------------

    def add(self, name: str, make: Callable[[Callable[[], None], Callable[..., Future[Outcome]]], M]) -> M:
        """Take a member's turns from now on. It is made with the means to wake us and to commit."""
        member = self._members[name] = make(lambda: self._wake(name), self._gather)
        self._wake(name)
        return member

    def remove(self, name: str) -> None:
        member = self._members.pop(name, None)
        self._next.pop(name, None)
        self._failures.pop(name, None)
        if member is not None:
            member.close()

    def later(self, when: float, note: Callable[[], None]) -> "Later":
        """Have something done when the boot clock gets there, unless it is called off before."""
        later = Later(when, next(self._order), note)
        heapq.heappush(self._later, later)
        return later

    def call_off(self, later: "Later") -> None:
        """What was to be done later need not be. It is taken out of the heap when half of that is such."""
        if later.note is None:
            return
        later.note = None
        self._called_off += 1
        if self._called_off > max(FEW, len(self._later) // 2):
            self._later = [each for each in self._later if each.note is not None]
            heapq.heapify(self._later)
            self._called_off = 0

    def members(self) -> Iterable[Turns]:
        return self._members.values()

    def round(self) -> bool:
        """Take in what came, let everybody look who has a reason to, send what was decided; whether anything
        moved."""
        now = self.registry.clock.boot()
        moved = self.registry.pump()  # first of all: what is to begin may not be ours any more
        if self._begin(now):
            return True
        self._compare_clocks(now)
        while self._notes and self._has_time(now):
            self._notes.popleft()()
            moved = True
        while self._due and self._due[0][0] <= now:
            at, _, name = heapq.heappop(self._due)
            if self._next.get(name) == at:
                del self._next[name]
                self._wake(name)
        began = self.registry.clock.boot()
        ready = len(self._ready)
        while ready and self._has_time(began):
            moved |= self._turn(self._ready.popitem(last=False)[0])
            ready -= 1
        self._send()
        return moved or bool(ready)

    def next_due(self) -> float | None:
        """The boot clock at which to turn although nothing was heard."""
        if self._ready or self._notes:
            return self.registry.clock.boot()
        heads = [at for at, _, _ in self._due[:1]] + [later.when for later in self._later[:1]]
        registry = self.registry.due()
        return min([*heads, *([registry] if registry is not None else [])], default=None)

    def _begin(self, now: float) -> int:
        """Do what was to be done now; how much that was."""
        count = 0
        while self._later and self._later[0].when <= now:
            later = heapq.heappop(self._later)
            note, later.note = later.note, None
            if note is None:
                self._called_off -= 1
            else:
                note()
                count += 1
        self._breath = min(LONGEST_BREATH, BREATH * count)
        return count

    def _goes_on(self) -> bool:
        """Whether to turn once more. The bell is cleared before anybody looks why it rang: what comes later
        rings again."""
        self._bell.clear()
        return not self._stopping

    def _sleep(self) -> None:
        if self._breath:
            time.sleep(self._breath)
            return
        due = self.next_due()
        left = COMPARED_EVERY if due is None else min(COMPARED_EVERY, due - self.registry.clock.boot())
        self._bell.wait(max(0.0, left))

    def _has_time(self, began: float) -> bool:
        """Whether to go on in this round: not for too long, nor when something is to begin."""
        now = self.registry.clock.boot()
        return now < began + SLICE and not (self._later and self._later[0].when <= now)

    def _compare_clocks(self, now: float) -> None:
        """Fires go by the registry's time of day, and we sleep by the boot clock: when the one was set,
        everybody looks anew when to wake."""
        ahead = self.registry.now().timestamp() - now
        if abs(ahead - self._ahead) > JUMP:
            for name in self._members:
                self._wake(name)
            self._ahead = ahead  # not before: what creeps adds up, too

    def _wake(self, name: str) -> None:
        """Have somebody look in this round or the next: there is no sleep in between."""
        self._ready[name] = None

    def _turn(self, name: str) -> bool:
        """One member's turn. One that fails is tried again later, and troubles nobody else."""
        member = self._members.get(name)
        if member is None:
            return False
        try:
            looked = member.turn()
        except Exception:
            failures = self._failures.get(name, 0) + 1
            pause = min(BACK_OFF_MOST, BACK_OFF * 2 ** (failures - 1))
            log.exception("%s: its turn failed; it is tried again in %g s", name, pause)
            if name in self._members:
                self._failures[name] = failures
            self._at(self.registry.clock.boot() + pause, name)
            self._ready.pop(name, None)
            member.recover()
            self._ready.pop(name, None)
            return True
        self._failures.pop(name, None)
        due = member.due()
        if due is not None:
            now = self.registry.clock.boot()
            # Who could not look when it was to, because an answer or the registry itself is waited for, is
            # not asked at once, again and again.
            self._at(due if looked or due > now else now + HINDERED, name)
        return looked

    def _at(self, when: float, name: str) -> None:
        """Have somebody look at a moment, and no longer at the one asked for before. Who looks often asks for
        another each time: what is no longer asked for is taken out of the heap when most of that is such."""
        if name not in self._members or self._next.get(name) == when:
            return  # who has left in this very turn looks no more
        self._next[name] = when
        heapq.heappush(self._due, (when, next(self._order), name))
        if len(self._due) > FEW + 2 * len(self._next):
            self._due = [(at, next(self._order), each) for each, at in self._next.items()]
            heapq.heapify(self._due)

    def _gather(self, *writes: Write) -> "Future[Outcome]":
        future: Future[Outcome] = Future()
        self._gathered.append((writes, future))
        return future

    def _send(self) -> None:
        """Send what was decided in this round, together."""
        if not self._gathered:
            return
        gathered, self._gathered = self._gathered, []
        answers = self.registry.commit_all([writes for writes, _ in gathered])
        for (_, future), answer in zip(gathered, answers, strict=True):
            answer.add_done_callback(partial(_pass_on, future))

    def _state(self, state: State, session: Session | None) -> None:
        if state is State.LOST:
            for member in self._members.values():
                member.lose_lease()
        self.told(state)


def _pass_on(future: "Future[Outcome]", answer: "Future[Outcome]") -> None:
    future.set_result(answer.result())
