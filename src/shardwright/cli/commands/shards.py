"""`shardwright shards`."""

from collections.abc import Iterable

import click

from ...ops import shards
from ...ops.shards import Item
from ..blocks import NONE, Table, said
from ..call import About, call, examples
from ..completion import job_names


@click.command("shards", cls=About, epilog=examples("shardwright shards reindex"))
@click.argument("name", shell_complete=job_names)
@click.pass_context
def shards_command(context: click.Context, name: str) -> None:
    """Show who owns and who runs the shards of a job."""
    with call(context).registry() as registry:
        found = shards.of(registry, name)
    document = {"job": name, "shards": [each.as_json() for each in found]}
    call(context).show(document, lambda: [shard_table(found)])


def shard_table(found: Iterable[Item]) -> Table:
    return Table(
        ("shard", "state", "owner", "runs", "last fire", "outcome", "parameter"),
        [
            (
                said(each.item),
                each.state.value,
                _owner(each),
                _run(each),
                said(each.last_fire),
                _outcome(each),
                each.parameter,
            )
            for each in found
        ],
        "No shard was shared out yet.",
    )


def _owner(item: Item) -> str:
    return f"{said(item.owner)} → {item.next_owner}" if item.next_owner else said(item.owner)


def _outcome(item: Item) -> str:
    """How the last fire came out; the one that runs has not yet."""
    is_of_the_calendar = item.running_fire and not item.running_fire.startswith("#")
    return NONE if is_of_the_calendar and not item.last_fire else said(item.last_outcome)


def _run(item: Item) -> str:
    """What runs of it: the fire, where if not at its owner's, and which attempt if not the first."""
    if not item.running_by and not item.running_fire:
        return ""
    elsewhere = f" at {item.running_by}" if item.running_by != item.owner else ""
    again = f", attempt {item.attempt}" if item.attempt > 1 else ""
    over = " (failover)" if item.failover else ""
    return f"{said(item.running_fire.replace('T', ' '))}{elsewhere}{again}{over}"
