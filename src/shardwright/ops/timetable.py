"""Timetable: what a job's settings of today say of a time, for those who miss a fire there."""

from dataclasses import dataclass
from datetime import datetime

from ..history import ledger
from ..jobs import JobConfig
from . import past
from .values import Shown

UNKNOWN = "What its schedule says cannot be told: the registry cannot be asked, or has no such job."


@dataclass(frozen=True, slots=True)
class Timetable(Shown):
    """When a job fires by its settings of today, around a time, or around now where none was named."""

    schedule: str
    """As it was written; empty: only when asked to."""
    fires_then: bool
    to_come: bool
    previous: datetime | None
    next: datetime | None

    def coming(self) -> str:
        """The sentence for somebody who has named no time."""
        if not self.schedule:
            return "By its settings it fires only when asked to."
        when = f"fires next at {self.next.isoformat()}" if self.next else "never fires again"
        return f"By its schedule of today, {self.schedule!r}, it {when}."

    def sentence(self) -> str:
        """The sentence about the time that was named."""
        if not self.schedule:
            return "By its settings it fires only when asked to."
        if self.fires_then:
            when = "it fires then, which is still to come" if self.to_come else "it was due then"
            return f"By its schedule of today, {self.schedule!r}, {when}."
        before = (
            f"the last time before is {self.previous.isoformat()}" if self.previous else "it never did before"
        )
        after = f"the next is {self.next.isoformat()}" if self.next else "and never does after"
        return f"By its schedule of today, {self.schedule!r}, it does not fire then: {before}, {after}."


def around(config: JobConfig, fire: str | None, now: datetime) -> Timetable:
    """What the settings say of a fire, by its name; of now where that is none that the calendar knows."""
    schedule = config.timetable()
    if schedule is None:
        return Timetable("", False, False, None, None)
    at = datetime.fromisoformat(fire) if fire is not None and not ledger.is_asked(fire) else now
    fires_then = any(True for _ in schedule.between(past.just_before(at), at))
    return Timetable(schedule.text, fires_then, at > now, schedule.previous(at), schedule.next(at))


def told(found: Timetable | None, fire: str | None) -> str:
    """The sentence for somebody who has asked for a fire of which nothing is known."""
    if found is None:
        return UNKNOWN
    named_a_time = fire is not None and not ledger.is_asked(fire)
    return found.sentence() if named_a_time else found.coming()
