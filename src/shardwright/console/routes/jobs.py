"""One job: how it stands, its shards, its last fires, what would happen if, and its past."""

from typing import Annotated

from fastapi import Query

from ...errors import NotValid
from ...ops import dump, jobs, looking, past, preview, shards
from ...ops import settings as ops_settings
from ...ops.values import plain
from .. import timelines
from ..models import (
    Dump,
    Item,
    JobPage,
    Left,
    Past,
    Preview,
    ShardMap,
    ShardPage,
    ShardState,
    Time,
    Timeline,
)
from ..roles import Role
from ..routing import Routes
from .given import Here, JobName, Offset, shown

routes = Routes("job")

SomeShards = Annotated[list[int] | None, Query(max_length=1000)]


@routes.get("/r/{registry}/jobs/{job}", needs=Role.VIEWER)
def show_job(here: Here, job: JobName) -> JobPage:
    """All about a job but its shards."""
    with here.registry() as registry:
        sight = looking.at(registry, job)
    detail = jobs.described(sight)
    told = detail.as_json()
    del told["shards"]
    return JobPage.model_validate(
        {
            **told,
            "version": ops_settings.seen(sight).version if sight.config is not None else None,
            "running": sum(item.state is shards.State.RUNNING for item in detail.shards),
            "trouble": sight.trouble,
        }
    )


@routes.get("/r/{registry}/jobs/{job}/shards", needs=Role.VIEWER)
def list_shards(
    here: Here,
    job: JobName,
    offset: Offset = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    state: ShardState | None = None,
) -> ShardPage:
    """A page of its shards, in order; all of them or those that are in a state."""
    with here.registry() as registry:
        sight = looking.at(registry, job)
    items = [item for item in sight.items if state is None or shards.state(sight, item).value == state]
    page = (shards.one(sight, item) for item in items[offset : offset + limit])
    return ShardPage(shards=[shown(Item, item) for item in page], total=len(items))


@routes.get("/r/{registry}/jobs/{job}/map", needs=Role.VIEWER)
def show_map(here: Here, job: JobName) -> ShardMap:
    """All its shards, in short: who owns and runs each, and how it is."""
    with here.registry() as registry:
        sight = looking.at(registry, job)
    return shown(ShardMap, shards.mapped(sight))


@routes.get("/r/{registry}/jobs/{job}/timeline", needs=Role.VIEWER)
def show_timeline(
    here: Here,
    job: JobName,
    fires: Annotated[int, Query(ge=1, le=50)] = 20,
    before: Annotated[str | None, Query(max_length=100, description="`before` of the last answer.")] = None,
    first: Annotated[
        int, Query(ge=0, le=10_000_000, description="The first shard that is told; of each fire 200 are.")
    ] = 0,
) -> Timeline:
    """Its last fires with their shards, when each began and ended."""
    return timelines.read(here, job, fires, before, first)


@routes.get("/r/{registry}/jobs/{job}/preview", needs=Role.VIEWER)
def preview_job(
    here: Here,
    job: JobName,
    join: Annotated[int | None, Query(ge=1, le=1000, description="So many processes came.")] = None,
    server: Annotated[
        str | None, Query(min_length=1, max_length=255, description="Where they came; with join.")
    ] = None,
    leave: Annotated[list[str] | None, Query(max_length=1000, description="These processes left.")] = None,
    shards: Annotated[int | None, Query(ge=1, le=100_000, description="It had so many shards.")] = None,
) -> Preview:
    """Which shards would move; none is moved."""
    if sum(each is not None for each in (join, leave or None, shards)) != 1:
        raise NotValid("say one of join, leave and shards")
    if server is not None and join is None:
        raise NotValid("server says where join comes; it means nothing by itself")
    with here.registry() as registry:
        if join is not None:
            return shown(Preview, preview.join(registry, job, join, server))
        if shards is not None:
            return shown(Preview, preview.resize(registry, job, shards))
        return shown(Preview, preview.leave(registry, job, *(leave or ())))


@routes.get("/r/{registry}/jobs/{job}/dump", needs=Role.VIEWER)
def dump_job(here: Here, job: JobName) -> Dump:
    """Its nodes as ElasticJob's dump port tells them, with addresses masked."""
    with here.registry() as registry:
        return Dump(job=job, lines=list(dump.of(registry, job)))


@routes.get("/r/{registry}/jobs/{job}/past", needs=Role.VIEWER)
def foresee_backfill(
    here: Here,
    job: JobName,
    begin: Annotated[Time, Query()],
    end: Annotated[Time, Query()],
    shards: SomeShards = None,
) -> Past:
    """Which fires a backfill would run; none is run."""
    some = sorted(set(shards)) if shards else None
    with here.registry() as registry:
        sight = looking.at(registry, job)
    fires = past.fires(sight, begin, end, some)
    runs = len(fires) * len(some if some is not None else sight.items)
    return Past(job=job, fires=[str(plain(fire)) for fire in fires], runs=runs)


@routes.get("/r/{registry}/jobs/{job}/left", needs=Role.VIEWER)
def show_left(here: Here, job: JobName) -> Left:
    """How many past fires are still to run, of those that were asked for."""
    with here.registry() as registry:
        return shown(Left, past.left(registry, job))
