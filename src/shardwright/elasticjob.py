"""ElasticJob's documents: `config` and `instances/<id>`, as Java members write and read them.

A Java member refuses a document with a key it does not know, so ours hold ElasticJob's keys only: every one
that has a value, in alphabetical order. An absent key means what an empty Java *bean* has, which is not what
the builder has (`monitorExecution` and `misfire` are off).

Our own settings are texts among the `props`, under `shardwright.<setting>`, as far as they differ from their
defaults; those a newer version wrote are carried along. Three of them stand in for a key of ElasticJob's that
cannot hold what they say:

`shardwright.zone`: a zone whose name does not begin with GMT
    Java refuses such names in `timeZone`. That key then holds the same zone as an offset, if its clocks never
    change; otherwise it is left out, and Java members go by the zone of their machine.

`shardwright.schedule`: whatever is not a Quartz expression
    There is no `cron` then, and a Java member that wants one says so when it starts.

`shardwright.strategy`: one that is neither the default nor ElasticJob's
    A Java leader then shares shards out by its own default. The other way round, a strategy that only Java
    members have is read as `java:NAME`, and written back as it was.

Where ElasticJob's key is there and says something else, it is right, because the Java members go by it.
`failover` without `monitorExecution` does nothing in Java, and is read as no failover.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from . import beans, durations, secrets, sentences, snakeyaml, zones
from .errors import ConfigError, CronError
from .jobs import ELASTICJOB, OURS, PREFIX, JobConfig, title
from .kinds import ELASTICJOB_STRATEGIES, FOREIGN
from .snakeyaml import BOOL, INT, Items, Node, Pairs, Scalar

ZONE, STRATEGY = f"{PREFIX}zone", f"{PREFIX}strategy"

_POOL, _OLD_POOL = ELASTICJOB["pool"], "jobExecutorServiceHandlerType"
_DEFAULTS = {name: field.default for name, field in JobConfig.model_fields.items()}
_MANY = 10  # as many strange keys as are worth a guess at what was meant
_BEAN_DEFAULTS = {"monitor_execution": False, "misfire": False, "reconcile_interval_minutes": 0}

# Which setting a key is, and what each is called in a document, whatever somebody may have called it.
_SETTINGS = {key: name for name, key in ELASTICJOB.items()} | {_OLD_POOL: "pool"}
_NAMES = {key: key for key in _SETTINGS} | {name: key for key, name in OURS.items()} | ELASTICJOB


@dataclass(frozen=True, slots=True)
class Instance:
    """What a member says of itself in `instances/<id>`."""

    id: str
    server_ip: str
    labels: str | None = None


# Writing


def write_config(config: JobConfig) -> str:
    """The document for a job's `config` node."""
    settings = dict(config)
    settings["item_parameters"] = ",".join(
        f"{item}={text}" for item, text in sorted(config.item_parameters.items())
    )
    settings["time_zone"] = _as_offset(config.time_zone) if config.time_zone else None
    settings["strategy"] = _as_elasticjobs(config.strategy)
    settings["props"] = {**config.props, **_our_props(config)}
    keys = {**ELASTICJOB, "pool": config.pool_key}
    document = snakeyaml.write(_node({key: settings[name] for name, key in keys.items()}))
    size = len(document.encode())
    if size > snakeyaml.LARGEST:
        raise ConfigError(
            f"{title(config.name)}: its document has {size:,} bytes, {snakeyaml.LARGEST:,} are allowed"
        )
    return document


@lru_cache(maxsize=64)  # a process says the same in each of its jobs
def write_instance(instance: Instance) -> str:
    """The document for a member's node. The address is always there: Java takes a missing one for its own."""
    said = {"jobInstanceId": instance.id, "labels": instance.labels, "serverIp": instance.server_ip}
    return snakeyaml.write(_node(said))


def _our_props(config: JobConfig) -> dict[str, str]:
    settings = dict(config)
    props = {
        key: durations.text(value) if isinstance(value := settings[name], timedelta) else str(value)
        for key, name in OURS.items()
        if name not in ELASTICJOB and settings[name] != _DEFAULTS[name]
    }
    if config.time_zone and not config.time_zone.startswith("GMT"):
        props[ZONE] = config.time_zone
    if config.strategy != _DEFAULTS["strategy"] and not _as_elasticjobs(config.strategy):
        props[STRATEGY] = config.strategy
    return props


def _as_elasticjobs(strategy: str) -> str | None:
    if strategy.startswith(FOREIGN):
        return strategy.removeprefix(FOREIGN)
    return strategy if strategy in ELASTICJOB_STRATEGIES else None


def _node(value: object) -> Node:
    """A value as ElasticJob writes it: keys in order, and none for nothing."""
    match value:
        case bool():
            return Scalar(str(value).lower(), BOOL)
        case int():
            return Scalar(str(value), INT)
        case tuple():
            return Items(tuple(_node(each) for each in value))
        case Mapping():
            filled = {key: value[key] for key in sorted(value) if value[key] not in (None, (), {})}
            return Pairs(tuple((Scalar(key), _node(each)) for key, each in filled.items()))
        case Scalar() | Items() | Pairs():
            return value
    return Scalar(str(value))


# Reading


def read_config(document: str | bytes, *, job: str | None = None) -> JobConfig:
    """The config in a document that may come from anywhere: nothing but a `ConfigError` is raised.

    `job` is whose document it should be, if that is known.
    """
    try:
        nodes = beans.settings(snakeyaml.read(document))
    except ValueError as error:
        whose = f"{title(job)}: its" if job else "the"
        raise ConfigError(f"{whose} config document {error}") from None
    settings, faults = _settings(nodes)
    if job is not None and settings.get("name", job) != job:
        faults["name"] = f"jobName is not {secrets.masked(job)!r}, although this is that job's document"
        settings["name"] = job
    names = _NAMES if ELASTICJOB["strategy"] in nodes else {**_NAMES, "strategy": STRATEGY}
    return JobConfig.of(settings, names=names, faults=faults)


def read_instance(document: str | bytes) -> Instance:
    """What a member says of itself, whatever else it says. Nothing but a `ConfigError` is raised."""
    try:
        nodes = beans.settings(snakeyaml.read(document))
        said = {
            key: beans.text(nodes[key]) for key in ("jobInstanceId", "labels", "serverIp") if key in nodes
        }
    except ValueError as error:
        raise ConfigError(f"the instance's document {error}") from None
    if not (name := said.get("jobInstanceId")):
        raise ConfigError("the instance's document has no jobInstanceId")
    return Instance(name, said.get("serverIp") or name.partition("@-@")[0], said.get("labels"))


def _settings(nodes: Mapping[str, Node]) -> tuple[dict[str, object], dict[str, str]]:
    """The settings in a document, and what is wrong with those that cannot be read."""
    settings: dict[str, object] = dict(_BEAN_DEFAULTS)
    faults: dict[str, str] = {}
    props: dict[str, str] = {}
    strange = [key for key in nodes if key not in _SETTINGS]
    for key in strange[:_MANY]:
        faults[f"{key} (strange)"] = sentences.unknown(key, _NAMES)
    if len(strange) > _MANY:
        faults["(strange)"] = f"nor are there {len(strange) - _MANY:,} others of those it names"
    for key, name in _SETTINGS.items():
        try:
            if key in nodes and name == "props":
                props = _props(nodes[key], faults)
            elif key in nodes and (value := _READERS.get(name, beans.text)(nodes[key])) is not None:
                settings[name] = value
        except ValueError as error:
            faults[name] = f"{key} {error}"
    if "shards" not in settings:
        faults.setdefault("shards", "shardingTotalCount is missing")
    if not settings["monitor_execution"]:
        settings["failover"] = False
    if _OLD_POOL in nodes:
        settings["pool_key"] = _OLD_POOL
    if _OLD_POOL in nodes and _POOL in nodes:
        faults["pool"] = f"{_OLD_POOL} and {_POOL} cannot both be there"
    _take_ours(settings, props, faults)
    return settings, faults


def _take_ours(settings: dict[str, object], props: Mapping[str, str], faults: dict[str, str]) -> None:
    """Put our own settings from among the props in their places; ElasticJob's keys go first."""
    settings["props"] = {key: text for key, text in props.items() if key not in OURS}
    settings |= {name: props[key] for key, name in OURS.items() if key in props and name not in ELASTICJOB}
    if settings.get("cron"):
        settings.pop("schedule", None)
    settings["strategy"] = _strategy(str(settings.get("strategy", "")), props.get(STRATEGY, ""))
    offset, zone = str(settings.get("time_zone", "")), props.get(ZONE)
    if offset and not offset.startswith("GMT"):
        faults["time_zone"] = f"timeZone must begin with GMT, or Java refuses it; {ZONE} takes any zone"
    elif zone:
        try:
            settings["time_zone"] = zone if _agree(offset, _offsets(zone)) else offset
        except CronError as error:
            why = error if secrets.masked(zone) == zone else "unknown"
            faults["time_zone"] = f"{ZONE}: {why}"


def _strategy(elasticjobs: str, ours: str) -> str:
    if not elasticjobs:
        return ours or str(_DEFAULTS["strategy"])
    return elasticjobs if elasticjobs.upper() in ELASTICJOB_STRATEGIES else FOREIGN + elasticjobs


def _props(node: Node, faults: dict[str, str]) -> dict[str, str]:
    props = {}
    for key, value in beans.settings(node).items():
        try:
            props[key] = beans.prop(value)
        except ValueError as error:
            faults[f"props[{key}]"] = f"props[{secrets.masked(key)[:100]!r}] {error}"
    return props


def _words(node: Node) -> tuple[str, ...]:
    words = [beans.text(each) for each in beans.items(node)]
    if None in words:
        raise ValueError("must not have an empty entry")
    return tuple(word for word in words if word is not None)


_READERS: dict[str, Callable[[Node], object]] = {
    **dict.fromkeys(("shards", "max_time_diff_seconds", "reconcile_interval_minutes"), beans.whole),
    **dict.fromkeys(("monitor_execution", "failover", "misfire"), beans.truth),
    **dict.fromkeys(("disabled", "overwrite", "static_sharding"), beans.truth),
    "listeners": _words,
    "extra_configurations": beans.items,
}


# Zones, as far from Greenwich as they are


def _as_offset(zone: str) -> str | None:
    """A zone in ElasticJob's words; None if its clocks are ever changed."""
    if zone.startswith("GMT"):
        return zone
    offset, *others = _offsets(zone)
    minutes, rest = divmod(abs(offset), timedelta(minutes=1))
    if others or rest:
        return None
    return f"GMT{'-' if offset < timedelta() else '+'}{minutes // 60:02}:{minutes % 60:02}"


def _agree(offset: str, offsets: Collection[timedelta]) -> bool:
    """Whether `timeZone` says nothing, or a distance that the zone has at some time of the year."""
    try:
        return not offset or zones.find(offset).utcoffset(None) in offsets
    except CronError:
        return False


@lru_cache
def _offsets(zone: str) -> frozenset[timedelta]:
    """How far from Greenwich a zone is, week by week, from the year of writing to where the tables end."""
    where, start = zones.find(zone), datetime(2026, 1, 1, tzinfo=UTC)
    moments = (start + timedelta(weeks=week) for week in range(12 * 52))
    return frozenset(zones.offset(where, moment.astimezone(where)) for moment in moments)
