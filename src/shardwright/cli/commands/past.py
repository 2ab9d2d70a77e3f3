"""`shardwright rerun` and `shardwright backfill`: fires of the past, once more or after all."""

import time
from collections.abc import Sequence
from datetime import datetime

import click
from rich.console import Console
from rich.progress import Progress

from ...errors import OperationError, ShardwrightError
from ...history import ledger
from ...ops import looking, past, upshot
from ...ops.looking import Sight
from ...outcomes import OK
from ...registry import Registry
from .. import histories
from ..auditing import operator
from ..blocks import Words
from ..call import About, Call, Changing, call, examples
from ..completion import job_names
from ..doing import show_done
from ..moments import moment
from ..seconds import Seconds

#: How often to see how far a backfill is, in seconds.
GLANCE = 0.5

#: For how many seconds the history may take to have what is over.
LAG = 5.0


@click.command(
    "rerun",
    cls=About,
    epilog=examples(
        "shardwright rerun reindex 2026-03-29T02:00:00+01:00",
        "shardwright rerun reindex 2026-03-29T02:00:00+01:00 --shard 3",
    ),
)
@click.argument("name", shell_complete=job_names)
@click.argument("at", metavar="TIME")
@click.option(
    "--shard", "shards", multiple=True, type=click.IntRange(min=0), help="Only this one; may be given again."
)
@click.pass_context
def rerun_command(context: click.Context, name: str, at: str, shards: tuple[int, ...]) -> None:
    """Have a fire of the past run once more, as soon as its shards are free. TIME is when it was due."""
    if ledger.is_asked(at):
        raise click.UsageError(
            f"{at} was asked for, and has no time: ask again, by shardwright trigger {name}"
        )
    when = moment(at, "TIME")
    with call(context).registry() as registry:
        done = operator(call(context), registry).rerun(name, when, shards=shards or None)
    show_done(context, done)


@click.command(
    "backfill",
    cls=Changing,
    epilog=examples(
        "shardwright backfill reindex --from 2026-03-01T00:00:00Z --to 2026-03-02T00:00:00Z --dry-run",
        "shardwright backfill reindex --from 2026-03-01T00:00:00Z --to 2026-03-02T00:00:00Z --yes --wait 600",
    ),
)
@click.argument("name", shell_complete=job_names)
@click.option("--from", "begin", required=True, metavar="TIME", help="Fires from then on.")
@click.option("--to", "end", required=True, metavar="TIME", help="Fires before then.")
@click.option(
    "--shard", "shards", multiple=True, type=click.IntRange(min=0), help="Only this one; may be given again."
)
@click.option("--dry-run", is_flag=True, help="Only tell which fires these are.")
@click.option(
    "--wait",
    type=Seconds(),
    metavar="SECONDS",
    help="Wait until all of them have run; where one did not come out well the exit code is 1. Without a "
    "history only how the last run of each shard came out can be known.",
)
@click.pass_context
def backfill_command(
    context: click.Context,
    name: str,
    begin: str,
    end: str,
    shards: tuple[int, ...],
    dry_run: bool,
    wait: float | None,
) -> None:
    """Have the fires of a stretch of the past run, the oldest first, whether they have run before or not.
    What is due meanwhile goes first; a shard that is never idle takes turns."""
    first, last = moment(begin, "--from"), moment(end, "--to")
    if last <= first:
        raise click.UsageError("--from must be before --to")
    some = sorted(set(shards)) or None
    with call(context).registry() as registry:
        sight = looking.at(registry, name)
        fires = past.fires(sight, first, last, some)
        times = [fire.isoformat() for fire in fires]
        items = some if some is not None else sight.items
        runs = len(fires) * len(items)
        if dry_run:
            document = {"job": name, "fires": times, "runs": runs}
            call(context).show(
                document,
                lambda: [Words("\n".join([*times, f"{_counted(runs, 'run')}, not begun"]))],
            )
            return
        call(context).ask(
            f"Run {_counted(len(fires), 'fire')} of the job {name!r}, from {times[0]} to {times[-1]}, "
            f"{_counted(runs, 'run')}?"
        )
        done = operator(call(context), registry).backfill(name, first, last, shards=some)
        if wait is not None:
            _wait(registry, name, wait)
            _judge(call(context), registry, sight, fires, items)
    show_done(context, done)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _wait(registry: Registry, name: str, seconds: float) -> None:
    """Wait until nothing is left on the lists; how far it is can be seen on a terminal."""
    deadline, console = time.monotonic() + seconds, Console(stderr=True)
    left = past.left(registry, name)
    with Progress(console=console, disable=not console.is_terminal, transient=True) as progress:
        bar = progress.add_task(name, total=left.waiting + left.running)
        while left.waiting or left.running:
            if time.monotonic() > deadline:
                number = left.waiting + left.running
                are, go = ("is", "goes") if number == 1 else ("are", "go")
                raise OperationError(
                    f"{_counted(number, 'run')} of {name!r} {are} not over after {seconds:g} s, "
                    f"and {go} on without you"
                )
            time.sleep(GLANCE)
            left = past.left(registry, name)
            progress.update(
                bar, completed=max(0.0, (progress.tasks[0].total or 0) - left.waiting - left.running)
            )


def _judge(
    asked: Call, registry: Registry, before: Sight, fires: Sequence[datetime], items: Sequence[int]
) -> None:
    """Fail where runs that are over did not come out well; say so where that cannot be known."""
    known = _outcomes(asked, registry, before, fires, items)
    name, runs = before.name, len(fires) * len(items)
    bad, unknown = sum(outcome != OK for outcome in known.values()), runs - len(known)
    unsure = f"how {unknown} of {_counted(runs, 'run')} of {name!r} came out is not known" if unknown else ""
    if bad:
        also = f"; {unsure}" if unsure else ""
        raise OperationError(
            f"{bad} of {_counted(runs, 'run')} of {name!r} did not come out well{also}; "
            f"see shardwright history {name}"
        )
    if unsure:
        click.echo(f"Note: {unsure}: no history tells of them", err=True)


def _outcomes(
    asked: Call, registry: Registry, before: Sight, fires: Sequence[datetime], items: Sequence[int]
) -> dict[upshot.Run, str]:
    end = time.monotonic() + LAG
    while True:
        now = looking.at(registry, before.name)
        try:
            with histories.opened(asked) as store:
                known = upshot.outcomes(before, now, fires, items, store)
        except (ShardwrightError, click.ClickException):  # the cursors know something, too
            return upshot.outcomes(before, now, fires, items, None)
        if len(known) == len(fires) * len(items) or time.monotonic() > end:
            return known
        time.sleep(GLANCE)
