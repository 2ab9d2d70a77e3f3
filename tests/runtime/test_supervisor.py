"""The supervisor: whatever else fails beside the inside, it never lives on silently dead."""

import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator
from queue import Queue

import pytest

from shardwright.runtime import supervisor
from shardwright.runtime.supervisor import Supervisor

PATIENCE = 20.0

Failed = Callable[[Exception], None]


class Inside:
    """Fails when it is told to, and when it is given up, too."""

    def __init__(self, failed: Failed) -> None:
        self.fail = failed

    def abandon(self) -> None:
        raise OSError("out of order")


class Supervised:
    """A supervisor, and each inside that it makes."""

    def __init__(self) -> None:
        self.made: Queue[Inside] = Queue()
        self.failure: Exception | None = None
        self.supervisor = Supervisor(self._make, self._given_up)
        self.supervisor.start()

    def next(self) -> Inside:
        return self.made.get(timeout=PATIENCE)

    def _make(self, failed: Failed) -> Inside:
        self.made.put(inside := Inside(failed))
        return inside

    def _given_up(self, error: Exception) -> None:
        self.failure = error


@pytest.fixture
def killed(monkeypatch: pytest.MonkeyPatch) -> "Queue[int]":
    """The signals that were sent."""
    sent: Queue[int] = Queue()
    monkeypatch.setattr(os, "kill", lambda pid, number: sent.put(number))
    return sent


class Broken(logging.Handler):
    """As one that tells a server of its own which is down."""

    def emit(self, record: logging.LogRecord) -> None:
        raise ConnectionError("the log is down")


@pytest.fixture
def no_log() -> Iterator[None]:
    handler = Broken()
    logging.getLogger("shardwright").addHandler(handler)
    yield
    logging.getLogger("shardwright").removeHandler(handler)


@pytest.mark.usefixtures("no_log")
def test_what_fails_while_the_log_is_broken_is_made_anew_and_in_the_end_given_up(
    killed: "Queue[int]",
) -> None:
    supervised = Supervised()
    for _ in range(supervisor.RESTARTS + 1):
        supervised.next().fail(RuntimeError("broken"))
    assert killed.get(timeout=PATIENCE) == signal.SIGTERM
    assert isinstance(supervised.failure, RuntimeError)


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """For how many more times the system has no thread for anybody."""
    left, start = [0], threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if left[0]:
            left[0] -= 1
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr(supervisor, "PAUSE", 0.0)
    return left


def test_where_there_is_no_thread_it_is_made_anew_when_there_is_one(refused: list[int]) -> None:
    supervised = Supervised()
    first = supervised.next()
    refused[0] = supervisor.ASKED - 1
    first.fail(RuntimeError("broken"))
    assert supervised.next() is not first
    assert supervised.failure is None


def test_where_there_is_no_thread_for_long_it_is_given_up(refused: list[int], killed: "Queue[int]") -> None:
    supervised = Supervised()
    refused[0] = supervisor.ASKED
    supervised.next().fail(RuntimeError("broken"))
    assert killed.get(timeout=PATIENCE) == signal.SIGTERM
    assert isinstance(supervised.failure, RuntimeError)
