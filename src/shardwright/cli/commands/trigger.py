"""`shardwright trigger`."""

import click

from ..auditing import operator
from ..call import About, call, examples
from ..completion import job_names
from ..doing import show_done


@click.command(
    "trigger",
    cls=About,
    epilog=examples("shardwright trigger reindex", "shardwright trigger reindex --shard 0 --shard 3"),
)
@click.argument("name", shell_complete=job_names)
@click.option(
    "--shard", "shards", multiple=True, type=click.IntRange(min=0), help="Only this one; may be given again."
)
@click.pass_context
def trigger_command(context: click.Context, name: str, shards: tuple[int, ...]) -> None:
    """Have a job fire now. Each shard runs once, as soon as it is free."""
    with call(context).registry() as registry:
        done = operator(call(context), registry).trigger(name, shards=shards or None)
    show_done(context, done)
