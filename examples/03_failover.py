"""Work that a killed process leaves unfinished is finished by another, from where it was left.

    python examples/03_failover.py

Start it in two terminals. One of them prints pages: kill that one with `kill -9` and the number it says. The
other goes on with the page that was next, at once and in the same fire.
"""

import os
import time

from shardwright import Scheduler, Shard

scheduler = Scheduler()


@scheduler.job(cron="0/15 * * * * ?", failover=True)
def send_pages(shard: Shard) -> None:
    first = int(shard.checkpoint or 1)
    print(f"process {os.getpid()} begins with page {first}, try {shard.attempt}", flush=True)
    for page in range(first, 11):
        shard.raise_if_cancelled()
        print(f"page {page}", flush=True)
        time.sleep(1.0)
        shard.save(str(page + 1))
    shard.save("")  # all is sent: the next fire begins with page 1


if __name__ == "__main__":
    scheduler.run()
