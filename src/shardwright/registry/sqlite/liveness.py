"""Who is alive: a lock file for each session, whose content is the heartbeat.

The kernel lets go of the lock when the process dies, however it dies, and others see that within
milliseconds. A process that is stopped keeps its lock, so it also has to write the time into its file again
and again. None of this goes through the database: somebody stopped in the midst of a write keeps all others
from writing there, and must not thereby end their sessions.
"""

import contextlib
import fcntl
import os
import re
import weakref
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ...clock import Clock
from ..driver import Session

#: Of a session's time-out, what our own clock keeps in hand.
MARGIN = 0.15

#: How often in a time-out the heart beats, and how often others look.
BEATS = 5
LOOKS = 10

#: Why a session has ended whose process has left, whoever was to take it out of the file.
DELETED, GONE = "its lock file was deleted", "it has gone"
IN_ORDER = frozenset({DELETED, GONE})

_BEAT = re.compile(rb"([0-9a-f-]*) ([0-9.]+) ([0-9]+) ([0-9a-f]{8})\n")


def boot_id() -> str:
    """A name for the time since this machine was switched on: its boot clock means nothing in another."""
    with contextlib.suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return ""


class Tenure:
    """The lock file of a session of ours, from its first heartbeat on."""

    def __init__(self, folder: Path, session: str, timeout: float, clock: Clock) -> None:
        """Raises BlockingIOError where somebody sweeping the folder was quicker: then take another id."""
        self._path = folder / session
        self._clock = clock
        self._boot = boot_id()
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self._descriptor = os.open(self._path, flags, 0o600)
        _OURS.add(self)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            sent = clock.boot()
            self._write(sent)
            if self.is_missing():
                raise BlockingIOError(f"{self._path} was swept away")
        except BaseException:
            self.close()
            raise
        self.session = Session(session, clock, timeout, MARGIN, heard=sent)
        self._last = sent

    def beat(self) -> None:
        """Write the time down if it is due, and so renew the lease.

        A beat that was too long on its way does not renew it: somebody may have judged us by the one before.
        """
        sent = self._clock.boot()
        if sent < self._last + self.session.timeout / BEATS:
            return
        self._write(sent)
        self._last = sent
        if self._clock.boot() < self.session.ends():
            self.session.renew(sent)

    def is_missing(self) -> bool:
        """Whether somebody deleted the file: others take us for dead then."""
        return os.fstat(self._descriptor).st_nlink == 0

    def close(self) -> None:
        """Let go, so that everybody sees the session as ended."""
        if self._descriptor >= 0:
            with contextlib.suppress(OSError):
                if not self.is_missing():
                    self._path.unlink(missing_ok=True)
            self.let_go()

    def let_go(self) -> None:
        """Close our hold on the file and nothing more: what a forked child does."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _write(self, sent: float) -> None:
        text = f"{self._boot} {sent:020.6f} {os.getpid():010d}".encode()
        os.pwrite(self._descriptor, b"%s %08x\n" % (text, zlib.crc32(text)), 0)


class _Other:
    """The lock file of somebody else's session, kept open."""

    def __init__(self, path: Path, timeout: float, now: float) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        self._timeout = timeout
        self._boot = boot_id()
        self._beat = now
        self._read_next = now
        _OTHERS.add(self)

    def fate(self, now: float) -> str | None:
        """Why the session must be taken for ended, if it must."""
        if os.fstat(self._descriptor).st_nlink == 0:
            return DELETED
        if self._is_free():
            return "its process has died"
        if now >= self._read_next:
            self._read_next = now + self._timeout / LOOKS
            return self._judge(now)
        return None

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _is_free(self) -> bool:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        return True

    def _judge(self, now: float) -> str | None:
        """`now` was taken before the file is read, so a beat we miss cannot be older than we think."""
        found = _BEAT.fullmatch(os.pread(self._descriptor, 200, 0))
        if found is not None and int(found[4], 16) == zlib.crc32(found[0][:-10]):
            if found[1].decode() != self._boot:
                return "it is from before the machine was restarted"
            self._beat = float(found[2])
        # A beat read while it was being written counts as no beat: the one before still holds.
        if now > self._beat + self._timeout:
            return f"it has shown no sign of life for {now - self._beat:.1f} s"
        return None


class Others:
    """The sessions of everybody else, and who of them is no more."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: dict[str, _Other] = {}

    def look(self, sessions: Mapping[str, float], now: float) -> Iterator[tuple[str, str]]:
        """Those of these sessions, given with their time-outs, that have ended, and why."""
        for gone in self._open.keys() - sessions.keys():
            self._open.pop(gone).close()
        for session, timeout in sessions.items():
            try:
                other = self._open.get(session)
                if other is None:
                    other = self._open[session] = _Other(self._folder / session, timeout, now)
            except FileNotFoundError:
                yield session, GONE
                continue
            fate = other.fate(now)
            if fate is not None:
                yield session, fate

    def close(self) -> None:
        for other in self._open.values():
            other.close()
        self._open.clear()


def ended(folder: Path, sessions: Mapping[str, float], now: float) -> dict[str, str]:
    """Those of these sessions that have ended, and why, by one look; none where it cannot be had."""
    with contextlib.closing(Others(folder)) as others, contextlib.suppress(OSError):
        return dict(others.look(sessions, now))
    return {}


def remove(folder: Path, sessions: Iterable[str]) -> None:
    """Take away the lock files of sessions that have ended."""
    for session in sessions:
        (folder / session).unlink(missing_ok=True)


def sweep(folder: Path, sessions: Iterable[str]) -> None:
    """Take away what processes left behind that died between making a lock file and entering the session,
    or between ending somebody's session and removing the file."""
    for leftover in {entry.name for entry in os.scandir(folder)}.difference(sessions):
        with contextlib.suppress(OSError):  # gone, locked, or nothing that a session of ours left
            descriptor = os.open(folder / leftover, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                # Who holds the lock has only not entered its session yet.
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                (folder / leftover).unlink()
            finally:
                os.close(descriptor)


_OURS: "weakref.WeakSet[Tenure]" = weakref.WeakSet()
_OTHERS: "weakref.WeakSet[_Other]" = weakref.WeakSet()


def _in_a_forked_child() -> None:
    """A child that kept the lock would keep the session of its dead parent alive."""
    for tenure in _OURS:
        tenure.let_go()
    for other in _OTHERS:
        other.close()


os.register_at_fork(after_in_child=_in_a_forked_child)
