"""`shardwright run`: a scheduler of somebody's program, run from outside."""

import os
from contextlib import AbstractContextManager, nullcontext

import click

from ...ops.dump_server import DumpServer, from_url
from ...registry.url import VARIABLE, parse
from ...runtime import parent
from ...runtime.scheduler import Scheduler
from ..call import REGISTRY, Command, call, examples
from ..places import address
from ..programs import scheduler_of


class Run(Command):
    """It answers nothing by itself: what is printed is its jobs' own."""

    common = (REGISTRY,)


@click.command(
    "run",
    cls=Run,
    epilog=examples(
        "shardwright run app:scheduler",
        "shardwright run jobs/nightly.py --processes 4",
        "shardwright run jobs/nightly.py:night_shift --dump-port 9888",
    ),
)
@click.argument("program", metavar="MODULE[:NAME] | FILE[:NAME]")
@click.option(
    "--processes", default=1, show_default=True, type=click.IntRange(min=1), help="How many replicas."
)
@click.option(
    "--dump-port",
    metavar="PORT | PATH",
    help="Answer dump@<job> as ElasticJob does: on this port of 127.0.0.1, or on a Unix socket.",
)
@click.pass_context
def run_command(context: click.Context, program: str, processes: int, dump_port: str | None) -> None:
    """Run a scheduler and its jobs.

    It is found by its module and its name, or in a file, where it may stay unnamed if it is the only one.
    What stands below `if __name__ == "__main__":` there is not run. A scheduler that names no registry takes
    the one that is named here; one that names another than --registry is refused.

    Runs until SIGINT or SIGTERM, then leaves in order; told twice, at once. With --processes so many replicas
    are looked after: those that die are started again, and SIGHUP replaces them one after the other.
    """
    # Before the program is loaded, as it makes its scheduler then; and for the replicas, which load it again.
    os.environ[VARIABLE] = address(call(context).address)
    scheduler = scheduler_of(program)
    if call(context).address is not None:  # by the option: an environment may be meant for others
        _check_heeded(os.environ[VARIABLE], scheduler)
    with _dumping(scheduler, dump_port):
        scheduler.run(processes=processes)


def _check_heeded(named: str, scheduler: Scheduler) -> None:
    """Refuse a registry that the program does not take."""
    own = parse(scheduler.registry)
    if own != parse(named):
        raise click.UsageError(
            f"this scheduler names its own registry, {own}: "
            "leave --registry away, or write Scheduler() in the program"
        )


def _dumping(scheduler: Scheduler, where: str | None) -> AbstractContextManager[object]:
    """The dump port, if one is wanted; of several replicas their parent has it."""
    if where is None or parent.VARIABLE in os.environ:
        return nullcontext()
    digits = where.isascii() and where.isdigit()
    if digits and not 0 <= int(where) < 1 << 16:
        raise click.BadParameter(f"there is no port {where}: give one up to 65535", param_hint="--dump-port")
    address = ("127.0.0.1", int(where)) if digits else where
    return DumpServer(from_url(scheduler.registry), address=address)
