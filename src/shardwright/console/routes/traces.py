"""Traces: what ElasticJob's members, and ours, have written into ElasticJob's own tables."""

from dataclasses import asdict
from typing import Annotated

from fastapi import Query

from ...history import traces
from ..models import TaskState, TracedRuns, TracedStates
from ..roles import Role
from ..routing import Routes
from .given import Here, OneJob, When, check_stretch

routes = Routes("traces")

Limit = Annotated[int, Query(ge=1, le=500)]
After = Annotated[str | None, Query(max_length=200, description="`after` of the last page.")]


@routes.get("/r/{registry}/traces", needs=Role.VIEWER)
def list_traced_runs(
    here: Here,
    job: OneJob = None,
    ip: Annotated[str | None, Query(min_length=1, max_length=255)] = None,
    begin: When = None,
    end: When = None,
    success: bool | None = None,
    limit: Limit = 100,
    after: After = None,
) -> TracedRuns:
    """The runs in ElasticJob's table JOB_EXECUTION_LOG, the newest first; none where it is not there."""
    check_stretch(begin, end)
    with here.history() as store:
        page = traces.executions(
            store, job=job, ip=ip, begin=begin, end=end, success=success, limit=limit, after=after
        )
    return TracedRuns.model_validate(asdict(page))


@routes.get("/r/{registry}/traces/states", needs=Role.VIEWER)
def list_traced_states(
    here: Here,
    job: OneJob = None,
    state: TaskState | None = None,
    begin: When = None,
    end: When = None,
    limit: Limit = 100,
    after: After = None,
) -> TracedStates:
    """The states in ElasticJob's table JOB_STATUS_TRACE_LOG, the newest first; none where it is not there."""
    check_stretch(begin, end)
    with here.history() as store:
        page = traces.states(store, job=job, state=state, begin=begin, end=end, limit=limit, after=after)
    return TracedStates.model_validate(asdict(page))
