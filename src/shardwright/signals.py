"""Signals: one who hears them hears those of its own process, and not those of its forks.

A fork has the handlers of its parent, and its end of the socket that wakes it: a signal meant for the fork
would be heard by the parent, and would not end the fork. So in a fork everything is as it was before anybody
listened, from its very first moment: what comes earlier waits until it is.
"""

import os
import signal
import socket
import threading
from collections.abc import Callable, Mapping
from types import FrameType

Handler = Callable[[int, FrameType | None], object]
Heard = Mapping[signal.Signals, tuple[Handler, Callable[[int, FrameType | None], object] | int | None]]

_heard: list[Heard] = []
"""What we do about signals, and what was done before."""


class _Forking(threading.local):
    """What the thread that forks lets through otherwise."""

    mask: set[int] | None = None


_forking = _Forking()


def hear(handlers: Mapping[signal.Signals, Handler], wakes: socket.socket) -> Callable[[], None]:
    """Have signals handled, and this socket written to when one comes: the interpreter calls a handler only
    between two steps of the main thread, and writes at once. Gives back how to have all as it was before."""
    heard = {number: (handler, signal.getsignal(number)) for number, handler in handlers.items()}
    _heard.append(heard)  # first: another thread may fork at any moment
    woken_before = signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
    for number, handler in handlers.items():
        signal.signal(number, handler)

    def have_all_as_before() -> None:
        if heard not in _heard:
            return  # in a fork, where it is so already
        for number, (_, before) in heard.items():
            signal.signal(number, before)
        signal.set_wakeup_fd(woken_before)
        _heard.remove(heard)

    return have_all_as_before


def _hold() -> None:
    """Before a fork: hold up what we hear, in the thread that forks and so in all of the fork."""
    if _heard:
        _forking.mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        signal.pthread_sigmask(signal.SIG_BLOCK, {number for heard in _heard for number in heard})


def _let_through() -> None:
    mask, _forking.mask = _forking.mask, None
    if mask is not None:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _forget() -> None:
    """In a fork: whoever listens is its parent, and so is whoever would be woken."""
    if _heard:
        signal.set_wakeup_fd(-1)
    while _heard:
        for number, (ours, before) in _heard.pop().items():
            if signal.getsignal(number) is ours:  # else somebody has another handler since
                signal.signal(number, before)
    _let_through()


os.register_at_fork(before=_hold, after_in_parent=_let_through, after_in_child=_forget)
