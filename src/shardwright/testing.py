"""A cluster in one process, for tests of your jobs: replicas share a registry in memory, and time is
moved by hand.

    cluster = Cluster()
    first, second = cluster.start(build()), cluster.start(build())
    cluster.advance(minutes=5)
    cluster.kill(first)
    cluster.advance(seconds=30)
    assert [run.item for run in second.runs] == …

`build()` makes a `Scheduler` with your jobs and does not start it. Jobs run at once when their time
comes, in the caller's thread; `lasting` lets them take time, so that a replica can die over them. Nothing
here sleeps, and the same calls give the same result every time.
"""

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from .clock import HandClock
from .jobs import JobConfig
from .outcomes import CUT_SHORT
from .registry.memory import MemoryRegistry, Store
from .runtime.bodies import Body
from .runtime.process import Process
from .runtime.scheduler import Scheduler
from .runtime.tries import End, Ended, do_it, try_it
from .shard import Shard

__all__ = ["Cluster", "Replica"]


class Replica:
    """One process of the cluster."""

    def __init__(self, cluster: "Cluster", scheduler: Scheduler, address: str, lasting: float) -> None:
        self.runs: list[Shard] = []
        """What was run here, in order."""
        self.alive = True
        self.paused = False
        self._cluster = cluster
        self._lasting = lasting
        self.registry: MemoryRegistry = cluster.store.connect(timeout=cluster.session_timeout)
        self.process = Process(
            self.registry, address=address, workers=self, desk=scheduler._desk, failed=self._failed
        )
        for job in scheduler.jobs:
            self.process.be_in(job)
        self.process.stand_sentry()

    def __repr__(self) -> str:
        return f"<Replica {self.process.address}{'' if self.alive else ', dead'}>"

    # What a process asks of whoever runs its shards

    def free(self, config: JobConfig) -> int:
        return 1000

    def run(self, config: JobConfig, shard: Shard, body: Body, ended: Ended) -> None:
        self.runs.append(shard)
        end = try_it(shard, body)
        if not self._lasting:
            ended(end)
            return
        clock = self._cluster.clock
        clock.at(clock.boot() + self._lasting, lambda: self._end(shard, end, ended))

    def call(self, config: JobConfig, act: Callable[[], object], ended: Ended) -> Callable[[], bool]:
        ended(do_it(act))
        return lambda: False

    def forget(self, job: str) -> None:
        """Nothing is kept."""

    def close(self) -> None:
        """Nothing is kept."""

    def _end(self, shard: Shard, end: End, ended: Ended) -> None:
        if not self.alive:
            return
        if self.paused:
            clock = self._cluster.clock
            clock.at(clock.boot() + 1.0, lambda: self._end(shard, end, ended))
            return
        ended(End(CUT_SHORT) if shard.cancelled else end)

    def _failed(self, error: Exception) -> None:
        raise error


class Cluster:
    """Replicas, a registry and a clock."""

    def __init__(
        self,
        *,
        now: datetime = datetime(2030, 1, 1, tzinfo=UTC),
        session_timeout: float = 10.0,
        seed: int = 0,
    ) -> None:
        self.clock = HandClock(now)
        self.store = Store(self.clock)
        self.session_timeout = session_timeout
        self.replicas: list[Replica] = []
        self._chance = random.Random(seed)  # noqa: S311 - in which order replicas take turns

    @property
    def now(self) -> datetime:
        return self.clock.wall()

    def start(self, scheduler: Scheduler, *, lasting: float = 0.0, address: str | None = None) -> Replica:
        """Start a replica with the jobs a scheduler has; each run of it takes `lasting` seconds."""
        number = len(self.replicas) + 1
        replica = Replica(self, scheduler, address or f"10.0.{number // 250}.{number % 250}", lasting)
        self.replicas.append(replica)
        self.settle()
        return replica

    def stop(self, replica: Replica, *, within: float = 60.0) -> None:
        """Have a replica leave in order, and let time pass until it has."""
        leaving = replica.process.leave_all()
        end = self.clock.boot() + within
        while not all(each.done() for each in leaving):
            if self.clock.boot() >= end:
                raise TimeoutError(f"{replica} has not left within {within:g} s")
            self.advance(seconds=0.1)
        replica.alive = False
        replica.process.close()
        self.settle()

    def kill(self, replica: Replica) -> None:
        """End a replica at once, as kill -9 does: the others notice when its session has run out."""
        replica.alive = False
        replica.registry.disconnect(lose_requests=True)

    def pause(self, replica: Replica, seconds: float) -> None:
        """Stop a replica for a while, as SIGSTOP does; it goes on without knowing."""
        replica.paused = True
        replica.registry.pause()

        def go_on() -> None:
            replica.paused = False
            replica.registry.resume()

        self.clock.at(self.clock.boot() + seconds, go_on)

    def partition(self, replica: Replica, seconds: float) -> None:
        """Cut a replica off from the registry for a while."""
        replica.registry.disconnect()
        self.clock.at(self.clock.boot() + seconds, replica.registry.reconnect)

    def advance(self, *, seconds: float = 0.0, minutes: float = 0.0, hours: float = 0.0) -> None:
        """Let time pass; what falls due on the way happens at its moment."""
        length = timedelta(seconds=seconds, minutes=minutes, hours=hours).total_seconds()
        self.clock.pass_time(
            length, self.settle, lambda: [replica.process.reactor.next_due() for replica in self._awake()]
        )

    def settle(self) -> None:
        """Let everybody look until nothing moves at this moment."""
        for _ in range(1000):
            everybody = self._awake()
            self._chance.shuffle(everybody)
            if not sum(replica.process.reactor.round() for replica in everybody):
                return
        raise AssertionError("the cluster does not come to rest")

    def _awake(self) -> list[Replica]:
        return [replica for replica in self.replicas if replica.alive and not replica.paused]
