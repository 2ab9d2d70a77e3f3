"""The fleet with 10,000 jobs, and a job with 10,000 shards."""

import pytest

from shardwright import elasticjob
from shardwright.jobs import JobConfig
from shardwright.registry import Create, Landed, Put, Write
from tests.ops.bureau import PY, card

from .counter import Counter, Follower

JOBS = SHARDS = 10_000


@pytest.mark.slow
def test_ten_thousand_jobs_are_paged_and_one_that_changes_is_told_alone(desk: Counter) -> None:
    registry = desk.bureau.members
    commits: list[list[Write]] = []
    for number in range(JOBS):
        name, job = f"job-{number:05}", f"{registry.namespace}/job-{number:05}"
        config = elasticjob.write_config(JobConfig(name=name, cron="0 0 2 * * ?"))
        member = Create(f"{job}/instances/{PY}", card(PY), ephemeral=True)
        owned = Create(f"{job}/sharding/0/instance", PY)
        commits.append(
            [Create(f"{job}/config", config), member, owned, Create(f"{job}/servers/192.0.2.4", "ENABLED")]
        )
    for first in range(0, JOBS, 200):
        for future in registry.commit_all(commits[first : first + 200]):
            assert isinstance(registry.wait(future, 60), Landed)
    with Follower(desk.room) as follower:
        follower.hear("hello", within=120)
        told = desk.seen(lambda answer: answer["total"] == JOBS, "jobs?limit=1")
        assert told["by_status"]["OK"] == JOBS
        pages = [desk.viewer.get(f"jobs?limit=200&offset={offset}")["jobs"] for offset in (0, 200, 9900)]
        assert [len(page) for page in pages] == [200, 200, 100]
        assert pages[-1][-1]["name"] == "job-09999"
        assert desk.viewer.get("jobs?search=0777")["total"] == 11
        assert len(desk.viewer.caller.get("/api/r/main/servers").body) < 300
        assert desk.viewer.get("servers?search=job-07777")["servers"][0]["jobs"] == JOBS
        follower.forget()
        desk.bureau.land(Put(f"{registry.namespace}/job-05000/servers/192.0.2.4", "DISABLED"))
        event = follower.hear("jobs", lambda data: data["changed"])
        assert [each["name"] for each in event["changed"]] == ["job-05000"]
        assert event["statistics"]["by_status"]["DISABLED"] == 1


@pytest.mark.slow
def test_a_job_of_ten_thousand_shards_is_mapped_and_paged(desk: Counter) -> None:
    desk.bureau.of(PY, shards=SHARDS)
    root = desk.bureau.path("sharding")
    for first in range(0, SHARDS, 1000):
        desk.bureau.land(*(Create(f"{root}/{item}/instance", PY) for item in range(first, first + 1000)))
    told = desk.viewer.get("jobs/j/map")
    assert (told["total"], len(told["owner"]), told["state"]) == (SHARDS, SHARDS, "P" * SHARDS)
    page = desk.viewer.get("jobs/j/shards?offset=9990&limit=500")
    assert (page["total"], [each["item"] for each in page["shards"]]) == (SHARDS, list(range(9990, SHARDS)))
