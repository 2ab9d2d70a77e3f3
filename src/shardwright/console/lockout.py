"""Lock-out: whoever fails to sign in has to wait, longer each time. Nobody is kept waiting in a thread.

A try counts like one that has failed while it is under way: otherwise a hundred at once would all be free.

    somebody from somewhere   a user named from one place: few tries are free, as people mistype; then up to
                              a quarter of an hour
    somewhere                 all that comes from one place, whomever it names
    somebody                  all that names one user, wherever it comes from: half a minute at most, as
                              otherwise strangers could keep a user out by naming them; and from a place
                              where that user has signed in before it does not count at all

What is remembered is bounded, and is forgotten with time. A place is an address; of IPv6 it is the network of
64 bits, as whoever has one has all of it.
"""

import ipaddress
import math
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from ..clock import Clock

Kind = Literal["here", "place", "user"]


@dataclass(frozen=True, slots=True)
class Patience:
    """How many tries may fail before the next has to wait, and for how many seconds at most."""

    free: int
    longest: float


PATIENCE: dict[Kind, Patience] = {
    "here": Patience(4, 900.0),
    "place": Patience(20, 900.0),
    "user": Patience(20, 30.0),
}

#: The first wait in seconds; each further failure doubles it, up to the longest.
SHORTEST = 1.0

#: After how many seconds without a failure all is forgotten.
FORGOTTEN = 3600.0

#: How many failures are remembered, and how many places where a user has signed in.
MOST = 10_000

#: What is counted: of which kind, whose name, from where.
Mark = tuple[Kind, str, str]


@dataclass(frozen=True, slots=True)
class _Failures:
    count: int
    latest: float
    until: float


class Lockout:
    """Who has to wait, until when."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failed: dict[Mark, _Failures] = {}
        self._at_home: dict[tuple[str, str], None] = {}
        self._under_way: Counter[Mark] = Counter()

    def wait(self, user: str, address: str) -> int:
        """For how many whole seconds this user from there has to wait; 0 if not."""
        place = place_of(address)
        with self._lock:
            return self._wait(self._marks(user, place))

    @contextmanager
    def trying(self, user: str, address: str) -> Iterator[int]:
        """A try, while this lasts: `failed` or `succeeded` says within how it went, and where neither does it
        counts for nothing. Told for how many whole seconds it has to wait instead; 0 if it may be made."""
        place = place_of(address)
        with self._lock:
            marks = self._marks(user, place)
            seconds = self._wait(marks)
            if not seconds:
                self._under_way.update(marks)
        try:
            yield seconds
        finally:
            if not seconds:
                with self._lock:
                    self._under_way -= Counter(marks)

    def locked(self) -> frozenset[str]:
        """The users as whom somebody has to wait, from one place or from all."""
        with self._lock:
            boot = self._clock.boot()
            held = self._failed.items()
            return frozenset(user for (kind, user, _), each in held if kind != "place" and each.until > boot)

    def failed(self, user: str, address: str) -> None:
        """A try has failed."""
        place = place_of(address)
        with self._lock:
            boot = self._clock.boot()
            for mark in self._marks(user, place):
                count = self._count(mark, boot) + 1
                patience = PATIENCE[mark[0]]
                over = count - patience.free
                pause = min(SHORTEST * 2.0 ** min(over, 30), patience.longest) if over >= 0 else 0.0
                self._failed.pop(mark, None)
                _make_room(self._failed)
                self._failed[mark] = _Failures(count, boot, boot + pause)

    def succeeded(self, user: str, address: str) -> None:
        """A user has signed in there, whose failures there are forgotten; those of the place are not, from
        which others may have been tried for."""
        place = place_of(address)
        with self._lock:
            self._failed.pop(("here", user, place), None)
            self._at_home.pop((user, place), None)
            _make_room(self._at_home)
            self._at_home[user, place] = None

    def forgive(self, user: str) -> None:
        """Somebody who keeps the accounts has given this user another password: what failed with the old one
        is forgotten, and so is where they were at home with it."""
        with self._lock:
            for mark in [each for each in self._failed if each[0] != "place" and each[1] == user]:
                del self._failed[mark]
            for home in [each for each in self._at_home if each[0] == user]:
                del self._at_home[home]

    def _wait(self, marks: Sequence[Mark]) -> int:
        boot = self._clock.boot()
        pauses = [self._failed[each].until - boot for each in marks if each in self._failed]
        if any(self._is_taken(each, boot) for each in marks):
            pauses.append(SHORTEST)
        return max(0, *map(math.ceil, pauses)) if pauses else 0

    def _is_taken(self, mark: Mark, boot: float) -> bool:
        """Whether those who try at the moment have taken what is free, or the one try after a wait."""
        tries = self._under_way[mark]
        return tries > 0 and self._count(mark, boot) + tries >= PATIENCE[mark[0]].free

    def _count(self, mark: Mark, boot: float) -> int:
        """How many tries have failed that are not forgotten."""
        failures = self._failed.get(mark)
        return 0 if failures is None or boot - failures.latest >= FORGOTTEN else failures.count

    def _marks(self, user: str, place: str) -> list[Mark]:
        marks: list[Mark] = [("here", user, place), ("place", "", place)]
        return marks if (user, place) in self._at_home else [*marks, ("user", user, "")]


def place_of(address: str) -> str:
    """Where an address is: itself, or the network of an IPv6 one."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:  # a proxy may say anything
        return address
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)


def _make_room(remembered: "dict[Mark, _Failures] | dict[tuple[str, str], None]") -> None:
    while len(remembered) >= MOST:  # the one that was noted longest ago comes first
        del remembered[next(iter(remembered))]  # type: ignore[arg-type]
