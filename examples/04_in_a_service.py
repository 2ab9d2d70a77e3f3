"""Jobs inside a service that has a main loop of its own: start() and stop() instead of run().

    python examples/04_in_a_service.py

The service serves, and the job runs beside it. Press Ctrl-C, or send it SIGTERM: the service closes, and the
scheduler leaves in order, which lets what runs come to its end.
"""

import signal
import threading

from shardwright import Scheduler

scheduler = Scheduler()
told_to_end = threading.Event()


@scheduler.job(cron="0/2 * * * * ?")
def tidy_up() -> None:
    print("the job tidies up", flush=True)


def serve() -> None:
    while not told_to_end.wait(1.0):
        print("the service serves", flush=True)


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: told_to_end.set())
    scheduler.start()
    try:
        serve()
    finally:
        scheduler.stop()
    print("closed", flush=True)
