"""Many seeds on all processors, and what they showed together."""

import contextlib
import gc
import logging
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

from . import chaos

#: What must have been seen in many seeds, or they have tried nothing: every kind of fault, and of recovery.
SOMETIMES = (
    *("crash", "crash_all", "pause", "cut", "lose_reply", "expire", "slow", "drain", "stop"),
    *("disable", "enable", "disable_shard", "delete", "configure", "nonsense for settings", "step_clock"),
    *("restart", "trigger", "double fault", "one-off"),
    *("java crash", "java join", "java blink", "java cut", "java pause", "java run"),
    *(
        "scheduled run",
        "misfire run",
        "failover run",
        "failover of a failover",
        "trigger run",
        "catch-up run",
    ),
    *("suspended", "lost", "connected", "same session again", "another session", "another leader"),
    *("refused", "claim found again", "cancelled", "put back", "stale effect refused", "left in order"),
    *("superseded", "run beside another", "all places taken", "rerun", "run once more", "summed up"),
    *("started hook", "completed hook", "hook called again", "vetoed"),
    *("failed", "timed out", "tried again"),
)


@dataclass
class Totals:
    """What many seeds showed."""

    seeds: int = 0
    looks: int = 0
    faults: int = 0
    hours: float = 0.0
    took: float = 0.0
    fewest_looks: int = 0
    fewest_faults: int = 0
    broken: list[tuple[int, str]] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)

    def add(self, report: chaos.Report) -> None:
        first = self.seeds == len(self.broken)
        self.seeds += 1
        self.looks += report.looks
        self.faults += report.faults
        self.hours += report.hours
        self.seen += report.seen
        self.fewest_looks = report.looks if first else min(self.fewest_looks, report.looks)
        self.fewest_faults = report.faults if first else min(self.fewest_faults, report.faults)

    def never(self) -> list[str]:
        """What should have been seen, and was not."""
        return [what for what in SOMETIMES if not self.seen[what]]

    def lines(self) -> Iterator[str]:
        yield f"{self.seeds:,} seeds, {len(self.broken)} broke a promise"
        yield (
            f"{self.hours:,.1f} virtual hours, "
            f"{self.faults:,} faults (at least {self.fewest_faults} a seed), "
            f"{self.looks:,} looks (at least {self.fewest_looks:,} a seed)"
        )
        yield (
            f"{self.looks / self.took:,.0f} looks a second, "
            f"{self.hours * 3600 / self.took:,.0f} times as fast as real time"
        )
        yield ", ".join(f"{what} {number:,}" for what, number in sorted(self.seen.items()))


@contextlib.contextmanager
def in_haste() -> Iterator[None]:
    """Say nothing, and seldom tidy up: a world is many small things that live long, and looking through them
    takes a third of the time."""
    before = gc.get_threshold()
    logging.disable(logging.CRITICAL)
    gc.set_threshold(50_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        logging.disable(logging.NOTSET)


def one(seed: int) -> chaos.Report | tuple[int, str]:
    with in_haste():
        try:
            return chaos.run(seed)
        except Exception as broken:
            return seed, f"{type(broken).__name__}: {broken}"


def run(
    seeds: Iterable[int], progress: Callable[[str], None] | None = None
) -> Iterator[tuple[int, str] | Totals]:
    """Try them: each promise that was broken, as it is found, and the totals in the end. `progress` is told
    now and then how far it has come."""
    totals = Totals()
    start = time.perf_counter()
    # Whoever runs beside them may have a clock to keep; these have not.
    with ProcessPoolExecutor(initializer=os.nice, initargs=(10,)) as pool:
        for report in pool.map(one, seeds, chunksize=4):
            if progress is not None and totals.seeds and not totals.seeds % 500:
                progress(f"{totals.seeds:,} seeds, {len(totals.broken)} broke a promise, so far")
            if isinstance(report, tuple):
                totals.seeds += 1
                totals.broken.append(report)
                yield report
            else:
                totals.add(report)
    totals.took = time.perf_counter() - start
    yield totals
