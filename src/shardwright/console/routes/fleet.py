"""The fleet: all jobs of a registry, how many there are of everything, many changed at once, and the stream
of what changes."""

from typing import Annotated, Literal

from fastapi import Query
from fastapi.responses import StreamingResponse

from ...errors import OperationError
from ...ops.operator import Done, Operator
from .. import fleets
from ..fleets import Order, Wanted
from ..models import Bulk, BulkDone, Fleet, JobStatus, LiveEvents, Outcome, RefusedJob, Statistics
from ..roles import Role
from ..routing import Routes, Visit
from ..streams import EventStream
from .given import Here, Offset, OneJob, done, operating, shown

routes = Routes("fleet")

Search = Annotated[str, Query(max_length=1000)]
SortBy = Literal["name", "status", "next", "shards", "late"]


@routes.get("/r/{registry}/statistics", needs=Role.VIEWER)
def show_statistics(here: Here) -> Statistics:
    """How much there is of everything."""
    return shown(Statistics, here.picture().statistics)


@routes.get("/r/{registry}/jobs", needs=Role.VIEWER)
def list_jobs(
    here: Here,
    search: Search = "",
    status: JobStatus | None = None,
    outcome: Annotated[Outcome | None, Query(description="How the last fire came out.")] = None,
    sort: SortBy = "name",
    descending: bool = False,
    offset: Offset = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Fleet:
    """A page of the jobs there are."""
    wanted = Wanted(search, status, outcome, Order(sort), descending, offset, limit)
    return fleets.page(here, wanted)


@routes.post("/r/{registry}/bulk", needs=Role.OPERATOR)
def change_jobs(visitor: Visit, here: Here, wish: Bulk) -> BulkDone:
    """Do the same to several jobs, each by itself: one that is refused does not keep the others from it."""
    told = BulkDone(done=[], refused=[])
    with operating(here, visitor) as operator:
        for job in dict.fromkeys(wish.jobs):
            try:
                told.done.append(done(_act(operator, wish.action, job)))
            except OperationError as error:
                told.refused.append(RefusedJob(job=job, error=str(error)))
    return told


def _act(operator: Operator, action: str, job: str) -> Done:
    match action:
        case "trigger":
            return operator.trigger(job)
        case "enable":
            return operator.enable(job)
        case "disable":
            return operator.disable(job)
    return operator.shutdown(job)


@routes.get(
    "/r/{registry}/live",
    needs=Role.VIEWER,
    response_class=EventStream,
    responses={200: {"model": LiveEvents, "description": "Server-sent events, until the session ends."}},
)
def follow(visitor: Visit, here: Here, job: OneJob = None) -> StreamingResponse:
    """What changes, as it does: of all jobs, or of one and its shards."""
    return EventStream(listener=here.listen(visitor.name, job), lasts=visitor.lasts)
