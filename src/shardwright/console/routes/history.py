"""History: what became of fires, what their runs wrote to the log, how many came to what, why, and who
changed what."""

from typing import Annotated

from fastapi import Query

from ...errors import NotThere
from ...history import ledger, queries
from ...history.ledger import Key
from ...ops import told
from .. import reasons
from ..gate import ABOUT_PEOPLE
from ..models import Changes, Counts, Disposition, FirePage, Log, Outcome, Why
from ..roles import Role
from ..routing import Routes, Visit
from .given import Here, OneJob, When, check_stretch

routes = Routes("history")

Name = Annotated[str, Query(min_length=1, max_length=1000)]
Fire = Annotated[str, Query(min_length=1, max_length=100)]
Big = Annotated[int, Query(ge=0, lt=2**63)]
Small = Annotated[int, Query(ge=0, lt=2**31)]


@routes.get("/r/{registry}/history", needs=Role.VIEWER)
def list_fires(
    here: Here,
    job: OneJob = None,
    begin: When = None,
    end: When = None,
    shard: Annotated[int | None, Query(ge=0, lt=2**31)] = None,
    server: Annotated[
        str | None,
        Query(min_length=1, max_length=255, description="An address, or the whole id of a process."),
    ] = None,
    disposition: Disposition | None = None,
    outcome: Outcome | None = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    after: Annotated[str | None, Query(max_length=200, description="`after` of the last page.")] = None,
) -> FirePage:
    """What became of fires, the latest first, a line for each shard."""
    check_stretch(begin, end)
    with here.history() as store:
        page = queries.history(
            store,
            job=job,
            begin=begin,
            end=end,
            disposition=ledger.Disposition(disposition) if disposition is not None else None,
            outcome=outcome,
            item=shard,
            server=server,
            limit=limit,
            after=after,
        )
    return FirePage.model_validate(
        {"fires": [told.entry(each) for each in page.entries], "after": page.after}
    )


@routes.get("/r/{registry}/history/log", needs=Role.VIEWER)
def show_log(here: Here, job: Name, made: Big, fire: Fire, shard: Small, attempt: Name) -> Log:
    """What one run wrote to the log."""
    with here.history() as store:
        found = queries.log(store, Key(job, made, fire, shard), attempt)
    if found is None:
        raise NotThere(f"nothing was kept of what that run of {job!r} wrote to the log")
    return Log(text=found.text, left_out=found.left_out)


@routes.get("/r/{registry}/history/statistics", needs=Role.VIEWER)
def count_fires(here: Here, job: OneJob = None, begin: When = None, end: When = None) -> Counts:
    """How many shards of fires came to what, for each job and day, the latest first."""
    check_stretch(begin, end)
    with here.history() as store:
        counts = queries.statistics(store, job=job, begin=begin, end=end)
    latest = sorted(counts, key=lambda each: each.day, reverse=True)
    return Counts.model_validate({"counts": [told.count(each) for each in latest]})


@routes.get("/r/{registry}/why", needs=Role.VIEWER)
def explain(
    here: Here,
    job: Name,
    fire: Annotated[str, Query(min_length=1, max_length=100, description="Its time, #3, or last.")] = "last",
) -> Why:
    """Why a fire came to what it did, in words."""
    return reasons.explain(here, job, fire)


@routes.get("/r/{registry}/audit", needs=Role.VIEWER)
def list_changes(
    visitor: Visit,
    here: Here,
    job: OneJob = None,
    begin: When = None,
    end: When = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Changes:
    """Who changed what, the latest first. Who came in and whose account was changed is told to admins of all
    registries only: it may be about another registry."""
    check_stretch(begin, end)
    without = () if visitor.sees_all else ABOUT_PEOPLE
    with here.history() as store:
        notes = queries.audit(store, job=job, begin=begin, end=end, without=without, limit=limit)
    return Changes.model_validate({"changes": [told.note(each) for each in notes]})
