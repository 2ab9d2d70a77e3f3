"""Blocks on a terminal, by rich: tables that fit its width, and colours for what must not be overlooked."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table as Grid
from rich.text import Text

from ..ops.values import printable
from ..outcomes import FAILED, TIMED_OUT
from .blocks import Block, Facts, Table, Words, lines

#: The colours of the words that say how something is.
COLOURS = {
    **dict.fromkeys(("OK", "ENABLED"), "green"),
    **dict.fromkeys(("RUNNING", "leads"), "cyan"),
    **dict.fromkeys(("DISABLED", "SHARDING_FLAG", "draining"), "yellow"),
    **dict.fromkeys(("CRASHED", "gone", FAILED, TIMED_OUT), "red"),
}


def show(blocks: Iterable[Block]) -> None:
    """Print them, where standard output is a terminal."""
    Console(highlight=False).print(_all(blocks))


@contextmanager
def live() -> Iterator[Callable[[Iterable[Block]], None]]:
    """While this lasts the whole terminal is ours: a function that shows other blocks on it."""
    with Live(console=Console(highlight=False), screen=True, auto_refresh=False) as shown:
        yield lambda blocks: shown.update(_all(blocks), refresh=True)


def _all(blocks: Iterable[Block]) -> Group:
    return Group(*map(_rendered, blocks))


def _rendered(block: Block) -> RenderableType:
    match block:
        case Words(words):
            return Text("\n".join(lines(words)))
        case Facts(pairs):
            grid = Grid.grid(padding=(0, 2))
            grid.add_column(style="bold", no_wrap=True)
            grid.add_column(overflow="fold")
            for name, value in pairs.items():
                grid.add_row(Text(name), _cell(value))
            return grid
        case Table() if not block.rows:
            return Text(block.empty, style="dim")
        case Table():
            return _table(block)


def _table(block: Table) -> Grid:
    grid = Grid(box=box.SIMPLE_HEAD, title=block.title or None, title_justify="left", pad_edge=False)
    for name in block.columns:
        grid.add_column(Text(name), overflow="fold")
    for row in block.rows:
        grid.add_row(*map(_cell, row))
    return grid


def _cell(text: str) -> Text:
    """As it is: what others wrote is neither markup nor an order to the terminal."""
    return Text(printable(text), style=COLOURS.get(text, ""))
