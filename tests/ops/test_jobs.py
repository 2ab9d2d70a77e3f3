"""Which jobs there are, and how each of them is, by nodes written by hand as ElasticJob writes them."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from shardwright.coordination.claim import Cursor
from shardwright.errors import OperationError
from shardwright.ops import jobs
from shardwright.ops.jobs import Status
from shardwright.registry import Create, Landed, connect
from tests.zookeeper_server import Server

from .bureau import FULL, JAVA, JAVA2, PY, SMALLEST, Bureau, card


def status(bureau: Bureau, job: str = "j") -> Status:
    found = jobs.brief(bureau.registry, job).status
    assert {each.name: each.status for each in jobs.listing(bureau.registry)}[job] is found
    return found


def test_a_job_that_nobody_is_in_has_crashed(any_bureau: Bureau) -> None:
    any_bureau.job(owners={0: JAVA})
    any_bureau.put({"servers/192.0.2.2": "DISABLED"})
    assert status(any_bureau) is Status.CRASHED


def test_a_job_all_of_whose_servers_are_disabled_is_disabled(any_bureau: Bureau) -> None:
    any_bureau.put({"servers/192.0.2.2": "DISABLED", "servers/192.0.2.3": "DISABLED"})
    any_bureau.put({"config": SMALLEST})
    any_bureau.put({f"instances/{JAVA}": card(JAVA)}, ephemeral=True)
    assert status(any_bureau) is Status.DISABLED


def test_a_job_one_of_whose_servers_is_enabled_is_not_disabled(bureau: Bureau) -> None:
    bureau.put({"servers/192.0.2.3": "DISABLED", "config": SMALLEST})
    bureau.join(JAVA)
    bureau.put({"sharding/0/instance": JAVA})
    assert status(bureau) is Status.OK


def test_a_job_whose_shards_belong_to_nobody_is_flagged(any_bureau: Bureau) -> None:
    any_bureau.job(SMALLEST, JAVA)
    assert status(any_bureau) is Status.SHARDING_FLAG
    any_bureau.put({"sharding/0": ""})
    assert status(any_bureau) is Status.SHARDING_FLAG


def test_a_job_with_a_shard_of_somebody_who_is_gone_is_flagged(any_bureau: Bureau) -> None:
    any_bureau.job(SMALLEST.replace("Count: 1", "Count: 2"), JAVA, owners={0: JAVA, 1: JAVA2})
    assert status(any_bureau) is Status.SHARDING_FLAG


def test_a_job_whose_shards_all_belong_to_those_in_it_is_ok(any_bureau: Bureau) -> None:
    any_bureau.job(SMALLEST, JAVA, JAVA2, owners={0: JAVA})
    assert status(any_bureau) is Status.OK


def test_the_list_has_every_job_in_a_line_and_nothing_that_is_none(bureau: Bureau) -> None:
    bureau.job(SMALLEST, JAVA, owners={0: JAVA})
    bureau.job(FULL, job="full")
    bureau.put({"": "not a job"}, "stranger")
    smallest, full = jobs.listing(bureau.registry, fires=2)[::-1]
    assert (smallest.name, smallest.shards, smallest.schedule, smallest.next_fires) == ("j", 1, "", ())
    assert (smallest.instances, smallest.trouble) == (1, "")
    assert (full.name, full.status, full.shards, full.instances) == ("full", Status.CRASHED, 3, 0)
    assert full.schedule == "*/5 * * * * ?"
    assert full.next_fires[1] - full.next_fires[0] == timedelta(seconds=5)
    assert full.next_fires[0] > bureau.registry.now() - timedelta(minutes=1)
    assert full.description.startswith("long description")
    assert jobs.names(bureau.registry) == ("full", "j")


def test_a_namespace_that_nobody_has_used_has_no_jobs() -> None:
    with connect("memory://") as registry:
        assert jobs.listing(registry) == ()


def test_a_job_whose_settings_make_no_sense_is_listed_with_what_is_wrong(bureau: Bureau) -> None:
    bureau.job(SMALLEST.replace("Count: 1", "Count: many"), JAVA, owners={0: JAVA})
    (found,) = jobs.listing(bureau.registry)
    assert (found.name, found.status, found.shards, found.next_fires) == ("j", Status.OK, None, ())
    assert found.trouble.startswith("job 'j': shardingTotalCount ")


def test_a_job_that_fires_once_has_no_fire_after_that(bureau: Bureau) -> None:
    bureau.of(schedule="once 2020-01-01T00:00:00+00:00")
    assert jobs.brief(bureau.registry, "j", fires=3).next_fires == ()


def test_the_detail_of_a_job_tells_who_leads_who_is_in_it_and_what_they_do(any_bureau: Bureau) -> None:
    any_bureau.of(JAVA, PY, shards=3, cron="0 0 2 * * ?", owners={0: JAVA, 1: PY, 2: PY})
    any_bureau.put({"leader/election/instance": PY, f"~draining/{PY}": ""}, ephemeral=True)
    any_bureau.put({"sharding/1/running": PY})
    any_bureau.cursor(2, Cursor(at=datetime(2030, 1, 1, tzinfo=UTC), last="ok"))
    found = jobs.detail(any_bureau.registry, "j")
    assert (found.kind, found.leader, found.draining) == ("com.acme.Job", PY, (PY,))
    java, python = found.members
    assert (java.id, java.server, java.python, java.alive, java.owns, java.runs) == (
        *(JAVA, "192.0.2.2", False, True, 1, 0),
    )
    assert (python.python, python.alive, python.draining, python.leader) == (True, True, True, True)
    assert (python.owns, python.runs) == (2, 1)
    assert [(each.address, each.state, each.instances) for each in found.servers] == [
        ("192.0.2.2", "ENABLED", 1),
        ("192.0.2.4", "ENABLED", 1),
    ]
    assert [item.last_outcome for item in found.shards] == ["", "", "ok"]
    assert len(found.brief.next_fires) == 5
    assert jobs.leader(any_bureau.registry, "j") == PY


def test_what_is_shown_of_a_job_can_be_told_in_json_and_holds_no_secret(bureau: Bureau) -> None:
    bureau.job(FULL, JAVA, job="full", owners={0: JAVA})
    text = json.dumps(jobs.detail(bureau.registry, "full").as_json())
    assert "pa55word" not in text
    assert json.loads(text)["brief"]["status"] == "OK"


def test_a_secret_in_a_description_is_not_shown(bureau: Bureau) -> None:
    bureau.of(description="logs in with password=pa55word")
    assert jobs.brief(bureau.registry, "j").description == "logs in with password=***"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("reindx", "there is no job 'reindx' in /prod; did you mean 'reindex'?"),
        ("other", "there is no job 'other' in /prod; there are: reindex"),
        ("a/b", "there is no job 'a/b' in /prod; there are: reindex"),
        ("", "there is no job '' in /prod; there are: reindex"),
    ],
)
def test_a_job_that_is_not_there_is_refused_with_the_one_that_was_meant(
    bureau: Bureau, name: str, hint: str
) -> None:
    bureau.of(job="reindex")
    with pytest.raises(OperationError) as refused:
        jobs.detail(bureau.registry, name)
    assert str(refused.value) == hint


def test_a_job_of_a_namespace_within_ours_is_none_of_ours(bureau: Bureau) -> None:
    bureau.of(job="reindex")
    bureau.put({"config": SMALLEST}, "eu/reindex")
    with pytest.raises(
        OperationError, match=r"there is no job 'eu/reindex' in /prod; did you mean 'reindex'\?"
    ):
        jobs.brief(bureau.registry, "eu/reindex")


def test_a_job_of_an_empty_namespace_is_refused(bureau: Bureau) -> None:
    with pytest.raises(OperationError, match="there is no job 'j' in /prod; there is none at all"):
        jobs.brief(bureau.registry, "j")


def test_an_address_of_a_registry_is_none_that_is_open() -> None:
    with pytest.raises(OperationError, match=r"such as connect\(url\), not 'memory://'"):
        jobs.listing("memory://")  # type: ignore[arg-type]


def test_a_job_that_is_kept_from_us_does_not_hide_the_others(zookeeper: Server) -> None:
    with Bureau.on_zookeeper(zookeeper.hosts) as bureau:
        for name in ("a", "c"):
            bureau.of(job=name)
        secret = bureau.url.replace("://", "://ann:pa55word@")
        with connect(secret) as owner:
            nodes = Create(bureau.path("", "b")), Create(bureau.path("config", "b"), SMALLEST)
            assert isinstance(owner.wait(owner.commit(*nodes)), Landed)
        assert jobs.names(bureau.registry) == ("a", "c")
        assert [each.name for each in jobs.listing(bureau.registry)] == ["a", "c"]
        with pytest.raises(OperationError, match="there is no job 'b'"):
            jobs.brief(bureau.registry, "b")
