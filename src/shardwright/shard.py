"""A shard: what a job's code is handed for one run of one of its parts."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from .errors import Cancelled

#: How much a run may leave to its successor, in bytes as they are written.
LONGEST_CHECKPOINT = 64 * 1024


@dataclass(frozen=True, slots=True, eq=False)
class Shard:
    """One run of one shard of a job."""

    item: int
    """Which of the shards, counted from 0."""
    total: int
    """How many there are."""
    parameter: str
    """The text for this shard; empty if the job has none for it."""
    job_name: str
    job_parameter: str
    fire_time: datetime | None
    """When the run was scheduled for, however late it began; None for one that somebody asked for."""
    token: int
    """Grows with every run of this shard, for ever: a store that remembers the highest it has seen can
    turn away one who was given up and does not know it."""
    attempt: int
    """The how-manieth try of this fire it is: more than 1 after a failover."""
    source: str
    """Why it runs: scheduled, misfire, failover, trigger or catch-up."""
    checkpoint: str | None
    """What the run before left by `save`."""
    _lease: Callable[[], float] = field(repr=False)
    _save: Callable[[str], None] = field(repr=False)
    _cancelled: threading.Event = field(repr=False, default_factory=threading.Event)

    @property
    def lease_left(self) -> float:
        """For how many seconds this run is surely nobody else's; 0 when it may be."""
        return max(0.0, self._lease())

    @property
    def cancelled(self) -> bool:
        """Whether to stop: we were ordered to, are leaving, or may have been given up."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Tell the run to stop."""
        self._cancelled.set()

    def raise_if_cancelled(self) -> None:
        """Stop here if we are to stop; what was done until now is not taken for the whole."""
        if self.cancelled:
            raise Cancelled(f"{self.job_name}, shard {self.item}: told to stop")

    def save(self, checkpoint: str) -> None:
        """Leave a short text for whoever runs this shard next, whether this run comes to its end or not: save
        an empty one when there is nothing to go on from. It is written soon, under this run's claim or not
        at all."""
        check_checkpoint(checkpoint)
        self._save(checkpoint)


def check_checkpoint(checkpoint: str) -> None:
    """Raise where this cannot be left to a successor. It is said to whoever leaves it, in their own
    thread."""
    if not isinstance(checkpoint, str):
        raise TypeError(f"a checkpoint is a text, not {checkpoint!r:.100}")
    size = len(json.dumps(checkpoint))
    if size > LONGEST_CHECKPOINT:
        raise ValueError(
            f"a checkpoint may take {LONGEST_CHECKPOINT:,} bytes, not {size:,}: "
            "keep what is large elsewhere, and its name here"
        )
