"""Addresses of registries: one line of text that says where the tree is kept and how to get in.

    memory://[name][/namespace]               session_timeout
    sqlite:///absolute/path.db                namespace, session_timeout, end_stopped
    zookeeper://[user:password@]host[:port],…[/name/space]
                                              session_timeout, auth, tls, tls_ca, tls_cert, tls_key,
                                              tls_key_password, tls_verify, tls_check_hostname,
                                              switch_interval, largest

Options follow a question mark: `?session_timeout=10s&tls_ca=/etc/ssl/zk.pem`. `end_stopped=true` ends a
process that was stopped with the file's lock in its hands; `auth` is `digest` (the default where there are
credentials) or `sasl`; any option about TLS asks for it; `largest` is the server's jute.maxbuffer;
`switch_interval` is how long busy user code may hold the interpreter (0.5 ms at most unless given).
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from ..errors import MissingExtra, RegistryUrlError
from .writes import check_path

if TYPE_CHECKING:
    from .driver import Driver
    from .memory import Store

#: Where a process finds its registry if it is not told.
VARIABLE = "SHARDWRIGHT_REGISTRY"

DEFAULT_NAMESPACE = "/shardwright"

_STORES: "dict[str, Store]" = {}

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0}


@dataclass(frozen=True)
class Address:
    """An address taken apart. Its secrets are kept out of everything that is printed."""

    scheme: str
    hosts: str
    path: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        who = f"{self.user}:***@" if self.user is not None else ""
        return f"{self.scheme}://{who}{self.hosts}{self.path}"

    def seconds(self, option: str, default: float) -> float:
        """A length of time such as `10s`, `1.5s`, `500ms` or `2m`."""
        text = self.options.get(option)
        if text is None:
            return default
        unit = next((unit for unit in _UNITS if text.endswith(unit)), "")
        number = text.removesuffix(unit)
        try:
            seconds = float(number) * _UNITS.get(unit, 1.0)
        except ValueError:
            seconds = -1.0
        if not 0.0 < seconds < 1e6:
            raise RegistryUrlError(f"{self}: {option}={text!r} is not a length of time such as 10s or 500ms")
        return seconds

    def yes(self, option: str, default: bool = False) -> bool:
        text = self.options.get(option)
        if text is None:
            return default
        if text.lower() not in ("true", "false", "yes", "no", "1", "0"):
            raise RegistryUrlError(f"{self}: {option}={text!r} must be true or false")
        return text.lower() in ("true", "yes", "1")

    def number(self, option: str, default: int, *, least: int = 1) -> int:
        text = self.options.get(option, str(default))
        if not (text.isascii() and text.isdigit() and int(text) >= least):
            raise RegistryUrlError(f"{self}: {option}={text!r} is not a whole number from {least} on")
        return int(text)

    def only(self, *known: str) -> None:
        """Raise where an option is not one of these."""
        for option in self.options:
            if option not in known:
                raise RegistryUrlError(f"{self}: there is no option {option!r}; there are {', '.join(known)}")


def found(address: str | None = None) -> str:
    """The address to use: the given one, else the environment's, else an SQLite file in the working folder,
    so that processes that are started there are one cluster."""
    return address or os.environ.get(VARIABLE) or f"sqlite://{Path.cwd() / 'shardwright.db'}"


def parse(url: str) -> Address:
    """Take an address apart, or say what is wrong with it. Never repeats a password."""
    if not isinstance(url, str) or "\0" in unquote(url):
        raise RegistryUrlError("a registry's address is a text such as sqlite:///var/lib/app/registry.db")
    scheme, mark, rest = url.partition("://")
    if not mark or not (scheme.isascii() and scheme.isalnum()):
        raise RegistryUrlError(
            "a registry's address begins with memory://, sqlite:/// or zookeeper://, "
            "for example sqlite:///var/lib/app/registry.db; this one does not"
        )
    scheme = scheme.lower()
    place, _, query = rest.partition("?")
    authority, slash, path = place.partition("/")
    if "@" in unquote(path + query) and (authority or scheme != "sqlite"):
        # Most likely a password with a slash or a question mark in it, so none of this may be repeated.
        raise RegistryUrlError(
            f"{scheme}://…: after the servers @ is written as %40, and in a password / as %2F and ? as %3F"
        )
    credentials, _, hosts = authority.rpartition("@")
    user, colon, password = credentials.partition(":")
    if credentials and not (user and colon and password):
        raise RegistryUrlError(f"{scheme}://…@{hosts}: credentials are written as user:password@")
    return Address(
        scheme,
        hosts,
        unquote(slash + path),
        unquote(user) if credentials else None,
        unquote(password) if credentials else None,
        _options(query, f"{scheme}://{hosts}{slash}{path}"),
    )


def _options(query: str, where: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for option in query.split("&") if query else ():
        name, equals, value = option.partition("=")
        if not (name and equals):
            raise RegistryUrlError(f"{where}: options are written as ?name=value&name=value")
        if name in options:
            raise RegistryUrlError(f"{where}: the option {name!r} is there twice")
        options[name] = unquote(value)
    return options


def connect(url: str, *, patience: float = 10.0) -> "Driver":
    """Open the registry at an address, and wait until it answers.

    `patience` is how long any answer is waited for before it is given up on.
    """
    address = parse(url)
    match address.scheme:
        case "memory":
            return _memory(address, patience)
        case "sqlite":
            from . import sqlite

            return sqlite.open_at(address, patience)
        case "zookeeper" | "zk":
            try:
                from . import zookeeper
            except ModuleNotFoundError as missing:
                if missing.name is None or missing.name.split(".")[0] != "kazoo":
                    raise
                raise MissingExtra(
                    "ZooKeeper needs the extra 'zookeeper': pip install 'shardwright[zookeeper]'"
                ) from missing
            return zookeeper.open_at(address, patience)
    raise RegistryUrlError(
        f"{address}: there is no registry called {address.scheme!r}; there are memory, sqlite, zookeeper"
    )


def namespace_of(text: str) -> str:
    """A namespace as a path: `prod`, `/prod/eu`; the default where none is named."""
    inner = text.strip("/")
    namespace = f"/{inner}" if inner else DEFAULT_NAMESPACE
    try:
        check_path(namespace)
    except ValueError as wrong:
        raise RegistryUrlError(f"the address names a namespace that cannot be: {wrong}") from wrong
    return namespace


def _memory(address: Address, patience: float) -> "Driver":
    """A name is shared within this process, so that replicas in one test find each other; without one
    the store is nobody else's."""
    from .memory import Store

    address.only("session_timeout")
    store = _STORES.setdefault(address.hosts, Store()) if address.hosts else Store()
    return store.connect(
        namespace=namespace_of(address.path),
        timeout=address.seconds("session_timeout", 10.0),
        patience=patience,
    )
