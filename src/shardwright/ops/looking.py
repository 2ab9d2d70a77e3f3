"""Looking: how a namespace stands, read when asked and kept nowhere.

Nothing is watched and nothing is believed from before: every question reads afresh, with as few round trips
as the tree is deep. What was read becomes the same trees that members decide by, so that the same questions
can be asked of them.
"""

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import TypeVar

from .. import elasticjob
from ..coordination import claim, instance, settings
from ..coordination.view import Cursors, Nodes, View, number
from ..errors import ConfigError, NotAllowed, NotThere, OperationError
from ..jobs import JobConfig
from ..registry import Node, Registry, Tree
from ..registry.tree import Mirror, below
from ..registry.writes import check_path

T = TypeVar("T")

#: When everything was read, on a clock of its own: what is absent has been so for long.
_BOOT = 2 * instance.BLINK

#: Who looks again and again, as a live screen does, finds most settings as they were.
_config = lru_cache(maxsize=4096)(elasticjob.read_config)

_NO_CURSOR = claim.Cursor()

#: What our own trees stand below, beside a namespace.
OURS = "~shardwright"


@dataclass(frozen=True, slots=True)
class Sight:
    """One job as it stood a moment ago."""

    name: str
    root: str
    """Where ElasticJob's tree of it is."""
    own_root: str
    """Where ours is."""
    now: datetime
    """The registry's time of day."""
    job: Tree
    own: Tree
    """What is watched of ours."""
    cursors: Mapping[int, Node] = field(default_factory=dict)
    config: JobConfig | None = None
    trouble: str = ""
    """Why its settings cannot be read, if they cannot."""

    @property
    def made(self) -> int:
        """Which making of the job this is: the number of the commit that made it; 0 where it is not there."""
        return self.job.node("").made if "" in self.job else 0

    @property
    def members(self) -> Sequence[str]:
        """The ids of the instances that are in the job."""
        return self.job.children(instance.ROOT)

    @property
    def settings(self) -> JobConfig:
        """Its settings, without which there is no saying what it does."""
        if self.config is None:
            raise OperationError(self.trouble)
        return self.config

    @property
    def items(self) -> list[int]:
        """Its shards: as many as its settings say, or where those make no sense, as there are."""
        if self.config is not None:
            return list(range(self.config.shards))
        numbers = (number(name) for name in self.job.children("sharding"))
        return sorted(item for item in numbers if item is not None)

    def at(self, path: str) -> str:
        """Where a node is, in the registry's words; a tilde begins those of ours that are watched, two those
        that are not."""
        if path.startswith("~~"):
            return f"{self.own_root}/{path[2:]}"
        if path.startswith("~"):
            return f"{self.own_root}/watched/{path[1:]}"
        return f"{self.root}/{path}" if path else self.root

    def data(self, path: str) -> str:
        """What a node of ElasticJob's tree holds; nothing where it is absent."""
        return self.job.get(path) or ""

    def address(self, who: str) -> str:
        """The server of an instance, as that says itself, or as its name does."""
        card = self.data(instance.node(who))
        return _server_ip(card) or instance.address_of(who) if card else instance.address_of(who)

    def cursor(self, item: int) -> claim.Cursor:
        """How far a shard has come; nothing where that belongs to a job of that name from before."""
        found = self.cursors.get(item)
        if found is None:
            return _NO_CURSOR
        told = claim.read(found.data)
        return told if "" in self.job and told.made == self.made else _NO_CURSOR

    def alive(self, who: str) -> bool:
        """Whether something of this instance may be running."""
        return f"alive/{who}" in self.own if instance.is_python(who) else instance.node(who) in self.job

    def view(self, config: JobConfig | None = None) -> View:
        """The job as a member would see it that is nobody; by other settings, if they are given."""
        by = config or self.settings
        cursors: dict[int, Node | None] = {item: self.cursors.get(item) for item in range(by.shards)}
        return View(
            Nodes(self.job, self.own),
            instance.NOBODY,
            "",
            self.now,
            _BOOT,
            by,
            by.timetable(),
            Cursors(f"{self.own_root}/cursor", cursors),
        )


def jobs(registry: Registry) -> tuple[str, ...]:
    """The names of all jobs there are: what has settings, below the namespace. All else is passed over."""
    check_open(registry)
    found = children(registry, registry.namespace)
    nodes = _read(registry, [f"{registry.namespace}/{name}/{settings.NODE}" for name in found])
    return tuple(name for name in found if f"{registry.namespace}/{name}/{settings.NODE}" in nodes)


def children(registry: Registry, path: str) -> tuple[str, ...]:
    return _names(registry, [path]).get(path) or ()


def members(registry: Registry, name: str) -> tuple[str, ...]:
    """Who is in a job."""
    return children(registry, f"{registry.namespace}/{name}/{instance.ROOT}")


def at(registry: Registry, name: str) -> Sight:
    """How one job stands, both its trees and its cursors; an unknown one is refused."""
    check_open(registry)
    if not _is_job(registry, name):
        check_known(name, jobs(registry), registry.namespace)
    return all_at(registry, [name])[0]


def _is_job(registry: Registry, name: str) -> bool:
    """Whether there is such a job, without a look at all the others."""
    path = f"{registry.namespace}/{name}/{settings.NODE}"
    return isinstance(name, str) and "/" not in name and is_path(path) and bool(_read(registry, [path]))


def all_at(registry: Registry, names: Iterable[str], *, own: bool = True) -> list[Sight]:
    """How several jobs stand, read together; without `own` only ElasticJob's trees, which do not tell who
    of ours is alive."""
    wanted = list(names)
    theirs = {name: f"{registry.namespace}/{name}" for name in wanted}
    ours = {name: f"{registry.namespace}{OURS}/{name}" for name in wanted}
    roots = list(theirs.values())
    if own:
        roots += [f"{root}/{part}" for root in ours.values() for part in ("watched", "cursor")]
    found, now = trees(registry, roots), registry.now()
    return [_sight(name, theirs[name], ours[name], found, now) for name in wanted]


def trees(registry: Registry, roots: Iterable[str]) -> dict[str, Mirror]:
    """All that is below these nodes, as trees, by where they are."""
    check_open(registry)
    found = {root: Mirror(root) for root in roots}
    whose = {root: (tree, "") for root, tree in found.items()}
    level = list(whose)
    while level:
        names = _names(registry, level)
        level = [f"{path}/{name}" for path in level for name in names.get(path) or ()]
        for path in level:
            parent, _, name = path.rpartition("/")
            tree, inner = whose[parent]
            whose[path] = tree, below(inner, name)
    for path, node in _read(registry, whose).items():
        tree, inner = whose[path]
        if not inner or inner.rpartition("/")[0] in tree:  # else it came and went while we read
            tree.put(inner, node, 0.0)
    for tree in found.values():
        tree.complete(0.0)
    return found


def _sight(name: str, root: str, own_root: str, found: Mapping[str, Mirror], now: datetime) -> Sight:
    watched, claimed = f"{own_root}/watched", f"{own_root}/cursor"
    own, cursors = found.get(watched, Mirror(watched)), found.get(claimed, Mirror(claimed))
    return sight_of(name, root, own_root, found[root], own, cursors, now)


def sight_of(
    name: str, root: str, own_root: str, job: Tree, own: Tree, cursors: Tree | None, now: datetime
) -> Sight:
    """How one job stands by its trees; without its cursors nobody runs anything that is not marked."""
    if cursors is None:
        cursors = Mirror(f"{own_root}/cursor")
    numbered = {number(each): each for each in cursors.children("")}
    known = {item: cursors.node(each) for item, each in numbered.items() if item is not None}
    config, trouble = _settings(name, job)
    return Sight(name, root, own_root, now, job, own, known, config, trouble)


@lru_cache(maxsize=1024)  # a process says the same in each of its jobs, and is asked about for each shard
def _server_ip(card: str) -> str:
    try:
        return elasticjob.read_instance(card).server_ip
    except ConfigError:
        return ""


def _settings(name: str, job: Tree) -> tuple[JobConfig | None, str]:
    if settings.NODE not in job:
        return (
            None,
            f"the job {name!r} has no settings: somebody removed them, and its members write them anew",
        )
    try:
        return _config(job.get(settings.NODE) or "", job=name), ""
    except ConfigError as error:
        return None, str(error)


def _names(registry: Registry, paths: Iterable[str]) -> dict[str, tuple[str, ...]]:
    found = _ask(registry, lambda some: registry.names(some, fresh=True), list(paths))
    return {path: names for path, names in found.items() if names is not None}


def _read(registry: Registry, paths: Iterable[str]) -> dict[str, Node]:
    found = _ask(registry, lambda some: registry.read(some, fresh=True), list(paths))
    return {path: node for path, node in found.items() if node is not None}


def _ask(
    registry: Registry, ask: "Callable[[list[str]], Future[dict[str, T]]]", paths: list[str]
) -> dict[str, T]:
    """The answers to all that we may ask: a node that is kept from us must not hide the others."""
    if not paths:
        return {}
    try:
        return registry.wait(ask(paths))
    except NotAllowed:
        if len(paths) == 1:
            return {}
        middle = len(paths) // 2
        return _ask(registry, ask, paths[:middle]) | _ask(registry, ask, paths[middle:])


def node(registry: Registry, path: str) -> Node | None:
    """What one node holds; None where it is absent, or kept from us."""
    check_open(registry)
    return _read(registry, [path]).get(path)


def present(registry: Registry, paths: Iterable[str]) -> set[str]:
    """Which of these nodes are there, of those that we may know of."""
    return set(_read(registry, paths))


def wait_until(
    registry: Registry, roots: Iterable[str], true: Callable[[], bool], patience: float, what: str
) -> None:
    """Wait for something that shows below these nodes; a TimeoutError where it does not in time. They are
    watched meanwhile, so the registry must be the caller's own."""
    end = registry.clock.boot() + patience
    watched = [registry.mirror(root) for root in roots]
    try:
        registry.wait_for(lambda: all(tree.synced for tree in watched), patience, what)
        seen = [tree.changes for tree in watched]
        while not true():
            left = max(0.0, end - registry.clock.boot())
            registry.wait_for(lambda: [tree.changes for tree in watched] != seen, left, what)  # noqa: B023
            seen = [tree.changes for tree in watched]
    finally:
        for tree in watched:
            registry.forget(tree)


# What is refused


def is_path(path: str) -> bool:
    try:
        check_path(path)
    except ValueError:
        return False
    return True


def check_open(registry: Registry) -> None:
    if not isinstance(registry, Registry):
        raise OperationError(f"a registry that is open is needed, such as connect(url), not {registry!r}")


def check_known(name: str, known: Iterable[str], where: str) -> None:
    """Refuse a job that is not there, and name the one that was probably meant."""
    names = list(known)
    if name in names:
        return
    raise NotThere(f"there is no job {name!r} in {where}{nearest(name, names)}")


def nearest(name: str, known: Sequence[str]) -> str:
    """What was probably meant, as the end of a sentence; all that there is where that is little."""
    by_lower = {each.lower(): each for each in known}
    likely = difflib.get_close_matches(str(name).lower(), by_lower, 1)
    if likely:
        return f"; did you mean {by_lower[likely[0]]!r}?"
    if not known:
        return "; there is none at all"
    return f"; there are: {', '.join(known)}" if len(known) <= 5 else f"; there are {len(known)} others"
