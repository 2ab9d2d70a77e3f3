"""A process that writes to a hundred nodes, so many times a second, until it is ended."""

import sys
import time

from kazoo.client import KazooClient


def main(hosts: str, per_second: int) -> None:
    client = KazooClient(hosts)
    client.start()
    for n in range(100):
        if not client.exists(f"/noise/{n}"):
            client.create(f"/noise/{n}", b"x", makepath=True)
    print("ready", flush=True)
    batch = 40
    due = time.monotonic()
    n = 0
    while True:
        transaction = client.transaction()
        for _ in range(batch):
            transaction.set_data(f"/noise/{n % 100}", b"y")
            n += 1
        transaction.commit_async().get(timeout=60)
        due += batch / per_second
        time.sleep(max(0.0, due - time.monotonic()))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
