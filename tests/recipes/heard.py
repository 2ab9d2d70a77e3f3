"""What a test hears, and waits to hear: what callbacks are called with, and what is logged."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

T = TypeVar("T")

PATIENCE = 20.0


class Heard(Generic[T]):
    """A callback that remembers, in order."""

    def __init__(self) -> None:
        self.all: list[T] = []
        self._news = threading.Condition()

    def __call__(self, what: T) -> None:
        with self._news:
            self.all.append(what)
            self._news.notify_all()

    def until(self, enough: Callable[[list[T]], object], within: float = PATIENCE) -> list[T]:
        with self._news:
            assert self._news.wait_for(lambda: enough(self.all), within), self.all
            return list(self.all)


@contextmanager
def listening() -> Iterator[Heard[str]]:
    """All that Shardwright logs, as `LEVEL message`."""
    heard: Heard[str] = Heard()

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            heard(f"{record.levelname} {record.getMessage()}")

    log, listener = logging.getLogger("shardwright"), Listener()
    level = log.level
    log.addHandler(listener)
    log.setLevel(logging.INFO)
    try:
        yield heard
    finally:
        log.removeHandler(listener)
        log.setLevel(level)


def says(*parts: str) -> Callable[[list[str]], bool]:
    """Whether one line has all these parts."""
    return lambda lines: any(all(part in line for part in parts) for line in lines)
