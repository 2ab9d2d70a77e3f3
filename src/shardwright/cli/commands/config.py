"""`shardwright config`: a job's settings."""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import click

from ...errors import NotValid, OperationError
from ...jobs import JobConfig
from ...ops import settings
from ...ops.settings import Change
from ..auditing import operator
from ..blocks import Facts, Words, said
from ..call import About, Changing, call, examples
from ..completion import job_names
from ..doing import show_done

#: How it ends what is said of a job that has both a cron and a schedule.
_ONE_OF_TWO = "give one of the two"


@click.group("config", epilog=examples("shardwright config set reindex shards=8 failover=true"))
def config_command() -> None:
    """Show, compare and change a job's settings."""


@config_command.command(
    "get",
    cls=About,
    epilog=examples("shardwright config get reindex", "shardwright config get reindex cron shards"),
)
@click.argument("name", shell_complete=job_names)
@click.argument("chosen", nargs=-1, metavar="[SETTING]...")
@click.pass_context
def get(context: click.Context, name: str, chosen: tuple[str, ...]) -> None:
    """Show a job's settings, all of them or some. Secrets are masked."""
    with call(context).registry() as registry:
        found = settings.get(registry, name)
    shown = found.config.masked()
    names = [settings.named(each) for each in chosen]
    for each in names:
        if each not in shown:
            raise OperationError(f"there is no setting {each!r}{_meant(each, shown)}")
    some = {each: shown[each] for each in names or shown}
    document = {"job": name, "version": found.version, "config": some}
    call(context).show(document, lambda: [Facts({each: said(value) for each, value in some.items()})])


def _meant(name: str, known: Iterable[str]) -> str:
    likely = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean {likely[0]!r}?" if likely else f"; there are: {', '.join(known)}"


@config_command.command(
    "diff", cls=About, epilog=examples("shardwright config diff reindex shards=8 'cron=0 0 3 * * ?'")
)
@click.argument("name", shell_complete=job_names)
@click.argument("changes", nargs=-1, required=True, metavar="SETTING=VALUE...")
@click.pass_context
def diff(context: click.Context, name: str, changes: tuple[str, ...]) -> None:
    """Tell what would change, and change nothing. What cannot be is refused, as `set` does."""
    texts = _taken_apart(changes)
    with call(context).registry() as registry:
        wanted = settings.spelled(texts, settings.get(registry, name).config)
        with _told_for_a_shell(texts):
            found = settings.diff(registry, name, wanted)
    document = {"job": name, "changes": [each.as_json() for each in found]}
    call(context).show(document, lambda: [Words(_sentences(found))])


@config_command.command(
    "set",
    cls=About,
    epilog=examples(
        "shardwright config set reindex shards=8 failover=true",
        "shardwright config set reindex 'cron=0 0 3 * * ?' timeout=10m",
        "shardwright config set ping props.http.uri=https://example.org/ping",
    ),
)
@click.argument("name", shell_complete=job_names)
@click.argument("changes", nargs=-1, required=True, metavar="SETTING=VALUE...")
@click.pass_context
def set_(context: click.Context, name: str, changes: tuple[str, ...]) -> None:
    """Change a job's settings. All of its processes take them up at once. What cannot be is refused, and then
    nothing is changed."""
    texts = _taken_apart(changes)
    with call(context).registry() as registry:
        found = settings.get(registry, name)
        wanted = settings.spelled(texts, found.config)
        # At this version: of the props all are written, also those that somebody else has just changed.
        with _told_for_a_shell(texts):
            done = operator(call(context), registry).update(name, wanted, version=found.version)
    show_done(context, done)


@config_command.command(
    "replace", cls=Changing, epilog=examples("shardwright config replace reindex 'cron=0 0 3 * * ?' shards=8")
)
@click.argument("name", shell_complete=job_names)
@click.argument("chosen", nargs=-1, required=True, metavar="SETTING=VALUE...")
@click.pass_context
def replace(context: click.Context, name: str, chosen: tuple[str, ...]) -> None:
    """Put these settings in the place of all that a job has, even where those make no sense. What is not
    named is as by default. Asks back."""
    texts = _taken_apart(chosen)
    begun = JobConfig.of({"name": name})
    config = settings.after(begun, settings.spelled(texts, begun))
    call(context).ask(f"Replace all settings of {name}?")
    with call(context).registry() as registry:
        done = operator(call(context), registry).replace(name, config)
    show_done(context, done)


def _taken_apart(changes: Iterable[str]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for change in changes:
        setting, equals, value = change.partition("=")
        if not (setting and equals):
            raise click.UsageError(f"{change.partition('=')[0]!r}: write a change as setting=value")
        if setting in texts:
            raise click.UsageError(f"{setting!r} is there twice")
        texts[setting] = value
    return texts


@contextmanager
def _told_for_a_shell(texts: Mapping[str, str]) -> Iterator[None]:
    """What is wrong, with the remedy as it is typed here."""
    try:
        yield
    except NotValid as error:
        others = [each for each in ("cron", "schedule") if each not in texts]
        if len(others) != 1:
            raise
        remedy = f"{_ONE_OF_TWO}, and take the other away by {others[0]}="
        raise NotValid(str(error).replace(_ONE_OF_TWO, remedy)) from None


def _sentences(changes: Iterable[Change]) -> str:
    return "\n".join(each.sentence() for each in changes) or "Nothing would change."
