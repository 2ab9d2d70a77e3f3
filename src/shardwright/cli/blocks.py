"""What a command shows, as values: how it looks is decided where it is known where it goes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ..ops.values import printable

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


def lines(text: str) -> Iterator[str]:
    """The lines of a text, each printable."""
    return map(printable, text.replace("\t", "    ").split("\n"))


def sentence(text: str) -> str:
    """What is said outside of blocks: an error, a question, a note; printable as well."""
    return "\n".join(lines(text))
