"""The recorder: takes in events and writes them to a store, in batches, in a thread of its own.

A store that is down stops no job. What is told meanwhile waits, joined into one entry for each shard of each
fire, up to a limit; what is beyond it is dropped, the oldest first, and counted. A stretch of fires waits as
one, and is taken apart when it is written. While the store is down it is asked again after a pause that
doubles. What was dropped is not said to be kept, so that the shard's cursor goes on saying it, or in the end
that nobody knows.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Container, Iterator, Sequence
from datetime import timedelta
from itertools import chain, takewhile

from ..clock import Clock, SystemClock
from . import entries, retention, stretches
from .engine import HistoryDown, HistoryError
from .events import Backlog, Event, Logged
from .keeping import Retention
from .ledger import Entry, Key
from .store import Store
from .stretches import Stretch, Told

log = logging.getLogger("shardwright")

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
TIDY_EVERY = timedelta(hours=1)

#: How many logs of runs wait at most; they are much larger than entries.
MOST_LOGS = 500

#: What waits is known by this.
_Name = Key | Stretch


class _Ticket:
    """Entries that somebody waits for to be kept."""

    __slots__ = ("keys", "then")

    def __init__(self, keys: set[_Name], then: Callable[[], None]) -> None:
        self.keys, self.then = keys, then


class _Tickets:
    """Those that are open, in the order in which they came. One of which an entry is dropped is void, and no
    longer here: so there are not many more than entries that wait."""

    def __init__(self) -> None:
        self._open: dict[_Ticket, None] = {}
        self._of: dict[_Name, list[_Ticket]] = {}

    def __len__(self) -> int:
        return len(self._open)

    def add(self, ticket: _Ticket) -> None:
        self._open[ticket] = None
        for key in ticket.keys:
            self._of.setdefault(key, []).append(ticket)

    def drop(self, key: _Name) -> None:
        """This is not going to be kept."""
        for ticket in self._of.get(key, [])[:]:
            self._close(ticket)

    def taken(self, waiting: Container[_Name]) -> list[_Ticket]:
        """Close those, from the first on, of whose entries none waits any more."""
        found = list(takewhile(lambda ticket: not any(key in waiting for key in ticket.keys), self._open))
        for ticket in found:
            self._close(ticket)
        return found

    def _close(self, ticket: _Ticket) -> None:
        del self._open[ticket]
        for key in ticket.keys:
            left = self._of[key]
            left.remove(ticket)
            if not left:
                del self._of[key]


class Recorder:
    """A consumer of events that keeps them in a store.

    It writes when `batch` entries wait, or the first of them has waited for `every` seconds; at most `most`
    wait. `turn` does what is due now; the thread that `start` begins calls it, and a test may. `tell` is
    told how it keeps up.
    """

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock | None = None,
        keep: Retention | None = None,
        most: int = 20_000,
        batch: int = 500,
        every: float = 1.0,
        tell: Callable[[Event], None] = lambda event: None,
    ) -> None:
        self._store, self._clock, self._keep = store, clock or SystemClock(), keep or Retention()
        self._most, self._batch, self._every, self._tell = most, batch, every, tell
        self._waiting: dict[_Name, Told] = {}
        self._logs: deque[Logged] = deque(maxlen=MOST_LOGS)
        self._tickets = _Tickets()
        self._since: float | None = None
        self._again = 0.0
        self._pause = FIRST_PAUSE
        self._down: float | None = None
        self._tidied: float | None = None
        self._news = threading.Condition()
        self._writing = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closing = False
        self.dropped = 0
        """How many entries were dropped since the beginning."""

    @property
    def waiting(self) -> int:
        """How many entries are not written yet; a stretch of fires counts as one."""
        return len(self._waiting)

    @property
    def down(self) -> bool:
        """Whether the store could not be written to when that was last tried."""
        return self._down is not None

    def __call__(self, event: Event) -> None:
        """Take in an event; it is not written yet."""
        entry = entries.of(event)
        if entry is None and not isinstance(event, Logged):
            return
        with self._news:
            if isinstance(event, Logged):
                self._logs.append(event)
            if entry is not None:
                self._add(entry)
            self._ring()

    def keep(self, told: Sequence[Told], then: Callable[[], None]) -> None:
        """Take in entries and stretches. Once all of them are in the store `then` is called, by whoever wrote
        them, and in the order in which they came; not at all if one had to be dropped."""
        with self._news:
            self._tickets.add(_Ticket({each.key for each in told}, then))
            for each in told:
                self._add(each)
            self._ring()

    def _ring(self) -> None:
        if self._since is None:
            self._since = self._clock.boot()
            self._news.notify()
        elif len(self._waiting) >= self._batch:
            self._news.notify()

    def start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="shardwright history", daemon=True)
            self._thread.start()

    def turn(self) -> float:
        """Write what is due, if anything is; how many seconds there are until the next turn, at most."""
        now = self._clock.boot()
        if self._wait(now) > 0:
            return self._wait(now)
        self._write()
        self._tell(Backlog(at=self._clock.wall(), waiting=self.waiting, dropped=self.dropped))
        self._tidy()
        return self._wait(self._clock.boot())

    def flush(self) -> bool:
        """Write all that waits, now; whether that could be done."""
        while self._waiting or self._logs:
            if not self._write():
                return False
        return True

    def close(self, timeout: float | None = None) -> bool:
        """Write what waits, and end; whether all of it was written. It does not wait for a store that is
        down: what it cannot take now is told again by who looks at the cursors next. Stretches come last, as
        they may take long; how a run failed, and what it logged, nobody else can tell."""
        with self._news:
            self._closing = True
            self._waiting = dict(sorted(self._waiting.items(), key=lambda each: isinstance(each[1], Stretch)))
            self._news.notify()
        if self._thread is not None:
            self._thread.join(timeout)
        else:
            self.flush()
        if left := self.waiting:
            log.warning("%d entries of the history could not be written before the end", left)
            self._leave_stretches()
        return not left

    def _leave_stretches(self) -> None:
        """Whoever still writes is not to be at it for long, while others are told the same by the cursors."""
        with self._news:
            for told in [told for told in self._waiting.values() if isinstance(told, Stretch)]:
                self._drop(self._waiting.pop(told))

    def _add(self, told: Told) -> None:
        known = self._waiting.get(told.key)
        if isinstance(known, Entry) and isinstance(told, Entry):
            told = known.joined(told)
        self._waiting[told.key] = told
        while len(self._waiting) > self._most:
            self._drop(self._waiting.pop(next(iter(self._waiting))))

    def _drop(self, told: Told) -> None:
        self.dropped += 1
        self._tickets.drop(told.key)

    def _wait(self, now: float) -> float:
        """How long there is nothing to do."""
        if now < self._again:
            return self._again - now
        if self._since is None:
            tidied = now - TIDY_EVERY.total_seconds() if self._tidied is None else self._tidied
            return max(0.0, tidied + TIDY_EVERY.total_seconds() - now)
        if len(self._waiting) >= self._batch:
            return 0.0
        return max(0.0, self._since + self._every - now)

    def _write(self) -> bool:
        with self._writing:
            taken, logs = self._take()
            if not taken and not logs:
                return True
            if not self._is_taken(taken, logs):
                return False
            with self._news:  # while nobody else has anything under way, which does not wait any more
                kept = self._tickets.taken(self._waiting)
        for ticket in kept:
            ticket.then()
        return True

    def _is_taken(self, taken: list[Told], logs: list[Logged]) -> bool:
        """Whether the store has taken them; otherwise they wait for the next time."""
        try:
            self._write_or_sort_out(taken, logs)
        except HistoryError as error:
            self._keep_for_later(taken, logs, error)
            return False
        except Exception as error:
            # Whatever it is, the thread must outlive it, and what was told must not be lost with it.
            log.exception("the history could not be written")
            self._keep_for_later(taken, logs, error)
            return False
        self._is_up()
        return True

    def _write_or_sort_out(self, taken: list[Told], logs: list[Logged]) -> None:
        try:
            self._store.write(_apart(taken), logs)
        except HistoryDown:
            raise
        except HistoryError:
            if not self._is_taken_singly(taken, logs):
                raise

    def _is_taken_singly(self, taken: list[Told], logs: list[Logged]) -> bool:
        """One entry may be at fault, and is dropped. If none at all can be written, the store is."""
        refused = [told for told in taken if not self._is_written([told], [])]
        unlogged = [logged for logged in logs if not self._is_written([], [logged])]
        if len(refused) == len(taken) and len(unlogged) == len(logs):
            return False
        with self._news:
            for told in refused:
                log.error("%s: the history refuses shard %d of %s", *_place(told))
                self._drop(told)
        for logged in unlogged:
            what = (logged.job, logged.item, logged.fire)
            log.error("%s: the history refuses what shard %d of %s has logged", *what)
        return True

    def _is_written(self, taken: list[Told], logs: list[Logged]) -> bool:
        try:
            self._store.write(_apart(taken), logs)
        except HistoryDown:
            raise  # it refuses nothing: all of it is tried again
        except HistoryError as error:
            log.debug("not written: %s", str(error))
            return False
        return True

    def _take(self) -> tuple[list[Told], list[Logged]]:
        """A batch; it is larger only where its last is a stretch."""
        taken = list[Told]()
        room = self._batch
        while room > 0 and (told := self._next()) is not None:
            taken.append(told)
            room -= stretches.size(told)  # which may take a while: the reactor must not wait for it
        with self._news:
            logs = [self._logs.popleft() for _ in range(min(len(self._logs), self._batch))]
            if not self._waiting and not self._logs:
                self._since = None
        return taken, logs

    def _next(self) -> Told | None:
        with self._news:
            return self._waiting.pop(next(iter(self._waiting))) if self._waiting else None

    def _keep_for_later(self, taken: list[Told], logs: list[Logged], error: Exception) -> None:
        now = self._clock.boot()
        with self._news:
            newer, self._waiting = self._waiting, {}
            for told in [*taken, *newer.values()]:
                self._add(told)
            self._logs.extendleft(reversed(logs[: MOST_LOGS - len(self._logs)]))
            self._since = now - self._every  # only the pause is waited for
        if self._down is None:
            self._down = now
            log.warning("%s; jobs go on, and it is tried again", str(error))
        self._again = now + self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE)

    def _is_up(self) -> None:
        if self._down is not None:
            gone = self._clock.boot() - self._down
            log.info(
                "the history is written again, after %.0f s; %d entries were dropped", gone, self.dropped
            )
        self._down, self._again, self._pause = None, 0.0, FIRST_PAUSE

    def _tidy(self) -> None:
        now = self._clock.boot()
        if self._down is not None or self._closing:
            return
        if self._tidied is not None and now - self._tidied < TIDY_EVERY.total_seconds():
            return
        self._tidied = now
        try:
            gone = retention.tidy(self._store, self._keep, self._clock.wall())
        except HistoryError as error:
            log.warning("%s; it is tidied later", str(error))
            return
        except Exception:
            log.exception("the history could not be tidied; that is tried later")
            return
        if gone:
            log.info("%d entries were too old for the history, and are only counted now", gone)

    def _run(self) -> None:
        while not self._closing:
            self.turn()
            with self._news:
                wait = self._wait(self._clock.boot())  # by what has come since the turn, too
                if wait > 0 and not self._closing:
                    self._news.wait(wait)
        self.flush()


def _apart(taken: Sequence[Told]) -> Iterator[Entry]:
    return chain.from_iterable(map(stretches.apart, taken))


def _place(told: Told) -> tuple[str, int, str]:
    if isinstance(told, Stretch):
        return told.job, told.item, f"the fires up to {told.until.isoformat()}"
    return told.key.job, told.key.item, told.key.fire
