"""A job that is cut into shards, which the replicas share.

    python examples/02_shards.py

One process runs all four parts. Start another in a second terminal: from the next fire on each has two.
Start a third, end one, kill one with `kill -9`: every part still runs once per fire.
"""

import os

from shardwright import Scheduler, Shard

scheduler = Scheduler()


@scheduler.job(
    cron="0/3 * * * * ?", shards=4, item_parameters={0: "Asia", 1: "Africa", 2: "Europe", 3: "Americas"}
)
def report(shard: Shard) -> None:
    print(f"part {shard.item} of {shard.total}, {shard.parameter}: process {os.getpid()}", flush=True)


if __name__ == "__main__":
    scheduler.run()
