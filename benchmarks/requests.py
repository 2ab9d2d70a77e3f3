"""What one fire costs a real ZooKeeper, counted on the wire: requests and notifications, by what they are.

A job fires every three seconds, its shards do nothing; what it takes to start up does not count. There must
be one transaction to start for each instance, and no more than one for each of its shards to end; one for all
of them where they end in one turn of their process. Nothing is read. Beside it stands what ElasticJob 3.0.5
asks, by the formulas that were found for it on the wire: 6M + 8T + 4·T·M requests where M instances share T
shards, (10 + T)·M + 11T + 4·T·M with failover, and 2·T·M notifications.
"""

import statistics
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.fleet import Fleet, Shape
from benchmarks.rows import Row
from benchmarks.wiretap import END, OTHER, START, Wiretap
from tests.faults.proxy import Proxy
from tests.zookeeper_server import Server

SHAPES = (Shape(1, 1), Shape(3, 6), Shape(3, 6, failover=True), Shape(10, 100))
FIRES = 10
PEER = "ElasticJob's formula"
TRANSACTIONS = (START, END, OTHER)


@dataclass(frozen=True)
class Counts:
    """What passed, fire by fire."""

    requests: list[list[Counter[str]]]
    """For each fire, what each instance asked."""
    notifications: list[int]

    def per_fire(self, *kinds: str) -> float:
        return sum(self.of_one(*kinds)) / len(self.requests)

    def all_per_fire(self) -> float:
        """Everything but pings, which come by the clock and not by the fire."""
        return sum(each.total() - each["ping"] for fire in self.requests for each in fire) / len(
            self.requests
        )

    def of_one(self, *kinds: str) -> list[int]:
        """For each instance in each fire, how many of these it asked."""
        return [sum(each[kind] for kind in kinds) for fire in self.requests for each in fire]


def run() -> Iterator[Row]:
    broken: list[str] = []
    with Server() as server:
        for number, shape in enumerate(SHAPES):
            tap = Wiretap()
            with Proxy(server.hosts, observer=tap) as proxy:
                url = f"zookeeper://{proxy.hosts}/bench{number}"  # each shape is a job of its own
                with Fleet(url, shape) as fleet:
                    fleet.settle()
                    counts = count(fleet, tap, FIRES)
                    yield from as_they_come(shape, counts)
                    broken += (f"{shape}: {fault}" for fault in faults(shape, counts, 1 + shape.each))
                    if shape.each > 1:
                        fleet.in_one_turn = True
                        counts = count(fleet, tap, FIRES)
                        yield in_one_turn(shape, counts)
                        broken += (f"{shape}: {fault}" for fault in faults(shape, counts, 2))
    if broken:
        raise AssertionError("; ".join(broken))


def count(fleet: Fleet, tap: Wiretap, fires: int) -> Counts:
    """What passes in so many fires from the next on."""
    first = fleet.wait_for_the_end_of_a_fire() + 1
    while (last := fleet.wait_for_the_end_of_a_fire()) < first + fires - 1:
        pass
    counted = range(first, last + 1)
    return Counts([tap.requests(fire) for fire in counted], [tap.notifications(fire) for fire in counted])


# -- the rows -----------------------------------------------------------------------------------------


def as_they_come(shape: Shape, counts: Counts) -> Iterator[Row]:
    """The shards end one soon after the other, each when it is through."""
    theirs, ours = formula(shape), counts.all_per_fire()
    made_of = (
        f"{counts.per_fire(START):.3g} to start, {counts.per_fire(END):.3g} to end, "
        f"{counts.per_fire(OTHER):.3g} other transactions; {counts.per_fire('ping'):.2g} pings apart"
    )
    yield Row(f"requests: {shape}, per fire", ours, theirs, PEER, theirs / ours, "requests", made_of)
    reads = ours - counts.per_fire(*TRANSACTIONS)
    note = said(reads == 0, "must be 0")
    yield Row(f"requests: {shape}, reads per fire", reads, None, "", None, "requests", note)
    transactions = counts.of_one(*TRANSACTIONS)
    most, bound = max(transactions), 1 + shape.each
    note = said(most <= bound, f"median {statistics.median(transactions):g}, must be <= {bound}")
    yield Row(f"requests: {shape}, one instance's, most", most, None, "", None, "transactions", note)
    told, theirs = statistics.mean(counts.notifications), 2.0 * shape.instances * shape.shards
    yield Row(f"requests: {shape}, told per fire", told, theirs, PEER, theirs / told, "notifications")


def in_one_turn(shape: Shape, counts: Counts) -> Row:
    """All shards of an instance have ended by the time its process looks."""
    transactions = counts.of_one(*TRANSACTIONS)
    mean = statistics.mean(transactions)
    note = f"{min(transactions)} to {max(transactions)} in a fire, must be 2: one to start, one to end"
    name = f"requests: {shape}, one instance's, one turn"
    return Row(name, mean, None, "", None, "transactions", said(set(transactions) == {2}, note))


def formula(shape: Shape) -> float:
    """What ElasticJob asks per fire, with the job's settings as they are here."""
    instances, shards = shape.instances, shape.shards
    if shape.failover:
        return (10 + shards) * instances + 11 * shards + 4 * shards * instances
    return 6 * instances + 8 * shards + 4 * shards * instances


def said(fine: bool, note: str) -> str:
    return note if fine else f"BROKEN: {note}"


def faults(shape: Shape, counts: Counts, most: int) -> Iterator[str]:
    """What is not as it is promised."""
    asked = Counter(kind for fire in counts.requests for each in fire for kind in each.elements())
    if other := {kind: number for kind, number in asked.items() if kind not in (*TRANSACTIONS, "ping")}:
        yield f"{other} in {len(counts.requests)} fires, where nothing is to be read"
    starts = counts.of_one(START)
    if starts != [1] * shape.instances * len(counts.requests):
        yield f"{sum(starts)} transactions to start, not one for each instance and fire"
    for each in (each for fire in counts.requests for each in fire):
        if sum(each[kind] for kind in TRANSACTIONS) > most:
            yield f"{dict(each)} of one instance in a fire, where {most} transactions are the most"
