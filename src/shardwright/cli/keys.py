"""Keys, as they are pressed on a terminal."""

import os
import select
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_AT_ONCE = 1024


@contextmanager
def keys() -> Iterator[Callable[[float], str]]:
    """While this lasts: a function that gives back what was pressed within so many seconds, as soon as
    something was. The terminal is left as it was found."""
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)

    def pressed(seconds: float) -> str:
        ready, _, _ = select.select([terminal], [], [], seconds)
        return os.read(terminal, _AT_ONCE).decode(errors="replace") if ready else ""

    tty.setcbreak(terminal)
    try:
        yield pressed
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
