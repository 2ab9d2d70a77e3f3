"""The model of a Java member does what ElasticJob does, by itself and among ours."""

from collections import Counter

import pytest

from shardwright.jobs import JobConfig
from shardwright.registry import Create, Delete, Put

from .java import LEADER, NECESSARY, WAITING, JavaMember
from .world import ROOT, World


def config(**changes: object) -> JobConfig:
    return JobConfig.of(
        {
            "name": "job",
            "cron": "0/10 * * * * ?",
            "time_zone": "UTC",
            "shards": 4,
            "failover": True,
            **changes,
        }
    )


def times(first: int, last: int, shards: int = 4) -> dict[tuple[str, int], int]:
    """Each shard once for each fire, every ten seconds from the first to the last."""
    seconds = range(first, last + 1, 10)
    return {(f"00:0{s // 60}:{s % 60:02d}", item): 1 for s in seconds for item in range(shards)}


def join_java(world: World, *, lengths: tuple[float, ...] | None = None) -> JavaMember:
    """One after the other: two that start at the same moment may sweep each other's server away."""
    member = world.join_java(lengths=lengths)
    world.advance(1.0)
    return member


def until(world: World, moment: float) -> None:
    world.advance(moment - world.clock.boot())


def data(world: World, path: str) -> str | None:
    node = world.store.nodes.get(f"{ROOT}/{path}")
    return None if node is None else node.data


def owners(world: World) -> list[str | None]:
    return [data(world, f"sharding/{item}/instance") for item in range(world.config.shards)]


def left(world: World, part: str) -> list[str]:
    """The job's nodes that have this in their path."""
    return [path for path in sorted(world.store.nodes) if path.startswith(ROOT) and part in path]


def fires(world: World) -> Counter[tuple[str, int]]:
    """How often each scheduled fire of each shard ran, whoever ran it."""
    java = [(fire[11:19], item) for _, _, item, fire in world.java_runs if not fire.startswith("#")]
    ours = [(started.claim.fire[11:19], started.claim.item) for started in world.started]
    return Counter(java + ours)


def blink(world: World, member: JavaMember) -> None:
    """Cut a member off for two seconds, which its session survives, and let it do what it does then."""
    member.registry.disconnect()
    world.advance(2)
    member.registry.reconnect()
    world.advance(1)


def test_a_java_member_alone_elects_itself_and_runs_every_shard_once_per_fire() -> None:
    world = World(1, config(), lengths=(0.1,))
    java = join_java(world)
    until(world, 65)
    assert data(world, LEADER) == java.me
    assert owners(world) == [java.me] * 4
    assert fires(world) == times(10, 60)
    assert len(world.java_runs) == 24
    assert not left(world, "/running") + left(world, "/necessary") + left(world, "/processing")


def test_two_java_members_share_the_shards_the_greater_id_first() -> None:
    world = World(2, config(shards=5), lengths=(0.1,))
    one, two = join_java(world), join_java(world)
    until(world, 35)
    assert owners(world) == [two.me, two.me, one.me, one.me, two.me]
    assert fires(world) == times(10, 30, shards=5)
    assert not left(world, "/latch/")


@pytest.mark.parametrize("seed", range(5))
def test_what_a_crashed_java_member_was_running_is_taken_over_by_the_other(seed: int) -> None:
    world = World(seed, config(), lengths=(5.0,))
    victim, survivor = join_java(world), join_java(world)
    until(world, 12)
    orphans = sorted(victim.runs)
    world.crash_java(victim)
    until(world, 42)
    rescued = [(who, item) for _, who, item, fire in world.java_runs if fire == "#failover"]
    assert orphans == [2, 3]
    assert sorted(rescued) == [(survivor.me, 2), (survivor.me, 3)]
    assert owners(world) == [survivor.me] * 4
    assert not left(world, f"/{WAITING}/")
    assert not [path for path in left(world, "/failover") if path.startswith(f"{ROOT}/sharding/")]


def test_without_failover_nobody_runs_what_a_crashed_java_member_was_running() -> None:
    world = World(3, config(failover=False), lengths=(5.0,))
    victim, survivor = join_java(world), join_java(world)
    until(world, 12)
    world.crash_java(victim)
    until(world, 42)
    assert not [fire for _, _, _, fire in world.java_runs if fire.startswith("#")]
    assert owners(world) == [survivor.me] * 4


def test_a_short_cut_makes_a_java_member_blink_and_take_the_marks_from_its_own_runs() -> None:
    world = World(4, config(), lengths=(8.0,))
    java = join_java(world)
    until(world, 12)
    before = world.store.nodes[f"{ROOT}/instances/{java.me}"]
    assert [java.keeps(item) for item in range(4)] == [True] * 4
    blink(world, java)
    after = world.store.nodes[f"{ROOT}/instances/{java.me}"]
    assert after.owner == before.owner
    assert after.made > before.made
    assert [java.keeps(item) for item in range(4)] == [False] * 4
    assert {run.zombie for run in java.runs.values()} == {"its own reconnect took its mark away"}
    assert not java.stopped


def test_a_blink_may_have_another_java_member_run_what_still_runs() -> None:
    """Who is first decides: the one that puts the shard up, or the one that takes the mark away."""

    def both_run(seed: int) -> bool:
        world = World(seed, config(shards=1), lengths=(16.0,))
        idle, runner = join_java(world), join_java(world)
        until(world, 14)
        blink(world, runner)
        return (list(idle.runs), list(runner.runs)) == ([0], [0])

    assert {both_run(seed) for seed in range(20)} == {True, False}


def test_a_run_whose_session_is_lost_goes_on_as_a_zombie_and_its_member_comes_back_under_its_old_id() -> None:
    world = World(6, config(), lengths=(30.0,))
    java = join_java(world)
    until(world, 12)
    java.registry.expire()
    world.advance(3)
    assert [run.zombie for run in java.runs.values()] == ["its session was lost"] * 4
    assert data(world, f"instances/{java.me}") is not None
    assert not java.stopped


def test_a_java_leader_waits_for_running_shards_before_it_reshards_and_the_flag_stays_up_meanwhile() -> None:
    world = World(7, config(), lengths=(0.1,))
    leader, slow = join_java(world), join_java(world, lengths=(14.0,))
    until(world, 12)
    before = owners(world)
    newcomer = join_java(world)
    until(world, 22)
    assert list(slow.runs) == [0, 1]
    assert data(world, LEADER) == leader.me
    assert data(world, NECESSARY) is not None
    assert owners(world) == before
    until(world, 26)
    assert data(world, NECESSARY) is None
    assert newcomer.me in owners(world)
    assert [at > 24 for at, who, _, fire in world.java_runs if who == leader.me and fire[17:19] == "20"] == [
        True
    ]


def test_java_makes_a_missed_fire_good_only_after_the_next_one() -> None:
    world = World(8, config(shards=1), lengths=(0.1,))
    join_java(world, lengths=(13.0,))
    until(world, 50)
    assert [(round(at), fire[17:19] or fire) for at, _, _, fire in world.java_runs] == [
        (10, "10"),
        (30, "30"),
        (43, "#misfire"),
    ]


def test_a_trigger_fires_an_idle_java_member_at_once_and_is_lost_on_a_busy_one() -> None:
    world = World(9, config(), lengths=(0.1,))
    java = join_java(world, lengths=(3.0,))
    until(world, 15)
    for _ in range(2):  # the second falls into the run that the first began
        world.operator(Create(f"{ROOT}/trigger/{java.me}"))
        world.advance(1)
        assert data(world, f"trigger/{java.me}") is None
    until(world, 19.5)
    assert Counter(item for _, _, item, fire in world.java_runs if fire == "#trigger") == dict.fromkeys(
        range(4), 1
    )


def test_a_java_member_whose_node_is_deleted_stops_for_good_and_another_leads() -> None:
    world = World(10, config(), lengths=(0.1,))
    first, second = join_java(world), join_java(world)
    until(world, 15)
    world.operator(Delete(f"{ROOT}/instances/{first.me}"))
    until(world, 35)
    assert first.stopped
    assert data(world, LEADER) == second.me
    assert owners(world) == [second.me] * 4


def test_a_java_member_whose_server_is_disabled_is_given_nothing() -> None:
    world = World(11, config(), lengths=(0.1,))
    first, second = join_java(world), join_java(world)
    until(world, 15)
    world.operator(Put(f"{ROOT}/servers/10.0.1.2", "DISABLED"))
    until(world, 35)
    assert owners(world) == [first.me] * 4
    assert {who for at, who, _, _ in world.java_runs if at > 15} == {first.me}
    assert fires(world) == times(10, 30)
    assert not second.stopped


def test_a_java_leader_whose_server_is_disabled_abdicates() -> None:
    world = World(11, config(), lengths=(0.1,))
    _, second = join_java(world), join_java(world)
    until(world, 15)
    world.operator(Put(f"{ROOT}/servers/10.0.1.1", "DISABLED"))
    until(world, 35)
    assert data(world, LEADER) == second.me
    assert {who for at, who, _, _ in world.java_runs if at > 15} == {second.me}


def test_the_one_shard_of_a_job_that_goes_round_runs_on_one_java_member_after_the_other() -> None:
    rounds = config(shards=1, strategy="SINGLE_SHARDING_BALANCE")
    world = World(1, rounds, lengths=(0.1,))
    members = sorted(join_java(world).me for _ in range(3))
    until(world, 95)
    assert fires(world) == times(10, 90, shards=1)
    ran = [who for _, who, _, _ in world.java_runs]
    assert [sorted(ran[first : first + 3]) for first in range(0, 9, 3)] == [members] * 3


@pytest.mark.parametrize("order", ["jp", "pj", "jpp", "jjp"])
def test_the_one_shard_goes_round_among_both_kinds_and_runs_once_per_fire(order: str) -> None:
    world = World(2, config(shards=1, strategy="SINGLE_SHARDING_BALANCE"), lengths=(0.1,))
    for kind in order:
        if kind == "j":
            join_java(world)
        else:
            world.join()
            world.advance(1.0)
    until(world, 155)
    assert fires(world) == times(10, 150, shards=1)


def test_the_same_seed_tells_the_same_story() -> None:
    def story() -> list[str]:
        world = World(12, config(), lengths=(0.1, 4.0, 12.0))
        victim, _ = join_java(world), join_java(world)
        world.join()
        world.advance(33)
        world.crash_java(victim)
        world.advance(60)
        return world.log

    assert story() == story()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("order", ["jpp", "pjp", "ppj"])
def test_one_java_and_two_python_members_run_each_shard_once_per_fire(order: str, seed: int) -> None:
    world = World(seed, config(shards=5), lengths=(0.1,))
    for kind in order:
        join_java(world) if kind == "j" else world.join()
    until(world, 123)
    assert fires(world) == times(10, 120, shards=5)
    assert len(set(owners(world))) == 3
