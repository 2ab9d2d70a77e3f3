"""The hands of a process: real runs, whose tries take as long as chance has it, fail now and then, take too
long, and heed the order to stop at once.

What is promised of the tries of a run is held up here: each is of the fire that was claimed, under its token,
by one who has not been given up; another follows only where the one before failed or took too long, and no
more of them than the job allows; what comes out in the end is what happened, and is told once.
"""

import itertools
import random
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from shardwright.coordination.step import Claim
from shardwright.jobs import JobConfig
from shardwright.outcomes import CUT_SHORT, FAILED, OK, SUPERSEDED, TIMED_OUT
from shardwright.registry import Registry
from shardwright.runtime.bodies import Body
from shardwright.runtime.process import fire_time
from shardwright.runtime.reactor import Later
from shardwright.runtime.runs import Running
from shardwright.runtime.tries import End, Ended, try_it
from shardwright.shard import Shard

if TYPE_CHECKING:
    from .world import Process, World

#: How many of the seeds have tries that fail or take too long, and how many of their tries fail.
TROUBLED, FAILS = 0.2, 0.3

#: How long a try takes that fails.
SOON = 0.1

#: How much sooner or later than it should be something may happen.
TICK = 0.001


def troubled(config: JobConfig, chance: random.Random) -> JobConfig:
    """The same job, with tries that are followed by others, or with a time that they may take. All tries of a
    run together take hardly longer than the longest run of a job that has neither."""
    timeout = chance.choice([None, "1s", "6s"])
    retries = chance.choice([0, 1, 2]) if timeout else chance.choice([1, 2])
    return config.replace(timeout=timeout, retries=retries, retry_delay="500ms", retry_delay_max="1s")


class Hands:
    """What one process runs its shards with. It stands for the reactor, which takes no time here."""

    def __init__(self, world: "World", process: "Process", running: type[Running]) -> None:
        self.world, self.process, self.running = world, process, running
        self.deferred = 0.0
        """When something was last put off, as the process stood still."""
        self._runs: dict[tuple[int, str], Trial] = {}
        self._order = itertools.count()

    def begin(self, claim: Claim, token: int) -> None:
        trial = self._runs[claim.item, claim.attempt] = Trial(self, claim, token)
        trial.run_.begin()

    def cancel(self, item: int, attempt: str, outcome: str) -> None:
        self._runs[item, attempt].order(outcome)

    # -- what a run asks of the reactor -------------------------------------------------------------

    @property
    def registry(self) -> Registry:
        return self.process.registry

    def post(self, note: Callable[[], None]) -> None:
        note()

    def later(self, when: float, note: Callable[[], None]) -> Later:
        later = Later(when, next(self._order), note)
        self.at(when, lambda: later.note() if later.note is not None else None)
        return later

    def call_off(self, later: Later) -> None:
        later.note = None

    def at(self, when: float, act: Callable[[], None]) -> None:
        """Do it then, or as soon as the process goes on; never if it has died."""

        def now() -> None:
            if self.process.dead:
                return
            if self.process.paused:
                self.deferred = self.world.clock.boot()
                self.world.clock.at(self.deferred + 1.0, now)
            else:
                act()

        self.world.clock.at(when, now)


class Trial:
    """One claimed shard. It stands for the workers, and knows what they did."""

    def __init__(self, hands: Hands, claim: Claim, token: int) -> None:
        self.hands, self.world, self.claim, self.token = hands, hands.world, claim, token
        self.config = hands.process.member.settings
        self._tries = 0
        self._came_to: list[str] = []
        """How each try came out, as far as they did."""
        self._ordered = ""
        """As what we have ordered it to end, if we have."""
        self._began = 0.0
        self._inside: AbstractContextManager[None] | None = None
        """What heeds the order to stop while a try goes on."""
        self._over = False
        session = hands.registry.session()
        self._lease = session.lease_left if session is not None else lambda: 0.0
        self.run_ = hands.running(hands, self, self.config, self._try, self._shard, self._told, self._retried)

    def order(self, outcome: str) -> None:
        self._ordered = outcome
        if outcome == SUPERSEDED:
            self.run_.supersede()
        else:
            self.run_.cancel()

    def _shard(self, retries: int) -> Shard:
        claim = self.claim
        return Shard(
            item=claim.item,
            total=self.config.shards,
            parameter="",
            job_name=self.config.name,
            job_parameter=claim.parameter,
            fire_time=fire_time(claim.fire),
            token=self.token,
            attempt=claim.tries + retries,
            source=claim.source.value,
            checkpoint=claim.checkpoint,
            _lease=self._lease,
        )

    # -- what a run asks of the workers -------------------------------------------------------------

    def run(self, config: JobConfig, shard: Shard, body: Body, ended: Ended) -> None:
        self._began = self.world.clock.boot()
        end = try_it(shard, body)
        if end.outcome != OK:
            self._came_to.append(CUT_SHORT)
            ended(end)
            return
        outcome, length = self._fate()

        def over(outcome: str) -> None:
            self._inside = None
            self._came_to.append(outcome)
            ended(End(CUT_SHORT if outcome in (TIMED_OUT, SUPERSEDED) else outcome))

        def come_to_its_end() -> None:
            if self._inside is inside:  # else it was told to stop, and another may go on
                self._in_time(length)
                over(outcome)

        inside = self._inside = shard.on_cancel(lambda: over(self._ordered or self._timed_out()))
        inside.__enter__()
        self.hands.at(self._began + length, come_to_its_end)

    def _in_time(self, took: float) -> None:
        timeout, stood_still = self.config.timeout, self.hands.deferred >= self._began
        if timeout is not None and took > timeout.total_seconds() + TICK and not stood_still:
            self.world.object(f"a try went on for {took:g} s, beyond its timeout: {self.claim}")

    def _fate(self) -> tuple[str, float]:
        """How a try ends if it is left alone, and when."""
        if self.world.trouble is not None and self.world.trouble.random() < FAILS:
            return FAILED, SOON
        return OK, self.world.length()

    def _timed_out(self) -> str:
        """We have not ordered it to stop: then it is because of its timeout."""
        took, timeout = self.world.clock.boot() - self._began, self.config.timeout
        if timeout is None or took < timeout.total_seconds() - TICK:
            self.world.object(f"a try was told to stop after {took:g} s, and nobody wanted it: {self.claim}")
        return TIMED_OUT

    def free(self, config: JobConfig) -> int:
        return 1

    def call(self, config: JobConfig, act: Callable[[], object], ended: Ended) -> Callable[[], bool]:
        raise NotImplementedError

    def forget(self, job: str) -> None: ...

    def close(self) -> None: ...

    # -- what is promised ---------------------------------------------------------------------------

    def _try(self, shard: Shard) -> None:
        world, claim = self.world, self.claim
        self._tries += 1
        if self._ordered or self._over:
            world.object(f"tried after it was told to stop, or had ended: {claim}")
        facts = (shard.item, shard.fire_time, shard.token, shard.attempt)
        if facts != (claim.item, fire_time(claim.fire), self.token, claim.tries + self._tries - 1):
            world.object(f"try {self._tries} is not of what was claimed: {claim} {shard}")
        if self._tries == 1:
            return  # the world has looked at it
        world.seen["tried again"] += 1
        if self._tries > 1 + self.config.retries or self._came_to[-1] not in (FAILED, TIMED_OUT):
            world.object(f"tried again after {self._came_to}: {claim}")
        world.may_try_again(self.hands.process, claim)

    def _retried(self, end: End, shard: Shard) -> None:
        if end.outcome != self._came_to[-1]:
            self.world.object(f"a try is said to have {end.outcome}, and {self._came_to[-1]}: {self.claim}")

    def _told(self, end: End, shard: Shard) -> None:
        wanted = self._ordered or self._came_to[-1]
        if self._over:
            self.world.object(f"its end was told twice: {self.claim}")
        if end.outcome != wanted:
            self.world.object(f"came out as {end.outcome}, and was {wanted}: {self.claim}")
        if wanted in (FAILED, TIMED_OUT) and self._tries != 1 + self.config.retries:
            self.world.object(f"given up after {self._tries} tries: {self.claim}")
        self._over = True
        self.world.ended(self.hands.process, self.claim, self.token, end.outcome)
