"""Whether what concurrent clients saw could have happened one after the other.

history     what clients did: an `Op` for each thing asked, when it was asked and answered, how it ended
checkers    `stuck`: the search of Wing and Gong, with a memory, for one key at a time;
            `untimely` and `misnumbered`: the numbers of commits against time and against what was read
clients     `race`: threads, each with a session of its own, on a few keys, on a road that may break
"""

import math
import random
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from shardwright.errors import RegistryError
from shardwright.registry import (
    Create,
    Delete,
    Landed,
    Outcome,
    Put,
    Refused,
    Registry,
    Require,
    Unknown,
    Write,
)
from shardwright.registry.tree import Node

from .contract import Cluster, NetworkCluster
from .state_machine import after

# -- the history --------------------------------------------------------------------------------------

NEVER = math.inf


@dataclass(frozen=True)
class Op:
    """One thing a client did to one key: writes in one commit, or a read where there are none."""

    client: int
    key: str
    writes: tuple[Write, ...]
    outcome: Outcome | Node | None
    """How the commit ended, or what the read found."""
    asked: float
    answered: float = NEVER

    @property
    def is_open(self) -> bool:
        """It may take effect at any time after it was asked for, or never."""
        return isinstance(self.outcome, Unknown)


# -- the checkers -------------------------------------------------------------------------------------

#: What a key holds, as far as a reader can tell: data and version, or nothing.
Held = tuple[str, int] | None


def stuck(ops: Sequence[Op]) -> list[Op]:
    """Empty if the history of one key can be put in an order in which each answer is right and nothing
    comes before what was over when it began; else those of which none could come next, at the furthest."""
    ops = sorted(ops, key=lambda op: op.asked)
    must = sum(1 << n for n, op in enumerate(ops) if not op.is_open)
    start: tuple[int, Held] = (0, None)
    seen = {start}
    todo = [start]
    furthest = 0
    while todo:
        done, held = todo.pop()
        if done & must == must:
            return []
        furthest = max(furthest, done, key=int.bit_count)
        for n in _next(ops, done):
            possible, then = _effect(ops[n], held)
            reached = (done | 1 << n, then)
            if possible and reached not in seen:
                seen.add(reached)
                todo.append(reached)
    return [ops[n] for n in _next(ops, furthest)]


def _next(ops: Sequence[Op], done: int) -> Iterator[int]:
    """Those that may come next: begun before any other of the rest was over."""
    over = NEVER
    for n in range((~done & (done + 1)).bit_length() - 1, len(ops)):
        if done >> n & 1:
            continue
        if ops[n].asked > over:
            return
        over = min(over, ops[n].answered)
        yield n


def _effect(op: Op, held: Held) -> tuple[bool, Held]:
    """Whether the operation can have ended as it did on what the key held, and what the key holds then."""
    if not op.writes:
        found = (op.outcome.data, op.outcome.version) if isinstance(op.outcome, Node) else None
        return found == held, held
    nodes = {op.key: Node(*held, "", 0, 0)} if held is not None else {}
    tree = after(nodes, op.writes, session="", number=0, names=())
    if tree is None:
        return isinstance(op.outcome, Refused | Unknown), held
    node = tree.get(op.key)
    return isinstance(op.outcome, Landed | Unknown), (node.data, node.version) if node is not None else None


def untimely(ops: Sequence[Op]) -> list[tuple[Op, Op]]:
    """The commits that landed one after the other and whose numbers say otherwise."""
    landed = [(op, op.outcome.number) for op in ops if isinstance(op.outcome, Landed)]
    return [
        (one, other)
        for one, number in landed
        for other, later in landed
        if one is not other and ((one.answered < other.asked and number >= later) or number == later)
    ]


def misnumbered(ops: Sequence[Op]) -> list[Op]:
    """The reads that found a node written by a commit of another number than its writer was told."""
    numbers = {
        (op.key, write.data): op.outcome.number
        for op in ops
        if isinstance(op.outcome, Landed)
        for write in op.writes
        if isinstance(write, Create | Put)
    }
    return [
        op
        for op in ops
        if isinstance(op.outcome, Node)
        and op.outcome.written != numbers.get((op.key, op.outcome.data), op.outcome.written)
    ]


def beside_others(ops: Sequence[Op]) -> int:
    """How many were under way while another client's on the same key was."""

    def overlap(one: Op, other: Op) -> bool:
        return one.asked < other.answered and other.asked < one.answered

    ended = [op for op in ops if not op.is_open]
    return sum(
        any(one.key == other.key and one.client != other.client and overlap(one, other) for other in ended)
        for one in ended
    )


# -- the clients --------------------------------------------------------------------------------------

KEYS = ("/contract/keys/a", "/contract/keys/b", "/contract/keys/c")


def race(
    cluster: Cluster, seed: int, *, clients: int = 4, turns: int = 75, breaking: float = 0.0
) -> list[Op]:
    """Have the clients do their turns all at once. On a network the road breaks in some of the turns."""
    start = threading.Barrier(clients)
    with ThreadPoolExecutor(clients) as threads:
        running = [
            threads.submit(Client(cluster, number, seed, breaking).run, start, turns)
            for number in range(clients)
        ]
        return [op for each in running for op in each.result()]


class Client:
    """One thread's work: it opens its own registry, and is the only one to touch it."""

    def __init__(self, cluster: Cluster, number: int, seed: int, breaking: float) -> None:
        self.cluster = cluster
        self.number = number
        self.random = random.Random(f"{seed}, {number}")
        self.breaking = breaking
        self.versions = dict.fromkeys(KEYS, 0)
        self.moves = 0

    def run(self, start: threading.Barrier, turns: int) -> list[Op]:
        registry = self.cluster.open()

        def moved(*_: object) -> None:
            self.moves += 1

        registry.listener = moved
        start.wait(60)
        done = [self.turn(registry, turn) for turn in range(turns)]
        wait_for_session(registry)
        done += [self.read(registry, key) for key in KEYS]
        return [op for op in done if op is not None]

    def turn(self, registry: Registry, turn: int) -> Op | None:
        wait_for_session(registry)
        key = self.random.choice(KEYS)
        if self.random.random() < 0.3:
            return self.read(registry, key)
        return self.commit(registry, key, self.writes(key, f"{self.number}-{turn}"))

    def writes(self, key: str, data: str) -> tuple[Write, ...]:
        version = self.versions[key]
        return self.random.choice(
            (
                (Create(key, data),),
                (Create(key, data),),
                (Put(key, data),),
                (Put(key, data, version),),
                (Put(key, data, version),),
                (Require(key, version), Put(key, data)),
                (Delete(key, version),),
                (Delete(key),),
            )
        )

    def read(self, registry: Registry, key: str) -> Op | None:
        asked = time.monotonic_ns()
        try:
            found = registry.wait(registry.read([key], fresh=True))[key]
        except RegistryError:
            return None
        self.versions[key] = found.version if found is not None else 0
        return Op(self.number, key, (), found, asked, time.monotonic_ns())

    def commit(self, registry: Registry, key: str, writes: tuple[Write, ...]) -> Op | None:
        moves = self.moves
        chance = self.random.random()
        if chance < self.breaking / 2:
            self.network().lose_reply(registry)
        asked = time.monotonic_ns()
        future = registry.commit(*writes)
        if self.breaking / 2 <= chance < self.breaking:
            self.network().cut(registry)
            self.network().heal(registry)
        outcome = registry.wait(future)
        answered = time.monotonic_ns()
        if isinstance(outcome, Unknown):
            return Op(self.number, key, writes, outcome, asked)
        if isinstance(outcome, Refused) and moves != self.moves:
            return None  # it may never have been sent, so this says nothing about the key
        return Op(self.number, key, writes, outcome, asked, answered)

    def network(self) -> NetworkCluster:
        assert isinstance(self.cluster, NetworkCluster)
        return self.cluster


def wait_for_session(registry: Registry) -> None:
    registry.wait_for(lambda: registry.session() is not None, 30, what="a session")
