"""Servers: the machines of a namespace, their load, and letting them work or not."""

from collections.abc import Collection
from typing import Annotated

from fastapi import Query

from ...ops import overview
from ...ops.overview import Load
from ..models import Done, Server, ServerJob, ServerPage, Servers
from ..roles import Role
from ..routing import Routes, Visit
from .given import Address, Here, Offset, done, operating, shown

routes = Routes("servers")


@routes.get("/r/{registry}/servers", needs=Role.VIEWER)
def list_servers(
    here: Here,
    search: Annotated[str, Query(max_length=1000)] = "",
    offset: Offset = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Servers:
    """A page of the machines that a job knows, found by their address or by the name of a job."""
    picture = here.picture()
    found = _found(picture.loads, picture.rows.keys(), search)
    return Servers(servers=[_told(each) for each in found[offset : offset + limit]], total=len(found))


def _told(load: Load) -> Server:
    return Server(
        address=load.address,
        instances=load.instances,
        jobs=len(load.jobs),
        disabled=load.disabled,
        owns=load.owns,
        runs=load.runs,
        draining=load.draining,
    )


def _found(loads: Collection[Load], jobs: Collection[str], search: str) -> list[Load]:
    text = search.strip().casefold()
    if not text:
        return list(loads)
    wanted = {job for job in jobs if text in job.casefold()}
    return [each for each in loads if text in each.address.casefold() or not wanted.isdisjoint(each.jobs)]


@routes.get("/r/{registry}/servers/{address}", needs=Role.VIEWER)
def show_server(
    here: Here,
    address: Address,
    search: Annotated[str, Query(max_length=1000)] = "",
    offset: Offset = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> ServerPage:
    """One machine, and a page of its jobs, found by their name, with their processes there."""
    picture, text = here.picture(), search.strip().casefold()
    found = [each for each in overview.at_server(picture.rows, address) if text in each.job.casefold()]
    return ServerPage(
        server=next(_told(each) for each in picture.loads if each.address == address),
        found=[shown(ServerJob, each) for each in found[offset : offset + limit]],
        total=len(found),
    )


@routes.post("/r/{registry}/servers/{address}/enable", needs=Role.OPERATOR)
def enable_server(visitor: Visit, here: Here, address: Address) -> Done:
    """Let all jobs on a server work again."""
    with operating(here, visitor) as operator:
        return done(operator.enable(server=address))


@routes.post("/r/{registry}/servers/{address}/disable", needs=Role.OPERATOR)
def disable_server(visitor: Visit, here: Here, address: Address) -> Done:
    """Let all jobs on a server rest."""
    with operating(here, visitor) as operator:
        return done(operator.disable(server=address))


@routes.post("/r/{registry}/servers/{address}/shutdown", needs=Role.OPERATOR)
def shut_down_server(visitor: Visit, here: Here, address: Address) -> Done:
    """Order all processes on a server to leave their jobs."""
    with operating(here, visitor) as operator:
        return done(operator.shutdown(server=address))


@routes.post("/r/{registry}/servers/{address}/drain", needs=Role.OPERATOR)
def drain_server(visitor: Visit, here: Here, address: Address) -> Done:
    """Have all processes on a server give their shards away."""
    with operating(here, visitor) as operator:
        return done(operator.drain_server(address))


@routes.post("/r/{registry}/servers/{address}/undrain", needs=Role.OPERATOR)
def undrain_server(visitor: Visit, here: Here, address: Address) -> Done:
    """Let all processes on a server work again that were drained."""
    with operating(here, visitor) as operator:
        return done(operator.undrain_server(address))


@routes.delete("/r/{registry}/servers/{address}", needs=Role.OPERATOR)
def remove_server(visitor: Visit, here: Here, address: Address) -> Done:
    """Order all processes on a server to leave, and have all jobs forget it."""
    with operating(here, visitor) as operator:
        return done(operator.remove_server(address))
