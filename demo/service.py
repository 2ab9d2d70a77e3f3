"""The service of the demonstration: a job in six shards that says what it does, in lines of JSON."""

import json
import os
import time

from shardwright import Scheduler, Shard

SHARDS = 6

#: Of how many steps a shard's work is, and how many seconds each takes.
STEPS, STEP = 12, 0.25

scheduler = Scheduler()


@scheduler.job(cron="0/10 * * * * ?", time_zone="UTC", shards=SHARDS, failover=True)
def index_photos(shard: Shard) -> None:
    for step in range(int(shard.checkpoint or 0), STEPS):
        say(shard, step)
        shard.raise_if_cancelled()
        time.sleep(STEP)
        shard.save(str(step + 1))
    shard.save("")
    say(shard, STEPS)


def say(shard: Shard, step: int) -> None:
    line = json.dumps(
        {"fire": str(shard.fire_time), "shard": shard.item, "tries": shard.attempt, "step": step}
    )
    os.write(1, f"{line}\n".encode())  # whole, also beside the lines of other threads


if __name__ == "__main__":
    scheduler.run()
