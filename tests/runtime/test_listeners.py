"""Listeners: in each process around its shards of a fire, and once in the cluster around all of them."""

import sys
from collections.abc import Callable
from typing import Any

import pytest

from shardwright import Fire, JobError, Listener, Scheduler, Shard
from shardwright.jobs import JobConfig
from shardwright.runtime.bodies import Body
from shardwright.runtime.listeners import Party
from shardwright.runtime.tries import Ended, do_it
from shardwright.testing import Cluster
from tests.runtime.test_runs import last

FIRE = 10.0


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

    def call(self, config: JobConfig, act: Callable[[], object], ended: Ended) -> None:
        self.asked.append(lambda: ended(do_it(act)))

    def free(self, config: JobConfig) -> int:
        return 1

    def run(self, config: JobConfig, shard: Shard, body: Body, ended: Ended) -> None: ...

    def forget(self, job: str) -> None: ...

    def close(self) -> None: ...


def test_after_is_not_called_beside_before() -> None:
    """All shards were called off while somebody listened."""
    pages: list[str] = []
    workers, config = Later(), JobConfig.of({"name": "job"})
    party = Party([Diary(pages)], config, None, workers, lambda note: note(), lambda error: None)
    party.join(0, lambda error: pages.append("called off"))
    assert party.leave()
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
