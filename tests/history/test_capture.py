"""Capture: a run's own log lines, bounded and without secrets."""

import contextvars
import logging
import threading
from collections.abc import Iterator

import pytest

from shardwright.history import capture
from shardwright.history.capture import Tape, capturing

log = logging.getLogger("somebody.elses")


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    capture.install()
    log.setLevel(logging.INFO)
    yield
    log.setLevel(logging.NOTSET)
    capture.uninstall()


def test_what_a_run_logs_is_on_its_tape() -> None:
    with capturing() as tape:
        log.info("rebuilt %d rows", 7)
        log.debug("not wanted")
    log.info("afterwards")
    [line] = tape.text().splitlines()
    assert line.endswith("INFO somebody.elses: rebuilt 7 rows")


def test_two_runs_at_once_have_tapes_of_their_own() -> None:
    texts = dict[str, str]()
    both = threading.Barrier(2)

    def run(name: str) -> None:
        with capturing() as tape:
            both.wait(60)
            log.info("I am %s", name)
            both.wait(60)
        texts[name] = tape.text()

    threads = [threading.Thread(target=run, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert "I am one" in texts["one"]
    assert "I am two" not in texts["one"]


def test_a_thread_that_takes_the_context_along_takes_the_tape() -> None:
    with capturing() as tape:
        thread = threading.Thread(target=contextvars.copy_context().run, args=(log.info, "from afar"))
        thread.start()
        thread.join()
    assert "from afar" in tape.text()


def test_a_traceback_is_captured_and_secrets_are_not() -> None:
    with capturing() as tape:
        try:
            raise ValueError("password=hunter2 is wrong")
        except ValueError:
            log.exception("it failed")
    assert "Traceback" in tape.text()
    assert "password=***" in tape.text()
    assert "hunter2" not in tape.text()


def test_of_many_lines_the_beginning_and_the_end_are_kept() -> None:
    tape = Tape(lines=10)
    for n in range(100):
        tape.add(f"line {n}")
    assert tape.left_out == 90
    assert tape.text().splitlines() == [
        *(f"line {n}" for n in range(5)),
        "… 90 left out …",
        *(f"line {n}" for n in range(95, 100)),
    ]


def test_however_much_is_logged_the_tape_is_bounded() -> None:
    tape = Tape(size=10_000)
    for n in range(2000):
        tape.add("x" * (n % 400))
    tape.add("y" * 1_000_000)
    assert len(tape.text()) < 10_000 + 100
    assert "yyy" in tape.text()


def test_a_record_that_cannot_be_formatted_does_not_stop_the_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "propagate", False)  # pytest's own handlers raise what they cannot format
    log.addHandler(capture._handler)
    try:
        with capturing() as tape:
            log.info("%d rows", "seven")
            log.info("and on")
    finally:
        log.removeHandler(capture._handler)
    assert "and on" in tape.text()
    assert "Logging error" in capsys.readouterr().err


def test_installing_twice_captures_once() -> None:
    capture.install()
    with capturing() as tape:
        log.info("once")
    assert len(tape.text().splitlines()) == 1
