"""The children of our tests do as they are told, and none is left behind."""

import os
import select
import signal
import sys
from pathlib import Path

import pytest

from tests.faults import children
from tests.faults.processes import Child, Process


def has_ended(process: int) -> bool:
    """Whether the process behind the descriptor ends within ten seconds; closes the descriptor."""
    with open(process, "rb", buffering=0):
        return bool(select.select([process], [], [], 10)[0])


def test_a_function_runs_in_an_interpreter_of_its_own_with_its_arguments() -> None:
    with Child(children.greet, "you", 2) as child:
        assert child.expect("hello") == "hello you"
        assert child.wait() == 0
        assert child.expect("hello") == "hello you"
        assert child.pid != os.getpid()


def test_a_module_runs_by_its_name() -> None:
    with Child("platform") as child:
        assert child.expect(sys.platform.capitalize())


def test_a_line_that_never_comes_shows_what_came_instead() -> None:
    with (
        Child(children.greet, "you", 1) as child,
        pytest.raises(AssertionError, match=r"(?s)ended without printing 'bye'.*hello you"),
    ):
        child.expect("bye")


def test_a_wait_has_a_deadline() -> None:
    with Child(children.count) as child:
        child.expect("ready")
        with pytest.raises(AssertionError, match=r"took more than 0\.05 s"):
            child.expect("at home", within=0.05)
        with pytest.raises(TimeoutError):
            child.wait(within=0.05)


def test_one_that_listens_hears_what_it_is_told(tmp_path: Path) -> None:
    heard = tmp_path / "heard"
    with heard.open("wb") as output, Process(["head", "-n1"], output=output, listens=True) as process:
        process.tell("hello")
        assert process.wait() == 0
    assert heard.read_text() == "hello\n"


def test_a_stopped_child_stands_still_until_it_is_continued() -> None:
    with Child(children.count) as child:
        child.expect("ready")
        child.stop()
        os.kill(child.pid, signal.SIGUSR1)
        with pytest.raises(AssertionError):
            child.expect("at home", within=0.1)
        child.cont()
        child.expect("at home")


def test_a_killed_child_has_no_last_word() -> None:
    with Child(children.count) as child:
        child.expect("ready")
        child.kill()
        assert child.wait() == -signal.SIGKILL
        assert child.lines == ["ready"]


def test_a_stopped_child_can_be_asked_to_end() -> None:
    with Child(children.count) as child:
        child.expect("ready")
        child.stop()
        assert child.terminate() == -signal.SIGTERM


def test_the_end_of_the_block_ends_the_child() -> None:
    with Child(children.count) as child:
        child.expect("ready")
    assert not child.alive()


def test_a_process_dies_with_the_process_that_started_it() -> None:
    with Child(children.start_a_tethered_process) as child:
        grandchild = os.pidfd_open(int(child.expect("")))
        child.kill()
        assert has_ended(grandchild)


def test_a_killed_child_leaves_what_it_started_and_the_end_of_the_block_does_not() -> None:
    with Child(children.start_a_loose_process) as child:
        grandchild = os.pidfd_open(int(child.expect("")))
        child.kill()
        signal.pidfd_send_signal(grandchild, 0)  # raises if there is nobody
    assert has_ended(grandchild)
