"""A slicer: one process's part in a dynamic sharding. What it decides stands in `slicing`."""

import logging
import random
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import replace

from ..coordination.step import Effect, Leave, Look, Say, Step
from ..registry import Outcome, Registry, Session
from . import slicing
from .participant import Part
from .slicing import GoOn, Local, Pause, Remember, Slice, View


class Slicer(Part):
    """`pause` is called when what we have is no longer ours: it must return at once, and `rests` must be
    called with the number it was given when nothing uses it any more. `go_on` is called with what is ours
    now, or None, and the session that goes with; `gone` when we have left."""

    def __init__(
        self,
        registry: Registry,
        root: str,
        *,
        identity: Callable[[], str],
        pause: Callable[[int], None],
        go_on: Callable[["Slice | None", "Session | None"], None],
        gone: Callable[[], None] = lambda: None,
        order: str = slicing.STICKY,
        exclusive: bool = False,
        patience: float = slicing.DEADLINE,
        wake: Callable[[], None] = lambda: None,
        commit: Callable[..., Future[Outcome]] | None = None,
        decide: Callable[[View], Iterable[Step | Look]] = slicing.decide,
        chance: random.Random | None = None,
    ) -> None:
        super().__init__(root[1:], registry, root, wake=wake, commit=commit, chance=chance)
        self.me = ""
        self.local = Local()
        self._identity, self._pause, self._go_on, self._gone = identity, pause, go_on, gone
        self._order, self._exclusive, self._patience = order, exclusive, patience
        self._decide = decide
        self._pauses = 0

    def rests(self, pause: int) -> None:
        """This pause has come to its end: nothing here uses the old slice any more."""
        if pause == self._pauses and self.local.paused:
            self.local = replace(self.local, at_rest=True)
            self._again = True

    def leave(self) -> None:
        self.local = replace(self.local, leaving=True)
        self._again = True

    def lose_lease(self) -> None:
        if not self.local.paused and self.local.slice is not None:
            self._be_paused()

    def _begin(self) -> None:
        self.lose_lease()
        self.me = self._identity()

    def _decide_now(self) -> Iterable[Step | Look]:
        return self._decide(
            View(
                self._tree,
                self.me,
                self._session,
                self._registry.clock.boot(),
                self._order,
                self._exclusive,
                self._patience,
                self.local,
            )
        )

    def _be_paused(self) -> None:
        self.local = replace(self.local, paused=True, at_rest=False, slice=None)
        self._pauses += 1
        self._pause(self._pauses)

    def _effect(self, effect: Effect, number: int) -> None:
        match effect:
            case Say(what):
                self._say(what, logging.WARNING)
                return
            case Remember(last):
                self.local = replace(self.local, round=last)
            case Pause():
                self._be_paused()
            case GoOn() if not self._holds():
                pass  # it may be somebody else's already
            case GoOn(last, slice_):
                self.local = replace(self.local, round=last, slice=slice_, paused=False, at_rest=False)
                self._go_on(slice_, self._registry.session())
            case Leave():
                self.left = True
                self._gone()
        self._again = True
