"""Capture: what a run writes to the log, for as many lines and bytes as are worth keeping.

A tape hangs on the context of the run. One handler, hung on the root logger once, gives every record to the
tape of the context it comes from, if there is one. Threads that a job starts by itself have a context of
their own: `contextvars.copy_context().run` takes the tape along.

Of a long log the beginning and the end are kept. Secrets are masked when it is read.
"""

import contextlib
import logging
from collections import deque
from collections.abc import Iterator
from contextvars import ContextVar

from . import texts

MOST_LINES = 1000
MOST_BYTES = 64 * 1024

#: How much is kept of one record.
LONGEST_RECORD = 8000

_FORMAT = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")


class Tape:
    """What one run has written so far: the first half and the last half of what may be kept."""

    def __init__(self, *, lines: int = MOST_LINES, size: int = MOST_BYTES) -> None:
        self._lines, self._size = max(2, lines), max(2, size)
        self._first: list[str] = []
        self._first_size = 0
        self._last: deque[str] = deque()
        self._last_size = 0
        self.left_out = 0
        """How many records are not kept."""

    def add(self, line: str) -> None:
        # One record alone must not push out all others; masked first, as half a secret is not known for one.
        if len(line) > (most := min(LONGEST_RECORD, self._size // 8)):
            line = texts.kept(line, most)
        size = len(line.encode(errors="replace"))
        if not self._last and not self.left_out and self._fits(size):
            self._first.append(line)
            self._first_size += size
            return
        self._last.append(line)
        self._last_size += size
        while self._last_size > self._size // 2 or len(self._last) > self._lines // 2:
            self._last_size -= len(self._last.popleft().encode(errors="replace"))
            self.left_out += 1

    def text(self) -> str:
        """All that is kept, as it may be shown."""
        gap = [f"… {self.left_out} left out …"] if self.left_out else []
        shown = [texts.kept(line, LONGEST_RECORD) for line in self._first]
        shown += gap + [texts.kept(line, LONGEST_RECORD) for line in self._last]
        return "\n".join(shown)

    def _fits(self, size: int) -> bool:
        return self._first_size + size <= self._size // 2 and len(self._first) < self._lines // 2


_tape: ContextVar[Tape | None] = ContextVar("shardwright_tape", default=None)


class TapeHandler(logging.Handler):
    """Gives every record to the tape of the run it comes from."""

    def emit(self, record: logging.LogRecord) -> None:
        tape = _tape.get()
        if tape is None:
            return
        try:
            tape.add(_FORMAT.format(record))
        except Exception:
            self.handleError(record)


_handler = TapeHandler()


def install() -> None:
    """Hang the handler on the root logger; once is enough, and more does no harm."""
    root = logging.getLogger()
    if _handler not in root.handlers:
        root.addHandler(_handler)


def uninstall() -> None:
    logging.getLogger().removeHandler(_handler)


@contextlib.contextmanager
def capturing(tape: Tape | None = None) -> Iterator[Tape]:
    """A tape for what is logged within the block, in its context and those made from it."""
    tape = tape if tape is not None else Tape()
    token = _tape.set(tape)
    try:
        yield tape
    finally:
        _tape.reset(token)
