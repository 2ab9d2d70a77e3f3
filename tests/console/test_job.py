"""One job: how it stands, its shards, its last fires, what would happen if; and steering it."""

from datetime import UTC, datetime, timedelta

import pytest

from shardwright.console.roles import Role
from shardwright.coordination.claim import Cursor, Tenure
from tests.history.fires import T, a_run
from tests.ops.bureau import FULL, JAVA, PY, PY2

from .counter import Counter

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_all_about_a_job(any_desk: Counter) -> None:
    bureau = any_desk.bureau
    bureau.of(PY, PY2, shards=2, owners={0: PY, 1: PY2}, props={"http.password": "hunter2"})
    bureau.put({"leader/election/instance": PY, "sharding/1/running": PY2})
    answer = any_desk.viewer.get("jobs/j")
    assert answer["brief"]["status"] == "OK"
    assert (answer["leader"], answer["running"]) == (PY, 1)
    assert answer["version"] > 0
    assert answer["config"]["props"] == {"http.password": "***"}
    assert [(each["id"], each["owns"], each["runs"]) for each in answer["members"]] == [
        (PY, 1, 0),
        (PY2, 1, 1),
    ]
    assert answer["servers"][0] == {"address": "192.0.2.4", "state": "ENABLED", "instances": 1}


def test_a_job_whose_settings_make_no_sense_is_shown_with_its_trouble(desk: Counter) -> None:
    desk.bureau.job("jobName: [", PY)
    answer = desk.viewer.get("jobs/j")
    assert (answer["config"], answer["version"]) == (None, None)
    assert answer["trouble"]


@pytest.mark.parametrize(
    "path",
    [
        *("", "/shards", "/map", "/preview?join=1", "/dump", "/left"),
        "/past?begin=2026-01-01T00:00Z&end=2026-01-02T00:00Z",
    ],
)
def test_a_job_that_is_not_there_is_not_found(desk: Counter, path: str) -> None:
    desk.bureau.of(job="reindex")
    answer = desk.viewer.get(f"jobs/reindx{path}", 404)
    assert answer["kind"] == "unknown"
    assert answer["error"].endswith("did you mean 'reindex'?")


def test_shards_come_in_pages_and_by_state(any_desk: Counter) -> None:
    bureau = any_desk.bureau
    bureau.of(PY, shards=5, owners={0: PY, 1: PY, 2: PY, 3: PY2}, item_parameters={0: "a", 1: "token:x"})
    bureau.put({"sharding/1/disabled": "", "sharding/2/running": PY})
    page = any_desk.viewer.get("jobs/j/shards?offset=1&limit=2")
    assert page["total"] == 5
    assert [(each["item"], each["state"], each["parameter"]) for each in page["shards"]] == [
        (1, "DISABLED", "token:***"),
        (2, "RUNNING", ""),
    ]
    lost = any_desk.viewer.get("jobs/j/shards?state=SHARDING_FLAG")
    assert [each["item"] for each in lost["shards"]] == [3, 4]
    assert any_desk.viewer.get("jobs/j/shards?limit=501", 400)["kind"] == "invalid"
    assert any_desk.viewer.get("jobs/j/shards?state=FINE", 400)["kind"] == "invalid"


def test_a_map_tells_who_owns_and_runs_each_shard_also_of_those_who_are_gone(any_desk: Counter) -> None:
    bureau = any_desk.bureau
    bureau.of(PY, shards=5, owners={0: PY, 1: PY2, 2: PY}, monitor_execution=False)
    bureau.put({"sharding/2/disabled": "", "sharding/0/failover": PY, "~next/2": PY2})
    bureau.cursor(0, Cursor(run=Tenure(PY, "a1", NOON.isoformat(), "scheduled", 1)))
    assert any_desk.viewer.get("jobs/j/map") == {
        "total": 5,
        "members": [PY, PY2],
        "here": 1,
        "owner": [0, 1, 0, -1, -1],
        "running": [0, -1, -1, -1, -1],
        "state": "RSDSS",
        "failover": [0],
        "moving": {"2": 1},
    }


def test_a_timeline_has_the_last_fires_with_their_shards(desk: Counter) -> None:
    desk.bureau.of(shards=2)
    fires = [T + timedelta(minutes=each) for each in range(4)]
    desk.store.write([a_run(item, job="j", at=fire) for fire in fires for item in (0, 1)])
    page = desk.viewer.get("jobs/j/timeline?fires=3")
    assert [each["fire"] for each in page["fires"]] == [fire.isoformat() for fire in fires[:0:-1]]
    assert [bar["shard"] for bar in page["fires"][0]["shards"]] == [0, 1]
    assert (page["fires"][0]["left_out"], page["next"]) == (0, None)
    rest = desk.viewer.get(f"jobs/j/timeline?fires=3&before={page['before'].replace('+', '%2B')}")
    assert ([each["fire"] for each in rest["fires"]], rest["before"]) == ([fires[0].isoformat()], None)
    assert desk.viewer.get("jobs/j/timeline?before=soon", 400)["kind"] == "invalid"
    assert desk.viewer.get("jobs/j/timeline?fires=51", 400)["kind"] == "invalid"


def test_a_timeline_of_very_many_shards_is_told_in_pages_of_shards(desk: Counter) -> None:
    desk.bureau.of(shards=450)
    later = T + timedelta(minutes=1)
    desk.store.write([*(a_run(item, job="j") for item in range(450)), a_run(7, job="j", at=later)])

    def page(first: int) -> tuple[list[list[int]], int | None]:
        found = desk.viewer.get(f"jobs/j/timeline?first={first}")
        return [[bar["shard"] for bar in each["shards"]] for each in found["fires"]], found["next"]

    assert page(0) == ([[7], [*range(200)]], 200)
    assert page(200) == ([[], [*range(200, 400)]], 400)
    assert page(400) == ([[], [*range(400, 450)]], None)
    assert page(10_000) == ([[], []], None)
    assert desk.viewer.get("jobs/j/timeline?first=400")["fires"][1]["left_out"] == 400
    assert desk.viewer.get("jobs/j/timeline?first=-1", 400)["kind"] == "invalid"


def test_a_preview_tells_what_would_move(desk: Counter) -> None:
    desk.bureau.of(PY, PY2, shards=4, owners={0: PY, 1: PY, 2: PY2, 3: PY2})
    gone = desk.viewer.get(f"jobs/j/preview?leave={PY2}")
    assert set(gone["owners"].values()) == {PY}
    assert len(desk.viewer.get("jobs/j/preview?join=2&server=192.0.2.9")["counts"]) == 4
    assert len(desk.viewer.get("jobs/j/preview?shards=6")["owners"]) == 6
    for asked in ("", "join=1&shards=2", "server=192.0.2.9", "join=0", "shards=0", "join=1&server=a/b"):
        assert desk.viewer.get(f"jobs/j/preview?{asked}", 400)["kind"] == "invalid", asked
    assert desk.viewer.get("jobs/j/preview?leave=nobody", 404)["kind"] == "unknown"


def test_the_past_is_foreseen_and_asked_for(desk: Counter) -> None:
    desk.bureau.of(PY, shards=2, cron="0 0 12 * * ?", time_zone="UTC", owners={0: PY, 1: PY})
    days = "begin=2026-01-01T00:00:00Z&end=2026-01-03T00:00:00%2B00:00"
    answer = desk.viewer.get(f"jobs/j/past?{days}")
    assert answer == {
        "job": "j",
        "fires": ["2026-01-01T12:00:00+00:00", "2026-01-02T12:00:00+00:00"],
        "runs": 4,
    }
    assert desk.viewer.get(f"jobs/j/past?{days}&shards=1")["runs"] == 2
    wish = {"begin": "2026-01-01T00:00:00Z", "end": "2026-01-03T00:00:00Z", "shards": [1]}
    assert len(desk.operator.post("jobs/j/backfill", wish)["changed"]) == 2
    assert len(desk.operator.post("jobs/j/rerun", {"at": "2026-01-01T13:00:00+01:00"})["changed"]) == 1
    assert desk.viewer.get("jobs/j/left") == {"job": "j", "waiting": 3, "running": 0}


@pytest.mark.parametrize(
    ("what", "wish"),
    [
        ("past?begin=2026-01-01T00:00:00&end=2026-01-03T00:00:00Z", None),
        ("past?begin=2026-01-01T00:00:00Z", None),
        ("past?begin=0001-01-01T00:00:00%2B14:00&end=2026-01-03T00:00:00Z", None),
        ("rerun", {"at": "2026-01-01T12:00:00"}),
        ("rerun", {"at": "2026-01-01T12:30:00Z"}),
        ("rerun", {"at": "noon"}),
        ("rerun", {"at": "2026-01-01T12:00:00Z", "shards": []}),
        ("backfill", {"begin": "2026-01-01T00:00:00Z"}),
        ("backfill", {"begin": "2026-01-01T13:00:00Z", "end": "2026-01-01T14:00:00Z"}),
        ("trigger", {"shards": [-1]}),
        ("trigger", {"shards": ["1"]}),
        ("trigger", {"parameters": "x"}),
        ("enable", {"shard": 0, "server": "192.0.2.4"}),
        ("drain", {}),
        ("shutdown", {"instance": ""}),
    ],
)
def test_a_wish_that_makes_no_sense_is_refused_and_changes_nothing(
    desk: Counter, what: str, wish: object
) -> None:
    desk.bureau.of(PY, cron="0 0 12 * * ?", time_zone="UTC", owners={0: PY})
    before = desk.bureau.everything()
    answer = (
        desk.operator.post(f"jobs/j/{what}", wish, 400)
        if wish is not None
        else desk.viewer.get(f"jobs/j/{what}", 400)
    )
    assert answer["kind"] == "invalid"
    assert desk.bureau.everything() == before


def test_a_job_is_steered_and_the_audit_says_who_did(any_desk: Counter) -> None:
    bureau, operator = any_desk.bureau, any_desk.as_a(Role.OPERATOR, "bob")
    bureau.of(PY, PY2, shards=2, owners={0: PY, 1: PY2})
    assert operator.post("jobs/j/trigger")["what"] == "trigger"
    assert bureau.names("trigger") == (PY, PY2)
    assert operator.post("jobs/j/trigger", {"shards": [1], "parameter": "x"})["changed"]
    operator.post("jobs/j/disable", {"server": "192.0.2.4"})
    assert bureau.read("servers/192.0.2.4") == "DISABLED"
    operator.post("jobs/j/enable")
    assert bureau.read("servers/192.0.2.4") == "ENABLED"
    operator.post("jobs/j/disable", {"shard": 1})
    assert bureau.read("sharding/1/disabled") == ""
    operator.post("jobs/j/drain", {"instance": PY})
    assert any_desk.viewer.get("jobs/j")["draining"] == [PY]
    operator.post("jobs/j/undrain", {"instance": PY})
    operator.post("jobs/j/shutdown", {"instance": PY})
    assert bureau.names("instances") == (PY2,)
    told = any_desk.viewer.get("audit?job=j")["changes"]
    assert {each["who"] for each in told} == {"bob (console)"}
    assert [each["what"] for each in told] == [
        *("shutdown", "undrain", "drain", "disable", "enable", "disable", "trigger", "trigger")
    ]


def test_what_cannot_be_done_as_things_stand_is_refused_and_told_to_the_audit(desk: Counter) -> None:
    desk.bureau.of()
    assert desk.operator.post("jobs/j/trigger", {}, 409)["kind"] == "refused"
    assert desk.operator.post("jobs/j/shutdown", {"instance": "nobody"}, 404)["kind"] == "unknown"
    assert desk.operator.post("jobs/j/disable", {"shard": 7}, 404)["kind"] == "unknown"
    outcomes = [each["outcome"] for each in desk.viewer.get("audit")["changes"]]
    assert all(each != "done" for each in outcomes)
    assert len(outcomes) == 3


def test_elasticjobs_own_jobs_are_shown_and_steered(any_desk: Counter) -> None:
    bureau = any_desk.bureau
    bureau.job(FULL, JAVA, job="full", owners={0: JAVA, 1: JAVA, 2: JAVA})
    any_desk.seen(lambda answer: [each["java"] for each in answer["jobs"]] == [True])
    assert any_desk.viewer.get("jobs/full")["kind"] == "com.acme.Job"
    assert any_desk.viewer.get("jobs/full/map")["owner"] == [0, 0, 0]
    operator = any_desk.operator
    operator.post("jobs/full/trigger")
    assert bureau.names("trigger", "full") == (JAVA,)
    operator.post("jobs/full/disable", {"shard": 1})
    operator.post("jobs/full/disable")
    any_desk.seen(lambda answer: answer["jobs"][0]["status"] == "DISABLED")
    any_desk.author.patch("jobs/full/config", {"changes": {"description": "ours now"}})
    assert "pa55word" in (bureau.read("config", "full") or "")
    operator.post("jobs/full/shutdown")
    any_desk.author.delete("jobs/full")
    any_desk.seen(lambda answer: answer["total"] == 0)


def test_a_job_that_somebody_is_in_is_removed_by_force_alone(desk: Counter) -> None:
    desk.bureau.of(JAVA, owners={0: JAVA})
    assert desk.author.delete("jobs/j", 409)["kind"] == "refused"
    assert desk.author.delete("jobs/j?force=true")["what"] == "remove"
    assert desk.author.delete("jobs/j", 404)["kind"] == "unknown"
