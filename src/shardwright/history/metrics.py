"""Metrics: events as Prometheus counts them (the extra `metrics`). Their names stand in the reference.

A job is a label, a shard or an instance never: there are too many of them.
"""

import re

from ..errors import MissingExtra
from . import entries, events
from .events import Event

try:
    from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram
except ImportError as missing:
    raise MissingExtra("metrics need an extra: pip install 'shardwright[metrics]'") from missing

#: Reasons beyond this number are counted as "other": each is a series of its own.
MOST_REASONS = 30

_LATENESS = (0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 1800, 3600)
_LENGTHS = (0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14400, 86400)


class Metrics:
    """A consumer of events that counts."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        def counter(name: str, about: str, *labels: str) -> Counter:
            return Counter(f"shardwright_{name}", about, labels, registry=registry)

        def gauge(name: str, about: str) -> Gauge:
            return Gauge(f"shardwright_{name}", about, registry=registry)

        def histogram(name: str, about: str, buckets: tuple[float, ...]) -> Histogram:
            return Histogram(f"shardwright_{name}", about, ["job"], registry=registry, buckets=buckets)

        self._reasons: set[str] = set()
        self._lateness = histogram("lateness_seconds", "From the scheduled time to the start.", _LATENESS)
        self._lengths = histogram("run_seconds", "How long runs took.", _LENGTHS)
        self._runs = counter("runs", "Runs that ended, by outcome.", "job", "outcome")
        self._retries = counter("retries", "Tries that came out badly and were followed by another.", "job")
        self._misfires = counter("misfires", "Fires that a later one stands for.", "job")
        self._failovers = counter("failovers", "Runs whose member died, put up for another.", "job")
        self._skipped = counter("skipped", "Fires that were not run, by reason.", "job", "reason")
        self._lost = counter("lost", "Fires whose run was lost and not repeated.", "job")
        self._leases = counter("leases_lost", "Runs told to stop as the registry was away.", "job")
        self._stale = counter("stale_writes_refused", "Writes that came too late and were refused.", "job")
        self._moves = counter("shards_moved", "Shards that went to another member.", "job")
        self._reshardings = counter("reshardings", "Times that shards were given out anew.", "job")
        self._margin = gauge("lease_margin_seconds", "What was left of the lease when a run was begun.")
        self._away = counter("registry_unavailable_seconds", "For how long the registry did not answer.")
        self._up = gauge("registry_up", "Whether the registry answers.")
        self._up.set(1)
        self._waiting = gauge("history_waiting", "Entries that are not in the history yet.")
        self._dropped = gauge("history_dropped", "Entries that were dropped.")
        self._alerts = counter("alerts", "Messages to people, by how it went.", "job", "handler", "outcome")

    def __call__(self, event: Event) -> None:
        match event:
            case events.Started():
                self._started(event)
            case events.Retried(job=job):
                self._retries.labels(job).inc()
            case events.Ended():
                self._ended(event)
            case events.FailedOver(job=job):
                self._failovers.labels(job).inc()
            case events.MadeGood(job=job):
                self._misfires.labels(job).inc()
            case events.Skipped(job=job, reason=reason):
                self._skipped.labels(job, self._reason(reason)).inc()
            case events.Lost(job=job):
                self._lost.labels(job).inc()
            case events.LeaseLost(job=job):
                self._leases.labels(job).inc()
            case events.StaleRefused(job=job):
                self._stale.labels(job).inc()
            case events.Moved(job=job, shards=shards):
                self._moves.labels(job).inc(shards)
                self._reshardings.labels(job).inc()
            case events.LeaseMargin(seconds=seconds):
                self._margin.set(seconds)
            case events.Backlog(waiting=waiting, dropped=dropped):
                self._waiting.set(waiting)
                self._dropped.set(dropped)
            case events.Alerted(job=job, handler=handler, delivered=delivered):
                self._alerts.labels(job, handler, "delivered" if delivered else "failed").inc()
            case events.RegistryLost():
                self._up.set(0)
            case events.RegistryBack(seconds=seconds):
                self._away.inc(max(0.0, seconds))
                self._up.set(1)

    def _started(self, event: events.Started) -> None:
        if event.source == "trigger":  # a fire of the past, which is late because somebody wants it now
            return
        entry = entries.of(event)
        if event.number == 1 and entry is not None and entry.late is not None:
            self._lateness.labels(event.job).observe(entry.late)

    def _ended(self, event: events.Ended) -> None:
        self._runs.labels(event.job, event.outcome).inc()
        if event.began is not None:
            self._lengths.labels(event.job).observe(max(0.0, (event.at - event.began).total_seconds()))

    def _reason(self, reason: str) -> str:
        """A reason without what differs from fire to fire."""
        short = re.sub(r"\s+", " ", re.sub(r"[\d:.+-]*\d[\w:.+-]*", "…", reason.partition(":")[0])).strip()[
            :60
        ]
        if short not in self._reasons and len(self._reasons) >= MOST_REASONS:
            return "other"
        self._reasons.add(short)
        return short
