"""A berth: where there is to be a replica, whatever becomes of those that were there.

The next comes soon after a death, and later if that goes on.
"""

import random

from .replica import Replica

#: After a death: how many seconds until the next is started, at first and at most, and by how much more.
PAUSE, PAUSE_MOST, JITTER = 1.0, 60.0, 0.25
#: Who has lived for so many seconds begins with the shortest pause again.
SETTLED = 60.0


def pause(deaths: int, chance: random.Random) -> float:
    """Seconds until another is started, when so many in a row have died before they had settled."""
    return min(PAUSE_MOST, PAUSE * 2.0 ** min(deaths - 1, 32)) * (1.0 + JITTER * chance.random())


class Berth:
    def __init__(self, number: int) -> None:
        self.number = number
        self.replica: Replica | None = None
        self.due = 0.0
        """When to start the next."""
        self.deaths = 0
        """How many in a row have died before they had settled."""

    @property
    def runs(self) -> bool:
        return self.replica is not None and self.replica.runs and self.replica.told is None

    @property
    def is_hopeful(self) -> bool:
        """Whether one runs, or is the first to come and has not died yet."""
        return self.replica is not None and (self.replica.runs or not self.deaths)

    def mourn(self, lived: float) -> None:
        """One has died, or could not be started, that nobody had told to end."""
        self.deaths = self.deaths + 1 if lived < SETTLED else 1
