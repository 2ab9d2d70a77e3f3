"""Asking all members of a job to fire, while some come and go."""

from shardwright import Scheduler, Shard
from shardwright.registry import Create, Landed, Unknown
from shardwright.runtime.asking import Asking
from shardwright.testing import Cluster, Replica


def fleet(cluster: Cluster, count: int) -> list[Replica]:
    def nothing(shard: Shard) -> None: ...

    found = []
    for _ in range(count):
        scheduler = Scheduler("memory://")
        scheduler.add(nothing, "job", shards=3)
        found.append(cluster.start(scheduler))
    cluster.advance(seconds=5)
    return found


def ran(*replicas: Replica) -> list[int]:
    return sorted(run.item for replica in replicas for run in replica.runs)


def test_everybody_is_asked_and_each_shard_runs() -> None:
    cluster = Cluster()
    replicas = fleet(cluster, 2)
    asked = replicas[1].process.trigger("job")
    cluster.advance(seconds=1)
    assert isinstance(asked.result().result(), Landed)
    assert ran(*replicas) == [0, 1, 2]


def test_who_comes_while_the_others_are_asked_is_asked_too() -> None:
    """It has been given the shard of one who was asked, before that could hear of it."""
    cluster = Cluster()
    replicas = fleet(cluster, 2)
    replicas[1].registry.delay(requests=2.0)
    asked = replicas[1].process.trigger("job")
    cluster.settle()
    replicas += fleet(cluster, 1)
    cluster.advance(seconds=10)
    assert isinstance(asked.result().result(), Landed)
    assert ran(*replicas) == [0, 1, 2]
    assert len(replicas[2].runs) == 1


def test_who_asks_and_is_cut_off_before_it_can_look_who_has_come_is_told_what_is_known() -> None:
    cluster = Cluster()
    registry, process = fleet(cluster, 1)[0].registry, cluster.replicas[0].process
    registry.delay(answers=1.0)
    asked = process.trigger("job")
    cluster.advance(seconds=1.5)
    registry.disconnect(lose_requests=True)
    cluster.advance(seconds=30)
    assert isinstance(asked.result().result(), Landed)


def test_who_came_and_was_asked_by_somebody_else_has_not_been_left_out() -> None:
    cluster = Cluster()
    other, registry = cluster.store.connect(), cluster.store.connect()
    other.commit(Create(f"{other.namespace}/job/instances/a"))
    registry.mirror(f"{registry.namespace}/job")

    def pass_time(seconds: float) -> None:
        cluster.advance(seconds=seconds)
        registry.pump()

    pass_time(1)
    registry.delay(requests=1.0)
    asked = Asking(registry, "job", "").begin()
    other.commit(Create(f"{other.namespace}/job/instances/c"))
    for _ in range(2):  # the request has landed, then it is seen who has come
        pass_time(1)
    other.commit(Create(f"{other.namespace}/job/trigger/c"))
    for _ in range(3):
        pass_time(1)
    assert isinstance(asked.result(), Landed)


def test_where_who_came_cannot_be_asked_any_more_it_is_said_that_the_others_were() -> None:
    cluster = Cluster()
    replicas = fleet(cluster, 2)
    registry, process = replicas[1].registry, replicas[1].process
    registry.delay(requests=2.0)
    asked = process.trigger("job")
    cluster.settle()
    replicas += fleet(cluster, 1)  # five seconds: the request has landed, and the next one is on its way
    registry.disconnect(lose_requests=True)
    cluster.advance(seconds=30)
    outcome = asked.result().result()
    assert isinstance(outcome, Unknown)
    assert outcome.why.startswith("all were asked but who came meanwhile: ")
