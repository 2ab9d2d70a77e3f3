"""`shardwright servers`."""

import click

from ...ops import servers
from ..blocks import Table, said
from ..call import About, call, examples


@click.command("servers", cls=About, epilog=examples("shardwright servers", "shardwright servers 10.0.0.7"))
@click.argument("address", required=False)
@click.pass_context
def servers_command(context: click.Context, address: str | None) -> None:
    """List the servers, or the jobs of one."""
    if address is None:
        _list(context)
    else:
        _show(context, address)


def _list(context: click.Context) -> None:
    with call(context).registry() as registry:
        found = servers.listing(registry)
    rows = [(each.address, said(each.instances), said(each.disabled), said(each.jobs)) for each in found]
    table = Table(("server", "processes", "disabled", "jobs"), rows, "There is no server yet.")
    call(context).show({"servers": [each.as_json() for each in found]}, lambda: [table])


def _show(context: click.Context, address: str) -> None:
    with call(context).registry() as registry:
        found = servers.jobs_of(registry, address)
    rows = [(each.job, each.status, said(each.instances)) for each in found]
    table = Table(("job", "status", "processes"), rows, "It has no job.")
    call(context).show({"server": address, "jobs": [each.as_json() for each in found]}, lambda: [table])
