"""Blocks as plain text: aligned, uncoloured, never cut, for files, pipes and other programs."""

from collections.abc import Iterable, Iterator, Sequence

from ..ops.values import printable
from .blocks import Block, Facts, Table, Words, lines


def text(blocks: Iterable[Block]) -> str:
    """All blocks, with an empty line between them."""
    return "\n\n".join("\n".join(_lines(block)) for block in blocks)


def _lines(block: Block) -> Iterator[str]:
    match block:
        case Words(words):
            yield from lines(words)
        case Facts(pairs):
            yield from _aligned([(f"{name}:", value) for name, value in pairs.items()])
        case Table(columns, rows, empty, title):
            if title:
                yield title
            yield from _aligned([[name.upper() for name in columns], *rows]) if rows else [empty]


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Each column as wide as its widest cell, two spaces between them."""
    from rich.cells import cell_len  # a character may be two cells wide, or none

    cells = [[printable(cell) for cell in row] for row in rows]
    widths = [max(cell_len(row[column]) for row in cells) for column in range(len(cells[0]))] if cells else []
    for row in cells:
        padded = (cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(padded).rstrip()
