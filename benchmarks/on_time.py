"""A process whose work comes all at once, every second, and which tells how late each piece of it began.

There are 20 jobs of 10 shards, which do nothing. CPU-bound Python threads beside them stand for a service
that has work of its own.
"""

import json
import logging
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler

from shardwright import Scheduler, Shard

JOBS, SHARDS, THREADS = 20, 10, 32

#: What is due in the first seconds is not counted; then so many are.
WARM_UP, FIRES = 5.0, 3_000

#: What to measure, if not ourselves on a registry.
APSCHEDULER = "apscheduler"


@dataclass(frozen=True)
class Figures:
    """Milliseconds from the scheduled time to the work's first line."""

    p50: float
    p99: float
    max: float


class Timekeeper:
    """Notes how late work begins, from some moment on, until there is enough."""

    def __init__(self) -> None:
        self._from = time.time() + WARM_UP
        self._late: list[float] = []
        self._enough = threading.Event()

    def note(self, due: float) -> None:
        late = time.time() - due
        if due >= self._from:
            self._late.append(late * 1000)
            if len(self._late) >= FIRES:
                self._enough.set()

    def figures(self) -> Figures:
        if not self._enough.wait(WARM_UP + 10 * FIRES / JOBS / SHARDS):
            raise RuntimeError(f"only {len(self._late)} of {FIRES} have run")
        late = sorted(self._late[:FIRES])
        return Figures(late[len(late) // 2], late[len(late) * 99 // 100], late[-1])


def ours(timekeeper: Timekeeper, url: str) -> Callable[[], None]:
    def work(shard: Shard) -> None:
        timekeeper.note(shard.fire_time.timestamp() if shard.fire_time is not None else 0.0)

    scheduler = Scheduler(url, threads=THREADS)
    for number in range(JOBS):
        scheduler.add(work, f"job-{number}", cron="* * * * * ?", shards=SHARDS)
    scheduler.start()
    return scheduler.stop


def apscheduler(timekeeper: Timekeeper) -> Callable[[], None]:
    """Ten of its jobs stand for ten shards. It does not say when work was due, but leaves none out: so the
    third time is for the third second."""
    first = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=2)

    class Work:
        def __init__(self) -> None:
            self._next = first.timestamp()

        def __call__(self) -> None:
            due, self._next = self._next, self._next + 1.0
            timekeeper.note(due)

    scheduler = BackgroundScheduler(
        executors={"default": ThreadPoolExecutor(THREADS)},
        job_defaults={"misfire_grace_time": None, "coalesce": False, "max_instances": 100},
        timezone=UTC,
    )
    for number in range(JOBS * SHARDS):
        scheduler.add_job(Work(), "interval", seconds=1, start_date=first, id=f"job-{number}")
    scheduler.start()
    return lambda: scheduler.shutdown()


def busy() -> None:
    while True:
        sum(range(1000))


def main(threads: int, what: str) -> None:
    logging.disable(logging.WARNING)
    for _ in range(threads):
        threading.Thread(target=busy, daemon=True).start()
    timekeeper = Timekeeper()
    stop = apscheduler(timekeeper) if what == APSCHEDULER else ours(timekeeper, what)
    print(json.dumps(asdict(timekeeper.figures())), flush=True)
    stop()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
