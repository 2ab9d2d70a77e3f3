"""History: the ledger, logs, statistics, reasons and the audit."""

from datetime import timedelta
from pathlib import Path

import pytest

from shardwright.history.events import Logged
from tests.history.fires import FIRE, ME, OTHER, T, a_run
from tests.ops.bureau import Bureau

from .counter import Counter, counter


def test_fires_are_told_the_latest_first_in_pages(desk: Counter) -> None:
    desk.store.write([a_run(item, at=T + timedelta(hours=n)) for n in range(3) for item in range(2)])
    first = desk.viewer.get("history?limit=4")
    assert len(first["fires"]) == 4
    rest = desk.viewer.get(f"history?limit=4&after={first['after'].replace('+', '%2B')}")
    assert (len(rest["fires"]), rest["after"]) == (2, None)
    told = {(each["fire"], each["shard"]) for page in (first, rest) for each in page["fires"]}
    assert len(told) == 6
    assert rest["fires"][0]["attempts"][0]["process"] == ME


def test_fires_are_filtered(desk: Counter) -> None:
    later = T + timedelta(hours=1)
    desk.store.write([a_run(0), a_run(1, outcome="failed"), a_run(0, job="other", at=later, by=OTHER)])
    viewer = desk.viewer

    def found(asked: str) -> list[tuple[str, int]]:
        return sorted((each["job"], each["shard"]) for each in viewer.get(f"history?{asked}")["fires"])

    assert found("job=other") == [("other", 0)]
    assert found("outcome=failed") == [("reindex", 1)]
    assert found("shard=1") == [("reindex", 1)]
    assert found("disposition=LOST") == []
    assert found("server=10.0.0.2") == found(f"server={OTHER}") == [("other", 0)]
    assert found("server=10.0.0.1&shard=1") == [("reindex", 1)]
    assert found("server=10.0.0") == []
    assert found(f"begin={later:%Y-%m-%dT%H:%M:%SZ}") == [("other", 0)]
    assert found(f"end={later:%Y-%m-%dT%H:%M:%SZ}") == [("reindex", 0), ("reindex", 1)]


@pytest.mark.parametrize(
    "asked",
    [
        *("limit=0", "limit=501", "shard=-1", "shard=99999999999", "disposition=FINE", "outcome=fine"),
        *("begin=yesterday", "begin=2030-01-01T00:00:00", "after=page+2", "after=/x"),
        *("begin=2030-01-02T00:00:00Z&end=2030-01-01T00:00:00Z", "job=", "server="),
    ],
)
def test_what_makes_no_sense_is_refused(desk: Counter, asked: str) -> None:
    assert desk.viewer.get(f"history?{asked}", 400)["kind"] == "invalid"


def test_a_run_has_its_log(desk: Counter) -> None:
    entry = a_run()
    attempt = entry.attempts[0].id
    line = "<script>alert(1)</script>"
    desk.store.write(
        [entry],
        [Logged(at=T, job="reindex", made=7, fire=FIRE, item=0, attempt=attempt, text=line, left_out=2)],
    )
    asked = f"job=reindex&made=7&fire={FIRE.replace('+', '%2B')}&shard=0&attempt={attempt}"
    assert desk.viewer.get(f"history/log?{asked}") == {"text": line, "left_out": 2}
    assert desk.viewer.get(f"history/log?{asked}x", 404)["kind"] == "unknown"
    assert desk.viewer.get("history/log?job=reindex", 400)["kind"] == "invalid"


def test_fires_are_counted_by_day(desk: Counter) -> None:
    desk.store.write([a_run(0), a_run(1), a_run(0, at=T + timedelta(days=1), late=2)])
    counts = desk.viewer.get("history/statistics?job=reindex")["counts"]
    assert [(each["day"], each["fires"], each["latest"]) for each in counts] == [
        ("2030-01-02", 1, 2.0),
        ("2030-01-01", 2, 0.0),
    ]


def test_why_is_told_in_words(desk: Counter) -> None:
    desk.bureau.of(job="reindex", cron="0 0 2 * * ?", time_zone="UTC")
    desk.store.write([a_run(0), a_run(1, outcome="failed")])
    last = desk.viewer.get("why?job=reindex")
    assert (last["fire"], last["known"], len(last["shards"])) == (FIRE, True, 2)
    assert "1 of 2 shards came out well" in last["words"]
    then = desk.viewer.get("why?job=reindex&fire=2029-01-01T02:00:00Z")
    assert (then["known"], then["timetable"]["fires_then"]) == (False, True)
    assert "to come" in then["words"]
    assert desk.viewer.get("why?job=reindex&fire=soon", 400)["kind"] == "invalid"
    assert desk.viewer.get("why?job=nosuch", 404)["kind"] == "unknown"


def test_the_audit_may_be_asked_for_a_stretch(desk: Counter) -> None:
    for hour in range(3):
        desk.store.audit(at=T + timedelta(hours=hour), who="ann", what="trigger", target="j")
    asked = "audit?begin=2030-01-01T03:00:00Z&end=2030-01-01T04:00:00Z"
    assert [each["at"] for each in desk.viewer.get(asked)["changes"]] == ["2030-01-01T03:00:00Z"]
    assert len(desk.viewer.get("audit?limit=2")["changes"]) == 2
    assert desk.viewer.get("audit?limit=1001", 400)["kind"] == "invalid"


@pytest.mark.parametrize(
    "path", ["history", "why?job=j", "audit", "jobs/j/timeline", "history/statistics", "traces"]
)
def test_without_a_history_that_is_said_and_the_rest_works(tmp_path: Path, path: str) -> None:
    with Bureau.in_a_file(tmp_path) as bureau, counter(tmp_path, bureau, history=False) as desk:
        bureau.of()
        answer = desk.viewer.get(path, 404)
        assert (answer["kind"], "--history" in answer["error"]) == ("no history", True)
        assert desk.seen(lambda found: found["total"] == 1)["jobs"][0]["last"] is None
        assert desk.author.patch("jobs/j/config", {"changes": {"shards": 2}})["changed"]
