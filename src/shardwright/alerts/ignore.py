"""IGNORE: nobody is told. The outcome of the run is what it is all the same, and stands in the history."""

from dataclasses import dataclass

from .alert import Alert
from .settings import Settings

PROPERTIES = ()


@dataclass(frozen=True)
class Ignore:
    settings: Settings

    def send(self, alert: Alert) -> None:
        """Leave it at that."""
