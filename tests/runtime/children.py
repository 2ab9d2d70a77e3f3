"""Processes that the tests of the scheduler start."""

import multiprocessing
import os
import signal
import sys
import threading
from multiprocessing.process import BaseProcess

from shardwright import Scheduler, Shard

PATIENCE = 20.0


def say(line: str) -> None:
    """Print a line in one piece: others print to the same pipe."""
    os.write(1, f"{line}\n".encode())


def fork(url: str) -> None:
    """Run a job, and fork: one child only ends, another runs the job beside us."""
    scheduler, ran = Scheduler(url, grace=600.0), threading.Event()

    def job(shard: Shard) -> None:
        ran.set()

    def run_anew() -> bool:
        ran.clear()
        return ran.wait(PATIENCE)

    scheduler.add(job, cron="* * * * * ?", shards=2)
    scheduler.start()
    say(f"parent: it runs: {run_anew()}")
    idle = os.fork()
    if not idle:
        sys.exit()
    os.waitpid(idle, 0)
    say(f"an idle child has ended; parent: it runs: {run_anew()}")
    busy = os.fork()
    if not busy:
        scheduler.start()
        say(f"child: it runs: {run_anew()}")
        sys.exit()
    os.waitpid(busy, 0)
    say(f"a busy child has ended; parent: it runs: {run_anew()}")


def end_forks(url: str) -> None:
    """Run a job that forks, and ends its forks: one that is there, and others before they have done anything
    at all. Then end."""
    scheduler, forks = Scheduler(url), multiprocessing.get_context("fork")

    @scheduler.job(cron="* * * * * ?")
    def job() -> None:
        there = forks.Event()

        def stay() -> None:
            there.set()
            signal.pause()

        fork = forks.Process(target=stay)
        fork.start()
        there.wait()
        _end(fork)
        for _ in range(30):
            fork = forks.Process(target=signal.pause)
            fork.start()
            _end(fork)
        say("all have ended")
        os.kill(os.getpid(), signal.SIGTERM)

    scheduler.run()


def _end(fork: BaseProcess) -> None:
    fork.terminate()
    fork.join(PATIENCE / 4)
    how = fork.exitcode
    fork.kill()
    assert how == -signal.SIGTERM, how


def hold(url: str, address: str) -> None:
    """Begin a run, and never end it."""
    scheduler = Scheduler(url, address=address)

    def body(shard: Shard) -> None:
        say("runs")
        threading.Event().wait()

    scheduler.add(body, "job", shards=2, failover=True)
    scheduler.run()
