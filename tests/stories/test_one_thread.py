"""The deadlock that the third document tells of, and that it cannot be here.

In ElasticJob a job runs in a scheduler with one thread. A listener that is called once for all shards waits,
in that thread, until every shard has completed. When a process dies over a shard, a survivor takes it over
by asking its scheduler for a run; the scheduler's only thread is the one that waits for this very shard. The
run never begins, the wait never ends, and the job stands still for ever. (The document's way out: run it in a
thread made for the purpose.)

Here no thread is held by waiting. All is decided by the reactor, which runs nobody's code; whether all shards
have completed is a question that is asked again with every change, and keeps no worker from its work.
"""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from shardwright import Scheduler, Shard
from shardwright.coordination.step import Claim
from shardwright.coordination.view import Hooks
from shardwright.jobs import JobConfig
from shardwright.registry import Outcome, connect
from shardwright.runtime import identity
from shardwright.runtime.member import Member
from shardwright.runtime.reactor import Reactor

from .telling import ONCE_A_YEAR, PATIENCE, A, B, Story

#: Where it is told for which request all shards were last waited for, and what became of the call.
CALL = "barrier/completed/asked/called"

JOBS = [f"job{number}" for number in range(10)]


class OneThread:
    """A process with one thread for all that is a user's: the runs of the job and what is called when all
    its shards have completed."""

    def __init__(self, url: str, address: str, body: Callable[[Claim], None]) -> None:
        self.called: list[str] = []
        self.registry = connect(url)
        self._thread = ThreadPoolExecutor(1)
        self._busy = 0
        self._body = body
        self.reactor = Reactor(self.registry)
        self.reactor.start(lambda error: None)
        self.member = self.reactor.ask(lambda: self.reactor.add("job", self._make(address))).result(PATIENCE)

    def _make(self, address: str) -> Callable[..., Member]:
        def make(wake: Callable[[], None], commit: Callable[..., Future[Outcome]]) -> Member:
            return Member(
                self.registry,
                JobConfig(name="job", cron=ONCE_A_YEAR, shards=2, failover=True),
                identity=lambda: identity.new_name(address),
                work=lambda claim, token: self._do(lambda: self._run(claim)),
                call=lambda hook: self._do(lambda: self._call(hook.round, hook.fire)),
                hooks=Hooks(completed=True),
                slots=lambda: 0 if self._busy else 1,
                wake=wake,
                commit=commit,
            )

        return make

    def _do(self, what: Callable[[], Callable[[], None]]) -> None:
        """Have something done by the one thread, and what is to be told of it by the reactor."""
        self._busy += 1

        def over(tell: Callable[[], None]) -> None:
            self._busy -= 1
            tell()

        self._thread.submit(what).add_done_callback(
            lambda done: self.reactor.post(lambda: over(done.result()))
        )

    def _run(self, claim: Claim) -> Callable[[], None]:
        self._body(claim)
        return lambda: self.member.finished(claim.item, claim.attempt, "ok")

    def _call(self, round_: str, fire: str) -> Callable[[], None]:
        self.called.append(fire)
        return lambda: self.member.called(round_, fire, "called")

    def die(self) -> None:
        """End the session without a word to anybody."""
        self.registry.abandon()
        self.reactor.stop(PATIENCE)
        self._thread.shutdown(wait=False)


@contextmanager
def held() -> Iterator[tuple[threading.Event, Callable[[Shard], None]]]:
    """A job's code that does not come to its end before the block does, and the event that it has begun."""
    began, let_go = threading.Event(), threading.Event()

    def body(shard: Shard) -> None:
        began.set()
        let_go.wait(PATIENCE)

    try:
        yield began, body
    finally:
        let_go.set()


def test_with_one_thread_who_waits_for_all_shards_runs_what_a_dead_member_left_and_is_called_once(
    story: Story,
) -> None:
    """The deadlock itself: the survivor has run its own shard, waits for the other one, and must run that."""
    died_over, rescued = threading.Event(), threading.Event()
    survived: list[int] = []

    def victims(claim: Claim) -> None:
        died_over.set()
        rescued.wait(PATIENCE)

    def survivors(claim: Claim) -> None:
        survived.append(claim.item)
        if claim.tries > 1:
            rescued.set()

    victim, survivor = OneThread(story.url, A, victims), OneThread(story.url, B, survivors)
    beside = story.operator.mirror(f"{story.operator.namespace}~shardwright/job/watched")
    story.until(lambda: set(story.owners(2)) == {A, B})
    own = story.owners(2).index(B)
    story.ask()
    assert died_over.wait(PATIENCE)
    story.until(lambda: f"barrier/completed/asked/{own}" in beside)  # it is done, and waits for the other
    assert (survived, survivor.called) == ([own], [])
    victim.die()
    assert rescued.wait(PATIENCE)
    story.until(lambda: len(survivor.called) == 1 and "called" in (beside.get(CALL) or ""))
    assert survived == [own, 1 - own]
    assert victim.called == []
    survivor.die()


def test_while_its_only_thread_is_busy_a_member_is_elected_and_shares_out_ten_jobs(story: Story) -> None:
    busy = Scheduler(story.url, address=A, threads=1)
    with busy:
        with held() as (began, body):
            busy.add(body, "busy")
            busy.trigger("busy")
            assert began.wait(PATIENCE)
            for job in JOBS:
                busy.add(story.note(A), job, cron=ONCE_A_YEAR, shards=2)
            assert all(busy.is_leader(job) for job in JOBS)
            story.start(B, *JOBS, shards=2)
            for job in JOBS:
                story.until(lambda job=job: set(story.owners(2, job)) == {A, B})  # type: ignore[misc]
                busy.trigger(job)
            story.until_ran(lambda: len(story.ran) == len(JOBS))
            assert {ran.who for ran in story.ran} == {B}
        story.until_ran(lambda: len(story.ran) == 2 * len(JOBS))
        assert {ran.who for ran in story.ran[len(JOBS) :]} == {A}


def test_a_run_in_the_only_thread_may_ask_and_steer_the_scheduler_that_runs_it(story: Story) -> None:
    """What needs an answer from the registry gets it while the only worker waits for that."""
    scheduler = Scheduler(story.url, address=A, threads=1)
    answers: list[bool] = []

    @scheduler.job()
    def steering() -> None:
        scheduler.add(story.note(A), "other", shards=2)
        answers.append(scheduler.is_leader("other"))
        scheduler.trigger("other")

    with scheduler:
        scheduler.trigger("steering")
        story.until_ran(lambda: sorted(ran.item for ran in story.ran) == [0, 1])
    assert answers == [True]
