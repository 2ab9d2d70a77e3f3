"""What the members of a job ask of ZooKeeper, and are told by it, fire by fire.

A claim is made up to a second before its fire and a short run is over soon after it, so all that passes from
a little before the one to a little before the next belongs to one fire.
"""

import re
import threading
import time
from collections import Counter

from tests.faults.frames import Frame

#: Seconds between two fires, and how long before a fire what belongs to it begins.
PERIOD, BEFORE = 3.0, 1.25

READS = frozenset({"exists", "getData", "getChildren", "getChildren2", "multiRead", "sync"})
START, END, OTHER = "start", "end", "other transaction"

#: The operations of a transaction that make or delete the mark of a running shard.
_MARKS = re.compile(rb"\0\0\0([\1\2])\0\xff{4}.{4}/[^\0]*/sharding/\d+/running", re.DOTALL)


def kind(frame: Frame) -> str:
    """What a request is for: a transaction that starts shards, one that ends some, or its operation."""
    if frame.op != "multi":
        return frame.op or ""
    touched = {found[1] for found in _MARKS.finditer(frame.data)}
    return {frozenset({b"\1"}): START, frozenset({b"\2"}): END}.get(frozenset(touched), OTHER)


class Wiretap:
    """Counts what passes through a proxy, by fire and by connection."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: dict[int, dict[int, Counter[str]]] = {}
        self._notifications: Counter[int] = Counter()

    def __call__(self, connection: int, frame: Frame) -> None:
        fire = fire_at(time.time())
        with self._lock:
            if frame.op:
                self._requests.setdefault(fire, {}).setdefault(connection, Counter())[kind(frame)] += 1
            self._notifications[fire] += frame.event is not None

    def requests(self, fire: int) -> list[Counter[str]]:
        """What each connection asked for the sake of a fire, pings included."""
        with self._lock:
            return list(self._requests.get(fire, {}).values())

    def notifications(self, fire: int) -> int:
        with self._lock:
            return self._notifications[fire]


def fire_at(moment: float) -> int:
    """The fire to which belongs what passes at a moment."""
    return int((moment + BEFORE) // PERIOD)
