"""Traces: ElasticJob's own tables, as the console tells of them."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from shardwright.history.store import Store
from tests.history.fires import T, a_run, after
from tests.history.java import a_java_run, a_java_state

from .counter import Counter


@pytest.fixture
def traced(desk: Counter, tmp_path: Path) -> Iterator[Store]:
    """The history of the desk, with ElasticJob's tables in it."""
    with Store(tmp_path / "history.db", trace=True) as store:
        yield store


def test_runs_of_java_members_and_of_ours_are_told_the_newest_first(desk: Counter, traced: Store) -> None:
    traced.write([a_run(at=T + timedelta(minutes=1))])
    a_java_run(traced, 3, success=False, failure="java.lang.Error: password=s3cret-s3cret")
    page = desk.viewer.get("traces")
    assert page["after"] is None
    assert [each["ip"] for each in page["runs"]] == ["10.0.0.1", "10.0.0.9"]
    assert page["runs"][1] == {
        "id": "id-3",
        "job": "reindex",
        "task": "reindex@-@0@-@READY@-@10.0.0.9@-@4711",
        "host": "host-a",
        "ip": "10.0.0.9",
        "shard": 3,
        "source": "NORMAL_TRIGGER",
        "success": False,
        "failure": "java.lang.Error: password=***",
        "began": "2030-01-01T02:00:00Z",
        "ended": "2030-01-01T02:00:02Z",
    }


def test_runs_are_filtered_and_come_in_pages(desk: Counter, traced: Store) -> None:
    a_java_run(traced, 0)
    a_java_run(traced, 1, job="other", began=after(60))
    a_java_run(traced, 2, ip="10.0.0.8", success=False, began=after(120))

    def found(asked: str) -> list[int]:
        return [each["shard"] for each in desk.viewer.get(f"traces?{asked}")["runs"]]

    assert found("job=other") == [1]
    assert found("ip=10.0.0.8") == [2]
    assert found("success=false") == [2]
    assert found("success=true") == [1, 0]
    assert found("begin=2030-01-01T02:01:00Z&end=2030-01-01T02:02:00Z") == [1]
    first = desk.viewer.get("traces?limit=2")
    assert found(f"limit=2&after={first['after'].replace(' ', '%20')}") == [0]


def test_states_are_told_filtered_and_come_in_pages(desk: Counter, traced: Store) -> None:
    for number, state in enumerate(["TASK_STAGING", "TASK_RUNNING", "TASK_ERROR"]):
        a_java_state(traced, number, state, message="{0=token=s3cret-s3cret}")
    first = desk.viewer.get("traces/states?limit=2")
    assert [each["state"] for each in first["states"]] == ["TASK_ERROR", "TASK_RUNNING"]
    rest = desk.viewer.get(f"traces/states?limit=2&after={first['after'].replace(' ', '%20')}")
    assert rest == {
        "states": [
            {
                "id": "id-0",
                "job": "reindex",
                "task": "a task",
                "server": "10.0.0.9",
                "shards": "[0, 1]",
                "state": "TASK_STAGING",
                "message": "{0=token=***}",
                "at": "2030-01-01T02:00:00Z",
            }
        ],
        "after": None,
    }
    assert len(desk.viewer.get("traces/states?state=TASK_ERROR&job=reindex")["states"]) == 1
    assert desk.viewer.get("traces/states?job=other")["states"] == []


def test_where_the_tables_are_not_there_nothing_is_told(desk: Counter) -> None:
    assert desk.viewer.get("traces") == {"runs": [], "after": None}
    assert desk.viewer.get("traces/states") == {"states": [], "after": None}


@pytest.mark.parametrize(
    "asked",
    [
        *("traces?after=page+2", "traces?limit=501", "traces?success=perhaps", "traces?ip=", "traces?job="),
        *("traces/states?state=FINE", "traces/states?after=soon/1", "traces?begin=yesterday"),
        "traces/states?begin=2030-01-02T00:00:00Z&end=2030-01-01T00:00:00Z",
    ],
)
def test_what_makes_no_sense_is_refused(desk: Counter, traced: Store, asked: str) -> None:
    assert desk.viewer.get(asked, 400)["kind"] == "invalid"
