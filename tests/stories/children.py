"""What the children of the stories do. A module without pytest, so that they start at once."""

import sys
import threading

from shardwright import Scheduler


def lead(url: str, address: str, shards: int) -> None:
    """Be a member of the job, and lead it."""
    scheduler = Scheduler(url, address=address)
    scheduler.add(lambda: None, "job", cron="0 0 0 1 1 ?", shards=shards)
    with scheduler:
        assert scheduler.is_leader("job")
        print("leads")
        threading.Event().wait()


def lead_and_end(url: str, address: str, shards: int, how: str) -> None:
    """Be a member of the job, lead it, and end in some way as soon as something is said."""
    scheduler = Scheduler(url, address=address)
    scheduler.add(lambda: None, "job", cron="0 0 0 1 1 ?", shards=shards)
    scheduler.start()
    assert scheduler.is_leader("job")
    print("leads")
    input()
    if how == "by sys.exit":
        sys.exit(3)
    if how == "by an error":
        raise RuntimeError("it ends")
