"""`shardwright shutdown` and `shardwright remove`: what cannot be undone from here."""

import click

from ...ops import jobs, looking
from ..auditing import operator
from ..call import Changing, call, examples
from ..completion import job_names
from ..doing import show_done
from ..members import member


@click.command(
    "shutdown",
    cls=Changing,
    epilog=examples(
        "shardwright shutdown reindex --server 10.0.0.7", "shardwright shutdown --server 10.0.0.7 --yes"
    ),
)
@click.argument("name", required=False, shell_complete=job_names)
@click.option(
    "--server", metavar="ADDRESS", help="Only processes on this server; without a job: of all jobs."
)
@click.option("--process", metavar="ID", help="Only this process: its id, or how that begins.")
@click.pass_context
def shutdown_command(
    context: click.Context, name: str | None, server: str | None, process: str | None
) -> None:
    """Order processes to leave a job. What they run may end, and others take over; they come back when they
    are started again."""
    if name is None and server is None:
        raise click.UsageError("name a job, or a server by --server")
    if process is not None and (name is None or server is not None):
        raise click.UsageError("--process goes with a job, and not with --server: name the job alone")
    with call(context).registry() as registry:
        who = member(registry, name, process) if name is not None and process is not None else None
        what = f"the job {name!r}" if name is not None else "all their jobs"
        whom = who or (f"all processes on {server}" if server is not None else "all its processes")
        call(context).ask(f"Have {whom} leave {what}?")
        done = operator(call(context), registry).shutdown(name, server=server, instance=who)
    show_done(context, done)


@click.command(
    "remove",
    cls=Changing,
    epilog=examples("shardwright remove reindex", "shardwright remove --server 10.0.0.7 --yes"),
)
@click.argument("name", required=False, shell_complete=job_names)
@click.option("--server", metavar="ADDRESS", help="This server, of the job or of all jobs, and not the job.")
@click.option(
    "--force", is_flag=True, help="Also a job that processes still have: they are ordered to leave."
)
@click.pass_context
def remove_command(context: click.Context, name: str | None, server: str | None, force: bool) -> None:
    """Remove a job, or a server that is gone. With a job go its settings, and where its fires stand."""
    if name is None and server is None:
        raise click.UsageError("name a job, or a server by --server")
    if server is not None and force:
        raise click.UsageError("--force goes with a job, not with a server")
    with call(context).registry() as registry:
        if name is not None:  # nobody is asked about what is not there
            looking.check_known(name, jobs.names(registry), registry.namespace)
        if server is not None:
            call(context).ask(f"Remove the server {server} from {name or 'all jobs'}?")
            done = operator(call(context), registry).remove_server(server, job=name)
        else:
            assert name is not None
            call(context).ask(f"Remove the job {name!r} with its settings, for good?")
            done = operator(call(context), registry).remove(name, force=force)
    show_done(context, done)
