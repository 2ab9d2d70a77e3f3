"""Views made by hand: the smallest tree that shows a thing, and who looks at it."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from shardwright.coordination import gap
from shardwright.coordination.view import Cursors, Local, Nodes, Run, View
from shardwright.jobs import JobConfig
from shardwright.registry.tree import Mirror, Node

NOW = datetime(2030, 1, 1, tzinfo=UTC)

#: Three members: two of ours on machines of their own, and a Java process.
A, B, JAVA = "10.0.0.1@-@11-a", "10.0.0.2@-@12-b", "10.0.0.3@-@13"

#: The number of the commit that made the job.
MADE = 1

#: What the tree tells of a node: its data, or its data, version and owner.
Told = str | tuple[str, int] | tuple[str, int, str]


def a_view(
    nodes: Mapping[str, Told] | None = None,
    *,
    me: str = A,
    boot: float = 1000.0,
    since: Mapping[str, float] | None = None,
    now: datetime = NOW,
    config: Mapping[str, object] | None = None,
    cursors: Mapping[int, Node | None] | None = None,
    unread: Iterable[str] = (),
    made: Mapping[str, int] | None = None,
    **local: object,
) -> View:
    """A view of these nodes; `since` tells when a node came or, where it is not among them, when it went;
    `unread` are those that somebody else has changed, `made` in which order some were."""
    job, own = Mirror("/ns/job"), Mirror("/ns~shardwright/job/watched")
    times = dict(since or {})
    for path, when in times.items():
        tree, inner = (own, path[1:]) if path.startswith("~") else (job, path)
        tree.put(inner, Node("", 0, "", 1, 1), when)
    for tree in (job, own):
        tree.complete(0.0)
    for path, when in times.items():
        if path not in (nodes or {}):
            tree, inner = (own, path[1:]) if path.startswith("~") else (job, path)
            tree.drop(inner, when)
    for path, told in (nodes or {}).items():
        data, version, owner = (told, 0, "") if isinstance(told, str) else (*told, "")[:3]
        tree, inner = (own, path[1:]) if path.startswith("~") else (job, path)
        number = (made or {}).get(path, 1)
        tree.put(inner, Node(data, version, owner, number, number), times.get(path, 0.0))
    if "" not in (nodes or {}):
        job.put("", Node("", 0, "", MADE, MADE), 0.0)
    settings = JobConfig.of(
        {"name": "job", "cron": "0/10 * * * * ?", "time_zone": "UTC", "shards": 2, **(config or {})}
    )
    schedule = settings.timetable()
    if gap.NODE not in (nodes or {}):
        own.put(gap.NODE[1:], Node(a_gap(settings, job).text(), 0, "", 1, 1), 0.0)
    for path in unread:
        tree, inner = (own, path[1:]) if path.startswith("~") else (job, path)
        tree.stale(inner, boot)
    known = dict.fromkeys(range(settings.shards)) if cursors is None else cursors
    return View(
        Nodes(job, own),
        me,
        "s",
        now,
        boot,
        settings,
        schedule,
        Cursors("/ns~shardwright/job/cursor", known),
        Local(**local),  # type: ignore[arg-type]
    )


def a_gap(config: JobConfig, job: Mirror) -> gap.Gap:
    """How things have always stood."""
    text = " ".join(
        str(part) for part in (config.cron or config.schedule, config.time_zone, config.dst) if part
    )
    off = frozenset(item for item in range(config.shards) if f"sharding/{item}/disabled" in job)
    java = any("-" not in who.partition("@-@")[2] for who in job.children("instances"))
    return gap.Gap(text, config.shards, off, java=java)


def running(*items: int) -> dict[int, Run]:
    """Shards that run here, each under the attempt `x`."""
    return {item: Run("x") for item in items}


def member(who: str, state: str = "ENABLED") -> dict[str, Told]:
    """The nodes of somebody who is in the job."""
    nodes: dict[str, Told] = {f"instances/{who}": "", f"servers/{who.partition('@')[0]}": state}
    if who != JAVA:
        nodes[f"~alive/{who}"] = ""
    return nodes
