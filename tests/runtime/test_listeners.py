"""Listeners: in each process around its shards of a fire, and once in the cluster around all of them."""

import queue
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from shardwright import Fire, JobError, Listener, Scheduler, Shard
from shardwright.jobs import JobConfig
from shardwright.registry import Create
from shardwright.runtime.bodies import Body
from shardwright.runtime.listeners import Caller, Failing, Party
from shardwright.runtime.tries import Ended, do_it
from shardwright.runtime.work import Workshop
from shardwright.testing import Cluster, Replica
from tests.runtime.test_runs import last

FIRE = 10.0
PATIENCE = 20.0


class Diary(Listener):
    """Writes down what it hears."""

    def __init__(self, pages: list[str], name: str = "", order: int = 0) -> None:
        self.pages, self.name, self.order = pages, name, order

    def before(self, fire: Fire) -> None:
        self.pages.append(f"{self.name}before {','.join(map(str, fire.items))}")

    def after(self, fire: Fire) -> None:
        self.pages.append(f"{self.name}after {','.join(map(str, fire.items))}")


class Chronicle(Listener):
    def __init__(self, pages: list[str]) -> None:
        self.pages = pages

    def started(self, fire: Fire) -> None:
        self.pages.append(f"started {fire.time:%S}")

    def completed(self, fire: Fire) -> None:
        self.pages.append(f"completed {fire.time:%S}")


class Broken(Listener):
    def before(self, fire: Fire) -> None:
        raise ArithmeticError("of the listener")


class Vital(Broken):
    vital = True


def service(pages: list[str], *listeners: Listener, **settings: Any) -> Scheduler:
    scheduler = Scheduler("memory://")

    def body(shard: Shard) -> None:
        pages.append(f"run {shard.item}")

    scheduler.add(body, "job", cron="10 * * * * ?", time_zone="UTC", listeners=listeners, **settings)
    return scheduler


def a_fire_of(*listeners: Listener, pages: list[str], **settings: Any) -> Cluster:
    cluster = Cluster()
    cluster.start(service(pages, *listeners, **settings))
    cluster.advance(seconds=FIRE + 5)
    return cluster


def test_before_comes_before_the_first_shard_of_a_process_and_after_comes_after_its_last() -> None:
    pages: list[str] = []
    a_fire_of(Diary(pages), pages=pages, shards=2)
    assert pages == ["before 0,1", "run 0", "run 1", "after 0,1"]


def test_listeners_are_called_in_their_order_and_the_other_way_round_afterwards() -> None:
    pages: list[str] = []
    a_fire_of(Diary(pages, "late ", 9), Diary(pages, "early ", -1), pages=pages)
    assert pages == ["early before 0", "late before 0", "run 0", "late after 0", "early after 0"]


def test_each_process_hears_of_its_own_shards() -> None:
    cluster = Cluster()
    pages: list[str] = []
    others: list[str] = []
    cluster.start(service(pages, Diary(pages), shards=4))
    cluster.start(service(others, Diary(others), shards=4))
    cluster.advance(seconds=FIRE + 5)
    told = {page.removeprefix("before ") for page in (*pages, *others) if page.startswith("before")}
    assert told in ({"0,1", "2,3"}, {"0,2", "1,3"}, {"0,3", "1,2"})


def test_a_listener_that_fails_is_reported_and_the_shards_run_all_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    pages: list[str] = []
    cluster = a_fire_of(Broken(), Diary(pages), pages=pages)
    assert pages == ["before 0", "run 0", "after 0"]
    assert last(cluster) == "ok"
    assert "hook failed: Broken.before failed" in caplog.text
    assert "of the listener" in caplog.text


def test_where_a_vital_listener_fails_its_shards_do_not_run_and_have_failed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    pages: list[str] = []
    cluster = a_fire_of(Vital(), Diary(pages), pages=pages)
    assert pages == ["before 0", "after 0"]
    assert last(cluster) == "failed"
    cluster.advance(seconds=60)
    assert last(cluster) == "failed"


def test_once_in_the_cluster_a_fire_is_started_before_any_shard_and_completed_after_all() -> None:
    cluster = Cluster()
    pages: list[str] = []
    for _ in range(3):
        cluster.start(service(pages, Chronicle(pages), shards=5))
    cluster.advance(seconds=FIRE + 10)
    assert (pages[0], pages[-1]) == ("started 10", "completed 10")
    assert sorted(pages[1:-1]) == [f"run {item}" for item in range(5)]


def test_what_is_called_once_is_called_by_another_where_its_caller_dies_before() -> None:
    cluster = Cluster()
    pages: list[str] = []
    first = cluster.start(service(pages, Chronicle(pages), shards=2, failover=True), lasting=5.0)
    cluster.start(service(pages, Chronicle(pages), shards=2, failover=True), lasting=5.0)
    cluster.advance(seconds=FIRE + 2)
    cluster.kill(first)
    cluster.advance(seconds=40)
    assert [page for page in pages if page == "completed 10"] == ["completed 10"]


def test_what_is_no_listener_is_refused_with_what_to_do() -> None:
    with pytest.raises(JobError, match=r"is no listener: derive .* from shardwright.Listener"):
        Scheduler("memory://").add(lambda: None, "job", listeners=[object()])  # type: ignore[list-item]


class Awaiting(Listener):
    async def before(self, fire: Fire) -> None: ...  # type: ignore[override]


class Deaf(Listener):
    def completed(self) -> None: ...  # type: ignore[override]


class InWords(Listener):
    timeout = "10s"  # type: ignore[assignment]


class InNoTime(Listener):
    timeout = 0.0


class AtOnce(Listener):
    deadline = 0


class Unordered(Listener):
    order = "first"  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("listener", "complaint"),
    [
        (Awaiting, r"give an object of it: Awaiting\(\)"),
        (Awaiting(), "before is a coroutine, which is not awaited: make it a plain method"),
        (Deaf(), r"completed must be callable as def completed\(self, fire\)"),
        (InWords(), "timeout must be None or a number of seconds above 0, not '10s'"),
        (InNoTime(), "timeout must be None or a number of seconds above 0, not 0.0"),
        (AtOnce(), "deadline must be None or a number of seconds above 0, not 0"),
        (Unordered(), "order must be a whole number, not 'first'"),
    ],
)
def test_a_listener_that_could_never_be_called_is_refused_where_it_is_declared(
    listener: Listener, complaint: str
) -> None:
    with pytest.raises(JobError, match=complaint):
        Scheduler("memory://").add(lambda: None, "job", listeners=[listener])


def test_a_listener_that_leaves_by_sys_exit_has_failed_like_any_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Leaving(Listener):
        def before(self, fire: Fire) -> None:
            sys.exit(3)

    pages: list[str] = []
    cluster = a_fire_of(Leaving(), pages=pages)
    assert last(cluster) == "ok"
    assert "Leaving.before failed" in caplog.text


def test_listeners_of_java_members_are_named_in_the_settings() -> None:
    scheduler = Scheduler("memory://")
    scheduler.add(lambda: None, "job", listeners=["auditListener", Diary([])])
    assert scheduler.jobs[0].config.listeners == ("auditListener",)
    assert len(scheduler.jobs[0].listeners) == 1


def test_a_run_that_is_called_off_while_it_is_listened_to_never_begins() -> None:
    pages: list[str] = []
    cluster = Cluster()

    class Alarm(Diary):
        def before(self, fire: Fire) -> None:
            super().before(fire)
            replica.process.cut_short()

    replica = cluster.start(service(pages, Alarm(pages)))
    cluster.advance(seconds=FIRE + 5)
    assert pages == ["before 0", "after 0"]
    assert replica.runs == []
    assert last(cluster) == "cut short"


class Later:
    """Workers who do what they are asked to when they are told to."""

    def __init__(self) -> None:
        self.asked: list[Callable[[], None]] = []
        self.left_behind: list[str] = []

    def call(self, config: JobConfig, act: Callable[[], object], ended: Ended) -> Callable[[], bool]:
        self.asked.append(lambda: ended(do_it(act)))

        def leave_behind() -> bool:
            self.left_behind.append(config.name)
            return True

        return leave_behind

    def free(self, config: JobConfig) -> int:
        return 1

    def run(self, config: JobConfig, shard: Shard, body: Body, ended: Ended) -> None: ...

    def forget(self, job: str) -> None: ...

    def close(self) -> None: ...


def test_after_is_not_called_beside_before() -> None:
    """All shards were called off while somebody listened."""
    pages: list[str] = []
    workers, config = Later(), JobConfig.of({"name": "job"})
    caller = Caller(workers, lambda note: note(), lambda seconds, note: lambda: None, lambda *failing: None)
    party = Party([Diary(pages)], config, None, caller, lambda note: note())
    party.join(0, lambda error: pages.append("called off"))
    assert party.leave(0)
    assert len(workers.asked) == 1
    workers.asked.pop()()
    workers.asked.pop()()
    assert pages == ["before 0", "called off", "after 0"]


def test_where_all_is_called_off_before_anybody_heard_nobody_does() -> None:
    pages: list[str] = []
    called_off: list[str] = []
    cluster = Cluster()
    replica = cluster.start(service(pages, Diary(pages)))
    cluster.clock.at(cluster.clock.boot() + FIRE, lambda: called_off.extend(replica.process.cut_short()))
    cluster.advance(seconds=FIRE + 5)
    assert called_off == ["job"]  # at the very moment at which it was to begin
    assert pages == []
    assert last(cluster) == "cut short"


# What a fire tells of its shards


class Register(Listener):
    """Keeps what it was told of the shards: which it is about, which were left out, which failed."""

    def __init__(self) -> None:
        self.told: dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = {}

    def after(self, fire: Fire) -> None:
        self.told["after"] = fire.items, fire.disabled, fire.failed

    def started(self, fire: Fire) -> None:
        self.told["started"] = fire.items, fire.disabled, fire.failed

    def completed(self, fire: Fire) -> None:
        self.told["completed"] = fire.items, fire.disabled, fire.failed


def test_what_is_called_once_is_told_which_shards_are_disabled_and_which_failed_whoever_ran_them() -> None:
    cluster, register = Cluster(), Register()

    def body(shard: Shard) -> None:
        if shard.item in (2, 3):
            raise ArithmeticError

    def replica() -> Replica:
        scheduler = Scheduler("memory://")
        scheduler.add(body, "job", cron="10 * * * * ?", time_zone="UTC", shards=5, listeners=[register])
        return cluster.start(scheduler)

    first, second = replica(), replica()
    first.registry.commit(Create(f"{first.registry.namespace}/job/sharding/1/disabled"))
    cluster.advance(seconds=FIRE + 10)
    by_each = [{shard.item for shard in each.runs} for each in (first, second)]
    assert all(by_each)
    assert set.union(*by_each) == {0, 2, 3, 4}
    assert register.told["started"] == ((0, 2, 3, 4), (1,), ())
    assert register.told["completed"] == ((0, 2, 3, 4), (1,), (2, 3))


def test_after_is_told_which_of_the_shards_of_its_process_failed() -> None:
    cluster, register = Cluster(), Register()
    scheduler = Scheduler("memory://")

    def body(shard: Shard) -> None:
        if shard.item:
            raise ArithmeticError

    scheduler.add(body, "job", cron="10 * * * * ?", time_zone="UTC", shards=2, listeners=[register])
    cluster.start(scheduler)
    cluster.advance(seconds=FIRE + 5)
    assert register.told["after"] == ((0, 1), (), (1,))


def test_a_shard_whose_process_died_and_that_nobody_runs_again_is_told_of_as_failed() -> None:
    cluster, register = Cluster(), Register()
    settings: dict[str, Any] = {"cron": "10 * * * * ?", "time_zone": "UTC", "shards": 2, "failover": True}
    replicas = []
    for _ in range(2):
        scheduler = Scheduler("memory://")
        scheduler.add(lambda shard: None, "job", delivery="at_most_once", listeners=[register], **settings)
        replicas.append(cluster.start(scheduler, lasting=5.0))
    cluster.advance(seconds=FIRE + 2)
    (died,) = (shard.item for shard in replicas[0].runs)
    cluster.kill(replicas[0])
    cluster.advance(seconds=30)
    assert register.told["completed"] == ((0, 1), (), (died,))


# Vital, and once in the cluster


class Refusing(Listener):
    """Fails before all shards of a fire."""

    def __init__(self, pages: list[str], *, vital: bool) -> None:
        self.pages, self.vital = pages, vital

    def started(self, fire: Fire) -> None:
        self.pages.append("started")
        raise ArithmeticError("of the listener")

    def completed(self, fire: Fire) -> None:
        self.pages.append(f"completed, failed {fire.failed}")


@pytest.mark.parametrize("vital", [True, False])
def test_where_what_is_called_before_all_shards_fails_they_run_in_no_process_if_it_is_vital(
    vital: bool, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = Cluster()
    pages: list[str] = []
    replicas = [
        cluster.start(service(pages, Refusing(pages, vital=vital), shards=2, failover=True)) for _ in range(2)
    ]
    cluster.advance(seconds=FIRE + 20)
    runs = ["run 0", "run 1"]
    assert sorted(pages) == (
        ["completed, failed (0, 1)", "started"] if vital else ["completed, failed ()", *runs, "started"]
    )
    assert [last(cluster, item) for item in (0, 1)] == ["failed" if vital else "ok"] * 2
    assert caplog.text.count("hook failed: Refusing.started failed") == 1
    assert sum(len(replica.runs) for replica in replicas) == (0 if vital else 2)


def test_each_listener_that_fails_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    a_fire_of(Broken(), Vital(), pages=[])
    assert [name for name in ("Broken.before failed", "Vital.before failed") if name in caplog.text] == [
        "Broken.before failed",
        "Vital.before failed",
    ]


# Deadlines


class Stuck(Listener):
    """Does not come back from where it is called."""

    deadline = 30.0

    def __init__(self, *, vital: bool = False) -> None:
        self.vital = vital

    def started(self, fire: Fire) -> None: ...


def hanging(replica: Replica) -> Later:
    """Have nothing come back in a replica that is called there."""
    later = Later()
    later.run = replica.run  # type: ignore[method-assign]
    replica.process._caller._workers = later
    return later


@pytest.mark.parametrize("vital", [True, False])
def test_what_does_not_come_back_within_its_deadline_is_reported_once_and_holds_nobody(
    vital: bool, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = Cluster()
    pages: list[str] = []
    replicas = [cluster.start(service(pages, Stuck(vital=vital), shards=2, failover=True)) for _ in range(2)]
    workers = [hanging(replica) for replica in replicas]
    cluster.advance(seconds=FIRE + 20)
    assert [last(cluster, item) for item in (0, 1)] == ["", ""]
    cluster.advance(seconds=11)
    assert [last(cluster, item) for item in (0, 1)] == ["failed" if vital else "ok"] * 2
    assert sorted(pages) == ([] if vital else ["run 0", "run 1"])
    said = "hook failed: Stuck.started has not come back within 30 s: it is left behind"
    assert caplog.text.count(said) == 1
    assert sorted(len(each.asked) for each in workers) == [0, 1]  # and nobody else calls it
    assert sorted(each.left_behind for each in workers) == [[], ["job"]]
    next(each for each in workers if each.asked).asked.pop()()  # it comes back after all
    cluster.advance(seconds=5)
    assert caplog.text.count("hook failed") == 1
    assert [last(cluster, item) for item in (0, 1)] == ["failed" if vital else "ok"] * 2


def test_one_that_has_not_come_back_is_not_called_for_the_next_fire_either(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster = Cluster()
    pages: list[str] = []
    workers = hanging(cluster.start(service(pages, Stuck())))
    cluster.advance(seconds=FIRE + 61)
    assert (len(workers.asked), pages) == (1, ["run 0", "run 0"])
    assert "Stuck.started has not come back from the call before, and is not called" in caplog.text
    workers.asked.pop()()
    cluster.advance(seconds=60)
    assert len(workers.asked) == 1  # it has come back, and is called again


class Threads:
    """A caller with a real thread, whose deadlines pass when they are told to."""

    def __init__(self) -> None:
        self.workshop, self.config = Workshop(1), JobConfig.of({"name": "job"})
        self.failed: list[str] = []
        self._notes = queue.SimpleQueue[Callable[[], None]]()
        self._deadlines: list[Callable[[], None]] = []
        self._caller = Caller(self.workshop, self._notes.put, self._later, self._report)

    def _later(self, seconds: float, note: Callable[[], None]) -> Callable[[], None]:
        self._deadlines.append(note)
        return lambda: None

    def _report(self, config: JobConfig, failing: Failing) -> None:
        self.failed.append(str(failing))

    def call(self, listener: Listener) -> None:
        fire = Fire("job", None, (0,))
        self._caller.call(self.config, [listener], "started", fire, lambda failing: None)

    def pass_deadline(self) -> None:
        self._deadlines.pop()()

    def hear(self) -> None:
        """Wait until a call has come back."""
        self._notes.get(timeout=PATIENCE)()


class Gate(Listener):
    """Does not come back before it is opened."""

    def __init__(self) -> None:
        self.entered, self.opened = queue.SimpleQueue[str](), threading.Event()

    def started(self, fire: Fire) -> None:
        self.entered.put(fire.job)
        self.opened.wait(PATIENCE)


def test_one_that_comes_back_late_from_its_thread_is_called_again_from_then_on() -> None:
    threads, gate = Threads(), Gate()
    threads.call(gate)
    gate.entered.get(timeout=PATIENCE)
    threads.pass_deadline()
    threads.call(gate)
    assert threads.failed == [
        "Gate.started has not come back within 600 s: it is left behind",
        "Gate.started has not come back from the call before, and is not called",
    ]
    gate.opened.set()
    threads.hear()
    threads.call(gate)
    gate.entered.get(timeout=PATIENCE)
    threads.hear()
    assert len(threads.failed) == 2
    threads.workshop.close()


def test_one_that_no_thread_had_time_for_is_not_called_late_and_is_called_the_next_time() -> None:
    threads, busy, gate = Threads(), Gate(), Gate()
    gate.opened.set()
    threads.call(busy)
    busy.entered.get(timeout=PATIENCE)
    threads.call(gate)
    threads.pass_deadline()
    assert threads.failed == ["Gate.started could not be called within 600 s: no thread is free"]
    busy.opened.set()
    threads.hear()
    threads.call(gate)
    threads.hear()
    gate.entered.get(timeout=PATIENCE)
    assert gate.entered.empty()  # once, and not late
    threads.workshop.close()


def test_the_others_are_called_where_one_does_not_come_back() -> None:
    cluster = Cluster()
    pages: list[str] = []
    early, late = Stuck(), Chronicle(pages)
    early.order = -1
    workers = hanging(cluster.start(service(pages, early, late)))
    cluster.advance(seconds=FIRE + 31)
    assert len(workers.asked) == 2
    workers.asked.pop()()
    cluster.advance(seconds=1)
    assert pages[:2] == ["started 10", "run 0"]
