"""`shardwright run`: a scheduler of somebody's program, run from outside."""

import os

import click

from ...registry.url import VARIABLE
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
        "shardwright run jobs/nightly.py:night_shift",
    ),
)
@click.argument("program", metavar="MODULE:NAME | FILE[:NAME]")
@click.option(
    "--processes", default=1, show_default=True, type=click.IntRange(min=1), help="How many replicas."
)
@click.pass_context
def run_command(context: click.Context, program: str, processes: int) -> None:
    """Run a scheduler and its jobs.

    It is found by its module and its name, or in a file, where it may stay unnamed if it is the only one.
    What stands below `if __name__ == "__main__":` there is not run. A scheduler that names no registry takes
    the one that is named here.

    Runs until SIGINT or SIGTERM, then leaves in order; told twice, at once. With --processes so many replicas
    are looked after: those that die are started again, and SIGHUP replaces them one after the other.
    """
    # Before the program is loaded, as it makes its scheduler then; and for the replicas, which load it again.
    os.environ[VARIABLE] = address(call(context).address)
    scheduler_of(program).run(processes=processes)
