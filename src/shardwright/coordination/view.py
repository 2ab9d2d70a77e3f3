"""What a decision may look at, and nothing else: the job's nodes, who we are, what we are doing, the time.

A job has two trees. ElasticJob's, below `/<namespace>/<job>`, is shared with Java members to the letter.
Ours stands beside it, below `/<namespace>~shardwright/<job>/watched`, because every node under the job
costs each Java member requests, and a Java leader deletes what it does not know. Paths into ours begin
with a tilde: `instances/<id>` is theirs, `~alive/<id>` is ours.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum

from ..jobs import JobConfig
from ..registry import Node, Tree, Unread
from ..schedule import Schedule

LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class Nodes:
    """Both trees of a job, asked as one."""

    def __init__(self, job: Tree, own: Tree) -> None:
        self._job = job
        self._own = own

    def __contains__(self, path: str) -> bool:
        tree, inner = self._at(path)
        return inner in tree

    def children(self, path: str) -> Sequence[str]:
        tree, inner = self._at(path)
        return tree.children(inner)

    def get(self, path: str) -> str | None:
        tree, inner = self._at(path)
        return tree.get(inner)

    def node(self, path: str) -> Node:
        tree, inner = self._at(path)
        return tree.node(inner)

    def version(self, path: str) -> int:
        return self.node(path).version

    def since(self, path: str) -> float:
        tree, inner = self._at(path)
        return tree.since(inner)

    def need(self, paths: Iterable[str]) -> None:
        """Say beforehand what will be asked, so that it is read in one go."""
        wanted = list(paths)
        self._job.need(path for path in wanted if not path.startswith("~"))
        self._own.need(path[1:] for path in wanted if path.startswith("~"))

    def _at(self, path: str) -> tuple[Tree, str]:
        return (self._own, path[1:]) if path.startswith("~") else (self._job, path)


class Source(Enum):
    """Why a shard runs."""

    SCHEDULED = "scheduled"
    MISFIRE = "misfire"
    FAILOVER = "failover"
    TRIGGER = "trigger"
    CATCH_UP = "catch-up"


@dataclass(frozen=True, slots=True)
class Run:
    """One shard's run in this process, from the claim that landed to the end that is told."""

    attempt: str
    """Which claim it runs under: what the cursor says, if it is still ours."""
    outcome: str | None = None
    """How it ended; None while it goes on."""


class Cursors:
    """What this process knows of the shards' cursors, which nobody watches: it has read them once, or written
    them itself. A cursor that is not known must be read first, as with any node."""

    def __init__(
        self, root: str, known: Mapping[int, Node | None], learned: Mapping[int, float] | None = None
    ) -> None:
        self._root = root
        self._known = known
        self._learned = learned or {}

    def learned(self, item: int) -> float:
        """The boot clock when we came to know a cursor as we do."""
        return self._learned.get(item, 0.0)

    def node(self, item: int) -> Node | None:
        if item not in self._known:
            raise Unread(self._root, [str(item)])
        return self._known[item]

    def need(self, items: Iterable[int]) -> None:
        unread = [str(item) for item in items if item not in self._known]
        if unread:
            raise Unread(self._root, unread)


@dataclass(frozen=True, slots=True)
class Local:
    """What this process is doing with the job. Only the runtime replaces it."""

    runs: Mapping[int, Run] = field(default_factory=dict)
    """The shards that run here, and those whose end is not told yet."""
    slots: int = 1
    """How many more shards could start at once."""
    since: datetime = LONG_AGO
    """From when on we answer for fires: we were in the job, it was enabled, its schedule was this one."""
    draining: bool = False
    """We were asked to leave: finish what runs, hand over the rest, go."""
    stopped: bool = False
    """We were ordered to stop this job: nothing of it runs here any more."""


@dataclass(frozen=True, slots=True)
class View:
    """One job as this process sees it at one moment."""

    tree: Nodes
    me: str
    session: str
    now: datetime
    """The registry's time of day."""
    boot: float
    """The boot clock, by which `tree.since` is measured."""
    config: JobConfig
    schedule: Schedule | None
    """When the job fires; None for one that runs only when asked to."""
    cursors: Cursors
    local: Local = field(default_factory=Local)

    @property
    def items(self) -> range:
        return range(self.config.shards)
