"""Slices: who has which slice of a dynamic sharding, and who is there for one."""

from dataclasses import dataclass

from ..errors import NotThere, NotValid
from ..recipes import slicing
from ..registry import Registry
from ..registry.writes import check_path
from . import looking
from .values import Shown


@dataclass(frozen=True, slots=True)
class Slices(Shown):
    """A dynamic sharding as its nodes tell it."""

    name: str
    epoch: int
    """The number of the round that gave the slices out as they are; 0: none has."""
    resharding: bool
    """Whether a round is open: everybody pauses until it is closed."""
    leader: str | None
    holders: tuple[str | None, ...]
    """Who has which slice, by its number."""
    waiting: tuple[str, ...]
    """The processes that are there and have none."""
    gone: tuple[str, ...] = ()
    """The processes that have some, and are not there any more."""


def names(registry: Registry) -> tuple[str, ...]:
    """The dynamic shardings that stand at the top of the registry: what is laid out like one, and is neither
    the namespace nor beside it."""
    looking.check_open(registry)
    above = registry.namespace.split("/")[1]
    tops = [name for name in looking.children(registry, "/") if name not in (above, f"{above}{looking.OURS}")]
    # A job has the same nodes, and settings besides.
    wanted = [f"/{name}/{part}" for name in tops for part in (slicing.WARRANT, slicing.INSTANCES, "config")]
    there = looking.present(registry, wanted)
    return tuple(
        name
        for name in tops
        if {f"/{name}/{slicing.WARRANT}", f"/{name}/{slicing.INSTANCES}"} & there
        and f"/{name}/config" not in there
    )


def show(registry: Registry, name: str) -> Slices:
    """How a dynamic sharding stands; one that was never begun is refused."""
    root = name if name.startswith("/") else f"/{name}"
    try:
        check_path(root)
    except ValueError as error:
        raise NotValid(str(error)) from None
    if root == "/":
        raise NotValid("name a dynamic sharding: the root of the registry is none")
    tree = looking.trees(registry, [root])[root]
    if slicing.WARRANT not in tree and slicing.INSTANCES not in tree:
        raise NotThere(f"there is no dynamic sharding {name!r}: no process has begun one at {root}")
    view = slicing.View(tree, "", "", 0.0)
    holders, alive = slicing.shared_out(view), slicing.live(view)
    return Slices(
        name,
        slicing.last_round(view),
        slicing.is_open(view),
        tree.get(slicing.LEADER),
        tuple(holders),
        tuple(each for each in alive if each not in holders),
        tuple(dict.fromkeys(each for each in holders if each is not None and each not in alive)),
    )
