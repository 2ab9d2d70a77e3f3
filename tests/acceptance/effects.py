"""A replica whose jobs are processes and scripts that have an effect every 10 ms and will not hear of the
order to stop. Each effect is noted with the token of its run. A module without pytest, so that it starts at
once.

A third job is a function in a thread, which has no effects: where it is run again is known at once, where a
process or a script takes its time to begin.
"""

import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from shardwright import Scheduler, Shard
from tests.acceptance.notes import Notes

THREAD, PROCESS, SCRIPT = "thread", "process", "script"

#: How often there is an effect.
EVERY = 0.01

PROGRAM = f"""#!{sys.executable} -IS
import json, os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
shard = json.load(sys.stdin)
notes = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)
who = {{"pid": os.getpid(), "job": shard["job_name"], "token": shard["token"]}}
def note(what, **more):
    told = {{"what": what, "boot": time.clock_gettime(time.CLOCK_BOOTTIME), "wall": time.time()}}
    os.write(notes, (json.dumps(told | who | more) + "\\n").encode())
note("begin", item=shard["item"], fire=None, attempt=shard["attempt"], source=shard["source"], threads=1,
     atexit=0)
while True:
    note("effect")
    time.sleep({EVERY})
"""


def run(url: str, address: str, history: str, folder: str) -> None:
    """Have these jobs in this registry, until SIGTERM."""
    program = Path(folder) / "effects"
    scheduler = Scheduler(url, address=address, grace=0.0, script_folders=[folder])
    scheduler.add(stay, THREAD, failover=True, parameter=history)
    scheduler.add(have_effects, PROCESS, isolated=True, failover=True, parameter=history)
    scheduler.script(SCRIPT, [str(program), history], failover=True)
    scheduler.run()


def make_program(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    (folder / "effects").write_text(PROGRAM)
    (folder / "effects").chmod(0o700)


def stay(shard: Shard) -> None:
    """Be there until told to stop."""
    notes, told = Notes(Path(shard.job_parameter)), threading.Event()
    notes.add("begin", **_who(shard))
    with shard.on_cancel(told.set):
        told.wait()
    notes.add("end", **_who(shard), outcome="cancelled")
    shard.raise_if_cancelled()


def have_effects(shard: Shard) -> None:
    """Do something every 10 ms, for ever."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    notes = Notes(Path(shard.job_parameter))
    notes.add("begin", **_who(shard))
    while True:
        notes.add("effect", **_who(shard))
        time.sleep(EVERY)


def _who(shard: Shard) -> dict[str, Any]:
    return {
        "pid": os.getpid(),
        "job": shard.job_name,
        "item": shard.item,
        "fire": None,
        "token": shard.token,
        "attempt": shard.attempt,
        "source": shard.source,
        "threads": 0,
        "atexit": 0,
    }
