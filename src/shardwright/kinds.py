"""The kinds of value a job's setting can have: what is taken for one, and what is refused.

A refusal is a `ValueError` that goes on after the setting's name (see `sentences`).
"""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, WithJsonSchema

from . import durations, schedule, secrets, snakeyaml, zones
from .cron import Cron
from .errors import ConfigError, CronError

#: ElasticJob's own sharding strategies.
ELASTICJOB_STRATEGIES = ("AVG_ALLOCATION", "ODEVITY", "ROUND_ROBIN", "SINGLE_SHARDING_BALANCE")

#: How a strategy begins that only the Java members of a cluster have: `java:THEIR_NAME`.
FOREIGN = "java:"

K = TypeVar("K", int, str)
T = TypeVar("T")

_OTHERS = ("every", "crontab", "once")

_NOT_IN_NAMES = "/@()[]{}+*?^$|\\"
_NOT_IN_PATHS = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\U0010ffff]")  # ZooKeeper refuses these
_BLANK = "".join(map(chr, range(33)))  # what Java's trim() takes away
_ITEM = re.compile(r"\s*([+-]?\d{1,9})\s*=([^=,]*)", re.ASCII)


class Frozen(Mapping[K, str]):
    """A mapping that does not change, so that a config can be hashed, copied and sent to another process."""

    __slots__ = ("_texts",)

    def __init__(self, texts: Mapping[K, str]) -> None:
        self._texts: dict[K, str] = dict(texts)

    def __getitem__(self, key: K) -> str:
        return self._texts[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)

    def __hash__(self) -> int:
        return hash(frozenset(self._texts.items()))

    def __repr__(self) -> str:
        return repr({secrets.masked(str(key)): secrets.masked(self[key], key=str(key)) for key in self})


def _job_name(name: str) -> str:
    """One segment of a path that is also safe in ElasticJob's regular expressions and task ids."""
    bad = [char for char in _NOT_IN_NAMES if char in name]
    faults = {
        "must not be empty, nor begin or end with a blank": not name or name != name.strip(),
        "must not be . or ..": name in (".", ".."),
        f"must not contain {' '.join(bad)}": bool(bad),
        "must not contain control characters or what else ZooKeeper refuses": _NOT_IN_PATHS.search(name),
        "must not contain ~shardwright, which marks our own nodes": "~shardwright" in name,
        "may be at most 100 characters long": len(name) > 100,
    }
    if any(faults.values()):
        raise ValueError(" and ".join(fault for fault, found in faults.items() if found))
    return name


def _quartz(text: str) -> str:
    if text.split()[:1] in [[kind] for kind in _OTHERS]:
        raise ValueError("must be a Quartz expression; give others as schedule")
    if len(text.split()) == 5:
        raise ValueError(f"has five fields; Quartz wants six or seven, seconds first{_unix_hint(text)}")
    _checked(Cron, text)
    return text


def _other_schedule(text: str) -> str:
    if text.split()[:1] not in [[kind] for kind in _OTHERS]:
        hint = _unix_hint(text) or "; give a Quartz expression as cron"
        raise ValueError(f"must begin with every, crontab or once{hint}")
    return _checked(schedule.parse, text).text


def _unix_hint(text: str) -> str:
    """How to give this text as the UNIX line that it is, if it is one."""
    try:
        return f'; for a UNIX line give schedule="{schedule.crontab(text.strip()).text}"'
    except CronError:
        return ""


def _zone(name: str) -> str:
    _checked(zones.find, name)
    return name


def _checked(read: Callable[[str], T], text: str) -> T:
    """What a text says. What is wrong is told in its own words, as nobody could find the fault without them,
    unless they seem to hold a secret."""
    try:
        return read(text)
    except CronError:
        if secrets.masked(text) == text:
            raise
    raise ValueError("is not understood, nor repeated here: it seems to hold a secret")


def _strategy(name: str) -> str:
    known = name.removeprefix(FOREIGN).upper()
    if known in ELASTICJOB_STRATEGIES:
        return known
    if not re.fullmatch(r"java:.+|\w[\w.-]*", name):
        raise ValueError("must be a name of letters, digits, _ . and - only")
    return name


def _nothing(value: object) -> object:
    return None if value == "" else value


def _number(value: object) -> object:
    return int(value) if isinstance(value, str) and re.fullmatch(r"-?\d{1,10}", value, re.ASCII) else value


def _tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def _dict(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else value


def _frozen(value: Mapping[K, str]) -> Mapping[K, str]:
    return Frozen(value)


def _items(value: object) -> object:
    """`0=a,1=b` as a mapping; ElasticJob does not mind blanks, or a comma at the end."""
    if not isinstance(value, str):
        return _dict(value)
    found: dict[int, str] = {}
    for part in value.rstrip(",").split(",") if value else ():
        pair = _ITEM.fullmatch(part)
        if not pair:
            raise ValueError("must read like 0=a,1=b: a whole number, one = and a text for each")
        if int(pair[1]) in found:
            raise ValueError(f"must not have item {int(pair[1])} twice")
        found[int(pair[1])] = pair[2].strip(_BLANK)
    return found


def _writable(items: Mapping[int, str]) -> Mapping[int, str]:
    if any(not text or text != text.strip(_BLANK) or "," in text or "=" in text for text in items.values()):
        raise ValueError(
            "must be texts that are not empty, have no blanks around them, and no , or = in them"
        )
    return _frozen(items)


def _nodes(value: object) -> object:
    if not isinstance(value, list | tuple) or not all(isinstance(each, snakeyaml.Node) for each in value):
        raise ValueError("must be a list of YAML nodes (see shardwright.snakeyaml)")
    try:
        snakeyaml.write(snakeyaml.Items((snakeyaml.Items(tuple(value)),)))
    except ConfigError as error:
        raise ValueError(str(error)) from None
    return tuple(value)


JobName = Annotated[str, AfterValidator(_job_name)]
Text = Annotated[str, Field(max_length=16_000)]
Word = Annotated[str, Field(min_length=1, max_length=500)]
MaybeWord = Annotated[Word | None, BeforeValidator(_nothing)]
Words = Annotated[tuple[Word, ...], BeforeValidator(_tuple)]
Quartz = Annotated[Annotated[Word, AfterValidator(_quartz)] | None, BeforeValidator(_nothing)]
Schedule = Annotated[Annotated[Word, AfterValidator(_other_schedule)] | None, BeforeValidator(_nothing)]
Zone = Annotated[Annotated[Word, AfterValidator(_zone)] | None, BeforeValidator(_nothing)]
Strategy = Annotated[Word, AfterValidator(_strategy)]
Number = Annotated[int, BeforeValidator(_number)]
MaybeCount = Annotated[Annotated[Number, Field(ge=1, le=2**31 - 1)] | None, BeforeValidator(_nothing)]
Length = Annotated[
    timedelta,
    BeforeValidator(durations.read),
    PlainSerializer(durations.text, when_used="json"),
    WithJsonSchema({"type": "string", "examples": ["30s", "5m", "1h30m"]}),
]
MaybeLength = Annotated[Length | None, BeforeValidator(_nothing)]
ItemTexts = Annotated[
    Mapping[int, Text], BeforeValidator(_items), AfterValidator(_writable), PlainSerializer(dict)
]
Props = Annotated[Mapping[Word, Text], BeforeValidator(_dict), AfterValidator(_frozen), PlainSerializer(dict)]
Nodes = Annotated[tuple[snakeyaml.Node, ...], BeforeValidator(_nodes), WithJsonSchema({"type": "array"})]
