"""Masters of services, steered by hand."""

from ..errors import OperationError
from ..recipes import candidacy
from ..registry import Landed, Put, Registry


def designate(registry: Registry, service: str, address: str, *, root: str = candidacy.ROOT) -> None:
    """Have another candidate be the master of `<service>:<version>`: it takes over at once, and the one that
    was master steps down. An address that nobody has is refused."""
    node = f"{root}/{candidacy.node(service)}"
    candidates = f"{root}/{candidacy.CANDIDATES}/{service}"
    held = registry.wait(registry.read([node], fresh=True))[node]
    there = registry.wait(registry.names([candidates], fresh=True))[candidates] or ()
    if address not in there:
        known = ", ".join(there) or "none"
        raise OperationError(f"nobody is {address!r} for {service!r}; its candidates are: {known}")
    if held is None:
        raise OperationError(f"{service!r} has no master at the moment: one is being elected, try again")
    outcome = registry.wait(registry.commit(Put(node, address, held.version)))
    if not isinstance(outcome, Landed):
        raise OperationError(f"{address!r} could not be designated: {outcome.why}; look again and try again")
