"""A handler: whoever brings an alert to people."""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from ..errors import ShardwrightError
from .alert import Alert
from .settings import Settings


class Undelivered(ShardwrightError):
    """An alert that did not get through, and why, in words that give no secret away."""


class Handler(Protocol):
    """Made from a job's settings, and made anew when they change."""

    def send(self, alert: Alert) -> None:
        """Bring it to people, or raise. What is raised is logged and counted; it reaches no run."""


Factory = Callable[[Settings], Handler]

#: What is wrong with a job's props, a sentence for each fault.
Check = Callable[[Mapping[str, str]], Iterable[str]]
