"""Lasts: what became of the last fire of each job, as the history tells it, for a list of very many jobs.

A thread of its own asks: a history that is slow must not keep anybody from seeing what changes in the
registry. Of a job that changes there it asks a moment later, and once more after that, as the history hears
of a run's end after the registry.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

from ..errors import ShardwrightError
from ..history import recent
from ..history.recent import Summary
from ..history.store import Store
from ..ops.values import plain

log = logging.getLogger("shardwright.console")

#: How many seconds after a change it is asked what became of it, and how many after that once more.
SOON, ONCE_MORE = 0.6, 2.5

#: For how many seconds a history is left alone that could not be asked.
LEFT_ALONE = 5.0

#: How many fires are looked at for the last one that is over: one of them may run.
FIRES = 2

#: How many jobs are asked for at a time.
AT_ONCE = 1000

History = Callable[[], AbstractContextManager[Store]]


class Lasts:
    """The last fires of the jobs of one registry."""

    def __init__(self, name: str, history: History) -> None:
        self._name = name
        self._history = history
        self._tell: Callable[[], None] = _nobody
        self._known: dict[str, Summary | None] = {}
        self._shards: dict[str, int] = {}
        self._due: dict[str, float] = {}
        self._once_more: set[str] = set()
        self._news: set[str] = set()
        self._changed = threading.Condition()
        self._stopped = False
        self._left_alone = 0.0
        self._trouble: ShardwrightError | None = None
        """Why the history could not be asked, the last time."""
        self._thread: threading.Thread | None = None

    def start(self, tell: Callable[[], None]) -> None:
        """Begin to ask; `tell` is called when there is news."""
        self._tell = tell
        self._thread = threading.Thread(target=self._run, name=f"console lasts {self._name}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(timeout=15)

    def follow(self, jobs: Mapping[str, int]) -> None:
        """These jobs have changed; told with their number of shards."""
        if not jobs:
            return
        soon = time.monotonic() + SOON
        with self._changed:
            for job, shards in jobs.items():
                if job in self._shards:
                    self._once_more.add(job)
                self._shards[job] = shards
                self._due.setdefault(job, soon)
            self._changed.notify()

    def forget(self, job: str) -> None:
        """The job is gone."""
        with self._changed:
            self._shards.pop(job, None)
            self._due.pop(job, None)
            self._once_more.discard(job)
        self._known.pop(job, None)

    def taken_news(self) -> set[str]:
        """The jobs whose last fire is another one since this was asked."""
        with self._changed:
            news, self._news = self._news, set()
        return news

    def check(self) -> None:
        """Refuse where the history does not answer: of what is not known nobody can say that it is well."""
        if self._trouble is not None:
            raise self._trouble.with_traceback(None)

    def of(self, job: str) -> Summary | None:
        return self._known.get(job)

    def told(self, job: str) -> dict[str, object] | None:
        """The last fire of a job, in values that JSON knows."""
        return told(self._known.get(job))

    def read(self, jobs: Mapping[str, int], fires: int) -> dict[str, tuple[Summary, ...]]:
        """The last fires of some jobs, read now; nothing where there is no history, or it does not answer."""
        if not jobs or time.monotonic() < self._left_alone:
            return {}
        try:
            with self._history() as store:
                found = recent.summaries(store, jobs, fires)
            self._trouble = None
            return found
        except ShardwrightError as error:
            self._left_alone, self._trouble = time.monotonic() + LEFT_ALONE, error
            log.debug("%s: the history was not asked: %s", self._name, error)
            return {}

    # -- the thread ---------------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._stopped:
                    return
                jobs = self._taken(time.monotonic())
                if not jobs:
                    self._changed.wait(self._pause(time.monotonic()))
                    continue
            try:
                self._learn(jobs, self.read(jobs, FIRES))
            except Exception:
                log.exception("%s: what became of the last fires could not be learned", self._name)

    def _taken(self, now: float) -> dict[str, int]:
        """The jobs that are to be asked for now; they are asked for once more later."""
        if now < self._left_alone:
            return {}
        due = [job for job, at in self._due.items() if at <= now][:AT_ONCE]
        for job in due:
            del self._due[job]
            if job in self._once_more:
                self._once_more.discard(job)
                self._due[job] = now + ONCE_MORE
        return {job: self._shards[job] for job in due}

    def _pause(self, now: float) -> float | None:
        if not self._due:
            return None
        return max(0.05, min(self._due.values()) - now, self._left_alone - now)

    def _learn(self, jobs: Mapping[str, int], found: Mapping[str, tuple[Summary, ...]]) -> None:
        if not found and time.monotonic() < self._left_alone:
            with self._changed:  # it could not be asked, and is to be asked all the same
                for job in jobs:
                    self._due.setdefault(job, self._left_alone)
            return
        fresh = {job: recent.last(found.get(job, ())) for job in jobs}
        news = {job for job, last in fresh.items() if last != self._known.get(job)}
        self._known.update(fresh)
        if news:
            with self._changed:
                self._news |= news
            self._tell()


def told(summary: Summary | None) -> dict[str, object] | None:
    if summary is None:
        return None
    return {
        "fire": summary.fire,
        "due": plain(summary.due),
        "disposition": summary.disposition.value,
        "outcome": summary.outcome,
        "ended": plain(summary.ended),
        "late": summary.late,
    }


def _nobody() -> None:
    """Nobody wants to know yet."""
