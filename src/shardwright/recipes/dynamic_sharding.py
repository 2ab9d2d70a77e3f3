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
cannot be alive any more, or `deadline` seconds have passed (which is logged): until then no two have one at
once. An `on_start` that raises counts as come back. `slice.epoch` grows with every round: hand it to whatever
you write to, and let that refuse smaller ones.

The nodes stand at `/<name>`, whatever namespace the registry's address names: give test and production
different names, or different registries.
"""

import functools
import logging
import math
from collections.abc import Callable
from concurrent.futures import Future

from ..errors import RecipeError
from ..registry import Outcome, Registry, Session
from ..runtime import identity
from .checks import checked_callback, checked_name, checked_root
from .participant import LEAVING, Participant
from .slicer import Slicer
from .slicing import DEADLINE, ORDERS, Slice

__all__ = ["DynamicSharding", "Slice"]

log = logging.getLogger("shardwright")


class DynamicSharding(Participant[Slicer]):
    """One process that wants a slice.

    `name` is the node that everything stands below. `order` is `sticky`, so that as few slices as possible
    change hands, or `sorted`, by the processes' ids; on that and on `exclusive` all must agree. `deadline` is
    for how many seconds a round waits, with `exclusive`, for an `on_start` that does not come back.
    `registry` is as for a `Scheduler`; `address` is what others know this machine by, if not by its own IPv4
    address.
    """

    def __init__(
        self,
        name: str,
        *,
        on_start: Callable[[], object] = lambda: None,
        on_completed: Callable[["Slice | None"], object] = lambda slice: None,
        exclusive: bool = False,
        order: str = ORDERS[0],
        deadline: float = DEADLINE,
        registry: str | None = None,
        address: str | None = None,
    ) -> None:
        if not isinstance(name, str):
            raise RecipeError(f"the name is a text, not {name!r}")
        self._root = checked_root(name if name.startswith("/") else f"/{name}")
        checked_callback("on_start", on_start)
        checked_callback("on_completed", on_completed)
        if not isinstance(exclusive, bool):
            raise RecipeError(f"exclusive is True or False, not {exclusive!r}")
        if order not in ORDERS:
            raise RecipeError(f"the order {order!r} is not one of {', '.join(ORDERS)}")
        if isinstance(deadline, bool) or not isinstance(deadline, int | float) or not 0 < deadline < math.inf:
            raise RecipeError(f"the deadline is a number of seconds, more than 0, not {deadline!r}")
        self._on_start, self._on_completed = on_start, on_completed
        self._exclusive, self._order, self._deadline = exclusive, order, deadline
        self._address = None if address is None else _address(address)
        super().__init__(self._root[1:], registry)

    def _be_idle(self) -> None:
        super()._be_idle()
        self._slice: Slice | None = None
        self._session: Session | None = None
        self._given: object = None
        """The last that was given to us; None where all that was is over."""
        self._rests = False
        """Whether `on_start` was called last: known, and changed, by what the teller calls."""

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

    def stop(self, within: float | None = None) -> None:
        """Pause, then leave in order, so that others take over at once; not waited for longer than so many
        seconds. With `exclusive` that is the deadline, unless given: who leaves before `on_start` has come
        back leaves its slice to others."""
        if self._teller.is_calling():
            raise RecipeError("on_start and on_completed cannot call stop(): it waits for them to come back")
        usual = max(LEAVING, self._deadline) if self._exclusive else LEAVING
        super().stop(usual if within is None else within)

    def _is_settled(self) -> bool:
        """Nothing to wait for: the first round tells."""
        return True

    def _make(
        self, registry: Registry, wake: Callable[[], None], commit: Callable[..., Future[Outcome]]
    ) -> Slicer:
        self._lose()  # whoever was there before has failed
        address = self._address or identity.address()
        station, pause = self._station, self._if_ours(self._pause)

        def paused(number: int) -> None:
            pause()
            rests = functools.partial(slicer.rests, number)
            self._teller.tell("the end of a pause", lambda: station.post(rests) if station else None)

        slicer = Slicer(
            registry,
            self._root,
            identity=lambda: identity.new_name(address),
            pause=paused,
            go_on=self._if_ours(self._go_on),
            gone=self._if_ours(self._has_gone),
            order=self._order,
            exclusive=self._exclusive,
            patience=self._deadline,
            wake=wake,
            commit=commit,
        )
        return slicer

    def _forget(self) -> None:
        self._lose()

    def _lose(self) -> None:
        """What we have is over, whatever a round says."""
        if self._slice is not None:
            self._pause()
        self._given = None

    def _pause(self) -> None:
        def paused() -> None:
            self._slice, self._session = None, None
            self._teller.tell("on_start", self._call_start)

        self._publish(paused)

    def _go_on(self, slice_: Slice | None, session: Session | None) -> None:
        given = object()

        def going() -> None:
            self._slice, self._session, self._given = slice_, session, given
            self._teller.tell("on_completed", lambda: self._call_completed(slice_, session, given))

        self._publish(going)
        mine = f"slice {slice_.index} of {slice_.total}" if slice_ is not None else "no slice"
        log.info("%s: %s is ours", self._label, mine)

    # What the teller calls, in turns

    def _call_start(self) -> None:
        if not self._rests:
            self._rests = True
            self._on_start()

    def _call_completed(self, slice_: Slice | None, session: Session | None, given: object) -> None:
        """What was given may be somebody else's by the time that we get here: then it is passed over, and so
        is the pause that answers it."""
        if given is self._given and session is not None and session.lease_left() > 0:
            self._rests = False
            self._on_completed(slice_)


def _address(text: str) -> str:
    """One that an instance's id can begin with."""
    if "@-@" in checked_name("address", text):
        raise RecipeError(f"the address {text!r} has '@-@' in it, which is where an instance's id goes on")
    return text
