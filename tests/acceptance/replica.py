"""A replica: a process as a user has it, that declares jobs and runs until it is told to end.

Its jobs note when they begin and when they end. A module without pytest, so that it starts at once.
"""

import atexit
import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

from shardwright import Scheduler, Shard
from tests.acceptance import jobs
from tests.acceptance.jobs import Job
from tests.acceptance.notes import Notes

#: How often a run looks whether it is to stop.
STEP = 0.02


def run(url: str, address: str, history: str, told: str, busy_threads: int) -> None:
    """Have these jobs in this registry, until SIGTERM."""
    notes = Notes(Path(history))
    notes.add("up", pid=os.getpid(), address=address)
    for _ in range(busy_threads):
        threading.Thread(target=_burn, daemon=True).start()
    scheduler = Scheduler(url, address=address, grace=10.0)
    for each in json.loads(told):
        job = jobs.heard(each)
        scheduler.add(_body(job, notes, address), job.name, **job.settings())
    scheduler.run()
    notes.add("left", pid=os.getpid(), address=address)


def _body(job: Job, notes: Notes, address: str) -> Callable[[Shard], None]:
    failed: set[int] = set()

    def body(shard: Shard) -> None:
        who = {
            "pid": os.getpid(),
            "address": address,
            "job": shard.job_name,
            "item": shard.item,
            "fire": shard.fire_time.isoformat() if shard.fire_time is not None else None,
            "token": shard.token,
            "attempt": shard.attempt,
            "source": shard.source,
            "threads": threading.active_count(),
            "atexit": atexit._ncallbacks(),
            "files": sum(1 for _ in Path("/proc/self/fd").iterdir()),
        }
        notes.add("begin", **who)
        over = time.monotonic() + job.length
        while not shard.cancelled and time.monotonic() < over:
            if not job.computes:
                threading.Event().wait(STEP)
        fails = job.fails_first and shard.item not in failed
        failed.add(shard.item)
        notes.add("end", **who, outcome="cancelled" if shard.cancelled else "failed" if fails else "ok")
        shard.raise_if_cancelled()
        if fails:
            raise RuntimeError("as it was told to")

    return body


def _burn() -> None:
    """Python code that never waits for anything, as a user's may."""
    number = 0
    while True:
        number += 1
