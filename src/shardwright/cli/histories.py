"""Which history is meant, and the way in.

The first of these that says one: `--history`, the environment's SHARDWRIGHT_HISTORY, the nearest
`shardwright.toml`, which says `history = "postgresql://user@host/database"`. Otherwise it is the file beside
a registry that is a file. None is made by asking, neither a file nor tables in a database.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import MissingExtra
from ..history import EXTRA
from ..ops import opening
from ..runtime.chronicle import VARIABLE, place_of
from . import places
from .call import Call, Unanswered

if TYPE_CHECKING:
    from ..history.store import Store

HOW = (
    f"name one by --history, {VARIABLE}, or history in {places.FILE}; schedulers on a registry in a file "
    "keep one beside it, others where Scheduler(history=…) says"
)


class NoHistory(Unanswered):
    """There is none there."""


def place(asked: Call) -> str | Path | None:
    """Where the history is: an address that somebody named, or the file that it would be in; None for
    nowhere."""
    said = asked.history or os.environ.get(VARIABLE) or places.in_a_file("history")
    url = places.address(asked.address)
    if said is None:
        places.check_file(url)
    return place_of(url, said)


@contextmanager
def opened(asked: Call) -> Iterator["Store"]:
    """The history that is meant, open while this lasts."""
    where = place(asked)
    if where is None and find_spec("sqlalchemy") is None:
        raise Unanswered(f"{EXTRA}, where the schedulers run too, which keep none without it")
    if where is None:
        raise NoHistory(f"there is no history: {HOW}")
    try:
        opening.check_file(where)
        from ..history.engine import HistoryDown
    except ImportError as missing:
        raise Unanswered(EXTRA) from missing
    except opening.NoHistory as error:
        raise NoHistory(f"{error}: {HOW}") from None
    try:
        store = opening.history(where)
    except opening.NoHistory as error:
        raise NoHistory(f"{error}: {HOW}") from None
    except (HistoryDown, MissingExtra) as error:
        raise Unanswered(str(error)) from error
    except opening.WrongAddress as error:
        raise click.UsageError(str(error)) from None
    try:
        with store:
            yield store
    except HistoryDown as error:
        raise Unanswered(str(error)) from error
