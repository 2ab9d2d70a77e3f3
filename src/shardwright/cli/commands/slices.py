"""`shardwright slices`."""

from collections.abc import Iterator

import click

from ...ops import slices
from ...ops.slices import Slices
from ..blocks import Block, Facts, Table, said
from ..call import About, call, examples


@click.command("slices", cls=About, epilog=examples("shardwright slices dynamic-sharding"))
@click.argument("name")
@click.pass_context
def slices_command(context: click.Context, name: str) -> None:
    """Show who has which slice of a dynamic sharding."""
    with call(context).registry() as registry:
        found = slices.show(registry, name)
    call(context).show(found.as_json(), lambda: _blocks(found))


def _blocks(found: Slices) -> Iterator[Block]:
    facts = {"epoch": said(found.epoch), "leader": said(found.leader), "resharding": said(found.resharding)}
    yield Facts({**facts, "waiting": said(found.waiting)})
    rows = [
        (said(number), said(who), "gone" if who in found.gone else "")
        for number, who in enumerate(found.holders)
    ]
    yield Table(("slice", "process", ""), rows, "No slice was given out yet.")
