"""The doctor: examines a namespace, says what is not as it should be and why that matters, and has a remedy
for some of it. What is wrong with a job is said in `checks`; here is what is wrong between them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..errors import OperationError
from ..registry import Create, Delete, Landed, Put, Registry
from . import checks, looking, removal
from .findings import Finding, Severity
from .looking import Sight
from .steering import Plan
from .values import Shown

__all__ = ["Cost", "Finding", "Report", "Severity", "examine", "treatment"]

#: From how many seconds on clocks are said to differ.
APART = 1.0


@dataclass(frozen=True, slots=True)
class Cost(Shown):
    """What a job takes of the registry, and of the memory of each member."""

    job: str
    nodes: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Report:
    """What the doctor has to say."""

    findings: tuple[Finding, ...]
    costs: tuple[Cost, ...]
    """The most expensive job first."""

    @property
    def healthy(self) -> bool:
        """Whether nothing is wrong; some things may be worth knowing all the same."""
        return all(finding.severity is not Severity.TROUBLE for finding in self.findings)

    def as_json(self) -> dict[str, object]:
        return {
            "healthy": self.healthy,
            "findings": [finding.as_json() for finding in self.findings],
            "costs": [cost.as_json() for cost in self.costs],
        }


def examine(registry: Registry, job: str | None = None) -> Report:
    """Examine one job, or all of them and what is between them. Nothing of theirs is changed."""
    if job is not None:
        sights, between = [looking.at(registry, job)], []
    else:
        sights = [sight for sight in looking.all_at(registry, looking.jobs(registry)) if "" in sight.job]
        between = [*no_jobs(registry, sights), *left_over(registry, sights)]
    learn_time(registry)
    apart = abs((registry.now() - registry.clock.wall()).total_seconds())
    found = [finding for sight in sights for finding in checks.of(sight)]
    costs = [Cost(sight.name, *checks.cost(sight)) for sight in sights]
    return Report(
        (*between, *clocks_differ(registry, sights, apart), *found),
        tuple(sorted(costs, key=lambda cost: (-cost.nodes, cost.job))),
    )


def find(registry: Registry, kind: str, job: str, where: str) -> Finding | None:
    """One finding as it is now; None where it is not there any more."""
    # What is left over is told of a job that is gone, and of it alone nothing could be said.
    alone = job if job in looking.jobs(registry) else None
    known = examine(registry, alone).findings
    return next((each for each in known if (each.kind, each.job, each.where) == (kind, job, where)), None)


def treatment(finding: Finding) -> Plan:
    """What is written to mend a finding; refused where people must act."""
    if not finding.repairable:
        raise OperationError(f"{finding.where}: this cannot be repaired from here: {finding.advice}")
    return Plan(finding.cure, (f"mended: {finding.what}",))


def no_jobs(registry: Registry, sights: Sequence[Sight]) -> Iterator[Finding]:
    """What is below the namespace without being a job."""
    known = {sight.name for sight in sights}
    strange = [name for name in looking.children(registry, registry.namespace) if name not in known]
    begun = set(looking.jobs(registry)) if strange else known  # some of them a moment ago
    for name in strange:
        if name not in begun:
            yield Finding(
                "no job",
                Severity.NOTICE,
                "",
                f"{registry.namespace}/{name}",
                f"{name!r} is in the namespace, and has no settings that we could read",
                "it is passed over here; ElasticJob's console may show it as a job",
                "find out whose it is; a namespace is for jobs alone",
            )


def left_over(registry: Registry, sights: Sequence[Sight]) -> Iterator[Finding]:
    """What is ours of jobs that do not exist any more."""
    # Ours are read first: a job that is begun meanwhile has not left anything. What has lost its settings
    # alone is not gone either: its members write them anew.
    ours = looking.children(registry, f"{registry.namespace}{looking.OURS}")
    known = {*(sight.name for sight in sights), *looking.children(registry, registry.namespace)}
    for sight in looking.all_at(registry, [name for name in ours if name not in known]):
        alive = sight.own.children("alive")
        yield Finding(
            "left over",
            Severity.NOTICE,
            sight.name,
            sight.own_root,
            f"the job {sight.name!r} is gone, and our own nodes of it are left",
            "they take room; a new job of that name does not mind them",
            f"wait until {alive[0]} has stopped" if alive else "take them away",
            () if alive else removal.leftovers(sight).writes,
        )


def learn_time(registry: Registry) -> None:
    """Have the registry tell its time, which ZooKeeper does in answer to a write alone: to a node of our own
    that is there for that moment. Who may not write there believes the machine's clock."""
    session = registry.session()
    if session is None:
        return
    node = f"{registry.namespace}{looking.OURS}~clock-{session.id}"
    if isinstance(registry.wait(registry.commit(Create(node, ephemeral=True))), Landed):
        registry.wait(registry.commit(Put(node)))
        registry.wait(registry.commit(Delete(node)))


def clocks_differ(registry: Registry, sights: Sequence[Sight], apart: float) -> Iterator[Finding]:
    """Whether this machine's clock and the registry's tell different times."""
    if apart < APART:
        return
    what = f"this machine's clock and the registry's are {apart:.1f} s apart"
    why = "fires go by the registry's clock; what jobs read from the machine's is another time"
    advice = "set the clocks right, by NTP on all machines"
    yield Finding("clock", Severity.NOTICE, "", registry.namespace, what, why, advice)
    for sight in sights:
        most = sight.config.max_time_diff_seconds if sight.config is not None else -1
        if 0 <= most < apart:
            yield Finding(
                "clock",
                Severity.TROUBLE,
                sight.name,
                sight.root,
                f"{what}, and its max_time_diff_seconds is {most}",
                "members on a machine like this one start nothing of it",
                advice,
            )
