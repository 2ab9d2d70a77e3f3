"""What can go wrong, and what operators do: each by its name, each told how much of it there is by chance."""

import random
from collections.abc import Callable
from typing import Protocol

from shardwright import elasticjob
from shardwright.clock import HandClock
from shardwright.coordination import again, leader
from shardwright.registry import Create, Delete, Put
from shardwright.registry.memory import MemoryRegistry

from .world import NONSENSE, RERUN, ROOT, TRIES, Process, World

Nemesis = Callable[[World, Process], None]


class Scene(Protocol):
    """Where something goes wrong with a process or its connection, whatever the process does."""

    clock: HandClock
    random: random.Random


class Victim(Protocol):
    paused: bool
    dead: bool

    @property
    def registry(self) -> MemoryRegistry: ...


class Slowed(Victim, Protocol):
    slow: bool


def crash(world: World, process: Process) -> None:
    world.crash(process)


def restart(world: World, process: Process) -> None:
    """A process dies, and is started anew, as its supervisor does: soon, and under another name."""
    world.crash(process)
    world.clock.at(world.clock.boot() + world.random.choice((0.5, 2.0, 6.0)), lambda: join(world))


def crash_all(world: World, process: Process) -> None:
    """Everybody dies at once; two come back together."""
    for each in list(world.processes.values()):
        world.crash(each)
    for _ in range(2):
        world.join()


def pause(world: Scene, process: Victim, lengths: tuple[float, ...] = (1.0, 6.0, 15.0, 40.0)) -> None:
    """Stop a process, and let it go on without knowing."""
    if process.paused:
        return
    process.paused = True
    process.registry.pause()

    def go_on() -> None:
        if not process.dead:
            process.paused = False
            process.registry.resume()

    world.clock.at(world.clock.boot() + world.random.choice(lengths), go_on)


def cut(world: Scene, process: Victim, lengths: tuple[float, ...] = (0.5, 2.0, 9.0, 30.0)) -> None:
    """Cut a process off; what it has sent may arrive all the same."""
    process.registry.disconnect(lose_requests=world.random.random() < 0.5)
    world.clock.at(
        world.clock.boot() + world.random.choice(lengths),
        lambda: None if process.dead else process.registry.reconnect(),
    )


def lose_reply(world: Scene, process: Victim) -> None:
    process.registry.lose_reply()


def expire(world: Scene, process: Victim) -> None:
    """Have the registry give up a session before its time. One that cannot hear of it may begin what it has
    claimed, and nothing could keep it from that."""
    if not process.paused:
        process.registry.expire()


def slow(world: Scene, process: Slowed) -> None:
    """A slow link, or a follower that lags behind."""
    requests, answers = world.random.choice([0.0, 0.2, 3.0]), world.random.choice([0.0, 0.3, 2.0])
    process.registry.delay(requests=requests, answers=answers)
    process.slow = requests + answers > 0


def drain(world: World, process: Process) -> None:
    process.member.drain()


def disable(world: World, process: Process) -> None:
    _server(world, process, "DISABLED")


def enable(world: World, process: Process) -> None:
    _server(world, process, "ENABLED")


def trigger(world: World, process: Process) -> None:
    node = f"{ROOT}/trigger/{process.member.me}"
    if node in world.store.nodes:
        world.operator(Delete(node))
    parameter = f"as {len(world.asked)} said"
    world.operator(Create(node, parameter))
    if node in world.store.nodes:
        world.asked[world.store.nodes[node].made] = parameter


def rerun(world: World, chance: random.Random) -> None:
    """Ask for a fire of the past once more."""
    past = [run.claim for run in world.started if not run.claim.fire.startswith("#")]
    if not past or world.javas:
        return
    claim = chance.choice(past)
    world.seen["rerun"] += 1
    node = f"/ns~shardwright/job/watched/{again.node(claim.item)[1:]}"
    wish = (claim.fire, RERUN + len(world.rerun) * TRIES)
    world.rerun.append((claim.item, *wish))
    there = world.store.nodes.get(node)
    known = again.read(there.data, world.made) if there is not None else []
    told = again.text([*known, wish], world.made)
    world.operator(Put(node, told) if there is not None else Create(node, told))


def disable_shard(world: World, process: Process) -> None:
    """Disable a shard, or enable it again."""
    node = f"{ROOT}/sharding/{world.random.randrange(world.settings.shards)}/disabled"
    if node in world.store.nodes:
        world.operator(Delete(node))
    elif node.rpartition("/")[0] in world.store.nodes:
        world.operator(Create(node))


def stop(world: World, process: Process) -> None:
    """Order a process to stop the job; somebody starts another one."""
    node = f"{ROOT}/instances/{process.member.me}"
    if node in world.store.nodes and len(world.processes) > 1:
        world.operator(Delete(node))


def delete(world: World, process: Process) -> None:
    """What an operator may delete by hand, and what must come back by itself."""
    targets = [leader.NODE, "leader", "sharding/0", "leader/sharding", "config"]
    targets += ["leader/election/latch", "leader/failover/latch"]
    path = f"{ROOT}/{world.random.choice(targets)}"
    if path in world.store.nodes:
        world.operator(Delete(path, recursive=True))


def configure(world: World, process: Process) -> None:
    """Change what all work by, or write nonsense."""
    node = f"{ROOT}/config"
    if node not in world.store.nodes:
        return
    chance = world.random
    if chance.random() < 0.2 and not world.javas:
        world.seen["nonsense for settings"] += 1
        world.operator(Put(node, NONSENSE))
        return
    changes: dict[str, object] = chance.choice(
        [
            {"cron": chance.choice(["0/10 * * * * ?", "0/7 * * * * ?", "0/20 * * * * ?", None])},
            {"time_zone": chance.choice(["UTC", "Asia/Kolkata"])},
            {"shards": chance.randint(1, 7)},
            {"parameter": str(chance.random())},
            {"failover": chance.random() < 0.5} if world.settings.monitor_execution else {"misfire": True},
            {"monitor_execution": False, "failover": False},
            {"monitor_execution": True},
        ]
    )
    world.steady = False
    world.note(f"   {changes}")
    world.seen["one-off"] += "cron" in changes and changes["cron"] is None
    world.operator(Put(node, elasticjob.write_config(world.settings.replace(**changes))))


def step_clock(world: World, process: Process) -> None:
    """The registry's clock is set, by a second or by an hour, either way."""
    world.steady = False
    seconds = world.random.choice([-3600.0, -1.0, 1.0, 3600.0])
    world.step_clock(seconds)


def _server(world: World, process: Process, state: str) -> None:
    node = f"{ROOT}/servers/{process.member.me.partition('@')[0]}"
    if node in world.store.nodes:
        world.operator(Put(node, state))


#: What may happen to a process of ours at any time.
USUAL: tuple[Nemesis, ...] = (
    crash,
    restart,
    pause,
    cut,
    lose_reply,
    expire,
    slow,
    drain,
    disable,
    enable,
    trigger,
    disable_shard,
    delete,
)

#: What happens now and then.
RARE: tuple[Nemesis, ...] = (crash_all, stop, configure)


def join(world: World) -> None:
    if len(world.processes) < 5:
        world.join()


def something(world: World) -> int:
    """One thing that chance has chosen; whether it was a fault."""
    chance = world.random
    if world.wishes is not None and world.wishes.random() < 0.05:
        rerun(world, world.wishes)
    if world.javas and chance.random() < 0.15:
        return _to_java(world)
    if not world.processes or chance.random() < 1 / 12:
        join(world)
        return 0
    process = chance.choice(list(world.processes.values()))
    nemesis = chance.choice(world.rare if world.rare and chance.random() < 0.08 else USUAL)
    world.seen[nemesis.__name__] += 1
    world.seen["double fault"] += any(
        each.paused or not each.registry.session() for each in world.processes.values()
    )
    world.note(f"-- {nemesis.__name__} {process.name}")
    nemesis(world, process)
    return 1


def _to_java(world: World) -> int:
    member = world.random.choice(list(world.javas.values()))
    kind = world.random.choice(["crash", "blink", "cut", "pause", "join"])
    world.seen[f"java {kind}"] += 1
    world.note(f"-- {kind} {member.me}")
    match kind:
        case "crash" if len(world.javas) > 1:
            world.crash_java(member)
        case "blink":
            cut(world, member, (0.5, 1.5))
        case "cut":
            cut(world, member)
        case "pause":
            pause(world, member, (1.0, 6.0))
        case "join" if len(world.javas) < 2:
            world.join_java()
    return 1


#: What the model of a Java member does not know.
NOT_FOR_JAVA: tuple[Nemesis, ...] = (configure, step_clock)
