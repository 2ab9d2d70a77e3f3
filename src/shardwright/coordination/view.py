"""What a decision may look at, and nothing else: the job's nodes, who we are, what we are doing, the time.

A job has two trees. ElasticJob's, below `/<namespace>/<job>`, is shared with Java members to the letter.
Ours stands beside it, below `/<namespace>~shardwright/<job>/watched`, because every node under the job
costs each Java member requests, and a Java leader deletes what it does not know. Paths into ours begin
with a tilde: `instances/<id>` is theirs, `~alive/<id>` is ours. Two tildes are ours and not watched: the
cursors, `~~cursor/<i>`, which are asked of `view.cursors`.

    ~alive ~draining     instance      ~term      leader      ~gap        gap
    ~next                sharding      ~empty     tidying     ~barrier    milestone, barrier
    ~~cursor             claim         ~owed      request     ~again      again

A plus begins a path into what several jobs share, `+<group>/<number>`: see group.

Ours may outlive the job: who removes it waits for those who still run something of it, and a hand deletes
only what it sees. So what is kept there tells which making of the job it is about, and is believed of no
other: see `birth`.
"""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from typing import TypeVar

from ..jobs import JobConfig
from ..registry import Node, Tree, Unread
from ..registry.writes import LARGEST
from ..schedule import Schedule

T = TypeVar("T")

_DIGITS = 9

LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class Nodes:
    """Both trees of a job, asked as one."""

    def __init__(self, job: Tree, own: Tree) -> None:
        self._job = job
        self._own = own

    @property
    def root(self) -> str:
        """Where the tree with the longer paths is."""
        return self._own.root

    def __contains__(self, path: str) -> bool:
        return path[1:] in self._own if path[:1] == "~" else path in self._job

    def children(self, path: str) -> Sequence[str]:
        return self._own.children(path[1:]) if path[:1] == "~" else self._job.children(path)

    def items_with(self, name: str) -> list[int]:
        """The shards that have a node of this name, in order."""
        found = []
        for path in self._job.named(name):
            folder, _, rest = path.partition("/")
            shard, _, leaf = rest.partition("/")
            item = number(shard)
            if folder == "sharding" and leaf == name and item is not None:
                found.append(item)
        return sorted(found)

    def get(self, path: str) -> str | None:
        return self._own.get(path[1:]) if path[:1] == "~" else self._job.get(path)

    def known(self, path: str) -> str | None:
        return self._own.known(path[1:]) if path[:1] == "~" else self._job.known(path)

    def node(self, path: str) -> Node:
        return self._own.node(path[1:]) if path[:1] == "~" else self._job.node(path)

    def version(self, path: str) -> int:
        return self.node(path).version

    def since(self, path: str) -> float:
        return self._own.since(path[1:]) if path[:1] == "~" else self._job.since(path)

    def need(self, paths: Iterable[str]) -> None:
        """Say beforehand what will be asked of one of the trees, so that it is read in one go."""
        wanted = list(paths)
        if wanted and wanted[0][:1] == "~":
            self._own.need(path[1:] for path in wanted)
        else:
            self._job.need(wanted)


def number(name: str) -> int | None:
    """The shard that a node is named after; None for a name that means none, whoever wrote it."""
    if not (name.isascii() and name.isdigit() and len(name) <= _DIGITS):
        return None
    return int(name) if name == str(int(name)) else None


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
    fire: str = ""
    """Which fire it is a run of."""
    held: bool = False
    """Claimed, and not begun: it waits until all shards of the fire have been claimed."""
    unsaved: str | None = None
    """A checkpoint that is not written yet."""
    superseded: bool = False
    """The next fire has come, and this run was told to stop."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """What this process calls once per fire, for all its shards together."""

    started: bool = False
    """Something is to be called when all shards have been claimed, before any of them begins."""
    completed: bool = False
    """Something is to be called when all shards have ended."""
    started_timeout: float | None = None
    """For how many seconds a shard waits for the others to be claimed; None: for as long as it takes."""
    completed_timeout: float | None = None
    """For how many seconds the fire is waited for from the end of its first shard."""
    again: bool = True
    """Call once more where the caller died in the midst of it, or let it be."""
    vital: bool = False
    """No shard is to begin where what is called before did not come to its end."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a hook that this process makes, or made and has not told yet."""

    fire: str
    outcome: str | None = None


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
    loose: frozenset[tuple[int, str]] = frozenset()
    """Runs that a newer one of the same shard went beside, or whose claim went with a session before, each by
    shard and attempt: they go on here, and nobody else looks after them."""
    slots: int = 1
    """How many more shards could start at once."""
    unsure: frozenset[int] = frozenset()
    """The shards we tried to claim without hearing how it went."""
    since: datetime = LONG_AGO
    """When this session began, or the registry's clock was set back: from then on we were there."""
    draining: bool = False
    """We were asked to leave: finish what runs, hand over the rest, go."""
    stopped: bool = False
    """We were ordered to stop this job: nothing of it runs here any more."""
    adopted: str | None = None
    """The registry's settings that we work by, or refused to, as they were written; None: not looked yet."""
    hooks: Hooks = field(default_factory=Hooks)
    calls: Mapping[str, Call] = field(default_factory=dict)
    """The hooks being called here, by the round they are called for."""
    kept: Mapping[int, tuple[int, int]] | None = None
    """Of each shard, which making of the job, and up to which entry of its account, the history has; None
    where we know of no history."""
    heard: bool = False
    """Whether somebody here wants to be told what becomes of fires, although we know of no history."""


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
    """The settings that hold."""
    schedule: Schedule | None
    """When the job fires; None for one that runs only when asked to."""
    cursors: Cursors
    local: Local = field(default_factory=Local)
    declared: JobConfig | None = None
    """The settings our own code asks for; None: those that hold."""
    kind: str = ""
    """What runs: a class name that Java members know, or a job type; blank says nothing."""
    wall: datetime | None = None
    """This machine's own time of day; None: the registry's."""
    room: int = LARGEST // 2
    """How many bytes of writes go into one step."""
    groups: Mapping[str, Tree] = field(default_factory=dict)
    """The places of the groups that the job is in, or was as what runs here began, by their names."""
    answers: dict[str, object] = field(default_factory=dict, compare=False, repr=False)
    """What was found out about this view already, by `once`."""

    @property
    def items(self) -> range:
        return range(self.config.shards)


def once(question: Callable[[View], T]) -> Callable[[View], T]:
    """A question that many ask: a view does not change, so it is answered once per look."""
    name = f"{question.__module__}.{question.__name__}"

    @functools.wraps(question)
    def ask(view: View) -> T:
        try:
            return view.answers[name]  # type: ignore[return-value]
        except KeyError:
            answer = view.answers[name] = question(view)
            return answer

    return ask


@once
def birth(view: View) -> int:
    """Which making of the job we see: the number of the commit that made it; 0 where it is not there."""
    return view.tree.node("").made if "" in view.tree else 0
