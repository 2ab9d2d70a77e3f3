"""Processes are killed, stopped and kept busy, and every fire still runs, once."""

from pathlib import Path

import pytest

from tests.acceptance import verdict
from tests.acceptance.conftest import SESSION
from tests.acceptance.fleet import Fleet, boot
from tests.acceptance.history import OK
from tests.acceptance.jobs import LONG, PLAIN, QUICK, STEADY, Job

pytestmark = pytest.mark.slow

JOBS = [STEADY, QUICK, LONG, PLAIN]


def test_a_runner_killed_in_mid_run_is_stood_in_for_in_the_same_fire(every_url: str, tmp_path: Path) -> None:
    with Fleet(every_url, tmp_path, JOBS) as fleet:
        fleet.start(3)
        fleet.wait_for_all_shards()
        run = fleet.wait_for_a_run(LONG)
        fleet.kill(fleet.replica_of(run))
        history = fleet.finish()
    assert [(each.attempt, each.source, each.outcome) for each in history.same_fire(run)] == [
        (1, "scheduled", None),
        (2, "failover", OK),
    ]


def test_a_stand_in_that_is_killed_too_is_stood_in_for(url: str, tmp_path: Path) -> None:
    with Fleet(url, tmp_path, [LONG, STEADY]) as fleet:
        fleet.start(3)
        fleet.wait_for_all_shards()
        run = fleet.wait_for_a_run(LONG)
        fleet.kill(fleet.replica_of(run))
        again = fleet.wait(lambda history: len(history.same_fire(run)) == 2).same_fire(run)
        fleet.kill(fleet.replica_of(again[-1]))
        history = fleet.finish()
    assert [(each.attempt, each.outcome) for each in history.same_fire(run)] == [
        (1, None),
        (2, None),
        (3, OK),
    ]


def test_a_leader_that_is_killed_is_succeeded(url: str, tmp_path: Path) -> None:
    with Fleet(url, tmp_path, JOBS) as fleet:
        fleet.start(3)
        fleet.wait_for_all_shards()
        killed = fleet.leader(STEADY)
        fleet.kill(killed)
        assert fleet.leader(STEADY) is not killed
        fleet.finish()


def test_one_who_is_stopped_longer_than_its_session_wakes_up_to_no_effect(
    every_url: str, tmp_path: Path
) -> None:
    with Fleet(every_url, tmp_path, JOBS) as fleet:
        fleet.start(3)
        fleet.wait_for_all_shards()
        with fleet.stopped_in_mid_run(LONG) as run:
            fleet.wait(lambda history: len(history.same_fire(run)) == 2)
        fleet.wait(lambda history: any(each.pid == run.pid for each in history.since_the_last_fault()))
        history = fleet.finish()
    assert [each in verdict.accepted(history.shards()[run.shard]) for each in history.same_fire(run)] == [
        False,
        True,
    ]


def test_when_all_are_stopped_longer_than_their_sessions_every_fire_is_made_up_for(
    url: str, tmp_path: Path
) -> None:
    with Fleet(url, tmp_path, [STEADY, LONG]) as fleet:
        fleet.start(2)
        fleet.wait_for_all_shards()
        with fleet.stopped(*fleet.replicas):
            stopped = boot()
            fleet.wait_while(2.5 * SESSION)
            woken = boot()
        history = fleet.finish()
    slept = {
        fire
        for fire, at in verdict.expected(history, STEADY, history.wall(woken)).items()
        if stopped + verdict.AHEAD < at < woken
    }
    assert slept
    for item in range(STEADY.shards):
        assert slept <= {run.fire for run in history.shards()[STEADY.name, item]}


def test_a_rolling_restart_costs_nobody_a_run(url: str, tmp_path: Path) -> None:
    with Fleet(url, tmp_path, JOBS) as fleet:
        old = fleet.start(2)
        fleet.wait_for_all_shards()
        for each in old:
            fleet.start(1)
            fleet.wait_for_a_run(LONG)
            fleet.terminate(each)
        history = fleet.finish()
    assert {(run.attempt, run.outcome) for run in history.runs} == {(1, OK)}


def test_code_that_never_waits_holds_nothing_up_while_one_is_killed(url: str, tmp_path: Path) -> None:
    """Neither that of the jobs themselves nor what their process does beside them."""
    job = Job("computes", every=3, length=1.2, shards=4, computes=True)
    with Fleet(url, tmp_path, [job]) as fleet:
        fleet.start(3, busy=2)
        fleet.wait_for_all_shards()
        run = fleet.wait_for_a_run(job)
        fleet.kill(fleet.replica_of(run))
        history = fleet.finish()
    assert [each.outcome for each in history.same_fire(run)] == [None, OK]
