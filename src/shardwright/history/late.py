"""A store that is opened when it is first needed, and again after that failed: a database that is down when a
process starts stops no job."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from . import open_store

if TYPE_CHECKING:
    from .store import Store


class _Late:
    def __init__(self, open_it: Callable[[], "Store"]) -> None:
        self._open = open_it
        self._store: Store | None = None

    def close(self) -> None:
        if self._store is not None:
            self._store.close()

    def __getattr__(self, name: str) -> Any:
        if self._store is None:
            self._store = self._open()
        return getattr(self._store, name)


def late_store(where: str | Path, *, trace: bool | str | None = None) -> "Store":
    """A store at an address, or in a file. What is wrong with it is raised by whoever uses it first."""
    return cast("Store", _Late(lambda: open_store(where, trace=trace)))
