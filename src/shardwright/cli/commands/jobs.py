"""`shardwright jobs` and `shardwright job`."""

from collections.abc import Iterator

import click

from ...ops import jobs
from ...ops.jobs import Brief, Detail, Member
from ..blocks import NONE, Block, Facts, Table, Words, said
from ..call import About, call, examples
from ..completion import job_names
from .shards import shard_table

NO_JOB = "There is no job yet: a scheduler that starts brings its own."


@click.command("jobs", cls=About, epilog=examples("shardwright jobs", "shardwright jobs --json"))
@click.pass_context
def jobs_command(context: click.Context) -> None:
    """List the jobs.

    CRASHED: no process has it. DISABLED: it rests on all its servers. SHARDING_FLAG: its shards are about to
    be shared out. Otherwise OK.
    """
    with call(context).registry() as registry:
        found = jobs.listing(registry)
    call(context).show({"jobs": [each.as_json() for each in found]}, lambda: [job_table(found)])


@click.command("job", cls=About, epilog=examples("shardwright job reindex", "shardwright job reindex --json"))
@click.argument("name", shell_complete=job_names)
@click.pass_context
def job_command(context: click.Context, name: str) -> None:
    """Show one job: its members, servers, shards and settings."""
    with call(context).registry() as registry:
        detail = jobs.detail(registry, name)
    call(context).show(detail.as_json(), lambda: _blocks(detail))


def job_table(found: tuple[Brief, ...]) -> Table:
    return Table(
        ("name", "status", "shards", "schedule", "next fire", "processes", "description"),
        [
            (
                each.name,
                each.status.value,
                said(each.shards),
                each.schedule or "when asked",
                said(each.next_fires[:1]),
                said(each.instances),
                each.trouble or each.description,
            )
            for each in found
        ],
        NO_JOB,
    )


def _blocks(detail: Detail) -> Iterator[Block]:
    brief = detail.brief
    facts = {
        "job": brief.name,
        "status": brief.status.value,
        "kind": detail.kind,
        "schedule": brief.schedule or "only when asked",
        "next fires": said(brief.next_fires),
        "leader": said(detail.leader),
        "description": brief.description,
    }
    yield Facts({name: value for name, value in facts.items() if value})
    if brief.trouble:
        yield Words(f"Its settings cannot be used: {brief.trouble}")
    yield _member_table(detail.members)
    rows = [(each.address, said(each.state), said(each.instances)) for each in detail.servers]
    yield Table(("server", "state", "processes"), rows, "No server has had it.")
    yield shard_table(detail.shards)
    if detail.config is not None:
        settings = {name: said(value) for name, value in detail.config.items()}
        yield Facts({name: value for name, value in settings.items() if value != NONE})


def _member_table(members: tuple[Member, ...]) -> Table:
    return Table(
        ("process", "leads", "enabled", "owns", "runs", "speaks", "draining"),
        [
            (
                each.id,
                "leads" if each.leader else "",
                said(each.enabled),
                said(each.owns),
                said(each.runs),
                "Python" if each.python else "Java",
                "draining" if each.draining else "",
            )
            for each in members
        ],
        "No process has it.",
    )
