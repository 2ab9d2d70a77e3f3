"""`shardwright watch`: a live screen of jobs and shards."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

import click

from ...errors import RegistryError
from ...ops import jobs, looking, shards, statistics
from ...ops.jobs import Brief
from ...ops.shards import Item
from ...ops.statistics import Statistics
from ...registry import Registry
from ...registry.url import parse
from .. import screen
from ..blocks import Block, Words, said
from ..call import About, call, examples, is_terminal
from ..completion import job_names
from ..keys import keys
from ..places import address
from ..seconds import Seconds
from .jobs import job_table
from .shards import shard_table


@dataclass(frozen=True, slots=True)
class Frame:
    """All that is to be seen at one moment."""

    place: str
    at: datetime
    counts: Statistics
    jobs: tuple[Brief, ...]
    shards: Mapping[str, tuple[Item, ...]]
    trouble: str = ""
    """Why this is how it was and not how it is, if so."""


@click.command(
    "watch", cls=About, epilog=examples("shardwright watch", "shardwright watch reindex --every 0.5")
)
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=job_names)
@click.option(
    "--every",
    default=1.0,
    show_default=True,
    type=Seconds(0.1, 3600),
    metavar="SECONDS",
    help="How often to look.",
)
@click.pass_context
def watch_command(context: click.Context, names: tuple[str, ...], every: float) -> None:
    """Watch jobs and shards, live: who runs what, and what fires next. q or Ctrl-C ends it.

    Off a terminal, and with --json, it shows how things are now, and ends.
    """
    asked = call(context)
    place = str(parse(address(asked.address)))
    with asked.registry() as registry:
        frame = _look(registry, place, names)
        if asked.json or not (is_terminal(sys.stdout) and is_terminal(sys.stdin)):
            asked.show(_document(frame), lambda: _blocks(frame))
            return
        with suppress(KeyboardInterrupt):
            _follow(registry, frame, names, every)


def _look(registry: Registry, place: str, names: tuple[str, ...]) -> Frame:
    there = jobs.names(registry)
    for name in names:
        looking.check_known(name, there, registry.namespace)
    sights = looking.all_at(registry, there)
    shown = [sight for sight in sights if sight.name in (names or there)]
    return Frame(
        place,
        registry.now(),
        statistics.seen(sights),
        jobs.seen(shown),
        {sight.name: shards.seen(sight) for sight in shown},
    )


def _follow(registry: Registry, frame: Frame, names: tuple[str, ...], every: float) -> None:
    with keys() as pressed, screen.live() as update:
        while True:
            update(_blocks(frame))
            if "q" in pressed(every).lower():
                return
            frame = _look_again(registry, frame, names)


def _look_again(registry: Registry, frame: Frame, names: tuple[str, ...]) -> Frame:
    """The next frame; while the registry does not answer, this one with a word about it."""
    try:
        return _look(registry, frame.place, names)
    except (RegistryError, TimeoutError) as error:
        return replace(frame, trouble=f"The registry does not answer, trying again: {error}")


def _document(frame: Frame) -> dict[str, object]:
    return {
        "registry": frame.place,
        "at": frame.at.isoformat(),
        "statistics": frame.counts.as_json(),
        "jobs": [each.as_json() for each in frame.jobs],
        "shards": {job: [each.as_json() for each in items] for job, items in frame.shards.items()},
    }


def _blocks(frame: Frame) -> Iterator[Block]:
    yield Words(f"{frame.place}  {said(frame.at)}\n{_counted(frame.counts)}")
    if frame.trouble:
        yield Words(frame.trouble)
    yield job_table(frame.jobs)
    for job, items in frame.shards.items():
        yield replace(shard_table(items), title=job)


def _counted(counts: Statistics) -> str:
    states = ", ".join(f"{count} {status}" for status, count in counts.by_status.items() if count)
    return (
        f"jobs: {counts.jobs}{f' ({states})' if states else ''}  servers: {counts.servers}  "
        f"processes: {counts.instances}  shards: {counts.shards}  running: {counts.running}"
    )
