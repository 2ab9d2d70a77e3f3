"""Orphans: whatever becomes of a scheduler, what its children do ends before anybody else may begin.

A process that runs children as a scheduler does, under a lease that it renews while it lives, is killed or
stopped; its children note every 10 ms that they are still there, by the clock that the lease is measured by.
One of them is not bound to its lease: its notes come by a pipe, and tell a test that time goes on.
(No pytest here: this module is imported by those processes, which should start at once.)
"""

import contextlib
import logging
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from shardwright import Shard
from shardwright.executors import child
from shardwright.executors.process import Isolated
from shardwright.executors.script import Script
from tests.faults.processes import Child

LEASE = 2.0
BOUND = {"process", "script", "grandchild", "stubborn"}

# A script: its effects go to the file named first. It starts itself once more if it is to have a child.
WRITER = """#!{python} -IS
import os, signal, subprocess, sys, time
file, name, has_child = sys.argv[1:]
if name == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if has_child == "yes":
    subprocess.Popen([*sys.orig_argv[:2], sys.argv[0], file, "grandchild", "no"])
effects = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
for times in range(100_000):
    os.write(effects, f"{{time.clock_gettime(time.CLOCK_BOOTTIME)}} {{name}}\\n".encode())
    if not times:
        print(f"begun {{name}} {{os.getpid()}}", flush=True)
    time.sleep(0.01)
"""


class Deaths:
    """Processes whose deaths can be waited for, whoever their parent is."""

    def __init__(self, *pids: int) -> None:
        self._handles: list[int] = []
        self.add(*pids)

    def add(self, *pids: int) -> None:
        self._handles += [os.pidfd_open(pid) for pid in pids]

    def tell_first(self, number: int) -> None:
        signal.pidfd_send_signal(self._handles[0], number)

    def expect(self, within: float = 30.0) -> None:
        for handle in self._handles:
            assert select.select([handle], [], [], within)[0], "a process lives on"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for handle in self._handles:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
            os.close(handle)


# What the scheduler's process does


def write_effects(shard: Shard) -> None:
    """A function that will not hear of the order to stop."""
    effects = os.open(shard.job_parameter, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for times in range(100_000):
        os.write(effects, f"{time.clock_gettime(time.CLOCK_BOOTTIME)} {shard.parameter}\n".encode())
        if not times:
            print(f"begun {shard.parameter} {os.getpid()}")
        time.sleep(0.01)


def scheduler(folder: str, forks: bool) -> None:
    """Run a process and three scripts, under a lease that is noted before it is relied on."""
    logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(message)s")
    ends = [0.0]

    def renew() -> None:
        end = child.boot() + LEASE
        with open(f"{folder}/leases", "a") as leases:
            leases.write(f"{end}\n")
        ends[0] = end

    def run(item: int, name: str, body: Callable[[Shard], None]) -> None:
        try:
            body(_a_shard(item, name, f"{folder}/effects", lambda: ends[0] - child.boot()))
        except Exception as error:
            logging.info("over: %s: %s", name, type(error).__name__)

    renew()
    script = f"{folder}/writer.py"
    Path(script).write_text(WRITER.format(python=sys.executable))
    Path(script).chmod(0o755)
    bodies: dict[str, Callable[[Shard], None]] = {
        "process": Isolated(write_effects),
        "script": Script([script, f"{folder}/effects", "script", "yes"], folders=[folder]),
        "stubborn": Script([script, f"{folder}/effects", "stubborn", "no"], folders=[folder]),
        "unbound": Script([script, f"{folder}/unbound", "unbound", "no"], folders=[folder], bound=False),
    }
    for item, (name, body) in enumerate(bodies.items()):
        threading.Thread(target=run, args=(item, name, body)).start()
    if forks:
        sys.stdin.readline()
        _fork()
    over = threading.Event()
    while not over.wait(0.1):
        renew()


def _fork() -> None:
    """What some library may do: the copy holds every socket that its parent had."""
    pid = os.fork()
    if pid == 0:
        time.sleep(600)
        os._exit(0)
    print(f"begun fork {pid}")


def _a_shard(item: int, parameter: str, job_parameter: str, lease: Callable[[], float]) -> Shard:
    return Shard(
        item=item,
        total=4,
        parameter=parameter,
        job_name="effects",
        job_parameter=job_parameter,
        fire_time=None,
        token=1,
        attempt=1,
        source="trigger",
        checkpoint=None,
        _lease=lease,
    )


# What the tests see of it


class Observed:
    """A scheduler's process, its children, and what they have done."""

    def __init__(self, folder: Path, process: Child, unbound: int) -> None:
        self.process = process
        self.bound, self.unbound = Deaths(), Deaths()
        self._folder = folder
        self._pipe = os.fdopen(unbound, closefd=False)

    def lease_end(self) -> float:
        return float((self._folder / "leases").read_text().split()[-1])

    def effects(self) -> list[tuple[float, str]]:
        found = [line.split() for line in (self._folder / "effects").read_text().splitlines()]
        return [(float(stamp), name) for stamp, name in found]

    def late_effects(self) -> list[tuple[float, str]]:
        """What was done after the lease, and how much after it."""
        end = self.lease_end()
        return [(stamp - end, name) for stamp, name in self.effects() if stamp > end]

    def unbound_goes_on(self, until: float) -> None:
        """Wait for a note of the child that is not bound, of that moment or later."""
        for line in self._pipe:
            if float(line.split()[0]) >= until:
                return
        raise AssertionError("the child that is not bound to its lease has ended")

    def begun(self, name: str) -> int:
        """The number of the process that says it has begun."""
        return int(self.process.expect(f"begun {name} ", within=60).split()[-1])


@contextmanager
def a_scheduler(folder: Path, *, forks: bool = False) -> Iterator[Observed]:
    """A scheduler whose children are all at work."""
    os.mkfifo(folder / "unbound")
    with ExitStack() as stack:
        pipe = os.open(folder / "unbound", os.O_RDONLY | os.O_NONBLOCK)
        stack.callback(os.close, pipe)
        process = stack.enter_context(Child(scheduler, str(folder), forks, listens=forks))
        observed = Observed(folder, process, pipe)
        stack.enter_context(observed.bound)
        stack.enter_context(observed.unbound)
        for _ in range(len(BOUND) + 1):
            *_, name, pid = process.expect("begun ", within=60).split()
            (observed.unbound if name == "unbound" else observed.bound).add(int(pid))
        os.set_blocking(pipe, True)
        yield observed


def test_no_child_does_anything_after_its_lease_when_its_scheduler_is_killed(tmp_path: Path) -> None:
    with a_scheduler(tmp_path) as observed:
        observed.process.kill()
        observed.bound.expect()
        observed.unbound.expect()
        assert {name for _, name in observed.effects()} == BOUND
        assert observed.late_effects() == []


def test_no_child_does_anything_after_its_lease_when_its_scheduler_is_stopped_for_twice_as_long(
    tmp_path: Path,
) -> None:
    with a_scheduler(tmp_path) as observed:
        observed.process.stop()
        stopped = child.boot()
        observed.unbound_goes_on(stopped + 2 * LEASE)
        observed.bound.expect(within=0)
        assert {name for stamp, name in observed.effects() if stamp > stopped} == BOUND
        assert observed.late_effects() == []

        done = observed.effects()
        observed.process.cont()
        over = sorted(observed.process.expect("over: ") for _ in range(3))
        assert over == ["over: process: Cancelled", "over: script: Cancelled", "over: stubborn: Cancelled"]
        observed.unbound_goes_on(child.boot())
        assert observed.effects() == done


def test_children_die_with_their_scheduler_though_its_sockets_live_on_in_a_process_it_forked(
    tmp_path: Path,
) -> None:
    with a_scheduler(tmp_path, forks=True) as observed:
        observed.process.tell("now")
        with Deaths(observed.begun("fork")):
            observed.process.kill()
            observed.bound.expect()
            observed.unbound.expect()
        assert observed.late_effects() == []
