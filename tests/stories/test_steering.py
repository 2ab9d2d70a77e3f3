"""What an operator changes while a job runs takes effect, at once and nowhere else."""

import pytest

from shardwright import JobError
from shardwright.cron import Cron
from shardwright.registry import Delete

from .telling import EVERY_SECOND, ONCE_A_YEAR, A, B, C, Story

EVERY_THREE_SECONDS = "0/3 * * * * ?"


def test_the_first_fire_of_a_new_job_runs_with_all_its_shards(story: Story) -> None:
    """ElasticJob shares the shards out within the first fire, which finds none and runs empty."""
    for server in (A, B):
        story.start(server, cron=EVERY_THREE_SECONDS, shards=4)
    story.until(lambda: len(story.tree().children("instances")) == 2)
    began = story.operator.now()
    story.until_ran(lambda: len(story.ran) >= 4)
    first = min(ran.fire for ran in story.ran if ran.fire is not None)
    upcoming = Cron(EVERY_THREE_SECONDS).next(began)
    assert upcoming is not None
    assert first <= upcoming
    assert sorted(ran.item for ran in story.ran if ran.fire == first) == [0, 1, 2, 3]


def test_a_disabled_shard_does_not_run_until_it_is_enabled(story: Story) -> None:
    story.two()
    story.disable_shard(2)
    assert story.ask_for_a_run(3).keys() == {0, 1, 3}
    story.enable_shard(2)
    assert story.ask_for_a_run().keys() == {0, 1, 2, 3}


def test_a_run_that_is_asked_for_while_the_shards_move_is_a_run_of_every_shard(story: Story) -> None:
    """The leader is taking shards from one who has not answered, for one who has answered already."""
    jobs = [f"job{number}" for number in range(10)]
    first = story.start(A, *jobs, shards=4)
    story.until(lambda: all(story.owners(4, job) == [A] * 4 for job in jobs))
    story.start(B, *jobs, shards=4)
    for job in jobs:
        first.trigger(job)
    story.until_ran(lambda: len(story.ran) >= 40)
    assert sorted((ran.job, ran.item) for ran in story.ran) == [
        (job, item) for job in jobs for item in range(4)
    ]


def test_a_new_cron_written_from_outside_is_taken_up_by_all(story: Story) -> None:
    story.two(cron=ONCE_A_YEAR)
    story.reconfigure(ONCE_A_YEAR, EVERY_SECOND)
    assert set(story.next_fire().values()) == {A, B}
    story.reconfigure(EVERY_SECOND, ONCE_A_YEAR)
    assert story.nothing_fires()


def test_a_cron_that_makes_no_sense_changes_nothing(story: Story, caplog: pytest.LogCaptureFixture) -> None:
    story.two(cron=EVERY_SECOND)
    story.reconfigure(EVERY_SECOND, "0 0 25 * * ?")
    assert set(story.next_fire().values()) == {A, B}
    assert "its new settings are not taken up" in caplog.text
    assert "hours go from 0 to 23" in caplog.text


def test_more_shards_and_fewer_shards_are_shared_out_by_all(story: Story) -> None:
    story.two()
    story.reconfigure("shardingTotalCount: 4", "shardingTotalCount: 7")
    story.until(lambda: len(story.tree().children("sharding")) == 7 and set(story.owners(7)) == {A, B})
    assert story.ask_for_a_run(7).keys() == set(range(7))
    story.reconfigure("shardingTotalCount: 7", "shardingTotalCount: 2")
    story.until(lambda: len(story.tree().children("sharding")) == 2 and set(story.owners(2)) == {A, B})
    assert sorted(story.ask_for_a_run(2).values()) == [A, B]
    assert [ran.total for ran in story.ran] == [7] * 7 + [2] * 2


def test_the_settings_in_the_registry_hold_until_a_starter_asks_to_overwrite_them(
    story: Story,
) -> None:
    story.start(A, shards=2)
    story.until(lambda: set(story.owners(2)) == {A})
    story.start(B, shards=5)
    story.until(lambda: set(story.owners(2)) == {A, B})
    assert story.ask_for_a_run(2).keys() == {0, 1}
    story.start(C, shards=3, overwrite=True)
    story.until(lambda: set(story.owners(3)) == {A, B, C})
    assert story.ask_for_a_run(3).keys() == {0, 1, 2}


def test_a_job_that_is_left_and_joined_again_goes_on(story: Story) -> None:
    first, _ = story.two()
    first.remove("job")
    assert story.ask_for_a_run() == {0: B, 1: B, 2: B, 3: B}
    first.add(story.note(A), "job", cron=ONCE_A_YEAR, shards=4)
    story.until(lambda: sorted(story.owners()) == [A, A, B, B])
    assert set(story.ask_for_a_run().values()) == {A, B}


def test_a_job_that_an_operator_removes_stays_away_until_it_is_begun_anew(story: Story) -> None:
    """With the job go its instances, which orders all its members to stop."""
    first, second = story.two(cron=EVERY_SECOND)
    story.write(Delete(story.path(), recursive=True))
    assert story.nothing_fires()
    assert (first.is_leader("job"), second.is_leader("job")) == (False, False)
    assert story.right_now("", "config") == [None, None]
    first.resume("job")
    story.until(lambda: story.owners() == [A] * 4)
    assert story.next_fire() == {0: A, 1: A, 2: A, 3: A}


def test_a_process_that_runs_something_else_under_the_jobs_name_is_told_so(story: Story) -> None:
    story.start(A, shards=2, class_name="com.acme.Reindex")
    story.until(lambda: set(story.owners(2)) == {A})
    other = story.start(B, shards=2, class_name="com.acme.Report")
    with pytest.raises(JobError, match=r"the job 'job' runs 'com.acme.Reindex' and not 'com.acme.Report'"):
        other.trigger("job")
    assert other.is_leader("job") is False
    assert story.ask_for_a_run(2) == {0: A, 1: A}
    assert len(story.tree().children("instances")) == 1
