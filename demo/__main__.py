"""python -m demo [--registry embedded|zookeeper] [--stay]"""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.live import Live

from tests.zookeeper_server import Server

from . import screen
from .director import Director

#: How long a ZooKeeper server takes a silent process for alive; the default is ten seconds.
SESSION = "4s"


@click.command()
@click.option("--registry", type=click.Choice(["embedded", "zookeeper"]), default="embedded")
@click.option("--stay", is_flag=True, help="Go on until Ctrl-C.")
def main(registry: str, stay: bool) -> None:
    """Three processes share a job in six shards; one of them is killed in the midst of its work."""
    console = Console()
    said: list[str] = []
    with (
        tempfile.TemporaryDirectory(prefix="shardwright-demo-") as folder,
        registry_in(folder, registry) as url,
    ):
        if console.is_terminal:
            with Live(console=console, screen=False, refresh_per_second=8) as live:
                director = Director(
                    url,
                    Path(folder),
                    said.append,
                    lambda: live.update(screen.drawn(director.stage, list(director.processes), said)),
                )
                direct(director, stay=stay)
        else:
            director = Director(url, Path(folder), click.echo, lambda: None)
            direct(director, stay=stay)
    click.echo("\n".join(director.summary()))
    sys.exit(0 if director.went_well() else 1)


def direct(director: Director, *, stay: bool) -> None:
    try:
        director.play()
        if stay:
            director.stay()
    except KeyboardInterrupt:
        pass  # that is how --stay ends
    finally:
        director.end()


@contextmanager
def registry_in(folder: str, kind: str) -> Iterator[str]:
    """A registry of our own for as long as it is played."""
    if kind == "embedded":
        yield f"sqlite://{folder}/registry.db"
    else:
        with Server() as server:
            yield f"zookeeper://{server.hosts}/demo?session_timeout={SESSION}"


if __name__ == "__main__":
    main()
