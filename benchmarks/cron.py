"""The next fire of a cron schedule: ours beside croniter and APScheduler, as a careful user would call them.

Each expression is translated into the peer's own dialect. A peer counts only if its first fifty fires are
Quartz's; the cheapest of those is the one to beat. The ratio says how many times cheaper we are.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from statistics import median
from time import perf_counter
from zoneinfo import ZoneInfo

from apscheduler.triggers.cron import CronTrigger
from croniter import croniter

from shardwright.cron import Cron

FIRES, BATCH, BATCHES = 50, 20, 60
ZONES = ("UTC", "America/New_York")

Fires = Callable[[], Iterator[datetime]]


@dataclass(frozen=True)
class Case:
    """One schedule in three dialects."""

    quartz: str
    croniter: str
    apscheduler: Mapping[str, str]


CASES = (
    Case("0/5 * * * * ?", "*/5 * * * * *", {"second": "*/5"}),
    Case(
        "0 0/15 9-17 ? * MON-FRI",
        "0 */15 9-17 * * 1-5",
        {"second": "0", "minute": "*/15", "hour": "9-17", "day_of_week": "mon-fri"},
    ),
    Case("0 0 2 * * ?", "0 0 2 * * *", {"second": "0", "minute": "0", "hour": "2"}),
    Case("0 30 8 L * ?", "0 30 8 L * *", {"second": "0", "minute": "30", "hour": "8", "day": "last"}),
    Case("0 0 9 ? * 6#3", "0 0 9 * * 5#3", {"second": "0", "minute": "0", "hour": "9", "day": "3rd fri"}),
)


def run() -> list[dict[str, object]]:
    """A row for each schedule and zone, and the median of their ratios at the end."""
    rows = [measure(case, zone) for case in CASES for zone in ZONES]
    ratios = [row["ratio"] for row in rows if isinstance(row["ratio"], float)]
    together = {
        "name": "cron: next fire, median of all ratios",
        "ours": median(row["ours"] for row in rows if isinstance(row["ours"], float)),
        "peer": median(row["peer"] for row in rows if isinstance(row["peer"], float)),
        "peer_name": "cheapest correct",
        "ratio": median(ratios),
        "unit": "µs",
    }
    return [*rows, together]


def measure(case: Case, zone: str) -> dict[str, object]:
    start = datetime(2026, 1, 1, tzinfo=ZoneInfo(zone))
    ours, peers = our_fires(case, zone, start), peer_fires(case, start)
    answer = list(islice(ours(), FIRES))
    correct = {name: fires for name, fires in peers.items() if list(islice(fires(), FIRES)) == answer}
    prices = cost({"ours": ours, **correct})
    mine = prices.pop("ours")
    cheapest = min(prices, key=lambda name: prices[name], default="")
    return {
        "name": f"cron: next fire, {case.quartz} {zone}",
        "ours": mine,
        "peer": prices.get(cheapest),
        "peer_name": cheapest or "none is correct",
        "ratio": prices[cheapest] / mine if cheapest else None,
        "unit": "µs",
        "note": "".join(f" {name} is wrong" for name in peers if name not in correct).strip(),
    }


def cost(candidates: Mapping[str, Fires]) -> dict[str, float]:
    """Microseconds for each: the median of batches that take turns, so a busy machine is busy for all."""
    taken: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(BATCHES):
        for name, fires in candidates.items():
            batch = fires()
            next(batch)  # what is only done once is done
            begin = perf_counter()
            for _ in islice(batch, BATCH):
                pass
            taken[name].append((perf_counter() - begin) / BATCH * 1e6)
    return {name: median(times) for name, times in taken.items()}


# The three, in the same clothes


def our_fires(case: Case, zone: str, start: datetime) -> Fires:
    schedule = Cron(case.quartz, zone)

    def fires() -> Iterator[datetime]:
        fire = schedule.next(start)
        while fire:
            yield fire
            fire = schedule.next(fire)

    return fires


def peer_fires(case: Case, start: datetime) -> dict[str, Fires]:
    trigger = CronTrigger(**case.apscheduler, timezone=start.tzinfo)

    def from_apscheduler() -> Iterator[datetime]:
        fire = trigger.get_next_fire_time(start, start)
        while fire:
            yield fire
            fire = trigger.get_next_fire_time(fire, fire)

    def from_croniter() -> Iterator[datetime]:
        schedule = croniter(case.croniter, start, second_at_beginning=True)
        while True:
            yield schedule.get_next(datetime)

    return {"croniter": from_croniter, "apscheduler": from_apscheduler}


if __name__ == "__main__":
    for row in run():
        print(
            f"{row['name']:<60} {row['ours']:>8.2f} {row['peer'] or 0:>8.2f} {row['unit']} "
            f"x{row['ratio'] or 0:<6.1f} {row['peer_name']} {row.get('note', '')}"
        )
