"""A job that has no schedule and runs when it is asked to.

    python examples/05_one_off.py

Press Enter to have it run. Start it in a second terminal: now the two share each run, whichever is asked.
Ctrl-D ends it.
"""

import signal
import sys

from shardwright import Scheduler, Shard

scheduler = Scheduler()


@scheduler.job(shards=2)
def rebuild(shard: Shard) -> None:
    sys.stdout.write(f"part {shard.item} of {shard.total} is rebuilt\n")  # whole lines: both run at once
    sys.stdout.flush()


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit())
    with scheduler:
        print("press Enter to rebuild", flush=True)
        for _ in sys.stdin:
            scheduler.trigger("rebuild")
