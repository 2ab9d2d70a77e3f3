"""Masters of services, steered by hand."""

from ..errors import OperationError
from ..recipes import candidacy
from ..registry import Landed, Put, Registry, Require
from ..registry.writes import check_path


def designate(registry: Registry, service: str, address: str, *, root: str = candidacy.ROOT) -> None:
    """Have another candidate be the master of `<service>:<version>`: it takes over at once, and the one that
    was master steps down. An address that nobody has is refused."""
    node, candidates = _nodes(registry, service, root)
    held = registry.wait(registry.read([node], fresh=True))[node]
    there = registry.wait(registry.names([candidates], fresh=True))[candidates] or ()
    if address not in there:
        known = ", ".join(there) or "none"
        raise OperationError(f"nobody is {address!r} for {service!r}; its candidates are: {known}")
    if held is None:
        raise OperationError(f"{service!r} has no master at the moment: one is being elected, try again")
    writes = Require(f"{candidates}/{address}"), Put(node, address, held.version)
    outcome = registry.wait(registry.commit(*writes))
    if not isinstance(outcome, Landed):
        raise OperationError(f"{address!r} could not be designated: {outcome.why}; look again and try again")


def _nodes(registry: Registry, service: str, root: str) -> tuple[str, str]:
    """The master's node and the one that its candidates stand below."""
    if not isinstance(registry, Registry):
        raise OperationError(f"a registry that is open is needed, such as connect(url), not {registry!r}")
    if ":" not in service:
        raise OperationError(f"{service!r} is a service without its version: write '<service>:<version>'")
    node, candidates = f"{root}/{candidacy.node(service)}", f"{root}/{candidacy.CANDIDATES}/{service}"
    try:
        check_path(node)
    except ValueError as error:
        raise OperationError(str(error)) from None
    return node, candidates
