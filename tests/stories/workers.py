"""What other processes do in the stories of work: isolated functions, scripts, and members that die. A module
without pytest, so that they start at once."""

import logging
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from shardwright import Scheduler, Shard
from tests.acceptance.notes import Notes

log = logging.getLogger(__name__)

#: Notes what it was handed: its arguments, its standard input, its environment.
RECORD = f"""#!{sys.executable} -IS
import json, os, sys
told = {{"argv": sys.argv[2:], "stdin": sys.stdin.read(), "env": dict(os.environ)}}
notes = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
os.write(notes, json.dumps(told).encode() + b"\\n")
"""

#: Says what is wrong, and ends with the code it is handed.
FAIL = """#!/bin/sh
echo "nothing to report" >&2
exit "${1#code-}"
"""

#: Notes its number, and will not hear of the order to stop.
STUBBORN = """#!/bin/sh
trap '' TERM INT HUP
echo "{\\"pid\\": $$}" >> "$1"
while :; do sleep 0.1; done
"""

#: Prints a secret of its environment wherever it can.
TELL = """#!/bin/sh
echo "the password is $DB_PASSWORD"
echo "could not log in as app:$DB_PASSWORD" >&2
exit 1
"""


def script(folder: Path, name: str, text: str) -> str:
    """A program in a folder."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


# -- functions that run in processes of their own ------------------------------------------------------


def note(shard: Shard) -> None:
    """Note who runs a shard."""
    print(f"here is shard {shard.item} of {shard.total}")
    log.warning("about to note shard %d", shard.item)
    Notes(Path(shard.job_parameter)).add("ran", pid=os.getpid(), item=shard.item, token=shard.token)


def crash(shard: Shard) -> None:
    """Die in the middle of the first shard."""
    if shard.item == 0:
        os.kill(os.getpid(), signal.SIGKILL)


def never_end(shard: Shard) -> None:
    """Not hear of the order to stop, nor of the signal."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Notes(Path(shard.job_parameter)).add("ran", pid=os.getpid())
    while True:
        time.sleep(0.1)


def leak(shard: Shard) -> None:
    """Say a secret wherever one can."""
    secret = os.environ["X_CANARY"]
    print(f"password={secret}")
    raise PermissionError(f"https://app:{secret}@db.example refused token={secret}") from KeyError(
        f"api_key={secret}"
    )


# -- members -------------------------------------------------------------------------------------------


def alerting(hook: str, *, failover: bool = True) -> dict[str, Any]:
    """A job's settings: its shard goes on elsewhere if it is to, and somebody hears of it."""
    return {"failover": failover, "error_handler": "WEBHOOK", "props": {"webhook.url": hook}}


def hold(url: str, address: str, hook: str, failover: bool = True) -> None:
    """Be a member of the job, and be in the midst of a run until told to stop."""

    def body(shard: Shard) -> None:
        told = threading.Event()
        print("runs")
        with shard.on_cancel(told.set):
            told.wait()
        shard.raise_if_cancelled()

    scheduler = Scheduler(url, address=address)
    scheduler.add(body, "job", **alerting(hook, failover=failover))
    with scheduler:
        scheduler.trigger("job")
        threading.Event().wait()
