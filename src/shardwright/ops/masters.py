"""Masters: who is the master of which service, who would be, and another one chosen by hand.

The changes are the `operator`'s, who makes them by these functions and tells the audit: they tell nobody.
Call `Operator.designate` and `Operator.resign`.
"""

from dataclasses import dataclass

from ..errors import NotThere, NotValid, OperationError, Overtaken
from ..recipes import candidacy
from ..registry import Landed, Put, Registry, Require, Unknown
from ..registry.tree import Mirror
from ..registry.writes import check_path
from . import looking
from .values import Shown


@dataclass(frozen=True, slots=True)
class Mastery(Shown):
    """One service as its nodes tell it."""

    service: str
    """Its name and version, as `<service>:<version>`."""
    master: str | None
    """The master's address; None while there is none."""
    token: int | None
    """The number it is master under, which grows with every change."""
    candidates: tuple[str, ...]
    """The addresses of those who would be master, and of the master itself where it says so."""


def listing(registry: Registry, *, root: str = candidacy.ROOT) -> tuple[Mastery, ...]:
    """Every service that has a master or candidates, by its name."""
    services, candidates = _trees(registry, root)
    names = sorted({*services.children(""), *(each for each in candidates.children("") if ":" in each)})
    found = (_mastery(each, services, candidates) for each in names)
    return tuple(each for each in found if each.master is not None or each.candidates)


def show(registry: Registry, service: str, *, root: str = candidacy.ROOT) -> Mastery:
    """One service; one that nobody offers is refused."""
    known = {each.service: each for each in listing(registry, root=root)}
    if service not in known:
        raise NotThere(f"nobody offers {service!r} below {root}{looking.nearest(service, list(known))}")
    return known[service]


def designate(registry: Registry, service: str, address: str, *, root: str = candidacy.ROOT) -> None:
    """Have another candidate be the master of `<service>:<version>`: it takes over at once, and the one that
    was master steps down. An address that nobody has is refused."""
    if ":" not in service:
        raise NotValid(f"{service!r} is a service without its version: write '<service>:<version>'")
    node, candidates = f"{root}/{candidacy.node(service)}", f"{root}/{candidacy.CANDIDATES}/{service}"
    _check(registry, node)
    held = registry.wait(registry.read([node], fresh=True))[node]
    there = registry.wait(registry.names([candidates], fresh=True))[candidates] or ()
    if address not in there:
        known = ", ".join(there) or "none"
        raise NotThere(f"nobody is {address!r} for {service!r}; its candidates are: {known}")
    if held is None:
        raise _vacant(service)
    writes = Require(f"{candidates}/{address}"), Put(node, address, held.version)
    outcome = registry.wait(registry.commit(*writes))
    if isinstance(outcome, Unknown):
        raise Overtaken(
            f"nobody can say whether {address!r} was designated: {outcome.why}; look before you try"
        )
    if not isinstance(outcome, Landed):
        raise Overtaken(f"{address!r} could not be designated: {outcome.why}; look again and try again")


def resign(registry: Registry, service: str, *, root: str = candidacy.ROOT) -> str:
    """Have the master step down for another candidate, whose address is the answer; refused where there is
    none, as the service would be left to whom it was taken from."""
    found = show(registry, service, root=root)
    if found.master is None:
        raise _vacant(service)
    others = [each for each in found.candidates if each != found.master]
    if not others:
        raise OperationError(
            f"nobody but {found.master!r} would be the master of {service!r}: start another first"
        )
    # The one after it in the order of addresses, so that who resigns again and again comes to all.
    heir = min((each for each in others if each > found.master), default=min(others))
    designate(registry, service, heir, root=root)
    return heir


def _vacant(service: str) -> OperationError:
    return OperationError(f"{service!r} has no master at the moment: one is being elected, try again")


def _check(registry: Registry, path: str) -> None:
    looking.check_open(registry)
    try:
        check_path(path)
    except ValueError as error:
        raise NotValid(str(error)) from None


def _trees(registry: Registry, root: str) -> tuple[Mirror, Mirror]:
    services, candidates = f"{root}/{candidacy.SERVICES}", f"{root}/{candidacy.CANDIDATES}"
    _check(registry, services)
    found = looking.trees(registry, [services, candidates])
    return found[services], found[candidates]


def _mastery(service: str, services: Mirror, candidates: Mirror) -> Mastery:
    held = services.node(service) if service in services else None
    return Mastery(
        service,
        held.data if held is not None else None,
        held.made if held is not None else None,
        tuple(candidates.children(service)),
    )
