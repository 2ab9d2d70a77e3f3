"""Of all the replicas one is the master, and only the master acts. No jobs, no schedule.

    python examples/07_master.py

Start it in a second terminal as well, in the same folder (the registry is shardwright.db there): only the
first settles accounts. Press Ctrl-C there, and the other does so at once; kill that one with `kill -9`, and
so does the next. The token grows each time.
"""

import os
import signal
import threading

from shardwright import ServiceMaster

master = ServiceMaster("AccountService", version="1.0.0")
told_to_end = threading.Event()


@master.on_change
def changed(leading: bool) -> None:
    print("now the master" if leading else "no longer the master", flush=True)


@master.only
def settle() -> None:
    print(f"process {os.getpid()} settles accounts, with token {master.token}", flush=True)


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: told_to_end.set())
    with master:
        while not told_to_end.wait(1.0):
            settle()
