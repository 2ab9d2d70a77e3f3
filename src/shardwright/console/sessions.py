"""Sessions: who has signed in. They are kept in memory, so a new start of the console ends all of them.

A browser holds an id that says nothing and cannot be guessed; here is only its hash. One ends when nobody
has used it for half an hour (what the page fetches by itself is no use), after twelve hours in any case, when
its user signs out, and when the account is changed.
"""

import hashlib
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ..clock import Clock
from .roles import Roles

#: For how many seconds a session lasts that nobody uses, and at most.
IDLE = 30 * 60.0
LONGEST = 12 * 3600.0

#: How many there may be; the one that was not used for longest makes room.
MOST = 10_000

#: How many one user may have.
MOST_OF_ONE = 50


@dataclass(frozen=True, slots=True)
class Session:
    """One sign-in."""

    key: str
    """What it is called by; unlike the id it opens nothing."""
    user: str
    csrf: str
    """What the page has to say with everything that changes something."""
    stamp: str
    """How the account was when its user signed in; with another stamp the session is over."""
    address: str
    began: datetime
    began_boot: float
    used_boot: float
    roles: Roles | None = None
    """For one whom somebody else vouches for: there is no account to look them up in."""
    first: bool = False
    """Whether it is somebody with the one-time token."""

    def is_over(self, boot: float) -> bool:
        return boot - self.used_boot >= IDLE or boot - self.began_boot >= LONGEST

    @property
    def expires(self) -> datetime:
        """When it is over, if nobody uses it meanwhile."""
        idle = self.used_boot - self.began_boot + IDLE
        return self.began + timedelta(seconds=min(idle, LONGEST))


class Sessions:
    """All of them, by the hash of their ids. Calls come from many threads."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._held: dict[str, Session] = {}
        self._known: dict[str, str] = {}
        """The hashes by the keys: streams ask by these all the time."""

    def begin(
        self, user: str, *, stamp: str, address: str, roles: Roles | None = None, first: bool = False
    ) -> tuple[str, Session]:
        """A new session and the id that opens it, which is told here and never again."""
        opens = secrets.token_urlsafe(32)
        boot = self._clock.boot()
        session = Session(
            key=secrets.token_hex(8),
            user=user,
            csrf=secrets.token_urlsafe(32),
            stamp=stamp,
            address=address,
            began=self._clock.wall(),
            began_boot=boot,
            used_boot=boot,
            roles=roles,
            first=first,
        )
        with self._lock:
            self._make_room(user)
            self._held[_hashed(opens)] = session
            self._known[session.key] = _hashed(opens)
        return opens, session

    def used(self, opens: str) -> Session | None:
        """The session that an id opens, which lasts longer for it; None where it opens none."""
        with self._lock:
            known_as = _hashed(opens)
            session = self._open(known_as)
            if session is None:
                return None
            session = replace(session, used_boot=self._clock.boot())
            del self._held[known_as]  # so that those not used for longest come first
            self._held[known_as] = session
            return session

    def opened(self, opens: str) -> Session | None:
        """The session that an id opens, which lasts no longer for it."""
        with self._lock:
            return self._open(_hashed(opens))

    def find(self, key: str) -> Session | None:
        """A session by its key; it does not last longer for being looked at."""
        with self._lock:
            session = self._held.get(self._known.get(key, ""))
            return None if session is None or session.is_over(self._clock.boot()) else session

    def all(self) -> list[Session]:
        with self._lock:
            boot = self._clock.boot()
            return [session for session in self._held.values() if not session.is_over(boot)]

    def end(self, key: str) -> bool:
        """End one by its key; whether there was one."""
        return bool(self._drop(lambda session: session.key == key))

    def end_all_of(self, user: str) -> int:
        return self._drop(lambda session: session.user == user and not session.first)

    def end_first(self) -> None:
        """End those that the one-time token has opened."""
        self._drop(lambda session: session.first)

    def _drop(self, which: Callable[[Session], bool]) -> int:
        with self._lock:
            gone = [known_as for known_as, session in self._held.items() if which(session)]
            self._forget(gone)
            return len(gone)

    def _open(self, known_as: str) -> Session | None:
        session = self._held.get(known_as)
        if session is not None and session.is_over(self._clock.boot()):
            self._forget([known_as])
            return None
        return session

    def _forget(self, gone: list[str]) -> None:
        for known_as in gone:
            del self._known[self._held.pop(known_as).key]

    def _make_room(self, user: str) -> None:
        boot = self._clock.boot()
        self._forget([known_as for known_as, session in self._held.items() if session.is_over(boot)])
        own = [known_as for known_as, session in self._held.items() if session.user == user]
        self._forget(own[: max(0, len(own) - MOST_OF_ONE + 1)])
        self._forget(list(self._held)[: max(0, len(self._held) - MOST + 1)])


def _hashed(opens: str) -> str:
    return hashlib.sha256(opens.encode()).hexdigest()
