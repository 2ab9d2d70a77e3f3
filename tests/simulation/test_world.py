"""Short stories of a cluster: one thing happens, and it is told what becomes of it."""

from collections import Counter

from shardwright.jobs import JobConfig

from .world import World


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


def test_three_quiet_processes_share_the_shards_and_run_each_once_per_fire() -> None:
    world = World(1, config(), lengths=(0.1,))
    for _ in range(3):
        world.join()
    world.advance(65)
    ran = Counter((started.claim.fire[11:19], started.claim.item) for started in world.started)
    assert ran == {(f"00:0{s // 60}:{s % 60:02d}", item): 1 for s in range(10, 70, 10) for item in range(4)}
    assert {started.who for started in world.started} == {"p1", "p2", "p3"}


def test_a_killed_process_has_its_shards_run_elsewhere_in_the_same_fire() -> None:
    world = World(2, config(), lengths=(5.0,))
    for _ in range(2):
        world.join()
    world.advance(10)
    victim = world.processes[world.started[0].who]
    orphans = sorted(item for item, _ in victim.running)
    world.crash(victim)
    world.advance(25)
    rescued = sorted(s.claim.item for s in world.started if s.claim.source.value == "failover")
    assert orphans
    assert rescued == orphans


def test_a_late_run_is_followed_at_once_by_the_fire_it_missed_and_by_one_only() -> None:
    world = World(3, config(shards=1), lengths=(35.0, 0.1))
    world.join()
    world.advance(60)
    assert [(s.at, s.claim.fire[14:19], s.claim.source.value) for s in world.started][:3] == [
        (9.0, "00:10", "scheduled"),
        (44.0, "00:40", "misfire"),
        (49.0, "00:50", "scheduled"),
    ]


def test_without_misfire_what_falls_into_a_run_is_passed_over() -> None:
    world = World(3, config(shards=1, misfire=False), lengths=(35.0, 0.1))
    world.join()
    world.advance(60)
    assert [(s.at, s.claim.fire[14:19]) for s in world.started][:2] == [(9.0, "00:10"), (49.0, "00:50")]


def test_the_first_fire_of_a_new_job_is_run() -> None:
    world = World(4, config(), lengths=(0.1,))
    world.advance(8.5)
    world.join()
    world.advance(2)
    assert sorted(s.claim.item for s in world.started) == [0, 1, 2, 3]
