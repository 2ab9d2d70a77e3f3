"""Chaos: one seed's worth of trouble, then quiet, then the promises are held up against what happened."""

import random
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from shardwright import coordination, elasticjob
from shardwright.coordination import again, leader, server, sharding
from shardwright.coordination.step import Look, Step
from shardwright.coordination.view import Hooks, View
from shardwright.jobs import JobConfig
from shardwright.registry import Create, Delete, Put
from shardwright.registry.memory import MemoryRegistry
from shardwright.runtime.member import Member
from shardwright.runtime.runs import Running

from . import hands, nemeses
from .java import JavaMember
from .promises import OWN
from .world import NONSENSE, ROOT, TRIES, Process, World

#: How long the trouble lasts at least, and the quiet after it.
TROUBLE, QUIET = 120.0, 100.0

#: How many looks a seed has at least.
LOOKS = 1000

#: When even a cluster that does nothing is left alone.
LONGEST = 7200.0

#: Which seeds have Java members.
JAVA_EVERY = 10


STRATEGIES = [*["sticky"] * 6, "AVG_ALLOCATION", "ROUND_ROBIN", "SINGLE_SHARDING_BALANCE"]


@dataclass(frozen=True)
class Report:
    """What one seed showed."""

    seed: int
    looks: int
    faults: int
    hours: float
    seen: Counter[str]


def run(
    seed: int,
    *,
    decide: Callable[[View], Iterable[Step | Look]] = coordination.decide,
    registry: type[MemoryRegistry] = MemoryRegistry,
    member: type[Member] = Member,
    java: bool | None = None,
    hooks: bool | None = None,
    group: bool | None = None,
    catch_up: str | None = None,
    running: type[Running] = Running,
    troubled: bool | None = None,
) -> Report:
    """Trouble, quiet, and the promises held up; raises AssertionError with the story if one was broken."""
    world = a_world(seed, decide, registry, member, hooks, group, catch_up, running, troubled)
    faults = play(world, seed, java=java)
    return Report(seed, world.looks, faults, world.clock.boot() / 3600, world.seen)


def play(world: World, seed: int, *, java: bool | None = None) -> int:
    """All that happens in a seed; how many faults there were."""
    faults = begin_and_trouble(world, seed % JAVA_EVERY == 0 if java is None else java)
    heal(world)
    world.quiet = True
    world.advance(QUIET)
    if not world.javas:
        requests_are_heeded(world)
    while world.looks < LOOKS and world.clock.boot() < LONGEST:
        world.advance(10.0)
    check(world)
    return faults


def begin_and_trouble(world: World, java: bool) -> int:
    for _ in range(world.random.randint(2, 4)):
        world.join()
    if java:
        world.advance(world.random.uniform(0, 3))
        world.join_java()
        # The model of a Java member keeps the settings and the clock it began with.
        world.rare = tuple(nemesis for nemesis in world.rare if nemesis not in nemeses.NOT_FOR_JAVA)
    world.advance(world.random.uniform(1, 12))
    return trouble(world)


def a_world(
    seed: int,
    decide: Callable[[View], Iterable[Step | Look]] = coordination.decide,
    registry: type[MemoryRegistry] = MemoryRegistry,
    member: type[Member] = Member,
    called: bool | None = None,
    group: bool | None = None,
    catch_up: str | None = None,
    running: type[Running] = Running,
    troubled: bool | None = None,
) -> World:
    chance = random.Random(f"config {seed}")
    hooks = Hooks(
        started=chance.random() < 0.5, completed=True, started_timeout=20.0, again=chance.random() < 0.7
    )
    config, ill = a_config(chance, group), random.Random(f"trouble {seed}")
    fails = _either(troubled, ill.random() < hands.TROUBLED)
    if fails:
        config = hands.troubled(config, ill)
    world = World(
        seed,
        config.replace(catch_up=catch_up) if catch_up else config,
        decide=decide,
        registry=registry,
        member=member,
        running=running,
        hooks=hooks if _either(called, chance.random() < 0.2) else None,
    )
    world.trouble = ill if fails and config.retries else None
    world.vetoes = ill if ill.random() < 0.5 else None
    world.rare = nemeses.RARE if chance.random() < 0.5 else ()
    if chance.random() < 0.1:
        world.rare = (*world.rare, nemeses.step_clock)
    return world


def _either(wish: bool | None, chance: bool) -> bool:
    return chance if wish is None else wish


def a_config(chance: random.Random, group: bool | None = None) -> JobConfig:
    config = an_unlimited_config(chance)
    if not _either(group, config.overlap != "allow" and chance.random() <= 0.15):
        return config
    overlap = "skip" if config.overlap == "allow" else config.overlap
    return config.replace(group="few", concurrency=chance.randint(2, 4), overlap=overlap)


def an_unlimited_config(chance: random.Random) -> JobConfig:
    monitored = chance.random() < 0.85
    return JobConfig.of(
        {
            "name": "job",
            "cron": "0/10 * * * * ?",
            "time_zone": "UTC",
            "shards": chance.randint(1, 7),
            "monitor_execution": monitored,
            "failover": monitored and chance.random() < 0.75,
            "misfire": chance.random() < 0.8,
            "delivery": "at_most_once" if chance.random() < 0.15 else "at_least_once",
            "catch_up": chance.choice(["skip", "skip", "once", "all"]),
            "catch_up_max_count": 3,
            "strategy": chance.choice(STRATEGIES),
            "static_sharding": chance.random() < 0.1,
            "overlap": chance.choice([*[None] * 6, "skip", "queue", "cancel", "cancel", "allow"]),
        }
    )


def trouble(world: World) -> int:
    end = world.clock.boot() + TROUBLE
    faults = 0
    while world.clock.boot() < end or (world.looks < LOOKS * 0.5 and world.clock.boot() < LONGEST):
        world.advance(world.random.choice([0.0, 0.3, 2.0, 9.0]))
        faults += nemeses.something(world)
    return faults


def heal(world: World) -> None:
    """Everybody can reach everybody, everybody is enabled, somebody is there."""
    world.note("-- heal")
    members: list[Process | JavaMember] = [*world.processes.values(), *world.javas.values()]
    for member in members:
        member.registry.delay()
        member.registry._link.eat_replies = 0
        member.registry.reconnect()
    for process in world.processes.values():
        process.slow = False
    config = f"{ROOT}/config"
    if world.data(config) == NONSENSE or world.settings.cron is None:
        mended = world.settings.replace(cron=world.settings.cron or world.config.cron)
        write = Put if config in world.store.nodes else Create
        world.operator(write(config, elasticjob.write_config(mended)))
    world.advance(60.0)
    for process in world.processes.values():
        leaver = process.member.local.draining and not process.paused
        assert not leaver or process.member.left, f"{process.name} cannot leave\n{world.story(150)}"
    for path in list(world.store.nodes):
        if path.startswith(f"{ROOT}/servers/"):
            world.operator(Put(path, "ENABLED"))
        if path.startswith(f"{ROOT}/sharding/") and path.endswith("/disabled"):
            world.operator(Delete(path))
    for process in list(world.processes.values()):
        if process.member.left or process.member.local.stopped or process.member.local.draining:
            world.processes.pop(process.name)
            process.dead = True
            process.registry.close()
    for java in list(world.javas.values()):
        if java.stopped:
            world.crash_java(java)
    world.join()
    world.wanted = {item: len(wanted(world, item)) for item in range(world.settings.shards)}
    world.advance(60.0)


def wanted(world: World, item: int) -> list[again.Wish]:
    """Which fires of the past a shard is still to run."""
    node = world.store.nodes.get(f"/ns~shardwright/job/watched/{again.node(item)[1:]}")
    return again.read(node.data, world.made) if node is not None else []


def check(world: World) -> None:
    """After quiet: one leader, every shard owned by somebody who may work, and no fire lost since."""
    story = world.story(150)
    for process in world.processes.values():
        assert process.member.settings == world.settings, f"{process.name} has old settings\n{story}"
        registered = (f"{ROOT}/instances/{process.member.me}", f"{OWN}/watched/alive/{process.member.me}")
        assert all(path in world.store.nodes for path in registered), f"{process.name} is not back\n{story}"
    view = next(iter(world.processes.values())).member._view()
    assert leader.current(view) in server.workers(view), f"nobody leads\n{story}"
    owners = sharding.owners(view)
    if not (leader.is_java(view) and world.config.static_sharding):
        # A Java leader does not notice who has gone, nor that an operator deleted a shard, where shards stay
        # where they are.
        assert set(owners) == set(view.items), f"shards without an owner\n{story}"
        assert set(owners.values()) <= set(server.workers(view)), f"owned by the dead\n{story}"
        if world.settings.strategy == "sticky" and not world.config.static_sharding and not world.javas:
            held = Counter(owners.values())
            shares = [held[who] for who in server.workers(view)]
            assert max(shares) - min(shares) <= 1, f"shared out unevenly: {shares}\n{story}"
        if not world.stepped:
            everything_runs(world, view, story)
        if world.steady:
            everything_asked_for_was_run(world, story)
    nothing_is_left(world, story)
    world.books.check(story)
    # Where an operator took away what was put up, only the shard's owner knows of it, by the cursor.
    if world.steady and not world.java_runs and set(owners.values()) <= set(server.workers(view)):
        everything_was_rescued(world, story)


def everything_runs(world: World, view: View, story: str) -> None:
    ran: dict[int, list[datetime]] = {item: [] for item in view.items}
    for started in world.started:
        if not started.claim.fire.startswith("#") and started.claim.item in ran:
            ran[started.claim.item].append(datetime.fromisoformat(started.claim.fire))
    for _, _, item, fire in world.java_runs:
        if not fire.startswith("#") and item in ran:
            ran[item].append(datetime.fromisoformat(fire))
    owners = sharding.owners(view)
    for item, fires in ran.items():
        owner = world.javas.get(owners[item])
        if owner is not None and owner.awaits_quiet:
            # It took itself for the leader, waits to share out, and does not look whether it still is: a Java
            # cluster hangs in the same way.
            continue
        assert fires, f"shard {item} never ran\n{story}"
        # The longest run takes 25 s; after it the latest missed fire is made good at once.
        late = world.clock.wall() - max(fires)
        longest = 300 if world.settings.group else 75 if world.javas else 120 if world.hooks.started else 55
        assert late < timedelta(seconds=longest), f"shard {item} has not run since {max(fires)}\n{story}"


def requests_are_heeded(world: World) -> None:
    """Asked twice, also in the midst of a run, every shard runs once more after the last request."""
    for _ in range(2):
        asked = world.clock.boot()
        for process in world.processes.values():
            nemeses.trigger(world, process)
        world.advance(0.5)
    world.advance(300.0 if world.settings.group else 150.0 if world.hooks.started else 60.0)
    ran = {
        started.claim.item
        for started in world.started
        if started.at >= asked and started.claim.source.value == "trigger"
    }
    missing = set(range(world.settings.shards)) - ran
    assert not missing, f"asked to fire, and {sorted(missing)} did not\n{world.story(150)}"


def nothing_is_left(world: World, story: str) -> None:
    leftovers = [path for path in world.store.nodes if path.startswith(f"{ROOT}/leader/failover/items/")]
    assert not leftovers, f"left waiting: {leftovers}\n{story}"
    asked = [f"{ROOT}/trigger/{process.member.me}" for process in world.processes.values()]
    requests = [path for path in asked if path in world.store.nodes]
    # A Java leader may never share out what an operator deleted, or the dead had: a request waits for that.
    owners = world.watch.owners()
    shared_out = len(owners) == world.settings.shards and set(owners.values()) <= set(world.members())
    assert not requests or not shared_out, f"asked to fire, and not done: {requests}\n{story}"
    alive = {process.registry._link.session for process in world.processes.values()}
    places = [path for path, node in world.store.nodes.items() if "latch/" in path and node.owner in alive]
    assert not places, f"left in line: {places}\n{story}"


def everything_asked_for_was_run(world: World, story: str) -> None:
    """Fires of the past that somebody asked for again. They come after what is due, or by turns with it."""
    if world.settings.group is not None:
        return
    run = {(each.claim.item, each.claim.fire, each.claim.tries) for each in world.started}
    # One that died between its claim and its run was followed by another, whose try is a later one.
    run |= {(item, fire, tries - tries % TRIES) for item, fire, tries in run}
    if not (world.settings.failover and world.settings.delivery == "at_least_once"):
        # What its runner claimed and died over before it began is accounted for as lost.
        run |= world.watch.claimed
    busy = {item for item in range(world.settings.shards) if world.data(f"{ROOT}/sharding/{item}/running")}
    for wish in world.rerun:
        assert wish in run or wish[0] in busy, f"asked for again, and not run: {wish}\n{story}"
    if world.config.overlap in ("cancel", "allow"):
        return  # each fire ends the run before it, or begins beside it, and there may be no moment between
    for item, left in world.wanted.items():
        # Two runs take at most 50 s, and one of two is for a fire of the past.
        now = len(wanted(world, item))
        assert now < left or not now, f"shard {item} runs none of the {now} asked for again\n{story}"


def everything_was_rescued(world: World, story: str) -> None:
    if not world.config.failover or world.config.delivery != "at_least_once":
        return
    if world.config.overlap == "allow":
        return  # a newer claim may have been on its way, and only the newest is looked after
    rescued: dict[tuple[int, str], int] = {}
    for started in world.started:
        rescued[started.claim.item, started.claim.fire] = started.claim.tries
    for claim in world.orphaned:
        # A rescuer may have died between its claim and its run: the next is one more.
        again = rescued[claim.item, claim.fire] > claim.tries
        assert again, f"nobody ran again what was running in a crash: {claim}\n{story}"
