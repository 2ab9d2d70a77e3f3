"""Events: what happens to jobs and shards, as frozen values, and the bus that takes them to who listens.

    Event                         at, job
    ├── ShardEvent                made, fire, item: one shard of one fire of one making of the job
    │   ├── Started, Ended        a run of it, by whom, why, the how-manieth
    │   ├── Retried               a try of it came out badly, and the run goes on with another
    │   ├── FailedOver            a run whose member died is put up for somebody else
    │   ├── MadeGood, Skipped,    it does not run itself: a later fire stands for it, or a reason
    │   │   Lost
    │   ├── LeaseLost             its run was told to stop, as the registry could not be reached in time
    │   ├── StaleRefused          a write for it came too late and was refused
    │   └── Logged                what its run wrote to the log
    ├── Moved                     how many shards a resharding moved
    ├── LeaseMargin               how long our lease had left when a run was begun
    ├── Backlog                   how the history keeps up
    ├── Alerted                   a message about a job was delivered by its error handler, or could not be
    └── RegistryLost, RegistryBack

A fire is named by its scheduled time in ISO 8601, or by `#n` where somebody asked for it.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from . import texts

log = logging.getLogger("shardwright")

Consumer = Callable[["Event"], None]

#: How much is kept of why a try failed that another followed.
LONGEST_RETRIED = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened."""

    at: datetime
    job: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardEvent(Event):
    """Something that happened to one shard of one fire."""

    fire: str
    item: int
    made: int = 0
    """The number of the commit that made the job: a job removed and made anew has a history of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEvent(ShardEvent):
    """Something that happened to a run."""

    attempt: str
    by: str
    """The instance that runs it."""
    source: str = "scheduled"
    number: int = 1
    """The how-manieth attempt at this shard of this fire it is."""
    host: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Started(RunEvent):
    """A run began."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended(RunEvent):
    """A run came out: `outcome` is one of `shardwright.outcomes`, `failure` says why if it failed."""

    outcome: str
    began: datetime | None = None
    failure: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "failure", texts.kept(self.failure))


@dataclass(frozen=True, slots=True, kw_only=True)
class Retried(RunEvent):
    """A try of a run came out badly, and the run goes on with another. `number` counts runs, `tried` counts
    tries."""

    tried: int
    outcome: str
    began: datetime | None = None
    failure: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "failure", texts.kept(self.failure, LONGEST_RETRIED))


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedOver(RunEvent):
    """The run of a member that died; somebody else may run the shard now."""

    to: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseLost(RunEvent):
    """A run was told to stop before somebody else could begin it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeGood(ShardEvent):
    """A fire that could not run in time; a later one stands for it."""

    later: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped(ShardEvent):
    """A fire that is not run, and why."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost(ShardEvent):
    """A fire whose run did not come to an end, and is not run again."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleRefused(ShardEvent):
    """A write on behalf of a shard that is no longer ours was refused."""

    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Logged(ShardEvent):
    """What a run wrote to the log, and how many lines of it were too many."""

    attempt: str
    text: str
    left_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved(Event):
    """A resharding gave so many shards to another member."""

    shards: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseMargin(Event):
    """How much was left of our lease when a run was begun."""

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog(Event):
    """How the history keeps up: how many entries wait, and how many were dropped since we started."""

    waiting: int
    dropped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Alerted(Event):
    """A message about a job was sent by the handler of this type; it arrived, or could not be delivered."""

    handler: str
    delivered: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryLost(Event):
    """The registry does not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryBack(Event):
    """The registry answers again, after so many seconds."""

    seconds: float


class Events:
    """Carries events to any number of consumers, in order, in a thread of its own.

    Publishing only leaves the event there; of several that are published together, it may be left to that
    thread to make them. A consumer that fails is logged, and troubles nobody else. While the thread is not
    started, `deliver` carries what waits, in the thread that calls it.
    """

    def __init__(self, *, most: int = 100_000) -> None:
        self._most = most
        self._waiting: deque[Iterable[Event]] = deque()
        self._consumers: tuple[Consumer, ...] = ()
        self._news = threading.Condition()
        self._delivering = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False
        self.dropped = 0
        """How many events were not carried: too many waited, or it was closed."""

    def subscribe(self, consumer: Consumer) -> None:
        with self._news:
            self._consumers = (*self._consumers, consumer)

    def publish(self, event: Event) -> None:
        self.publish_all((event,))

    def publish_all(self, several: Iterable[Event]) -> None:
        """Leave several, which wait as one, and are asked for when they are carried."""
        with self._news:
            if len(self._waiting) >= self._most or self._closed:
                if self.dropped == 0 and not self._closed:
                    log.warning("more than %d events wait: those after them are not told", self._most)
                self.dropped += 1
                return
            self._waiting.append(several)
            self._news.notify()

    def start(self) -> None:
        with self._news:
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._carry, name="shardwright events", daemon=True)
                self._thread.start()

    def deliver(self) -> int:
        """Carry what waits now; how many events that were."""
        count = 0
        with self._delivering:  # two who deliver at once would mix up the order
            while (several := self._next()) is not None:
                for event in several:
                    count += 1
                    for consumer in self._consumers:
                        _tell(consumer, event)
        return count

    def close(self, timeout: float | None = None) -> None:
        """Take no more, and carry what waits: in this thread, if there is no other."""
        with self._news:
            self._closed = True
            self._news.notify()
        if self._thread is None:
            self.deliver()
        else:
            self._thread.join(timeout)

    def _next(self) -> Iterable[Event] | None:
        with self._news:
            return self._waiting.popleft() if self._waiting else None

    def _carry(self) -> None:
        while True:
            with self._news:
                self._news.wait_for(lambda: self._waiting or self._closed)
                if not self._waiting:
                    return
            self.deliver()


def _tell(consumer: Consumer, event: Event) -> None:
    try:
        consumer(event)
    except Exception:
        log.exception("%s: %r could not take in %s", event.job or "-", consumer, type(event).__name__)
