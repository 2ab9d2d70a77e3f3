"""The keeper: a thread that beats our heart and watches everybody else's, and never touches the database."""

import threading
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path

from ...clock import Clock
from ...logs import Log
from .liveness import Others, Tenure

log = Log("shardwright.registry.sqlite")

#: Seconds between two looks at the others' locks.
LOOK_EVERY = 0.05

#: Seconds after which a death is reported again, should nothing have come of it.
_AGAIN = 1.0


class Keeper:
    """Tells of sessions that have ended, of our own lock file if somebody deletes it, and of its own end."""

    def __init__(
        self,
        folder: Path,
        clock: Clock,
        *,
        died: Callable[[str, str], None],
        robbed: Callable[[str], None],
        broke: Callable[[BaseException], None],
    ) -> None:
        self._clock = clock
        self._died, self._robbed, self._broke = died, robbed, broke
        self._tenure: Tenure | None = None
        self._given_up: deque[Tenure] = deque()
        self._sessions: Mapping[str, float] = {}
        self._others = Others(folder)
        self._reported: dict[str, float] = {}
        self._complaint = ""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="registry keeper", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def hold(self, tenure: Tenure | None) -> None:
        """From now on, beat for this one; the one before is let go of.

        Only the keeper's thread closes lock files while it runs: the number of a closed descriptor may be
        another file's the next moment, and a beat would be written there.
        """
        old, self._tenure = self._tenure, tenure
        if old is not None:
            self._given_up.append(old)

    def watch(self, sessions: Mapping[str, float]) -> None:
        """From now on, look after these sessions of others, given with their time-outs."""
        self._sessions = sessions

    def stop(self, *, wait: bool = True) -> None:
        self._stop.set()
        if wait and self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            while not self._stop.wait(LOOK_EVERY):
                try:
                    self._look()
                    self._complaint = ""
                except Exception as error:
                    # Such as too many open files. Our lease runs out by itself if it lasts.
                    self._complain(f"the sessions cannot be looked after: {error!r}")
        except BaseException as error:
            self._broke(error)
        finally:
            self.hold(None)
            self._let_go()
            self._others.close()

    def _let_go(self) -> None:
        while self._given_up:
            self._given_up.popleft().close()

    def _look(self) -> None:
        self._let_go()
        tenure = self._tenure
        if tenure is not None:
            tenure.beat()
            if tenure.is_missing() and self._is_new("ours"):
                self._robbed(tenure.session.id)
        for session, why in self._others.look(self._sessions, self._clock.boot()):
            if self._is_new(session):
                self._died(session, why)

    def _is_new(self, what: str) -> bool:
        now = self._clock.boot()
        if now < self._reported.get(what, now):
            return False
        self._reported = {each: until for each, until in self._reported.items() if until > now}
        self._reported[what] = now + _AGAIN
        return True

    def _complain(self, complaint: str) -> None:
        if complaint != self._complaint:
            self._complaint = complaint
            log.error("%s", complaint)
