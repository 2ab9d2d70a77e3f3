"""`shardwright next`: when a schedule fires."""

from collections.abc import Iterator
from datetime import datetime

import click

from ... import schedule, zones
from ...clock import SystemClock
from ...cron import Dst
from ...errors import CronError, MissingExtra
from ...ops.jobs import next_fires
from ...schedule import Caution, Schedule
from ..blocks import Block, Table, Words
from ..call import FAILED, Call, Command, call, examples
from ..moments import moment

MOST, LAST_YEAR = 10_000, 9990


@click.command(
    "next",
    cls=Command,
    epilog=examples(
        'shardwright next "0 0 2 * * ?" --tz Europe/Berlin',
        'shardwright next "crontab */5 * * * *" --count 3',
        'shardwright next "every 90s" --json',
    ),
)
@click.argument("words", nargs=-1, required=True, metavar="EXPRESSION")
@click.option(
    "--tz", metavar="ZONE", help="The zone of its times, such as Europe/Berlin; else this machine's."
)
@click.option("--count", default=10, show_default=True, type=click.IntRange(1, MOST), help="How many fires.")
@click.option(
    "--after", metavar="TIME", help="From when on, such as 2026-03-29T00:00:00+01:00; else from now."
)
@click.option("--dst", type=click.Choice(["quartz", "continuous"]), help="What clock changes do to fires.")
@click.pass_context
def next_command(
    context: click.Context,
    words: tuple[str, ...],
    tz: str | None,
    count: int,
    after: str | None,
    dst: Dst | None,
) -> None:
    """Tell when a schedule fires, and what to know about it.

    EXPRESSION is one of Quartz's, six or seven fields with seconds first, or begins with crontab, every or
    once. What clock changes do to it in the next two years is said. A schedule that never fires again ends
    with exit code 1.
    """
    expression = _one(words)
    try:
        zone = zones.find(tz)
        read = schedule.parse(expression, zone, dst=dst)
    except CronError as error:
        raise click.UsageError(_for_a_shell(expression, str(error))) from None
    start = moment(after, "--after") if after is not None else SystemClock().wall()
    if start.year > LAST_YEAR:
        raise click.BadParameter(f"there is no calendar after {LAST_YEAR}", param_hint="--after")
    fires = [fire.astimezone(zone) for fire in next_fires(read, start, count)]
    cautions = schedule.lint(read, after=start)
    _show(call(context), read, zones.name(zone), fires, cautions)
    if not fires:
        context.exit(FAILED)


def _one(words: tuple[str, ...]) -> str:
    """The expression, which a shell takes apart unless it stands in quotes."""
    if len(words) > 1:
        raise click.UsageError(
            f"{' '.join(words)} are {len(words)} arguments: put the expression in quotes, "
            'such as shardwright next "0 0 2 * * ?"'
        )
    return words[0]


def _for_a_shell(expression: str, error: str) -> str:
    """What is wrong, with the remedy as it is typed here."""
    what, unix, _ = error.partition("For a UNIX line: ")
    return f"{what}{unix}shardwright next 'crontab {expression}'" if unix else error


def _in_words(read: Schedule) -> str | None:
    try:
        return schedule.words(read)
    except MissingExtra:
        return None


def _show(
    asked: Call, read: Schedule, zone: str, fires: list[datetime], cautions: tuple[Caution, ...]
) -> None:
    words = _in_words(read)
    document = {
        "schedule": read.text,
        "zone": zone,
        "words": words,
        "fires": [fire.isoformat() for fire in fires],
        "cautions": [
            {"kind": each.kind, "text": each.text, "at": each.at.isoformat() if each.at else None}
            for each in cautions
        ],
    }

    def blocks() -> Iterator[Block]:
        if words is not None:
            yield Words(f"{words} ({zone})")
        rows = [(f"{fire:%a}", fire.isoformat(sep=" ")) for fire in fires]
        if rows:
            yield Table(("day", "fires"), rows, "")
        yield from (Words(f"Note: {each.text}") for each in cautions)

    asked.show(document, blocks)
