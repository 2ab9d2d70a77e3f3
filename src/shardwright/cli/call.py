"""What every command is given: the registry it is about, and how to answer and to ask back."""

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TextIO

import click

from . import plain
from .blocks import Block, sentence

if TYPE_CHECKING:
    from ..registry import Registry

#: How a command ends that has not done what it was asked for; the help says when.
FAILED, WRONG_USAGE, NO_REGISTRY = 1, 2, 3

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a command."""

    address: str | None = None
    """The registry as it was given by --registry."""
    history: str | None = None
    """The history as it was given by --history."""
    json: bool = False
    sure: bool = False
    """Whether --yes was given."""

    def registry(self) -> "Registry":
        """The registry, open; to be closed by the caller."""
        from .places import open_at

        return open_at(self.address)

    def show(self, document: Json, blocks: Callable[[], Iterable[Block]]) -> None:
        """Answer: with one JSON document where that was asked for, else with what people read."""
        try:
            if self.json:
                click.echo(json.dumps(document, indent=2))
            elif is_terminal(sys.stdout):
                from . import screen

                screen.show(blocks())
            else:
                click.echo(plain.text(blocks()))
        except BrokenPipeError:  # whoever read it has read enough
            raise
        except OSError as error:
            raise click.ClickException(f"the answer could not be written: {error.strerror}") from error

    def ask(self, question: str) -> None:
        """Have somebody say yes before something is done that cannot be undone."""
        if self.sure:
            return
        question = sentence(question)
        if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
            raise click.UsageError(f"{question} Nobody is here to ask: say so by --yes")
        click.confirm(question, abort=True, err=True)


def is_terminal(stream: TextIO | None) -> bool:
    """Whether somebody sits there; a stream that the caller has closed is none at all."""
    return stream is not None and stream.isatty()


class Unanswered(click.ClickException):
    """Nobody answers, or nothing is there."""

    exit_code = NO_REGISTRY


def call(context: click.Context) -> Call:
    """What is known of this call."""
    return context.find_object(Call) or Call()


# What every command is told by options


def _said(option: click.Parameter, value: str) -> str:
    """What an option says, which is not nothing: a shell says that whose variable is not set, and then
    another place than the one that was meant must not be taken."""
    if not value:
        raise click.BadParameter("it is empty", param=option)
    return value


def _keep_address(context: click.Context, option: click.Parameter, value: str | None) -> None:
    if value is not None:
        context.obj = replace(call(context), address=_said(option, value))


def _keep_history(context: click.Context, option: click.Parameter, value: str | None) -> None:
    if value is not None:
        context.obj = replace(call(context), history=_said(option, value))


def _keep_json(context: click.Context, option: click.Parameter, value: bool) -> None:
    context.obj = replace(call(context), json=value)


def _keep_sure(context: click.Context, option: click.Parameter, value: bool) -> None:
    context.obj = replace(call(context), sure=value)


REGISTRY = click.Option(
    ["--registry"],
    metavar="URL",
    help="The registry: sqlite:///path.db or zookeeper://host/namespace.",
    callback=_keep_address,
    expose_value=False,
    is_eager=True,
)
HISTORY = click.Option(
    ["--history"],
    metavar="ADDRESS",
    help="The history: sqlite:////folder/history.db or postgresql://user@host/database.",
    callback=_keep_history,
    expose_value=False,
    is_eager=True,
)
JSON = click.Option(
    ["--json"],
    is_flag=True,
    help="Answer with one JSON document.",
    callback=_keep_json,
    expose_value=False,
    is_eager=True,
)
YES = click.Option(
    ["--yes", "-y"], is_flag=True, help="Do not ask back.", callback=_keep_sure, expose_value=False
)


class Command(click.Command):
    """A command that answers."""

    common: tuple[click.Option, ...] = (JSON,)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        *own, help_option = super().get_params(ctx)
        return [*own, *self.common, help_option]


class About(Command):
    """A command about a registry."""

    common = (REGISTRY, JSON)


class Asking(Command):
    """A command about what the history tells of the jobs in a registry."""

    common = (REGISTRY, HISTORY, JSON)


class Changing(Command):
    """A command that asks back before it changes what is in a registry."""

    common = (REGISTRY, JSON, YES)


def examples(*lines: str) -> str:
    """The end of a command's help."""
    return "\n".join(["\b", "Example:" if len(lines) == 1 else "Examples:", *(f"  {line}" for line in lines)])
