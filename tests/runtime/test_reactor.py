"""The reactor: what a round does, and what it leaves to the next."""

from collections.abc import Callable
from concurrent.futures import Future

from shardwright import Scheduler
from shardwright.clock import HandClock
from shardwright.coordination.step import Effect, Look, Step
from shardwright.registry import Outcome, Registry
from shardwright.registry.memory import Store
from shardwright.runtime.reactor import FEW, SLICE, Reactor
from shardwright.runtime.turns import Turns
from shardwright.testing import Cluster


class Slow(Turns):
    """Looks once, and takes its time."""

    def __init__(self, registry: Registry, wake: Callable[[], None], look: Callable[[], None]) -> None:
        super().__init__("slow", registry, (), wake=wake)
        self._look = look

    def _begin(self) -> None:
        """Nothing was before."""

    def _decide_now(self) -> list[Step | Look]:
        self._look()
        return []

    def _effect(self, effect: Effect, number: int) -> None:
        """Nothing is decided."""

    def _full(self, path: str) -> str:
        return path


class Restless(Slow):
    """Asks for another moment each time it looks, all of them far ahead; fails if told to."""

    fails = False

    def due(self) -> float | None:
        return 1e6 + self._registry.clock.boot()

    def turn(self) -> bool:
        self._look()
        if self.fails:
            raise RuntimeError("told to")
        return True


def a_reactor(clock: HandClock, jobs: int, lasting: float) -> tuple[Reactor, list[str]]:
    """One that has just woken up, with so many jobs whose looks take a while each."""
    registry = Store(clock).connect()
    reactor, said = Reactor(registry), list[str]()

    def looks(name: str) -> Callable[[], None]:
        def look() -> None:
            said.append(name)
            clock.advance(lasting)

        return look

    for number in range(jobs):
        name = f"job-{number}"

        def make(wake: Callable[[], None], commit: Callable[..., Future[Outcome]], name: str = name) -> Slow:
            return Slow(registry, wake, looks(name))

        reactor.add(name, make)
    return reactor, said


def test_a_round_lets_those_look_who_have_time_in_it_and_the_rest_in_the_next() -> None:
    reactor, said = a_reactor(HandClock(), jobs=5, lasting=SLICE / 2)
    assert (reactor.round(), said) == (True, ["job-0", "job-1"])
    assert reactor.next_due() == reactor.registry.clock.boot()
    reactor.round()
    assert said == ["job-0", "job-1", "job-2", "job-3"]


def test_notes_that_take_long_leave_the_rest_to_the_next_round() -> None:
    clock = HandClock()
    reactor, said = a_reactor(clock, jobs=0, lasting=0)

    def note() -> None:
        said.append("a note")
        clock.advance(SLICE)

    for _ in range(3):
        reactor.post(note)
    reactor.round()
    assert said == ["a note"]
    reactor.round()
    assert said == ["a note", "a note"]


def test_what_is_to_begin_begins_before_anybody_looks_and_has_the_round_for_itself() -> None:
    clock = HandClock()
    reactor, said = a_reactor(clock, jobs=1, lasting=0)
    reactor.later(1.0, lambda: said.append("begins"))
    clock.advance(1.0)
    assert (reactor.round(), said) == (True, ["begins"])
    reactor.round()
    assert said == ["begins", "job-0"]


def test_a_round_is_over_when_something_is_to_begin() -> None:
    reactor, said = a_reactor(HandClock(), jobs=3, lasting=SLICE / 10)
    reactor.later(SLICE / 10, lambda: said.append("begins"))
    reactor.round()
    reactor.round()
    assert said == ["job-0", "begins"]


def restless(reactor: Reactor, name: str, look: Callable[[], None] = lambda: None) -> Restless:
    return reactor.add(name, lambda wake, commit: Restless(reactor.registry, wake, look))


def test_moments_that_are_no_longer_asked_for_do_not_pile_up() -> None:
    clock = HandClock()
    reactor, said = a_reactor(clock, jobs=0, lasting=0)
    restless(reactor, "seldom", lambda: said.append("seldom"))
    restless(reactor, "often")
    reactor.round()
    for _ in range(3 * FEW):
        clock.advance(0.001)
        reactor._wake("often")
        reactor.round()
    assert len(reactor._due) <= FEW + 4
    assert said == ["seldom"]
    clock.advance(1e6)
    reactor.round()
    assert said == ["seldom", "seldom"]


def test_nothing_is_kept_of_a_job_that_is_gone() -> None:
    reactor, _ = a_reactor(HandClock(), jobs=0, lasting=0)
    restless(reactor, "well")
    restless(reactor, "badly").fails = True
    restless(reactor, "in its own turn", lambda: reactor.remove("in its own turn"))
    restless(reactor, "badly, in its own turn", lambda: reactor.remove("badly, in its own turn")).fails = True
    reactor.round()
    assert (sorted(reactor._next), sorted(reactor._failures)) == (["badly", "well"], ["badly"])
    reactor.remove("well")
    reactor.remove("badly")
    assert (reactor._next, reactor._failures) == ({}, {})


def test_while_the_registry_is_out_of_reach_nobody_is_asked_again_at_once_to_look() -> None:
    """A reactor that did would be at it without a pause until the registry is back."""
    scheduler = Scheduler("memory://")
    scheduler.add(lambda shard: None, "job", cron="0/10 * * * * ?", time_zone="UTC")
    cluster = Cluster(session_timeout=10.0)
    replica = cluster.start(scheduler)
    cluster.partition(replica, seconds=120.0)
    cluster.advance(seconds=30)
    reactor, now = replica.process.reactor, cluster.clock.boot()
    while reactor.round():
        assert cluster.clock.boot() == now
    due = reactor.next_due()
    assert due is not None
    assert due > now
    cluster.advance(seconds=120)
    count = len(replica.runs)
    cluster.advance(seconds=20)
    assert len(replica.runs) == count + 2
