"""The books: a history that is away now and then, in some worlds for long, loses with a process what that had
not written yet, and some more because too much waited.

In the end every fire that a shard has come to is in them, once: it ran, or a later one stands for it, or
there is a reason why not, or at least it is said that nobody knows.
"""

import random
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from shardwright.coordination import account, claim
from shardwright.coordination.account import Entry, Passed, Ran
from shardwright.outcomes import CUT_SHORT
from shardwright.runtime.member import Nobody
from shardwright.schedule import Schedule, parse

if TYPE_CHECKING:
    from .world import Process, World

CURSORS = "/ns~shardwright/job/cursor/"

#: Outcomes after which the fire is not over.
UNFINISHED = ("", account.LOST, CUT_SHORT)

#: How long the history is away where it is away for long, and how much of what it is told it drops.
AWAY, DROPPED = 400.0, 0.05

START = datetime(2030, 1, 1, tzinfo=UTC)


class Teller(Nobody):
    """Hands in what a member tells of."""

    keeps = True

    def __init__(self, tell: Callable[[int, int, int, tuple[Entry, ...]], None]) -> None:
        self._tell = tell

    def account(self, made: int, item: int, entries: tuple[Entry, ...], *, after: int, ours: bool) -> None:
        self._tell(made, item, after, entries)


class Books:
    """What the history was told of which shard of which making of the job."""

    def __init__(self, world: "World", seed: int) -> None:
        self._world = world
        self._chance = random.Random(f"books {seed}")
        self._waiting: dict[str, deque[tuple[int, int, int, tuple[Entry, ...]]]] = defaultdict(deque)
        self._known: dict[tuple[int, int], dict[int, Entry]] = defaultdict(dict)
        self._summed_up: dict[tuple[int, int], list[Passed]] = defaultdict(list)
        self._back_at = AWAY if self._chance.random() < 0.25 else 0.0

    def tell(self, process: "Process", made: int, item: int, after: int, entries: tuple[Entry, ...]) -> None:
        """A process hands something in; it is written, and the process told so, at once or after a while, and
        after all that it handed in before. Or it is dropped."""
        clock = self._world.clock
        wait = max(self._back_at - clock.boot(), self._chance.choice([0.0, 0.0, 0.1, 2.0, 15.0]))
        waiting = self._waiting[process.name]
        waiting.append((made, item, after, entries))

        def write() -> None:
            while waiting and not process.dead:
                of, shard, after, some = waiting.popleft()
                if self._chance.random() < DROPPED:
                    continue
                self._write(of, shard, some)
                process.member.kept(shard, of, after, some[-1].number)

        clock.at(clock.boot() + wait, write)

    def _write(self, made: int, item: int, entries: Iterable[Entry]) -> None:
        for entry in entries:
            if isinstance(entry, Passed) and entry.why == account.AWAY:
                self._world.seen["summed up"] += 1
                self._summed_up[made, item].append(entry)
                continue
            known = self._known[made, item].setdefault(entry.number, entry)
            if known != entry:
                self._world.object(f"shard {item} was told of twice: {known} and {entry}")
            if isinstance(entry, Ran) and entry.outcome not in ("", account.LOST):
                came_to = self._world.ends.get((item, entry.attempt), entry.outcome)
                if came_to != entry.outcome:
                    self._world.object(f"shard {item} came out as {came_to}, and is in the books as {entry}")

    def check(self, story: str) -> None:
        """Whoever looks next has what the dead left in the cursors. Then nothing is missing."""
        world = self._world
        made = world.store.nodes["/ns/job"].made
        for path, left in list(world.store.nodes.items()):
            if path.startswith(CURSORS):
                cursor = claim.read(left.data)
                self._write(cursor.made, int(path.removeprefix(CURSORS)), cursor.tail)
        for item in range(world.settings.shards):
            found = self._known[made, item]
            node = world.store.nodes.get(f"{CURSORS}{item}")
            cursor = claim.read(node.data) if node is not None else claim.Cursor()
            if cursor.made != made:
                continue
            summed_up = self._summed_up[made, item]
            since = max(0, cursor.told - account.MOST) if self._back_at else 0  # what fell out may be no fire
            missing = (
                set(range(since + 1, cursor.told + 1)) - set(found) - {each.number for each in summed_up}
            )
            assert not missing, f"entries {sorted(missing)} of shard {item} are nowhere\n{story}"
            if world.steady and not world.stepped:
                self._check_fires(item, cursor, [*found.values(), *summed_up], story)

    def _check_fires(self, item: int, cursor: claim.Cursor, entries: list[Entry], story: str) -> None:
        """Each fire up to the last that the shard has come to has one end."""
        schedule = self._world.settings.timetable()
        if schedule is None or cursor.at is None:
            return
        ends: dict[datetime, list[str]] = defaultdict(list)
        begun = set()
        for entry in entries:
            if isinstance(entry, Passed):
                for fire in fires(schedule_of(entry, schedule), entry.after, entry.until):
                    if entry.why != account.AWAY or not ends[fire]:
                        ends[fire].append(entry.how)
            elif not entry.fire.startswith("#"):
                begun.add(datetime.fromisoformat(entry.fire))
                if ended(entry):
                    ends[datetime.fromisoformat(entry.fire)].append(entry.outcome)
        again = {datetime.fromisoformat(wish) for shard, wish, _ in self._world.rerun if shard == item}
        going = datetime.fromisoformat(cursor.run.fire) if cursor.run and cursor.run.fire[0] != "#" else None
        for fire in fires(schedule, START, cursor.at):
            often = len(ends[fire])
            fine = (
                often == 1
                or (often and fire in again)
                or (often == 0 and (fire == going or (fire in begun and self._beside())))
            )
            assert fine, f"shard {item}, {fire}: {ends[fire] or 'nothing'} in the books\n{story}"

    def _beside(self) -> bool:
        """Whether runs go on that nobody looks after."""
        return self._world.settings.overlap == "allow"


def ended(entry: Ran) -> bool:
    return entry.outcome not in UNFINISHED or bool(entry.why)


def schedule_of(entry: Passed, otherwise: Schedule) -> Schedule:
    if not entry.schedule:
        return otherwise
    text, zone, dst = entry.schedule
    return parse(text, zone or None, dst=dst or None)  # type: ignore[arg-type]


def fires(schedule: Schedule, after: datetime, until: datetime) -> list[datetime]:
    """In UTC, after one moment and up to another."""
    return [fire.astimezone(UTC) for fire in schedule.between(after, until)]
