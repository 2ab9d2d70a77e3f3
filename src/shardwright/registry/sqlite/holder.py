"""Who holds the file's write lock, and whether they are stopped: then nobody else can write."""

import contextlib
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...logs import Log

log = Log("shardwright.registry.sqlite")

#: Seconds for which the file may be locked before we ask by whom.
ASK_AFTER = 1.0

#: The byte of the -shm file that a writer locks.
_WRITE_LOCK = 120

_PROC = Path("/proc")


@dataclass(frozen=True)
class Holder:
    """A process that is in the midst of a write."""

    pid: int
    name: str
    stopped: bool


class Blockade:
    """The time for which we have not been let in to write, and what was found out about it."""

    def __init__(self, path: Path, *, end_stopped: bool) -> None:
        self._path = path
        self._end_stopped = end_stopped
        self._since: float | None = None
        self._named: Holder | None = None
        self.trouble = ""
        """What is in the way, in words."""
        self.is_long = False

    def meet(self, now: float) -> None:
        """Not let in: after a while find out by whom, say so once, and end a stopped one if we are to."""
        if self._since is None:
            self._since = now
            self.trouble = f"{self._path} is locked by somebody else"
        self.is_long = now >= self._since + ASK_AFTER
        if not self.is_long:
            return
        found = find(self._path)
        if found is None:
            return
        if found != self._named:
            self._named = found
            self.trouble = _about(self._path, found)
            log.error("%s", self.trouble)
        if found.stopped and self._end_stopped and end(self._path, found):
            log.warning("%s: the stopped process %d was ended", self._path, found.pid)

    def lift(self) -> None:
        """Let in, or kept out by something else."""
        self._since, self._named, self.trouble, self.is_long = None, None, "", False


def find(path: Path) -> Holder | None:
    """Who holds the write lock now; None where nobody does, or where the system does not tell."""
    try:
        shared = Path(f"{path}-shm").stat()
        locks = (_PROC / "locks").read_text()
    except OSError:
        return None
    for pid in lockers(locks, shared.st_ino):
        # Another file system may have a file of the same number.
        if pid != os.getpid() and _has_open(pid, shared):
            with contextlib.suppress(OSError):
                status = (_PROC / str(pid) / "stat").read_text(errors="replace")
                name, _, rest = status.partition("(")[2].rpartition(")")
                return Holder(pid, name, rest.split()[0] == "T")
    return None


def lockers(locks: str, inode: int) -> Iterator[int]:
    """The processes that have a write lock on the byte, by the text of /proc/locks."""
    for line in locks.splitlines():
        fields = line.split()
        if len(fields) != 8 or fields[1] != "POSIX" or fields[3] != "WRITE":
            continue
        _, _, number = fields[5].rpartition(":")
        last = float("inf") if fields[7] == "EOF" else int(fields[7])
        if number == str(inode) and int(fields[6]) <= _WRITE_LOCK <= last and int(fields[4]) > 0:
            yield int(fields[4])


def end(path: Path, holder: Holder) -> bool:
    """Kill a process that is stopped in the midst of a write, if it still is; whether it was."""
    try:
        # The number may be somebody else's by now, the descriptor cannot.
        process = os.pidfd_open(holder.pid)
    except ProcessLookupError:
        return False
    try:
        if find(path) != holder or not holder.stopped:
            return False
        signal.pidfd_send_signal(process, signal.SIGKILL)
        return True
    except (ProcessLookupError, PermissionError):
        return False
    finally:
        os.close(process)


def _has_open(pid: int, file: os.stat_result) -> bool:
    try:
        for descriptor in (_PROC / str(pid) / "fd").iterdir():
            with contextlib.suppress(OSError):
                if os.path.samestat(descriptor.stat(), file):
                    return True
    except OSError:
        return False
    return False


def _about(path: Path, found: Holder) -> str:
    """What an operator should know of whoever keeps everybody from writing."""
    if not found.stopped:
        return f"{path}: process {found.pid} ({found.name}) keeps the file locked: see what it does"
    return (
        f"{path}: process {found.pid} ({found.name}) is stopped in the midst of a write, "
        f"so nobody can write: let it go on (kill -CONT {found.pid}) or end it (kill -KILL {found.pid}); "
        "with end_stopped=true in the address we end such a process"
    )
