"""A history: what processes and tests have noted, as runs and faults. Shares no code with the package."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

OK, FAILED, CANCELLED = "ok", "failed", "cancelled"


@dataclass(frozen=True)
class Run:
    """One run of a shard, as the process that ran it noted it."""

    pid: int
    job: str
    item: int
    fire: datetime | None
    """What it was scheduled for; None for one that was asked for."""
    token: int
    began: float
    """On the boot clock, as everything here."""
    ended: float | None = None
    outcome: str | None = None
    attempt: int = 1
    source: str = "scheduled"
    threads: int = 0
    """How many its process had when it began."""
    at_exit: int = 0
    """How much its process had to do at its end when it began."""
    files: int = 0
    """How many its process had open when it began."""

    @property
    def shard(self) -> tuple[str, int]:
        return self.job, self.item

    def __str__(self) -> str:
        when = f"{self.fire:%H:%M:%S}" if self.fire is not None else "no time"
        end = f"to {self.ended:.2f} {self.outcome}" if self.ended is not None else "and did not end"
        how = f"attempt {self.attempt}, {self.source}, token {self.token}"
        return f"{self.job}/{self.item} for {when} by {self.pid} from {self.began:.2f} {end} ({how})"


@dataclass(frozen=True)
class Fault:
    """What the test did, to one process or to all."""

    kind: str
    at: float
    pid: int | None = None
    until: float | None = None
    """When it was over, if it lasted: a stopped process was woken, a wire healed."""

    def touches(self, pid: int) -> bool:
        return self.pid is None or self.pid == pid

    def lasted(self, begin: float, end: float) -> bool:
        """Whether any of it fell between these."""
        return self.at <= end and begin <= (self.at if self.until is None else self.until)


@dataclass(frozen=True)
class History:
    runs: tuple[Run, ...] = ()
    faults: tuple[Fault, ...] = ()
    ups: Mapping[int, float] = field(default_factory=dict)
    """When each process began, before it knew the registry."""
    left: Mapping[int, float] = field(default_factory=dict)
    """When each process that left in order had left."""
    ahead: float = 0.0
    """By how much the registry's time of day is ahead of the boot clock."""
    steps: tuple[tuple[float, float], ...] = ()
    """When the registry's clock was set, and by how much it was off from then on."""
    asked: tuple[tuple[float, str], ...] = ()
    """When somebody asked for a run of which job."""

    def of(self, job: str) -> list[Run]:
        return [run for run in self.runs if run.job == job]

    def shards(self) -> dict[tuple[str, int], list[Run]]:
        """The runs of each shard, in the order in which they began."""
        found: dict[tuple[str, int], list[Run]] = {}
        for run in sorted(self.runs, key=lambda run: run.began):
            found.setdefault(run.shard, []).append(run)
        return found

    def died(self, pid: int) -> float | None:
        """When a process was killed; noted just before that was done."""
        return next((fault.at for fault in self.faults if fault.kind == "kill" and fault.pid == pid), None)

    def stood(self, pid: int, at: float, waking: float) -> bool:
        """Whether a process was stopped at a moment, or had been woken so shortly before."""
        return any(
            fault.kind == "stop" and fault.pid == pid and fault.at <= at <= (fault.until or at) + waking
            for fault in self.faults
        )

    def stop_before(self, run: Run, waking: float) -> Fault | None:
        """What had stopped the process that noted all of a run, beginning and end, so shortly after it had
        been woken."""
        return next(
            (
                fault
                for fault in self.faults
                if fault.kind == "stop"
                and fault.pid == run.pid
                and fault.until is not None
                and run.ended is not None
                and fault.until <= run.began <= run.ended <= fault.until + waking
            ),
            None,
        )

    def going_on(self) -> list[Run]:
        """What is in the midst of a run, as far as is known."""
        return [run for run in self.runs if run.ended is None and self.died(run.pid) is None]

    def same_fire(self, run: Run) -> list[Run]:
        """All attempts at the same fire of the same shard."""
        return [each for each in self.shards()[run.shard] if each.fire == run.fire]

    def same_time(self, run: Run) -> list[Run]:
        """All runs of all shards for the same fire."""
        return [each for each in self.of(run.job) if each.fire == run.fire]

    def fires(self, job: str) -> list[datetime]:
        """What a job has run for, in order."""
        return sorted({run.fire for run in self.of(job) if run.fire is not None})

    def since_the_last_fault(self) -> list[Run]:
        """What began when all that was done was over."""
        over = max((fault.until or fault.at for fault in self.faults), default=0.0)
        return [run for run in self.runs if run.began > over]

    def boot(self, moment: datetime) -> float:
        """A time of day on the boot clock."""
        return moment.timestamp() - self.ahead

    def wall(self, boot: float) -> datetime:
        return datetime.fromtimestamp(boot + self.ahead, UTC)


def read(lines: Iterable[str]) -> History:
    """What the notes tell. That a fault is over has a note of its own, about whom it was done to."""
    notes = [json.loads(line) for line in lines]
    begun: dict[tuple[int, str, int, int], Run] = {}
    faults: list[Fault] = []
    for note in notes:
        match note["what"]:
            case "begin":
                begun[_key(note)] = _run(note)
            case "end":
                run = begun[_key(note)]
                begun[_key(note)] = replace(run, ended=note["boot"], outcome=note["outcome"])
            case "fault":
                faults.append(Fault(note["kind"], note["boot"], note["pid"]))
            case "over":
                last = max(
                    n for n, fault in enumerate(faults) if fault.pid == note["pid"] and not fault.until
                )
                faults[last] = replace(faults[last], until=note["boot"])
    first = next((note for note in notes if note["what"] == "clock"), None)
    return History(
        runs=tuple(begun.values()),
        faults=tuple(faults),
        ups={note["pid"]: note["boot"] for note in notes if note["what"] == "up"},
        left={note["pid"]: note["boot"] for note in notes if note["what"] == "left"},
        ahead=first["wall"] - first["boot"] if first is not None else 0.0,
        steps=tuple((note["boot"], note["offset"]) for note in notes if note["what"] == "step"),
        asked=tuple((note["boot"], note["job"]) for note in notes if note["what"] == "asked"),
    )


def _key(note: Mapping[str, Any]) -> tuple[int, str, int, int]:
    return note["pid"], note["job"], note["item"], note["token"]


def _run(note: Mapping[str, Any]) -> Run:
    return Run(
        pid=note["pid"],
        job=note["job"],
        item=note["item"],
        fire=datetime.fromisoformat(note["fire"]) if note["fire"] is not None else None,
        token=note["token"],
        began=note["boot"],
        attempt=note["attempt"],
        source=note["source"],
        threads=note["threads"],
        at_exit=note["atexit"],
        files=note.get("files", 0),
    )
