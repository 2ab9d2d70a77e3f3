"""The commands there are, each loaded when it is called, so that help and completion stay quick; and what
becomes of errors: a sentence on standard error, which gives the terminal no orders, and an exit code.
"""

import difflib
import importlib
import io
import sys

import click
from click.shell_completion import CompletionItem

from .. import __version__
from ..errors import RegistryError, RegistryUrlError, ShardwrightError
from .blocks import sentence
from .call import FAILED, REGISTRY, WRONG_USAGE, Unanswered

#: The commands by the titles of the help: what each does, and the file below `commands` that it lives in.
COMMANDS: dict[str, dict[str, tuple[str, str]]] = {
    "Running": {
        "run": ("Run a scheduler and its jobs.", "run"),
        "console": ("Serve the web console.", "console"),
        "next": ("Tell when a schedule fires, and what to know about it.", "next"),
    },
    "Looking": {
        "watch": ("Watch jobs and shards, live.", "watch"),
        "jobs": ("List the jobs.", "jobs"),
        "job": ("Show one job: its members, servers, shards and settings.", "jobs"),
        "shards": ("Show who owns and who runs the shards of a job.", "shards"),
        "servers": ("List the servers, or the jobs of one.", "servers"),
        "leader": ("Tell who leads a job.", "leader"),
        "history": ("Tell what became of fires, the latest first.", "history"),
        "why": ("Tell in words why a fire came to what it did.", "why"),
        "preview": ("Tell which shards would move, and move none.", "preview"),
        "dump": ("Print a job's nodes, with addresses masked.", "dump"),
    },
    "Steering": {
        "trigger": ("Have a job fire now.", "trigger"),
        "rerun": ("Have a fire of the past run once more.", "past"),
        "backfill": ("Have the fires of a stretch of the past run.", "past"),
        "enable": ("Let a job, a server or a shard work again.", "state"),
        "disable": ("Let a job, a server or a shard rest.", "state"),
        "config": ("Show, compare and change a job's settings.", "config"),
        "drain": ("Have a process give its shards of a job away.", "drain"),
        "shutdown": ("Order processes to leave a job.", "ending"),
        "remove": ("Remove a job, or a server that is gone.", "ending"),
        "doctor": ("Look for trouble, explain it, and repair it.", "doctor"),
    },
    "Recipes": {
        "master": ("Show and choose the masters of services.", "master"),
        "slices": ("Show who has which slice of a dynamic sharding.", "slices"),
    },
}

HELP = """Elastic, sharded, fail-safe scheduled jobs: run them, look at them, steer them.

The registry is the one named by --registry, by SHARDWRIGHT_REGISTRY, or by the nearest shardwright.toml in
this folder or above, which says registry = "zookeeper://zk1,zk2/prod"; otherwise it is the file that a
scheduler makes in this folder.
"""

EPILOG = """\b
Exit codes:
  0  done, or all is well
  1  it failed, was refused, or there is trouble
  2  wrong usage: what to write instead is said
  3  the registry cannot be reached, or there is no history that can be read

\b
Completion, for bash (zsh and fish alike):
  eval "$(_SHARDWRIGHT_COMPLETE=bash_source shardwright)"
"""


class Commands(click.Group):
    """The commands of the table."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for section in COMMANDS.values() for name in section]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        for section in COMMANDS.values():
            if cmd_name in section:
                module = importlib.import_module(f".commands.{section[cmd_name][1]}", __package__)
                command = vars(module)[f"{cmd_name}_command"]
                assert isinstance(command, click.Command)
                return command
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        near = difflib.get_close_matches(args[0], self.list_commands(ctx), 1)
        if near and near[0] != args[0] and not ctx.resilient_parsing:
            raise click.UsageError(f"No such command {args[0]!r}. Did you mean {near[0]!r}?", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, self.list_commands(ctx)))
        for title, section in COMMANDS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:{width}}", does) for name, (does, _) in section.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        commands = [
            CompletionItem(name, help=does)
            for section in COMMANDS.values()
            for name, (does, _) in section.items()
            if name.startswith(incomplete)
        ]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def invoke(self, ctx: click.Context) -> object:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # a character that cannot be shown is no reason to fail
                stream.reconfigure(errors="backslashreplace")
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            error.message = sentence(error.message)  # type: ignore[misc]  # click has no other way
            raise
        except (ShardwrightError, TimeoutError) as error:
            raise _told(error) from error


def _told(error: Exception) -> click.ClickException:
    """An error as a sentence with an exit code. A wrong address is a matter of usage."""
    said = sentence(str(error))
    if isinstance(error, RegistryUrlError):
        return _Misaddressed(said)
    if isinstance(error, RegistryError | TimeoutError):
        return Unanswered(said)
    return _Refused(said)


class _Refused(click.ClickException):
    exit_code = FAILED


class _Misaddressed(click.ClickException):
    exit_code = WRONG_USAGE


main = Commands(
    "shardwright",
    params=[REGISTRY],
    help=HELP,
    epilog=EPILOG,
    context_settings={"help_option_names": ["--help", "-h"]},
    no_args_is_help=True,
)
main = click.version_option(__version__, prog_name="shardwright")(main)
