"""A candidate: one process's part in one service's mastership, or, without a service, one that looks on.
What it decides stands in `candidacy`."""

import logging
import random
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, replace

from ..coordination.step import Effect, Leave, Look, Refuse, Say, Step
from ..registry import Outcome, Registry, Session, Unread
from . import candidacy
from .candidacy import Local, Notice, Report, Resigned, View
from .participant import Part

log = logging.getLogger("shardwright")


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
    """What we are at present stands in `token`, and in `local` what we want."""

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
        super().__init__(service or root, registry, root, wake=wake, commit=commit, chance=chance)
        self.token: int | None = None
        self.local = Local()
        self._service, self._address, self._new_card, self._decide = service, address, card, decide
        self._tell = tell or Told()
        self._card = ""
        self._other: int | None = None

    def resign(self) -> None:
        """Give mastership up, and let others go first."""
        was_master = self.local.was_master or self.token is not None
        self.local = replace(self.local, resigning=True, was_master=was_master)
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
        decided: list[Step | Look] = []
        if self._service is not None:
            decided = self._decide_ours(self._view(self._service))
        elif self.local.leaving:
            decided = [Step(then=Leave())]
        self._tell_masters()
        return decided

    def _decide_ours(self, view: View) -> list[Step | Look]:
        decided = list(self._decide(view))
        self._be(candidacy.token(view) if self._holds() else None, candidacy.why_not(view))
        if candidacy.announced(view):
            self._notice_another(view)
            if not self.local.announced:
                self.local = replace(self.local, announced=True)
                self._tell.settled(None)
        return decided

    def _tell_masters(self) -> None:
        """What is ours to do does not wait until we know what others are."""
        for path in candidacy.hidden(self._tree):
            self._say(f"{self._tree.full(path)} cannot be read: whose it is is not told", logging.WARNING)
        try:
            self._tell.masters(candidacy.masters(self._tree))
        except Unread as unread:
            self._read(unread.paths)

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

    def _notice_another(self, view: View) -> None:
        """An election that we have lost is worth a line, each time."""
        there = candidacy.held(view)
        if there is None or there.owner == self._session or there.data == self._address:
            self._other = None
        elif there.made != self._other:
            self._other = there.made
            self._log(f"{there.data} is master, and {self._address} stands by")

    def _effect(self, effect: Effect, number: int) -> None:
        boot = self._registry.clock.boot()
        match effect:
            case Say(what):
                self._say(what, logging.WARNING)
                return
            case Report(what):
                self._log(what, logging.WARNING)
            case Notice(written):
                self.local = replace(self.local, noticed=(written, boot))
            case Resigned(gave_up):
                since = boot if gave_up else self.local.resigned
                self.local = replace(self.local, resigning=False, was_master=False, resigned=since)
            case Refuse(why):
                self.left = True
                self._tell.settled(why)
            case Leave():
                self.left = True
                self._be(None, "it leaves")
                self._tell.gone()
        self._again = True

    def _log(self, what: str, level: int = logging.INFO) -> None:
        log.log(level, "%s: %s", self._name, what)
