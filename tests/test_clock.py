"""Clocks: the machine's own, and one that is moved by hand."""

import time
from datetime import UTC, datetime, timedelta

import pytest

from shardwright.clock import HandClock, SystemClock

NOON = datetime(2030, 6, 1, 12, tzinfo=UTC)


def test_the_boot_clock_moves_on_and_counts_from_when_the_machine_came_up() -> None:
    clock = SystemClock()
    readings = [clock.boot() for _ in range(1_000)]
    assert readings == sorted(readings)
    assert readings[0] >= time.clock_gettime(time.CLOCK_MONOTONIC) - 60.0


def test_the_wall_clock_tells_the_time_of_day_in_utc() -> None:
    wall = SystemClock().wall()
    assert wall.tzinfo is UTC
    assert abs((datetime.now(UTC) - wall).total_seconds()) < 5


def test_a_hand_clock_stands_still_until_it_is_moved() -> None:
    clock = HandClock(NOON)
    assert (clock.boot(), clock.wall()) == (0.0, NOON)
    clock.advance(90.0)
    assert (clock.boot(), clock.wall()) == (90.0, NOON + timedelta(seconds=90))


def test_the_wall_clock_can_be_set_and_the_boot_clock_does_not_care() -> None:
    clock = HandClock(NOON)
    clock.advance(10.0)
    clock.set_wall(NOON - timedelta(hours=1))
    assert (clock.boot(), clock.wall()) == (10.0, NOON - timedelta(hours=1))
    clock.advance(5.0)
    assert (clock.boot(), clock.wall()) == (15.0, NOON - timedelta(hours=1) + timedelta(seconds=5))


def test_what_is_due_is_done_at_its_very_moment_and_in_order() -> None:
    clock = HandClock()
    done: list[tuple[str, float]] = []
    for name, when in (("late", 3.0), ("first", 1.0), ("second", 1.0), ("beyond", 9.0)):
        clock.at(when, lambda name=name: done.append((name, clock.boot())))  # type: ignore[misc]
    assert clock.next_due() == 1.0
    clock.advance(5.0)
    assert done == [("first", 1.0), ("second", 1.0), ("late", 3.0)]
    assert (clock.boot(), clock.next_due()) == (5.0, 9.0)


def test_what_is_asked_for_on_the_way_is_done_on_the_way() -> None:
    clock = HandClock()
    beats: list[float] = []

    def beat() -> None:
        beats.append(clock.boot())
        clock.at(clock.boot() + 2.0, beat)

    clock.at(1.0, beat)
    clock.advance(6.0)
    assert beats == [1.0, 3.0, 5.0]


def test_what_was_due_in_the_past_is_done_when_the_clock_next_moves_and_does_not_turn_it_back() -> None:
    clock = HandClock()
    clock.advance(10.0)
    done: list[float] = []
    clock.at(3.0, lambda: done.append(clock.boot()))
    assert done == []
    clock.advance(0.0)
    assert done == [10.0]


def test_a_hand_clock_cannot_be_turned_back() -> None:
    clock = HandClock()
    clock.advance(10.0)
    with pytest.raises(ValueError, match="back"):
        clock.advance(-1.0)
    assert clock.boot() == 10.0


def test_nothing_is_due_where_nothing_was_asked_for() -> None:
    assert HandClock().next_due() is None


def test_time_passes_with_a_halt_at_every_moment_that_was_asked_for() -> None:
    clock = HandClock()
    halts: list[float] = []
    clock.at(2.0, lambda: None)
    clock.pass_time(10.0, lambda: halts.append(clock.boot()), lambda: [None, 5.0, 30.0])
    assert halts == [0.0, 2.0, 5.0, 10.0]


def test_what_was_asked_for_at_this_very_moment_as_all_settled_happens_now() -> None:
    clock = HandClock()
    done: list[float] = []
    asked = iter([True])

    def settle() -> None:
        if next(asked, False):
            clock.at(clock.boot(), lambda: done.append(clock.boot()))

    clock.pass_time(10.0, settle, lambda: [])
    assert done == [0.0]
