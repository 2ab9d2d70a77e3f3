"""Events: values that cannot be changed or leak, and a bus that troubles nobody."""

import logging
import threading
from collections.abc import Iterator
from dataclasses import FrozenInstanceError

import pytest

from shardwright.history import events
from shardwright.history.events import Event, Events
from tests.history.fires import after, ended, started


def test_what_happened_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        started().item = 3  # type: ignore[misc]


def test_a_failure_is_masked_where_it_is_told() -> None:
    told = ended(outcome="failed", failure="cannot log in with password=hunter2 at all")
    assert "hunter2" not in repr(told)
    assert "password=***" in told.failure


def test_a_long_failure_keeps_its_beginning_and_its_end() -> None:
    told = ended(outcome="failed", failure="Traceback\n" + "line\n" * 2000 + "ValueError: no")
    assert len(told.failure) == 4000
    assert told.failure.startswith("Traceback")
    assert told.failure.endswith("ValueError: no")


def test_a_failure_has_no_character_that_a_database_refuses() -> None:
    assert ended(failure="a\x00b\ud800c\r\nd").failure == "a\ufffdb\ufffdc\nd"


def test_every_consumer_is_told_in_order() -> None:
    bus, heard, also = Events(), list[Event](), list[Event]()
    bus.subscribe(heard.append)
    bus.subscribe(also.append)
    bus.publish(first := started())
    bus.publish(second := ended())
    assert bus.deliver() == 2
    assert heard == also == [first, second]


def test_several_events_wait_as_one_and_are_made_when_they_are_carried() -> None:
    bus, heard, made = Events(most=3), list[Event](), list[int]()
    bus.subscribe(heard.append)

    def several() -> Iterator[Event]:
        for item in range(5):
            made.append(item)
            yield started(item)

    bus.publish(ended())
    bus.publish_all(several())
    bus.publish(ended())
    assert (made, bus.dropped) == ([], 0)
    assert bus.deliver() == 7
    assert heard == [ended(), *(started(item) for item in range(5)), ended()]


def test_a_consumer_that_fails_is_logged_and_troubles_nobody(caplog: pytest.LogCaptureFixture) -> None:
    def fail(event: Event) -> None:
        raise RuntimeError("no disk")

    bus, heard = Events(), list[Event]()
    bus.subscribe(fail)
    bus.subscribe(heard.append)
    bus.publish(started())
    with caplog.at_level(logging.ERROR, "shardwright"):
        bus.deliver()
    assert heard == [started()]
    assert "could not take in Started" in caplog.text


def test_publishing_waits_for_no_consumer() -> None:
    bus, go, heard = Events(), threading.Event(), list[Event]()

    def dawdle(event: Event) -> None:
        go.wait(60)
        heard.append(event)

    bus.subscribe(dawdle)
    bus.start()
    for n in range(100):
        bus.publish(started(n))
    assert heard == []
    go.set()
    bus.close(60)
    assert [event.item for event in heard if isinstance(event, events.Started)] == list(range(100))


def test_more_events_than_may_wait_are_counted_and_not_kept() -> None:
    bus, heard = Events(most=2), list[Event]()
    bus.subscribe(heard.append)
    for n in range(5):
        bus.publish(started(n))
    bus.close()
    assert len(heard) == 2
    assert bus.dropped == 3


def test_a_closed_bus_takes_nothing_more() -> None:
    bus = Events()
    bus.close()
    bus.publish(events.RegistryLost(at=after(0)))
    assert bus.dropped == 1
    assert bus.deliver() == 0
