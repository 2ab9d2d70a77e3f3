"""`shardwright master`: the masters of services."""

from collections.abc import Iterable

import click

from ...ops import masters
from ...ops.masters import Mastery
from ...recipes.candidacy import ROOT
from ..auditing import operator
from ..blocks import Table, said
from ..call import About, Changing, call, examples
from ..doing import show_done

BELOW = click.option("--root", default=ROOT, show_default=True, help="The node that everything stands below.")
SERVICE = click.argument("service", metavar="SERVICE:VERSION")


@click.group("master", epilog=examples("shardwright master list"))
def master_command() -> None:
    """Show and choose the masters of services."""


@master_command.command("list", cls=About, epilog=examples("shardwright master list"))
@BELOW
@click.pass_context
def list_(context: click.Context, root: str) -> None:
    """List the services, their masters, and who would be."""
    with call(context).registry() as registry:
        found = masters.listing(registry, root=root)
    call(context).show({"services": [each.as_json() for each in found]}, lambda: [_table(found)])


@master_command.command("show", cls=About, epilog=examples("shardwright master show AccountService:1.0.0"))
@SERVICE
@BELOW
@click.pass_context
def show(context: click.Context, service: str, root: str) -> None:
    """Show the master of one service, and who would be."""
    with call(context).registry() as registry:
        found = masters.show(registry, service, root=root)
    call(context).show(found.as_json(), lambda: [_table([found])])


@master_command.command(
    "designate",
    cls=About,
    epilog=examples("shardwright master designate AccountService:1.0.0 192.168.99.100:9090"),
)
@SERVICE
@click.argument("address")
@BELOW
@click.pass_context
def designate(context: click.Context, service: str, address: str, root: str) -> None:
    """Have another candidate be the master: it takes over at once."""
    with call(context).registry() as registry:
        done = operator(call(context), registry).designate(service, address, root=root)
    show_done(context, done)


@master_command.command(
    "resign", cls=Changing, epilog=examples("shardwright master resign AccountService:1.0.0 --yes")
)
@SERVICE
@BELOW
@click.pass_context
def resign(context: click.Context, service: str, root: str) -> None:
    """Have the master step down for another candidate."""
    with call(context).registry() as registry:
        found = masters.show(registry, service, root=root)
        whom = "nobody" if found.master is None else repr(found.master)
        call(context).ask(f"Have {whom} be the master of {service} no longer?")
        done = operator(call(context), registry).resign(service, root=root)
    show_done(context, done)


def _table(found: Iterable[Mastery]) -> Table:
    rows = [(each.service, said(each.master), said(each.token), said(each.candidates)) for each in found]
    return Table(("service", "master", "token", "candidates"), rows, "Nobody offers any service.")
