"""`shardwright why`: why a fire came to what it did, in words."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ...clock import SystemClock
from ...errors import OperationError
from ...history import ledger
from ...history.ledger import Entry
from ...ops import timetable, told
from ...ops.timetable import Timetable
from .. import histories
from ..blocks import Words
from ..call import FAILED, Asking, Call, call, examples
from ..completion import job_names
from ..known import check_known, settings_of
from ..moments import moment

if TYPE_CHECKING:
    from ...history.store import Store

LAST = "last"


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
    at = time if time == LAST or ledger.is_asked(time) else moment(time, "TIME", also=", #3 or last")
    asked = call(context)
    with histories.opened(asked) as store:
        fire = _last(store, job) if at == LAST else ledger.named(at)
        found = _found(store, job, fire) if fire is not None else []
        if not found:
            check_known(asked, store, job)
        words = _words(store, job, fire, _chosen(found, shard))
    by_schedule = None if found else _timetable(asked, job, fire)
    if not found:
        words = f"{words}\n{timetable.told(by_schedule, fire)}"
    shown = [told.entry(entry) for entry in _chosen(found, shard)]
    asked.show(
        {
            "job": job,
            "fire": fire,
            "known": bool(found),
            "words": words,
            "timetable": by_schedule.as_json() if by_schedule else None,
            "shards": shown,
        },
        lambda: [Words(words)],
    )
    if not found:
        context.exit(FAILED)


def _last(store: "Store", job: str) -> str | None:
    from ...history import queries

    newest = queries.history(store, job=job, limit=1).entries
    return newest[0].key.fire if newest else None


def _found(store: "Store", job: str, fire: str) -> list[Entry]:
    """All shards of a fire, of the last job of that name that had it, or what speaks for them."""
    from ...history import why

    return why.of(store, job, fire)


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
    return None if config is None else timetable.around(config, fire, SystemClock().wall())
