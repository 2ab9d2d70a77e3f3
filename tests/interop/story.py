"""What the members of a job did, Java and Python alike, read from the file that all of them add to."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Run:
    """One run of one shard. Times are in milliseconds by the wall clock; places are lines of the file, and
    say what came first."""

    who: str
    item: int
    total: int
    start: int
    began: float
    end: int | None = None
    ended: float | None = None
    fire: float | None = None
    """The fire it is of; only Python members tell."""
    source: str = ""
    token: int = 0
    parameter: str | None = None
    cancelled: bool = False

    def overlaps(self, later: "Run") -> bool:
        return (
            self.item == later.item and self.start < later.start and (self.end or later.start) >= later.start
        )


class Story:
    """The file, looked at with every question, and read anew when there is more of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read: tuple[int, list[dict[str, Any]]] = 0, []

    def events(self) -> list[dict[str, Any]]:
        if self.path.exists() and self.path.stat().st_size > self._read[0]:
            text = self.path.read_bytes()
            self._read = len(text), [json.loads(line) for line in text[: text.rfind(b"\n") + 1].splitlines()]
        return self._read[1]

    def place(self) -> int:
        """How far the story has come."""
        return len(self.events())

    def told(self, event: str, who: str) -> bool:
        return any(each["event"] == event and each["who"] == who for each in self.events())

    def count(self, event: str, *, since: int = 0) -> int:
        return sum(each["event"] == event for each in self.events()[since:])

    def answers(self) -> list[Any]:
        """What ElasticJob's operations API said, in the order in which it was asked."""
        return [each["answer"] for each in self.events() if each["event"] == "answer"]

    def runs(self, *, since: int = 0, who: str | None = None) -> list[Run]:
        """Those begun since a place in the story, by one member or all."""
        found: list[Run] = []
        open_: dict[tuple[str, int], list[int]] = defaultdict(list)
        for place, event in enumerate(self.events()):
            if event["event"] == "start":
                open_[event["who"], event["item"]].append(len(found))
                more = {key: event[key] for key in ("fire", "source", "token", "parameter") if key in event}
                found.append(Run(event["who"], event["item"], event["total"], place, event["at"], **more))
            if event["event"] == "end":
                number = open_[event["who"], event["item"]].pop(0)
                found[number] = _ended(found[number], place, event)
            if event["event"] == "killed":
                for (runner, _), numbers in open_.items():
                    while runner == event["who"] and numbers:
                        number = numbers.pop()
                        found[number] = _ended(found[number], place, event)
        return [run for run in found if run.start >= since and who in (None, run.who)]

    def open(self, who: str | None = None) -> list[Run]:
        return [run for run in self.runs(who=who) if run.end is None]

    def __str__(self) -> str:
        return "\n".join(json.dumps(event) for event in self.events())


def _ended(run: Run, place: int, event: dict[str, Any]) -> Run:
    told = {**vars(run), "end": place, "ended": event["at"], "cancelled": event.get("cancelled", False)}
    return Run(**told)


def of_python(runs: Iterable[Run]) -> list[Run]:
    """Those of Python members. What they promise each other Java members do not: a Java leader looks its own
    shards up in a cache that lags, and may run one, in the very fire, that it has just given away."""
    return [run for run in runs if run.source]


def twice_at_once(runs: Iterable[Run]) -> list[tuple[Run, Run]]:
    """Pairs of runs of one shard of which one began while the other went on."""
    listed = list(runs)
    return [(one, other) for one in listed for other in listed if one.overlaps(other)]


def run_again(runs: Iterable[Run]) -> list[Run]:
    """Of the runs of Python members, those of a fire that its shard had run for, and that did not take over
    from a dead one."""
    seen: set[tuple[int, float]] = set()
    found = []
    for run in runs:
        if run.fire is None or run.source == "failover":
            continue
        if (run.item, run.fire) in seen:
            found.append(run)
        seen.add((run.item, run.fire))
    return found


def by_fire(runs: Iterable[Run], period: float) -> dict[float, list[int]]:
    """Which shards ran for each fire, where there is one every so many seconds. Java members do not say which
    fire a run is of: it is the last one before it."""
    found: dict[float, list[int]] = defaultdict(list)
    for run in runs:
        fire = run.fire if run.fire is not None else run.began // (period * 1000) * (period * 1000)
        found[fire / 1000].append(run.item)
    return {fire: sorted(items) for fire, items in sorted(found.items())}


def doubled(fires: Mapping[float, list[int]]) -> dict[float, list[int]]:
    """Those fires for which a shard ran more than once."""
    return {fire: items for fire, items in fires.items() if len(set(items)) < len(items)}
