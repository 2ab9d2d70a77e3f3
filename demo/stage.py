"""The stage: what has been heard from the processes, and what follows from it."""

from collections import Counter
from dataclasses import dataclass, field

from .service import SHARDS, STEPS


@dataclass
class Run:
    """One run of a shard for a fire."""

    fire: str
    shard: int
    tries: int
    by: str
    began: float
    step: int = 0

    @property
    def ended(self) -> bool:
        return self.step == STEPS


@dataclass
class Stage:
    """Everything that was heard, in the order in which it came."""

    runs: dict[tuple[str, int, int, str], Run] = field(default_factory=dict)
    killed: dict[str, float] = field(default_factory=dict)
    """When each process that is no more was killed."""

    def hear(self, by: str, said: dict[str, object], now: float) -> None:
        fire, shard, tries = str(said["fire"]), int(str(said["shard"])), int(str(said["tries"]))
        run = self.runs.setdefault((fire, shard, tries, by), Run(fire, shard, tries, by, now))
        run.step = int(str(said["step"]))

    def kill(self, who: str, now: float) -> None:
        self.killed[who] = now

    def fires(self) -> list[str]:
        """The fires of which every shard has ended, the oldest first."""
        ended = Counter(
            fire for fire, _ in {(run.fire, run.shard) for run in self.runs.values() if run.ended}
        )
        return sorted(fire for fire, shards in ended.items() if shards == SHARDS)

    def of(self, fire: str) -> list[Run]:
        return [run for run in self.runs.values() if run.fire == fire]

    def latest(self, shard: int) -> Run | None:
        """What was last heard of a shard."""
        return max(
            (run for run in self.runs.values() if run.shard == shard),
            key=lambda run: (run.fire, run.tries),
            default=None,
        )

    def running(self, who: str) -> list[Run]:
        return [
            run for run in self.runs.values() if run.by == who and not run.ended and who not in self.killed
        ]

    def orphans(self) -> list[Run]:
        """What ran in a process when it was killed."""
        return [run for run in self.runs.values() if run.by in self.killed and not run.ended]

    def heir(self, orphan: Run) -> Run | None:
        """Who went on with it, in the same fire."""
        key = (orphan.fire, orphan.shard, orphan.tries + 1)
        return next((run for run in self.runs.values() if (run.fire, run.shard, run.tries) == key), None)

    def twice(self) -> list[tuple[str, int]]:
        """The shards that were run to the end more than once for one fire."""
        ended = Counter((run.fire, run.shard) for run in self.runs.values() if run.ended)
        return [what for what, times in ended.items() if times > 1]

    def lost(self) -> list[tuple[str, int]]:
        """The shards that have not come to the end, of fires that are older than the last complete one."""
        complete = self.fires()
        begun = {run.fire for run in self.runs.values()}
        done = {(run.fire, run.shard) for run in self.runs.values() if run.ended}
        late = sorted(fire for fire in begun if complete and fire < complete[-1])
        return [(fire, shard) for fire in late for shard in range(SHARDS) if (fire, shard) not in done]
