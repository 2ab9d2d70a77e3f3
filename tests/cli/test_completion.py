"""What the shell completes."""

import os
import subprocess
import sys

import pytest
from click.shell_completion import ShellComplete

from shardwright.cli import main
from shardwright.registry.url import VARIABLE

from .calling import Calling


def completed(arguments: list[str], incomplete: str) -> list[str]:
    shell = ShellComplete(main, {}, "shardwright", "_SHARDWRIGHT_COMPLETE")
    return [str(item.value) for item in shell.get_completions(arguments, incomplete)]


def test_commands_complete() -> None:
    assert completed([], "s") == ["shards", "servers", "shutdown", "slices"]
    assert completed(["config"], "") == ["diff", "get", "replace", "set"]
    assert completed([], "--r") == ["--registry"]


@pytest.mark.parametrize("command", [["job"], ["trigger"], ["config", "set"], ["watch"], ["disable"]])
def test_the_names_of_jobs_complete_from_the_registry(calls: Calling, command: list[str]) -> None:
    assert completed(["--registry", calls.url, *command], "re") == ["reindex"]
    assert completed([*command, "--registry", calls.url], "x") == []


def test_a_registry_that_is_not_there_completes_nothing_and_says_nothing() -> None:
    assert completed(["--registry", "sqlite:///nonexistent/registry.db", "job"], "") == []


def test_bash_is_told_by_the_program_itself(calls: Calling) -> None:
    asked = {
        "_SHARDWRIGHT_COMPLETE": "bash_complete",
        "COMP_WORDS": "shardwright job re",
        "COMP_CWORD": "2",
        VARIABLE: calls.url,
    }
    told = subprocess.run(
        [sys.executable, "-m", "shardwright"], env={**os.environ, **asked}, capture_output=True, check=True
    )
    assert (told.stdout, told.stderr) == (b"plain,reindex\n", b"")
