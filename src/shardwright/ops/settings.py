"""Settings: what a job's say, and what a change would make of them. Nothing is written here."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from .. import elasticjob, secrets
from ..coordination import settings
from ..errors import ConfigError, NotValid, Overtaken
from ..jobs import ELASTICJOB, JobConfig
from ..registry import Registry
from . import looking
from .looking import Sight
from .values import Shown, plain

#: How a text begins that sets one of the props: `props.http.uri`.
PROP = "props."

#: More digits than this are no number that anybody has; Python would not even read all of them.
_NUMBER = re.compile(r"-?\d{1,30}")
_TRUTHS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_NAMES = {wire: name for name, wire in ELASTICJOB.items()} | {name: name for name in JobConfig.model_fields}


@dataclass(frozen=True, slots=True)
class Settings:
    """A job's settings as they are in the registry. The text may hold secrets; `config.masked()` shows
    none."""

    job: str
    config: JobConfig
    text: str = field(repr=False)
    version: int
    """The number of the commit that wrote them, which a job that is made anew does not have again."""


@dataclass(frozen=True, slots=True)
class Change(Shown):
    """One setting that is, or would be, another one; secrets masked."""

    setting: str
    old: object
    new: object

    def sentence(self) -> str:
        return f"{self.setting}: {_said(self.old)} -> {_said(self.new)}"


def get(registry: Registry, job: str) -> Settings:
    """A job's settings; refused where they make no sense, with what is wrong with them."""
    return seen(looking.at(registry, job))


def seen(sight: Sight) -> Settings:
    node = sight.job.node(settings.NODE) if settings.NODE in sight.job else None
    text, version = (node.data, node.written) if node is not None else ("", 0)
    return Settings(sight.name, sight.settings, text, version)


def diff(registry: Registry, job: str, changes: Mapping[str, object]) -> tuple[Change, ...]:
    """What these changes would do, by name; refused as the change itself would be."""
    before = get(registry, job).config
    return changed(before, after(before, changes))


def changed(before: JobConfig, after: JobConfig) -> tuple[Change, ...]:
    """Which settings differ, in the order in which they are documented."""
    old, new, values = before.masked(), after.masked(), dict(after)
    names = [name for name, value in before if value != values[name]]
    return tuple(Change(name, plain(old[name]), plain(new[name])) for name in names)


def after(before: JobConfig, changes: Mapping[str, object]) -> JobConfig:
    """The settings with these changes, all faults told at once. What Java members wrote that we do not know
    stays as it is."""
    if not changes:
        raise NotValid(f"job {before.name!r}: there is nothing to change; name a setting and its value")
    twice = [name for name in changes if _NAMES.get(name, name) != name and _NAMES[name] in changes]
    if twice:
        both = ", ".join(f"{_NAMES[name]} is {name}" for name in twice)
        raise NotValid(
            f"job {before.name!r}: a setting is there twice, under both its names: {both}; give it once"
        )
    named = {_NAMES.get(name, name): value for name, value in changes.items()}
    if named.get("name", before.name) != before.name:
        raise NotValid(
            f"job {before.name!r}: a job's name does not change; remove it and declare one with the new name"
        )
    try:
        return before.replace(**named)
    except ConfigError as error:
        raise NotValid(str(error)) from None


def check_version(found: Settings, version: int | None) -> None:
    """Refuse to go by settings that somebody has changed since they were read."""
    if version not in (None, found.version):
        raise Overtaken(
            f"the settings of the job {found.job!r} were changed since they were read; look again"
        )


def answered(before: JobConfig, changes: Mapping[str, object]) -> dict[str, object]:
    """Changes as somebody answers with them who was shown the settings masked: what comes back as it was
    shown stays as it is. `props.<key>` is one of the props, and None takes it away."""
    shown, known = before.masked(), dict(before)
    told: dict[str, object] = {}
    props: dict[str, object] = {}
    for name, value in changes.items():
        setting = named(name)
        if name.startswith(PROP):
            props[name.removeprefix(PROP)] = value
        elif isinstance(value, Mapping) and isinstance(shown.get(setting), dict):
            texts = _numbered(value) if setting == "item_parameters" else value
            told[name] = _unmasked(known[setting], texts)
        else:
            told[name] = known[setting] if setting in shown and shown[setting] == value else value
    if props:
        if "props" in changes:
            raise NotValid(f"job {before.name!r}: change the props one by one, or all of them, not both")
        told["props"] = _with(before.props, props)
    return told


def _numbered(told: Mapping[Any, object]) -> dict[Any, object]:
    """In JSON all keys are texts, also those that are numbers."""
    return {int(key) if _NUMBER.fullmatch(str(key)) else key: value for key, value in told.items()}


def _unmasked(known: object, told: Mapping[Any, object]) -> dict[Any, object]:
    """Texts by their keys, with what is meant by those that are masked."""
    meant = known if isinstance(known, Mapping) else {}
    answer: dict[Any, object] = {}
    for key, value in told.items():
        text = meant.get(key)
        masked = isinstance(text, str) and value == secrets.masked(text, key=str(key))
        answer[key] = text if masked else value
    return answer


def _with(known: Mapping[str, str], told: Mapping[str, object]) -> dict[str, object]:
    changed: dict[str, object] = dict(known)
    changed.update({str(key): value for key, value in _unmasked(known, dict(told)).items()})
    return {key: value for key, value in changed.items() if value is not None}


def document(config: JobConfig) -> str:
    """The settings as they are written."""
    try:
        return elasticjob.write_config(config)
    except ConfigError as error:
        raise NotValid(str(error)) from None


def named(name: str) -> str:
    """A setting by its name in `JobConfig`, whether it was called by that or by ElasticJob's."""
    return _NAMES.get(name, name)


def spelled(texts: Mapping[str, str], config: JobConfig) -> dict[str, object]:
    """Changes from texts, as people type them: `shards` `4`, `failover` `yes`, `listeners` `a,b`,
    `props.http.uri` `https://…`. Nothing after `props.<key>` takes that one away."""
    props = dict(config.props)
    changes: dict[str, object] = {}
    for name, text in texts.items():
        key = name.removeprefix(PROP)
        if key == name:
            changes[name] = _value(named(name), text)
            continue
        changes["props"] = props
        if text:
            props[key] = text
        else:
            props.pop(key, None)
    return changes


def _value(setting: str, text: str) -> object:
    """A text as the kind of value that a setting has; what it cannot be is told when it is checked."""
    if setting == "listeners":
        return tuple(word.strip() for word in text.split(",") if word.strip())
    known = JobConfig.model_fields.get(setting)
    kinds = {known.annotation, *get_args(known.annotation)} if known is not None else set()
    if bool in kinds:
        return _TRUTHS.get(text.strip().lower(), text)
    if int in kinds and _NUMBER.fullmatch(text.strip()):
        return int(text)
    return None if text == "" and type(None) in kinds else text


def _said(value: object) -> str:
    return "unset" if value is None else repr(value)
