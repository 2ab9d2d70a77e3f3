"""A hall: processes that take part in a recipe, on one store and one clock, and a seed that decides all that
chance decides. The processes are the real thing over the memory registry, which is as weak as ZooKeeper."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Generic, TypeVar

from shardwright.clock import HandClock
from shardwright.recipes.participant import Part
from shardwright.registry import Landed, Outcome, Session, Write
from shardwright.registry.memory import Effects, MemoryRegistry, Store
from tests.simulation import nemeses

P = TypeVar("P", bound=Part)

#: How long the trouble lasts, and the quiet after it.
TROUBLE, QUIET = 120.0, 90.0

TIMEOUT = 10.0

#: How often what happens is something that seldom does.
RARELY = 0.06

#: How many are there at most, where somebody is started anew.
MOST = 5


@dataclass(eq=False)
class Guest(Generic[P]):
    """One process."""

    name: str
    registry: MemoryRegistry
    part: P
    paused: bool = False
    dead: bool = False
    slow: bool = False

    @property
    def session(self) -> str:
        """The last that it has, or had."""
        session = self.registry._session
        return session.id if session is not None else ""


class Hall(Generic[P]):
    """`make` makes a guest's part; `moment` is called at each moment, to object to what must not be."""

    def __init__(self, seed: int, make: Callable[["Hall[P]", str, MemoryRegistry], P]) -> None:
        self.random = random.Random(seed)
        self.clock = HandClock()
        self.store = Store(self.clock)
        self.guests: dict[str, Guest[P]] = {}
        self.looks = 0
        self.faults = 0
        self.seen: Counter[str] = Counter()
        self.log: list[str] = []
        self.moment: Callable[[], None] = lambda: None
        self.violation: str | None = None
        self.evicted: set[str] = set()
        """Sessions that somebody had the store end before their time: their owners may be told late."""
        self.commits: Counter[str] = Counter()
        """How many commits of whose session have landed."""
        self.homes: dict[str, str] = {}
        """Where everybody runs: who is started anew is another one at the same place."""
        self._make = make
        self._names = 0
        self._operator = self.store.connect(namespace="/ns")
        self._commit = self.store.commit
        self.store.commit = self._watched  # type: ignore[method-assign]

    # -- what happens -------------------------------------------------------------------------------

    def join(self, home: str | None = None) -> Guest[P]:
        self._names += 1
        name = f"p{self._names}"
        self.homes[name] = home or name
        registry = self.store.connect(namespace="/ns", timeout=TIMEOUT, patience=5.0)
        guest = self.guests[name] = Guest(name, registry, self._make(self, name, registry))
        registry.listener = lambda state, session: self._told(guest, state.value)
        self.note(f"{name} comes" + (f", where {home} was" if home else ""))
        return guest

    def crash(self, guest: Guest[P]) -> None:
        self.note(f"{guest.name} crashes")
        guest.dead = True
        guest.registry.disconnect(lose_requests=self.random.random() < 0.5)
        del self.guests[guest.name]

    def leave(self, guest: Guest[P]) -> None:
        self.note(f"{guest.name} is to leave")
        guest.part.leave()

    def operator(self, *writes: Write) -> None:
        self.note(f"operator: {', '.join(map(str, writes))}")
        self._operator.commit(*writes)
        self._operator.pump()

    def trouble(self, *more: Callable[[Guest[P]], None]) -> None:
        """Whatever can go wrong goes wrong, and `more`; and now and then nothing does."""
        acts: tuple[Callable[[Guest[P]], None], ...] = (
            *(self.pause, self.cut, self.lose_reply, self.expire, self.slow),
            *(self.crash, self.restart, self.leave),
            *more,
            self.idle,
        )
        rare = (self.crash_all, self.step_clock)
        end = self.clock.boot() + TROUBLE
        while self.clock.boot() < end:
            self.advance(self.random.choice([0.05, 0.3, 2.0, 9.0]))
            if not self.guests:
                self.join()
            guest = self.random.choice(list(self.guests.values()))
            act = self.random.choice(rare if self.random.random() < RARELY else acts)
            self.faults += 1
            self.note(f"-- {act.__name__} {guest.name}")
            self.seen[act.__name__] += 1
            act(guest)
            if len(self.guests) < self.random.randint(2, 5):
                self.join()

    def pause(self, guest: Guest[P]) -> None:
        nemeses.pause(self, guest)

    def cut(self, guest: Guest[P]) -> None:
        nemeses.cut(self, guest)

    def lose_reply(self, guest: Guest[P]) -> None:
        nemeses.lose_reply(self, guest)

    def expire(self, guest: Guest[P]) -> None:
        """The store may give nobody up who cannot hear of it."""
        if not guest.paused:
            self.evicted.add(guest.session)
        nemeses.expire(self, guest)

    def slow(self, guest: Guest[P]) -> None:
        nemeses.slow(self, guest)

    def restart(self, guest: Guest[P]) -> None:
        """It dies, and its supervisor starts it anew, before its session has ended or after."""
        self.crash(guest)
        home = self.homes[guest.name]
        again = self.clock.boot() + self.random.choice((0.5, 2.0, 6.0, 12.0))
        self.clock.at(again, lambda: self._come_again(home))

    def crash_all(self, guest: Guest[P]) -> None:
        """Everybody dies at once; two come back together."""
        everybody = list(self.guests.values())
        for each in everybody:
            self.crash(each)
        for each in everybody[:2]:
            self.join(self.homes[each.name])

    def _come_again(self, home: str) -> None:
        if len(self.guests) < MOST:
            self.join(home)

    def step_clock(self, guest: Guest[P]) -> None:
        """The time of day is set, by a second or by an hour, either way: nothing here goes by it."""
        seconds = self.random.choice([-3600.0, -1.0, 1.0, 3600.0])
        self.clock.set_wall(self.clock.wall() + timedelta(seconds=seconds))

    def idle(self, guest: Guest[P]) -> None:
        pass

    def heal(self) -> None:
        self.note("healed")
        for guest in self.guests.values():
            guest.registry.delay()
            guest.slow = False
            if guest.paused:
                guest.paused = False
                guest.registry.resume()
            guest.registry.reconnect()
        self.advance(QUIET)

    def advance(self, seconds: float) -> None:
        self.clock.pass_time(
            seconds,
            self.settle,
            lambda: [at for guest in self._awake() for at in (guest.part.due(), guest.registry.due())],
        )

    def settle(self) -> None:
        for _ in range(400):
            moved = False
            everybody = self._awake()
            self.random.shuffle(everybody)
            for guest in everybody:
                moved |= guest.registry.pump()
                looked = guest.part.turn()
                self.looks += looked
                moved |= looked
                if guest.part.left and guest.name in self.guests:
                    guest.dead = True
                    guest.registry.close()
                    del self.guests[guest.name]
            self.moment()
            if self.violation is not None:
                raise AssertionError(self.violation)
            if not moved:
                return
        raise AssertionError("it does not come to rest\n" + self.story())

    def _awake(self) -> list[Guest[P]]:
        return [guest for guest in self.guests.values() if not guest.paused]

    def holds(self, name: str, session: Session | None) -> bool:
        """Whether somebody acts, and by its own clock may."""
        guest = self.guests.get(name)
        if guest is None or guest.paused or session is None or session.id in self.evicted:
            return False
        return session.lease_left() > 0

    def whose(self, session: str) -> str | None:
        """The guest that has this session; None for an operator's."""
        return next((guest.name for guest in self.guests.values() if guest.session == session), None)

    def _watched(self, session: str, writes: tuple[Write, ...]) -> tuple[Outcome, Effects]:
        outcome, effects = self._commit(session, writes)
        if isinstance(outcome, Landed):
            self.commits[session] += 1
        return outcome, effects

    def _told(self, guest: Guest[P], state: str) -> None:
        self.note(f"{guest.name} is {state}")
        self.seen[state] += 1
        if state == "lost":
            guest.part.lose_lease()

    # -- what is seen -------------------------------------------------------------------------------

    def objects(self, what: str) -> None:
        if self.violation is None:
            self.violation = f"{what}\n{self.story()}"

    def note(self, what: str) -> None:
        self.log.append(f"{self.clock.boot():8.2f} {what}")

    def story(self, lines: int = 80) -> str:
        tree = "\n".join(f"    {path} = {node}" for path, node in sorted(self.store.nodes.items()))
        return "\n".join(self.log[-lines:]) + "\n" + tree
