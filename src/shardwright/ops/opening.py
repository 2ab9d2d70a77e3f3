"""Opening: the way into a registry and into its history, for those who look and steer. Nothing is made by
asking for it: neither a registry's file, nor a history's, nor tables in a database."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import MissingExtra, RegistryUrlError, ShardwrightError, Unreachable
from ..history import EXTRA
from ..registry import Registry, connect
from ..registry.url import VARIABLE, parse

if TYPE_CHECKING:
    from ..history.store import Store

#: One for all, which a logger takes once.
_NOBODY = logging.NullHandler()


class NoHistory(ShardwrightError):
    """There is no history there."""


class WrongAddress(ShardwrightError):
    """No history can be there."""


def registry(url: str, *, patience: float) -> Registry:
    """The registry at an address, open. A file that is not there is a place that somebody got wrong."""
    place = parse(url)
    if place.scheme == "memory":
        raise RegistryUrlError(f"{place}: what is kept in memory is known to its own process only")
    if place.scheme == "sqlite" and not is_there(Path(place.path)):
        raise Unreachable(
            f"there is no registry at {place.path}: name one by --registry or {VARIABLE}, "
            "or start a scheduler, which makes it"
        )
    # What goes wrong on the way is told by the error, once: not by the log of every try.
    for logger in ("kazoo", "shardwright.registry"):
        logging.getLogger(logger).addHandler(_NOBODY)
    return connect(url, patience=patience)


def is_there(file: Path) -> bool:
    try:
        return file.exists()
    except PermissionError:
        raise Unreachable(f"{file} is kept from this user: call this as the user of the schedulers") from None


def history(where: str | Path) -> "Store":
    """The history at an address, or in a file, open; refused where there is none."""
    try:
        check_file(where)
        from ..history.store import Store
    except ImportError as missing:
        raise MissingExtra(EXTRA) from missing
    _check_tables(where)
    return Store(where, trace=False)


def check_file(where: str | Path) -> None:
    """Refuse a history in a file that is not there: before all else, as what opens it takes its time to be
    loaded."""
    file = _file(where)
    if file is not None and not is_there(file):
        raise NoHistory(f"there is no history at {file.absolute()}")


def _check_tables(where: str | Path) -> None:
    """Refuse a database without tables, which a store would make if it were opened."""
    from sqlalchemy.exc import SQLAlchemyError

    from ..history import upgrade
    from ..history.engine import HistoryDown, HistoryError, open_engine, shown

    try:
        engine = open_engine(where)
    except HistoryError as error:
        raise WrongAddress(str(error)) from None
    try:
        with engine.connect() as connection:
            made = upgrade.version(connection) is not None
    except SQLAlchemyError as error:
        why = " ".join(str(getattr(error, "orig", error)).split())
        raise HistoryDown(f"the history at {shown(engine)} cannot be opened: {why}") from error
    finally:
        engine.dispose()
    if not made:
        raise NoHistory(f"there is no history at {shown(engine)}")


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
