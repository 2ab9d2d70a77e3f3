"""`shardwright dump`."""

import click

from ...ops import dump
from ..blocks import Words
from ..call import About, call, examples
from ..completion import job_names


@click.command("dump", cls=About, epilog=examples("shardwright dump reindex > reindex.txt"))
@click.argument("name", shell_complete=job_names)
@click.pass_context
def dump_command(context: click.Context, name: str) -> None:
    """Print a job's nodes, with addresses masked: a line for each, as ElasticJob's dump port does it, to be
    sent to those who help."""
    with call(context).registry() as registry:
        lines = dump.of(registry, name)
    call(context).show({"job": name, "lines": list(lines)}, lambda: [Words("\n".join(lines).rstrip("\n"))])
