"""Founding: who makes a job is alone in it, and begins it in one commit."""

from dataclasses import replace

from shardwright import coordination, elasticjob
from shardwright.coordination import gap, instance, leader, server, settings, sharding
from shardwright.coordination.step import Adopt, Create, Step
from shardwright.coordination.view import Local, Nodes, View
from shardwright.registry.tree import Mirror, Node
from shardwright.registry.writes import weight
from shardwright.testing import Cluster
from tests.simulation.test_origins import Story

from .test_remaking import hourly
from .test_settings import KIND, of
from .views import A, a_view


def nobody_has_it(left: str = "") -> View:
    """A view of a job that is not there, except for what may be left of ours."""
    own = Mirror("/ns~shardwright/job/watched")
    if left:
        own.put(left, Node("", 0, "", 1, 1), 0.0)
    return replace(a_view({}), tree=Nodes(Mirror("/ns/job"), own), kind=KIND)


def founded(view: View) -> Step:
    (step,) = coordination.decide(view)
    assert isinstance(step, Step)
    return step


def test_who_finds_nothing_makes_the_settings_itself_leads_and_owns_everything_in_one_commit() -> None:
    view = nobody_has_it()
    card = elasticjob.write_instance(elasticjob.Instance(A, instance.address_of(A)))
    text = elasticjob.write_config(of())
    assert founded(view) == Step(
        (
            Create(settings.ROOT, KIND),
            Create(settings.NODE, text),
            Create(server.mine(view), "ENABLED"),
            Create(instance.node(A), card, ephemeral=True),
            Create(instance.alive_node(A), view.local.since.isoformat(), ephemeral=True),
            Create(leader.TERM, A),
            Create(leader.NODE, A, ephemeral=True),
            Create(gap.NODE, gap.first(view).text()),
            Create(sharding.owner_node(0), A),
            Create(sharding.owner_node(1), A),
        ),
        Adopt(text, of()),
    )


def test_it_is_begun_by_what_our_code_declares() -> None:
    view = replace(nobody_has_it(), declared=of(shards=5))
    owners = [write.path for write in founded(view).writes if write.path.startswith("sharding/")]
    assert owners == [sharding.owner_node(item) for item in range(5)]


def test_who_starts_disabled_makes_the_settings_and_leaves_the_rest_for_later() -> None:
    view = replace(nobody_has_it(), declared=of(disabled=True))
    assert [write.path for write in founded(view).writes] == [settings.ROOT, settings.NODE]


def test_where_something_is_left_of_a_job_that_was_removed_the_ordinary_way_is_taken() -> None:
    view = nobody_has_it(left="term")
    assert [write.path for write in founded(view).writes] == [settings.ROOT, settings.NODE]


def test_who_is_to_leave_founds_nothing() -> None:
    for local in (Local(draining=True), Local(stopped=True)):
        decided = coordination.decide(replace(nobody_has_it(), local=local))
        assert [each for each in decided if isinstance(each, Step) and each.writes] == []


def test_of_very_many_shards_as_many_are_given_as_the_registry_takes_at_a_time() -> None:
    view = replace(nobody_has_it(), declared=of(shards=10_000), room=20_000)
    writes = founded(view).writes
    given = [write for write in writes if write.path.startswith("sharding/")]
    assert 0 < len(given) < 10_000
    assert weight(given) <= view.room


def test_how_it_stands_is_written_with_it_and_not_once_more() -> None:
    cluster = Cluster()
    cluster.start(hourly("all"))
    cluster.advance(minutes=5)
    node = cluster.store.nodes["/shardwright~shardwright/job/watched/gap"]
    assert (node.version, node.written) == (0, cluster.store.nodes["/shardwright/job"].made)


def test_of_two_who_start_at_once_one_founds_the_job_and_both_come_to_share_it() -> None:
    world = Story(shards=4)
    for process in (world.join(), world.join()):
        process.registry.delay(requests=0.5)  # so both have looked before either is heard
    world.advance(20)
    assert world.elections() == 1
    owners = world.owners()
    assert sorted(owners.count(process.member.me) for process in world.processes.values()) == [2, 2]
    assert world.line("leader/election/latch") == []
