"""Who leads, how that ends, and that the work goes on: real schedulers, and an operator who writes nodes."""

import pytest

from tests.faults.processes import Child

from . import children
from .telling import EVERY_SECOND, ONCE_A_YEAR, PATIENCE, A, B, C, Story

ALL_ON_A = {0: A, 1: A, 2: A, 3: A}
ALL_ON_B = {0: B, 1: B, 2: B, 3: B}


def test_when_the_leaders_server_is_disabled_another_leads_and_runs_everything(story: Story) -> None:
    first, second = story.two()
    story.set_server(A, "DISABLED")
    story.until(lambda: story.leader() == B and set(story.owners()) == {B})
    story.until_they_say((first, second), False, True)
    assert story.ask_for_a_run() == ALL_ON_B


def test_when_all_servers_are_disabled_none_leads_and_nothing_fires(story: Story) -> None:
    first, second = story.two(cron=EVERY_SECOND)
    for server in (A, B):
        story.set_server(server, "DISABLED")
    story.until_they_say((first, second), False, False)
    story.until(lambda: story.leader() is None)
    assert story.nothing_fires()
    assert story.right_now("leader/election/instance") == [None]


def test_when_one_of_them_is_enabled_again_it_leads_and_its_fires_go_on(story: Story) -> None:
    _, second = story.two(cron=EVERY_SECOND)
    for server in (A, B):
        story.set_server(server, "DISABLED")
    story.until(lambda: story.leader() is None)
    story.set_server(B, "ENABLED")
    story.until(lambda: story.leader() == B)
    assert second.is_leader("job")
    assert story.next_fire() == ALL_ON_B


def test_when_the_leader_exits_in_order_another_leads_and_has_its_shards_before_it_is_gone(
    story: Story,
) -> None:
    first, second = story.two()
    first.stop()
    leader, *owners = story.right_now(
        "leader/election/instance", *(f"sharding/{item}/instance" for item in range(4))
    )
    assert leader == story.instance_of(B)
    assert owners == [leader] * 4
    assert second.is_leader("job")
    assert story.ask_for_a_run() == ALL_ON_B


@pytest.mark.parametrize(
    ("how", "code"), [("by sys.exit", 3), ("at the end of its program", 0), ("by an error", 1)]
)
def test_a_leader_whose_process_ends_has_handed_over_before_it_is_gone_however_it_ends(
    story: Story, how: str, code: int
) -> None:
    with Child(children.lead_and_end, story.url, A, 4, how, listens=True) as leaving:
        leaving.expect("leads")
        story.start(B, shards=4)
        story.until(lambda: set(story.owners()) == {A, B})
        of_it, successor = story.instance_of(A), story.instance_of(B)
        leaving.tell("end")
        assert leaving.wait(PATIENCE) == code
    gone, leader, *owners = story.right_now(
        f"instances/{of_it}", "leader/election/instance", *(f"sharding/{item}/instance" for item in range(4))
    )
    assert gone is None
    assert [leader, *owners] == [successor] * 5


def test_when_an_instance_node_is_deleted_that_job_stops_on_that_member_only(story: Story) -> None:
    first, second = story.two("job", "other")
    story.order_to_stop(A, "job")
    story.until(lambda: story.leader() == B and set(story.owners()) == {B})
    story.until_they_say((first, second), False, True)
    assert story.ask_for_a_run() == ALL_ON_B
    assert story.leader("other") == A
    assert set(story.ask_for_a_run(job="other").values()) == {A, B}


def test_a_job_that_starts_disabled_takes_no_part_until_its_server_is_enabled(story: Story) -> None:
    first, second = (story.start(server, cron=EVERY_SECOND, shards=4, disabled=True) for server in (A, B))
    story.until(lambda: len(story.tree().children("instances")) == 2)
    assert (first.is_leader("job"), second.is_leader("job")) == (False, False)
    assert story.nothing_fires()
    story.set_server(A, "ENABLED")
    story.until(lambda: story.leader() == A)
    assert story.next_fire() == ALL_ON_A


def test_a_server_that_an_operator_disabled_is_not_enabled_by_a_restart(story: Story) -> None:
    first, _ = story.two()
    story.set_server(A, "DISABLED")
    first.stop()
    story.start(A, shards=4)
    story.until(lambda: len(story.tree().children("instances")) == 2)
    assert story.ask_for_a_run() == ALL_ON_B
    assert story.right_now(f"servers/{A}") == ["DISABLED"]
    story.set_server(A, "ENABLED")
    story.until(lambda: set(story.owners()) == {A, B})


def test_two_jobs_have_two_leaders_at_the_same_time_and_both_share_their_shards(story: Story) -> None:
    first, second = story.start(A, "one", shards=2), story.start(B, "two", shards=2)
    story.until(lambda: (story.leader("one"), story.leader("two")) == (A, B))
    first.add(story.note(A), "two", cron=ONCE_A_YEAR, shards=2)
    second.add(story.note(B), "one", cron=ONCE_A_YEAR, shards=2)
    story.until(lambda: set(story.owners(2, "one")) == set(story.owners(2, "two")) == {A, B})
    assert (story.leader("one"), story.leader("two")) == (A, B)
    story.until_they_say((first, second), True, False, job="one")
    story.until_they_say((first, second), False, True, job="two")
    for job in ("one", "two"):
        assert sorted(story.ask_for_a_run(2, job).values()) == [A, B]


def test_when_the_leader_is_killed_another_leads_and_the_shards_are_shared_out_anew(story: Story) -> None:
    with Child(children.lead, f"{story.url}?session_timeout=4s", A, 4) as victim:
        victim.expect("leads")
        for server in (B, C):
            story.start(server, shards=4)
        story.until(lambda: set(story.owners()) == {A, B, C})
        assert story.leader() == A
        victim.kill()
        story.until(lambda: story.leader() in (B, C))
        story.until(lambda: sorted(story.owners()) == [B, B, C, C])
        assert sorted(story.ask_for_a_run().values()) == [B, B, C, C]
