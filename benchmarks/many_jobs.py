"""A process that has many jobs, none of which fires for months: it starts them, rests, and says what it took.

It imports nothing that a service would not, so that what it holds is what a service would hold.
"""

import gc
import json
import sys
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from shardwright import Scheduler
from shardwright.coordination import sharding

#: For how many seconds it has nothing to do before that is measured, for how many it is, and how long it may
#: take to start.
SETTLE, REST, PATIENCE = 2.0, 5.0, 900.0

#: How often to see how far it is, in seconds; how much of the CPU one takes that has nothing to do, at most.
GLANCE, QUIET = 0.25, 0.05


@dataclass(frozen=True)
class Figures:
    threads: int
    megabytes: float
    started: float
    """Seconds from the first declaration until the last job could fire."""
    worked: float
    """Seconds of CPU that this took."""
    idle: float
    """Milliseconds of CPU per second with nothing to do."""


def work() -> None:
    """What the jobs would do."""


def start(url: str, count: int) -> Scheduler:
    scheduler = Scheduler(url)
    for number in range(count):
        # No two alike, as they are not where many people write them.
        second, minute, hour = number % 60, number // 60 % 60, number // 3600
        scheduler.add(work, f"job-{number}", cron=f"{second} {minute} {hour} 1 {months_away()} ?")
    scheduler.start()
    return scheduler


def months_away() -> int:
    """The month that is half a year from now."""
    return (time.localtime().tm_mon + 5) % 12 + 1


def wait_until_ready(scheduler: Scheduler) -> None:
    """Until every job is led and its shard is given to somebody: only who leads does that."""
    process = scheduler._supervisor.inside
    assert process is not None
    registry, ask = process.registry, process.reactor.ask
    jobs = [f"{registry.namespace}/{job.name}" for job in scheduler.jobs]
    trees = ask(lambda: [registry.mirror(path) for path in jobs]).result(PATIENCE)
    end = time.monotonic() + PATIENCE
    while trees := [tree for tree in trees if sharding.owner_node(0) not in tree]:
        if time.monotonic() > end:
            raise TimeoutError(f"{len(trees)} jobs are not ready after {PATIENCE:g} s")
        time.sleep(GLANCE)  # nobody is told when the last one is


def quiet_since() -> float:
    """Wait until there is nothing left to do, such as to read where each shard had come to; since when."""
    while True:
        moment, before = time.monotonic(), time.process_time()
        time.sleep(GLANCE)
        if time.process_time() - before < QUIET * GLANCE:
            return moment


def resting() -> float:
    """Milliseconds of CPU per second."""
    time.sleep(SETTLE)
    before = time.process_time()
    time.sleep(REST)
    return (time.process_time() - before) / REST * 1000


def megabytes() -> float:
    """What is held now, as the kernel counts it."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if "VmRSS" in line)
    return int(line.split()[1]) / 1024


def main(url: str, count: int) -> None:
    began, worked = time.monotonic(), time.process_time()
    scheduler = start(url, count)
    wait_until_ready(scheduler)
    started, worked = quiet_since() - began, time.process_time() - worked
    gc.collect()
    idle = resting()
    print(json.dumps(asdict(Figures(threading.active_count(), megabytes(), started, worked, idle))))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
