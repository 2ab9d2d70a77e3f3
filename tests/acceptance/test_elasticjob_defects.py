"""What ElasticJob 3.0.5 was seen to do wrong, each by name, and that it does not happen here.

They are numbered as in the list of what was reproduced on ElasticJob itself. A defect of its Java code alone
stands for its counterpart in ours.
"""

from datetime import timedelta
from pathlib import Path

import pytest

from tests.acceptance.conftest import zookeeper_url
from tests.acceptance.fleet import Fleet
from tests.acceptance.history import FAILED, OK
from tests.acceptance.jobs import LONG, QUICK, SLOW, STEADY, Job
from tests.faults.proxy import Proxy
from tests.zookeeper_server import Server

pytestmark = pytest.mark.slow


def test_1_a_short_cut_lets_nobody_else_run_what_runs(zookeeper: Server, tmp_path: Path) -> None:
    door = zookeeper_url(zookeeper.hosts, session=20.0)
    with Proxy(zookeeper.hosts) as wire, Fleet(door, tmp_path, [SLOW]) as fleet:
        fleet.start(1)
        (behind,) = fleet.start(1, url=door.replace(zookeeper.hosts, wire.hosts))
        run = fleet.wait_for_a_run(SLOW, by=behind)
        with fleet.trouble("cut", behind):
            wire.cut()
            fleet.wait_while(2.0)
            wire.heal()
        history = fleet.finish()
    assert [(each.pid, each.outcome) for each in history.same_fire(run)] == [(behind.pid, OK)]


def test_2_after_a_total_crash_two_who_come_back_together_go_on(url: str, tmp_path: Path) -> None:
    with Fleet(url, tmp_path, [LONG, STEADY, QUICK]) as fleet:
        fleet.start(2)
        fleet.wait_for_all_shards()
        run = fleet.wait_for_a_run(LONG)
        fleet.kill(*fleet.replicas)
        fleet.wait_while(4.0)
        fleet.start(2)
        history = fleet.finish()
    assert [(each.attempt, each.outcome) for each in history.same_fire(run)] == [(1, None), (2, OK)]
    assert "catch-up" in {each.source for each in history.of(STEADY.name)}


def test_3_who_takes_several_shards_over_runs_those_and_no_more(url: str, tmp_path: Path) -> None:
    job = Job("many", every=6, length=1.5, shards=6)
    with Fleet(url, tmp_path, [job]) as fleet:
        fleet.start(1)
        (victim,) = fleet.start(1)
        run = fleet.wait_for_a_run(job, by=victim)
        begun = fleet.wait(lambda history: len(history.same_time(run)) == 6).same_time(run)
        fleet.kill(victim)
        died = [each.item for each in begun if each.pid == victim.pid]
        history = fleet.finish()
    assert len(died) == 3
    attempts = [(each.item, each.attempt) for each in history.same_time(run)]
    assert sorted(attempts) == sorted([*((item, 1) for item in range(6)), *((item, 2) for item in died)])


def test_4_a_misfire_is_made_good_right_after_the_late_run(url: str, tmp_path: Path) -> None:
    period = 4
    job = Job("late", every=period, length=period + 0.5, shards=1)
    with Fleet(url, tmp_path, [job]) as fleet:
        fleet.start(2)
        history = fleet.wait(lambda history: len(history.of(job.name)) == 2)
        history = fleet.finish(until=history.fires(job.name)[0])
    late, made_good = history.shards()[job.name, 0][:2]
    assert made_good.source == "misfire"
    assert late.fire is not None
    assert made_good.fire == late.fire + timedelta(seconds=period)
    assert made_good.began < history.boot(late.fire) + 2 * period


def test_5_a_shard_that_failed_runs_at_its_next_fire(url: str, tmp_path: Path) -> None:
    period = 2
    job = Job("fails", every=period, shards=2, fails_first=True)
    with Fleet(url, tmp_path, [job]) as fleet:
        fleet.start(1)
        history = fleet.wait(lambda history: len(history.of(job.name)) >= 2 * job.shards)
        history = fleet.finish(until=history.fires(job.name)[0])
    for runs in history.shards().values():
        first, second = runs[:2]
        assert [first.outcome, second.outcome] == [FAILED, OK]
        assert first.fire is not None
        assert second.fire == first.fire + timedelta(seconds=period)


def test_6_nothing_grows_with_the_number_of_fires(url: str, tmp_path: Path) -> None:
    job = Job("often", every=1, shards=2)
    fires = 10
    with Fleet(url, tmp_path, [job]) as fleet:
        fleet.start(1)
        history = fleet.wait(lambda history: len(history.fires(job.name)) >= fires)
        history = fleet.finish(until=history.fires(job.name)[-2])
    runs = sorted(history.of(job.name), key=lambda run: run.began)[fires:]  # by then all is loaded
    assert len({run.at_exit for run in runs}) == 1
    assert max(run.threads for run in runs) - min(run.threads for run in runs) < fires / 2
    assert max(run.files for run in runs) - min(run.files for run in runs) < fires / 2


def test_7_who_is_asked_in_the_midst_of_a_run_runs_again(url: str, tmp_path: Path) -> None:
    job = Job("asked", every=None, length=1.5, shards=2)
    with Fleet(url, tmp_path, [job]) as fleet:
        fleet.start(2)
        fleet.wait_until_shared_out(job)
        fleet.trigger(job)
        fleet.wait(lambda history: len(history.going_on()) == 2)
        fleet.trigger(job)
        asked = fleet.history().asked[-1][0]
        history = fleet.wait(lambda history: len(history.of(job.name)) == 4)
        fleet.wait(lambda history: not history.going_on())
        fleet.finish()
    assert sorted(run.item for run in history.of(job.name) if run.began > asked) == [0, 1]
