"""A Python member of a job, as `interop/java-peer` is a Java one: told the same settings, steered by the same
lines on its standard input, writing down the same events. SIGTERM has it leave, too.
"""

import json
import os
import sys
import threading
import time
from typing import Any

from shardwright import Fire, Listener, Scheduler, Shard

#: How often a run looks whether it is to stop, in seconds.
STEP = 0.01


class Events:
    """What has happened here, a line of JSON each, in a file that all members of the job add to. Each line is
    one write at the file's end: their order is that of the events, and none is lost to `kill -9`."""

    def __init__(self, path: str, who: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._who = who

    def add(self, event: str, /, **more: object) -> None:
        told = {"event": event, "who": self._who, "at": time.time() * 1000, **more}
        os.write(self._file, (json.dumps(told) + "\n").encode())


class Recording(Listener):
    """Tells when all shards of a fire have begun, and when all have ended."""

    timeout = 20.0

    def __init__(self, events: Events) -> None:
        self._events = events

    def started(self, fire: Fire) -> None:
        self._events.add("all started")

    def completed(self, fire: Fire) -> None:
        self._events.add("all completed")


def main(settings: dict[str, Any]) -> None:
    events = Events(settings["events"], settings["who"])
    who = f"{settings['digest']}@" if settings["digest"] else ""
    place = f"{settings['hosts']}/{settings['namespace']}"
    scheduler = Scheduler(
        f"zookeeper://{who}{place}?session_timeout={settings['session']}ms", address=settings["address"]
    )

    def run(shard: Shard) -> None:
        told = {"item": shard.item, "total": shard.total, "parameter": shard.parameter}
        fire = shard.fire_time.timestamp() * 1000 if shard.fire_time is not None else None
        events.add("start", **told, token=shard.token, fire=fire, source=shard.source)
        end = time.monotonic() + settings["length"] / 1000
        while time.monotonic() < end and not shard.cancelled:
            time.sleep(STEP)
        events.add("end", **told, token=shard.token, cancelled=shard.cancelled)

    scheduler.add(
        run,
        settings["job"],
        class_name=settings["className"],
        cron=settings["cron"],
        shards=settings["shards"],
        failover=settings["failover"],
        monitor_execution=settings["monitor"],
        misfire=settings["misfire"],
        overwrite=settings["overwrite"],
        strategy=settings["strategy"] or "AVG_ALLOCATION",
        item_parameters=settings["parameters"] or {},
        static_sharding=settings["staticSharding"],
        listeners=[Recording(events)] if settings["once"] else [],
    )
    threading.Thread(target=obey, args=(scheduler, settings["job"]), daemon=True).start()
    scheduler.run()
    events.add("left")


def obey(scheduler: Scheduler, job: str) -> None:
    for line in sys.stdin:
        match line.strip():
            case "trigger":
                scheduler.trigger(job)
            case "stop":
                break
            case other:
                raise ValueError(f"a peer knows trigger and stop, not {other!r}")
    scheduler.stop()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
