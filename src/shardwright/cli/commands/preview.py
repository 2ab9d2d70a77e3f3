"""`shardwright preview`."""

from collections.abc import Iterator

import click

from ...ops import preview
from ...ops.preview import Preview
from ...registry import Registry
from ..blocks import Block, Table, Words, said
from ..call import About, call, examples
from ..completion import job_names
from ..members import member


@click.command(
    "preview",
    cls=About,
    epilog=examples(
        "shardwright preview reindex --join 2",
        "shardwright preview reindex --leave 10.0.0.7",
        "shardwright preview reindex --shards 8",
    ),
)
@click.argument("name", shell_complete=job_names)
@click.option("--join", type=click.IntRange(1, 1000), metavar="N", help="So many processes came.")
@click.option("--server", metavar="ADDRESS", help="With --join: the server they came on.")
@click.option("--leave", multiple=True, metavar="PROCESS", help="This process went; may be given again.")
@click.option("--shards", type=click.IntRange(min=1), metavar="N", help="The job had so many shards.")
@click.pass_context
def preview_command(
    context: click.Context,
    name: str,
    join: int | None,
    server: str | None,
    leave: tuple[str, ...],
    shards: int | None,
) -> None:
    """Tell which shards would move, and move none."""
    if sum(each is not None for each in (join, leave or None, shards)) != 1:
        raise click.UsageError("say one of --join, --leave and --shards")
    if server is not None and join is None:
        raise click.UsageError("--server says where --join comes; it means nothing by itself")
    with call(context).registry() as registry:
        foreseen = _foresee(registry, name, join, server, leave, shards)
    call(context).show(foreseen.as_json(), lambda: _blocks(foreseen))


def _foresee(
    registry: Registry,
    name: str,
    join: int | None,
    server: str | None,
    leave: tuple[str, ...],
    shards: int | None,
) -> Preview:
    if join is not None:
        return preview.join(registry, name, join, server)
    if shards is not None:
        return preview.resize(registry, name, shards)
    return preview.leave(registry, name, *(member(registry, name, each) for each in leave))


def _blocks(foreseen: Preview) -> Iterator[Block]:
    yield Words("\n".join([f"What would happen {foreseen.what}:", *filter(None, [foreseen.note])]))
    rows = [
        (said(each.item), said(each.before), said(each.after), "RUNNING" if each.running else "")
        for each in foreseen.moves
    ]
    yield Table(("shard", "from", "to", "now"), rows, "No shard would move.")
    counts = [(who, said(count)) for who, count in foreseen.counts.items()]
    yield Table(("process", "shards then"), counts, "Nobody would have any.")
