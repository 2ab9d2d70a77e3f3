"""Asking: a request to all members of a job to fire, as ElasticJob's console makes it.

It goes to whoever is there. Who comes in that very moment may be given shards of those who are asked, before
these have heard of it, and the shards would not run: so whoever has come when the request has landed is asked
as well. Everything here happens in the reactor's thread.
"""

from collections.abc import Iterable
from concurrent.futures import Future

from ..coordination import instance, request
from ..registry import Create, Delete, Landed, Outcome, Registry, Unknown


class Asking:
    """One request. `outcome` says how it went; Unknown where those who were there have been asked, and it
    cannot be told whether somebody who came has."""

    def __init__(self, registry: Registry, job: str, parameter: str) -> None:
        self.outcome: Future[Outcome] = Future()
        self._registry = registry
        self._parameter = parameter
        self._tree = registry.mirror(f"{registry.namespace}/{job}")
        self._members = self._tree.full(instance.ROOT)
        self._asked: set[str] = set()
        self._landed = False

    def begin(self) -> "Future[Outcome]":
        self._ask(self._tree.children(instance.ROOT))
        return self.outcome

    def _ask(self, those: Iterable[str]) -> None:
        new = [who for who in those if who not in self._asked]
        self._asked.update(new)
        old = [Delete(self._node(who)) for who in new if request.node(who) in self._tree]
        asks = [Create(self._node(who), self._parameter) for who in new]
        self._registry.commit(*old, *asks).add_done_callback(self._answered)

    def _answered(self, answer: "Future[Outcome]") -> None:
        outcome = answer.result()
        if not isinstance(outcome, Landed):
            came = Unknown(f"all were asked but who came meanwhile: {outcome.why}")
            self.outcome.set_result(came if self._landed else outcome)
            return
        self._landed = True
        seen = self._registry.names([self._members], fresh=True)
        seen.add_done_callback(lambda found: self._look_who_has_come(outcome, found))

    def _look_who_has_come(self, landed: Landed, found: "Future[dict[str, tuple[str, ...] | None]]") -> None:
        """Where we are cut off before we are told, there is nobody more whom we could ask."""
        there = () if found.exception() is not None else found.result()[self._members] or ()
        if self._asked.issuperset(there):
            self.outcome.set_result(landed)
        else:
            self._ask(there)

    def _node(self, who: str) -> str:
        return self._tree.full(request.node(who))
