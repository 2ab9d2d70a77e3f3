"""A shard: what a job's code is handed for one run of one of its parts."""

import json
import logging
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from . import secrets
from .errors import Cancelled

log = logging.getLogger("shardwright")

#: How much a run may leave to its successor, in bytes as they are written.
LONGEST_CHECKPOINT = 64 * 1024

#: How much is told of a failure, in characters: a message may be endless.
LONGEST_STORY = 16 * 1024


@dataclass(frozen=True, slots=True, eq=False)
class Shard:
    """One run of one shard of a job."""

    item: int
    """Which of the shards, counted from 0."""
    total: int
    """How many there are."""
    parameter: str
    """The text for this shard; empty if the job has none for it."""
    job_name: str
    job_parameter: str
    fire_time: datetime | None
    """When the run was scheduled for, however late it began; None for one that somebody asked for."""
    token: int
    """Grows with every claim of this shard, for ever, and is the same for a claim's retries: a store that
    remembers the highest it has seen can turn away one who was given up and does not know it."""
    attempt: int
    """The how-manieth try of this fire it is: more than 1 after a retry or a failover."""
    source: str
    """Why it runs: scheduled, misfire, failover, trigger or catch-up."""
    checkpoint: str | None
    """What the run before, or the try before, left by `save`."""
    task_id: str = ""
    """What ElasticJob calls the run: job, shard and instance in one word."""
    _lease: Callable[[], float] = field(repr=False, default=lambda: 0.0)
    _save: Callable[[str], None] = field(repr=False, default=lambda checkpoint: None)
    _hide: Callable[[str], str] = field(repr=False, default=secrets.masked)
    _to_move: Callable[[], bool] = field(repr=False, default=lambda: False)
    _order: "Order" = field(repr=False, default_factory=lambda: Order())

    @property
    def lease_left(self) -> float:
        """For how many seconds this run is surely nobody else's; 0 when it may be."""
        return max(0.0, self._lease())

    @property
    def to_move(self) -> bool:
        """Whether a run that goes on from batch to batch should come to an end: its shard is to be somebody
        else's, or this process is about to leave. Nobody insists."""
        return self._to_move()

    @property
    def cancelled(self) -> bool:
        """Whether to stop: we were ordered to, are leaving, or may have been given up."""
        return self._order.given

    def cancel(self) -> None:
        """Tell the run to stop."""
        for error in self._order.give():
            log.error(
                "%s: shard %d: what was to be done when told to stop failed\n%s",
                *(self.job_name, self.item, self.masked(_story(error))),
            )

    def on_cancel(self, act: Callable[[], None]) -> AbstractContextManager[None]:
        """Have something done when the run is told to stop, while in this context: at once if it was already.
        It is called in another thread, and must be quick."""
        return self._order.heeded_by(act)

    def raise_if_cancelled(self) -> None:
        """Stop here if we are to stop; what was done until now is not taken for the whole."""
        if self.cancelled:
            raise Cancelled(f"{self.job_name}, shard {self.item}: told to stop")

    def masked(self, text: str) -> str:
        """A text as people may see it: without the secrets that the job's settings hold or refer to."""
        return self._hide(text)

    def as_json(self) -> str:
        """All that a program in another process or language needs to know."""
        names = ("item", "total", "parameter", "job_name", "job_parameter", "token", "attempt", "source")
        told = {name: getattr(self, name) for name in (*names, "checkpoint", "task_id")}
        fire = self.fire_time.isoformat() if self.fire_time is not None else None
        return json.dumps({**told, "fire_time": fire}, ensure_ascii=False)

    def sharding_context(self) -> str:
        """The same as ElasticJob tells it to scripts and over HTTP, to the letter: a JSON object of its
        `ShardingContext`."""
        told = {
            "jobName": self.job_name,
            "taskId": self.task_id,
            "shardingTotalCount": self.total,
            "jobParameter": self.job_parameter,
            "shardingItem": self.item,
            "shardingParameter": self.parameter or None,
        }
        present = {key: value for key, value in told.items() if value is not None}
        return json.dumps(present, ensure_ascii=False, separators=(",", ":"))

    def save(self, checkpoint: str) -> None:
        """Leave a short text for whoever runs this shard next, whether this run comes to its end or not: save
        an empty one when there is nothing to go on from. It is written soon, under this run's claim or not
        at all."""
        check_checkpoint(checkpoint)
        self._save(checkpoint)


class Order:
    """The order to stop, once given never taken back, and those who want to hear of it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._given = threading.Event()
        self._heeding: list[Callable[[], None]] = []

    @property
    def given(self) -> bool:
        return self._given.is_set()

    def give(self) -> list[BaseException]:
        """Tell all of them, whatever becomes of the others; says what they failed with."""
        with self._lock:
            self._given.set()
            heeding, self._heeding = self._heeding, []
        failed: list[BaseException] = []
        for act in heeding:
            try:
                act()
            except (Exception, SystemExit) as error:  # who leaves by `sys.exit` only fails
                failed.append(error)
        return failed

    @contextmanager
    def heeded_by(self, act: Callable[[], None]) -> Iterator[None]:
        with self._lock:
            waits = not self.given
            if waits:
                self._heeding.append(act)
        if not waits:
            act()
        try:
            yield
        finally:
            with self._lock:
                if act in self._heeding:
                    self._heeding.remove(act)


def _story(error: BaseException) -> str:
    """An error with its traceback; it does not end within a word, as half a secret may not be known for
    one."""
    story = "".join(traceback.format_exception(error))
    return story if len(story) <= LONGEST_STORY else story[:LONGEST_STORY].rsplit(None, 1)[0]


def check_checkpoint(checkpoint: str) -> None:
    """Raise where this cannot be left to a successor. It is said to whoever leaves it, in their own
    thread."""
    if not isinstance(checkpoint, str):
        raise TypeError(f"a checkpoint is a text, not {checkpoint!r:.100}")
    size = len(json.dumps(checkpoint))
    if size > LONGEST_CHECKPOINT:
        raise ValueError(
            f"a checkpoint may take {LONGEST_CHECKPOINT:,} bytes, not {size:,}: "
            "keep what is large elsewhere, and its name here"
        )
