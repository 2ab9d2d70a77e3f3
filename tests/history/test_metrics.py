"""Metrics: what is counted, under the names that the reference gives."""

import re
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from shardwright.clock import HandClock
from shardwright.history import events
from shardwright.history.metrics import MOST_REASONS, Metrics
from shardwright.history.recorder import Recorder
from shardwright.history.store import Store
from tests.history.fires import FIRE, ME, T, after, ended, started

REFERENCE = Path(__file__).parents[2] / "docs/reference/metrics.md"


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def metrics(registry: CollectorRegistry) -> Metrics:
    return Metrics(registry)


def run_event(kind: type[events.FailedOver] | type[events.LeaseLost]) -> events.Event:
    return kind(at=T, job="reindex", fire=FIRE, item=0, attempt="a", by=ME)


@pytest.mark.parametrize(
    ("event", "name", "labels", "value"),
    [
        (started(at=after(3)), "lateness_seconds_sum", {"job": "reindex"}, 3.0),
        (ended(outcome="failed"), "runs_total", {"job": "reindex", "outcome": "failed"}, 1.0),
        (
            events.MadeGood(at=T, job="reindex", fire=FIRE, item=0, later=FIRE),
            "misfires_total",
            {"job": "reindex"},
            1.0,
        ),
        (run_event(events.FailedOver), "failovers_total", {"job": "reindex"}, 1.0),
        (
            events.Retried(
                at=T, job="reindex", fire=FIRE, item=0, attempt="a", by=ME, tried=1, outcome="failed"
            ),
            "retries_total",
            {"job": "reindex"},
            1.0,
        ),
        (
            events.Alerted(at=T, job="reindex", handler="EMAIL", delivered=True),
            "alerts_total",
            {"job": "reindex", "handler": "EMAIL", "outcome": "delivered"},
            1.0,
        ),
        (
            events.Alerted(at=T, job="reindex", handler="EMAIL", delivered=False),
            "alerts_total",
            {"job": "reindex", "handler": "EMAIL", "outcome": "failed"},
            1.0,
        ),
        (run_event(events.LeaseLost), "leases_lost_total", {"job": "reindex"}, 1.0),
        (
            events.Skipped(
                at=T, job="reindex", fire=FIRE, item=0, reason="the server 10.0.0.1 is disabled: x"
            ),
            "skipped_total",
            {"job": "reindex", "reason": "the server … is disabled"},
            1.0,
        ),
        (
            events.Lost(at=T, job="reindex", fire=FIRE, item=0, reason="failover is off"),
            "lost_total",
            {"job": "reindex"},
            1.0,
        ),
        (
            events.StaleRefused(at=T, job="reindex", fire=FIRE, item=0),
            "stale_writes_refused_total",
            {"job": "reindex"},
            1.0,
        ),
        (events.Moved(at=T, job="reindex", shards=4), "shards_moved_total", {"job": "reindex"}, 4.0),
        (events.Moved(at=T, job="reindex", shards=4), "reshardings_total", {"job": "reindex"}, 1.0),
        (events.LeaseMargin(at=T, seconds=2.5), "lease_margin_seconds", {}, 2.5),
        (events.RegistryLost(at=T), "registry_up", {}, 0.0),
        (events.RegistryBack(at=T, seconds=12), "registry_unavailable_seconds_total", {}, 12.0),
    ],
)
def test_an_event_is_counted(
    registry: CollectorRegistry,
    metrics: Metrics,
    event: events.Event,
    name: str,
    labels: dict[str, str],
    value: float,
) -> None:
    metrics(event)
    assert registry.get_sample_value(f"shardwright_{name}", labels) == value


def test_how_long_a_run_took_is_counted(registry: CollectorRegistry, metrics: Metrics) -> None:
    run = events.Ended(
        at=after(5), job="reindex", fire=FIRE, item=0, attempt="a", by=ME, outcome="ok", began=after(2)
    )
    metrics(run)
    assert registry.get_sample_value("shardwright_run_seconds_sum", {"job": "reindex"}) == 3.0


def test_only_the_first_attempt_tells_how_late_a_fire_is(
    registry: CollectorRegistry, metrics: Metrics
) -> None:
    metrics(events.Started(at=after(99), job="reindex", fire=FIRE, item=0, attempt="b", by=ME, number=2))
    metrics(started(fire="#4"))
    backfilled = events.Started(
        at=after(9e6), job="reindex", fire=FIRE, item=0, attempt="c", by=ME, source="trigger"
    )
    metrics(backfilled)
    assert registry.get_sample_value("shardwright_lateness_seconds_count", {"job": "reindex"}) is None


def test_however_many_reasons_there_are_the_series_are_few(
    registry: CollectorRegistry, metrics: Metrics
) -> None:
    for n in range(100):
        word = "".join(chr(ord("a") + int(digit)) for digit in str(n))
        metrics(events.Skipped(at=T, job="reindex", fire=FIRE, item=0, reason=f"reason {word}"))
    skipped = next(family for family in registry.collect() if family.name == "shardwright_skipped")
    reasons = {sample.labels["reason"] for sample in skipped.samples if sample.name.endswith("_total")}
    assert len(reasons) == MOST_REASONS + 1
    assert "other" in reasons


def test_how_the_history_keeps_up_is_told(
    registry: CollectorRegistry, metrics: Metrics, tmp_path: Path
) -> None:
    clock = HandClock()
    with Store(f"sqlite:///{tmp_path / 'history.db'}") as store:
        recorder = Recorder(store, clock=clock, batch=1, most=2, tell=metrics)
        for second in range(3):
            recorder(started(fire=after(second).isoformat()))
        recorder.turn()
    assert registry.get_sample_value("shardwright_history_waiting") == 1
    assert registry.get_sample_value("shardwright_history_dropped") == 1


def test_every_metric_stands_in_the_reference_and_nothing_else_does(
    registry: CollectorRegistry, metrics: Metrics
) -> None:
    suffix = {"counter": "_total"}
    ours = {family.name + suffix.get(family.type, "") for family in registry.collect()}
    assert set(re.findall(r"^\| `(shardwright_\w+)`", REFERENCE.read_text(), re.MULTILINE)) == ours
