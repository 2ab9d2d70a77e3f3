"""Reach: at which addresses a server is called that settings name.

One that the program itself declares is called wherever it is: mail servers and webhooks are often inside. One
that only the registry's settings name must be where the operator lets jobs call, and it is called at the
addresses that were checked.
"""

from collections.abc import Callable

from ..egress import Place
from ..errors import Failed
from .handler import Undelivered
from .settings import Settings


def addresses(settings: Settings, key: str, read: Callable[[], Place]) -> tuple[str, ...]:
    """Those of the server under this key; none if the program declares it, and it is called by its name."""
    if settings.egress is None:
        return ()
    try:
        return settings.egress.addresses(read())
    except (Failed, ValueError) as error:
        why = str(error)
    raise Undelivered(f"the server in {key}, which this program does not declare: {why}")
