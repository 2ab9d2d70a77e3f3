"""The catalogue: which types of handler there are, by the names that `error_handler` has for them."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from .. import secrets, sentences, trust
from ..clock import Clock
from ..egress import Egress
from ..errors import ConfigError
from ..jobs import JobConfig, title
from . import dingtalk, feishu, ignore, log, mail, properties, slack, throw, webhook, wechat
from .handler import Check, Factory
from .settings import Settings

#: What a job has that names none.
DEFAULT = "LOG"

#: What is done where it happens, at once and every time: nothing is sent anywhere.
LOCAL = frozenset({"LOG", "IGNORE", "THROW"})


@dataclass(frozen=True)
class Type:
    """How a handler is made, and its settings are checked."""

    factory: Factory
    check: Check
    places: tuple[str, ...] | None = None
    """Which props say where it sends to; None: any may."""


_OURS: dict[str, tuple[Factory, tuple[properties.Property, ...]]] = {
    "LOG": (log.Log, log.PROPERTIES),
    "IGNORE": (ignore.Ignore, ignore.PROPERTIES),
    "THROW": (throw.Throw, throw.PROPERTIES),
    "EMAIL": (mail.Mail, mail.PROPERTIES),
    "WECHAT": (wechat.WeChat, wechat.PROPERTIES),
    "DINGTALK": (dingtalk.DingTalk, dingtalk.PROPERTIES),
    "SLACK": (slack.Slack, slack.PROPERTIES),
    "FEISHU": (feishu.Feishu, feishu.PROPERTIES),
    "WEBHOOK": (webhook.Webhook, webhook.PROPERTIES),
}
#: The props that the handlers which come with us read.
KEYS = frozenset(each.key for _, known in _OURS.values() for each in known)

TYPES = {
    name: Type(factory, partial(properties.faults, known), tuple(each.key for each in known if each.place))
    for name, (factory, known) in _OURS.items()
}


def register(
    name: str,
    factory: Factory,
    check: Check | None = None,
    *,
    places: Iterable[str] | None = None,
    replace: bool = False,
) -> None:
    """Add a type of handler, at start-up and in every process that runs jobs.

    `factory` makes a handler from a job's `Settings`; `check` says what is wrong with a job's props, a
    sentence each. `places` are the props that say where it sends to: where those are not as the program
    declares them, the job's secrets are withheld from it; unless you name them, all props are taken for such.
    A name that is taken stays with who has it, unless you `replace` them; LOG, IGNORE and THROW are never
    given away.
    """
    if not re.fullmatch(r"[A-Za-z][\w.-]{0,99}", name, re.ASCII):
        raise ConfigError("a handler's name must be letters, digits, _ . and - only, and begin with a letter")
    if name in LOCAL or (name in TYPES and not replace):
        hint = "" if name in LOCAL else ", or say replace=True"
        raise ConfigError(f"there is a handler {name!r} already; choose another name{hint}")
    if isinstance(places, str):
        raise ConfigError(f"places is a list of props: write ({places!r},)")
    TYPES[name] = Type(factory, check or (lambda props: ()), None if places is None else tuple(places))


def type_of(config: JobConfig) -> str:
    """The type that a job's alerts are handled by here. One that only others know of, as a Java member may,
    is no reason to lose them: they are logged."""
    name = config.error_handler or DEFAULT
    return name if name in TYPES else DEFAULT


def settings_of(config: JobConfig, declared: JobConfig | None, *, clock: Clock, egress: Egress) -> Settings:
    """The settings of a job as its handler may have them, in a process that declares it like this, or not at
    all."""
    places = TYPES[type_of(config)].places
    if declared is None:
        held = trust.withheld(config.props, None, places, ())
        return Settings(config.props, clock, withheld=held, egress=egress)
    elsewhere = trust.moved(config.props, declared.props, places)
    if (config.error_handler or DEFAULT) != (declared.error_handler or DEFAULT):
        elsewhere = ("error_handler", *elsewhere)
    return Settings(
        config.props,
        clock,
        declared=declared.props,
        withheld=trust.withheld(config.props, declared.props, places, elsewhere),
        egress=egress if elsewhere else None,
    )


def check(config: JobConfig) -> None:
    """Raise a `ConfigError` with all that is wrong with a job's handler and its properties. References in
    them are not resolved."""
    found = list(_faults(config))
    if found:
        raise ConfigError(f"{title(config.name)}: {sentences.together(found)}")


def _faults(config: JobConfig) -> Iterator[str]:
    name = config.error_handler or DEFAULT
    if name not in TYPES:
        yield _unknown(name)
        return
    faults: list[str] = []
    try:
        faults = list(TYPES[name].check(config.props))
    except Exception as error:  # a user's own; whatever it says may hold what it was given
        faults = [f"the check of {name} failed ({type(error).__name__})"]
    yield from (secrets.masked(fault) for fault in faults)


def _unknown(name: str) -> str:
    meant = properties.nearest(name, TYPES)
    hint = f" (did you mean {meant!r}?)" if meant else f": there are {', '.join(TYPES)}"
    return (
        f"there is no error_handler {secrets.masked(name)[:100]!r}{hint}; add your own with alerts.register"
    )
