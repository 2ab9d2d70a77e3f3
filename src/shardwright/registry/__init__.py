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

from .driver import Driver as Registry
from .driver import Listener, Session, State
from .tree import Node, Tree, Unread
from .url import connect
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
    "weight",
]
