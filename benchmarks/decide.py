"""What a look costs: everything that a job asks of one process, decided from a view.

First a job of 1,000 shards and 50 instances in several situations, then how a look grows with the shards from
10 to 10,000 among 10 instances. Ours is the look at so many shards, the peer is what it would cost if it grew
in proportion from a smaller job; from 10 shards that flatters, as what every look costs weighs most there, so
it is told from 1,000, too. Last what a turn costs when nothing has changed: that must not depend on the job.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from time import perf_counter_ns

from benchmarks.rows import Bounds, Row
from shardwright import coordination, elasticjob
from shardwright.clock import HandClock
from shardwright.coordination import claim, execution, gap, instance, leader, server, settings, sharding
from shardwright.coordination.step import Forget, Look, Put, Start, Step
from shardwright.coordination.view import Cursors, Local, Nodes, Run, Source, View
from shardwright.jobs import JobConfig
from shardwright.registry import Create
from shardwright.registry.memory import Store
from shardwright.registry.tree import Mirror, Node
from shardwright.runtime.member import Member

SHARDS, INSTANCES = 1_000, 50
SIZES, FEW = (10, 100, 1_000, 10_000), 10

#: How many nanoseconds of looks are measured at once, how many turns are, and how often for the best.
LOOKS_NS, TURNS, REPEATS = 50_000_000, 2_000, 7

#: Beyond these a ratio is not linear, not nearly, not flat. Ten times the shards, were each to look at all
#: the others, would be ten times linear.
LINEAR, NEARLY_LINEAR, FLAT = 1.0, 2.0, 2.0

FIRE = datetime(2030, 1, 1, tzinfo=UTC)
NEXT_FIRE = FIRE + timedelta(seconds=10)
MADE, CLAIMED = 1, 7

Decided = list[Step | Look]


def run() -> Iterator[Row]:
    bounds = Bounds()
    for situation in SITUATIONS:
        cost = per_look(situation, SHARDS, INSTANCES)
        yield Row(f"decide: {situation.name}, {SHARDS:,} × {INSTANCES}", cost, None, "", None, "ms/look")
    for situation in SITUATIONS:
        costs = {shards: per_look(situation, shards, FEW) for shards in SIZES}
        least, *more, most = SIZES
        if situation.quiet:
            yield Row(f"decide: {situation.name}, {least} × {FEW}", costs[least], None, "", None, "ms/look")
            for shards in more:
                yield grown(bounds, f"{situation.name}, {shards:,} × {FEW}", costs, least, shards, LINEAR)
        yield grown(bounds, f"{situation.name}, {most:,} × {FEW}", costs, least, most, LINEAR)
        yield grown(bounds, f"{situation.name}, the last tenfold", costs, more[-1], most, NEARLY_LINEAR)
    yield unchanged(bounds, SIZES[-1], SIZES[0])
    bounds.check()


def grown(bounds: Bounds, name: str, costs: dict[int, float], few: int, many: int, bound: float) -> Row:
    linear = costs[few] * many / few
    ratio = costs[many] / linear
    note = bounds.note(name, ratio <= bound, f"must be <= {bound:g}")
    return Row(f"decide: {name}", costs[many], linear, f"linear from {few:,}", ratio, "ms/look", note)


# -- the situations -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """A job as it stands between two fires: every shard has run, and rests with its owner."""

    job: Mirror
    own: Mirror
    config: JobConfig
    members: list[str]
    cursors: dict[int, Node | None]
    view: View
    """As it is seen by the first of the members, which leads."""

    def ours(self, who: str) -> list[int]:
        return [item for item in range(self.config.shards) if owner(item, self.members) == who]


def a_job(shards: int, instances: int) -> Job:
    job, own = Mirror("/bench/job"), Mirror("/bench~shardwright/job/watched")
    for tree in (job, own):
        tree.complete(0.0)
    config = JobConfig(name="job", cron="0/10 * * * * ?", time_zone="UTC", shards=shards)
    members = [f"10.0.0.{number}@-@{4000 + number}-{number:08x}" for number in range(instances)]
    text = elasticjob.write_config(config)
    nodes = {settings.ROOT: "", settings.NODE: text, leader.NODE: members[0], leader.TERM: members[0]}
    for who in members:
        nodes |= {instance.node(who): "", instance.alive_node(who): ""}
        nodes[server.node(instance.address_of(who))] = server.ENABLED
    nodes |= {sharding.owner_node(item): owner(item, members) for item in range(shards)}
    for path, data in nodes.items():
        put(job, own, path, data)
    cursors: dict[int, Node | None] = {item: cursor(item) for item in range(shards)}
    view = View(
        Nodes(job, own),
        members[0],
        "session",
        FIRE + timedelta(seconds=3),
        1_000.0,
        config,
        config.timetable(),
        Cursors("/bench~shardwright/job/cursor", cursors),
        Local(slots=shards, adopted=text),
    )
    put(job, own, gap.NODE, gap.now(view).text())
    return Job(job, own, config, members, cursors, view)


def put(job: Mirror, own: Mirror, path: str, data: str) -> None:
    tree, inner = (own, path[1:]) if path.startswith("~") else (job, path)
    tree.put(inner, Node(data, 0, "", MADE, MADE), 0.0)


def owner(item: int, members: list[str]) -> str:
    return members[item % len(members)]


def cursor(item: int, run: claim.Tenure | None = None) -> Node:
    """No two are alike, as they are not where work takes its time."""
    ended = FIRE + timedelta(seconds=1, microseconds=item)
    return Node(claim.Cursor(MADE, FIRE, run, "ok", ended).text(), CLAIMED, "", MADE, MADE)


def leads(job: Job) -> View:
    return job.view


def follows(job: Job) -> View:
    return replace(job.view, me=job.members[1])


def has_a_fire(job: Job) -> View:
    return replace(follows(job), now=NEXT_FIRE)


def still_runs(job: Job) -> View:
    """The next fire has come, and all our shards are still running for the one before."""
    view = has_a_fire(job)
    ours = job.ours(view.me)
    for item in ours:
        tenure = claim.Tenure(view.me, str(CLAIMED), FIRE.isoformat(), Source.SCHEDULED.value, 1)
        job.cursors[item] = cursor(item, tenure)
        put(job.job, job.own, execution.running_node(item), view.me)
    runs = {item: Run(str(CLAIMED), fire=FIRE.isoformat()) for item in ours}
    return replace(view, local=replace(view.local, runs=runs))


def has_ended(job: Job) -> View:
    """All our shards have ended at once."""
    view = still_runs(job)
    runs = {item: replace(run, outcome="ok") for item, run in view.local.runs.items()}
    return replace(view, now=FIRE + timedelta(seconds=3), local=replace(view.local, runs=runs))


def has_lost_one(job: Job) -> View:
    """The last of the members has gone, and we lead."""
    gone = job.members[-1]
    job.job.drop(instance.node(gone), 999.0)
    job.own.drop(instance.alive_node(gone)[1:], 999.0)
    return job.view


def decides_nothing(decided: Decided, job: Job) -> bool:
    return not any(isinstance(each, Step) for each in decided)


def claims_ours(decided: Decided, job: Job) -> bool:
    started = [each.then for each in decided if isinstance(each, Step)]
    claims = [claim for each in started if isinstance(each, Start) for claim in each.claims]
    return len(claims) == len(job.ours(job.members[1]))


def tells_the_end(decided: Decided, job: Job) -> bool:
    told = [each.then for each in decided if isinstance(each, Step)]
    items = [item for each in told if isinstance(each, Forget) for item in each.items]
    return items == list(job.ours(job.members[1]))


def moves_theirs(decided: Decided, job: Job) -> bool:
    steps = [each for each in decided if isinstance(each, Step)]
    puts = [write for step in steps for write in step.writes if isinstance(write, Put)]
    return len(puts) == len(job.ours(job.members[-1]))


@dataclass(frozen=True)
class Situation:
    name: str
    view: Callable[[Job], View]
    as_meant: Callable[[Decided, Job], bool]
    """Whether this is what must be decided, so that nothing else is measured."""
    quiet: bool = False


SITUATIONS = (
    Situation("quiet, leader", leads, decides_nothing, quiet=True),
    Situation("quiet, not leader", follows, decides_nothing, quiet=True),
    Situation("ours are due", has_a_fire, claims_ours),
    Situation("due and still run", still_runs, decides_nothing),
    Situation("ours have ended", has_ended, tells_the_end),
    Situation("one left, leader", has_lost_one, moves_theirs),
)


# -- the clock ----------------------------------------------------------------------------------------


def per_look(situation: Situation, shards: int, instances: int) -> float:
    """Milliseconds: the best of several, as what the machine does besides only ever adds."""
    job = a_job(shards, instances)
    view = situation.view(job)
    # A process knows the cursors of its own shards and no others.
    for item in set(job.cursors).difference(job.ours(view.me)):
        del job.cursors[item]
    decided = list(coordination.decide(replace(view, answers={})))
    if not situation.as_meant(decided, job):
        raise RuntimeError(f"{situation.name}, {shards} shards: decided {str(decided)[:500]}")

    def looks(count: int) -> int:
        start = perf_counter_ns()
        for _ in range(count):
            # Each look is at a new view, with nothing found out about it yet, as a member's is.
            list(coordination.decide(replace(view, answers={})))
        return perf_counter_ns() - start

    count = max(1, 3 * LOOKS_NS // looks(3))
    return min(looks(count) for _ in range(REPEATS)) / count / 1_000_000


def unchanged(bounds: Bounds, large: int, small: int) -> Row:
    many, few = settled(large), settled(small)
    ours, peer = (min(turns(member) for _ in range(REPEATS)) for member in (many, few))
    ratio = ours / peer
    name = f"decide: a turn, nothing changed, {large:,}"
    note = bounds.note(name, ratio < FLAT, f"must stay below {FLAT:g}")
    return Row(name, ours, peer, f"{small:,} shards", ratio, "µs/turn", note)


def settled(shards: int) -> Member:
    """A member that has all of a job's shards, and nothing to do until the next fire."""
    registry = Store(HandClock(FIRE)).connect(namespace="/bench")
    me = "10.0.0.0@-@4000-00000000"
    given = [Create(f"/bench/job/{sharding.owner_node(item)}", me) for item in range(shards)]
    for start in range(0, shards, 1_000):
        registry.wait(registry.commit(*given[start : start + 1_000]))
    config = JobConfig(name="job", cron="0/10 * * * * ?", time_zone="UTC", shards=shards)
    member = Member(registry, config, identity=lambda: me, work=lambda claim, number: None)
    while registry.pump() | member.turn():
        pass
    if registry.mirror("/bench/job").get(leader.NODE) != me or member.due() is None:
        raise RuntimeError(f"the job of {shards} shards has not settled")
    return member


def turns(member: Member) -> float:
    start = perf_counter_ns()
    for _ in range(TURNS):
        if member.turn():
            raise RuntimeError("there was something to look at")
    return (perf_counter_ns() - start) / TURNS / 1_000
