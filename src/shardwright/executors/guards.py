"""Guards, as their schedulers see them: one guard process (see `guard.py`) for all children of this process,
and one thread that keeps telling it what is left of each lease."""

import atexit
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Protocol

from ..shard import Shard
from . import guard

log = logging.getLogger(__name__)

#: How often the leases are told, in seconds.
EVERY = 0.1
#: For how many seconds the guard may fail to do what it should before it is taken for hung, and replaced.
PATIENCE = 10.0


class Leased(Protocol):
    """A child, as far as its guard is concerned."""

    shard: Shard

    def tell_lease(self) -> None:
        """Tell until when its lease lasts."""

    def kill(self) -> None:
        """Have it killed."""

    @property
    def ended(self) -> bool:
        """Whether the guard has said that it ended."""


class Guard:
    """The guard process, and the thread that keeps telling it what is left of the leases."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair()
        self._control.settimeout(PATIENCE)
        with theirs, _unheard():
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", guard.__file__, str(os.getpid())],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,  # what is meant for us, as Ctrl-C, is not meant for it
            )
        self.pid = self._process.pid
        self._taking = threading.Lock()
        self._news = threading.Condition()
        self._children: set[Leased] = set()
        self._over = False
        self._teller = threading.Thread(target=self._tell, name="shardwright-leases", daemon=True)
        self._teller.start()

    def alive(self) -> bool:
        return not self._over and self._process.poll() is None

    def ends(self, within: float) -> bool:
        """Whether it is dead, or dies within so many seconds: one that was killed takes its time to."""
        try:
            self._process.wait(within)
        except subprocess.TimeoutExpired:
            return False
        return True

    def take(self, files: list[int]) -> None:
        """Hand it the files of a new run."""
        with self._taking:
            socket.send_fds(self._control, [b"r"], files)

    @contextmanager
    def telling(self, child: Leased) -> Iterator[None]:
        """Keep telling the lease of a child, while in this context."""
        with self._news:
            self._children.add(child)
            self._news.notify_all()
        try:
            yield
        finally:
            with self._news:
                self._children.discard(child)
                self._news.notify_all()

    def end(self, shards: Collection[Shard], within: float) -> bool:
        """Have the children killed that run these, if there are any. They are gone when we are back: with the
        guard, and all that it guards, if it does not see to it within so many seconds."""
        with self._news:
            doomed = {child for child in self._children if any(child.shard is each for each in shards)}
            for child in doomed:
                child.kill()
            gone = self._news.wait_for(lambda: doomed.isdisjoint(self._children), within)
            if not gone and not all(child.ended for child in doomed):
                self._process.kill()
                log.error("the guard process %d hangs, and is killed with all its children", self.pid)
                self._news.wait_for(lambda: doomed.isdisjoint(self._children), within)
        return bool(doomed)

    def kill(self) -> None:
        """Kill it, and with it whatever it guards."""
        self._process.kill()
        self.close()

    def close(self) -> None:
        """Let it end, with whatever it guards."""
        with self._news:
            self._over = True
            self._news.notify_all()
        self._control.close()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _tell(self) -> None:
        while True:
            with self._news:
                self._news.wait_for(lambda: self._children or self._over)
                children = list(self._children)
                self._news.wait_for(lambda: self._over, EVERY)
                if self._over:
                    return
            for child in children:
                try:
                    child.tell_lease()
                except Exception:
                    log.exception("a lease cannot be told: its child will end with what it was told before")


_guard: Guard | None = None
_starting = threading.Lock()


def the_guard() -> Guard:
    """The one guard of this process; a new one if there is none, or it died."""
    global _guard
    with _starting:
        if _guard is None or not _guard.alive():
            if _guard is not None:
                log.warning("the guard process %d has died; another takes its place", _guard.pid)
                _guard.close()
            _guard = Guard()
        return _guard


def end(shards: Collection[Shard], within: float) -> bool:
    """Kill what runs these in processes of its own, and wait until it is gone, for so many seconds; whether
    there was any."""
    guard = _guard
    return guard is not None and guard.end(shards, within)


def _close_guard() -> None:
    if _guard is not None:
        _guard.close()


def _forget_guard() -> None:
    """In a process that was forked: the guard is the parent's."""
    global _guard, _starting
    _forgotten.append(_guard)
    _guard, _starting = None, threading.Lock()


_forgotten: list[Guard | None] = []  # kept, so that nothing takes their process for ours to wait for
atexit.register(_close_guard)
os.register_at_fork(after_in_child=_forget_guard)


@contextmanager
def _unheard() -> Iterator[None]:
    """Have what is started here deaf, from its very first moment, to what a guard does not listen to."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, guard.UNHEARD)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
