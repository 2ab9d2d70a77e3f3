"""The chronicle: how what happens here comes into the history, and to whoever else listens.

What becomes of fires is in the shards' cursors until the history has it: members tell what they find there,
here it is put into the history's words and handed to the recorder, and when that has written it the member is
told, so that the cursor need not say it any longer. What only this process knows, such as when a function was
entered, why it failed and what it logged, is told beside that and may be lost with the process.
"""

import contextlib
import inspect
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..clock import Clock
from ..coordination import account
from ..coordination.account import Passed, Ran
from ..errors import JobError
from ..history import beside, capture, ledger, stretches
from ..history.events import (
    Alerted,
    Consumer,
    Ended,
    Event,
    Events,
    FailedOver,
    LeaseLost,
    LeaseMargin,
    Logged,
    Lost,
    MadeGood,
    Moved,
    Retried,
    Skipped,
    StaleRefused,
    Started,
)
from ..history.keeping import Retention
from ..history.late import late_store
from ..history.ledger import Attempt, Disposition, Entry, Key, Verdict
from ..history.stretches import Stretch, Told
from ..registry.url import parse as parse_url
from ..shard import Shard
from .bodies import Body

if TYPE_CHECKING:
    from ..history.recorder import Recorder
    from ..history.store import Store

log = logging.getLogger("shardwright")

#: Where the environment says that the history is.
VARIABLE = "SHARDWRIGHT_HISTORY"

#: What those who listen are told of accounts. The recorder is given the accounts themselves.
_OF_ACCOUNTS = (MadeGood, Skipped, Lost, FailedOver)

_KINDS = {
    account.MADE_GOOD: Disposition.MADE_GOOD,
    account.SKIPPED: Disposition.SKIPPED,
    account.UNKNOWN: Disposition.UNKNOWN,
}


@dataclass(frozen=True, slots=True)
class About:
    """Which run something is told of."""

    job: str
    made: int
    item: int
    fire: str
    attempt: str
    by: str
    source: str
    number: int
    host: str


@dataclass(frozen=True, slots=True)
class JobWitness:
    """Tells the chronicle what happens to one job; `kept` is called with the shard, the making, and the
    numbers after which and up to which the history has what there was to say."""

    chronicle: "Chronicle"
    job: str
    kept: Callable[[int, int, int, int], None]

    @property
    def keeps(self) -> bool:
        return self.chronicle.keeps

    @property
    def heard(self) -> bool:
        return self.chronicle.heard

    def account(
        self, made: int, item: int, entries: tuple[account.Entry, ...], *, after: int, ours: bool
    ) -> None:
        kept = partial(self.kept, item, made, after, entries[-1].number)
        self.chronicle.account(self.job, made, item, entries, kept, ours=ours)

    def moved(self, shards: int) -> None:
        self.chronicle.moved(self.job, shards)

    def refused(self, item: int) -> None:
        self.chronicle.refused(self.job, item)


@dataclass(slots=True)
class _Story:
    """What only this process knows of a run of its own, of all its tries together."""

    tape: capture.Tape = field(default_factory=capture.Tape)
    logged: str = ""
    """What is on the tape, as it may be shown."""
    began: datetime | None = None
    tried: datetime | None = None
    """When its last try began."""

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Have what the block logs on the tape. It is made fit to be shown here, in the thread that runs the
        try: that takes its time, and the reactor has none."""
        with capture.capturing(self.tape):
            try:
                yield
            finally:
                self.logged = self.tape.text()


class Chronicle:
    """Events for whoever listens, and a recorder if there is a history."""

    def __init__(
        self,
        clock: Clock,
        where: str | Path | None,
        consumers: Sequence[Consumer] = (),
        *,
        keep: Retention | None = None,
        tables: bool | str | None = None,
    ) -> None:
        self._clock = clock
        self._events = Events()
        self._stories: dict[About, _Story] = {}
        """Of what runs here; each is added to by the thread that runs it, and by us while none does."""
        self._store = late_store(where, trace=tables) if where is not None else None
        self._recorder = _recorder(self._store, clock, keep, self._events.publish) if self._store else None
        for consumer in consumers:
            self._events.subscribe(consumer)
        if self._recorder is not None:
            self._events.subscribe(partial(_record, self._recorder))
        self._others = bool(consumers)
        """Whether anybody listens but the recorder."""
        self.heard = self._recorder is not None or self._others
        """Whether anybody listens."""

    @property
    def keeps(self) -> bool:
        """Whether there is a history here. Without one cursors are left as they are: what others said in them
        waits for a member that has one."""
        return self._recorder is not None

    def start(self) -> None:
        if self.heard:
            self._events.start()
        if self._recorder is not None:
            capture.install()
            self._recorder.start()

    def close(self, within: float) -> None:
        self._events.close(within)
        if self._recorder is not None and self._store is not None:
            self._recorder.close(within)
            self._store.close()

    def publish(self, event: Event) -> None:
        if self.heard:
            self._events.publish(event)

    def account(
        self,
        job: str,
        made: int,
        item: int,
        entries: Sequence[account.Entry],
        kept: Callable[[], None],
        *,
        ours: bool,
    ) -> None:
        """Give what a cursor says to the recorder, if there is one; `kept` is called by another thread when
        it is written. What we have said ourselves is told to those who listen, too. The reactor waits for
        this: fires that were passed over are told apart by the threads of those two."""
        now = self._clock.wall()
        told = [_told(job, made, item, entry, now) for entry in entries]
        if ours and self._others:
            apart = chain.from_iterable(map(stretches.apart, told))
            self._events.publish_all(filter(None, map(_event, apart)))
        if self._recorder is not None:
            self._recorder.keep(told, kept)

    def moved(self, job: str, shards: int) -> None:
        self.publish(Moved(at=self._clock.wall(), job=job, shards=shards))

    def refused(self, job: str, item: int) -> None:
        self.publish(StaleRefused(at=self._clock.wall(), job=job, fire="#0", item=item))  # whichever it was

    def lease_margin(self, seconds: float) -> None:
        self.publish(LeaseMargin(at=self._clock.wall(), seconds=seconds))

    def alerted(self, job: str, handler: str, delivered: bool) -> None:
        self.publish(Alerted(at=self._clock.wall(), job=job, handler=handler, delivered=delivered))

    def retried(self, about: About, number: int, outcome: str, failure: str) -> None:
        """A try of a run came out badly, and the run goes on."""
        if (story := self._stories.get(about)) is None:
            return  # nobody listens, or it never began
        story.tape.add(f"-- try {number} {outcome}, and is followed by another --")
        said = {**self._said(about), "tried": number, "outcome": outcome, "failure": failure}
        self.publish(Retried(**said, began=story.tried))

    def ended(self, about: About, outcome: str, failure: str) -> None:
        story = self._stories.pop(about, None)
        if story is not None and story.logged:
            where = {name: getattr(about, name) for name in ("job", "made", "item", "fire", "attempt")}
            text, left_out = story.logged, story.tape.left_out
            self.publish(Logged(at=self._clock.wall(), text=text, left_out=left_out, **where))
        began = story.began if story is not None else None
        self.publish(Ended(**self._said(about), began=began, outcome=outcome, failure=failure))

    def lease_lost(self, about: About) -> None:
        self.publish(LeaseLost(**self._said(about)))

    def witnessed(self, body: Body, about: About) -> Body:
        """The body, with its beginning told, and what it logs kept: of all tries of it together."""
        return _watched(body, partial(self._began, about)) if self.heard else body

    def _began(self, about: About) -> "_Story":
        story = self._stories.setdefault(about, _Story())
        story.tried = self._clock.wall()
        if story.began is None:
            story.began = story.tried
            self.publish(Started(**{**self._said(about), "at": story.began}))
        return story

    def _said(self, about: About) -> dict[str, Any]:
        """What every event of a run says."""
        return {"at": self._clock.wall(), **{name: getattr(about, name) for name in About.__slots__}}


def _watched(body: Body, begin: "Callable[[], _Story]") -> Body:
    def run(shard: Shard) -> object:
        with begin().listening():
            return body(shard)

    async def run_in_loop(shard: Shard) -> object:
        with begin().listening():
            return await body(shard)  # type: ignore[misc]

    return run_in_loop if inspect.iscoroutinefunction(body) else run


def _recorder(
    store: "Store", clock: Clock, keep: Retention | None, tell: Callable[[Event], None]
) -> "Recorder":
    from ..history.recorder import Recorder

    return Recorder(store, clock=clock, keep=keep, tell=tell)


def _record(recorder: "Recorder", event: Event) -> None:
    if not isinstance(event, _OF_ACCOUNTS):
        recorder(event)


def _told(job: str, made: int, item: int, entry: account.Entry, now: datetime) -> Told:
    """What a cursor says, in the ledger's words."""
    if isinstance(entry, Ran):
        return _run(job, made, item, entry, now)
    return _passed(job, made, item, entry, now)


def _event(entry: Entry) -> Event | None:
    """What is told to those who listen of a fire that did not simply run."""
    said: dict[str, Any] = {
        "job": entry.key.job,
        "made": entry.key.made,
        "fire": entry.key.fire,
        "item": entry.key.item,
    }
    verdict = entry.verdict
    if verdict is not None:
        match verdict.kind:
            case Disposition.MADE_GOOD:
                return MadeGood(at=verdict.at, later=verdict.later, **said)
            case Disposition.SKIPPED:
                return Skipped(at=verdict.at, reason=verdict.reason, **said)
            case Disposition.LOST:
                return Lost(at=verdict.at, reason=verdict.reason, **said)
        return None
    for lost in entry.attempts:
        if lost.outcome == ledger.LOST_RUN:
            said |= {"attempt": lost.id, "by": lost.by, "source": lost.source, "number": lost.number}
            return FailedOver(at=lost.ended or entry.due, **said)
    return None


def _run(job: str, made: int, item: int, ran: Ran, now: datetime) -> Entry:
    key = Key(job, made, ledger.named(ran.fire), item)
    due = ledger.due(key.fire, ran.began or now)
    began = max(ran.began, due) if ran.began is not None else None  # a claim is made ahead of its time
    attempt = Attempt(ran.attempt, ran.by, ran.source, ran.tries, began, ran.ended, ran.outcome)
    verdict = Verdict(Disposition.LOST, ran.ended or now, ran.why) if ran.why else None
    return Entry(key, due, (attempt,), verdict)


def _passed(job: str, made: int, item: int, passed: Passed, now: datetime) -> Stretch:
    kind = _KINDS.get(passed.how, Disposition.UNKNOWN)
    reason, later = ("", ledger.named(passed.why)) if kind is Disposition.MADE_GOOD else (passed.why, "")
    span = passed.after, passed.until, passed.schedule
    return Stretch(job, made, item, *span, kind, reason, later, told=now)


def place_of(url: str, asked: str | Path | bool | None) -> str | Path | None:
    """Where the history is: where it was asked for, here or by the environment's `SHARDWRIGHT_HISTORY`, or
    beside a registry that is a file; None for none."""
    if isinstance(asked, str | Path):
        return asked
    if asked is False:
        return None
    if named := os.environ.get(VARIABLE):
        return named
    file = parse_url(url).path.lstrip("/") if url.startswith("sqlite:") else ""
    if file and (asked or find_spec("sqlalchemy") is not None):
        return beside(Path("/", file))
    if asked:
        raise JobError("say where the history is, such as history='postgresql://user@host/database'")
    return None
