"""What a fire asks of ZooKeeper once everything has settled: a start, an end, and nothing to read."""

import threading

import pytest

from shardwright import Scheduler, Shard
from tests.faults.proxy import Proxy
from tests.zookeeper_server import Server

pytestmark = [pytest.mark.zookeeper, pytest.mark.slow]

PATIENCE = 30.0


def test_nothing_is_read_while_nothing_happens_but_fires(zookeeper: Server) -> None:
    """Each of two members has shards of its own, and is told of the other's marks without their data."""
    news = threading.Condition()
    owners: dict[str, list[str]] = {}

    def ran(where: str, shard: Shard) -> None:
        with news:
            owners.setdefault(str(shard.fire_time), []).append(where)
            news.notify_all()

    def fires() -> int:
        """How many fires were shared by both."""
        return sum(sorted(each) == ["10.0.0.1"] * 2 + ["10.0.0.2"] * 2 for each in owners.values())

    def wait_for(more: int) -> None:
        with news:
            enough = fires() + more
            assert news.wait_for(lambda: fires() >= enough, PATIENCE), owners

    with Proxy(zookeeper.hosts) as proxy:
        url = f"zookeeper://{proxy.hosts}/requests"
        first, second = (Scheduler(url, address=f"10.0.0.{number}") for number in (1, 2))
        first.add(lambda shard: ran("10.0.0.1", shard), "tick", cron="* * * * * ?", shards=4, failover=True)
        second.add(lambda shard: ran("10.0.0.2", shard), "tick", cron="* * * * * ?", shards=4, failover=True)
        with first, second:
            wait_for(3)
            proxy.reset_counts()
            wait_for(4)
            asked = proxy.requests.keys() - {"ping"}
    assert asked == {"multi"}
