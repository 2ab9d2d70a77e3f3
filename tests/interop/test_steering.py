"""Whoever steers the job, by ElasticJob's operations API or by ours, members of both kinds obey."""

import time

import pytest

from .job import NAME, OURS, Console, Job, Peer
from .story import Run

pytestmark = pytest.mark.interop

PERIOD = 3.0
ALL = [0, 1, 2, 3]


@pytest.fixture
def members(job: Job) -> dict[str, Peer]:
    job.cron, job.shards, job.failover = "0/3 * * * * ?", 4, True
    return job.members("java")


def java_address(job: Job, members: dict[str, Peer]) -> str:
    return str(job.id_of(members["java"])).partition("@")[0]


def told(console: Console) -> tuple[str, int, int]:
    """What ElasticJob says of the job: its status, how many shards, how many members."""
    answer = console("job")
    return answer["status"], answer["shardingTotalCount"], answer["instanceCount"]


def test_java_sees_our_members_and_shards_for_what_they_are(job: Job, members: dict[str, Peer]) -> None:
    console = job.console()
    theirs = java_address(job, members)
    assert console("job")["jobName"] == NAME
    assert told(console) == ("OK", 4, 2)
    shards = console("shards")
    assert {shard["item"]: (shard["instanceId"], shard["serverIp"]) for shard in shards} == {
        item: (owner, OURS if owner == job.id_of(members["python"]) else theirs)
        for item, owner in job.owners().items()
    }
    assert {shard["status"] for shard in shards} <= {"PENDING", "RUNNING"}
    assert {server["serverIp"] for server in console("servers")} == {OURS, theirs}
    assert console("config")["cron"] == job.cron


def test_java_disables_our_server_and_enables_it_again(job: Job, members: dict[str, Peer]) -> None:
    console, theirs = job.console(), java_address(job, members)
    console(f"disable {OURS}")
    job.until_shared_out(4, members["java"])
    assert told(console) == ("OK", 4, 2)
    assert list(job.next_fires(1, PERIOD).values()) == [ALL]
    console(f"disable {theirs}")
    assert told(console) == ("DISABLED", 4, 2)
    console(f"enable {OURS}")
    console(f"enable {theirs}")
    job.until_shared_out(4, *members.values())
    assert told(console) == ("OK", 4, 2)
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
        assert told(console) == ("OK", 2, 2)
        operator.update(NAME, {"shards": 6})
        job.until_shared_out(6, *members.values())
        operator.update(NAME, {"shards": 3})
        job.until_shared_out(3, *members.values())
        console("total 5")
        job.until_shared_out(5, *members.values())
        assert told(console) == ("OK", 5, 2)
        assert list(job.next_fires(1, PERIOD).values()) == [[0, 1, 2, 3, 4]]
        operator.update(NAME, {"cron": "0/7 * * * * ?", "failover": False})
        assert_fires_at(job, range(0, 60, 7))
        assert console("config")["failover"] is False
        console("cron 3/6 * * * * ?")
        assert_fires_at(job, range(3, 60, 6))


def assert_fires_at(job: Job, seconds: range) -> None:
    """All shards, of both kinds, begin in these seconds of the minute from now on, or soon after. A Java
    member that has not heard yet may be about to begin at another."""
    job.until(lambda: not job.running())
    place, heard = job.story.place(), time.time() + 2.0

    def runs() -> list[Run]:
        return [run for run in job.story.runs(since=place) if run.began / 1000 > heard]

    job.until(lambda: {run.item for run in runs()} == {0, 1, 2, 3, 4})
    assert {run.who for run in runs()} == {"java", "python"}
    late = [min((run.began / 1000 - second) % 60 for second in seconds) for run in runs()]
    assert max(late) < 2.0


@pytest.mark.parametrize("dying", ["java", "python"])
def test_when_either_side_has_switched_failover_off_nothing_is_taken_over(job: Job, dying: str) -> None:
    """The one switches it off whose member will live."""
    job.cron, job.shards, job.failover = "0/12 * * * * ?", 4, True
    peers = job.members("java", session=4.0, lengths={dying: 6.0})
    (survivor,) = {*peers} - {dying}
    console = job.console()
    job.until(lambda: len(job.story.open(dying)) == 2)
    job.until(lambda: not job.story.open() and not job.running())
    if dying == "python":
        console("failover false")
    else:
        with job.operator() as operator:
            operator.update(NAME, {"failover": False})
    assert console("config")["failover"] is False

    place = job.story.place()
    job.until(lambda: len(job.story.runs(since=place)) == 4)
    job.until(lambda: len(job.story.open()) == 2)
    place = job.story.place()
    peers[dying].kill()
    job.until(lambda: job.id_of(peers[dying]) is None)
    job.until(lambda: len(job.story.runs(since=place, who=survivor)) >= 4)
    runs = job.story.runs(since=place)
    assert {run.began // 12_000 for run in runs} == {max(run.began // 12_000 for run in runs)}
    assert {run.source for run in runs} <= {"", "scheduled"}
    assert sorted(run.item for run in runs) == ALL


def test_java_shuts_our_member_down_and_its_shards_go_on(job: Job, members: dict[str, Peer]) -> None:
    console: Console = job.console()
    console(f"shutdown {OURS}")
    job.until_shared_out(4, members["java"])
    assert told(console) == ("OK", 4, 1)
    place = job.story.place()
    assert list(job.next_fires(2, PERIOD).values()) == 2 * [ALL]
    assert {run.who for run in job.story.runs(since=place)} == {"java"}
    console(f"shutdown {java_address(job, members)}")
    assert told(console) == ("CRASHED", 4, 0)


def test_our_operator_shuts_javas_member_down_and_its_shards_go_on(
    job: Job, members: dict[str, Peer]
) -> None:
    with job.operator() as operator:
        operator.shutdown(NAME, server=java_address(job, members))
    job.until_shared_out(4, members["python"])
    place = job.story.place()
    assert list(job.next_fires(2, PERIOD).values()) == 2 * [ALL]
    assert {run.who for run in job.story.runs(since=place)} == {"python"}
