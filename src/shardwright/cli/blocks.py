"""What a command shows, as values: how it looks is decided where it is known where it goes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

NONE = "-"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of texts below the names of their columns; `empty` is said where there is no row."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    empty: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known about one thing, each by its name."""

    pairs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Words:
    """A sentence, or a text of several lines."""

    text: str


Block = Table | Facts | Words


def said(value: object) -> str:
    """A value in a cell."""
    if value is None or value in ("", (), [], {}):
        return NONE
    match value:
        case bool():
            return "yes" if value else "no"
        case datetime():
            return value.isoformat(sep=" ", timespec="seconds")
        case list() | tuple():
            return ", ".join(map(said, value))
        case dict():
            return ", ".join(f"{key}={said(each)}" for key, each in value.items())
    return str(value)


def printable(text: str) -> str:
    """A text without anything that a terminal would obey: others wrote it."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def lines(text: str) -> Iterator[str]:
    """The lines of a text, each printable."""
    return map(printable, text.replace("\t", "    ").split("\n"))
