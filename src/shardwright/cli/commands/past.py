"""`shardwright rerun` and `shardwright backfill`: fires of the past, once more or after all."""

import time

import click
from rich.console import Console
from rich.progress import Progress

from ...errors import OperationError
from ...history import ledger
from ...ops import looking, past
from ...registry import Registry
from ..auditing import operator
from ..blocks import Words
from ..call import About, Changing, call, examples
from ..completion import job_names
from ..doing import show_done
from ..moments import moment
from ..seconds import Seconds

#: How often to see how far a backfill is, in seconds.
GLANCE = 0.5


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
@click.option("--wait", type=Seconds(), metavar="SECONDS", help="Wait until all of them have run.")
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
        runs = len(fires) * len(some if some is not None else sight.items)
        if dry_run:
            document = {"job": name, "fires": times, "runs": runs}
            call(context).show(
                document, lambda: [Words("\n".join([*times, f"{runs} runs, none of them begun"]))]
            )
            return
        call(context).ask(
            f"Run {len(fires)} fires of the job {name!r}, from {times[0]} to {times[-1]}, {runs} runs?"
        )
        done = operator(call(context), registry).backfill(name, first, last, shards=some)
        if wait is not None:
            _wait(registry, name, wait)
    show_done(context, done)


def _wait(registry: Registry, name: str, seconds: float) -> None:
    """Wait until nothing is left on the lists; how far it is can be seen on a terminal."""
    deadline, console = time.monotonic() + seconds, Console(stderr=True)
    left = past.left(registry, name)
    with Progress(console=console, disable=not console.is_terminal, transient=True) as progress:
        bar = progress.add_task(name, total=left.waiting + left.running)
        while left.waiting or left.running:
            if time.monotonic() > deadline:
                raise OperationError(
                    f"{left.waiting + left.running} runs of {name!r} are not over after {seconds:g} s, "
                    "and go on without you"
                )
            time.sleep(GLANCE)
            left = past.left(registry, name)
            progress.update(
                bar, completed=max(0.0, (progress.tasks[0].total or 0) - left.waiting - left.running)
            )
