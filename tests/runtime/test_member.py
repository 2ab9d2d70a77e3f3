"""A member's turns: what it does with answers that come late, or not, or in another session."""

import random
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta

import pytest

from shardwright import coordination
from shardwright.clock import HandClock
from shardwright.coordination.step import Claim, Look, Step
from shardwright.coordination.view import View
from shardwright.elasticjob import write_config
from shardwright.jobs import JobConfig
from shardwright.registry import Delete, Put
from shardwright.registry.memory import MemoryRegistry, Store
from shardwright.runtime.member import Member

ROOT = "/ns/job"


class Alone:
    """One member on a store of its own, driven by hand."""

    def __init__(
        self, decide: Callable[[View], Iterable[Step | Look]] = coordination.decide, **settings: object
    ) -> None:
        self.clock = HandClock()
        self.store = Store(self.clock)
        self.registry: MemoryRegistry = self.store.connect(namespace="/ns")
        self.runs: list[tuple[Claim, int]] = []
        self.cancelled: list[int] = []
        names = iter(range(1, 100))
        self.member = Member(
            self.registry,
            JobConfig.of({"name": "job", "cron": "0/10 * * * * ?", "time_zone": "UTC", **settings}),
            identity=lambda: f"10.0.0.1@-@7-{next(names)}",
            work=lambda claim, token: self.runs.append((claim, token)),
            cancel=lambda item, attempt: self.cancelled.append(item),
            decide=decide,
            chance=random.Random(1),
        )

    def settle(self) -> None:
        while self.registry.pump() | self.member.turn():
            pass

    def advance(self, seconds: float) -> None:
        end = self.clock.boot() + seconds
        while self.clock.boot() < end:
            self.settle()
            due = [at for at in (self.member.due(), self.registry.due(), self.clock.next_due()) if at]
            upcoming = min([at for at in due if at > self.clock.boot()], default=end)
            self.clock.advance(min(upcoming, end) - self.clock.boot())
        self.settle()


def test_a_member_alone_runs_its_shards_at_their_fire() -> None:
    alone = Alone(shards=3)
    alone.advance(9.5)
    assert [claim.item for claim, _ in alone.runs] == [0, 1, 2]


def test_the_answer_to_a_claim_that_comes_in_another_session_starts_nothing() -> None:
    """Seeds 88 and 626: it was the claim of who we were before."""
    alone = Alone()
    alone.advance(8.5)
    alone.registry.delay(answers=3.0)
    alone.clock.advance(0.5)
    alone.member.turn()
    alone.registry.expire()
    alone.registry.delay()
    alone.advance(0.4)
    assert alone.member.me == "10.0.0.1@-@7-2"
    assert alone.runs == []


def test_an_answer_that_comes_when_the_lease_is_out_starts_nothing_until_the_claim_is_found_again() -> None:
    alone = Alone()
    alone.advance(8.5)
    alone.registry.delay(answers=9.0)
    alone.clock.advance(0.5)
    alone.member.turn()
    alone.clock.advance(9.5)
    alone.registry.pump()
    assert alone.runs == []
    claimed = alone.store.number
    alone.settle()
    ((claim, token),) = alone.runs
    assert (claim.item, claim.tries) == (0, 1)
    assert token > claimed


def test_who_stood_still_in_the_midst_of_a_round_decides_nothing_by_the_session_from_before() -> None:
    """It may not be given up yet, where all the others stood still, too. What fell meanwhile fell while
    nobody was there, and that is known with the next session only."""
    alone = Alone()
    alone.advance(8.5)
    session = alone.registry.session()
    assert session is not None
    alone.registry.pause()
    alone.clock.advance(session.lease_left())
    before = alone.store.number
    assert alone.member.turn()
    assert alone.store.number == before
    alone.settle()
    assert alone.store.number > before


def test_a_claim_whose_answer_was_lost_is_found_again_and_run_once() -> None:
    alone = Alone()
    alone.advance(8.5)
    alone.registry.lose_reply()
    alone.advance(5)
    assert [(claim.item, claim.tries) for claim, _ in alone.runs] == [(0, 1)]


def test_an_unmarked_claim_whose_answer_was_lost_is_found_again_too() -> None:
    alone = Alone(monitor_execution=False)
    alone.advance(8.5)
    alone.registry.lose_reply()
    alone.advance(5)
    assert [(claim.item, claim.tries) for claim, _ in alone.runs] == [(0, 1)]


def test_what_fails_in_an_answer_is_raised_by_the_next_turn() -> None:
    alone = Alone()
    alone.advance(8.5)

    def fails(claim: Claim, token: int) -> None:
        raise RuntimeError("the pool is gone")

    alone.member._work = fails
    with pytest.raises(RuntimeError, match="the pool is gone"):
        alone.advance(5)


def test_a_run_that_ends_twice_ends_once() -> None:
    alone = Alone()
    alone.advance(9.5)
    (claim, _) = alone.runs[0]
    alone.member.finished(claim.item, claim.attempt, "ok")
    alone.settle()
    version = alone.store.nodes["/ns~shardwright/job/cursor/0"].version
    alone.member.finished(claim.item, claim.attempt, "failed")
    alone.settle()
    assert alone.store.nodes["/ns~shardwright/job/cursor/0"].version == version


@pytest.mark.slow
def test_twenty_thousand_shards_are_shared_out_claimed_and_ended() -> None:
    """More than any registry takes in one commit."""
    alone = Alone(shards=20_000)
    alone.advance(9.5)
    assert len(alone.runs) == 20_000
    assert len({claim.item for claim, _ in alone.runs}) == 20_000
    for claim, _ in alone.runs:
        alone.member.local.runs[claim.item]
    for claim, _ in alone.runs[:3000]:
        alone.member.finished(claim.item, claim.attempt, "ok")
    alone.settle()
    assert len(alone.member.local.runs) == 17_000
    assert sum(path.endswith("/running") for path in alone.store.nodes) == 17_000


def test_whether_we_lead_is_answered_as_soon_as_somebody_does() -> None:
    alone = Alone()
    asked = alone.member.is_leader()
    assert not asked.done()
    alone.settle()
    assert asked.result(timeout=0) is True


def test_whether_we_lead_is_no_at_once_where_nobody_may_work() -> None:
    alone = Alone(disabled=True)
    asked = alone.member.is_leader()
    alone.settle()
    assert asked.result(timeout=0) is False


def test_one_that_is_ordered_to_stop_cancels_its_runs_and_tells_nobody_that_it_leads() -> None:
    alone = Alone()
    alone.advance(9.5)
    operator = alone.store.connect(namespace="/ns")
    operator.commit(Delete(f"{ROOT}/instances/{alone.member.me}"))
    alone.settle()
    assert alone.cancelled == [0]
    asked = alone.member.is_leader()
    alone.settle()
    assert asked.result(timeout=0) is False


def test_nothing_is_decided_while_the_registry_is_out_of_reach() -> None:
    looks: list[float] = []

    def decide(view: View) -> Iterator[Step | Look]:
        looks.append(view.boot)
        yield from coordination.decide(view)

    alone = Alone(decide)
    alone.advance(5)
    alone.registry.disconnect()
    alone.advance(0.1)
    before = len(looks)
    alone.advance(30)
    assert len(looks) == before
    assert alone.runs == []
    alone.registry.reconnect()
    alone.advance(10)
    assert alone.runs != []


def test_one_that_has_left_does_not_lead() -> None:
    alone = Alone()
    alone.settle()
    alone.member.drain()
    alone.settle()
    assert alone.member.left
    assert alone.member.is_leader().result(timeout=0) is False


def test_a_checkpoint_that_is_too_large_is_refused_and_says_what_to_do() -> None:
    alone = Alone()
    alone.advance(9.5)
    (claim, _) = alone.runs[0]
    with pytest.raises(ValueError, match="keep what is large elsewhere"):
        alone.member.save(claim.item, claim.attempt, "x" * 1_100_000)
    alone.member.finished(claim.item, claim.attempt, "failed: " + "x" * 1_100_000)
    alone.advance(10)
    assert [each.fire[17:19] for each, _ in alone.runs] == ["10", "20"]


def test_both_runs_of_a_job_that_has_become_one_shard_that_goes_round_come_to_their_end() -> None:
    alone = Alone(shards=2, strategy="SINGLE_SHARDING_BALANCE")
    alone.advance(9.5)
    operator = alone.store.connect(namespace="/ns")
    operator.commit(Put(f"{ROOT}/config", write_config(alone.member.settings.replace(shards=1))))
    for claim, _ in alone.runs:
        alone.member.finished(claim.item, claim.attempt, "ok")
    alone.settle()
    assert alone.member.local.runs == {}


def test_fires_go_on_after_the_clock_was_set_back_before_any_was_run() -> None:
    alone = Alone()
    alone.advance(5)
    alone.clock.set_wall(alone.clock.wall() - timedelta(hours=1))
    alone.advance(20)
    assert alone.runs


def test_a_job_that_is_removed_while_a_mark_of_it_is_mended_does_not_come_back() -> None:
    alone = Alone()
    alone.advance(9.5)
    operator = alone.store.connect(namespace="/ns")
    alone.registry.delay(requests=1.0)
    operator.commit(Delete(f"{ROOT}/sharding/0/running"))
    alone.settle()
    operator.commit(Delete(ROOT, recursive=True))
    alone.advance(5)
    assert ROOT not in alone.store.nodes


def test_a_run_that_ends_while_the_next_is_claimed_beside_it_is_not_waited_for() -> None:
    """Seed 113: it was taken for one that goes on, and its member could not leave."""
    alone = Alone(overlap="allow")
    alone.advance(18.5)
    (first, _), *_ = alone.runs
    alone.registry.delay(answers=0.2)
    alone.advance(0.6)  # the claim for twenty past has landed, and is not answered
    alone.member.finished(first.item, first.attempt, "ok")
    alone.registry.delay()
    alone.advance(1.0)
    assert [claim.fire[17:19] for claim, _ in alone.runs] == ["10", "20"]
    assert alone.member.local.loose == frozenset()
