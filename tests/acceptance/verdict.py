"""The verdict on a history: every way in which it breaks what is promised. Shares no code with the package.

LOST         a fire that must have run to its end, and did not
TWICE        a fire's shard run again although it was begun already, or had ended well
OVERLAP      two runs of a shard at once
UNEXPECTED   a run for a time that is on no list, or before its time, or that nobody asked for
TOKENS       a token that does not grow
UNFINISHED   a run that began and of whose end nothing is known, although it can be
MISFIRED     a fire made good or made up for although nothing was in its way
LATE         a fire begun long after its time by one who was on time with others meanwhile
IDLE         a fault that met nobody at work: nothing was shown by it

and, of the registry's nodes in the end:

UNBALANCED   a shard that is nobody's, or one member with two more than another
LEFT         a node of one who is gone, or of a run that is over

A fire need not run itself if somebody was there and could not start it: the shard was in the midst of a
run, or something was broken. Then a later one stands for it, and must have run. Of a job that catches up on
all, each fire that fell while nobody was there must run itself.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from tests import calendar_brute
from tests.acceptance.history import CANCELLED, FAILED, OK, Fault, History, Run
from tests.acceptance.jobs import Job

#: A claim may be made this long before its fire.
AHEAD = 1.0

#: For how long after its end a run may be on its way to the registry.
TOLD = 0.5

#: For how long one who was stopped may take to learn that it has been given up, and to heed it.
WAKING = 0.3

#: Where a shard of a job begins so late, everything stood still: others may have come to the next fire only.
STILL = 0.5

#: How late a fire may be begun on a busy machine: when the clock is set meanwhile, a later one stands for it.
LATE = 3.0

#: For how long after its end a run may be on its way to the registry where that is slow: what falls due then
#: has fallen into the run, as far as anybody can tell.
SLOWLY = 1.5

#: By how much a process's idea of the registry's clock may be off.
APART = 0.2

SECOND = timedelta(seconds=1)

#: The nodes below a job, in its own tree or in ours, that go with their member or with the run they are of.
FLEETING = re.compile(
    r"(instances|trigger|leader/(election|failover)/latch|leader/failover/items"
    r"|watched/(alive|draining|next))/[^/]+"
    r"|sharding/[0-9]+/(running|failover|failovering|misfire)"
)


@dataclass(frozen=True)
class Violation:
    kind: str
    what: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.what}"


@dataclass(frozen=True)
class Node:
    """What the registry holds under a path: below the namespace, or below ours beside it."""

    data: str = ""
    ephemeral: bool = False


def violations(history: History, jobs: Iterable[Job], until: datetime) -> list[Violation]:
    """Everything that is wrong with a history whose fires are all accounted for up to a time."""
    found = [*idle(history)]
    for job in jobs:
        fires = expected(history, job, until)
        for item in range(job.shards):
            runs = in_order(history, [run for run in history.of(job.name) if run.item == item])
            found += [
                *lost(history, job, runs, fires),
                *twice(history, runs),
                *overlap(history, runs),
                *unexpected(history, job, runs),
                *tokens(runs),
                *unfinished(history, job, runs),
                *misfired(history, job, runs, fires),
                *late(history, job, runs, fires),
            ]
    return found


def in_order(history: History, runs: Iterable[Run]) -> list[Run]:
    """As they began. A process that was stopped between its claim and its first note notes the run late: it
    began when the process was stopped, as its token tells, and ends as soon as that wakes."""
    found: list[Run] = []
    for run in sorted(runs, key=lambda run: run.began):
        late = run.outcome == CANCELLED and any(before.token > run.token for before in found)
        fault = history.stop_before(run, WAKING) if late else None
        found.append(run if fault is None else replace(run, began=fault.at))
    return sorted(found, key=lambda run: run.began)


def expected(history: History, job: Job, until: datetime) -> dict[datetime, float]:
    """The job's fires from its first one that ran, second by second, and when each was on the boot clock."""
    timed = [run.fire for run in history.of(job.name) if run.fire is not None]
    if job.spec is None or not timed:
        return {}
    found: dict[datetime, float] = {}
    for begin, end, offset in _segments(history, history.boot(min(timed)), history.boot(until)):
        first, last = history.wall(begin + offset), history.wall(end + offset)
        for fire in calendar_brute.fires(job.spec, UTC, _whole(first), last, "quartz"):
            found.setdefault(fire, history.boot(fire) - offset)
    return found


def _segments(history: History, begin: float, end: float) -> Iterator[tuple[float, float, float]]:
    """The spans in which the registry's clock was not set, and by how much it was off in each."""
    moments = [(begin, 0.0), *history.steps, (end, 0.0)]
    for (here, offset), (there, _) in pairwise(moments):
        yield here, there, offset


def _whole(moment: datetime) -> datetime:
    """The first whole second that is not before."""
    return moment if not moment.microsecond else moment.replace(microsecond=0) + SECOND


# -- the sink ----------------------------------------------------------------------------------------


def accepted(runs: Sequence[Run]) -> set[Run]:
    """Whose effect a store has accepted that remembers the highest token it was shown: a run shows its own
    when it begins, and again with its effect, which is its last act."""
    shown = [(run.began, run.token) for run in runs]
    good = set()
    for run in runs:
        if run.outcome == OK and run.ended is not None:
            highest = max(token for at, token in shown if at <= run.ended)
            if run.token >= highest:
                good.add(run)
    return good


# -- what can be wrong -------------------------------------------------------------------------------


def lost(
    history: History, job: Job, runs: Sequence[Run], fires: Mapping[datetime, float]
) -> Iterator[Violation]:
    for at, name in history.asked:
        if name == job.name and not any(run.fire is None and run.began >= at for run in runs):
            yield Violation("LOST", f"{job.name} was asked to fire, and a shard did not run after that")
    timed = [run.fire for run in runs if run.fire is not None]
    if fires and not timed:
        yield Violation("LOST", f"{job.name}: a shard never ran")
    if not timed:
        return
    first = min(timed)
    through = {run.fire for run in (*accepted(runs), *(run for run in runs if run.outcome == FAILED))}
    begun = set(timed)
    blocked = [*_blocked(history, job, runs), *_stood_still(history, job, fires)]
    for fire, at in fires.items():
        if fire < first or fire in through:
            continue
        name = f"{job.name}/{runs[0].item} for {fire:%H:%M:%S}"
        if fire in begun:
            if job.failover:
                yield Violation("LOST", f"{name} was begun and never run to its end")
        elif job.catch_up == "all" and nobody(history, at):
            yield Violation("LOST", f"{name} fell while nobody was there and was never made up for")
        elif not any(begin <= at <= end for begin, end in blocked):
            yield Violation("LOST", f"{name} never ran, and nothing was in its way")
        elif not any(run.fire is not None and run.fire > fire and run.fire in through for run in runs):
            yield Violation("LOST", f"{name} never ran, nor did a later one")


def _blocked(
    history: History, job: Job, runs: Sequence[Run], told: float = TOLD
) -> Iterator[tuple[float, float]]:
    """When nobody could start the shard: while it ran, and from a fault until it has begun to run again."""
    begins = [run.began for run in runs]
    for run in runs:
        yield run.began, (run.began if run.ended is None else run.ended) + told
    for fault in history.faults:
        over = fault.at if fault.until is None else fault.until
        after = bisect_right(begins, over)
        # What was claimed ahead of its fire goes with who claimed it, where nobody is to run it again.
        begin = fault.at if job.failover else fault.at - AHEAD
        if fault.kind == "step":
            begin = fault.at - LATE
        yield begin, begins[after] if after < len(begins) else float("inf")


def _stood_still(
    history: History, job: Job, fires: Mapping[datetime, float]
) -> Iterator[tuple[float, float]]:
    """When the machine or the registry did nothing for a while, as other shards of the job show."""
    for run in history.of(job.name):
        due = fires.get(run.fire) if run.fire is not None else None
        if due is not None and run.began > due + STILL:
            yield due, run.began


def nobody(history: History, at: float) -> bool:
    """Whether every process there had been was dead at a moment, and another came afterwards."""
    up = [pid for pid, began in history.ups.items() if began <= at]
    gone = [history.died(pid) or history.left.get(pid) for pid in up]
    # A kill is noted before it is done: somebody may have claimed something a moment later.
    dead = all(died is not None and died + TOLD < at for died in gone)
    return bool(up) and dead and len(up) < len(history.ups)


def twice(history: History, runs: Sequence[Run]) -> Iterator[Violation]:
    firsts = Counter(run.fire for run in runs if run.attempt == 1 and run.fire is not None)
    for fire, count in firsts.items():
        if count > 1:
            yield Violation("TWICE", f"{count} first attempts at {_name(runs)} for {fire:%H:%M:%S}")
    well = accepted(runs)
    for one in runs:
        for other in runs:
            again = one.fire is not None and one.fire == other.fire and one.began < other.began
            if again and one in well and not _touched(history, one, other.began):
                yield Violation("TWICE", f"{other}, although there was {one}")


def _touched(history: History, run: Run, until: float) -> bool:
    """Whether something was done to a run's process, so that its end may not have been heard of."""
    return any(
        fault.touches(run.pid) and fault.lasted(run.began, until)
        for fault in history.faults
        if fault.kind != "step"
    )


def overlap(history: History, runs: Sequence[Run]) -> Iterator[Violation]:
    for number, one in enumerate(runs):
        end = one.ended if one.ended is not None else history.died(one.pid) or float("inf")
        for other in runs[number + 1 :]:
            if other.began < end and not history.stood(one.pid, other.began, WAKING):
                yield Violation("OVERLAP", f"{other}, in the midst of {one}")


def unexpected(history: History, job: Job, runs: Sequence[Run]) -> Iterator[Violation]:
    asked = sum(name == job.name for _, name in history.asked)
    untimed = [run for run in runs if run.fire is None and run.attempt == 1]
    if len(untimed) > asked:
        yield Violation("UNEXPECTED", f"{_name(runs)} ran {len(untimed)} times on request, asked {asked}")
    for run in runs:
        if run.fire is None:
            continue
        if job.spec is None or not job.spec.matches(run.fire.replace(tzinfo=None)) or run.fire.microsecond:
            yield Violation("UNEXPECTED", f"{run} is not on the list")
        elif run.fire > _latest(history, run.began):
            yield Violation("UNEXPECTED", f"{run} is before its time")


def _latest(history: History, boot: float) -> datetime:
    """The latest that the registry's clock can have told, just when it was set too: what was claimed ahead
    begins when it was to begin."""
    offsets = [
        offset
        for here, there, offset in _segments(history, 0.0, float("inf"))
        if here <= boot + TOLD and boot - AHEAD - TOLD <= there
    ]
    return history.wall(boot + APART + max(offsets))


def tokens(runs: Sequence[Run]) -> Iterator[Violation]:
    for one, other in pairwise(runs):
        if other.token <= one.token:
            yield Violation("TOKENS", f"{other}, after {one}")


def unfinished(history: History, job: Job, runs: Sequence[Run]) -> Iterator[Violation]:
    for run in runs:
        again = any(
            other.fire == run.fire and other.attempt > run.attempt and other.began > run.began
            for other in runs
        )
        if run.outcome == CANCELLED and job.failover and not again:
            yield Violation("UNFINISHED", f"{run}, and nobody ran it again")
        if run.ended is not None:
            continue
        if history.died(run.pid) is None:
            yield Violation("UNFINISHED", f"{run}, and its process lives or left in order")
        elif job.failover and not again:
            yield Violation("UNFINISHED", f"{run}, its process died, and nobody ran it again")


def misfired(
    history: History, job: Job, runs: Sequence[Run], fires: Mapping[datetime, float]
) -> Iterator[Violation]:
    in_the_way = [*_blocked(history, job, runs, told=SLOWLY), *_stood_still(history, job, fires)]
    for run in runs:
        due = fires.get(run.fire) if run.fire is not None else None
        if due is None or run.source not in ("misfire", "catch-up"):
            continue
        if not any(begin <= due <= end for begin, end in in_the_way):
            yield Violation("MISFIRED", f"{run}, and nothing was in its way")


def late(
    history: History, job: Job, runs: Sequence[Run], fires: Mapping[datetime, float]
) -> Iterator[Violation]:
    """A busy machine makes everybody late: only who was on time with another fire meanwhile could have been
    with this one. A shard's first fire may wait until somebody has been given it."""
    timed = [run.fire for run in runs if run.fire is not None]
    if history.steps or not timed:
        return
    blocked = list(_blocked(history, job, runs))
    for run in runs:
        due = fires.get(run.fire) if run.fire is not None and run.fire > min(timed) else None
        if due is None or run.attempt > 1 or run.began <= due + LATE:
            continue
        could = any(
            _in_time(history, other, due, run.began) for other in history.runs if other.pid == run.pid
        )
        if could and not any(begin <= due <= end for begin, end in blocked):
            yield Violation("LATE", f"{run}, {run.began - due:.1f} s after its time")


def _in_time(history: History, run: Run, begin: float, end: float) -> bool:
    """Whether a run fell due between these, and began then."""
    due = history.boot(run.fire) if run.fire is not None else end
    return begin < due and run.began < min(due + STILL, end)


def idle(history: History) -> Iterator[Violation]:
    """What is done to one process must hit the last that ran some shard, and what is done to all must fall
    into a run, or last from one to another. Of several faults one will do: who is given the first shards is
    left to chance."""
    faults = [fault for fault in history.faults if fault.kind != "step"]
    if not any(_met_work(history, fault) for fault in faults):
        yield from (Violation("IDLE", f"{fault} met nobody at work") for fault in faults)


def _met_work(history: History, fault: Fault) -> bool:
    over = fault.at if fault.until is None else fault.until
    last = [[run for run in runs if run.began <= over] for runs in history.shards().values()]
    return any(_met(fault, runs) for runs in last if runs)


def _met(fault: Fault, runs: Sequence[Run]) -> bool:
    before = [run for run in runs if run.began <= fault.at]
    if fault.pid is not None:
        return bool(before) and before[-1].pid == fault.pid
    return len(runs) > len(before) or any(run.ended is None or run.ended >= fault.at for run in before)


# -- the registry in the end -------------------------------------------------------------------------


def unbalanced(nodes: Mapping[str, Node], jobs: Iterable[Job]) -> Iterator[Violation]:
    """Of the nodes while members are there."""
    for job in jobs:
        place = f"{job.name}/instances/"
        members = [path.removeprefix(place) for path in nodes if path.startswith(place)]
        owners = [
            nodes.get(f"{job.name}/sharding/{item}/instance", Node()).data for item in range(job.shards)
        ]
        count = {member: owners.count(member) for member in members}
        if not members or sum(count.values()) < job.shards:
            yield Violation("UNBALANCED", f"{job.name}: shards of {owners}, and there are {members}")
        elif max(count.values()) - min(count.values()) > 1:
            yield Violation("UNBALANCED", f"{job.name}: {count}")


def left(nodes: Mapping[str, Node]) -> Iterator[Violation]:
    """Of the nodes when everybody has gone."""
    for path, node in nodes.items():
        _, _, below = path.partition("/")
        if node.ephemeral or FLEETING.fullmatch(below):
            yield Violation("LEFT", f"{path} {node.data}")


def _name(runs: Sequence[Run]) -> str:
    return f"{runs[0].job}/{runs[0].item}"
