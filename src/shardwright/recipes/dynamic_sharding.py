"""Dynamic sharding: which slice of the work am I?

    sharding = DynamicSharding(
        "dynamic-sharding",
        on_start=pause_work,
        on_completed=lambda slice: go_on(slice.index, slice.total) if slice else None,
    )
    with sharding:
        ...

There are as many slices as live processes. When one comes or goes, `on_start` is called in all of them, the
leader gives out the slices anew, and `on_completed` is called in all of them with the slice each has got.
With `exclusive=True` nobody is given a slice before those who had one have come back from `on_start`, or
cannot be alive any more: no two ever have one at once. `slice.epoch` grows with every round: hand it to
whatever you write to, and let that refuse smaller ones.
"""

import functools
import logging
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace

from ..errors import RecipeError
from ..registry import Outcome, Registry, Session
from ..runtime import identity
from .participant import Participant, checked_root
from .slicer import Slicer
from .slicing import Slice
from .teller import Teller

__all__ = ["DynamicSharding", "Slice"]

log = logging.getLogger("shardwright")

ORDERS = ("sticky", "sorted")


class DynamicSharding(Participant[Slicer]):
    """One process that wants a slice.

    `name` is the node that everything stands below. `order` is `sticky`, so that as few slices as possible
    change hands, or `sorted`, by the processes' ids; on that and on `exclusive` all must agree. `deadline` is
    for how many seconds a round waits, with `exclusive`, for an `on_start` that does not come back.
    `registry` and `address` are as for a `Scheduler`.
    """

    def __init__(
        self,
        name: str,
        *,
        on_start: Callable[[], object] = lambda: None,
        on_completed: Callable[["Slice | None"], object] = lambda slice: None,
        exclusive: bool = False,
        order: str = "sticky",
        deadline: float = 30.0,
        registry: str | None = None,
        address: str | None = None,
    ) -> None:
        super().__init__(registry)
        self._root = checked_root(name if name.startswith("/") else f"/{name}")
        if order not in ORDERS:
            raise RecipeError(f"the order {order!r} is not one of {', '.join(ORDERS)}")
        if not deadline > 0:
            raise RecipeError(f"the deadline must be more than 0 seconds, not {deadline:g}")
        self._on_start, self._on_completed = on_start, on_completed
        self._exclusive, self._order, self._deadline = exclusive, order, deadline
        self._address = address or identity.address()
        self._teller = Teller(self._root[1:])
        self._slice: Slice | None = None
        self._session: Session | None = None
        self._paused = False

    @property
    def slice(self) -> Slice | None:
        """What is ours; None while a round is open, for a process without a slice, and once our session may
        have ended, by our own clock too."""
        session = self._session
        return self._slice if session is not None and session.lease_left() > 0 else None

    def wait(self, timeout: float | None = None) -> Slice | None:
        """Wait until we have a slice; it, or None if we have none in time or somebody stops us meanwhile."""
        self._check_runs()
        self._until(lambda: self._out or self.slice is not None, timeout)
        return self.slice

    def stop(self, within: float = 10.0) -> None:
        """Pause, then leave in order, so that others take over at once."""
        if self._teller.calls():
            raise RecipeError("on_start and on_completed cannot call stop(): it waits for them to come back")
        end = time.monotonic() + within
        super().stop(within)
        self._teller.stop(max(0.0, end - time.monotonic()))

    def _settle(self) -> None:
        """Nothing to wait for: the first round tells."""

    def _make(
        self, registry: Registry, wake: Callable[[], None], commit: Callable[..., Future[Outcome]]
    ) -> Slicer:
        slicer = Slicer(
            registry,
            self._root,
            identity=lambda: identity.new_name(self._address),
            pause=lambda number: self._pause(slicer, number),
            go_on=self._go_on,
            gone=self._has_gone,
            order=self._order,
            exclusive=self._exclusive,
            patience=self._deadline,
            wake=wake,
            commit=commit,
        )
        if self._slice is not None or self._paused:  # whoever was there before has failed
            slicer.local = replace(slicer.local, paused=True)
            self._pause(slicer, 0)
        return slicer

    def _forget(self) -> None:
        if self._slice is not None:
            self._teller.tell(self._on_start)
        self._slice, self._session, self._paused = None, None, False

    def _pause(self, slicer: Slicer, number: int) -> None:
        station = self._station

        def rests() -> None:
            if station is not None:
                station.post(functools.partial(slicer.rests, number))

        def paused() -> None:
            self._teller.tell((lambda: None) if self._paused or self._out else self._on_start, then=rests)
            self._slice, self._session, self._paused = None, None, not self._out

        self._tell(paused)

    def _go_on(self, slice_: Slice | None, session: Session | None) -> None:
        def going() -> None:
            if self._out:
                return
            self._slice, self._session, self._paused = slice_, session, False
            self._teller.tell(functools.partial(self._on_completed, slice_))

        self._tell(going)
        mine = f"slice {slice_.index} of {slice_.total}" if slice_ is not None else "no slice"
        log.info("%s: %s is ours", self._root[1:], mine)
