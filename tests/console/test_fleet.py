"""The fleet: jobs in pages, by what the registry and the history say of them."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from shardwright.registry import Delete
from tests.history.fires import T, a_run
from tests.ops.bureau import JAVA, PY, PY2, Bureau

from .counter import Counter, counter


def names(answer: dict[str, list[dict[str, object]]]) -> list[object]:
    return [each["name"] for each in answer["jobs"]]


def test_every_job_is_a_row_with_its_status_and_its_next_fire(any_desk: Counter) -> None:
    bureau = any_desk.bureau
    bureau.of(PY, job="alpha", cron="0 0 2 * * ?", time_zone="UTC", owners={0: PY}, description="first")
    bureau.of(JAVA, job="beta", shards=2, owners={0: JAVA, 1: JAVA})
    bureau.of(job="gamma")
    found = any_desk.seen(lambda answer: answer["total"] == 3)
    (alpha, beta, gamma) = found["jobs"]
    assert alpha["next_fires"][0].endswith("T02:00:00Z")
    assert {**alpha, "next_fires": []} == {
        "name": "alpha",
        "status": "OK",
        "shards": 1,
        "schedule": "0 0 2 * * ?",
        "next_fires": [],
        "instances": 1,
        "description": "first",
        "trouble": "",
        "last": None,
        "late": [],
        "java": False,
    }
    assert (beta["status"], beta["java"]) == ("OK", True)
    assert (gamma["status"], gamma["java"]) == ("CRASHED", False)
    assert found["by_status"] == {"CRASHED": 1, "DISABLED": 0, "SHARDING_FLAG": 0, "OK": 2}


def test_statistics_are_those_of_the_command_line(any_desk: Counter) -> None:
    from shardwright.ops import statistics

    any_desk.bureau.of(PY, PY2, job="alpha", shards=3, owners={0: PY, 1: PY2})
    any_desk.bureau.put({"sharding/0/running": PY}, "alpha")
    any_desk.bureau.of(JAVA, job="beta", owners={0: JAVA})
    any_desk.bureau.of(PY, job="quiet", monitor_execution=False, owners={0: PY})
    expected = statistics.gather(any_desk.bureau.registry).as_json()
    assert any_desk.seen(lambda answer: answer == expected, "statistics")["running"] == 1


def test_a_job_that_comes_changes_and_goes_is_seen(any_desk: Counter) -> None:
    bureau = any_desk.bureau
    any_desk.seen(lambda answer: answer["total"] == 0)
    bureau.of(PY, owners={0: PY})
    any_desk.seen(lambda answer: names(answer) == ["j"])
    bureau.set("servers/192.0.2.4", "DISABLED")
    any_desk.seen(lambda answer: answer["jobs"][0]["status"] == "DISABLED")
    bureau.land(Delete(bureau.path(""), recursive=True))
    any_desk.seen(lambda answer: answer["total"] == 0)


def test_jobs_are_searched_filtered_sorted_and_paged(desk: Counter) -> None:
    bureau = desk.bureau
    bureau.of(PY, job="orders", owners={0: PY}, shards=3, cron="0 0 1 1 1 ?", description="Nightly import")
    bureau.of(PY, job="Imports", owners={0: PY}, cron="0/5 * * * * ?")
    bureau.of(job="zeta", shards=2)
    desk.seen(lambda answer: answer["total"] == 3)
    viewer = desk.viewer
    assert names(viewer.get("jobs?search=IMPORT")) == ["Imports", "orders"]
    assert names(viewer.get("jobs?search=import+night")) == ["orders"]
    crashed = viewer.get("jobs?status=CRASHED")
    assert (names(crashed), crashed["total"], crashed["by_status"]["OK"]) == (["zeta"], 1, 2)
    assert names(viewer.get("jobs?sort=name&descending=true")) == ["zeta", "orders", "Imports"]
    assert names(viewer.get("jobs?sort=shards")) == ["Imports", "zeta", "orders"]
    assert names(viewer.get("jobs?sort=shards&descending=true"))[0] == "orders"
    assert names(viewer.get("jobs?sort=next")) == ["Imports", "orders", "zeta"]
    assert names(viewer.get("jobs?sort=next&descending=true")) == ["orders", "Imports", "zeta"]
    assert names(viewer.get("jobs?sort=status"))[0] == "zeta"
    page = viewer.get("jobs?offset=1&limit=1")
    assert (names(page), page["total"]) == (["orders"], 3)
    assert names(viewer.get("jobs?offset=9999")) == []


def test_a_row_tells_how_the_last_fire_came_out_and_how_late_the_last_ones_were(desk: Counter) -> None:
    desk.bureau.of(PY, job="good", shards=2, owners={0: PY, 1: PY})
    desk.bureau.of(PY, job="bad", owners={0: PY})
    desk.store.write(
        [
            *(
                a_run(item, job="good", at=T + timedelta(minutes=n), late=n)
                for n in range(3)
                for item in (0, 1)
            ),
            a_run(job="bad", outcome="failed", late=9),
        ]
    )
    found = desk.seen(lambda answer: answer["total"] == 2)
    bad, good = found["jobs"]
    assert good["late"] == [0.0, 1.0, 2.0]
    assert good["last"] == {
        "fire": "2030-01-01T02:02:00+00:00",
        "due": "2030-01-01T02:02:00Z",
        "disposition": "RAN",
        "outcome": "ok",
        "ended": "2030-01-01T02:02:03Z",
        "late": 2.0,
    }
    assert bad["last"]["outcome"] == "failed"
    failed = desk.seen(lambda answer: answer["total"] == 1, "jobs?outcome=failed")
    assert names(failed) == ["bad"]
    assert names(desk.viewer.get("jobs?sort=late&descending=true")) == ["bad", "good"]


def test_the_line_of_lateness_ends_with_the_last_fire_also_where_one_that_was_asked_for_took_long(
    desk: Counter,
) -> None:
    desk.bureau.of(PY, job="job", shards=2, owners={0: PY, 1: PY})
    asked = [a_run(0, job="job"), a_run(1, job="job", at=T + timedelta(minutes=2))]
    desk.store.write(
        [
            a_run(job="job", at=T - timedelta(minutes=1)),
            a_run(job="job", at=T + timedelta(minutes=1), late=1),
            *(replace(run, key=replace(run.key, fire="#5")) for run in asked),
        ]
    )
    (job,) = desk.seen(lambda answer: answer["total"] == 1)["jobs"]
    assert job["last"]["fire"] == "#5"
    assert job["late"] == [0.0, 1.0, None]


def test_where_the_history_does_not_answer_no_job_is_said_to_have_come_out_some_way(
    tmp_path: Path,
) -> None:
    with Bureau.in_a_file(tmp_path) as bureau, counter(tmp_path, bureau, history=False) as desk:
        bureau.of(PY, job="bad", owners={0: PY})
        desk.seen(lambda answer: answer["total"] == 1)
        answer = desk.viewer.get("jobs?outcome=failed", 404)
        assert answer["kind"] == "no history"


@pytest.mark.parametrize(
    "asked",
    [
        *("limit=0", "limit=201", "offset=-1", "sort=colour", "status=FINE", "outcome=well", "limit=many"),
        *("descending=perhaps", f"search={'x' * 1001}", "offset=99999999999999999999999"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(desk: Counter, asked: str) -> None:
    answer = desk.viewer.get(f"jobs?{asked}", 400)
    assert answer["kind"] == "invalid"
    assert answer["error"].startswith(asked.partition("=")[0])


def test_the_same_is_done_to_many_jobs_and_one_that_is_refused_keeps_no_other_from_it(desk: Counter) -> None:
    desk.bureau.of(PY, job="a", owners={0: PY})
    desk.bureau.of(job="b")
    answer = desk.operator.post("bulk", {"jobs": ["a", "b", "c", "a"], "action": "disable"})
    assert [each["target"] for each in answer["done"]] == ["a"]
    assert [each["job"] for each in answer["refused"]] == ["b", "c"]
    assert desk.bureau.read("servers/192.0.2.4", "a") == "DISABLED"
    for action in ("enable", "trigger", "shutdown"):
        answer = desk.operator.post("bulk", {"jobs": ["a"], "action": action})
        assert (len(answer["done"]), answer["refused"]) == (1, [])
    assert desk.bureau.names("instances", "a") == ()


@pytest.mark.parametrize(
    "wish", [{}, {"jobs": [], "action": "enable"}, {"jobs": ["a"], "action": "remove"}, {"jobs": "a"}, []]
)
def test_a_wish_for_many_that_makes_no_sense_is_refused(desk: Counter, wish: object) -> None:
    assert desk.operator.post("bulk", wish, 400)["kind"] == "invalid"
