"""What the children of test_processes do. A module without pytest, so that they start at once."""

import signal
import subprocess
import sys
import time
from datetime import UTC, datetime

from tests.faults.processes import Process


def greet(name: str, times: int) -> None:
    for _ in range(times):
        print(f"hello {name}")


def count() -> None:
    """Answer every SIGUSR1 with a line, so that a test can see whether anybody is at home."""
    signal.signal(signal.SIGUSR1, lambda *_: print("at home"))
    print("ready")
    while True:
        signal.pause()


def start_a_tethered_process() -> None:
    """The process says its own number: by then it is tethered, which it is not from its very first moment."""
    Process(["sh", "-c", "echo $$; exec sleep 600"], output=sys.stdout.fileno())
    signal.pause()


def start_a_loose_process() -> None:
    print(subprocess.Popen(["sleep", "600"]).pid)
    signal.pause()


def tell_the_time() -> None:
    """Answer every SIGUSR1 with the wall clock, asked in two ways, and with the boot clock."""

    def tell(*_: object) -> None:
        print("it is", time.time(), datetime.now(UTC).timestamp(), time.clock_gettime(time.CLOCK_BOOTTIME))

    signal.signal(signal.SIGUSR1, tell)
    print("ready")
    while True:
        signal.pause()
