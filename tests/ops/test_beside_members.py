"""What an operator does takes effect in real members, on SQLite and on ZooKeeper."""

import threading
from collections.abc import Callable, Iterator

import pytest

from shardwright import Shard
from shardwright.ops import jobs, looking, preview, shards, steering
from shardwright.ops.audit import Action
from shardwright.ops.operator import Operator
from shardwright.ops.shards import State
from shardwright.registry import connect
from tests.stories.conftest import story as story
from tests.stories.conftest import url as url
from tests.stories.telling import ONCE_A_YEAR, PATIENCE, A, B, Story, told


def ignored(action: Action) -> None:
    """Nobody reads it here."""


@pytest.fixture
def operator(story: Story) -> Iterator[Operator]:
    with connect(story.url) as registry:
        yield Operator(registry, who="ann", audit=ignored)


def until(operator: Operator, true: Callable[[], bool]) -> None:
    """Follow both trees of the job until something is true of them."""
    namespace = operator.registry.namespace
    roots = [f"{namespace}/job", f"{namespace}~shardwright/job"]
    looking.wait_until(operator.registry, roots, true, PATIENCE, "it")


def ended(operator: Operator, item: int) -> Callable[[], bool]:
    return lambda: shards.of(operator.registry, "job")[item].last_outcome != ""


def owners(operator: Operator) -> list[str]:
    return [item.server for item in shards.of(operator.registry, "job")]


def test_every_shard_runs_that_a_job_was_asked_for(story: Story, operator: Operator) -> None:
    story.two()
    operator.trigger("job")
    story.until_ran(lambda: len(story.ran) >= 4)
    assert told(story.ran).keys() == {0, 1, 2, 3}


def test_only_those_shards_run_that_were_asked_for_and_again_when_asked_again(
    story: Story, operator: Operator
) -> None:
    story.two()
    operator.trigger("job", shards=[2])
    story.until_ran(lambda: len(story.ran) >= 1)
    until(operator, ended(operator, 2))
    operator.trigger("job", shards=[2, 3])
    story.until_ran(lambda: len(story.ran) >= 3)
    until(operator, ended(operator, 3))
    until(operator, lambda: shards.of(operator.registry, "job")[2].state is State.PENDING)
    operator.trigger("job")
    story.until_ran(lambda: len(story.ran) >= 7)
    assert [ran.item for ran in story.ran[:1]] == [2]
    assert sorted(ran.item for ran in story.ran[1:3]) == [2, 3]
    assert sorted(ran.item for ran in story.ran[3:]) == [0, 1, 2, 3]


def test_a_run_has_the_parameter_it_was_asked_for_with(story: Story, operator: Operator) -> None:
    story.two()
    operator.trigger("job", shards=[2], parameter="page 7")
    story.until_ran(lambda: len(story.ran) >= 1)
    operator.trigger("job", parameter="since yesterday")
    story.until_ran(lambda: len(story.ran) >= 5)
    assert [ran.parameter for ran in story.ran] == ["page 7", *["since yesterday"] * 4]


def test_an_instance_that_is_drained_hands_its_shards_over_and_can_be_shut_down(
    story: Story, operator: Operator
) -> None:
    story.two()
    who = story.instance_of(A)
    expected = preview.leave(operator.registry, "job", who)
    operator.drain("job", who)
    steering.wait_drained(operator.registry, "job", who, patience=PATIENCE)
    assert owners(operator) == [B] * 4
    assert {item.owner for item in shards.of(operator.registry, "job")} == set(expected.owners.values())
    assert jobs.detail(operator.registry, "job").draining == (who,)
    operator.shutdown("job", instance=who)
    assert story.ask_for_a_run() == {0: B, 1: B, 2: B, 3: B}


def test_an_instance_that_is_not_drained_any_more_works_again(story: Story, operator: Operator) -> None:
    story.two()
    who = story.instance_of(B)
    operator.drain("job", who)
    steering.wait_drained(operator.registry, "job", who, patience=PATIENCE)
    assert operator.drain("job", who).changed == ()
    operator.undrain("job", who)
    story.until(lambda: set(story.owners()) == {A, B})
    assert operator.undrain("job", who).changed == ()
    assert set(story.ask_for_a_run().values()) == {A, B}


def test_an_instance_is_not_drained_before_what_it_runs_has_ended(story: Story, operator: Operator) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def wait(shard: Shard) -> None:
        begun.set()
        assert go_on.wait(PATIENCE)

    slow = story.start(A, "other")
    slow.add(wait, "job", cron=ONCE_A_YEAR, shards=1)
    story.until(lambda: story.owners(1) == [A])
    who = story.instance_of(A)
    operator.trigger("job")
    assert begun.wait(PATIENCE)
    story.start(B, shards=1)
    story.until(lambda: len(story.tree().children("instances")) == 2)
    operator.drain("job", who)
    until(operator, lambda: shards.of(operator.registry, "job")[0].next_owner != "")
    assert not steering.drained(operator.registry, "job", who)
    with pytest.raises(TimeoutError, match=f"for {who} to have nothing of the job 'job' any more"):
        steering.wait_drained(operator.registry, "job", who, patience=0.01)
    go_on.set()
    steering.wait_drained(operator.registry, "job", who, patience=PATIENCE)
    assert owners(operator) == [B]


def test_a_job_is_removed_by_force_from_under_its_members_who_stop(story: Story, operator: Operator) -> None:
    first, _ = story.two()
    done = operator.remove("job", force=True, patience=PATIENCE)
    assert done.changed[-1] == "the job 'job' is removed"
    assert jobs.names(operator.registry) == ()
    beside = f"{operator.registry.namespace}~shardwright"
    left = operator.registry.wait(operator.registry.names([beside], fresh=True))[beside] or ()
    assert "job" not in left
    first.resume("job")
    story.until(lambda: story.owners() == [A] * 4)


def test_settings_that_are_updated_are_taken_up_by_all(story: Story, operator: Operator) -> None:
    story.two()
    expected = preview.resize(operator.registry, "job", 6).owners
    operator.update("job", {"shards": 6})
    until(
        operator,
        lambda: {item.item: item.owner for item in shards.of(operator.registry, "job")} == expected,
    )
