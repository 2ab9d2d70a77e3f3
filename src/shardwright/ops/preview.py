"""Preview: which shards would move if somebody came or went, or if there were more or fewer of them. The
leader's own rule is asked; nothing is written."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

from ..coordination import execution, instance, leader, server, sharding, strategies
from ..coordination.view import View
from ..errors import ConfigError, NotValid
from ..jobs import JobConfig
from ..registry import Node, Registry, Tree
from ..registry.tree import Mirror
from . import looking, steering
from .looking import Sight
from .values import Shown

_JAVA_DEFAULT, _FICKLE = "AVG_ALLOCATION", "SINGLE_SHARDING_BALANCE"
_MOST = 1000


@dataclass(frozen=True, slots=True)
class Move(Shown):
    """A shard that would change hands; nobody is an empty text."""

    item: int
    before: str
    after: str
    running: bool
    """It runs now, and would move when that has ended."""


@dataclass(frozen=True, slots=True)
class Preview(Shown):
    """What would be otherwise."""

    job: str
    what: str
    moves: tuple[Move, ...]
    owners: dict[int, str]
    """Who would own which shard."""
    counts: dict[str, int]
    """How many shards each would own, those with none included."""
    note: str
    """What may come otherwise all the same; empty where nothing may."""


def join(registry: Registry, job: str, count: int = 1, server: str | None = None) -> Preview:
    """As if so many processes more came, on a server or on machines that are new."""
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= _MOST:
        raise NotValid(f"between 1 and {_MOST} processes can be thought to come, not {count!r}")
    if server is not None and (not server or "/" in server or not looking.is_path(f"/{server}")):
        raise NotValid(f"{server!r} is no address that a server could have")
    sight = looking.at(registry, job)
    new = [f"{server or f'new{number}'}@-@new{number}-preview" for number in range(1, count + 1)]
    what = f"if {count} more {'process' if count == 1 else 'processes'} came"
    return _compare(sight, what, sight.settings, lambda job, own: _come(job, own, new))


def leave(registry: Registry, job: str, *instances: str) -> Preview:
    """As if these instances left."""
    sight = looking.at(registry, job)
    if not instances:
        raise NotValid("name the instances that are thought to leave")
    for who in instances:
        steering.one_instance(sight, who)
    what = f"if {', '.join(instances)} left"
    return _compare(sight, what, sight.settings, lambda job, own: _go(job, own, instances))


def resize(registry: Registry, job: str, shards: int) -> Preview:
    """As if the job had so many shards."""
    sight = looking.at(registry, job)
    try:
        config = sight.settings.replace(shards=shards)
    except ConfigError as error:
        raise NotValid(str(error)) from None
    what = f"if there were {shards} shards instead of {sight.settings.shards}"
    return _compare(sight, what, config, lambda job, own: None)


def _compare(sight: Sight, what: str, config: JobConfig, change: Callable[[Mirror, Mirror], None]) -> Preview:
    job, own = _copy(sight.job), _copy(sight.own)
    change(job, own)
    view = replace(sight, job=job, own=own).view(config)
    by = _strategy(view)
    asked = replace(view, config=config.replace(strategy=by), answers={})
    before, after = _owners(sight), dict(sharding.wanted(asked))
    if not server.workers(asked):
        after = {}
    moves = tuple(
        Move(item, before.get(item, ""), after.get(item, ""), execution.running_node(item) in sight.job)
        for item in sorted({*before, *after})
        if before.get(item, "") != after.get(item, "")
    )
    counts = Counter(after.values())
    each = {who: counts[who] for who in server.workers(asked)}
    return Preview(sight.name, what, moves, after, each, _note(config.strategy, by, asked))


def _strategy(view: View) -> str:
    """By which strategy the leader would go."""
    named = view.config.strategy
    if leader.is_java(view):
        return strategies.of_java(named) or _JAVA_DEFAULT
    return named if strategies.known(named) else sharding.STICKY


def _note(named: str, by: str, view: View) -> str:
    if not server.workers(view):
        return "nobody may work then, so no shard would run"
    if by == _FICKLE:
        return f"{by} answers otherwise from one moment to the next"
    if by != named:
        return f"the strategy {named!r} is not known here: asked was {by!r}"
    return ""


def _owners(sight: Sight) -> dict[int, str]:
    nodes = {item: sight.data(sharding.owner_node(item)) for item in sight.items}
    return {item: owner for item, owner in nodes.items() if owner}


def _copy(tree: Tree) -> Mirror:
    new = Mirror(tree.root)
    for path in tree:
        new.put(path, tree.node(path), 0.0)
    new.complete(0.0)
    return new


def _come(job: Mirror, own: Mirror, new: list[str]) -> None:
    empty = Node("", 0, "preview", 0, 0)
    for who in new:
        job.put(instance.node(who), empty, 0.0)
        own.put(instance.alive_node(who)[1:], empty, 0.0)
        path = server.node(instance.address_of(who))
        if path not in job:
            job.put(path, Node(server.ENABLED, 0, "", 0, 0), 0.0)


def _go(job: Mirror, own: Mirror, gone: tuple[str, ...]) -> None:
    for who in gone:
        job.drop(instance.node(who), 0.0)
        own.drop(instance.alive_node(who)[1:], 0.0)
