"""`shardwright enable` and `shardwright disable`."""

import click

from ..auditing import operator
from ..call import About, call, examples
from ..completion import job_names
from ..doing import show_done

SERVER = click.option("--server", metavar="ADDRESS", help="On this server; without a job: all jobs there.")
SHARD = click.option("--shard", type=click.IntRange(min=0), metavar="N", help="Only this shard of the job.")


@click.command(
    "enable",
    cls=About,
    epilog=examples(
        "shardwright enable reindex",
        "shardwright enable reindex --shard 2",
        "shardwright enable --server 10.0.0.7",
    ),
)
@click.argument("name", required=False, shell_complete=job_names)
@SERVER
@SHARD
@click.pass_context
def enable_command(context: click.Context, name: str | None, server: str | None, shard: int | None) -> None:
    """Let a job, a server or a shard work again."""
    _check(name, server, shard)
    with call(context).registry() as registry:
        done = operator(call(context), registry).enable(name, server=server, shard=shard)
    show_done(context, done)


@click.command(
    "disable",
    cls=About,
    epilog=examples(
        "shardwright disable reindex",
        "shardwright disable reindex --shard 2",
        "shardwright disable --server 10.0.0.7",
    ),
)
@click.argument("name", required=False, shell_complete=job_names)
@SERVER
@SHARD
@click.pass_context
def disable_command(context: click.Context, name: str | None, server: str | None, shard: int | None) -> None:
    """Let a job, a server or a shard rest. What runs may end; nothing more begins until it is enabled."""
    _check(name, server, shard)
    with call(context).registry() as registry:
        done = operator(call(context), registry).disable(name, server=server, shard=shard)
    show_done(context, done)


def _check(name: str | None, server: str | None, shard: int | None) -> None:
    if name is None and server is None:
        raise click.UsageError("name a job, or a server by --server")
    if shard is not None and (name is None or server is not None):
        raise click.UsageError("--shard goes with a job, and not with --server: name the job alone")
