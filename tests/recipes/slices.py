"""One seed's worth of trouble for a dynamic sharding, and what is promised held up against it."""

import random
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial

from shardwright.coordination.step import Look, Step
from shardwright.recipes import slicing
from shardwright.recipes.slicer import Slicer
from shardwright.recipes.slicing import Slice, View
from shardwright.registry import Create, Delete, Session
from shardwright.registry.memory import MemoryRegistry

from .hall import Guest, Hall

ROOT = "/dynamic-sharding"

Decide = Callable[[View], Iterable[Step | Look]]


class Slices(Hall[Slicer]):
    def __init__(
        self,
        seed: int,
        decide: Decide = slicing.decide,
        slicer: type[Slicer] = Slicer,
        *,
        exclusive: bool | None = None,
    ) -> None:
        super().__init__(seed, self._slicer)
        self.moment = self._no_two_holders
        self._decide, self._kind = decide, slicer
        either = self.random.random() < 0.7
        self.exclusive = either if exclusive is None else exclusive
        self.steered = not self.exclusive
        """Whether an operator takes away also what tells who has which slice."""
        self.takes: Callable[[str], float] = lambda name: self.random.choice([0.0, 0.1, 2.0])
        """For how many seconds somebody's user code goes on when it is to pause."""
        self._held: dict[str, tuple[Slice, Session | None]] = {}
        self._lines: dict[str, deque[tuple[float | None, Callable[[], None]]]] = {}
        self._given: dict[str, object] = {}
        self._calls: dict[str, list[str]] = {}
        self._epochs: dict[str, int] = {}
        self._ids = 0

    def _slicer(self, hall: Hall[Slicer], name: str, registry: MemoryRegistry) -> Slicer:
        slicer = self._kind(
            registry,
            ROOT,
            identity=partial(self._identity, name),
            pause=lambda number: self._pause(name, slicer, number),
            go_on=partial(self._go_on, name),
            order=self.random.choice(["sticky", "sorted"]),
            exclusive=self.exclusive,
            patience=30.0,
            decide=self._decide,
            chance=random.Random(self.random.random()),
        )
        return slicer

    def _identity(self, name: str) -> str:
        self._ids += 1
        return f"10.0.0.{self.homes[name][1:]}@-@{name[1:]}-{self._ids:04x}"

    def _pause(self, name: str, slicer: Slicer, number: int) -> None:
        """What is held is held until the user's code has come back: it takes its time."""
        self._hears(name, "start")

        def rests() -> None:
            self._held.pop(name, None)
            slicer.rests(number)

        self._call(name, self.takes(name), rests)

    def _go_on(self, name: str, slice_: Slice | None, session: Session | None) -> None:
        self._hears(name, f"completed {slice_}")
        if slice_ is not None:
            if slice_.epoch < self._epochs.get(name, 0):
                self.objects(f"{name}: the epoch {slice_.epoch} after {self._epochs[name]}")
            self._epochs[name] = slice_.epoch
        given = self._given[name] = object()

        def completed() -> None:
            if slice_ is None:
                self._held.pop(name, None)
            elif self._given[name] is given:  # else it is passed over
                self._held[name] = slice_, session

        self._call(name, None, completed)

    def _call(self, name: str, seconds: float | None, then: Callable[[], None]) -> None:
        """Have a process's user code called when all is over that was called before."""
        line = self._lines.setdefault(name, deque())
        line.append((seconds, then))
        if len(line) == 1:
            self._begin_call(name)

    def _begin_call(self, name: str) -> None:
        seconds, _ = self._lines[name][0]
        if seconds is None:
            self._end_call(name)
        else:
            self.clock.at(self.clock.boot() + seconds, partial(self._end_call, name))

    def _end_call(self, name: str) -> None:
        if name not in self.guests:
            return
        if self.guests[name].paused:
            self.clock.at(self.clock.boot() + 0.5, partial(self._end_call, name))
            return
        _, then = self._lines[name].popleft()
        then()
        if self._lines[name]:
            self._begin_call(name)

    def _hears(self, name: str, what: str) -> None:
        self.note(f"{name}: {what}")
        kind = what.partition(" ")[0]
        self.seen[kind] += 1
        calls = self._calls.setdefault(name, [])
        if kind == (calls[-1] if calls else "completed"):
            self.objects(f"{name}: {kind} twice in a row")
        calls.append(kind)

    def holders(self) -> dict[str, Slice]:
        return {name: slice_ for name, (slice_, session) in self._held.items() if self.holds(name, session)}

    def _no_two_holders(self) -> None:
        if not self.exclusive:
            return
        holders = self.holders()
        indexes = [slice_.index for slice_ in holders.values()]
        if len(set(indexes)) < len(indexes):
            self.objects(f"two hold one slice: {holders}")
        if len({slice_.total for slice_ in holders.values()}) > 1:
            self.objects(f"two divisions of the work at once: {holders}")

    # What operators do

    def delete(self, guest: Guest[Slicer]) -> None:
        path = f"{ROOT}/{self.random.choice([slicing.LEADER, slicing.WARRANT, 'sharding/0'])}"
        if self.steered and path in self.store.nodes:
            self.operator(Delete(path, recursive=True))

    def delete_instance(self, guest: Guest[Slicer]) -> None:
        path = f"{ROOT}/{slicing.INSTANCES}/{guest.part.me}"
        if path in self.store.nodes:
            self.operator(Delete(path))

    def delete_leader(self, guest: Guest[Slicer]) -> None:
        path = f"{ROOT}/{slicing.LEADER}"
        if path in self.store.nodes:
            self.operator(Delete(path))

    def reshard(self, guest: Guest[Slicer]) -> None:
        path = f"{ROOT}/{slicing.NECESSARY}"
        if path not in self.store.nodes:
            self.operator(Create(path))


def run(
    seed: int,
    decide: Decide = slicing.decide,
    slicer: type[Slicer] = Slicer,
    *,
    exclusive: bool | None = None,
) -> Slices:
    hall = Slices(seed, decide, slicer, exclusive=exclusive)
    for _ in range(hall.random.randint(1, 4)):
        hall.join()
    hall.trouble(hall.delete, hall.delete_instance, hall.delete_leader, hall.reshard)
    if not hall.guests:
        hall.join()
    hall.heal()
    holders = hall.holders()
    total = len(hall.guests)
    assert set(holders) == set(hall.guests), f"in the end slices are had by {holders}\n{hall.story()}"
    assert sorted(slice_.index for slice_ in holders.values()) == list(range(total)), hall.story()
    assert {slice_.total for slice_ in holders.values()} == {total}, hall.story()
    assert len({slice_.epoch for slice_ in holders.values()}) == 1, hall.story()
    assert f"{ROOT}/{slicing.NECESSARY}" not in hall.store.nodes, hall.story()
    return hall
