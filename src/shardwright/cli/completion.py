"""What the shell completes by asking the registry."""

import contextlib

import click

from ..errors import ShardwrightError
from .call import call

#: For how many seconds whoever types waits.
PATIENCE = 2.0


def job_names(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """The names of the jobs. A registry that cannot be asked has none: who types has nowhere to be told."""
    from ..ops import jobs
    from .places import open_at

    with (
        contextlib.suppress(ShardwrightError, TimeoutError, click.ClickException),
        open_at(call(context).address, patience=PATIENCE) as registry,
    ):
        return [name for name in jobs.names(registry) if name.startswith(incomplete)]
    return []
