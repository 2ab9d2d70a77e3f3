"""The ledger's arithmetic: what several people tell about one shard of one fire, put together.

An entry is what somebody knows: attempts, and a verdict if the fire did not run. Two entries about the same
shard and fire are joined, and joining is as indifferent as taking the greater of two numbers: told twice, by
two processes, in any order, the answer is the same. So nothing has to be written exactly once.

    RAN           a run came to an end: ok, failed, timed out, superseded
    FAILED_OVER   it did, after the run of another member had been lost
    MADE_GOOD     a later fire stands for it
    SKIPPED       it was not to run, and why
    LOST          its run was lost and is not run again
    UNKNOWN       nobody can tell any more, and why
    RUNNING       a run began and nobody has told its end yet
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import TypeVar

from ..outcomes import CUT_SHORT

#: How a run came out whose member died.
LOST_RUN = "lost"

#: More attempts than this at one fire, or tries of one attempt, are not all listed: the first is, and the
#: last ones.
MOST_ATTEMPTS = 50
MOST_TRIES = 10


class Disposition(StrEnum):
    """What became of a fire; the earlier in this list, the more it counts."""

    RAN = "RAN"
    FAILED_OVER = "FAILED_OVER"
    MADE_GOOD = "MADE_GOOD"
    SKIPPED = "SKIPPED"
    LOST = "LOST"
    UNKNOWN = "UNKNOWN"
    RUNNING = "RUNNING"


#: What the last of very many fires that were passed over together says for those after it, which have no
#: entries of their own; the last of them follows.
SPEAKS = "so it was with all after it up to "

_WEIGHT = {kind: -place for place, kind in enumerate(Disposition)}
_UNFINISHED = {"": 0, LOST_RUN: 1, CUT_SHORT: 2}
_FINISHED = 3
_LAST = datetime.max.replace(tzinfo=UTC)

#: What has so many digits is no number of a claim.
_LONG = 20
_Each = TypeVar("_Each")


@dataclass(frozen=True, slots=True)
class Try:
    """One try of a run that was followed by another: the run went on, under the same claim."""

    number: int
    """The how-manieth try at this shard of this fire it was, by the count that the job sees."""
    began: datetime | None
    ended: datetime
    outcome: str
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One run of the shard, as far as it is known."""

    id: str
    by: str
    source: str = "scheduled"
    number: int = 1
    began: datetime | None = None
    ended: datetime | None = None
    outcome: str = ""
    failure: str = ""
    host: str = ""
    tries: tuple[Try, ...] = ()
    """Those of its tries that the job's `retries` made good; how the last one came out is how the run did."""

    @property
    def finished(self) -> bool:
        """Whether it came to an end of its own."""
        return self.outcome not in _UNFINISHED

    def joined(self, other: "Attempt") -> "Attempt":
        """What both know. Of two ends the one that says more counts; of two beginnings the later one: the
        earlier is when the run was claimed, as far as others know."""
        said = max(self, other, key=_says)
        return replace(
            said,
            by=max(self.by, other.by),
            source=max(self.source, other.source),
            number=max(self.number, other.number),
            host=max(self.host, other.host),
            failure=max(self.failure, other.failure, key=lambda text: (len(text), text)),
            began=max((moment for moment in (self.began, other.began) if moment), default=None),
            tries=_ends(sorted({*self.tries, *other.tries}, key=_in_turn), MOST_TRIES),
        )


def _in_turn(each: Try) -> tuple[int, datetime, datetime, str, str]:
    return each.number, each.ended, each.began or _LAST, each.outcome, each.failure


def _says(attempt: Attempt) -> tuple[int, float, str, str]:
    ended = attempt.ended.timestamp() if attempt.ended else 0.0
    return _UNFINISHED.get(attempt.outcome, _FINISHED), ended, attempt.outcome, attempt.failure


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a fire that no run tells of."""

    kind: Disposition
    at: datetime
    reason: str = ""
    later: str = ""
    """The fire that stands for it, if it was made good."""


def _weighs(verdict: Verdict) -> tuple[int, float, str, str]:
    return _WEIGHT[verdict.kind], -verdict.at.timestamp(), verdict.reason, verdict.later


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """Which shard of which fire of which making of the job."""

    job: str
    made: int
    fire: str
    item: int


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of one shard of one fire."""

    key: Key
    due: datetime
    """When it was scheduled for; where somebody asked for it, when that was first heard of."""
    attempts: tuple[Attempt, ...] = ()
    verdict: Verdict | None = None

    def joined(self, other: "Entry") -> "Entry":
        if other.key != self.key:
            raise ValueError(f"{self.key} and {other.key} are not about the same")
        verdicts = [verdict for verdict in (self.verdict, other.verdict) if verdict]
        return Entry(
            self.key,
            min(self.due, other.due),
            _listed([*self.attempts, *other.attempts]),
            max(verdicts, key=_weighs, default=None),
        )

    @property
    def disposition(self) -> Disposition:
        if self.result:
            return Disposition.FAILED_OVER if self._changed_hands() else Disposition.RAN
        if self.verdict:
            return self.verdict.kind
        gone = self.attempts and all(attempt.outcome for attempt in self.attempts)
        return Disposition.LOST if gone else Disposition.RUNNING

    @property
    def result(self) -> Attempt | None:
        """The last attempt that came to an end."""
        return next((attempt for attempt in reversed(self.attempts) if attempt.finished), None)

    @property
    def outcome(self) -> str:
        return self.result.outcome if self.result else ""

    @property
    def began(self) -> datetime | None:
        return min((attempt.began for attempt in self.attempts if attempt.began), default=None)

    @property
    def ended(self) -> datetime | None:
        if self.disposition is Disposition.RUNNING:
            return None
        return max((attempt.ended for attempt in self.attempts if attempt.ended), default=None)

    @property
    def heard(self) -> datetime:
        """When something last happened of it: it may have been run long after it was due."""
        moments = (moment for attempt in self.attempts for moment in (attempt.began, attempt.ended))
        return max((moment for moment in moments if moment), default=self.due)

    @property
    def took(self) -> float | None:
        """How many seconds its last run took that came to an end."""
        last = self.result
        if last is None or last.began is None or last.ended is None:
            return None
        return max(0.0, (last.ended - last.began).total_seconds())

    @property
    def by(self) -> str:
        """Who ran it, or tried to last."""
        last = self.result or (self.attempts[-1] if self.attempts else None)
        return last.by if last else ""

    @property
    def late(self) -> float | None:
        """By how many seconds its first run came after its time; None if there is no telling."""
        if self.began is None or is_asked(self.key.fire):
            return None
        return max(0.0, (self.began - self.due).total_seconds())

    def _changed_hands(self) -> bool:
        lost = {attempt.by for attempt in self.attempts if attempt.outcome in (LOST_RUN, CUT_SHORT)}
        return bool(lost - {self.by}) or any(attempt.source == "failover" for attempt in self.attempts)


def _listed(attempts: Iterable[Attempt]) -> tuple[Attempt, ...]:
    found: dict[str, Attempt] = {}
    for attempt in attempts:
        found[attempt.id] = found[attempt.id].joined(attempt) if attempt.id in found else attempt
    return _ends(sorted(found.values(), key=_claimed), MOST_ATTEMPTS)


def _claimed(attempt: Attempt) -> tuple[int, int, datetime, str]:
    """In the order of the claims, which are numbered. How many tries came before says less: a fire that is
    run once more, or after all, counts from the beginning each time."""
    claim = int(attempt.id) if attempt.id.isdecimal() and len(attempt.id) < _LONG else 0
    return claim, attempt.number, attempt.began or _LAST, attempt.id


def _ends(ordered: Sequence[_Each], most: int) -> tuple[_Each, ...]:
    """The first of them, and the last ones."""
    return (ordered[0], *ordered[1 - most :]) if len(ordered) > most else tuple(ordered)


def speaking(reason: str, until: datetime) -> str:
    """A reason that is also that of all fires after this one, up to a time."""
    return f"{reason}{'; ' if reason else ''}{SPEAKS}{until.isoformat()}"


def speaks_for(entry: Entry, fire: datetime) -> bool:
    """Whether an entry speaks for a later fire, too."""
    _, found, until = (entry.verdict.reason if entry.verdict else "").rpartition(SPEAKS)
    return bool(found) and entry.due < fire <= datetime.fromisoformat(until)


def is_asked(fire: str) -> bool:
    """Whether somebody asked for the fire; otherwise the calendar did."""
    return fire.startswith("#")


def named(fire: str | datetime) -> str:
    """The one name of a fire: `#n`, or its time in UTC, however it was told."""
    if isinstance(fire, str) and is_asked(fire):
        return fire
    moment = datetime.fromisoformat(fire) if isinstance(fire, str) else fire
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).isoformat()


def due(fire: str, heard: datetime) -> datetime:
    """When a fire was scheduled for; one that was asked for counts from when it was heard of."""
    return heard if is_asked(fire) else datetime.fromisoformat(named(fire))
