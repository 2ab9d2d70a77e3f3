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
from ..runtime.chronicle import VARIABLE, place_of
from . import places
from .call import Call, Unanswered

if TYPE_CHECKING:
    from ..history.store import Store

HOW = (
    f"name one by --history, {VARIABLE}, or history in {places.FILE}; schedulers on a registry in a file "
    "keep one beside it, others where Scheduler(history=…) says"
)
EXTRA = "a history needs an extra: pip install 'shardwright[trace]'"


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
        raise MissingExtra(f"{EXTRA}, where the schedulers run too, which keep none without it")
    if where is None:
        raise NoHistory(f"there is no history: {HOW}")
    try:
        _check_file(where)
        from ..history.engine import HistoryDown
    except ImportError as missing:
        raise MissingExtra(EXTRA) from missing
    try:
        with open_at(where) as store:
            yield store
    except HistoryDown as error:
        raise Unanswered(str(error)) from error


def open_at(where: str | Path) -> "Store":
    """The history at an address, or in a file; refused where there is none."""
    try:
        _check_file(where)
        from ..history.store import Store
    except ImportError as missing:
        raise MissingExtra(EXTRA) from missing
    _check_there(where)
    return Store(where, trace=False)


def _check_file(where: str | Path) -> None:
    """Refuse a file that is not there: before all else, as what opens it takes its time to be loaded."""
    file = _file(where)
    if file is not None and not places.is_there(file):
        raise NoHistory(f"there is no history at {file.absolute()}: {HOW}")


def _check_there(where: str | Path) -> None:
    """Refuse a database without tables, which a store would make if it were opened."""
    from sqlalchemy.exc import SQLAlchemyError

    from ..history import upgrade
    from ..history.engine import HistoryDown, HistoryError, open_engine, shown

    try:
        engine = open_engine(where)
    except HistoryError as error:
        raise click.UsageError(str(error)) from None
    try:
        with engine.connect() as connection:
            made = upgrade.version(connection) is not None
    except SQLAlchemyError as error:
        why = " ".join(str(getattr(error, "orig", error)).split())
        raise HistoryDown(f"the history at {shown(engine)} cannot be opened: {why}") from error
    finally:
        engine.dispose()
    if not made:
        raise NoHistory(f"there is no history at {shown(engine)}: {HOW}")


def _file(where: str | Path) -> Path | None:
    """The file that an address names, if it does."""
    if isinstance(where, Path):
        return where
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        url = make_url(where)
    except (ArgumentError, ValueError):  # it is told in full by who opens it
        return None
    named = url.get_backend_name() == "sqlite" and url.database not in (None, "", ":memory:")
    return Path(url.database) if named and url.database else None
