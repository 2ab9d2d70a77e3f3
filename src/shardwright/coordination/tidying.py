"""Tidying: nodes of failover and of monitoring in a job that has switched them off. The leader takes them
away.

A run that goes on is not disturbed: its cursor says that it does.
"""

from collections.abc import Iterator

from . import leader
from .step import Delete, Look, Step, do
from .view import View

#: How many nodes are taken away in one transaction.
MOST = 500


def leftovers(view: View) -> list[str]:
    found: list[str] = []
    shards = [f"sharding/{name}" for name in view.tree.children("sharding")]
    if not view.config.monitor_execution:
        found += [f"{shard}/running" for shard in shards]
    if not view.config.failover:
        found += [f"{shard}/{node}" for shard in shards for node in ("failover", "failovering")]
        found += [f"leader/failover/items/{name}" for name in view.tree.children("leader/failover/items")]
    return [path for path in found if path in view.tree]


def decide(view: View) -> Iterator[Step | Look]:
    if leader.is_me(view) and (view.config.monitor_execution, view.config.failover) != (True, True):
        paths = leftovers(view)
        for start in range(0, len(paths), MOST):
            yield do(*leader.warrant(view), *(Delete(path) for path in paths[start : start + MOST]))
