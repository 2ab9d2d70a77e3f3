"""Notes: one line per event, appended by one write, so that it outlives a `kill -9` and is never torn.

All processes and the test itself write to the same file. The boot clock is the same for all of them and
cannot be set: it puts their notes in order.
"""

import json
import os
import time
from pathlib import Path


class Notes:
    """A file that one process appends to."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def add(self, what: str, **told: object) -> None:
        moment = {"boot": time.clock_gettime(time.CLOCK_BOOTTIME), "wall": time.time()}
        os.write(self._descriptor, f"{json.dumps({'what': what, **moment, **told})}\n".encode())

    def close(self) -> None:
        os.close(self._descriptor)
