"""What the children of the tests of the history do. A module without pytest, so that they start at once."""

import random
import resource
import sys
from datetime import timedelta
from itertools import count
from pathlib import Path

from shardwright import Scheduler
from shardwright.errors import MissingExtra
from shardwright.history import ledger, open_store
from shardwright.history.keeping import Retention
from shardwright.history.ledger import Entry
from shardwright.history.recorder import Recorder
from shardwright.history.retention import tidy
from shardwright.history.store import Store
from shardwright.outcomes import OK
from tests.history.fires import OTHER, T, a_key, a_run, an_attempt, started

SHARDS = 300
RECORDED = 3000


def write_at_once(address: str, seed: int) -> None:
    """Tell of the same shards as all others do, in an order of one's own, and some of it twice."""
    told = [
        Entry(a_key(item), T, (attempt,))
        for item in range(SHARDS)
        for attempt in (
            an_attempt(f"lost-{item}", by=OTHER, ended=3, outcome=ledger.LOST_RUN),
            an_attempt(f"again-{item}", number=2, began=4),
            an_attempt(f"again-{item}", number=2, began=4, ended=5, outcome=OK),
        )
    ]
    random.Random(seed).shuffle(told)
    with Store(address, trace=True) as store:
        print("ready")
        input()
        for first in range(0, len(told), 100):
            store.write(told[first : first + 150])
        print("all is told")


def open_at_once(address: str) -> None:
    """Open a history that is not there yet, at the same moment as others."""
    print("ready")
    input()
    Store(address, trace=True).close()
    print("it stands open")


def open_without(module: str, address: str) -> None:
    """Open a history where a package is not installed."""
    do_without(module)
    try:
        open_store(address)
    except MissingExtra as error:
        print("MissingExtra:", error)


def start_without(module: str, registry: str, address: str) -> None:
    """Start a scheduler with a history where a package is not installed."""
    do_without(module)
    try:
        Scheduler(registry, history=address).start()
    except MissingExtra as error:
        print("MissingExtra:", error)


def do_without(module: str) -> None:
    """As if a package were not installed."""
    ours = [f"shardwright.history.{name}" for name in ("store", "engine", "recorder")]
    for known in [name for name in sys.modules if name.partition(".")[0] == module or name in ours]:
        del sys.modules[known]
    sys.modules[module] = None  # type: ignore[assignment]


def record_on_a_full_disk(file: str) -> None:
    """Record until files may not grow any more, and on when they may again."""
    with open_store(Path(file)) as store:
        recorder = Recorder(store, keep=Retention(age=timedelta(days=3650)))
        limit, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, hard))
        for item in range(RECORDED):
            recorder(started(item))
        assert not recorder.flush()
        assert recorder.down
        assert recorder.waiting
        print("down")
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        assert recorder.flush()
        assert not recorder.dropped
        print("up again")


def tidy_at_once(address: str) -> None:
    """Delete what is old, at the same moment as others."""
    with Store(address) as store:
        print("ready")
        input()
        gone = tidy(store, Retention(age=timedelta()), T + timedelta(days=1))
        print("tidied", gone)


def write_for_ever(address: str) -> None:
    """Tell of one fire after the other, until killed."""
    with Store(address, trace=True) as store:
        for n in count():
            at = T + timedelta(seconds=n)
            store.write([a_run(item, at=at) for item in range(20)])
            print("written", n)
