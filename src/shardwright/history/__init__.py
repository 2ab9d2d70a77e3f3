"""History: what became of every fire, kept in a database and told in words.

Nothing here is imported by `import shardwright`; a store needs the extra `trace` (SQLAlchemy and alembic).
"""

from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import MissingExtra

if TYPE_CHECKING:
    from .store import Store

EXTRA = "a history needs an extra: pip install 'shardwright[trace]'"


def beside(registry: Path) -> Path:
    """Where the history of a registry in a file is kept, if nobody says otherwise: in the same folder."""
    return registry.with_name("history.db")


def open_store(where: str | Path, *, trace: bool | str | None = None) -> "Store":
    """Open the history at an address, or in a file, and make it if it is not there. `trace` is whether
    ElasticJob's tables are written there, too, and in which form they are made."""
    try:
        from .store import Store
    except ImportError as missing:
        raise MissingExtra(EXTRA) from missing
    return Store(where, trace=trace)


def check_place(where: str | Path) -> None:
    """Refuse a place that no history can ever be kept at, and one whose driver is not installed. A database
    that is down is none of these: nobody is spoken to."""
    try:
        from .engine import check
    except ImportError as missing:
        raise MissingExtra(EXTRA) from missing
    check(where)
