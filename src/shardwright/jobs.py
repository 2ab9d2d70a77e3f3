"""Jobs: what the members of a cluster agree on about one.

`JobConfig` has ElasticJob's settings under names that suit Python, with the defaults of ElasticJob's builder,
and settings of our own that Java does not know. How both are put on the wire is said in `elasticjob`.

A config that exists is valid. Making one reports every fault at once, in words, as a `ConfigError`. Secrets
among the settings are masked wherever a config is shown.
"""

import difflib
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from . import kinds, secrets, sentences, snakeyaml
from .errors import ConfigError
from .schedule import Schedule, lint, parse

#: What ElasticJob calls its settings.
ELASTICJOB = {
    "name": "jobName",
    "cron": "cron",
    "time_zone": "timeZone",
    "shards": "shardingTotalCount",
    "item_parameters": "shardingItemParameters",
    "parameter": "jobParameter",
    "monitor_execution": "monitorExecution",
    "failover": "failover",
    "misfire": "misfire",
    "max_time_diff_seconds": "maxTimeDiffSeconds",
    "reconcile_interval_minutes": "reconcileIntervalMinutes",
    "strategy": "jobShardingStrategyType",
    "pool": "jobExecutorThreadPoolSizeProviderType",
    "error_handler": "jobErrorHandlerType",
    "listeners": "jobListenerTypes",
    "extra_configurations": "jobExtraConfigurations",
    "description": "description",
    "props": "props",
    "disabled": "disabled",
    "overwrite": "overwrite",
    "label": "label",
    "static_sharding": "staticSharding",
}

#: What our own settings begin with among ElasticJob's `props`.
PREFIX = "shardwright."

PoolKey = Literal["jobExecutorThreadPoolSizeProviderType", "jobExecutorServiceHandlerType"]

_STICKY = "sticky"
_CLOSE = 0.75  # as near as a slip of the pen
_INSTEAD = "give them by name to JobConfig or JobConfig.of, or change a config with replace"
_WRITTEN = datetime(2026, 1, 1, tzinfo=UTC)
_LOW, _HIGH = -(2**31), 2**31 - 1  # Java's int


class JobConfig(BaseModel):
    """One job's settings: frozen, valid, and equal to another's when they mean the same."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, hide_input_in_errors=True, use_attribute_docstrings=True
    )

    # ElasticJob's

    name: kinds.JobName
    """What the job is called, in its namespace and in every list."""
    cron: kinds.Quartz = None
    """When it fires, as a Quartz expression; with neither this nor a schedule it runs only when asked to."""
    time_zone: kinds.Zone = None
    """The zone its times are in, GMT+08:00 or Asia/Shanghai; unset: the zone of each machine."""
    shards: int = Field(default=1, ge=1, le=100_000)
    """How many shards each fire is cut into."""
    item_parameters: kinds.ItemTexts = Field(default_factory=dict, validate_default=True)
    """A text for each shard, by its number: 0=Beijing,1=Shanghai."""
    parameter: kinds.Text = ""
    """A text that every shard is handed."""
    monitor_execution: bool = True
    """Mark shards as running, so that none runs twice at once and a death is noticed."""
    failover: bool = False
    """Run the shards of a member that died elsewhere, in the same fire."""
    misfire: bool = True
    """Make good a fire that fell into the previous run, right after it."""
    max_time_diff_seconds: int = Field(default=-1, ge=_LOW, le=_HIGH)
    """By how much a member's clock may differ from the registry's; below 0: not checked."""
    reconcile_interval_minutes: int = Field(default=10, ge=_LOW, le=_HIGH)
    """How often a Java leader looks for shards whose owner is gone; below 1: never."""
    strategy: kinds.Strategy = _STICKY
    """How shards are shared out: sticky, one of ElasticJob's four, or one of your own by its name."""
    pool: kinds.MaybeWord = None
    """Threads of the job's own: CPU, SINGLE_THREAD or a number; Java members know the first two."""
    pool_key: PoolKey = "jobExecutorThreadPoolSizeProviderType"
    """What the pool is called by this job's Java members: so from 3.0.5 on, jobExecutorServiceHandlerType
    before."""
    error_handler: kinds.MaybeWord = None
    """What is done about a shard that fails: LOG (if unset), THROW, IGNORE, EMAIL, WECHAT, DINGTALK …"""
    listeners: kinds.Words = ()
    """Who is told before and after each fire, by name."""
    extra_configurations: kinds.Nodes = ()
    """What Java members added, such as tracing: carried along as it is."""
    description: kinds.Text = ""
    """What the job is for, said to people."""
    props: kinds.Props = Field(default_factory=dict, validate_default=True)
    """Settings of the job's type and of its error handler, such as http.uri or email.host."""
    disabled: bool = False
    """Begin disabled on every server."""
    overwrite: bool = False
    """Let a member that starts replace the settings in the registry by its own."""
    label: kinds.MaybeWord = None
    """A word to find the job by."""
    static_sharding: bool = False
    """Leave shards where they are when members come and go."""

    # Our own

    schedule: kinds.Schedule = None
    """When it fires, if not by Quartz: every 10s, crontab */5 * * * *, once 2026-12-24T18:00:00+01:00."""
    dst: Literal["quartz", "continuous"] | None = None
    """What clock changes do to fires: quartz or continuous; unset: what Quartz does, or continuous for
    crontab."""
    timeout: kinds.MaybeLength = None
    """How long each try of a shard may take before it is stopped; unset: as long as it likes."""
    retries: kinds.Number = Field(default=0, ge=0, le=1000)
    """How often a shard that failed, or took too long, is tried again within the fire."""
    retry_delay: kinds.Length = timedelta(seconds=1)
    """The pause before the first retry, less up to half of it by chance; it doubles with each one after."""
    retry_delay_max: kinds.Length = timedelta(minutes=5)
    """The longest pause before a retry."""
    overlap: Literal["skip", "queue", "cancel", "allow"] | None = None
    """What a fire does that falls into a run: skip, queue, cancel it, allow both; unset: as misfire says."""
    catch_up: Literal["skip", "once", "all"] = "skip"
    """Which fires are made up for that fell while nobody was alive: none (skip), one (once) or all."""
    catch_up_max_age: kinds.MaybeLength = None
    """How old a fire may be to be made up for; unset: any age."""
    catch_up_max_count: kinds.Number = Field(default=100, ge=1, le=_HIGH)
    """How many fires are made up for at most."""
    delivery: Literal["at_least_once", "at_most_once"] = "at_least_once"
    """What becomes of a shard whose runner died, where there is failover: it runs again, or never does."""
    lease_lost: Literal["stop", "continue"] = "stop"
    """What a run does whose member has lost touch with the registry for too long: it is told to stop, or goes
    on at its own risk."""
    concurrency: kinds.MaybeCount = None
    """How many shards of the job may run at once in each process, or with a group in the whole cluster, of
    all the group's jobs together; unset: as many as there are threads for."""
    group: kinds.MaybeWord = None
    """The name under which several jobs share one concurrency: it is the group's limit then, in the whole
    cluster, and not each process's; all its jobs must say the same number."""

    # A rule about several settings stands with the last of them: so it is reported along with all others.

    @field_validator("failover")
    @classmethod
    def _failover_is_noticed(cls, failover: bool, info: ValidationInfo) -> bool:
        if failover and info.data.get("monitor_execution") is False:
            raise ValueError("needs monitor_execution, because its marks show what a dead member was running")
        return failover

    @field_validator("schedule")
    @classmethod
    def _one_schedule(cls, schedule: str | None, info: ValidationInfo) -> str | None:
        if schedule and info.data.get("cron"):
            raise ValueError("cannot stand beside cron: give one of the two")
        return schedule

    @field_validator("pool_key")
    @classmethod
    def _no_key_without_a_pool(cls, pool_key: PoolKey, info: ValidationInfo) -> PoolKey:
        return pool_key if info.data.get("pool") else "jobExecutorThreadPoolSizeProviderType"

    @field_validator("timeout")
    @classmethod
    def _some_time(cls, timeout: timedelta | None) -> timedelta | None:
        if timeout == timedelta():
            raise ValueError("must be more than no time at all; leave it out for no limit")
        return timeout

    @field_validator("group")
    @classmethod
    def _group_is_limited(cls, group: str | None, info: ValidationInfo) -> str | None:
        if group and "concurrency" in info.data and info.data["concurrency"] is None:
            raise ValueError("needs concurrency: how many shards of the group may run at once")
        if group and info.data.get("overlap") == "allow":
            raise ValueError("cannot limit runs beside each other: choose another overlap than allow")
        if group and not re.fullmatch(r"\w[\w.-]{0,99}", group):
            raise ValueError("must be a word of letters, digits, _ . and - only")
        return group

    @field_validator("props")
    @classmethod
    def _ours_have_names(cls, props: Mapping[str, str]) -> Mapping[str, str]:
        """Settings of ours that this version does not know, from a newer one, are carried along."""
        taken = sorted(OURS.keys() & props.keys())
        if taken:
            raise ValueError("; ".join(f"must not have {key!r}: give {OURS[key]} instead" for key in taken))
        return props

    if not TYPE_CHECKING:  # so that editors and mypy know the settings by name

        def __init__(self, /, **settings: object) -> None:
            _settle(self, settings, _NAMES, {})

        def __setattr__(self, name: str, _: object) -> None:
            raise ConfigError(f"{title(self.name)} does not change; make another one with replace({name}=…)")

        def __delattr__(self, name: str) -> None:
            raise ConfigError(f"{title(self.name)} does not change; nothing can be taken from it")

        # pydantic's own doors: they lead to the same checks, or nowhere.

        def model_copy(
            self, *, update: Mapping[str, object] | None = None, deep: bool = False
        ) -> "JobConfig":
            return self.replace(**(update or {}))

        def copy(self, *, update: Mapping[str, object] | None = None, deep: bool = False) -> "JobConfig":
            return self.replace(**(update or {}))

        @classmethod
        def model_validate(cls, obj: object, **_: object) -> "JobConfig":
            return obj if isinstance(obj, JobConfig) else cls.of(obj)

        @classmethod
        def model_validate_json(cls, *_: object, **__: object) -> "JobConfig":
            raise ConfigError(f"a job's settings are not read from JSON: {_INSTEAD}")

        @classmethod
        def model_validate_strings(cls, *_: object, **__: object) -> "JobConfig":
            raise ConfigError(f"a job's settings are not all texts: {_INSTEAD}")

        @classmethod
        def model_construct(cls, *_: object, **__: object) -> "JobConfig":
            raise ConfigError(f"a config is never made without a check: {_INSTEAD}")

    @classmethod
    def of(
        cls,
        settings: Mapping[str, object],
        *,
        names: Mapping[str, str] | None = None,
        faults: Mapping[str, str] | None = None,
    ) -> "JobConfig":
        """A config from settings by name; whoever read them says what they are called there, and what was
        found to be wrong already."""
        config = cls.__new__(cls)
        _settle(config, settings, names or _NAMES, faults or {})
        return config

    def replace(self, /, **changes: object) -> "JobConfig":
        """This config with some settings changed, as valid as any."""
        return JobConfig.of({**dict(self), **changes})

    def timetable(self) -> Schedule | None:
        """When it fires; None if only when asked to."""
        text = self.cron or self.schedule
        return _parse(text, self.time_zone, self.dst) if text else None

    def warnings(self, *, after: datetime = _WRITTEN, java: bool = True) -> tuple[str, ...]:
        """What is allowed and probably not meant, a sentence each.

        Hand in the time it is: the schedule is looked at for a year from there, in its zone if it has one.
        `java` is whether Java members may come to the job.
        """
        found = []
        if idle := [item for item in self.item_parameters if not 0 <= item < self.shards]:
            found.append(
                f"item_parameters for {', '.join(map(str, idle))} are never used: shards is {self.shards}"
            )
        if self.schedule and java:
            found.append("Java members cannot take part: they know no schedule but cron")
        return (*found, *self._surprises(after), *self._misspellings())

    def _surprises(self, after: datetime) -> Iterator[str]:
        if text := self.cron or self.schedule:
            timetable = parse(text, self.time_zone or "UTC", dst=self.dst)
            setting = "cron" if self.cron else "schedule"
            for caution in lint(timetable, after=after, years=1):
                # From when on it was looked at is ours to know: nobody who declares a job has said so.
                never = f"{timetable.text!r} never fires again"
                yield f"{setting}: {never if caution.kind == 'never' else caution}"

    def _misspellings(self) -> Iterator[str]:
        known = {name.lower(): name for name in (_STICKY, *kinds.ELASTICJOB_STRATEGIES)}
        if not self.strategy.startswith(kinds.FOREIGN) and self.strategy not in known.values():
            likely = difflib.get_close_matches(self.strategy.lower(), known, 1, _CLOSE)
            for name in likely:
                yield f"strategy {_quoted(self.strategy)} is one of your own; did you mean {known[name]!r}?"
        for key in self.props:
            if not key.lower().startswith(PREFIX):
                continue
            likely = difflib.get_close_matches(key.lower().removeprefix(PREFIX), OURS.values(), 1, _CLOSE)
            if likely:
                yield f"props has {_quoted(key)}, which is no setting; did you mean {likely[0]!r}?"

    def masked(self) -> dict[str, object]:
        """The settings as people may see them, in values that JSON knows."""
        shown: dict[str, object] = self.model_dump(mode="json", exclude={"extra_configurations"})
        for setting, value in shown.items():
            if isinstance(value, str):
                shown[setting] = secrets.masked(value)
            elif isinstance(value, list):
                shown[setting] = [secrets.masked(text) for text in value]
            elif isinstance(value, dict):
                shown[setting] = {
                    secrets.masked(key): secrets.masked(text, key=key) for key, text in value.items()
                }
        shown["extra_configurations"] = [
            snakeyaml.write(snakeyaml.masked(node)) for node in self.extra_configurations
        ]
        return shown

    def __repr_args__(self) -> Iterator[tuple[str, object]]:
        """What is not as usual, secrets masked: `repr` and `str` are made of it."""
        usual = {
            name: field.get_default(call_default_factory=True)
            for name, field in JobConfig.model_fields.items()
        }
        unusual = {name for name, value in self if value != usual[name]}
        return ((name, value) for name, value in self.masked().items() if name in unusual)


@lru_cache(maxsize=1024)
def _parse(text: str, zone: str | None, dst: Literal["quartz", "continuous"] | None) -> Schedule:
    return parse(text, zone, dst=dst)


#: What our own settings are called among ElasticJob's `props`; `pool_key` only says what `pool` is called.
OURS = {PREFIX + name: name for name in JobConfig.model_fields if name not in {*ELASTICJOB, "pool_key"}}
OURS |= {f"{PREFIX}zone": "time_zone", f"{PREFIX}strategy": "strategy"}

_NAMES = {
    **{wire: name for name, wire in ELASTICJOB.items()},
    **{name: name for name in JobConfig.model_fields},
}


def _settle(
    config: JobConfig, settings: Mapping[str, object], names: Mapping[str, str], faults: Mapping[str, str]
) -> None:
    """Make the settings this new config's, or say all that is wrong with them.

    pydantic's own error quotes what it was given, secrets included: it must not travel along with ours, not
    even as its cause.
    """
    if not isinstance(settings, Mapping):
        raise ConfigError(f"a job's settings are a mapping by name, not {type(settings).__name__}")
    if not all(isinstance(name, str) for name in settings):
        raise ConfigError(f"{title(settings.get('name'))}: settings have names, which are texts")
    found = list(faults.values())
    try:
        BaseModel.__init__(config, **settings)
    except ValidationError as error:
        found += [sentence for setting, sentence in sentences.of(error, names) if setting not in faults]
    if found:
        raise ConfigError(f"{title(settings.get('name'))}: {sentences.together(found)}")


def title(name: object) -> str:
    """How a message about a job begins."""
    return f"job {secrets.masked(name)[:100]!r}" if isinstance(name, str) and name else "job without a name"


def _quoted(text: str) -> str:
    return repr(secrets.masked(text)[:100])
