"""Losses: a run that did not come to its end, and is not run again, is told of once, by who wrote it off."""

import pytest

from shardwright import Scheduler
from shardwright.testing import Cluster, Replica

#: In the midst of the first fire.
MINUTES, MIDST = "0 * * * * ?", 70.0


def service(**settings: object) -> Scheduler:
    scheduler = Scheduler("memory://")
    scheduler.add(lambda: None, "job", cron=MINUTES, time_zone="UTC", **settings)  # type: ignore[arg-type]
    return scheduler


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What people were told of this job, from its kind on."""
    alerts = [record for record in caplog.records if record.name == "shardwright.alerts.log"]
    return [record.message.removeprefix("job: ") for record in alerts]


def in_the_midst(cluster: Cluster, **settings: object) -> Replica:
    """The one of three members that runs the only shard, which takes it half a minute."""
    members = [cluster.start(service(**settings), lasting=30.0) for _ in range(3)]
    cluster.advance(seconds=MIDST)
    (runs,) = [member for member in members if member.runs]
    return runs


@pytest.mark.parametrize("settings", [{}, {"failover": True, "delivery": "at_most_once"}])
def test_a_run_that_died_with_its_process_and_is_not_run_again_is_told_of_once(
    settings: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    cluster = Cluster()
    cluster.kill(in_the_midst(cluster, **settings))
    cluster.advance(seconds=20)
    assert told(caplog) == [
        "lost, shard 0: its runner died, and the job does not want it to be run again\n"
        "scheduled for 2030-01-01T00:01:00+00:00"
    ]
    cluster.advance(minutes=3)
    assert len(told(caplog)) == 1


def test_a_run_that_is_taken_over_is_not_lost(caplog: pytest.LogCaptureFixture) -> None:
    cluster = Cluster()
    cluster.kill(in_the_midst(cluster, failover=True))
    cluster.advance(minutes=3)
    (said,) = told(caplog)
    assert said.startswith("failover, shard 0: its member died over it, and it runs again here")


def test_one_that_finds_alone_what_died_with_the_process_before_it_tells_of_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster = Cluster()
    alone = cluster.start(service(), lasting=30.0)
    cluster.advance(seconds=MIDST)
    cluster.kill(alone)
    cluster.advance(seconds=20)
    assert told(caplog) == []
    cluster.start(service(), lasting=30.0)
    cluster.advance(seconds=5)
    (said,) = told(caplog)
    assert said.startswith("lost, shard 0: its runner died")


def test_a_run_that_was_told_to_stop_and_is_not_run_again_is_told_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster = Cluster()
    leaving = in_the_midst(cluster)
    leaving.process.cut_short()
    cluster.stop(leaving)
    assert told(caplog) == [
        "lost, shard 0: it was told to stop, and the job does not want it to be run again\n"
        "scheduled for 2030-01-01T00:01:00+00:00"
    ]


def test_a_run_that_ends_while_its_process_leaves_is_not_lost(caplog: pytest.LogCaptureFixture) -> None:
    cluster = Cluster()
    cluster.stop(in_the_midst(cluster))
    cluster.advance(minutes=3)
    assert told(caplog) == []
