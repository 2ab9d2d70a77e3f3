"""What the children of test_faults do. A module without pytest, so that they start at once.

They print what they are told, for the test to wait for, and note what they do in one file that all share.
"""

import itertools
import signal
import sys
import threading
from pathlib import Path

from shardwright.recipes.dynamic_sharding import DynamicSharding, Slice
from shardwright.recipes.service_master import ServiceMaster
from tests.acceptance.notes import Notes

#: How often a master does what only a master may.
STEP = 0.01


def told_to_end() -> threading.Event:
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    return ended


def stand(url: str, root: str, address: str, path: str) -> None:
    """Be a candidate, and as master write something again and again, each time with the token."""
    notes, ended = Notes(Path(path)), told_to_end()
    master = ServiceMaster("Account", address=address, registry=url, root=root)

    @master.on_change
    def told(leading: bool) -> None:
        notes.add("master" if leading else "down", who=address)
        print("is master" if leading else "stands down")

    with master:
        print("is a candidate")
        last = None
        while not ended.wait(STEP):
            token = master.token
            if token is not None:
                notes.add("effect", who=address, token=token)
            if token != last:
                print(f"acts with token {token}")
                last = token


def take_a_slice(url: str, name: str, address: str, path: str, exclusive: bool, holds: bool) -> None:
    """Have a slice, and give it up when told to: at once, except that one that `holds` gives the first one up
    only when a line comes in."""
    notes, ended, pauses = Notes(Path(path)), told_to_end(), itertools.count()

    def pause() -> None:
        print("pauses")
        if holds and next(pauses) == 1:
            sys.stdin.readline()
        notes.add("release", who=address)

    def go_on(mine: Slice | None) -> None:
        if mine is None:
            return
        notes.add("hold", who=address, index=mine.index, total=mine.total, epoch=mine.epoch)
        print(f"has {mine.index} of {mine.total}")

    sharding = DynamicSharding(
        name, on_start=pause, on_completed=go_on, exclusive=exclusive, registry=url, address=address
    )
    with sharding:
        ended.wait()
