"""Who owned which shard, and since when, as the server tells it."""

import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial

from kazoo.client import KazooClient
from kazoo.protocol.states import ZnodeStat
from kazoo.recipe.watchers import DataWatch

#: No scenario has more shards.
MOST = 10


class Owners:
    """Watches the owners' nodes. Times are in seconds by the wall clock, and the server's own but for a node
    that has gone."""

    def __init__(self, client: KazooClient, path: Callable[[int], str]) -> None:
        self._told: dict[int, list[tuple[float, str | None]]] = defaultdict(list)
        for item in range(MOST):
            DataWatch(client, path(item), partial(self._changed, item))

    def during(self, item: int, begin: float, end: float) -> list[str | None]:
        """All who owned a shard from a moment on until another, in turn; None for nobody."""
        told = list(self._told[item])
        before = [owner for at, owner in told if at <= begin]
        return [*(before[-1:] or [None]), *(owner for at, owner in told if begin < at <= end)]

    def _changed(self, item: int, data: bytes | None, stat: ZnodeStat | None) -> None:
        at = stat.mtime / 1000 if stat is not None else time.time()
        self._told[item].append((at, data.decode() if data is not None else None))

    def __str__(self) -> str:
        return "\n".join(f"{at:.3f} {item} {who}" for item, told in self._told.items() for at, who in told)
