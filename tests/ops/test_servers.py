"""Machines over all jobs, and a namespace in numbers."""

import json
from datetime import UTC, datetime

import pytest

from shardwright.coordination.claim import Cursor, Tenure
from shardwright.errors import OperationError
from shardwright.ops import servers, statistics
from shardwright.ops.servers import Server, ServerJob
from shardwright.registry import Create, connect

from .bureau import JAVA, JAVA2, PY, Bureau, card


@pytest.fixture
def two_jobs(any_bureau: Bureau) -> Bureau:
    any_bureau.of(JAVA, JAVA2, job="a", shards=2, owners={0: JAVA, 1: JAVA2})
    any_bureau.of(JAVA, job="b", owners={0: JAVA})
    any_bureau.set("servers/192.0.2.2", "DISABLED", "b")
    any_bureau.put({"sharding/0/running": JAVA}, "a", ephemeral=True)
    return any_bureau


def test_servers_are_told_over_all_jobs_with_each_process_once(two_jobs: Bureau) -> None:
    assert servers.listing(two_jobs.registry) == (
        Server("192.0.2.2", instances=1, jobs=("a", "b"), disabled=1),
        Server("192.0.2.3", instances=1, jobs=("a",), disabled=0),
    )


def test_a_process_of_ours_counts_once_though_it_has_another_id_in_each_job(bureau: Bureau) -> None:
    bureau.of("192.0.2.4@-@11-aa", "192.0.2.4@-@12-bb", job="a", shards=2)
    bureau.of("192.0.2.4@-@11-cc", job="b")
    assert [each.instances for each in servers.listing(bureau.registry)] == [2]
    assert statistics.gather(bureau.registry).instances == 2


def test_processes_of_one_address_and_pid_count_each_where_their_sessions_differ(bureau: Bureau) -> None:
    bureau.of("192.0.2.4@-@1-aa", job="a")
    with connect(bureau.url) as another:
        node = Create(
            bureau.path("instances/192.0.2.4@-@1-bb", "a"), card("192.0.2.4@-@1-bb"), ephemeral=True
        )
        another.wait(another.commit(node))
        assert [each.instances for each in servers.listing(bureau.registry)] == [2]


def test_a_shard_that_runs_without_a_mark_counts_as_running(bureau: Bureau) -> None:
    bureau.of(PY, job="a", owners={0: PY}, monitor_execution=False)
    noon = datetime(2030, 1, 1, 12, tzinfo=UTC)
    bureau.cursor(0, Cursor(at=noon, run=Tenure(PY, "1", noon.isoformat(), "scheduled", 1)), "a")
    assert statistics.gather(bureau.registry).running == 1


def test_the_jobs_of_a_server_are_told_with_their_state_there(two_jobs: Bureau) -> None:
    assert servers.jobs_of(two_jobs.registry, "192.0.2.2") == (
        ServerJob("a", "OK", 1),
        ServerJob("b", "DISABLED", 1),
    )


def test_an_instance_belongs_to_the_server_that_it_says_and_to_no_other_that_begins_like_it(
    bureau: Bureau,
) -> None:
    """ElasticJob compares the beginnings of texts, so that 10.0.0.1 has the instances of 10.0.0.10 too."""
    bureau.of("10.0.0.10@-@1", "10.0.0.10@-@3")
    bureau.put({"servers/10.0.0.1": "ENABLED"})
    bureau.put({"instances/x@-@2": card("10.0.0.1@-@2")}, ephemeral=True)
    assert [(each.address, each.instances) for each in servers.listing(bureau.registry)] == [
        ("10.0.0.1", 1),
        ("10.0.0.10", 2),
    ]


def test_a_server_that_no_job_knows_is_refused(bureau: Bureau) -> None:
    bureau.of(PY)
    with pytest.raises(
        OperationError, match=r"no job knows a server '192.0.2.40'; did you mean '192.0.2.4'\?"
    ):
        servers.jobs_of(bureau.registry, "192.0.2.40")


def test_a_namespace_is_told_in_numbers(two_jobs: Bureau) -> None:
    two_jobs.of(job="c", shards=5)
    found = statistics.gather(two_jobs.registry)
    assert json.loads(json.dumps(found.as_json())) == {
        "jobs": 3,
        "by_status": {"CRASHED": 1, "DISABLED": 1, "SHARDING_FLAG": 0, "OK": 1},
        "servers": 2,
        "instances": 2,
        "shards": 8,
        "running": 1,
    }
