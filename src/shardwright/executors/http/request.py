"""The request: what is sent for one shard, with what its references stand for.

The header `shardingContext` is ElasticJob's. Java sends what is beyond ASCII in the bytes of its own file
encoding, and servers read those as Latin-1 or as UTF-8, as they like: only ASCII arrives everywhere. So the
rest goes as JSON's own `\\uXXXX`, which is the same to whoever reads the JSON.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ... import references, secrets
from ...errors import Failed
from ...shard import Shard
from . import hidden, settings
from .hidden import Hidden

_REFERENCE = re.compile(r"\$\{(?:env|file):[^{}]*\}")


@dataclass(frozen=True, slots=True)
class Header:
    name: str
    value: str
    is_private: bool = False
    """Whether it is for the first server's eyes only."""


@dataclass(frozen=True, slots=True)
class Request:
    url: str
    method: str
    headers: tuple[Header, ...]
    data: bytes | None
    hidden: Hidden


def made(
    method: str,
    uri: str,
    headers: Iterable[tuple[str, str]],
    data: str | None,
    content_type: str | None,
    shard: Shard,
) -> Request:
    """What is sent for a shard."""
    resolver = _Resolver()
    url = resolver.resolved(uri, "http.uri")
    sent = _headers(headers, resolver)
    body = resolver.resolved(data, "http.data").encode(errors="surrogateescape") if data else None
    secret = {*resolver.found, *hidden.of_query(url)}
    secret.update(header.value for header in sent if secrets.looks_secret(header.name))
    if references.has_any(uri):
        secret.update(hidden.of_secret_url(url))
    sent.append(Header("shardingContext", _ascii(shard.sharding_context())))
    if content_type is not None or body is not None:
        sent.append(Header("Content-Type", content_type or "application/x-www-form-urlencoded"))
    return Request(url, method, tuple(sent), body, Hidden.of(secret))


class _Resolver:
    """Puts in what references stand for, and keeps in mind what that was."""

    def __init__(self) -> None:
        self.found: set[str] = set()

    def resolved(self, text: str, key: str) -> str:
        def one(reference: re.Match[str]) -> str:
            secret = references.resolve(reference[0], key=key)
            self.found.add(secret)
            return secret

        return _REFERENCE.sub(one, text)


def _headers(headers: Iterable[tuple[str, str]], resolver: _Resolver) -> list[Header]:
    given = list(headers)
    private = {name for name, value in given if secrets.looks_secret(name) or references.has_any(value)}
    sent = [Header(name, resolver.resolved(value, name), name in private) for name, value in given]
    for header in sent:
        if why := settings.header_value_fault(header.value):
            raise Failed(f"the header {header.name}, as it was found by its reference, {why}")
    return sent


def _ascii(text: str) -> str:
    """JSON with nothing in it but ASCII that can be seen, and the same to whoever reads it."""
    return re.sub(r"[^ -~]", lambda found: _escaped(found[0]), text)


def _escaped(letter: str) -> str:
    halves = letter.encode("utf-16-be", "surrogatepass").hex(" ", 2).split()
    return "".join(f"\\u{half}" for half in halves)
