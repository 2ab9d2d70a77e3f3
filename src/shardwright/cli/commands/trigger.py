"""`shardwright trigger`."""

import click

from ..auditing import operator
from ..call import About, call, examples
from ..completion import job_names
from ..doing import show_done


@click.command(
    "trigger",
    cls=About,
    epilog=examples(
        "shardwright trigger reindex",
        "shardwright trigger reindex --shard 0 --shard 3",
        "shardwright trigger reindex --parameter since=2026-11-01",
    ),
)
@click.argument("name", shell_complete=job_names)
@click.option(
    "--shard", "shards", multiple=True, type=click.IntRange(min=0), help="Only this one; may be given again."
)
@click.option("--parameter", default="", help="For these runs, instead of the job's parameter.")
@click.pass_context
def trigger_command(context: click.Context, name: str, shards: tuple[int, ...], parameter: str) -> None:
    """Have a job fire now. Each shard runs once, as soon as it is free."""
    with call(context).registry() as registry:
        done = operator(call(context), registry).trigger(name, shards=shards or None, parameter=parameter)
    show_done(context, done)
