"""Spans: each run as one, with the times it had."""

from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from shardwright.history import events
from shardwright.history.spans import Spans
from tests.history.fires import FIRE, ME, OTHER, T, after, started


def run(outcome: str = "ok", failure: str = "", fire: str = FIRE) -> events.Ended:
    return events.Ended(
        at=after(5),
        began=after(2),
        job="reindex",
        fire=fire,
        item=3,
        attempt="a1",
        by=ME,
        outcome=outcome,
        failure=failure,
    )


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def spans(exporter: InMemorySpanExporter) -> Spans:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return Spans(provider)


def only(exporter: InMemorySpanExporter) -> ReadableSpan:
    [span] = exporter.get_finished_spans()
    return span


def test_a_run_is_a_span_with_the_times_it_had(spans: Spans, exporter: InMemorySpanExporter) -> None:
    spans(started())
    spans(run())
    span = only(exporter)
    assert span.name == "reindex 3"
    assert span.start_time == int(after(2).timestamp()) * 10**9
    assert span.end_time == int(after(5).timestamp()) * 10**9
    assert dict(span.attributes or {}) == {
        "shardwright.job": "reindex",
        "shardwright.fire": FIRE,
        "shardwright.item": 3,
        "shardwright.attempt": "a1",
        "shardwright.number": 1,
        "shardwright.source": "scheduled",
        "shardwright.instance": ME,
        "shardwright.late_seconds": 2.0,
        "shardwright.outcome": "ok",
    }


def test_a_run_that_failed_is_an_error_without_secrets(spans: Spans, exporter: InMemorySpanExporter) -> None:
    spans(run("failed", "password=hunter2"))
    assert only(exporter).status.status_code is StatusCode.ERROR
    assert only(exporter).status.description == "password=***"


def test_a_try_that_another_followed_is_a_span_of_its_own(
    spans: Spans, exporter: InMemorySpanExporter
) -> None:
    facts: dict[str, Any] = {"job": "reindex", "fire": FIRE, "item": 3, "attempt": "a1", "by": ME}
    spans(events.Retried(at=after(2), began=after(1), tried=4, outcome="failed", failure="token=x1", **facts))
    span = only(exporter)
    assert (span.start_time, span.end_time) == (
        int(after(1).timestamp()) * 10**9,
        int(after(2).timestamp()) * 10**9,
    )
    assert (span.attributes or {})["shardwright.try"] == 4
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "token=***")


def test_a_run_that_was_asked_for_is_never_late(spans: Spans, exporter: InMemorySpanExporter) -> None:
    spans(run(fire="#3"))
    assert "shardwright.late_seconds" not in (only(exporter).attributes or {})


def test_a_run_whose_member_died_is_an_error(spans: Spans, exporter: InMemorySpanExporter) -> None:
    spans(events.FailedOver(at=after(9), job="reindex", fire=FIRE, item=3, attempt="a0", by=OTHER))
    assert only(exporter).status.description == f"{OTHER} died"
    assert "shardwright.late_seconds" not in (only(exporter).attributes or {})


def test_what_is_no_run_is_no_span(spans: Spans, exporter: InMemorySpanExporter) -> None:
    spans(events.RegistryLost(at=T))
    assert exporter.get_finished_spans() == ()
