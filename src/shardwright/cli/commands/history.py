"""`shardwright history`: what became of fires, how many came to what, and what was changed by whom."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import click

from ...history.ledger import Disposition, Entry
from ...ops import told
from ...ops.told import Logs
from ...outcomes import FAILED, OK, SUPERSEDED, TIMED_OUT
from .. import histories
from ..blocks import Block, Table, Words, said
from ..call import Asking, call, examples
from ..completion import job_names
from ..fires import fire_table, in_order, length
from ..known import check_known
from ..moments import moment

if TYPE_CHECKING:
    from ...history.queries import Count, Note
    from ...history.store import Store

USUAL, MOST = 100, 10_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """What of the history is asked for."""

    job: str | None
    begin: datetime | None
    end: datetime | None
    shard: int | None
    disposition: Disposition | None
    outcome: str | None
    server: str | None
    limit: int


@click.command(
    "history",
    cls=Asking,
    epilog=examples(
        "shardwright history",
        "shardwright history reindex --from 2026-03-29T00:00:00+01:00 --outcome failed --log",
        "shardwright history --statistics",
        "shardwright history reindex --audit",
    ),
)
@click.argument("job", required=False, shell_complete=job_names)
@click.option("--from", "begin", metavar="TIME", help="Due from then on, such as 2026-03-29T00:00:00+01:00.")
@click.option("--to", "end", metavar="TIME", help="Due before then.")
@click.option("--shard", type=click.IntRange(min=0), metavar="N", help="Only this shard.")
@click.option(
    "--disposition",
    type=click.Choice([each.value for each in Disposition], case_sensitive=False),
    help="Only what came to this.",
)
@click.option(
    "--outcome",
    type=click.Choice([OK, FAILED, TIMED_OUT, SUPERSEDED], case_sensitive=False),
    help="Only runs that came out like this.",
)
@click.option("--server", metavar="ADDRESS", help="Only what ran there, or in the process of this id.")
@click.option("--limit", type=click.IntRange(1, MOST), metavar="N", help=f"At most so many; else {USUAL}.")
@click.option("--log", is_flag=True, help="With what the runs wrote to the log.")
@click.option("--statistics", is_flag=True, help="How many came to what, for each job and day (in UTC).")
@click.option("--audit", is_flag=True, help="What was changed, and by whom.")
@click.pass_context
def history_command(
    context: click.Context,
    job: str | None,
    begin: str | None,
    end: str | None,
    shard: int | None,
    disposition: str | None,
    outcome: str | None,
    server: str | None,
    limit: int | None,
    log: bool,
    statistics: bool,
    audit: bool,
) -> None:
    """Tell what became of fires, the latest first. A line for each shard of each of them.

    RAN: it came to an end, and how. FAILED_OVER: another process ran it, after the first was lost. MADE_GOOD:
    a later fire stands for it. SKIPPED: it was not to run, and why. LOST: its run was lost, and is not run
    again. UNKNOWN: nobody can tell any more. RUNNING: nobody has told its end yet.
    """
    fires_only = {"--shard": shard, "--disposition": disposition, "--outcome": outcome, "--server": server}
    _check({**fires_only, "--log": log or None}, limit, statistics=statistics, audit=audit)
    wanted = Wanted(
        job,
        moment(begin, "--from") if begin is not None else None,
        moment(end, "--to") if end is not None else None,
        shard,
        Disposition(disposition) if disposition else None,
        outcome,
        server,
        limit or USUAL,
    )
    if wanted.begin and wanted.end and wanted.begin >= wanted.end:
        raise click.UsageError("--from must be before --to")
    with histories.opened(call(context)) as store:
        if statistics:
            _statistics(context, store, wanted)
        elif audit:
            _audit(context, store, wanted)
        else:
            _fires(context, store, wanted, log)


def _check(fires_only: Mapping[str, object], limit: int | None, *, statistics: bool, audit: bool) -> None:
    if statistics and audit:
        raise click.UsageError("--statistics and --audit are two questions: ask one of them")
    asked = "--statistics" if statistics else "--audit" if audit else None
    if asked is None:
        return
    for option, value in fires_only.items():
        if value is not None:
            raise click.UsageError(f"{option} does not go with {asked}")
    if statistics and limit is not None:
        raise click.UsageError("--limit does not go with --statistics: use --from and --to")


# Fires


def _fires(context: click.Context, store: "Store", wanted: Wanted, log: bool) -> None:
    from ...history import queries

    page = queries.history(
        store,
        job=wanted.job,
        begin=wanted.begin,
        end=wanted.end,
        disposition=wanted.disposition,
        outcome=wanted.outcome,
        item=wanted.shard,
        server=wanted.server,
        limit=wanted.limit,
    )
    if wanted.job is not None and not page.entries:
        check_known(call(context), store, wanted.job)
    entries = in_order(page.entries)
    logs = [_logs(store, entry) if log else {} for entry in entries]
    found = [told.entry(entry, each) for entry, each in zip(entries, logs, strict=True)]
    document = {"fires": found, "more": page.after is not None}

    def blocks() -> Iterator[Block]:
        yield fire_table(entries, "Nothing is known of such a fire.")
        for entry, each in zip(entries, logs, strict=True):
            yield from _log_blocks(entry, each)
        if page.after is not None:
            yield Words("There is more: ask for more by --limit, or for what was before by --to.")

    call(context).show(document, blocks)


def _logs(store: "Store", entry: Entry) -> Logs:
    from ...history import queries

    found = {attempt.id: queries.log(store, entry.key, attempt.id) for attempt in entry.attempts}
    return {run: {"text": each.text, "left_out": each.left_out} for run, each in found.items() if each}


def _log_blocks(entry: Entry, logs: Logs) -> Iterator[Block]:
    for attempt in entry.attempts:
        if attempt.id in logs:
            which = f"{entry.key.job} at {entry.key.fire}, shard {entry.key.item}, on {attempt.by}:"
            yield Words(f"{which}\n{logs[attempt.id]['text']}")


# Statistics


def _statistics(context: click.Context, store: "Store", wanted: Wanted) -> None:
    from ...history import queries

    counts = queries.statistics(store, job=wanted.job, begin=wanted.begin, end=wanted.end)
    if wanted.job is not None and not counts:
        check_known(call(context), store, wanted.job)
    found = sorted(counts, key=lambda each: each.day, reverse=True)
    call(context).show({"counts": list(map(told.count, found))}, lambda: [_count_table(found)])


def _count_table(found: Iterable["Count"]) -> Table:
    rows = [
        (
            each.day.isoformat(),
            each.job,
            f"{each.disposition.value} {each.outcome}".rstrip(),
            str(each.fires),
            length(each.latest),
            length(each.ran),
        )
        for each in found
    ]
    return Table(("day", "job", "what", "shards", "latest", "ran in all"), rows, "Nothing is counted there.")


# Changes


def _audit(context: click.Context, store: "Store", wanted: Wanted) -> None:
    from ...history import queries

    found = queries.audit(store, job=wanted.job, begin=wanted.begin, end=wanted.end, limit=wanted.limit)
    if wanted.job is not None and not found:
        check_known(call(context), store, wanted.job)
    call(context).show({"changes": list(map(told.note, found))}, lambda: [_note_table(found)])


def _note_table(found: Iterable["Note"]) -> Table:
    rows = [(said(each.at), each.who, each.what, each.target, each.outcome, each.detail) for each in found]
    return Table(("at", "who", "what", "of", "outcome", "detail"), rows, "No change was noted.")
