"""Aside: what may never come to its end, such as a word to a log that nobody reads, is done in a thread that
nobody needs."""

import threading
from collections.abc import Callable


def do(act: Callable[[], object], within: float) -> None:
    """Do something, and wait for it no longer than this."""
    thread = threading.Thread(target=act, name="shardwright-aside", daemon=True)
    try:
        thread.start()
    except RuntimeError:  # there are too many, or the interpreter is about to end
        act()
        return
    thread.join(within)
