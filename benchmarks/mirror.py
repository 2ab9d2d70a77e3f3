"""What a question to a mirror costs, and what a change to it costs: ten times the nodes must not cost more.

The tree is a job's: `sharding/<i>/{instance,running}` for every shard, and `instances/<id>`. Ours is the
cost on the large tree, the peer is the small one.
"""

from collections.abc import Callable, Iterator
from itertools import count
from statistics import median
from time import perf_counter_ns

from benchmarks.rows import Row
from shardwright.registry import Create, Delete, Put, Tree, Write
from shardwright.registry.memory import MemoryRegistry, Store
from shardwright.registry.tree import Mirror, Node

SMALL, LARGE = 1_000, 10_000
LOOPS, REPEATS, SAMPLES = 2_000, 7, 400
ROOT = "/bench/job"

#: A ratio beyond this is not flat.
FLAT = 2.0

Question = Callable[[Tree], object]

QUESTIONS: dict[str, Question] = {
    "children, few": lambda tree: tree.children("sharding/7"),
    "children, many": lambda tree: tree.children("sharding"),
    "get": lambda tree: tree.get("sharding/7/instance"),
    "in, there": lambda tree: "sharding/7/running" in tree,
    "in, absent": lambda tree: "sharding/7/failover" in tree,
    "since, there": lambda tree: tree.since("sharding/7"),
    "since, absent": lambda tree: tree.since("sharding/7/failover"),
}

#: Changes in the middle of the large parent; each undoes what the one before it did.
CHANGES: dict[str, Write] = {
    "create": Create(f"{ROOT}/sharding/50x", "new"),
    "put": Put(f"{ROOT}/sharding/50x", "newer"),
    "delete": Delete(f"{ROOT}/sharding/50x"),
}


def run() -> list[Row]:
    small, large = mirrored(SMALL), mirrored(LARGE)
    rows: list[Row] = []
    for name, question in QUESTIONS.items():
        rows.append(row(f"mirror: {name}", *(unchanged(tree, question) for _, tree in (large, small))))
    for name, question in QUESTIONS.items():
        costs = (right_after_a_change(*each, question) for each in (large, small))
        rows.append(row(f"mirror: {name}, after a change", *costs))
    for name in CHANGES:
        rows.append(row(f"mirror: one {name} taken in", *(taken_in(*each, name) for each in (large, small))))
    rows.append(row("mirror: child added and dropped", added_and_dropped(LARGE), added_and_dropped(SMALL)))
    return rows


def row(name: str, large: float, small: float) -> Row:
    ratio = large / small
    note = f"must stay below {FLAT:g}" if ratio < FLAT else f"NOT FLAT: must stay below {FLAT:g}"
    return Row(name, large, small, f"{SMALL:,} nodes", ratio, "µs", note)


# -- the tree -----------------------------------------------------------------------------------------


def mirrored(nodes: int) -> tuple[MemoryRegistry, Tree]:
    """A registry and its mirror of about so many nodes."""
    registry = Store().connect()
    tree = registry.mirror(ROOT)
    writes = [Create(f"{ROOT}/{path}", "x") for path in paths(nodes)]
    for start in range(0, len(writes), 1_000):
        registry.wait(registry.commit(*writes[start : start + 1_000]))
    return registry, tree


def paths(nodes: int) -> Iterator[str]:
    for shard in range(nodes * 3 // 10):
        yield f"sharding/{shard}"
        yield f"sharding/{shard}/instance"
        yield f"sharding/{shard}/running"
    for instance in range(nodes // 10):
        yield f"instances/10.0.0.1@-@{instance}"


# -- the clock, all in microseconds -------------------------------------------------------------------


def unchanged(tree: Tree, question: Question) -> float:
    """The best of several loops: what the machine does besides only ever adds."""

    def loop() -> float:
        start = perf_counter_ns()
        for _ in range(LOOPS):
            question(tree)
        return (perf_counter_ns() - start) / LOOPS / 1_000

    return min(loop() for _ in range(REPEATS))


def right_after_a_change(registry: MemoryRegistry, tree: Tree, question: Question) -> float:
    """The middle of many: each time the first question after a change, whichever kind is the worst."""
    costs: dict[str, list[int]] = {name: [] for name in CHANGES}
    for _ in range(SAMPLES):
        for name, write in CHANGES.items():
            registry.wait(registry.commit(write))
            start = perf_counter_ns()
            question(tree)
            costs[name].append(perf_counter_ns() - start)
    return max(median(each) for each in costs.values()) / 1_000


def taken_in(registry: MemoryRegistry, tree: Tree, change: str) -> float:
    """The middle of many: from the note in the inbox to the mirror."""
    costs = []
    for _ in range(SAMPLES):
        for name, write in CHANGES.items():
            registry.commit(write)
            start = perf_counter_ns()
            registry.pump()
            if name == change:
                costs.append(perf_counter_ns() - start)
    return median(costs) / 1_000


def added_and_dropped(nodes: int) -> float:
    """Without the driver: a child comes and goes, all over the large parent."""
    mirror = Mirror(ROOT)
    node = Node("x", 0, "", 1, 1)
    for path in paths(nodes):
        mirror.put(path, node, 0.0)
    shards = nodes * 3 // 10
    places = [f"sharding/{place * shards // LOOPS}x" for place in range(LOOPS)]
    now = count()

    def loop() -> float:
        start = perf_counter_ns()
        for path in places:
            mirror.put(path, node, next(now))
            mirror.drop(path, next(now))
        return (perf_counter_ns() - start) / LOOPS / 1_000

    return min(loop() for _ in range(REPEATS))
