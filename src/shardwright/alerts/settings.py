"""Settings: what a job tells its handler, by ElasticJob's property names.

A value is read when it is used, and a reference in it resolved then: nothing resolved is kept here. What a
secret setting holds can be kept out of a text by its value too (`hide`), wherever the text got it from. What
somebody wrote into the registry and the program itself did not declare is withheld: see `trust`.
"""

import json
from collections.abc import Iterator, Mapping
from urllib.parse import parse_qsl, quote, quote_plus, urlsplit

from .. import references, secrets, trust
from ..clock import Clock
from ..egress import Egress
from ..errors import ConfigError
from . import values
from .alert import beginning

_TELLING = 4  # a value shorter than this is found in many a word
_TELLING_IN_PART = 8


class Settings:
    """The props of one job, as its handler reads them."""

    def __init__(
        self,
        props: Mapping[str, str],
        clock: Clock,
        *,
        declared: Mapping[str, str] | None = None,
        withheld: Mapping[str, str] | None = None,
        egress: Egress | None = None,
    ) -> None:
        self._withheld = withheld or {}
        """What may not be used, and why."""
        self.props = {key: value for key, value in props.items() if key not in self._withheld}
        self.clock = clock
        self.egress = egress
        """Where something may be sent to; None: to the place that they name, as the program itself declares
        it."""
        self._declared = declared or {}

    def text(self, key: str, default: str = "") -> str:
        """What stands under a key, references resolved."""
        if key in self._withheld:
            raise ConfigError(self._withheld[key])
        return references.resolve(self.props.get(key, ""), key=key) or default

    def needed(self, key: str) -> str:
        """What must stand under a key."""
        text = self.text(key)
        if not text:
            raise ConfigError(f"{key} is missing, or what it refers to is empty")
        return text

    def number(self, key: str, default: int = 0) -> int:
        return int(self.valid(key, str(default), values.number_fault))

    def flag(self, key: str, default: bool) -> bool:
        return self.valid(key, str(default), values.flag_fault).lower() == "true"

    def url(self, key: str) -> str:
        return self.valid(key, "", values.url_fault)

    def line(self, key: str, default: str = "") -> str:
        """A text that may stand in a header."""
        return self.valid(key, default, values.line_fault)

    def hide(self, text: str) -> str:
        """A text as people may see it: without the secrets we know, and without what is shaped like one."""
        for value in sorted(set(self._secrets()), key=len, reverse=True):
            text = text.replace(value, secrets.MASK)
        return secrets.masked(beginning(text))

    def valid(self, key: str, default: str, fault_in: values.FaultIn) -> str:
        """What stands under a key and has nothing wrong with it: what a reference gives is seen only now."""
        text = self.text(key, default)
        if fault := fault_in(text):
            raise ConfigError(f"{key} {fault}")
        return text

    def _secrets(self) -> Iterator[str]:
        # Also what is declared and nobody here may use: those whom the registry names are to learn no more.
        for key, written in dict.fromkeys((*self.props.items(), *self._declared.items())):
            if not trust.looks_secret(key) and not references.has_any(written):
                continue
            try:
                value = references.resolve(written, key=key)
            except ConfigError:
                continue  # so nobody here can know what it would have been
            yield from (form for form in _spellings(value) if len(form) >= _TELLING)
            yield from (line for line in value.splitlines() if len(line) >= _TELLING_IN_PART)
            yield from _telling_parts(value)

    def __repr__(self) -> str:
        shown = {secrets.masked(key): secrets.masked(value, key=key) for key, value in self.props.items()}
        return f"Settings({shown})"


def _spellings(value: str) -> Iterator[str]:
    """A text as a URL, an error or a JSON object may have it."""
    sent = value.encode(errors="replace")
    yield from (value, quote(sent), quote(sent, safe=""), quote_plus(sent))
    yield from (repr(value)[1:-1], json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1])


def _telling_parts(url: str) -> Iterator[str]:
    """What gives a URL away if a server or an error repeats only part of it."""
    if values.url_fault(url):
        return
    parts = urlsplit(url)
    pieces = [f"{parts.path}?{parts.query}", parts.path, parts.query, parts.password or ""]
    pieces += [*parts.path.split("/"), *(value for _, value in parse_qsl(parts.query))]
    yield from (piece for piece in pieces if len(piece) >= _TELLING_IN_PART)
