"""Shards are shared out alike, whoever leads."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import pytest

from shardwright.coordination import instance
from shardwright.coordination.strategies import Question, answer, in_elasticjob_order

from .job import NAME, Job, Peer

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
    for kind, others in (("java", members[2:]), ("python", members[:2])):
        have_others_lead(job, others)
        job.until_shared_out(7, *members)
        leader = job.leader()
        assert leader is not None
        assert instance.is_python(leader) == (kind == "python")
        found[kind] = job.owners()
    names = {job.id_of(peer): peer.who for peer in members}
    for kind, owners in found.items():
        record_property(f"{strategy} led by {kind}", [names[owners[item]] for item in range(7)])
    assert found["java"] == found["python"]
    workers = in_elasticjob_order([who for who in names if who is not None])
    assert found["python"] == answer(strategy, Question(NAME, workers, 7, datetime.now(UTC)))


def have_others_lead(job: Job, members: Sequence[Peer]) -> None:
    """Disable these for a while."""
    ids = {str(job.id_of(peer)) for peer in members}
    server = f"servers/{instance.address_of(ids.copy().pop())}"
    job.put(server, "DISABLED")
    job.until(lambda: job.leader() not in {None, *ids} and ids.isdisjoint(map(str, job.owners().values())))
    job.put(server, "ENABLED")
