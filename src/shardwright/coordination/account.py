"""Accounts: what became of each fire, kept with the shard's cursor until the history has it.

A cursor that moves says in the same commit what it leaves behind: how a run ended, and which fires it passed
over and why. So no fire is behind a cursor without a word, whoever dies when. Each entry has a number; those
that the history has are dropped with the next move. Who comes to know a cursor, by writing or reading it,
tells the history what is in it, once more rather than not at all. Should the history be away for long, the
oldest entries are summed up in one: of the fires from here to there nobody knows what became of them. Runs
that somebody asked for are then forgotten.

Nothing is kept where this process knows of no history. Where somebody listens all the same, what a move of
ours leaves behind is told here, once it has landed, and nowhere else.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from ..jobs import JobConfig

#: How many entries a cursor keeps at most.
MOST = 20

#: Why nobody knows what became of fires that were accounted for once.
AWAY = "the history was away for longer than a cursor can tell of"

#: How a run came out whose end nobody told.
LOST = "lost"

#: What becomes of a fire that is passed over: a later one stands for it, it was not to run, or nobody knows.
MADE_GOOD, SKIPPED, UNKNOWN = "made good", "skipped", "unknown"


@dataclass(frozen=True, slots=True)
class Ran:
    """A run that is over, or goes on where nobody looks after it any more (no outcome)."""

    fire: str
    outcome: str
    by: str
    attempt: str
    source: str
    tries: int
    began: datetime | None = None
    ended: datetime | None = None
    why: str = ""
    number: int = 0

    def told(self) -> list[object]:
        times = [moment.isoformat() if moment is not None else None for moment in (self.began, self.ended)]
        run = [self.fire, self.outcome, self.by, self.attempt, self.source, self.tries]
        return [self.number, *run, *times, *([self.why] if self.why else [])]


@dataclass(frozen=True, slots=True)
class Passed:
    """Fires after one moment and up to another, by a schedule, that do not run themselves."""

    after: datetime
    until: datetime
    how: str
    why: str
    """The fire that stands for them, or the reason."""
    schedule: tuple[str, ...] = ()
    """What they are fires of: its text, its zone and its rule for clock changes."""
    number: int = 0

    def told(self) -> list[object]:
        span = [self.after.isoformat(), self.until.isoformat()]
        return [self.number, span, self.how, self.why, list(self.schedule)]


Entry = Ran | Passed


def read(told: object) -> tuple[Entry, ...]:
    """Entries as they were told; ValueError or TypeError for what makes no sense."""
    if not isinstance(told, list):
        raise TypeError("a list of entries is wanted")
    return tuple(_entry(*each) for each in told)


def _entry(number: int, what: object, *more: object) -> Entry:
    if isinstance(what, list):
        after, until = what
        how, why, schedule = more
        names = tuple(str(part) for part in _list(schedule))
        return Passed(_moment(after), _moment(until), str(how), str(why), names, int(number))
    outcome, by, attempt, source, tries, began, ended, *why = more
    return Ran(
        str(what),
        str(outcome),
        str(by),
        str(attempt),
        str(source),
        int(str(tries)),
        _moment(began) if began else None,
        _moment(ended) if ended else None,
        str(why[0]) if why else "",
        int(number),
    )


def _list(told: object) -> list[object]:
    if not isinstance(told, list):
        raise TypeError("a list is wanted")
    return told


def _moment(text: object) -> datetime:
    moment = datetime.fromisoformat(str(text))
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


#: Of each shard, which making of the job, and up to which entry of it, the history has; None: there is none.
Kept = Mapping[int, tuple[int, int]] | None


def timetable(config: JobConfig) -> tuple[str, ...]:
    """The schedule by which fires are counted, in words that one can make it of."""
    return config.cron or config.schedule or "", config.time_zone or "", config.dst or ""


def added(
    tail: tuple[Entry, ...], told: int, new: Iterable[Entry], schedule: tuple[str, ...]
) -> tuple[tuple[Entry, ...], int]:
    """The entries with some more, and the number of the last."""
    every = tail + tuple(replace(entry, number=told + place) for place, entry in enumerate(new, 1))
    last = every[-1].number if every else told
    if len(every) > MOST:
        too_many = len(every) - MOST + 1
        every = (*_summed_up(every[:too_many], schedule), *every[too_many:])
    return every, max(told, last)


def _summed_up(entries: tuple[Entry, ...], schedule: tuple[str, ...]) -> Iterator[Passed]:
    """One entry for several: of their fires it is known that they were, and nothing else."""
    spans = [span for span in map(_span, entries) if span is not None]
    of = [entry.schedule for entry in entries if isinstance(entry, Passed)]
    counted_by = next((each for each in (*reversed(of), schedule) if any(each[:1])), ())
    if spans and counted_by:
        after, until = min(after for after, _ in spans), max(until for _, until in spans)
        yield Passed(after, until, UNKNOWN, AWAY, counted_by, entries[-1].number)


def _span(entry: Entry) -> tuple[datetime, datetime] | None:
    """After which moment and up to which one its fires are; None where it has none of the calendar's, or one
    of the past, which has an end already."""
    if isinstance(entry, Passed):
        return entry.after, entry.until
    if entry.fire.startswith("#") or entry.source == "trigger":
        return None
    fire = _moment(entry.fire)
    return fire - timedelta(microseconds=1), fire


def trimmed(tail: tuple[Entry, ...], kept: tuple[int, int], made: int) -> tuple[Entry, ...]:
    """The entries that the history does not have yet."""
    return tuple(entry for entry in tail if entry.number > kept[1]) if kept[0] == made else tail
