"""One seed's worth of trouble for a service's mastership, and what is promised held up against it."""

from collections.abc import Callable, Iterable
from functools import partial

from shardwright.coordination.step import Look, Step
from shardwright.recipes import candidacy
from shardwright.recipes.candidacy import View
from shardwright.recipes.candidate import Candidate, Told
from shardwright.registry import Delete, Put, Session
from shardwright.registry.memory import MemoryRegistry

from .hall import Guest, Hall

ROOT, SERVICE = "/soa/master", "Account:1.0.0"
NODE = f"{ROOT}/services/{SERVICE}"

Decide = Callable[[View], Iterable[Step | Look]]


class Mastership(Hall[Candidate]):
    def __init__(self, seed: int, decide: Decide = candidacy.decide, candidate: type[Candidate] = Candidate):
        super().__init__(seed, self._candidate)
        self.moment = self._one_master
        self._decide, self._kind = decide, candidate
        self._tenures: dict[str, tuple[int, Session | None]] = {}
        self._tokens: list[tuple[int, str]] = []
        self.steered = self.random.random() < 0.5
        """Whether an operator takes nodes away or writes into them: two may believe for a moment then, and
        only their tokens tell who is right."""

    def _candidate(self, hall: Hall[Candidate], name: str, registry: MemoryRegistry) -> Candidate:
        return self._kind(
            registry,
            ROOT,
            SERVICE,
            f"{name}:9090",
            tell=Told(mastership=partial(self._be, name), settled=partial(self._settled, name)),
            card=lambda: name,
            decide=self._decide,
        )

    def _be(self, name: str, token: int | None, session: Session | None) -> None:
        self.note(f"{name} has token {token}")
        if token is None:
            self._tenures.pop(name, None)
            return
        self.seen["master"] += 1
        if (token, name) < max(self._tokens, default=(0, "")) and (token, name) not in self._tokens[-1:]:
            self.object(f"{name} is master under {token}, after {self._tokens[-1]}")
        self._tokens.append((token, name))
        self._tenures[name] = token, session

    def _settled(self, name: str, why: str | None) -> None:
        if why is not None:
            self.object(f"{name} was refused: {why}")

    def believers(self) -> list[str]:
        return [name for name, (_, session) in self._tenures.items() if self.holds(name, session)]

    def _one_master(self) -> None:
        believe = self.believers()
        if len(believe) > 1 and not self.steered:
            self.object(f"two masters: {believe}")

    # What operators do

    def resign(self, guest: Guest[Candidate]) -> None:
        guest.part.resign()

    def delete(self, guest: Guest[Candidate]) -> None:
        if self.steered and NODE in self.store.nodes:
            self.operator(Delete(NODE))

    def delete_candidacy(self, guest: Guest[Candidate]) -> None:
        path = f"{ROOT}/candidates/{SERVICE}/{guest.name}:9090"
        if self.steered and path in self.store.nodes:
            self.operator(Delete(path))

    def designate(self, guest: Guest[Candidate]) -> None:
        if self.steered and NODE in self.store.nodes:
            who = self.random.choice([*self.guests, "nobody"])
            self.seen["nobody designated"] += who == "nobody"
            self.operator(Put(NODE, f"{who}:9090"))


def run(seed: int, decide: Decide = candidacy.decide, candidate: type[Candidate] = Candidate) -> Mastership:
    hall = Mastership(seed, decide, candidate)
    for _ in range(hall.random.randint(2, 4)):
        hall.join()
    hall.trouble(hall.resign, hall.delete, hall.delete_candidacy, hall.designate)
    if not hall.guests:
        hall.join()
    hall.heal()
    believe = hall.believers()
    node = hall.store.nodes.get(NODE)
    assert len(believe) == 1, f"in the end masters are {believe}\n{hall.story()}"
    assert node is not None, hall.story()
    assert node.data == f"{believe[0]}:9090", hall.story()
    if hall.guests and len(hall.guests) > 1:
        other = next(name for name in hall.guests if name not in believe)
        hall.operator(Put(NODE, f"{other}:9090"))
        hall.advance(1.0)
        assert hall.believers() == [other], f"{other} was designated\n{hall.story()}"
    return hall
