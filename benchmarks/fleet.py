"""A fleet in one process: schedulers of a job that fires again and again, as if each had its own machine."""

import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from benchmarks.wiretap import BEFORE, PERIOD, fire_at
from shardwright import Scheduler, Shard

PATIENCE = 60.0


@dataclass(frozen=True)
class Shape:
    """How many instances share how many shards, as many for each."""

    instances: int
    shards: int
    failover: bool = False

    @property
    def each(self) -> int:
        return self.shards // self.instances

    def __str__(self) -> str:
        return f"{self.instances} × {self.shards}{', failover' if self.failover else ''}"


class Fleet:
    """The schedulers; their shards do nothing, and end as they come or, if told to, in one turn."""

    def __init__(self, url: str, shape: Shape) -> None:
        self.in_one_turn = False
        self._shape = shape
        self._ran: dict[int, dict[int, str]] = {}
        self._open = ExitStack()
        self._schedulers = [self._scheduler(url, f"10.0.0.{number + 1}") for number in range(shape.instances)]

    def _scheduler(self, url: str, address: str) -> Scheduler:
        shape = self._shape
        scheduler = Scheduler(url, address=address)
        end = OneTurn(scheduler, shape.each)

        def nothing(shard: Shard) -> None:
            assert shard.fire_time is not None
            fire = fire_at(shard.fire_time.timestamp())
            self._ran.setdefault(fire, {})[shard.item] = address
            if self.in_one_turn:
                end.wait()

        scheduler.add(
            nothing, "fired", cron=f"*/{PERIOD:g} * * * * ?", shards=shape.shards, failover=shape.failover
        )
        return scheduler

    def settle(self) -> None:
        """Wait until everybody has run its fair share, the same shards, in several fires in a row."""
        deadline = time.monotonic() + PATIENCE
        row = 0
        while row < 3:
            fire = self.wait_for_the_end_of_a_fire()
            ran, before = self._ran.get(fire, {}), self._ran.get(fire - 1, {})
            loads = [list(ran.values()).count(who) for who in set(ran.values())]
            row = row + 1 if ran == before and loads == [self._shape.each] * self._shape.instances else 0
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self._shape} has not settled in {PATIENCE:g} s: {ran}")

    def wait_for_the_end_of_a_fire(self) -> int:
        """Wait until all that belongs to the present fire has passed; says which that was."""
        fire = fire_at(time.time())
        time.sleep((fire + 1) * PERIOD - BEFORE - time.time() + 0.01)
        return fire

    def __enter__(self) -> Self:
        with ExitStack() as opening:
            for scheduler in self._schedulers:
                opening.enter_context(scheduler)
            self._open = opening.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.in_one_turn:
            # Those that remain get the shards of those that leave, and would wait for more than there are.
            self.in_one_turn = False
            self.wait_for_the_end_of_a_fire()
        self._open.close()


class OneTurn:
    """Has the runs of one scheduler end in one turn: its reactor is kept until all have told their end."""

    def __init__(self, scheduler: Scheduler, runs: int) -> None:
        self._scheduler = scheduler
        self._runs = runs
        self._all = threading.Barrier(runs, action=self._keep, timeout=PATIENCE)

    def wait(self) -> None:
        self._all.wait()

    def _keep(self) -> None:
        process = self._scheduler._supervisor.inside
        assert process is not None
        reactor, deadline = process.reactor, time.monotonic() + PATIENCE
        kept = threading.Event()

        def until_all_have_ended() -> None:
            kept.set()
            while len(reactor._notes) < self._runs and time.monotonic() < deadline:
                time.sleep(0.001)

        reactor.post(until_all_have_ended)
        kept.wait(PATIENCE)
