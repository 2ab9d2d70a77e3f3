"""A disk that loses its power: what was not synced is there, half there or not there, each write by itself.

A recording is made once, through a VFS that writes down what SQLite does to its files; then the power is
cut at any moment of it, as often as one likes. A file that is deleted is gone at once: SQLite syncs the
folder.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import apsw

SECTOR = 512


@dataclass(frozen=True)
class Written:
    file: str
    offset: int
    data: bytes


@dataclass(frozen=True)
class Truncated:
    file: str
    size: int


@dataclass(frozen=True)
class Synced:
    file: str


@dataclass(frozen=True)
class Deleted:
    file: str


@dataclass(frozen=True)
class Acknowledged:
    what: int


Event = Written | Truncated | Synced | Deleted | Acknowledged


@dataclass
class Recording:
    events: list[Event] = field(default_factory=list)

    def acknowledge(self, what: int) -> None:
        """From here on it must be there, whatever happens."""
        self.events.append(Acknowledged(what))


@contextmanager
def recorded(path: Path, synchronous: str) -> Iterator[tuple[apsw.Connection, Recording]]:
    """A connection to a new file whose every write is written down."""
    recording = Recording()

    class File(apsw.VFSFile):
        def __init__(self, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
            super().__init__("", name, flags)
            self.name = name.filename() if isinstance(name, apsw.URIFilename) else str(name)

        def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
            recording.events.append(Written(self.name, offset, bytes(data)))
            super().xWrite(data, offset)

        def xTruncate(self, size: int) -> None:  # noqa: N802
            recording.events.append(Truncated(self.name, size))
            super().xTruncate(size)

        def xSync(self, flags: int) -> None:  # noqa: N802
            recording.events.append(Synced(self.name))
            super().xSync(flags)

    class Vfs(apsw.VFS):
        def __init__(self) -> None:
            super().__init__("recorded", "")

        def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
            return File(name, flags)

        def xDelete(self, name: str, sync_folder: bool) -> None:  # noqa: N802
            recording.events.append(Deleted(name))
            super().xDelete(name, sync_folder)

    vfs = Vfs()
    connection = apsw.Connection(str(path), vfs="recorded")
    # The VFS has no shared memory; locked for itself alone the connection does without.
    connection.execute("pragma locking_mode = exclusive")
    connection.execute("pragma journal_mode = wal")
    connection.execute(f"pragma synchronous = {synchronous}")
    connection.execute("pragma wal_autocheckpoint = 40")
    try:
        yield connection, recording
    finally:
        connection.close()
        vfs.unregister()


def cut(recording: Recording, at: int, dice: random.Random) -> tuple[dict[str, bytes], set[int]]:
    """What is on the disk when the power goes after so many events, and what had been acknowledged."""
    disk: dict[str, bytearray] = {}
    unsynced: dict[str, list[Written | Truncated]] = {}
    acknowledged: set[int] = set()
    for event in recording.events[:at]:
        match event:
            case Acknowledged(what):
                acknowledged.add(what)
            case Synced(file):
                for change in unsynced.pop(file, []):
                    _apply(disk, change)
            case Deleted(file):
                disk.pop(file, None)
                unsynced.pop(file, None)
            case _:
                unsynced.setdefault(event.file, []).append(event)
    for changes in unsynced.values():
        for change in changes:
            fate = dice.random()
            if fate < 0.4:
                _apply(disk, change)
            elif fate < 0.7 and isinstance(change, Written):
                torn = change.data[: dice.randrange(0, len(change.data) + 1, SECTOR)]
                _apply(disk, Written(change.file, change.offset, torn))
    return {file: bytes(content) for file, content in disk.items()}, acknowledged


def _apply(disk: dict[str, bytearray], change: Written | Truncated) -> None:
    content = disk.setdefault(change.file, bytearray())
    if isinstance(change, Truncated):
        del content[change.size :]
        return
    if len(content) < change.offset:
        content.extend(bytes(change.offset - len(content)))
    content[change.offset : change.offset + len(change.data)] = change.data
