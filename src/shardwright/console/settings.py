"""What the console is told at its start: by options, and by the table [console] of shardwright.toml.

Registries are named here and nowhere else: it never connects to an address that somebody has typed into a
browser.
"""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..errors import ConfigError
from .roles import Role

#: ElasticJob's console is found at this port, too.
PORT = 8088
HOST = "127.0.0.1"

#: What a single registry is called that was given no name.
ONLY = "main"

_NAMED = re.compile(r"([A-Za-z0-9_][\w.-]{0,99})=(.+)", re.DOTALL)
_ROOT_PATH = re.compile(r"(/[\w.~-]+)+", re.ASCII)


class Said(BaseModel):
    """A table of the file; what it does not know is refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


class SaidRegistry(Said):
    """One registry, with the history that goes with it."""

    registry: str
    history: str | None = None


class SaidOidc(Said):
    """A provider that vouches for people, by OpenID Connect."""

    issuer: str
    client_id: str
    client_secret: str | None = None
    """As a reference, such as `${env:OIDC_SECRET}`."""
    label: str = "Single sign-on"
    scope: str = "openid profile email"
    user_claim: str = "preferred_username"
    role_claim: str = "groups"
    roles: Annotated[dict[str, dict[str, str]], Field(min_length=1)]
    """By what the claim says: the roles by registry."""


class SaidConsole(Said):
    """The table [console]."""

    registries: dict[str, str | SaidRegistry] = {}
    accounts: str | None = None
    host: str | None = None
    port: Annotated[int, Field(ge=0, le=65535)] | None = None
    root_path: str | None = None
    proxy: bool = False
    tls_cert: str | None = None
    tls_key: str | None = None
    oidc: SaidOidc | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """A registry that the console shows, and its history."""

    name: str
    url: str = field(repr=False)
    history: str | Path | None = field(default=None, repr=False)

    @property
    def where(self) -> str | None:
        """Where the history is, whether it is named as a file or by its address."""
        return None if self.history is None else str(self.history).removeprefix("sqlite:///")


@dataclass(frozen=True, slots=True)
class Settings:
    """All that the console is told."""

    places: tuple[Place, ...]
    accounts: Path
    host: str = HOST
    port: int = PORT
    root_path: str = ""
    proxied: bool = False
    tls_cert: Path | None = None
    tls_key: Path | None = None
    oidc: SaidOidc | None = None
    version: str = "0"

    def __post_init__(self) -> None:
        _check_histories(self.places)

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def read(said: object) -> SaidConsole:
    """The table [console] of the file."""
    try:
        console = SaidConsole.model_validate(said)
        _check_names(console.registries)
        return console
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(["console", *(str(each) for each in first["loc"] if each != "SaidRegistry")])
        raise ConfigError(f"{place}: {first['msg'].lower()}") from None


def named(given: tuple[str, ...], what: str) -> dict[str, str]:
    """Addresses by name, from `NAME=ADDRESS`; a single one needs no name."""
    found: dict[str, str] = {}
    for each in given:
        match = _NAMED.fullmatch(each)
        name, address = (match[1], match[2]) if match else (ONLY, each)
        if not match and len(given) > 1:
            raise ConfigError(f"give every {what} a name where there are several: --{what} NAME=ADDRESS")
        if not address.strip():
            raise ConfigError(f"--{what} says nothing")
        if name in found:
            raise ConfigError(f"the {what} {name!r} is given twice")
        found[name] = address
    return found


def _check_histories(places: tuple[Place, ...]) -> None:
    """A history says of which job something is, and not of which registry: one that two share would show the
    jobs of each to those of the other."""
    first: dict[str, str] = {}
    for place in places:
        if place.where is None:
            continue
        other = first.setdefault(place.where, place.name)
        if other != place.name:
            raise ConfigError(
                f"the registries {other!r} and {place.name!r} have one and the same history: give each its "
                "own, as it does not say of which of them a job is"
            )


def _check_names(names: Mapping[str, Any]) -> None:
    for name in names:
        if not _NAMED.fullmatch(f"{name}=x"):
            raise ConfigError(f"{name!r} cannot be the name of a registry: letters, digits, _ . and -")


def checked_root_path(said: str | None) -> str:
    """A path such as /ops, without a slash at its end; the root itself is nothing."""
    path = (said or "").rstrip("/")
    if (path and not _ROOT_PATH.fullmatch(path)) or "/.." in path:
        raise ConfigError(f"--root-path is a path such as /ops, and not {said!r}")
    return path


def checked_roles(said: SaidOidc) -> dict[str, dict[str, Role]]:
    """The roles by what a claim says, if they make sense."""
    try:
        return {group: {at: Role(role) for at, role in roles.items()} for group, roles in said.roles.items()}
    except ValueError as error:
        raise ConfigError(f"console.oidc.roles: {error}: there are {', '.join(Role)}") from None
