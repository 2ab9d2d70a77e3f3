"""Egress: where a job and its alerts may call, and at which addresses.

A host is resolved once, every address of the answer is checked, and the connection then goes to one of
those: nobody asks a second time, so an answer that changes in between changes nothing. Public addresses are
allowed; whatever else a job is to reach, the operator names.

A URL is read by urllib3's parser alone, and what different programs read differently is refused: an address
in another form than four decimal numbers or one in brackets, a login, a zone, a backslash, a blank, a letter
beyond ASCII in the host.
"""

import re
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from .errors import ConfigError, Failed

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

#: The addresses of a name, as text. It may raise OSError.
Resolver = Callable[[str, int], Sequence[str]]

LONGEST_URL = 8_000

# Our own lists, from IANA's registries of special addresses: those of `ipaddress` differ from one Python to
# the next. An address in neither is public.
_NOT_PUBLIC = [
    ip_network(each)
    for each in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"),
        *("198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
        "168.63.129.16/32",  # Azure answers to its own machines here, metadata among the rest
        *("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"),  # Teredo and 6to4 are among these
    )
]
_PUBLIC_6 = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")

_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"(?=.{{1,254}}\Z){_LABEL}(?:\.{_LABEL})*\.?")
_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)\.?")  # what some programs take for an address
_NOT_IN_A_URL = re.compile(r"[\x00-\x20\x7f-\xa0\\\u2028\u2029\ud800-\udfff]")
_ENTRY = re.compile(r"(?:\[(?P<bracketed>[^\]/]+)\]|(?P<host>[^:/\[\]]+))(?::(?P<port>[0-9]{1,5}))?")
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Place:
    """What a URL points at, before anybody has looked where that is."""

    scheme: str
    host: str
    """In small letters; an IPv6 address without its brackets."""
    port: int
    target: str = field(repr=False)
    """The path and the query, as they are sent."""

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host.rstrip("."), self.port

    @property
    def netloc(self) -> str:
        """Host and port as they stand in a URL and in the header `Host`."""
        host = f"[{self.host}]" if ":" in self.host else self.host.rstrip(".")
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


def read(url: str) -> Place:
    """What a URL points at. ValueError, which does not repeat it, where there is any doubt."""
    from urllib3.exceptions import LocationParseError
    from urllib3.util import parse_url

    if len(url) > LONGEST_URL:
        raise ValueError(f"the URL may be at most {LONGEST_URL:,} characters long, not {len(url):,}")
    if _NOT_IN_A_URL.search(url):
        raise ValueError("the URL holds a blank, a backslash or a control character: write it as %20, %5C …")
    try:
        parsed = parse_url(url)
    except LocationParseError:
        raise ValueError("the URL cannot be read: its host or its port is none") from None
    if parsed.scheme not in _PORTS or not url.lower().startswith(f"{parsed.scheme}://"):
        raise ValueError("the URL must begin with http:// or https://")
    if "@" in url.split("//", 1)[1].split("/")[0].split("?")[0].split("#")[0]:
        raise ValueError("the URL has a login in it: give it as a header, by reference")
    if parsed.port == 0:
        raise ValueError("the URL has port 0, where nobody can listen")
    port = _PORTS[parsed.scheme] if parsed.port is None else parsed.port
    return Place(parsed.scheme, _host(parsed.host or ""), port, parsed.request_uri)


def server(host: str, port: int) -> Place:
    """A server that is named by itself, as that of mail is. ValueError where there is any doubt."""
    try:
        return Place("", _host(f"[{host}]" if ":" in host else host.lower()), port, "")
    except ValueError:
        raise ValueError("it is no name, and no address in its usual form") from None


def _host(text: str) -> str:
    if text.startswith("["):
        if "%" in text:
            raise ValueError("the URL has an address with a zone in it, which no job may call")
        return str(IPv6Address(text[1:-1]))
    if not _NAME.fullmatch(text):
        raise ValueError("the URL has no host that can be looked up: write a name beyond ASCII as xn--…")
    if _NUMBER.fullmatch(text) and not _is_address(text):
        raise ValueError("the URL has an address in an unusual form: write four decimal numbers")
    return text


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def by_system(host: str, port: int) -> tuple[str, ...]:
    """The addresses the system's resolver gives, each once. It takes the time the system lets it."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(address[0]) for *_, address in found))


def is_public(address: Address) -> bool:
    """Whether an address is on the open internet, whatever IPv6 it is wrapped in."""
    plain = _unwrapped(address)
    if isinstance(plain, IPv6Address) and plain.scope_id is not None:
        return False
    if any(plain in network for network in _NOT_PUBLIC):
        return False
    return plain.version == 4 or plain in _PUBLIC_6


def _unwrapped(address: Address) -> Address:
    """The IPv4 address that one of IPv6 stands for, where packets to it end up there."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return IPv4Address(int(address) & 0xFFFFFFFF) if address in _NAT64 else address


@dataclass(frozen=True, slots=True)
class Egress:
    """Where jobs may call."""

    allow: tuple[str, ...] = ()
    """What they may besides: names, addresses and networks, the first two also with a port:
    `billing.internal`, `10.1.0.0/16`, `127.0.0.1:8080`, `[::1]:8080`. A name is allowed wherever it is."""
    public: bool = True
    """Whether they may call what is public, without its being named."""
    resolve: Resolver = field(default=by_system, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.allow, str):
            raise ConfigError(f"egress: allow is a list of hosts and networks: write ({self.allow!r},)")
        object.__setattr__(self, "allow", tuple(self.allow))
        for entry in self.allow:
            _Allowed.of(entry)

    def addresses(self, place: Place) -> tuple[str, ...]:
        """Where to connect to for a place: every address that it has. Failed if one of them may not be
        called."""
        found = self._resolved(place)
        for address in found:
            if not self._allows(place, address):
                raise Failed(
                    f"{place.host} is at {address}, where jobs may not call: "
                    f"if it is meant, have the operator allow it, as in http_allowed=[{place.host!r}]"
                )
        return tuple(str(address) for address in found)

    def _resolved(self, place: Place) -> list[Address]:
        if _is_address(place.host):
            return [ip_address(place.host)]
        try:
            found = [ip_address(each) for each in self.resolve(place.host, place.port)]
        except OSError as error:
            raise Failed(f"the name {place.host} cannot be resolved: {error.strerror}") from None
        except ValueError:
            raise Failed(f"the name {place.host} resolves to something that is no address") from None
        if not found:
            raise Failed(f"the name {place.host} has no address")
        return found

    def _allows(self, place: Place, address: Address) -> bool:
        if self.public and is_public(address):
            return True
        return any(_Allowed.of(entry).covers(place, address) for entry in self.allow)


@dataclass(frozen=True, slots=True)
class _Allowed:
    """One entry of the list."""

    name: str | None
    network: Network | None
    port: int | None

    @classmethod
    def of(cls, entry: str) -> "_Allowed":
        whole = _network(entry)
        if whole is not None:
            return cls(None, whole, None)
        found = _ENTRY.fullmatch(entry)
        host = (found["host"] or found["bracketed"]).lower().rstrip(".") if found else ""
        port = int(found["port"]) if found and found["port"] else None
        address = _network(host)
        is_name = _NAME.fullmatch(host) is not None and _NUMBER.fullmatch(host) is None
        if not (address or is_name) or (port is not None and not 1 <= port <= 65535):
            raise ConfigError(
                f"egress: {entry!r:.100} is no host, network or host:port, such as billing.internal, "
                "10.1.0.0/16 or 127.0.0.1:8080"
            )
        return cls(None if address else host, address, port)

    def covers(self, place: Place, address: Address) -> bool:
        if self.port not in (None, place.port):
            return False
        if self.name is not None:
            return self.name == place.host.rstrip(".")
        return self.network is not None and (address in self.network or _unwrapped(address) in self.network)


def _network(text: str) -> Network | None:
    try:
        return ip_network(text)
    except ValueError:
        return None
