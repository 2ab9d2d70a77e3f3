"""`shardwright drain`."""

from dataclasses import replace

import click

from ...errors import OperationError
from ...ops import steering
from ...registry import Registry
from ..auditing import operator
from ..call import About, call, examples
from ..completion import job_names
from ..doing import show_done
from ..members import member
from ..seconds import Seconds


@click.command(
    "drain",
    cls=About,
    epilog=examples(
        "shardwright drain reindex 10.0.0.7 --wait 60", "shardwright drain reindex 10.0.0.7 --undo"
    ),
)
@click.argument("name", shell_complete=job_names)
@click.argument("process")
@click.option("--wait", type=Seconds(), metavar="SECONDS", help="Wait until it has none left.")
@click.option("--undo", is_flag=True, help="Let it have shards again.")
@click.pass_context
def drain_command(context: click.Context, name: str, process: str, wait: float | None, undo: bool) -> None:
    """Have a process give its shards of a job away. What it runs may end; it takes nothing more.

    PROCESS is its id, or how that begins, such as the address of its server.
    """
    if undo and wait is not None:
        raise click.UsageError("--wait goes with draining, not with --undo")
    with call(context).registry() as registry:
        who, somebody = member(registry, name, process), operator(call(context), registry)
        done = somebody.undrain(name, who) if undo else somebody.drain(name, who)
        if wait is not None:
            _wait(registry, name, who, wait)
            done = replace(done, changed=(*done.changed, f"{who} has no shard of it left"))
    show_done(context, done)


def _wait(registry: Registry, name: str, who: str, seconds: float) -> None:
    try:
        steering.wait_drained(registry, name, who, patience=seconds)
    except TimeoutError:
        raise OperationError(
            f"{who} is not done with the job {name!r} after {seconds:g} s; it goes on giving its shards away"
        ) from None
