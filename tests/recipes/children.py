"""What the children of test_faults do. A module without pytest, so that they start at once.

They print what they are told, for the test to wait for, and note what they do in one file that all share.
"""

import itertools
import logging
import os
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


def start_and_exit(url: str, root: str) -> None:
    """Be the master, and end without a word when a line comes in."""
    master = ServiceMaster("Account", address="a:1", registry=url, root=root)
    master.start()
    print(f"is master: {master.wait(20)}")
    sys.stdin.readline()


def stop_when_told_to_end(url: str, root: str) -> None:
    """Start under an address that somebody has; a signal's handler stops it meanwhile."""
    logging.basicConfig(stream=sys.stdout, level=logging.INFO)
    master = ServiceMaster("Account", address="a:1", registry=url, root=root)
    signal.signal(signal.SIGTERM, lambda *_: master.stop())
    master.start()
    print("has come to its end")


def stop_twice(url: str, name: str) -> None:
    """Stop, and do so again in a signal's handler while that waits for a pause that does not end."""
    may_go_on, pauses = threading.Event(), itertools.count()

    def pause() -> None:
        if next(pauses):
            print("pauses")
            may_go_on.wait(60)

    sharding = DynamicSharding(name, on_start=pause, on_completed=lambda mine: print("goes on"), registry=url)

    def stop(*_: object) -> None:
        sharding.stop(0.1)
        print("has come to its end")

    signal.signal(signal.SIGTERM, stop)
    sharding.start()
    sys.stdin.readline()
    sharding.stop(60)


def wait_for_a_line() -> None:
    """Read one line and not a byte more: others read from the same pipe."""
    while os.read(0, 1) not in (b"\n", b""):
        pass


def say(line: str) -> None:
    """Print a line in one piece: others print to the same pipe."""
    os.write(1, f"{line}\n".encode())


def fork(url: str, root: str, name: str) -> None:
    """Be master of all there is, and fork: two children say what they are, and stand for themselves."""
    master = ServiceMaster("Account", registry=url, root=root)
    sharding = DynamicSharding(name, exclusive=True, registry=url)
    with master, sharding:
        say(f"parent: {master.wait(20)} {sharding.wait(20) is not None}")
        for number in range(2):
            child = os.fork()
            if not child:
                say(f"child {number}: {master.is_master} {master.token} {sharding.slice}")
                master.start()
                sharding.start()
                say(f"child {number} is a candidate, with a slice: {sharding.wait(20) is not None}")
                wait_for_a_line()
                master.stop()
                sharding.stop()
                os._exit(0)
        wait_for_a_line()
        say(f"parent still: {master.is_master}")
