"""Jobs that the history, or the registry, knows."""

import contextlib
from typing import TYPE_CHECKING

import click

from ..errors import OperationError, ShardwrightError
from ..jobs import JobConfig
from ..ops import jobs, looking
from .call import Call
from .places import open_at

if TYPE_CHECKING:
    from ..history.store import Store

#: For how many seconds a registry is waited for that may only add something to an answer.
PATIENCE = 3.0


def check_known(asked: Call, store: "Store", job: str) -> None:
    """Refuse a job that neither has heard of."""
    from ..history import queries

    if queries.history(store, job=job, limit=1).entries:
        return
    registered = _registered(asked)
    known = {count.job for count in queries.statistics(store)} | set(registered or ())
    if job in known:
        return
    near = looking.nearest(job, sorted(known))
    if registered is None:
        raise OperationError(
            f"the history knows no job {job!r}, and the registry could not be asked for it{near}"
        )
    raise OperationError(f"neither the history nor the registry knows a job {job!r}{near}")


def settings_of(asked: Call, job: str) -> JobConfig | None:
    """A job's settings as they are now, where the registry can be asked and has them."""
    with _tolerant(), open_at(asked.address, patience=PATIENCE) as registry:
        return looking.at(registry, job).config
    return None


def _registered(asked: Call) -> tuple[str, ...] | None:
    """The jobs in the registry; None where it cannot be asked."""
    with _tolerant(), open_at(asked.address, patience=PATIENCE) as registry:
        return jobs.names(registry)
    return None


def _tolerant() -> contextlib.suppress:
    """The question is to the history: a registry that cannot be asked is no reason not to answer it."""
    return contextlib.suppress(ShardwrightError, TimeoutError, click.ClickException)
