"""Whoever steers the job, by ElasticJob's operations API or by ours, members of both kinds obey."""

import time

import pytest

from .job import NAME, OURS, Console, Job, Peer

pytestmark = pytest.mark.interop

PERIOD = 3.0
ALL = [0, 1, 2, 3]


@pytest.fixture
def members(job: Job) -> dict[str, Peer]:
    job.cron, job.shards, job.failover = "0/3 * * * * ?", 4, True
    return job.members("java")


def java_address(job: Job, members: dict[str, Peer]) -> str:
    return str(job.id_of(members["java"])).partition("@")[0]


def test_java_sees_our_members_and_shards_for_what_they_are(job: Job, members: dict[str, Peer]) -> None:
    console = job.console()
    theirs = java_address(job, members)
    told = console("job")
    assert (told["jobName"], told["status"], told["shardingTotalCount"], told["instanceCount"]) == (
        NAME,
        "OK",
        4,
        2,
    )
    shards = console("shards")
    assert {shard["item"]: (shard["instanceId"], shard["serverIp"]) for shard in shards} == {
        item: (owner, OURS if owner == job.id_of(members["python"]) else theirs)
        for item, owner in job.owners().items()
    }
    assert {shard["status"] for shard in shards} <= {"PENDING", "RUNNING"}
    assert {server["serverIp"] for server in console("servers")} == {OURS, theirs}
    assert console("config")["cron"] == job.cron


def test_java_disables_our_server_and_enables_it_again(job: Job, members: dict[str, Peer]) -> None:
    console = job.console()
    console(f"disable {OURS}")
    job.until_shared_out(4, members["java"])
    assert list(job.next_fires(1, PERIOD).values()) == [ALL]
    console(f"enable {OURS}")
    job.until_shared_out(4, *members.values())
    assert list(job.next_fires(1, PERIOD).values()) == [ALL]


def test_our_operator_disables_javas_server_and_enables_it_again(job: Job, members: dict[str, Peer]) -> None:
    theirs = java_address(job, members)
    with job.operator() as operator:
        operator.disable(NAME, server=theirs)
        job.until_shared_out(4, members["python"])
        assert job.leader() == job.id_of(members["python"])
        assert list(job.next_fires(1, PERIOD).values()) == [ALL]
        operator.enable(NAME, server=theirs)
    job.until_shared_out(4, *members.values())
    assert list(job.next_fires(1, PERIOD).values()) == [ALL]


def test_a_shard_that_either_side_disables_runs_nowhere_until_it_is_enabled(
    job: Job, members: dict[str, Peer]
) -> None:
    console = job.console()
    ours, theirs = job.owned_by(members["python"])[0], job.owned_by(members["java"])[0]
    with job.operator() as operator:
        console(f"disable-shard {ours}")
        operator.disable(NAME, shard=theirs)
        assert {shard["item"] for shard in console("shards") if shard["status"] == "DISABLED"} == {
            ours,
            theirs,
        }
        assert list(job.next_fires(1, PERIOD).values()) == [sorted({*ALL} - {ours, theirs})]
        console(f"enable-shard {theirs}")
        operator.enable(NAME, shard=ours)
    assert list(job.next_fires(1, PERIOD).values()) == [ALL]


def test_settings_that_either_side_changes_count_for_both(job: Job, members: dict[str, Peer]) -> None:
    console = job.console()
    with job.operator() as operator:
        console("total 2")
        job.until_shared_out(2, *members.values())
        assert list(job.next_fires(1, PERIOD).values()) == [[0, 1]]
        operator.update(NAME, {"shards": 6})
        job.until_shared_out(6, *members.values())
        assert list(job.next_fires(1, PERIOD).values()) == [[0, 1, 2, 3, 4, 5]]
        operator.update(NAME, {"cron": "0/7 * * * * ?", "failover": False})
    job.until(lambda: not job.running())
    place = job.story.place()
    job.until(lambda: {run.item for run in job.story.runs(since=place)} == {0, 1, 2, 3, 4, 5})
    begun = {int(time.strftime("%S", time.gmtime(run.began / 1000))) for run in job.story.runs(since=place)}
    assert {second % 7 for second in begun} <= {0, 1}, "runs begin in the second of the fire, or in the next"
    assert console("config")["failover"] is False


def test_java_shuts_our_member_down_and_its_shards_go_on(job: Job, members: dict[str, Peer]) -> None:
    console: Console = job.console()
    console(f"shutdown {OURS}")
    job.until_shared_out(4, members["java"])
    place = job.story.place()
    assert list(job.next_fires(2, PERIOD).values()) == 2 * [ALL]
    assert {run.who for run in job.story.runs(since=place)} == {"java"}


def test_our_operator_shuts_javas_member_down_and_its_shards_go_on(
    job: Job, members: dict[str, Peer]
) -> None:
    with job.operator() as operator:
        operator.shutdown(NAME, server=java_address(job, members))
    job.until_shared_out(4, members["python"])
    place = job.story.place()
    assert list(job.next_fires(2, PERIOD).values()) == 2 * [ALL]
    assert {run.who for run in job.story.runs(since=place)} == {"python"}
