"""A terminal with a program in it, and somebody at the keyboard."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from types import TracebackType
from typing import Any, Self

PATIENCE = 60.0

#: Makes standard input the terminal that the program is controlled by, so that Ctrl-C reaches it, also where
#: the tests themselves were started to ignore that.
_BEGIN = (
    "import fcntl, os, signal, sys, termios\n"
    "signal.signal(signal.SIGINT, signal.SIG_DFL)\n"
    "fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
    "os.execv(sys.argv[1], sys.argv[1:])"
)
_ORDER = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07]*\x07|[@-Z\\-_])")

CTRL_C = "\x03"


class Terminal:
    """`shardwright` on a terminal of its own."""

    def __init__(self, *arguments: str, columns: int = 160, env: dict[str, str] | None = None) -> None:
        self._ours, self._theirs = pty.openpty()
        fcntl.ioctl(self._theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        usual = {name: text for name, text in os.environ.items() if name != "NO_COLOR"}
        self._program = subprocess.Popen(
            [sys.executable, "-c", _BEGIN, sys.executable, "-m", "shardwright", *arguments],
            stdin=self._theirs,
            stdout=self._theirs,
            stderr=self._theirs,
            env={**usual, "TERM": "xterm-256color", **(env or {})},
            start_new_session=True,
        )
        self.raw = ""
        self._seen = 0

    def expect(self, text: str) -> None:
        """Wait until this is shown, after what was waited for before."""
        deadline = time.monotonic() + PATIENCE
        while (found := self.text.find(text, self._seen)) < 0:
            assert self._read(deadline - time.monotonic()), f"{text!r} was not shown:\n{self.text}"
        self._seen = found + len(text)

    def press(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def press_until(self, text: str, shown: str) -> None:
        """Press until this is shown: a Ctrl-C that is pressed just before the program begins to read what is
        typed is heard only with the next key, and people press it again."""
        deadline = time.monotonic() + PATIENCE
        while shown not in self.text[self._seen :]:
            assert time.monotonic() < deadline, f"{shown!r} was not shown:\n{self.text}"
            self.press(text)
            while self._read(2.0) and shown not in self.text[self._seen :]:
                pass

    def end(self) -> int:
        """Wait until the program ends by itself; its exit code."""
        code = self._program.wait(PATIENCE)
        while self._read(0.0):
            pass
        return code

    @property
    def text(self) -> str:
        """All that was shown, without the orders to the terminal."""
        return _ORDER.sub("", self.raw).replace("\r\n", "\n")

    @property
    def ways(self) -> list[Any]:
        """How the terminal treats what is typed."""
        return termios.tcgetattr(self._theirs)

    def _read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self._ours], [], [], max(0.0, seconds))
        if ready:
            self.raw += os.read(self._ours, 65536).decode(errors="replace")
        return bool(ready)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._program.kill()
        self._program.wait()
        os.close(self._ours)
        os.close(self._theirs)
