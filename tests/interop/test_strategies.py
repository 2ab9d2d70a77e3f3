"""Shards are shared out alike, whoever leads."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from shardwright.coordination import instance
from shardwright.coordination.strategies import Question, answer, in_elasticjob_order

from .job import NAME, Job

pytestmark = pytest.mark.interop

#: Those that every published version has; SINGLE_SHARDING_BALANCE came later.
STRATEGIES = ("AVG_ALLOCATION", "ODEVITY", "ROUND_ROBIN")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_java_leader_and_a_python_leader_share_out_alike(
    job: Job, strategy: str, record_property: Callable[[str, object], None]
) -> None:
    job.cron, job.shards, job.strategy = "0/2 * * * * ?", 7, strategy
    members = [job.java("java-1"), job.java("java-2"), job.python("python-1"), job.python("python-2")]
    job.until_shared_out(7, *members)
    found = {}
    for kind in ("java", "python"):
        lead(job, kind)
        job.flag()
        job.until_shared_out(7, *members)
        found[kind] = job.owners()
    names = {job.id_of(peer): peer.who for peer in members}
    for kind, owners in found.items():
        record_property(f"{strategy} led by {kind}", [names[owners[item]] for item in range(7)])
    assert found["java"] == found["python"]
    workers = in_elasticjob_order([who for who in names if who is not None])
    assert found["python"] == answer(strategy, Question(NAME, workers, 7, datetime.now(UTC)))


def lead(job: Job, kind: str) -> None:
    """Have one of that kind lead: the leader's node goes, and all stand again, until the right one wins."""

    def won() -> bool:
        leader = job.leader()
        if leader is not None and instance.is_python(leader) != (kind == "python"):
            job.delete("leader/election/instance")
        return leader is not None and instance.is_python(leader) == (kind == "python")

    job.until(won)
