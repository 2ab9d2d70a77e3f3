"""One seed's worth of trouble for a service's mastership, and what is promised held up against it."""

import random
from collections.abc import Callable, Iterable
from functools import partial

from shardwright.coordination.step import Look, Step
from shardwright.recipes import candidacy
from shardwright.recipes.candidacy import View
from shardwright.recipes.candidate import Candidate, Told
from shardwright.registry import Delete, Outcome, Put, Session, Write
from shardwright.registry.memory import Effects, MemoryRegistry

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
        self._tokens: dict[int, str] = {}
        self.steered = self.random.random() < 0.5
        """Whether an operator takes nodes away or writes into them: two may believe for a moment then, and
        only their tokens tell who is right."""

    def _candidate(self, hall: Hall[Candidate], name: str, registry: MemoryRegistry) -> Candidate:
        return self._kind(
            registry,
            ROOT,
            SERVICE,
            self.address(name),
            tell=Told(mastership=partial(self._be, name), settled=partial(self._settled, name)),
            card=lambda: name,
            decide=self._decide,
            chance=random.Random(self.random.random()),
        )

    def address(self, name: str) -> str:
        """Who is started anew has the address of the one before."""
        return f"{self.homes[name]}:9090"

    def _be(self, name: str, token: int | None, session: Session | None) -> None:
        self.note(f"{name} has token {token}")
        if token is None:
            self._tenures.pop(name, None)
            return
        self.seen["master"] += 1
        if self._tokens.setdefault(token, name) != name:
            self.objects(f"{name} is master under {token}, which was {self._tokens[token]}'s")
        if token < max(self._tokens) and not self.steered:
            self.objects(f"{name} is master under {token}, after {max(self._tokens)}")
        self._tenures[name] = token, session

    def _settled(self, name: str, why: str | None) -> None:
        if why is not None:
            self.objects(f"{name} was refused: {why}")

    def believers(self) -> list[str]:
        return [name for name, (_, session) in self._tenures.items() if self.holds(name, session)]

    def _one_master(self) -> None:
        believe = self.believers()
        if len(believe) > 1 and not self.steered:
            self.objects(f"two masters: {believe}")

    def _watched(self, session: str, writes: tuple[Write, ...]) -> tuple[Outcome, Effects]:
        """A master loses its node by its own doing, by its session's end, by an operator, to whom one has
        named, or to itself as it is started anew: never to another's mistake."""
        before, who = self.store.nodes.get(NODE), self.whose(session)
        answer = super()._watched(session, writes)
        after = self.store.nodes.get(NODE)
        if before is None or who is None or before.owner == session or before.version:
            return answer
        if before.data == self.address(who):
            return answer
        if after is None or after.made != before.made:
            self.objects(f"{who} takes away the node of {before.data}")
        return answer

    # What operators do

    def resign(self, guest: Guest[Candidate]) -> None:
        guest.part.resign()

    def delete(self, guest: Guest[Candidate]) -> None:
        if self.steered and NODE in self.store.nodes:
            self.operator(Delete(NODE))

    def delete_candidacy(self, guest: Guest[Candidate]) -> None:
        path = f"{ROOT}/candidates/{SERVICE}/{self.address(guest.name)}"
        if self.steered and path in self.store.nodes:
            self.operator(Delete(path))

    def designate(self, guest: Guest[Candidate]) -> None:
        if self.steered and NODE in self.store.nodes:
            who = self.random.choice([*self.guests, None])
            self.seen["nobody designated"] += who is None
            self.operator(Put(NODE, "nobody:9090" if who is None else self.address(who)))

    def relieve(self, guest: Guest[Candidate]) -> None:
        """Another is designated, and the one that was master goes home: it may not have heard of it yet."""
        names = self.believers()
        if not self.steered or not names or names[0] == guest.name or NODE not in self.store.nodes:
            return
        self.operator(Put(NODE, self.address(guest.name)))
        self.advance(self.random.choice([0.1, 0.5]))
        if names[0] in self.guests:
            self.leave(self.guests[names[0]])


def run(seed: int, decide: Decide = candidacy.decide, candidate: type[Candidate] = Candidate) -> Mastership:
    hall = Mastership(seed, decide, candidate)
    for _ in range(hall.random.randint(2, 4)):
        hall.join()
    hall.trouble(hall.resign, hall.delete, hall.delete_candidacy, hall.designate, hall.relieve)
    if not hall.guests:
        hall.join()
    if hall.steered and NODE in hall.store.nodes:
        hall.operator(Put(NODE, "nobody:9090"))
    hall.heal()
    believe = hall.believers()
    node = hall.store.nodes.get(NODE)
    assert len(believe) == 1, f"in the end masters are {believe}\n{hall.story()}"
    assert node is not None, hall.story()
    assert node.data == hall.address(believe[0]), hall.story()
    if hall.guests and len(hall.guests) > 1:
        other = next(name for name in hall.guests if name not in believe)
        hall.operator(Put(NODE, hall.address(other)))
        hall.advance(1.0)
        assert hall.believers() == [other], f"{other} was designated\n{hall.story()}"
    return hall
