"""A coroutine that is tried again, a function that crashes in a process of its own, and a listener.

python examples/09_ways_to_run.py
"""

import asyncio
import os

from shardwright import Fire, Listener, Scheduler, Shard

scheduler = Scheduler()


class Diary(Listener):
    def before(self, fire: Fire) -> None:
        print(f"{fire.job} begins", flush=True)

    def after(self, fire: Fire) -> None:
        print(f"{fire.job} has ended", flush=True)


@scheduler.job(cron="0/5 * * * * ?", timeout="3s", retries=2, retry_delay="100ms", listeners=[Diary()])
async def call_home(shard: Shard) -> None:
    await asyncio.sleep(0.1)
    if shard.attempt == 1:
        raise ConnectionError("nobody answers")
    print(f"call_home: answered at try {shard.attempt}", flush=True)


@scheduler.job(cron="2/5 * * * * ?", isolated=True)
def crash(shard: Shard) -> None:
    os.abort()  # only this run hears of it


if __name__ == "__main__":
    scheduler.run()
