"""The service whose fleet the browser looks at: a process with jobs of every sort that a page must show.

A module without pytest, so that it starts at once. What a run is handed it says in its log, where the page
shows it.
"""

import json
import logging
import signal
import threading
from collections.abc import Callable
from typing import Any

from shardwright import Scheduler, Shard
from shardwright.recipes.dynamic_sharding import DynamicSharding
from shardwright.recipes.service_master import ServiceMaster

log = logging.getLogger("service")

#: How often a run looks whether it is to stop.
STEP = 0.02

#: What a page must show as text, and never run or be torn apart by.
XSS = (
    "<script>window.broken=1</script>",
    "<img src=x onerror=window.broken=1>",
    '"><svg onload=window.broken=1>',
    "javascript:window.broken=1",
    "'-window.broken=1-'",
    "{{constructor.constructor('window.broken=1')()}}",
    "</textarea></title><script>window.broken=1</script>",
    "<iframe srcdoc='<script>parent.broken=1</script>'>",
    "\u202egnp.exe",
    "W" * 300,
)


def run(url: str, address: str, told: str) -> None:
    """Have these jobs in this registry until SIGTERM. Each is what `Scheduler.add` is told, and besides how
    long a run takes (`length`) and which of its shards fail (`fails`)."""
    logging.basicConfig(level=logging.INFO)
    scheduler = Scheduler(url, address=address, grace=10.0)
    for each in json.loads(told):
        settings: dict[str, Any] = dict(each)
        length, fails = settings.pop("length", 0.0), settings.pop("fails", [])
        items = settings.pop("items", {})
        if items:
            settings["item_parameters"] = {int(item): text for item, text in items.items()}
        scheduler.add(_body(length, fails), settings.pop("name"), **settings)
    scheduler.run()


def _body(length: float, fails: list[int]) -> Callable[[Shard], None]:
    def body(shard: Shard) -> None:
        log.info("shard %s of %s, parameter %r", shard.item, shard.total, shard.parameter)
        log.info("the job's parameter is %s", shard.job_parameter)
        over = threading.Event()
        for _ in range(int(length / STEP)):
            shard.raise_if_cancelled()
            over.wait(STEP)
        if shard.item in fails:
            log.warning("no photograph in this batch")
            raise RuntimeError("the batch is empty")

    return body


def take_part(url: str, address: str, service: str, slices: str) -> None:
    """Would be the master of a service, and have a slice, until SIGTERM."""
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    master = ServiceMaster(service, address=f"{address}:9090", registry=url)
    with master, DynamicSharding(slices, registry=url, address=address):
        print("takes part")
        ended.wait()
