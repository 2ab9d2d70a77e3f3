"""Asking: a request to all members of a job to fire, as ElasticJob's console makes it.

It goes to whoever is there. Who comes in that very moment may be given shards of those who are asked, before
these have heard of it, and the shards would not run: so whoever has come when the request has landed is asked
as well. Everything here happens in the reactor's thread.
"""

from collections.abc import Iterable
from concurrent.futures import Future

from ..coordination import instance, request
from ..registry import Create, Delete, Landed, Outcome, Refused, Registry, Unknown

#: What is below each of some nodes, as the registry answers it.
Names = dict[str, tuple[str, ...] | None]


class Asking:
    """One request. `outcome` says how it went; Unknown where those who were there have been asked, and it
    cannot be told whether somebody who came has."""

    def __init__(self, registry: Registry, job: str, parameter: str) -> None:
        self.outcome: Future[Outcome] = Future()
        self._registry = registry
        self._parameter = parameter
        self._tree = registry.mirror(f"{registry.namespace}/{job}")
        self._members = self._tree.full(instance.ROOT)
        self._requests = self._tree.full(request.ROOT)
        self._asked: set[str] = set()
        self._landed: Landed | None = None

    def begin(self) -> "Future[Outcome]":
        self._ask(self._tree.children(instance.ROOT))
        return self.outcome

    def _ask(self, those: Iterable[str]) -> None:
        new = [who for who in those if who not in self._asked]
        self._asked.update(new)
        old = [Delete(self._node(who)) for who in new if request.node(who) in self._tree]
        asks = [Create(self._node(who), self._parameter) for who in new]
        self._registry.commit(*old, *asks).add_done_callback(lambda answer: self._answered(new, answer))

    def _answered(self, new: list[str], answer: "Future[Outcome]") -> None:
        outcome = answer.result()
        if isinstance(outcome, Landed):
            self._landed = outcome
            seen = self._registry.names([self._members], fresh=True)
            seen.add_done_callback(self._look_who_has_come)
        elif self._landed is None:
            self.outcome.set_result(outcome)
        elif isinstance(outcome, Refused):
            # They may have gone again, or been asked by somebody else.
            seen = self._registry.names([self._members, self._requests], fresh=True)
            seen.add_done_callback(lambda found: self._look_who_is_left(new, outcome.why, found))
        else:
            self._say_unknown(outcome.why)

    def _look_who_has_come(self, found: "Future[Names]") -> None:
        """Where we are cut off before we are told, there is nobody more whom we could ask."""
        there = () if found.exception() is not None else found.result()[self._members] or ()
        if not self._asked.issuperset(there):
            self._ask(there)
        elif self._landed is not None:
            self.outcome.set_result(self._landed)

    def _look_who_is_left(self, new: list[str], why: str, found: "Future[Names]") -> None:
        if found.exception() is not None:
            self._say_unknown(why)
            return
        there, asked = (found.result()[path] or () for path in (self._members, self._requests))
        if any(who in there and who not in asked for who in new):
            self._say_unknown(why)
        elif not self._asked.issuperset(there):
            self._ask(there)
        elif self._landed is not None:
            self.outcome.set_result(self._landed)

    def _say_unknown(self, why: str) -> None:
        self.outcome.set_result(Unknown(f"all were asked but who came meanwhile: {why}"))

    def _node(self, who: str) -> str:
        return self._tree.full(request.node(who))
