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


class Asker:
    """One that asks all of a job while others come, and whose requests take a second."""

    def __init__(self) -> None:
        self.cluster = Cluster()
        self._other, self._registry = self.cluster.store.connect(), self.cluster.store.connect()
        self.make("instances/a")
        self._registry.mirror(f"{self._registry.namespace}/job")
        self.wait(1)
        self._registry.delay(requests=1.0)
        self.asked = Asking(self._registry, "job", "").begin()

    def make(self, *paths: str) -> None:
        self._other.commit(*(Create(self._path(path)) for path in paths))

    def has(self, path: str) -> bool:
        return self._path(path) in self.cluster.store.nodes

    def wait(self, seconds: int) -> None:
        for _ in range(seconds):
            self.cluster.advance(seconds=1)
            self._registry.pump()

    def _path(self, path: str) -> str:
        return f"{self._other.namespace}/job/{path}"


def test_who_came_and_was_asked_by_somebody_else_has_not_been_left_out() -> None:
    asker = Asker()
    asker.make("instances/c")
    asker.wait(2)  # the request has landed, then it is seen who has come
    asker.make("trigger/c")
    asker.wait(3)
    assert isinstance(asker.asked.result(), Landed)


def test_who_comes_while_one_who_had_come_is_asked_by_somebody_else_is_asked_too() -> None:
    asker = Asker()
    asker.make("instances/c")
    asker.wait(2)
    asker.make("trigger/c", "instances/d")
    asker.wait(6)
    assert isinstance(asker.asked.result(), Landed)
    assert asker.has("trigger/d")


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
