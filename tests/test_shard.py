"""Shards: what a run is handed, how it is told to stop, and what other programs are told of it."""

import json
from datetime import UTC, datetime

import pytest

from shardwright import Shard
from shardwright.errors import Cancelled


def a_shard(**changes: object) -> Shard:
    told: dict[str, object] = {
        "item": 1,
        "total": 3,
        "parameter": "Köln",
        "job_name": "reindex",
        "job_parameter": "all",
        "fire_time": datetime(2030, 1, 1, tzinfo=UTC),
        "token": 7,
        "attempt": 2,
        "source": "failover",
        "checkpoint": "page 3",
        "task_id": "reindex@-@1@-@READY@-@10.0.0.1@-@4711-0000abcd",
    }
    return Shard(**{**told, **changes})  # type: ignore[arg-type]


def test_who_wants_to_hear_of_the_order_to_stop_does_once_and_only_in_its_context() -> None:
    shard, heard = a_shard(), []
    with shard.on_cancel(lambda: heard.append("early")):
        pass
    with shard.on_cancel(lambda: heard.append("in time")):
        shard.cancel()
        shard.cancel()
    with shard.on_cancel(lambda: heard.append("late")):
        pass
    assert heard == ["in time", "late"]
    assert shard.cancelled
    with pytest.raises(Cancelled, match="reindex, shard 1: told to stop"):
        shard.raise_if_cancelled()


@pytest.mark.parametrize("error", [OSError("https://app:s3cret@example.com"), SystemExit(3)])
def test_who_fails_when_told_to_stop_keeps_nobody_else_from_hearing_of_it(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    shard, heard = a_shard(), []

    def fail() -> None:
        raise error

    with shard.on_cancel(fail), shard.on_cancel(lambda: heard.append("stopped")), shard.on_cancel(fail):
        shard.cancel()
    assert heard == ["stopped"]
    assert shard.cancelled
    logged = [(record.name, record.getMessage()) for record in caplog.records]
    assert [name for name, _ in logged] == ["shardwright", "shardwright"]
    for _, message in logged:
        assert message.startswith("reindex: shard 1: what was to be done when told to stop failed\nTraceback")
        assert type(error).__name__ in message
        assert "s3cret" not in message


def test_of_an_endless_failure_when_told_to_stop_no_more_is_told_than_people_read(
    caplog: pytest.LogCaptureFixture,
) -> None:
    shard = a_shard()

    def fail() -> None:
        raise ValueError("password: hunter2, " * 1_000_000)

    with shard.on_cancel(fail):
        shard.cancel()
    assert "ValueError" in caplog.text
    assert len(caplog.text) < 20_000
    assert "hunter2" not in caplog.text


def test_another_program_is_told_all_there_is_to_know() -> None:
    assert json.loads(a_shard().as_json()) == {
        "item": 1,
        "total": 3,
        "parameter": "Köln",
        "job_name": "reindex",
        "job_parameter": "all",
        "fire_time": "2030-01-01T00:00:00+00:00",
        "token": 7,
        "attempt": 2,
        "source": "failover",
        "checkpoint": "page 3",
        "task_id": "reindex@-@1@-@READY@-@10.0.0.1@-@4711-0000abcd",
    }


def test_elasticjobs_scripts_are_told_what_elasticjob_tells_them_to_the_letter() -> None:
    assert a_shard().sharding_context() == (
        '{"jobName":"reindex","taskId":"reindex@-@1@-@READY@-@10.0.0.1@-@4711-0000abcd",'
        '"shardingTotalCount":3,"jobParameter":"all","shardingItem":1,"shardingParameter":"Köln"}'
    )
    assert "shardingParameter" not in a_shard(parameter="").sharding_context()
