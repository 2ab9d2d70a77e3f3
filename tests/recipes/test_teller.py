"""The teller: one call after the other, whatever they do."""

import logging
import sys
import threading
from collections.abc import Callable

import pytest

from shardwright.recipes.teller import Teller

from .heard import PATIENCE, Heard, listening, says


def test_a_call_that_would_end_its_thread_is_reported_and_the_next_is_called() -> None:
    heard: Heard[str] = Heard()
    teller = Teller("Account")
    with listening() as said:
        teller.tell("on_change", lambda: sys.exit(1))
        teller.tell("on_change", lambda: heard("next"))
        heard.until(len)
        said.until(says("ERROR Account: on_change has failed"))
    teller.stop(PATIENCE)


def test_stopped_twice_it_tells_again_when_there_is_something_to_tell() -> None:
    """As when a callback stops what its owner stops as well."""
    heard: Heard[str] = Heard()
    teller = Teller("Account")
    teller.tell("on_change", lambda: teller.stop(PATIENCE))
    teller.stop(PATIENCE)
    teller.stop(PATIENCE)
    teller.tell("on_change", lambda: heard("again"))
    heard.until(len)
    teller.stop(PATIENCE)


def test_nothing_is_called_beside_what_has_not_come_back_though_it_was_not_waited_for() -> None:
    heard: Heard[str] = Heard()
    may_go_on = threading.Event()

    def hang() -> None:
        heard("begins")
        may_go_on.wait(PATIENCE)
        heard("ends")

    teller = Teller("Account")
    teller.tell("on_change", hang)
    heard.until(len)
    teller.stop(0.0)
    teller.tell("on_change", lambda: heard("next"))
    may_go_on.set()
    assert heard.until(lambda calls: len(calls) == 3) == ["begins", "ends", "next"]
    teller.stop(PATIENCE)


def test_it_knows_whether_it_is_asked_in_what_it_calls() -> None:
    heard: Heard[bool] = Heard()
    teller, other = Teller("Account"), Teller("Order")
    teller.tell("on_change", lambda: heard(teller.is_calling()))
    teller.tell("on_change", lambda: heard(other.is_calling()))
    assert heard.until(lambda calls: len(calls) == 2) == [True, False]
    assert not teller.is_calling()
    teller.stop(PATIENCE)


def told_where_there_is_no_thread(teller: Teller, call: Callable[[], None]) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with pytest.MonkeyPatch.context() as crowded:
        crowded.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError):
            teller.tell("on_change", call)


def test_what_is_told_where_there_is_no_thread_is_called_when_there_is_one() -> None:
    heard: Heard[str] = Heard()
    teller = Teller("Account")
    told_where_there_is_no_thread(teller, lambda: heard("first"))
    teller.tell("on_change", lambda: heard("second"))
    assert heard.until(lambda calls: len(calls) == 2) == ["first", "second"]
    teller.stop(PATIENCE)


def test_what_was_told_where_there_was_no_thread_keeps_nobody_from_stopping() -> None:
    heard: Heard[str] = Heard()
    teller = Teller("Account")
    told_where_there_is_no_thread(teller, lambda: heard("never"))
    teller.stop(PATIENCE)
    teller.tell("on_change", lambda: heard("next"))
    assert heard.until(len) == ["next"]
    teller.stop(PATIENCE)


def test_a_log_that_raises_does_not_silence_it() -> None:
    class Full(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise OSError(28, "No space left on device")

    heard: Heard[str] = Heard()
    teller, full = Teller("Account"), Full()
    logging.getLogger("shardwright").addHandler(full)
    try:
        teller.tell("on_change", lambda: sys.exit(1))
        teller.tell("on_change", lambda: heard("next"))
        heard.until(len)
    finally:
        logging.getLogger("shardwright").removeHandler(full)
    teller.stop(PATIENCE)
