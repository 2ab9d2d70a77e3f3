"""One seed's worth of trouble for a dynamic sharding, and what is promised held up against it."""

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
        self._held: dict[str, tuple[Slice, Session | None]] = {}
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
        )
        return slicer

    def _identity(self, name: str) -> str:
        self._ids += 1
        return f"10.0.0.{name[1:]}@-@{name[1:]}-{self._ids:04x}"

    def _pause(self, name: str, slicer: Slicer, number: int) -> None:
        """What is held is held until the user's code has come back: it takes its time."""
        self._call(name, "start")
        before = self._held.get(name)

        def rests() -> None:
            if name in self.guests and not self.guests[name].paused:
                if self._held.get(name) is before:
                    self._held.pop(name, None)
                slicer.rests(number)
            elif name in self.guests:
                self.clock.at(self.clock.boot() + 0.5, rests)

        self.clock.at(self.clock.boot() + self.random.choice([0.0, 0.1, 2.0]), rests)

    def _go_on(self, name: str, slice_: Slice | None, session: Session | None) -> None:
        self._call(name, f"completed {slice_}")
        if slice_ is None:
            self._held.pop(name, None)
            return
        if slice_.epoch < self._epochs.get(name, 0):
            self.object(f"{name}: the epoch {slice_.epoch} after {self._epochs[name]}")
        self._epochs[name] = slice_.epoch
        self._held[name] = slice_, session

    def _call(self, name: str, what: str) -> None:
        self.note(f"{name}: {what}")
        kind = what.partition(" ")[0]
        self.seen[kind] += 1
        calls = self._calls.setdefault(name, [])
        if kind == (calls[-1] if calls else "completed"):
            self.object(f"{name}: {kind} twice in a row")
        calls.append(kind)

    def holders(self) -> dict[str, Slice]:
        return {name: slice_ for name, (slice_, session) in self._held.items() if self.holds(name, session)}

    def _no_two_holders(self) -> None:
        if not self.exclusive:
            return
        holders = self.holders()
        indexes = [slice_.index for slice_ in holders.values()]
        if len(set(indexes)) < len(indexes):
            self.object(f"two hold one slice: {holders}")
        if len({slice_.total for slice_ in holders.values()}) > 1:
            self.object(f"two divisions of the work at once: {holders}")

    # What operators do

    def delete(self, guest: Guest[Slicer]) -> None:
        paths = [slicing.LEADER, slicing.WARRANT, f"{slicing.INSTANCES}/{guest.part.me}", "sharding/0"]
        path = f"{ROOT}/{self.random.choice(paths)}"
        if self.steered and path in self.store.nodes:
            self.operator(Delete(path, recursive=True))

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
    hall.trouble(hall.delete, hall.delete_leader, hall.reshard)
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
