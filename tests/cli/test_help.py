"""What the command line says about itself, and what it costs to ask."""

import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from shardwright import __version__
from shardwright.cli import main
from shardwright.cli.group import COMMANDS
from tests.test_import_cost import modules_after

from .calling import shardwright

ROOT = Path(__file__).parents[2]


def commands(group: click.Group = main, words: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command by its words, those of groups included."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield f"{words}{name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{words}{name} ")


ALL = dict(commands())


@pytest.mark.parametrize("words", ALL)
def test_every_command_has_help_with_an_example_of_itself(words: str) -> None:
    answer = shardwright(*words.split(), "--help")
    assert answer.code == 0
    assert f"shardwright {words}" in answer.out.partition("Example")[2]


@pytest.mark.parametrize("words", ALL)
def test_every_command_stands_in_the_reference_with_an_example(words: str) -> None:
    page = (ROOT / "docs/reference/cli.md").read_text()
    assert f"`shardwright {words}" in page
    assert f"\nshardwright {words}" in page


def test_every_option_of_every_command_stands_in_the_reference() -> None:
    page = (ROOT / "docs/reference/cli.md").read_text()
    options = {
        option
        for command in ALL.values()
        for parameter in command.get_params(click.Context(command))
        for option in parameter.opts
        if option.startswith("--")
    }
    assert sorted(option for option in options if option not in page) == []


def test_the_list_says_of_each_command_what_its_own_help_says() -> None:
    listed = {name: does for section in COMMANDS.values() for name, (does, _) in section.items()}
    for name, does in listed.items():
        own = (ALL[name].help or "").replace("\n", " ")
        assert own.startswith(does.removesuffix(".")), name


def test_every_command_but_those_that_answer_nothing_answers_in_json() -> None:
    without = {
        words
        for words, command in ALL.items()
        if not isinstance(command, click.Group)
        and "--json"
        not in {option for each in command.get_params(click.Context(command)) for option in each.opts}
    }
    assert without == {"run"}


def test_the_help_says_what_exit_codes_mean_and_how_completion_is_had() -> None:
    told = shardwright("--help").out
    for words in ("Exit codes:", "3  the registry cannot be reached", "_SHARDWRIGHT_COMPLETE=bash_source"):
        assert words in told


def test_the_version_is_told() -> None:
    assert shardwright("--version").out == f"shardwright, version {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["frobnicate"], "No such command 'frobnicate'"),
        (["histroy"], "No such command 'histroy'. Did you mean 'history'?"),
        (["--frobnicate"], "No such option"),
        (["jobs", "--frobnicate"], "No such option"),
        (["jobs", "extra"], "unexpected extra argument (extra)"),
        (["config", "frobnicate"], "No such command 'frobnicate'"),
        ([], "Usage: shardwright"),
    ],
)
def test_wrong_usage_is_told_on_standard_error(arguments: list[str], why: str) -> None:
    answer = shardwright(*arguments)
    assert (answer.code, answer.out) == (2, "")
    assert why in answer.err


def test_the_program_is_named_in_the_package_and_starts_as_a_module() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"shardwright": "shardwright.cli:main"}
    ended = subprocess.run(
        [sys.executable, "-m", "shardwright", "--version"], capture_output=True, check=True
    )
    assert ended.stdout.startswith(b"shardwright, version")


def test_asking_for_help_loads_nothing_but_click() -> None:
    ask = (
        "import contextlib, io\nfrom shardwright.cli import main\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):\n"
        "    main(['--help'])\n"
    )
    loaded = modules_after(ask) - modules_after("")
    packages = {name.partition(".")[0] for name in loaded} - sys.stdlib_module_names
    assert packages == {"click", "shardwright"}
