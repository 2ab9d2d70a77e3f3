"""`shardwright why`: why a fire came to what it did, in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import click

from ...clock import SystemClock
from ...errors import OperationError
from ...history import ledger
from ...history.ledger import Entry
from ...ops import past
from ...ops.values import Shown
from .. import histories
from ..blocks import Words
from ..call import FAILED, Asking, Call, call, examples
from ..completion import job_names
from ..fires import as_json
from ..known import check_known, settings_of
from ..moments import moment

if TYPE_CHECKING:
    from ...history.store import Store

LAST = "last"
NO_TIMETABLE = "What its schedule says cannot be told: the registry cannot be asked, or has no such job."


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


@click.command(
    "why",
    cls=Asking,
    epilog=examples(
        "shardwright why reindex",
        "shardwright why reindex 2026-03-29T02:00:00+01:00",
        "shardwright why reindex last --shard 2",
    ),
)
@click.argument("job", shell_complete=job_names)
@click.argument("time", default=LAST)
@click.option("--shard", type=click.IntRange(min=0), metavar="N", help="Only this shard.")
@click.pass_context
def why_command(context: click.Context, job: str, time: str, shard: int | None) -> None:
    """Tell in words why a fire came to what it did: why it ran late, elsewhere, not well, or not at all.

    TIME is when it was due, such as 2026-03-29T02:00:00+01:00, or a number such as '#3' where somebody asked
    for it; otherwise it is the last one. Where nothing is known of it the exit code is 1, and what its
    schedule says is told.
    """
    at = time if time == LAST or ledger.is_asked(time) else moment(time, "TIME")
    asked = call(context)
    with histories.opened(asked) as store:
        fire = _last(store, job) if at == LAST else ledger.named(at)
        found = _found(store, job, fire) if fire is not None else []
        if not found:
            check_known(asked, store, job)
        words = _words(store, job, fire, _chosen(found, shard))
    timetable = None if found else _timetable(asked, job, fire)
    if not found:
        words = f"{words}\n{_by_schedule(timetable, fire)}"
    shown = [as_json(entry) for entry in _chosen(found, shard)]
    asked.show(
        {
            "job": job,
            "fire": fire,
            "known": bool(found),
            "words": words,
            "timetable": timetable.as_json() if timetable else None,
            "shards": shown,
        },
        lambda: [Words(words)],
    )
    if not found:
        context.exit(FAILED)


def _by_schedule(timetable: Timetable | None, fire: str | None) -> str:
    if timetable is None:
        return NO_TIMETABLE
    named_a_time = fire is not None and not ledger.is_asked(fire)
    return timetable.sentence() if named_a_time else timetable.coming()


def _last(store: "Store", job: str) -> str | None:
    from ...history import queries

    newest = queries.history(store, job=job, limit=1).entries
    return newest[0].key.fire if newest else None


def _found(store: "Store", job: str, fire: str) -> list[Entry]:
    """All shards of a fire, of the last job of that name that had it."""
    from ...history import queries, why

    return why.newest(queries.fire(store, job, fire))


def _chosen(found: Sequence[Entry], shard: int | None) -> list[Entry]:
    chosen = [entry for entry in found if shard is None or entry.key.item == shard]
    if found and not chosen:
        known = ", ".join(str(entry.key.item) for entry in found)
        raise OperationError(f"nothing is known of a shard {shard} of that fire; its shards are: {known}")
    return chosen


def _words(store: "Store", job: str, fire: str | None, chosen: Sequence[Entry]) -> str:
    from ...history import why

    if fire is None:
        return f"{job}: nothing is known of any fire of it yet."
    return why.why(chosen, job=job, at=fire, before=why.before(store, chosen))


def _timetable(asked: Call, job: str, fire: str | None) -> Timetable | None:
    """What the job's settings say of a time, or of now; None where the registry cannot tell."""
    config = settings_of(asked, job)
    if config is None:
        return None
    schedule = config.timetable()
    if schedule is None:
        return Timetable("", False, False, None, None)
    now = SystemClock().wall()
    at = now if fire is None or ledger.is_asked(fire) else datetime.fromisoformat(fire)
    fires_then = any(True for _ in schedule.between(past.just_before(at), at))
    return Timetable(schedule.text, fires_then, at > now, schedule.previous(at), schedule.next(at))
