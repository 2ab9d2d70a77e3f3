"""One job, run once per fire however many replicas there are.

    python examples/01_hello.py

Start it in a second terminal as well: of the two only one says hello. Press Ctrl-C there, and the other goes
on. The two find each other by a file in the working folder, shardwright.db.
"""

import os

from shardwright import Scheduler

scheduler = Scheduler()


@scheduler.job(cron="0/2 * * * * ?")
def hello() -> None:
    print(f"hello from process {os.getpid()}", flush=True)


if __name__ == "__main__":
    scheduler.run()
