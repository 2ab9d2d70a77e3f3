"""`shardwright leader`."""

import click

from ...ops import jobs
from ..blocks import Words
from ..call import FAILED, About, call, examples
from ..completion import job_names


@click.command("leader", cls=About, epilog=examples("shardwright leader reindex"))
@click.argument("name", shell_complete=job_names)
@click.pass_context
def leader_command(context: click.Context, name: str) -> None:
    """Tell who leads a job: which of its processes shares the shards out. Where nobody leads the exit code
    is 1."""
    with call(context).registry() as registry:
        leader = jobs.leader(registry, name)
    words = leader or f"Nobody leads the job {name!r} at the moment."
    call(context).show({"job": name, "leader": leader}, lambda: [Words(words)])
    if leader is None:
        context.exit(FAILED)
