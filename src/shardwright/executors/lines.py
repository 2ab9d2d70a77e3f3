"""Lines: what a child prints and says, taken out of its files as it comes, and kept within limits."""

import contextlib
import io
import math
import os
import re
import socket
from collections.abc import Callable

#: How much a child may say in one line where it speaks to us and not to people, in bytes.
LONGEST_WORD = 1 << 20

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_READ = 1 << 16
_LAST_READS = 64  # whoever left the group may still hold the pipe, and write for ever


class Lines:
    """Lines out of bytes, each cut to a length, and all of them to a limit."""

    def __init__(
        self, tell: Callable[[str], None], longest: int = LONGEST_WORD, limit: float = math.inf
    ) -> None:
        self._tell, self._longest, self._limit = tell, longest, limit
        self._line = bytearray()
        self._cut = 0
        self._length = 0

    def feed(self, data: bytes) -> None:
        *whole, rest = data.split(b"\n")
        for part in whole:
            self._add(part)
            self._end_line()
        self._add(rest)

    def end(self) -> None:
        """What came after the last line's end is a line, too."""
        if self._line:
            self._end_line()

    def _add(self, part: bytes) -> None:
        room = self._longest - len(self._line)
        self._line += part[:room]
        self._cut += max(0, len(part) - room)

    def _end_line(self) -> None:
        text = self._line.decode(errors="replace").removesuffix("\r")
        # People read this in a terminal, which would obey what is written there.
        text = _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
        text += f"… ({self._cut:,} bytes more)" if self._cut else ""
        full, self._length = self._length > self._limit, self._length + len(self._line) + 1
        self._line.clear()
        self._cut = 0
        if full:
            return
        if self._length > self._limit:
            text = f"(the rest is left out: it is more than {self._limit:,} bytes)"
        self._tell(text)


class Source:
    """What comes out of a file, as lines."""

    def __init__(self, file: socket.socket | io.FileIO, lines: Lines) -> None:
        self.file, self._lines = file, lines

    def read(self) -> bool:
        """Read what is there; says whether there may be more."""
        try:
            data = os.read(self.file.fileno(), _READ)
        except ConnectionResetError:
            data = b""
        self._lines.feed(data)
        return bool(data)

    def finish(self) -> None:
        """Read what is left. Nobody is waited for."""
        os.set_blocking(self.file.fileno(), False)
        with contextlib.suppress(BlockingIOError):
            for _ in range(_LAST_READS):
                if not self.read():
                    break
        self._lines.end()
