"""The jobs of an acceptance test: what every replica declares, and what the verdict holds it to."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from tests.calendar_brute import Spec


@dataclass(frozen=True)
class Job:
    """A job that only takes time."""

    name: str
    every: int | None = 1
    """Seconds from fire to fire, a divisor of 60; None fires only when asked to."""
    length: float = 0.1
    """How long a run takes."""
    shards: int = 2
    failover: bool = True
    misfire: bool = True
    catch_up: str = "all"
    fails_first: bool = False
    """The first run of each shard in each process fails."""
    computes: bool = False
    """A run takes its time by computing, not by waiting."""

    @property
    def spec(self) -> Spec | None:
        """When it fires, as plain sets."""
        if self.every is None:
            return None
        return Spec(
            seconds=frozenset(range(0, 60, self.every)),
            minutes=frozenset(range(60)),
            hours=frozenset(range(24)),
            weekdays=frozenset(range(1, 8)),
            months=frozenset(range(1, 13)),
        )

    def settings(self) -> dict[str, Any]:
        """What the scheduler is told of it."""
        spec = self.spec
        return {
            "cron": spec.quartz if spec is not None else None,
            "time_zone": "UTC",
            "shards": self.shards,
            "failover": self.failover,
            "misfire": self.misfire,
            "catch_up": self.catch_up,
        }

    def told(self) -> dict[str, object]:
        """In values that JSON knows, for a replica to be handed."""
        return asdict(self)


def heard(told: Mapping[str, object]) -> Job:
    return Job(**told)  # type: ignore[arg-type]


#: Fires so seldom that none may be missed unless something is wrong, and no run takes long.
STEADY = Job("steady", every=3, length=0.2, shards=3)

#: Fires all the time.
QUICK = Job("quick", every=1, length=0.1, shards=4)

#: Is often in the midst of a run.
LONG = Job("long", every=3, length=1.2, shards=2)

#: Does not want its runs repeated elsewhere.
PLAIN = Job("plain", every=2, length=0.3, shards=2, failover=False)

#: Is in the midst of a run for longer than the usual session.
SLOW = Job("slow", every=6, length=4.0, shards=2)
