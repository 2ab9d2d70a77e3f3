"""A replica of a service that needs no job, only a master or slices, and writes a story of what it is.

    python -m benchmarks.replica <registry> <story> <root> master|slice

is one of them. The lines are those of a crew: `joined`, `entered` when it is master or has a slice (and then
of how many, in the place of the shard), `left` when it is or has not any more, `stopped`. SIGTERM ends it in
order.
"""

import contextlib
import os
import signal
import sys
import threading

from benchmarks.crew import Held
from shardwright import DynamicSharding, ServiceMaster, Slice


def main(url: str, story: str, root: str, what: str) -> None:
    teller, over = Held(story), threading.Event()
    signal.signal(signal.SIGTERM, lambda number, frame: over.set())
    with a_master(url, root, teller) if what == "master" else a_slice(url, root, teller):
        teller.tell("joined")
        over.wait()
    teller.tell("stopped")


def a_master(url: str, root: str, teller: Held) -> ServiceMaster:
    master = ServiceMaster("Bench", address=f"bench:{os.getpid()}", registry=url, root=root)
    master.on_change(lambda leading: teller.tell("entered" if leading else "left", 1))
    return master


def a_slice(url: str, root: str, teller: Held) -> DynamicSharding:
    def go_on(mine: Slice | None) -> None:
        if mine is not None:
            teller.tell("entered", mine.total)

    return DynamicSharding(
        root, exclusive=True, on_start=lambda: teller.tell("left"), on_completed=go_on, registry=url
    )


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main(*sys.argv[1:])
