"""What a job says about its runs holds in real schedulers: how long they may take, how often they are tried,
what a fire does that falls into one, and how many there may be at once."""

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from shardwright import Scheduler, Shard
from tests.recipes.heard import Heard, listening, says

from . import workers
from .telling import EVERY_SECOND, PATIENCE, A, B, Story
from .watching import Ends, Held, changed, notes

SECOND = timedelta(seconds=1)
EVERY_TWO_SECONDS, EVERY_SIX_SECONDS = "0/2 * * * * ?", "0/6 * * * * ?"


def a_member(story: Story, address: str = A, **options: object) -> Scheduler:
    return Scheduler(story.url, address=address, grace=2.0, **options)  # type: ignore[arg-type]


@contextlib.contextmanager
def held_in(story: Story, **settings: Any) -> Iterator[Held]:
    """A job in a scheduler whose runs are held, as long as this lasts."""
    held = Held()
    with a_member(story) as scheduler:
        scheduler.add(held, "job", **settings)
        if "cron" not in settings:
            scheduler.trigger("job")
        try:
            yield held
        finally:
            held.let_go()


def while_it_goes_on(story: Story, cron: str) -> None:
    """Wait until another job, on a server of its own, has fired twice; a fire is just over then."""
    story.start("10.9.9.9", "metronome", cron=cron)
    for _ in range(2):
        story.next_fire(1, "metronome")


# How long


def test_a_function_that_takes_too_long_is_told_to_stop_and_has_timed_out(story: Story) -> None:
    with listening() as heard, held_in(story, timeout="300ms") as held:
        Ends(story).until("timed out")
        heard.until(says("ERROR job: timed out, shard 0"))
        assert [shard.cancelled for shard in held.ran] == [True]


def test_a_coroutine_that_takes_too_long_is_cancelled_where_it_waits_and_has_timed_out(story: Story) -> None:
    seen: Heard[str] = Heard()

    async def wait(shard: Shard) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen("cancelled")
            raise

    with a_member(story) as scheduler:
        scheduler.add(wait, "job", timeout="300ms")
        scheduler.trigger("job")
        Ends(story).until("timed out")
    assert seen.all == ["cancelled"]


def test_a_process_that_will_not_hear_of_it_is_killed_and_has_timed_out(story: Story, tmp_path: Path) -> None:
    file = tmp_path / "notes"
    with a_member(story) as scheduler:
        scheduler.add(workers.never_end, "job", isolated=True, timeout="4s", parameter=str(file))
        scheduler.trigger("job")
        Ends(story).until("timed out")
    assert_gone(file)


def test_a_script_that_will_not_hear_of_it_is_killed_and_has_timed_out(story: Story, tmp_path: Path) -> None:
    file, program = tmp_path / "notes", workers.script(tmp_path / "jobs", "stubborn", workers.STUBBORN)
    with a_member(story, script_folders=[tmp_path / "jobs"]) as scheduler:
        scheduler.script("job", [program, str(file)], timeout="2s")
        scheduler.trigger("job")
        Ends(story).until("timed out")
    assert_gone(file)


def assert_gone(file: Path) -> None:
    (ran,) = notes(file)
    with pytest.raises(ProcessLookupError):
        os.kill(ran["pid"], 0)


# How often


class Flaky:
    """Fails so many times."""

    def __init__(self, failures: int) -> None:
        self.tried: Heard[Shard] = Heard()
        self._failures = failures

    def __call__(self, shard: Shard) -> None:
        self.tried(shard)
        if len(self.tried.all) <= self._failures:
            raise ConnectionError("the other side is down")

    def facts(self) -> list[tuple[int, int]]:
        return [(each.attempt, each.token) for each in self.tried.all]


@pytest.mark.parametrize(("failures", "outcome"), [(2, "ok"), (9, "failed")])
def test_what_failed_is_tried_again_in_the_same_fire_under_the_same_token(
    story: Story, failures: int, outcome: str
) -> None:
    flaky = Flaky(failures)
    with listening() as heard, a_member(story) as scheduler:
        scheduler.add(flaky, "job", retries=2, retry_delay="100ms")
        scheduler.trigger("job")
        Ends(story).until(outcome)
    assert [attempt for attempt, _ in flaky.facts()] == [1, 2, 3]
    assert len({token for _, token in flaky.facts()}) == 1
    assert sum("is tried again" in line for line in heard.all) == 2
    assert sum(line.startswith("ERROR job: failed") for line in heard.all) == (outcome == "failed")


def test_the_tries_of_a_scheduled_fire_are_all_for_its_time(story: Story) -> None:
    flaky = Flaky(1)
    with a_member(story) as scheduler:
        scheduler.add(flaky, "job", cron=EVERY_SECOND, retries=1, retry_delay="100ms")
        first, second, third = flaky.tried.until(lambda all_: len(all_) >= 3)[:3]
    assert (first.fire_time, first.token) == (second.fire_time, second.token)
    assert (third.fire_time or 0) != second.fire_time
    assert (third.attempt, third.token > second.token) == (1, True)


def test_what_took_too_long_is_tried_again_too(story: Story) -> None:
    with held_in(story, timeout="300ms", retries=1, retry_delay="100ms") as held:
        Ends(story).until("timed out")
        assert [(each.attempt, each.cancelled) for each in held.ran] == [(1, True), (2, True)]


# What falls into a run


def test_skip_passes_over_the_fires_that_fall_into_a_run(story: Story) -> None:
    with held_in(story, cron=EVERY_SECOND, overlap="skip") as held:
        held.until(lambda: held.inside)
        while_it_goes_on(story, EVERY_SECOND)
        held.let_go()
        held.until(lambda: len(held.ran) >= 3)
        first, second, third = [each.fire_time for each in held.ran[:3] if each.fire_time is not None]
        assert second - first > SECOND
        assert third - second == SECOND
        assert {each.source for each in held.ran} == {"scheduled"}


def test_queue_makes_one_of_them_good_right_after_the_run(story: Story) -> None:
    """The next fire is not so near that it is claimed ahead and stands for what was missed."""
    with held_in(story, cron=EVERY_SIX_SECONDS, overlap="queue") as held:
        held.until(lambda: held.inside)
        while_it_goes_on(story, EVERY_SIX_SECONDS)
        held.let_go()
        held.until(lambda: len(held.ran) >= 3)
        assert [each.source for each in held.ran[:3]] == ["scheduled", "misfire", "scheduled"]
        first, second, third = [each.fire_time for each in held.ran[:3] if each.fire_time is not None]
        assert second - first >= 12 * SECOND
        assert third - second == 6 * SECOND


def test_cancel_ends_the_run_and_the_fire_comes_in_its_place(story: Story) -> None:
    with held_in(story, cron=EVERY_TWO_SECONDS, overlap="cancel") as held:
        held.until(lambda: len(held.ran) >= 2)
        Ends(story).until_last("superseded")
        first, second = held.ran[:2]
        assert first.cancelled
        assert first.fire_time is not None
        assert second.fire_time == first.fire_time + 2 * SECOND
        assert second.token > first.token
        assert held.most == 1


def test_allow_runs_a_shard_beside_itself_once_for_each_fire(story: Story) -> None:
    with held_in(story, cron=EVERY_SECOND, overlap="allow") as held:
        held.until(lambda: len(held.inside) >= 3)
        fires = [each.fire_time for each in held.ran[:3] if each.fire_time is not None]
        assert [later - earlier for earlier, later in pairwise(fires)] == [SECOND] * 2
        assert {(each.item, each.source) for each in held.ran} == {(0, "scheduled")}


# How many at once


def test_no_more_shards_of_a_job_run_at_once_in_a_process_than_it_wants(story: Story) -> None:
    with held_in(story, shards=5, concurrency=2) as held:
        held.one_after_the_other(2, of=5)
        Ends(story).until(*["ok"] * 5)


def test_each_process_has_the_jobs_concurrency_to_itself(story: Story) -> None:
    here, there = Held(), Held()
    with a_member(story, A) as first, a_member(story, B) as second:
        for scheduler, held in ((first, here), (second, there)):
            scheduler.add(held, "job", shards=6, concurrency=2)
        story.until(lambda: sorted(story.owners(6)) == [A] * 3 + [B] * 3)
        first.trigger("job")
        here.until(lambda: len(here.inside) == 2)
        there.until(lambda: len(there.inside) == 2)
        here.one_after_the_other(2, of=3)
        there.one_after_the_other(2, of=3)


def test_jobs_of_a_group_share_its_places_in_the_whole_cluster_and_all_of_them_run(story: Story) -> None:
    held = Held()
    with a_member(story, A) as first, a_member(story, B) as second:
        for scheduler in (first, second):
            for job in ("one", "two"):
                scheduler.add(held, job, shards=4, concurrency=3, group="database")
        for job in ("one", "two"):
            story.until(lambda job=job: set(story.owners(4, job)) == {A, B})  # type: ignore[misc]
            first.trigger(job)
        held.one_after_the_other(3, of=8)
        for job in ("one", "two"):
            Ends(story, job).until(*["ok"] * 4)
    assert {(each.job_name, each.item) for each in held.ran} == {
        (job, item) for job in ("one", "two") for item in range(4)
    }
    instances = {each.task_id.rpartition("READY@-@")[2].partition("@-@")[0] for each in held.ran}
    assert instances == {A, B}


def test_a_job_with_a_single_thread_runs_its_shards_one_by_one_in_it(story: Story) -> None:
    with held_in(story, shards=4, pool="SINGLE_THREAD") as held:
        held.one_after_the_other(1, of=4)
        Ends(story).until(*["ok"] * 4)
        assert held.threads == {"shardwright-job_0"}


# What one shard does to others: nothing


def test_a_shard_that_fails_does_not_touch_its_siblings(story: Story) -> None:
    ran: Heard[Shard] = Heard()

    def body(shard: Shard) -> None:
        ran(shard)
        if shard.item == 1:
            raise ValueError("no such customer")

    with a_member(story) as scheduler:
        scheduler.add(body, "job", shards=4)
        for count in (4, 8):
            scheduler.trigger("job")
            ran.until(lambda all_, count=count: len(all_) == count)  # type: ignore[misc]
            Ends(story).until("ok", "failed", "ok", "ok")


def test_a_slow_shard_does_not_hold_up_the_next_fires_of_the_others(story: Story) -> None:
    held, others = Held(), Heard[Shard]()

    def body(shard: Shard) -> None:
        (held if shard.item == 0 else others)(shard)

    with a_member(story) as scheduler:
        scheduler.add(body, "job", cron=EVERY_SECOND, shards=3)
        held.until(lambda: held.inside)
        late = held.ran[0].fire_time
        assert late is not None
        others.until(lambda all_: _fires_after(late, all_, 1) >= 3 and _fires_after(late, all_, 2) >= 3)
        assert len(held.ran) == 1
        held.let_go()


def _fires_after(moment: object, shards: list[Shard], item: int) -> int:
    return len({each.fire_time for each in shards if each.item == item and each.fire_time > moment})  # type: ignore[operator]


# What an operator changes while the job is there


def test_a_new_timeout_holds_for_the_next_run(story: Story) -> None:
    held = Held()
    with listening() as heard, a_member(story) as scheduler:
        scheduler.add(held, "job", timeout="1h")
        scheduler.trigger("job")
        held.until(lambda: held.inside)
        changed(story, heard, "shardwright.timeout: 1h", "shardwright.timeout: 300ms")
        held.let_go(held.ran[0])
        Ends(story).until("ok")
        scheduler.trigger("job")
        Ends(story).until("timed out")
    assert [each.cancelled for each in held.ran] == [False, True]


def test_more_retries_hold_for_the_next_run(story: Story) -> None:
    flaky = Flaky(100)
    with listening() as heard, a_member(story) as scheduler:
        scheduler.add(flaky, "job", retries=1, retry_delay="50ms")
        for count in (2, 6):
            scheduler.trigger("job")
            flaky.tried.until(lambda all_, count=count: len(all_) == count)  # type: ignore[misc]
            Ends(story).until("failed")
            if count == 2:
                changed(story, heard, "shardwright.retries: '1'", "shardwright.retries: '3'")
    assert [attempt for attempt, _ in flaky.facts()] == [1, 2, 1, 2, 3, 4]


def test_another_pool_holds_for_the_next_run(story: Story) -> None:
    one_by_one, all_three, passed = Held(), threading.Barrier(3), Heard[int]()

    def together(shard: Shard) -> None:
        all_three.wait(PATIENCE)
        passed(shard.item)

    bodies: list[Callable[[Shard], None]] = [one_by_one, together]
    with listening() as heard, a_member(story) as scheduler:
        scheduler.add(lambda shard: bodies[0](shard), "job", shards=3, pool="SINGLE_THREAD")
        scheduler.trigger("job")
        one_by_one.one_after_the_other(1, of=3)
        Ends(story).until("ok", "ok", "ok")
        bodies.pop(0)
        changed(story, heard, "SINGLE_THREAD", "3")
        scheduler.trigger("job")
        passed.until(lambda all_: sorted(all_) == [0, 1, 2])


def test_cancel_ends_the_run_also_where_fires_come_every_second(story: Story) -> None:
    with held_in(story, cron=EVERY_SECOND, overlap="cancel") as held:
        held.until(lambda: len(held.ran) >= 2)
