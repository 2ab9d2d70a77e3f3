"""A candidate: one process's part in one service's mastership, or, without a service, one that looks on.
What it decides stands in `candidacy`."""

import logging
import random
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, replace

from ..coordination.step import Effect, Leave, Look, Refuse, Say, Step
from ..registry import Outcome, Registry, Session
from . import candidacy
from .candidacy import Local, Notice, Resigned, View
from .participant import Part


@dataclass(frozen=True)
class Told:
    """Whom a candidate tells what, in the thread that takes its turns."""

    mastership: Callable[["int | None", "Session | None"], None] = lambda token, session: None
    """The token under which we are master, or None, and the session it holds with."""
    masters: Callable[[dict[str, str]], None] = lambda masters: None
    """All the masters there are."""
    settled: Callable[[str | None], None] = lambda why: None
    """We are a candidate, or why we cannot be one."""
    gone: Callable[[], None] = lambda: None
    """We have left."""


class Candidate(Part):
    def __init__(
        self,
        registry: Registry,
        root: str,
        service: str | None,
        address: str,
        *,
        tell: Told | None = None,
        card: Callable[[], str] = lambda: "",
        wake: Callable[[], None] = lambda: None,
        commit: Callable[..., Future[Outcome]] | None = None,
        decide: Callable[[View], Iterable[Step | Look]] = candidacy.decide,
        chance: random.Random | None = None,
    ) -> None:
        self._tree = registry.mirror(root)
        super().__init__(service or root, registry, (self._tree,), wake=wake, commit=commit, chance=chance)
        self.token: int | None = None
        self.local = Local()
        self._service, self._address, self._new_card, self._decide = service, address, card, decide
        self._tell = tell or Told()
        self._card = ""

    def resign(self) -> None:
        """Give mastership up, and let others go first."""
        self.local = replace(self.local, resigning=True)
        self._again = True

    def leave(self) -> None:
        self.local = replace(self.local, leaving=True)
        self._again = True

    def lose_lease(self) -> None:
        self._be(None, "its session may have ended")

    def _begin(self) -> None:
        self._be(None, "its session has ended")
        self._card = self._new_card()

    def _decide_now(self) -> list[Step | Look]:
        self._tell.masters(candidacy.masters(self._tree))
        if self._service is None:
            return [Step(then=Leave())] if self.local.leaving else []
        view = self._view(self._service)
        decided = list(self._decide(view))
        self._be(candidacy.token(view) if self._holds() else None, candidacy.why_not(view))
        if candidacy.announced(view) and not self.local.announced:
            self.local = replace(self.local, announced=True)
            self._tell.settled(None)
        return decided

    def _view(self, service: str) -> View:
        session = self._registry.session()
        return View(
            self._tree,
            service,
            self._address,
            self._card,
            self._session,
            session.timeout if session is not None else 0.0,
            self._registry.clock.boot(),
            self.token,
            self.local,
        )

    def _be(self, token: int | None, why: str) -> None:
        if token == self.token:
            return
        self.token = token
        if token is None:
            self._log(f"{self._address} stands down: {why}")
        else:
            self._log(f"{self._address} is master, with token {token}")
        self._tell.mastership(token, self._registry.session())

    def _effect(self, effect: Effect, number: int) -> None:
        boot = self._registry.clock.boot()
        match effect:
            case Say(what):
                self._say(what, logging.WARNING)
                return
            case Notice(written):
                self.local = replace(self.local, noticed=(written, boot))
            case Resigned(gave_up):
                since = boot if gave_up else self.local.resigned
                self.local = replace(self.local, resigning=False, resigned=since)
            case Refuse(why):
                self.left = True
                self._tell.settled(why)
            case Leave():
                self.left = True
                self._be(None, "it leaves")
                self._tell.gone()
        self._again = True

    def _log(self, what: str) -> None:
        logging.getLogger("shardwright").info("%s: %s", self._name, what)

    def _full(self, path: str) -> str:
        return self._tree.full(path)
