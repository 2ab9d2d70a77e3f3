"""What an operator is shown: frozen values, each of which can be said in JSON."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import Enum
from typing import Any


@dataclass(frozen=True, slots=True)
class Shown:
    """A value that people and programs are shown."""

    def as_json(self) -> dict[str, Any]:
        """The same in values that JSON knows."""
        return {name: plain(value) for name, value in asdict(self).items()}


def plain(value: object) -> object:
    """A value as JSON has it: times as ISO texts, choices by their words, lists for whatever is in order.

    >>> plain({1: (datetime(2030, 1, 1),)})
    {'1': ['2030-01-01T00:00:00']}
    """
    match value:
        case datetime():
            return value.isoformat()
        case Enum():
            return value.value
        case Mapping():
            return {str(key): plain(each) for key, each in value.items()}
        case list() | tuple():
            return [plain(each) for each in value]
    return value


def printable(text: str) -> str:
    """A text without anything that a terminal would obey, or that would begin another line of a log: others
    wrote it.

    >>> printable("10.0.0.1\\x1b[2J")
    '10.0.0.1\\\\x1b[2J'
    """
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)
