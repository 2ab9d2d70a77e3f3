"""Losses: a run that did not come to its end, and is not run again, is told of once, by who wrote it off."""

import pytest

from shardwright import Scheduler
from shardwright.registry import Create
from shardwright.testing import Cluster, Replica

#: In the midst of the first fire.
MINUTES, MIDST = "0 * * * * ?", 70.0


def service(**settings: object) -> Scheduler:
    scheduler = Scheduler("memory://")
    schedule = {"cron": MINUTES, "time_zone": "UTC"}
    scheduler.add(lambda: None, "job", **{**schedule, **settings})  # type: ignore[arg-type]
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


def test_one_that_gets_a_shard_back_from_another_that_died_over_it_tells_of_it_at_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster = Cluster()
    alone = cluster.start(service(cron=None, shards=2), lasting=30.0)
    cluster.advance(seconds=5)
    other = cluster.start(service(cron=None, shards=2), lasting=30.0)
    cluster.advance(seconds=5)
    alone.process.trigger("job")
    cluster.advance(seconds=5)
    assert [run.item for run in other.runs] == [1]
    cluster.kill(other)
    cluster.advance(seconds=20)
    (said,) = told(caplog)
    assert said.startswith("lost, shard 1: its runner died")


def test_one_that_was_cut_off_while_another_had_its_shard_and_died_over_it_tells_of_it_too(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster = Cluster(session_timeout=60.0)
    job: dict[str, object] = {"cron": None, "shards": 4}
    leads = cluster.start(service(**job), lasting=30.0, address="10.0.0.9")
    cluster.advance(seconds=5)
    cut_off = cluster.start(service(**job), lasting=30.0, address="10.0.0.2")
    cluster.advance(seconds=5)
    leads.process.trigger("job")
    cluster.advance(seconds=40)
    cluster.partition(cut_off, 30)
    cluster.session_timeout = 2.0
    other = cluster.start(service(**job), lasting=30.0, address="10.0.0.3")
    cluster.advance(seconds=5)
    root = f"{other.registry.namespace}/job"
    (it,) = (path for path in cluster.store.nodes if path.startswith(f"{root}/instances/10.0.0.3"))
    other.registry.commit(Create(it.replace("instances", "trigger")))
    cluster.advance(seconds=5)
    (run,) = other.runs
    cluster.kill(other)
    cluster.advance(minutes=2)
    assert run.item in [each.item for each in cut_off.runs]
    (said,) = told(caplog)
    assert said.startswith(f"lost, shard {run.item}: its runner died")
