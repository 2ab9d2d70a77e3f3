"""As many slices as replicas: each works on its own, and they are cut anew when one comes or goes.

    python examples/08_slices.py

One process has all twelve customers. Start it in a second terminal, and in a third, in the same folder (the
registry is shardwright.db there); end one with Ctrl-C, kill one with `kill -9`. Every customer is somebody's,
and with exclusive=True never two processes' at once.
"""

import signal
import threading

from shardwright import DynamicSharding

told_to_end = threading.Event()
at_work = threading.Lock()


def pause() -> None:
    with at_work:  # comes back when nothing uses the old slice any more
        print("pausing", flush=True)


sharding = DynamicSharding("customers", on_start=pause, exclusive=True)


def work() -> None:
    with at_work:
        mine = sharding.slice
        if mine is not None:
            customers = [number for number in range(12) if number % mine.total == mine.index]
            print(f"slice {mine.index} of {mine.total}: customers {customers}", flush=True)


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: told_to_end.set())
    with sharding:
        while not told_to_end.wait(1.0):
            work()
