"""The screen: the stage as people see it, drawn again and again on a terminal."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from .service import SHARDS, STEPS
from .stage import Run, Stage

#: How many of the last sentences are on the screen.
SENTENCES = 8


def drawn(stage: Stage, processes: Sequence[str], said: Sequence[str]) -> RenderableType:
    sentences = Text("\n".join(said[-SENTENCES:]))
    return Group(_shards(stage), _processes(stage, processes), Panel(sentences, title="what happens"))


def _shards(stage: Stage) -> Table:
    table = Table(title="index_photos: six shards, every ten seconds", expand=True)
    for column in ("shard", "fire", "run by", "", "try"):
        table.add_column(column)
    for shard in range(SHARDS):
        run = stage.latest(shard)
        table.add_row(str(shard), *(_cells(stage, run) if run is not None else ("", "", "", "")))
    return table


def _cells(stage: Stage, run: Run) -> tuple[RenderableType, ...]:
    dead = run.by in stage.killed and not run.ended
    who = Text(f"{run.by}, killed" if dead else run.by, style="red" if dead else "")
    again = Text(f"{run.tries}: taken over" if run.tries > 1 else "1", style="green" if run.tries > 1 else "")
    return run.fire[11:19], who, ProgressBar(total=STEPS, completed=run.step, width=24), again


def _processes(stage: Stage, processes: Sequence[str]) -> Table:
    table = Table(expand=True)
    for column in ("process", "runs shards"):
        table.add_column(column)
    for who in processes:
        shards = ", ".join(str(run.shard) for run in stage.running(who))
        table.add_row(who, Text("killed", style="red") if who in stage.killed else shards)
    return table
