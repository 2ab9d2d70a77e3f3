"""Chaos: one seed's worth of trouble, then quiet, then the promises are held up against what happened."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta

from shardwright import coordination
from shardwright.coordination import leader, server, sharding
from shardwright.coordination.step import Look, Step
from shardwright.coordination.view import View
from shardwright.jobs import JobConfig
from shardwright.registry import Create, Delete, Put

from .world import ROOT, START, Process, World

#: How long the trouble lasts, and the quiet after it.
TROUBLE, QUIET = 240.0, 120.0


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
    config: JobConfig | None = None,
    decide: Callable[[View], Iterable[Step | Look]] = coordination.decide,
) -> Report:
    world = World(seed, config or a_config(seed), decide=decide)
    for _ in range(world.random.randint(2, 4)):
        world.join()
    world.advance(world.random.uniform(1, 12))
    faults = trouble(world)
    heal(world)
    quiet_from = world.clock.boot()
    world.advance(QUIET)
    check(world, quiet_from)
    return Report(seed, world.looks, faults, world.clock.boot() / 3600, world.seen)


def a_config(seed: int) -> JobConfig:
    return JobConfig.of(
        {
            "name": "job",
            "cron": "0/10 * * * * ?",
            "time_zone": "UTC",
            "shards": 1 + seed % 7,
            "failover": seed % 4 != 0,
            "misfire": seed % 5 != 0,
        }
    )


def trouble(world: World) -> int:
    end = world.clock.boot() + TROUBLE
    faults = 0
    while world.clock.boot() < end:
        world.advance(world.random.choice([0.0, 0.3, 2.0, 9.0]))
        faults += one_fault(world)
    return faults


def one_fault(world: World) -> int:
    chance = world.random
    everybody = list(world.processes.values())
    kind = chance.choice(
        [
            "crash",
            "join",
            "pause",
            "cut",
            "lose_reply",
            "expire",
            "slow",
            "disable",
            "enable",
            "trigger",
            "delete",
            "drain",
        ]
    )
    if kind == "join" or not everybody:
        if len(everybody) < 5:
            world.join()
        return 0
    process = chance.choice(everybody)
    world.seen[kind] += 1
    world._note(f"-- {kind} {process.name}")
    match kind:
        case "crash":
            world.crash(process)
        case "pause" if not process.paused:
            pause(world, process, chance.choice([1.0, 6.0, 15.0, 40.0]))
        case "cut":
            cut(world, process, chance.choice([0.5, 2.0, 9.0, 30.0]))
        case "lose_reply":
            process.registry.lose_reply()
        case "expire":
            process.registry.expire()
        case "slow":
            process.registry.delay(
                requests=chance.choice([0.0, 0.2, 3.0]), answers=chance.choice([0.0, 0.3, 2.0])
            )
        case "disable" | "enable":
            put(world, f"{ROOT}/servers/{process.member.me.partition('@')[0]}", f"{kind.upper()}D")
        case "trigger":
            node = f"{ROOT}/trigger/{process.member.me}"
            if node not in world.store.nodes:
                world.operator(Create(node))
        case "delete":
            delete_something(world)
        case "drain":
            process.member.drain()
    return 1


def pause(world: World, process: Process, seconds: float) -> None:
    process.paused = True
    process.registry.pause()

    def go_on() -> None:
        if not process.dead:
            process.paused = False
            process.registry.resume()

    world.clock.at(world.clock.boot() + seconds, go_on)


def cut(world: World, process: Process, seconds: float) -> None:
    process.registry.disconnect(lose_requests=world.random.random() < 0.5)
    world.clock.at(
        world.clock.boot() + seconds, lambda: None if process.dead else process.registry.reconnect()
    )


def put(world: World, path: str, data: str) -> None:
    if path in world.store.nodes:
        world.operator(Put(path, data))


def delete_something(world: World) -> None:
    """What an operator may delete by hand, and what must come back by itself."""
    targets = [leader.NODE, "leader", "sharding/0", "leader/sharding"]
    path = f"{ROOT}/{world.random.choice(targets)}"
    if path in world.store.nodes:
        world.operator(Delete(path, recursive=True))


def heal(world: World) -> None:
    """Everybody can reach everybody, everybody is enabled, somebody is there."""
    for process in world.processes.values():
        process.registry.delay()
        process.registry._link.eat_replies = 0
        process.registry.reconnect()
    world.advance(60.0)
    for path in list(world.store.nodes):
        if path.startswith(f"{ROOT}/servers/"):
            world.operator(Put(path, "ENABLED"))
    for process in list(world.processes.values()):
        if process.member.left or process.member.local.stopped or process.member.local.draining:
            world.processes.pop(process.name)
            process.dead = True
            process.registry.close()
    world.join()
    world.advance(60.0)


def check(world: World, quiet_from: float) -> None:
    """After quiet: one leader, every shard owned by somebody who may work, and no fire lost since."""
    view = next(iter(world.processes.values())).member._view()
    story = world.story(150)
    assert leader.current(view) in server.workers(view), f"nobody leads\n{story}"
    owners = sharding.owners(view)
    assert set(owners) == set(view.items), f"shards without an owner\n{story}"
    assert set(owners.values()) <= set(server.workers(view)), f"owned by the dead\n{story}"
    ran: dict[int, set[str]] = {item: set() for item in view.items}
    for started in world.started:
        ran[started.claim.item].add(started.claim.fire)
    now = START + timedelta(seconds=world.clock.boot())
    for item in view.items:
        scheduled = sorted(fire for fire in ran[item] if not fire.startswith("#"))
        assert scheduled, f"shard {item} never ran\n{story}"
        # The longest run takes 25 s; after it the latest missed fire is made good at once.
        last = scheduled[-1]
        late = now - type(now).fromisoformat(last)
        assert late < timedelta(seconds=45), f"shard {item} has not run since {last}\n{story}"
    leftovers = [path for path in world.store.nodes if path.startswith(f"{ROOT}/leader/failover/items/")]
    assert not leftovers, f"left waiting: {leftovers}\n{story}"
    rescued = {(started.claim.item, started.claim.fire, started.claim.tries) for started in world.started}
    for claim in world.orphaned if world.config.failover else ():
        again = (claim.item, claim.fire, claim.tries + 1)
        assert again in rescued, f"nobody ran again what was running in a crash: {claim}\n{story}"
    places = [path for path in world.store.nodes if "/latch/" in path]
    assert not places, f"left in line: {places}\n{story}"
