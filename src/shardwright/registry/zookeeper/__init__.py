"""The ZooKeeper driver: many machines, and Apache ElasticJob for a neighbour.

wire        the protocol's bytes
client      the connection, on kazoo
commits     one commit, from its writes to its outcome
mirrors     keeping mirrors: load, follow, load again
driver      the registry that puts them together
"""

from .driver import ZookeeperRegistry, open_at, session_ender

__all__ = ["ZookeeperRegistry", "open_at", "session_ender"]
