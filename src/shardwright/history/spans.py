"""Spans: every run as OpenTelemetry tells it (the extra `otel`; where it is sent is the user's own choice).

A span is told when its run is over, with the times it had; so is each try of it that another followed. Runs
of the same fire carry the same `shardwright.fire`; a run after a failed-over one links to nothing, as its
member is gone with its span.
"""

from datetime import datetime

from ..errors import MissingExtra
from ..outcomes import OK
from . import events, ledger
from .events import Event

try:
    from opentelemetry.trace import Span, SpanKind, Status, StatusCode, TracerProvider, get_tracer
except ImportError as missing:
    raise MissingExtra("spans need an extra: pip install 'shardwright[otel]'") from missing


class Spans:
    """A consumer of events that makes a span of every run."""

    def __init__(self, provider: TracerProvider | None = None) -> None:
        self._tracer = get_tracer("shardwright", tracer_provider=provider)

    def __call__(self, event: Event) -> None:
        match event:
            case events.Ended():
                # A fire of the past that somebody wanted now is not late.
                span = self._span(event, event.began or event.at, late=event.source != "trigger")
                span.set_attribute("shardwright.outcome", event.outcome)
                if event.outcome != OK:
                    span.set_status(Status(StatusCode.ERROR, event.failure or event.outcome))
                span.end(_nanoseconds(event.at))
            case events.Retried():
                span = self._span(event, event.began or event.at, late=False)
                span.set_attribute("shardwright.outcome", event.outcome)
                span.set_attribute("shardwright.try", event.tried)
                span.set_status(Status(StatusCode.ERROR, event.failure or event.outcome))
                span.end(_nanoseconds(event.at))
            case events.FailedOver():
                span = self._span(event, event.at, late=False)  # when it began is not known here
                span.set_attribute("shardwright.outcome", ledger.LOST_RUN)
                span.set_status(Status(StatusCode.ERROR, f"{event.by} died"))
                span.end(_nanoseconds(event.at))

    def _span(self, event: events.RunEvent, began: datetime, *, late: bool) -> Span:
        fire = ledger.named(event.fire)
        attributes: dict[str, str | int | float] = {
            "shardwright.job": event.job,
            "shardwright.fire": fire,
            "shardwright.item": event.item,
            "shardwright.attempt": event.attempt,
            "shardwright.number": event.number,
            "shardwright.source": event.source,
            "shardwright.instance": event.by,
        }
        if late and not ledger.is_asked(fire):
            seconds = (began - ledger.due(fire, began)).total_seconds()
            attributes["shardwright.late_seconds"] = max(0.0, seconds)
        return self._tracer.start_span(
            f"{event.job} {event.item}",
            kind=SpanKind.INTERNAL,
            attributes=attributes,
            start_time=_nanoseconds(began),
        )


def _nanoseconds(at: datetime) -> int:
    return round(at.timestamp() * 1_000_000) * 1000
