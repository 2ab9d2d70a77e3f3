"""The digest: which alerts are sent at once, which wait, and what becomes of a thousand of them.

The first alert of a job and kind is sent at once and opens a window. What follows within it is counted, and
sent as one when the window ends, the latest standing for all; that opens the next window. So a job that
breaks a thousand times a minute sends a message a minute, and their counts add up. Pure: it is told what time
it is.
"""

from collections import deque
from dataclasses import dataclass, replace

from ..jobs import JobConfig
from .alert import Alert, Kind


@dataclass(frozen=True)
class Message:
    """An alert, and the job as it was when it was told: that says how to send it."""

    config: JobConfig
    alert: Alert
    declared: JobConfig | None = None
    """The job as this program itself has it; None if it does not."""


@dataclass(frozen=True)
class Window:
    """The time after a message in which there are few others of its kind."""

    ends: float
    sent: int = 1
    waiting: Message | None = None


class Digest:
    """Takes alerts and gives messages. `burst` is how many of a kind are sent at once in a window; `limit` is
    how many kinds of how many jobs, and how many messages, are remembered: what is beyond is dropped."""

    def __init__(self, *, window: float = 60.0, burst: int = 1, limit: int = 1000) -> None:
        self.collapsed = 0
        self.dropped = 0
        self._length = window
        self._burst = burst
        self._limit = limit
        self._windows: dict[tuple[str, Kind], Window] = {}
        self._ready: deque[Message] = deque()

    def take(self, message: Message, now: float) -> None:
        """Hear of another alert."""
        self._turn(now)
        key = message.config.name, message.alert.kind
        window = self._windows.get(key)
        if window is None and len(self._windows) >= self._limit:
            self.dropped += message.alert.times
        elif window is None:
            self._windows[key] = Window(now + self._length)
            self._send(message)
        elif window.waiting is None and window.sent < self._burst:
            self._windows[key] = replace(window, sent=window.sent + 1)
            self._send(message)
        else:
            self.collapsed += message.alert.times
            self._windows[key] = replace(window, waiting=_together(window.waiting, message))

    def next(self, now: float) -> Message | None:
        """What is to be sent now, one at a time; None if there is nothing."""
        self._turn(now)
        return self._ready.popleft() if self._ready else None

    def due(self) -> float | None:
        """When there will be something to send if nothing more is heard; None for never."""
        return min((window.ends for window in self._windows.values() if window.waiting), default=None)

    def flush(self) -> None:
        """Let nothing wait any longer."""
        for key, window in self._windows.items():
            if window.waiting:
                self._windows[key] = replace(window, waiting=None)
                self._send(window.waiting)

    def drop(self) -> int:
        """Forget all that was to be sent; how many alerts that is."""
        self.flush()
        lost = sum(message.alert.times for message in self._ready)
        self._ready.clear()
        self.dropped += lost
        return lost

    def _turn(self, now: float) -> None:
        """Close the windows that are over."""
        for key, window in list(self._windows.items()):
            if window.ends > now:
                continue
            del self._windows[key]
            if window.waiting:
                self._windows[key] = Window(now + self._length)
                self._send(window.waiting)

    def _send(self, message: Message) -> None:
        if len(self._ready) < self._limit:
            self._ready.append(message)
        else:
            self.dropped += message.alert.times


def _together(before: Message | None, latest: Message) -> Message:
    if before is None:
        return latest
    return replace(latest, alert=replace(latest.alert, times=before.alert.times + latest.alert.times))
