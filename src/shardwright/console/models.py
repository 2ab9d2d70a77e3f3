"""What the console's API answers with, and what it is asked by.

Where `shardwright --json` answers the same question, the answer has the same keys. A key more or less is a
change that the page, and other people's programs, notice.
"""

from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field


class Document(BaseModel):
    """An answer."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class Wish(BaseModel):
    """What is asked for; what it does not know is refused, and so are values of another kind."""

    model_config = ConfigDict(extra="forbid", strict=True, use_attribute_docstrings=True)


ErrorKind = Literal[
    "invalid",
    "unknown",
    "refused",
    "conflict",
    "forbidden",
    "login",
    "unreachable",
    "no history",
    "busy",
]


# Schedules


class Caution(Document):
    kind: Literal["never", "ignored", "some months", "gap", "overlap"]
    text: str
    at: AwareDatetime | None


class Next(Document):
    schedule: str
    zone: str
    words: str | None
    fires: list[AwareDatetime]
    cautions: list[Caution]


# Jobs and shards

JobStatus = Literal["CRASHED", "DISABLED", "SHARDING_FLAG", "OK"]
ShardState = Literal["DISABLED", "RUNNING", "SHARDING_FLAG", "PENDING"]
Disposition = Literal["RAN", "FAILED_OVER", "MADE_GOOD", "SKIPPED", "LOST", "UNKNOWN", "RUNNING"]
Outcome = Literal["", "ok", "failed", "timed out", "superseded"]
TaskState = Literal[
    "TASK_STAGING",
    "TASK_RUNNING",
    "TASK_FINISHED",
    "TASK_ERROR",
    "TASK_KILLED",
    "TASK_LOST",
    "TASK_FAILED",
    "TASK_DROPPED",
    "TASK_GONE",
    "TASK_GONE_BY_OPERATOR",
    "TASK_UNREACHABLE",
    "TASK_UNKNOWN",
]


class Statistics(Document):
    jobs: int
    by_status: dict[JobStatus, int]
    servers: int
    instances: int
    shards: int
    running: int


class Brief(Document):
    name: str
    status: JobStatus
    shards: int | None
    schedule: str
    next_fires: list[AwareDatetime]
    instances: int
    description: str
    trouble: str


class LastFire(Document):
    """What became of the last fire of a job that is known, all its shards together: the worst of them."""

    fire: str
    due: AwareDatetime
    disposition: Disposition
    outcome: Outcome
    ended: AwareDatetime | None
    late: float | None
    """By how many seconds it came late."""


class LiveRow(Brief):
    """A job in a line of the fleet, as the stream tells it."""

    last: LastFire | None
    """None where nothing is known, or there is no history."""
    java: bool
    """Only Java processes are in it."""


class JobRow(LiveRow):
    """A job in a line of the fleet."""

    late: list[float | None]
    """By how many seconds its fires up to the last came late, the oldest first."""


class Fleet(Document):
    jobs: list[JobRow]
    total: int
    """How many jobs fit what was asked for, on all pages."""
    by_status: dict[JobStatus, int]
    """How many there are by status, of those that fit but for the status asked for."""


class Item(Document):
    item: int
    state: ShardState
    owner: str
    server: str
    failover: bool
    parameter: str
    running_by: str
    running_fire: str
    running_since: AwareDatetime | None
    attempt: int
    last_fire: AwareDatetime | None
    last_outcome: str
    last_ended: AwareDatetime | None
    next_owner: str


class ShardPage(Document):
    shards: list[Item]
    total: int


class Member(Document):
    id: str
    server: str
    python: bool
    alive: bool
    draining: bool
    leader: bool
    enabled: bool
    owns: int
    runs: int


class JobServer(Document):
    address: str
    state: str
    instances: int


class JobPage(Document):
    brief: Brief
    kind: str
    config: dict[str, Any] | None
    """Its settings, secrets masked; None where they cannot be read."""
    version: int | None
    """To be sent along when they are changed."""
    leader: str | None
    members: list[Member]
    servers: list[JobServer]
    draining: list[str]
    running: int
    """How many of its shards run."""
    trouble: str


class ShardMap(Document):
    """All shards of a job, short enough for 10,000 of them. Members go by their place in `members`, -1 is
    nobody; one who owns or runs something and is not there any more has a place after those who are."""

    total: int
    members: list[str]
    here: int
    """How many of `members` are there: the first ones."""
    owner: list[int]
    running: list[int]
    state: str
    """A letter for each shard: P pending, R running, D disabled, S to be shared out."""
    failover: list[int]
    """The shards that somebody has taken over from one that died."""
    moving: dict[int, int]
    """Who gets a shard when the run that goes on has ended."""


class RunBar(Document):
    shard: int
    began: AwareDatetime | None
    ended: AwareDatetime | None
    disposition: Disposition
    outcome: Outcome
    process: str


class TimelineFire(Document):
    fire: str
    due: AwareDatetime
    shards: list[RunBar]
    left_out: int
    """How many shards of it are not told here."""


class Timeline(Document):
    fires: list[TimelineFire]
    """The latest first."""
    before: str | None
    """What to ask with for the fires before these; None where there are none."""
    next: int | None
    """Which shard to ask for first, for the shards after these; None where there are none."""


class Move(Document):
    item: int
    before: str
    after: str
    running: bool


class Preview(Document):
    job: str
    what: str
    moves: list[Move]
    owners: dict[int, str]
    counts: dict[str, int]
    note: str


class Dump(Document):
    job: str
    lines: list[str]


class Past(Document):
    job: str
    fires: list[str]
    runs: int


class Left(Document):
    job: str
    waiting: int
    running: int


# Servers


class Server(Document):
    address: str
    instances: int
    jobs: int
    """How many jobs know it; they may be very many, and are told of one server at a time."""
    disabled: int
    """In how many of them it may not work."""
    owns: int
    """How many shards those on it own, over all jobs."""
    runs: int
    """How many shards run on it."""
    draining: int
    """How many of its members, over all jobs, are being drained or leave."""


class Servers(Document):
    servers: list[Server]
    total: int


class ServerJob(Document):
    job: str
    status: Literal["OK", "DISABLED"]
    instances: int
    members: list[Member]


class ServerPage(Document):
    server: Server
    found: list[ServerJob]
    total: int
    """How many jobs were found there."""


# History


class Log(Document):
    text: str
    left_out: int


class Try(Document):
    number: int
    began: AwareDatetime | None
    ended: AwareDatetime
    outcome: str
    failure: str


class Attempt(Document):
    id: str
    process: str
    host: str
    source: str
    number: int
    began: AwareDatetime | None
    ended: AwareDatetime | None
    outcome: str
    failure: str
    tries: list[Try]
    log: Log | None


class Fire(Document):
    job: str
    made: int
    fire: str
    shard: int
    due: AwareDatetime
    disposition: Disposition
    outcome: Outcome
    began: AwareDatetime | None
    ended: AwareDatetime | None
    late: float | None
    took: float | None
    process: str
    reason: str
    later: str
    attempts: list[Attempt]


class FirePage(Document):
    fires: list[Fire]
    after: str | None
    """What to ask with for the next page; None where there is none."""


class TracedRun(Document):
    """A run of a shard, as it stands in ElasticJob's table."""

    id: str
    job: str
    task: str
    host: str
    ip: str
    shard: int
    source: str
    success: bool
    failure: str
    """Secrets masked."""
    began: AwareDatetime | None
    ended: AwareDatetime | None


class TracedRuns(Document):
    runs: list[TracedRun]
    after: str | None
    """What to ask with for the next page; None where there is none."""


class TracedState(Document):
    """A state of a run, as it stands in ElasticJob's table."""

    id: str
    job: str
    task: str
    server: str
    shards: str
    """As ElasticJob writes them: `[0, 1]`."""
    state: str
    message: str
    """Secrets masked."""
    at: AwareDatetime | None


class TracedStates(Document):
    states: list[TracedState]
    after: str | None
    """What to ask with for the next page; None where there is none."""


class Count(Document):
    job: str
    day: date
    disposition: Disposition
    outcome: str
    fires: int
    late: float
    latest: float
    ran: float


class Counts(Document):
    counts: list[Count]


class Note(Document):
    at: AwareDatetime
    who: str
    what: str
    target: str
    detail: str
    outcome: str


class Changes(Document):
    changes: list[Note]


class Timetable(Document):
    schedule: str
    fires_then: bool
    to_come: bool
    previous: AwareDatetime | None
    next: AwareDatetime | None


class Why(Document):
    job: str
    fire: str | None
    known: bool
    words: str
    timetable: Timetable | None
    shards: list[Fire]


# What was changed


class Done(Document):
    what: str
    target: str
    changed: list[str]


class RefusedJob(Document):
    job: str
    error: str


class BulkDone(Document):
    done: list[Done]
    refused: list[RefusedJob]


class Change(Document):
    setting: str
    old: Any
    new: Any


class Diff(Document):
    job: str
    changes: list[Change]


class Finding(Document):
    kind: str
    severity: Literal["trouble", "notice"]
    job: str
    where: str
    what: str
    why: str
    advice: str
    repairable: bool


class Cost(Document):
    job: str
    nodes: int
    bytes: int


class Doctor(Document):
    healthy: bool
    findings: list[Finding]
    costs: list[Cost]


# Recipes


class Mastery(Document):
    service: str
    master: str | None
    token: int | None
    candidates: list[str]


class Services(Document):
    services: list[Mastery]


class Slices(Document):
    name: str
    epoch: int
    resharding: bool
    leader: str | None
    holders: list[str | None]
    waiting: list[str]
    gone: list[str]


class SliceNames(Document):
    names: list[str]


# The registry


class TreeNode(Document):
    path: str
    data: str
    """Secrets masked; its beginning where it is long."""
    cut: bool
    """Whether there is more of it than is told here."""
    version: int
    made: int
    written: int
    ephemeral: bool
    owner: str
    """The session that it goes with; empty for a node that stays."""
    children: list[str]
    total: int
    """How many children there are, told here or not."""


class SettingGroup(Document):
    title: str
    names: list[str]


class Schema(Document):
    """What a job's settings may be, as a JSON schema, and in which order they are best shown."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, protected_namespaces=())

    schema_: dict[str, Any] = Field(alias="schema")
    groups: list[SettingGroup]


# The stream of events


class Hello(Document):
    """Fetch anew all that you show."""

    at: AwareDatetime
    statistics: Statistics


class JobsChanged(Document):
    changed: list[LiveRow]
    gone: list[str]
    many: bool
    """Too many have changed to be told: fetch anew what you show."""
    statistics: Statistics


class JobChanged(Document):
    brief: Brief
    leader: str | None
    members: list[Member]
    map: ShardMap


class RegistryTrouble(Document):
    """The registry is away; a hello comes when it is back."""

    error: str


class LiveEvents(Document):
    """What the events of the stream say, by their names."""

    hello: Hello | None = None
    jobs: JobsChanged | None = None
    job: JobChanged | None = None
    trouble: RegistryTrouble | None = None


# What is asked for

Name = Annotated[str, Field(min_length=1, max_length=1000)]
Shard = Annotated[int, Field(ge=0, le=100_000)]
Shards = Annotated[list[Shard], Field(min_length=1, max_length=1000)]


def _in_utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("it is beyond the years there are in UTC") from None


#: Times come as texts, which strict models would refuse.
Time = Annotated[AwareDatetime, Field(strict=False), AfterValidator(_in_utc)]


class Trigger(Wish):
    shards: Shards | None = None
    """Only these; otherwise all."""
    parameter: Annotated[str, Field(max_length=100_000)] = ""
    """Instead of the job's own, this once."""


class Letting(Wish):
    """Where a job is to work, or not: everywhere, on one server, or one shard of it."""

    server: Name | None = None
    shard: Shard | None = None


class Stopping(Wish):
    """Who is to leave a job: all, those on a server, or one."""

    server: Name | None = None
    instance: Name | None = None


class Instance(Wish):
    instance: Name


class Rerun(Wish):
    at: Time
    shards: Shards | None = None


class Backfill(Wish):
    begin: Time
    end: Time
    shards: Shards | None = None


class Designation(Wish):
    address: Name


class Repair(Wish):
    """Which finding is to be mended, as the doctor told it."""

    kind: Name
    job: Annotated[str, Field(max_length=1000)] = ""
    where: Name


class Bulk(Wish):
    jobs: Annotated[list[Name], Field(min_length=1, max_length=500)]
    action: Literal["trigger", "enable", "disable", "shutdown"]


class ConfigWhole(Wish):
    settings: dict[Name, Any]
    """By their names in `config`; `props.<key>` for one of the props."""


class ConfigChange(Wish):
    changes: dict[Name, Any]
    """Settings by their names in `config`; `props.<key>` for one of the props, null takes it away. What
    comes back as it was shown, masked, stays as it is."""
    version: int | None = None
    """The one that the settings were read at."""
