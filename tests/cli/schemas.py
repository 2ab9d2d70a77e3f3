"""What `--json` answers with, command by command. A key more or less, or a value of another kind, is a change
that other people's programs notice."""

from datetime import date
from typing import Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict


class Document(BaseModel):
    model_config = ConfigDict(extra="forbid")


# next


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


# Jobs, shards, servers

JobStatus = Literal["CRASHED", "DISABLED", "SHARDING_FLAG", "OK"]


class Brief(Document):
    name: str
    status: JobStatus
    shards: int | None
    schedule: str
    next_fires: list[AwareDatetime]
    instances: int
    description: str
    trouble: str


class Jobs(Document):
    jobs: list[Brief]


class Item(Document):
    item: int
    state: Literal["DISABLED", "RUNNING", "SHARDING_FLAG", "PENDING"]
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


class Shards(Document):
    job: str
    shards: list[Item]


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


class Job(Document):
    brief: Brief
    kind: str
    config: dict[str, Any] | None
    leader: str | None
    members: list[Member]
    servers: list[JobServer]
    shards: list[Item]
    draining: list[str]


class Server(Document):
    address: str
    instances: int
    jobs: list[str]
    disabled: int


class Servers(Document):
    servers: list[Server]


class ServerJob(Document):
    job: str
    status: Literal["OK", "DISABLED"]
    instances: int


class ServerJobs(Document):
    server: str
    jobs: list[ServerJob]


class Leader(Document):
    job: str
    leader: str | None


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


class Statistics(Document):
    jobs: int
    by_status: dict[JobStatus, int]
    servers: int
    instances: int
    shards: int
    running: int


class Watch(Document):
    registry: str
    at: AwareDatetime
    statistics: Statistics
    jobs: list[Brief]
    shards: dict[str, list[Item]]


# History

Disposition = Literal["RAN", "FAILED_OVER", "MADE_GOOD", "SKIPPED", "LOST", "UNKNOWN", "RUNNING"]


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
    outcome: Literal["", "ok", "failed", "timed out", "superseded"]
    began: AwareDatetime | None
    ended: AwareDatetime | None
    late: float | None
    took: float | None
    process: str
    reason: str
    later: str
    attempts: list[Attempt]


class Fires(Document):
    fires: list[Fire]
    more: bool


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


class AllDone(Document):
    done: list[Done]


class Backfill(Document):
    job: str
    fires: list[str]
    runs: int


class Config(Document):
    job: str
    version: int
    config: dict[str, Any]


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
    done: list[Done]
    refused: list[str]


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


# console user


class User(Document):
    name: str
    roles: dict[str, Literal["viewer", "operator", "author", "admin"]]
    created: AwareDatetime


class Users(Document):
    users: list[User]
