"""The demonstration, played as it is for a newcomer: on a terminal, off one, on both registries."""

import os
import pty
import signal
import subprocess
from contextlib import suppress

import pytest

from tests.faults.processes import ROOT

#: What must have been seen in the end.
ENDS_WELL = "0 were finished twice, 0 were lost"


GOES_ON = "it goes on as long as you like: Ctrl-C ends it"

#: Without what a make that runs these tests was told, which is not meant for the one in them.
ENVIRONMENT = {name: told for name, told in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "ARGS")}


def stay(*options: str) -> list[str]:
    """What is told by one that is played with --stay, and that Ctrl-C ends when all is shown."""
    command = ["make", "--no-print-directory", "demo", "ARGS=--stay", *options]
    heeding = ["env", "--default-signal=INT"]  # also where the tests themselves were started to ignore it
    with subprocess.Popen(
        [*heeding, *command],
        cwd=ROOT,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as playing:
        assert playing.stdout is not None
        lines = []
        for line in playing.stdout:
            lines.append(line.rstrip("\n"))
            if lines[-1] == GOES_ON:
                os.killpg(playing.pid, signal.SIGINT)
    return lines


def play_on_a_terminal() -> tuple[str, int]:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        ["make", "demo"],
        cwd=ROOT,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**ENVIRONMENT, "TERM": "xterm", "COLUMNS": "100", "LINES": "40"},
    ) as playing:
        os.close(theirs)
        seen = b""
        with suppress(OSError):  # that is how the end of a terminal is told
            while part := os.read(ours, 65536):
                seen += part
    os.close(ours)
    return seen.decode(), playing.returncode


@pytest.mark.slow
def test_on_a_terminal_the_shards_of_the_one_that_is_killed_are_seen_to_go_on_elsewhere() -> None:
    seen, code = play_on_a_terminal()
    for part in ("index_photos", "The console is at http://", "killed: process", "taken over"):
        assert part in seen
    assert "for the same fire" in seen
    assert ENDS_WELL in seen
    assert code == 0


@pytest.mark.slow
@pytest.mark.zookeeper
def test_off_a_terminal_and_on_zookeeper_it_is_told_in_sentences_and_goes_on_until_ctrl_c() -> None:
    lines = stay("REGISTRY=zookeeper")
    assert [line for line in lines if line.startswith("killed: process")]
    assert [line for line in lines if "for the same fire" in line]
    assert [line for line in lines if line.startswith("One-time token for the first account: ")]
    assert lines[-4] == GOES_ON
    assert lines[-1] == ENDS_WELL
    assert not [line for line in lines if "\x1b" in line]


def test_what_is_no_registry_is_refused_with_those_there_are() -> None:
    asked = subprocess.run(
        ["make", "demo", "REGISTRY=consul"],
        cwd=ROOT,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert asked.returncode == 2
    assert "embedded" in asked.stderr
    assert "zookeeper" in asked.stderr
