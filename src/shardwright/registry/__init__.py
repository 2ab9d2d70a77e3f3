"""The registry: a small tree of text nodes that every process of a cluster shares.

    words        Create, Put, Delete, Require, Forbid: what a commit holds;
                 Landed, Refused, Unknown: how it ends
    Tree         a live mirror of the nodes below one path, kept from changes
    Session      our tenure: ephemeral nodes go with it; how long it surely lasts, by our own clock
    Registry     what every driver offers: mirror, read, names, commit, session, now, close

It knows about nodes and nothing about jobs. What a driver promises is written down once, as tests, in
`tests/registry/contract.py`; every driver is asked the same questions. `connect` opens one by its address:

    memory://                              in this process only: tests, and trying things out
    sqlite:///var/lib/app/registry.db      the processes of one machine; nothing to install
    zookeeper://zk1:2181,zk2:2181/prod     many machines; Apache ElasticJob's neighbours
"""

from collections.abc import Callable

from .driver import Credentials, Listener, Session, State
from .driver import Driver as Registry
from .tree import Node, Tree, Unread
from .url import connect, parse
from .writes import (
    Create,
    Delete,
    Forbid,
    Landed,
    Outcome,
    Put,
    Refused,
    Require,
    Unknown,
    Write,
    protected,
    weight,
)

__all__ = [
    "Create",
    "Credentials",
    "Delete",
    "Forbid",
    "Landed",
    "Listener",
    "Node",
    "Outcome",
    "Put",
    "Refused",
    "Registry",
    "Require",
    "Session",
    "State",
    "Tree",
    "Unknown",
    "Unread",
    "Write",
    "connect",
    "protected",
    "session_ender",
    "weight",
]


def session_ender(url: str) -> Callable[[Credentials, float], bool] | None:
    """What ends the session of a process that died, within so many seconds; whether that is certain then.
    None where a death is seen at once."""
    address = parse(url)
    if address.scheme not in ("zookeeper", "zk"):
        return None
    from .zookeeper import session_ender

    return session_ender(address)
