"""The sentry: somebody alive says what nobody did."""

from collections.abc import Iterable
from concurrent.futures import Future
from itertools import pairwise
from typing import Any

import pytest

from shardwright import Scheduler
from shardwright.errors import Unreachable
from shardwright.registry import Create
from shardwright.registry.memory import MemoryRegistry
from shardwright.testing import Cluster

MINUTES = "0 * * * * ?"


def service(name: str, cron: str = "0 10 0 * * ?", **settings: object) -> Scheduler:
    scheduler = Scheduler("memory://")
    scheduler.add(lambda: None, name, cron=cron, time_zone="UTC", **settings)  # type: ignore[arg-type]
    return scheduler


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message.partition("\n")[0] for record in caplog.records if "due 2030" in record.message]


def test_a_fire_that_nobody_lived_to_run_is_told_by_a_process_that_has_other_jobs(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster = Cluster()
    doomed = cluster.start(service("nightly", shards=2))
    cluster.start(service("other"))
    cluster.advance(minutes=5)
    cluster.kill(doomed)
    cluster.advance(minutes=9.9)  # four minutes and more after the fire that was due at ten past
    assert told(caplog) == []
    cluster.advance(minutes=1)
    (said,) = told(caplog)
    assert said.startswith(
        "nightly: nobody alive: shard 0, 1: due 2030-01-01 00:10:00, not started by 00:15:"
    )
    assert said.endswith("nobody who has the job is alive")


def test_it_is_told_once_and_again_for_the_next_fire(caplog: pytest.LogCaptureFixture) -> None:
    cluster = Cluster()
    doomed = cluster.start(service("hourly", "0 10 * * * ?"))
    cluster.start(service("other"))
    cluster.advance(minutes=5)
    cluster.kill(doomed)
    cluster.advance(hours=2)
    assert [line.partition("due ")[2][11:16] for line in told(caplog)] == ["00:10", "01:10"]


def test_what_ran_was_disabled_or_is_not_to_run_is_not_missed(caplog: pytest.LogCaptureFixture) -> None:
    cluster = Cluster()
    cluster.start(service("fine", MINUTES, shards=2))
    cluster.start(service("asked", ""))
    disabled = cluster.start(service("off", "0 10 0 * * ?", shards=2))
    root = f"{disabled.registry.namespace}/off/sharding"
    cluster.advance(minutes=1)
    disabled.registry.commit(Create(f"{root}/0/disabled"), Create(f"{root}/1/disabled"))
    cluster.advance(minutes=1)
    cluster.kill(disabled)
    cluster.advance(hours=1)
    assert told(caplog) == []


FEW = {"group": "few", "concurrency": 1}


def crowded(cluster: Cluster, name: str, cron: str, *, begun: float = 5.0) -> None:
    """A job whose members are well, and which has no place to run in from nine minutes past on: another job
    keeps the only one. It begins so many minutes past."""
    cluster.start(service("hog", "0 9 0 * * ?", **FEW), lasting=48 * 3600.0)
    cluster.advance(minutes=begun)
    cluster.start(service(name, cron, **FEW))
    cluster.advance(minutes=9.5 - begun)


def test_a_fire_that_is_missed_although_members_are_alive_is_told_as_such(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster = Cluster()
    crowded(cluster, "nightly", "0 10 0 * * ?")
    cluster.advance(minutes=5.4)
    assert told(caplog) == []
    cluster.advance(minutes=60)
    (said,) = told(caplog)
    assert said.startswith("nightly: missed: shard 0: due 2030-01-01 00:10:00, not started by 00:15:")
    assert "alive" not in said


def test_a_missed_fire_of_a_job_that_fires_seldom_is_told_also_where_it_was_heard_of_only_just_before(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Its next fire is tomorrow's: it is not left for the next look."""
    cluster = Cluster()
    crowded(cluster, "nightly", "0 10 0 * * ?", begun=9.25)
    cluster.advance(minutes=60)
    assert [said.partition(":")[0] for said in told(caplog)] == ["nightly"]


def test_that_a_job_which_fires_often_misses_its_fires_is_told_every_ten_minutes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster = Cluster()
    crowded(cluster, "often", MINUTES)
    cluster.advance(minutes=30)
    minutes = [int(said.partition("not started by 00:")[2][:2]) for said in told(caplog)]
    assert 10 <= minutes[0] <= 25
    assert [after - before for before, after in pairwise(minutes)] in ([10], [10, 10])


def test_what_a_process_is_told_anyway_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    for name in ("read", "names"):
        real = getattr(MemoryRegistry, name)

        def noted(registry: object, paths: Iterable[str], real: Any = real, **how: bool) -> object:
            asked.append(list(paths := list(paths)))
            return real(registry, paths, **how)

        monkeypatch.setattr(MemoryRegistry, name, noted)
    cluster = Cluster()
    for _ in range(2):
        cluster.start(service("job", MINUTES, shards=4))
    cluster.advance(minutes=2)
    assert asked
    asked.clear()
    cluster.advance(minutes=2.5)
    assert asked == []
    cluster.advance(minutes=5)
    assert asked == [["/shardwright"]]  # which jobs there are


def test_a_fire_whose_account_could_not_be_read_is_looked_at_again(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster()
    doomed = cluster.start(service("nightly"))
    cluster.start(service("other"))
    cluster.advance(minutes=5)
    cluster.kill(doomed)
    unanswered = ["for once"]
    real = MemoryRegistry.read

    def read(registry: MemoryRegistry, paths: Iterable[str], *, fresh: bool = False) -> "Future[Any]":
        if not fresh or not unanswered:
            return real(registry, paths, fresh=fresh)
        unanswered.clear()
        lost: Future[Any] = Future()
        lost.set_exception(Unreachable("no answer"))
        return lost

    monkeypatch.setattr(MemoryRegistry, "read", read)
    cluster.advance(minutes=15)
    assert unanswered == []
    assert [line.partition(":")[0] for line in told(caplog)] == ["nightly"]


def test_when_the_sentry_dies_another_takes_its_place(caplog: pytest.LogCaptureFixture) -> None:
    cluster = Cluster()
    first = cluster.start(service("one"))
    doomed = cluster.start(service("nightly"))
    cluster.start(service("two"))
    cluster.advance(minutes=1)
    cluster.kill(first)
    cluster.advance(minutes=1)
    cluster.kill(doomed)
    cluster.advance(minutes=20)
    assert sorted({line.partition(":")[0] for line in told(caplog)}) == ["nightly", "one"]


def test_a_process_that_leaves_in_order_leaves_no_sentry_behind() -> None:
    cluster = Cluster()
    only = cluster.start(service("one"))
    assert [path for path in cluster.store.nodes if path.endswith("~sentry")]
    cluster.stop(only)
    assert not [path for path in cluster.store.nodes if path.endswith("~sentry")]
