"""The two recipes: masters of services, and dynamic shardings with their slices."""

from typing import Annotated

from fastapi import Path, Query

from ...errors import NotThere
from ...ops import masters, slices
from ...recipes.candidacy import ROOT
from .. import refusals
from ..models import Designation, Done, Mastery, Services, SliceNames, Slices
from ..roles import Role
from ..routing import Routes, Visit, Visitor
from .given import Here, done, operating, shown

routes = Routes("recipes")

Root = Annotated[str, Query(min_length=1, max_length=1000, description="What everything stands below.")]
Service = Annotated[str, Path(min_length=1, max_length=1000, description="<service>:<version>")]


@routes.get("/r/{registry}/masters", needs=Role.VIEWER)
def list_masters(visitor: Visit, here: Here, root: Root = ROOT) -> Services:
    """Every service that has a master, or candidates."""
    _check_root(visitor, root)
    with here.registry() as registry:
        found = masters.listing(registry, root=root)
    return Services(services=[shown(Mastery, each) for each in found])


@routes.post("/r/{registry}/masters/{service}/designate", needs=Role.OPERATOR)
def designate_master(
    visitor: Visit, here: Here, service: Service, wish: Designation, root: Root = ROOT
) -> Done:
    """Have another candidate be the master, at once."""
    _check_root(visitor, root)
    with operating(here, visitor) as operator:
        return done(operator.designate(service, wish.address, root=root))


@routes.post("/r/{registry}/masters/{service}/resign", needs=Role.OPERATOR)
def resign_master(visitor: Visit, here: Here, service: Service, root: Root = ROOT) -> Done:
    """Have the master step down for another candidate."""
    _check_root(visitor, root)
    with operating(here, visitor) as operator:
        return done(operator.resign(service, root=root))


@routes.get("/r/{registry}/slices", needs=Role.VIEWER)
def show_slices(
    visitor: Visit, here: Here, name: Annotated[str, Query(min_length=1, max_length=1000)]
) -> Slices:
    """Who has which slice of a dynamic sharding."""
    with here.registry() as registry:
        inside = name.startswith(f"{registry.namespace}/") or name.strip("/") in slices.names(registry)
        if not inside and not visitor.sees_all:
            raise NotThere(f"there is no dynamic sharding {name!r} at the top of the registry")
        return shown(Slices, slices.show(registry, name))


@routes.get("/r/{registry}/slices-known", needs=Role.VIEWER)
def list_slices(here: Here) -> SliceNames:
    """The dynamic shardings that stand at the top of the registry."""
    with here.registry() as registry:
        return SliceNames(names=list(slices.names(registry)))


def _check_root(visitor: Visitor, root: str) -> None:
    """What stands elsewhere may belong to another registry, in which the visitor has no role."""
    if root != ROOT and not visitor.sees_all:
        raise refusals.forbidden(f"only {ROOT} is shown here: who is admin of all registries may name others")
