"""What may be said of a call: its settings in our words and in ElasticJob's properties, and their faults.

A fault goes on after the name of its setting, and never repeats the setting itself, which may be a secret.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from ... import egress, references, secrets
from ...errors import ConfigError

WITH_DATA = ("POST", "PUT", "DELETE", "PATCH")
METHODS = ("GET", "HEAD", "OPTIONS", *WITH_DATA)

Headers = Iterable[tuple[str, str]] | Mapping[str, str]

_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
_OURS = {"host", "content-length", "transfer-encoding", "connection", "shardingcontext", "content-type", "te"}

_PROPS = {
    "http.uri": "uri",
    "http.method": "method",
    "http.data": "data",
    "http.content.type": "content_type",
    "http.connect.timeout.milliseconds": "connect_timeout",
    "http.read.timeout.milliseconds": "read_timeout",
}
_KEYS = {setting: key for key, setting in _PROPS.items()}
_TIMEOUTS = ("connect_timeout", "read_timeout")
_LONGEST = (2**31 - 1) / 1000  # seconds; a socket counts milliseconds in a C int, as Java does


def of_props(props: Mapping[str, str]) -> dict[str, object]:
    """The settings that ElasticJob's properties stand for; ConfigError with all that is wrong with them."""
    given = {_PROPS[key]: value for key, value in props.items() if key in _PROPS and value}
    found = [f"there is no setting {secrets.masked(key)!r:.100}" for key in _unknown(props)]
    found += [f"{key} is missing" for key in ("http.uri", "http.method") if _PROPS[key] not in given]
    settings: dict[str, object] = {
        name: _seconds(value) if name in _TIMEOUTS else value for name, value in given.items()
    }
    found += [f"{_KEYS[setting]} {why}" for setting, why in faults(settings)]
    if found:
        raise ConfigError("; ".join(found))
    if given["method"].strip().upper() not in WITH_DATA:
        settings.pop("data", None)  # as ElasticJob does
    return settings


def faults(settings: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Each setting at fault, and what is wrong with it."""
    for setting, value in settings.items():
        if setting in _CHECKS and (why := _CHECKS[setting](value)):
            yield setting, why


def pairs(headers: Headers) -> Iterable[tuple[str, str]]:
    """Headers as pairs of a name and a value, however they were given."""
    return headers.items() if isinstance(headers, Mapping) else headers


def header_value_fault(value: object) -> str | None:
    if isinstance(value, str) and all(" " <= each <= "~" or each == "\t" for each in value):
        return None
    return "must be a text in ASCII on one line, as a header carries nothing else"


def _unknown(props: Mapping[str, str]) -> Iterator[str]:
    return (key for key in props if key.startswith("http.") and key not in _PROPS)


def _seconds(milliseconds: str) -> float | None:
    return int(milliseconds) / 1000 if re.fullmatch(r"[0-9]{1,10}", milliseconds.strip()) else None


def _uri_fault(value: object) -> str | None:
    if not isinstance(value, str) or not value:
        return "must be a text that begins with http:// or https://"
    if references.has_any(value):
        return _references_fault(value)  # the rest is seen when it is known
    try:
        egress.read(value)
    except ValueError as error:
        return f"cannot be called: {error}"
    return None


def _method_fault(value: object) -> str | None:
    is_one = isinstance(value, str) and value.strip().upper() in METHODS
    return None if is_one else f"must be one of {', '.join(METHODS)}"


def _data_fault(value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or re.search("[\ud800-\udfff]", value):
        return "must be a text that UTF-8 can carry"
    return _references_fault(value)


def _content_type_fault(value: object) -> str | None:
    return None if value is None else header_value_fault(value)


def _headers_fault(value: object) -> str | None:
    for name, content in value if isinstance(value, tuple) else ():
        if not isinstance(name, str) or not _HEADER.fullmatch(name):
            return "may be named with letters, digits and - only"
        if name.lower() in _OURS:
            return f"may not have {name}, which is sent as the call needs it"
        if why := header_value_fault(content) or _references_fault(content):
            return f"[{name!r}] {why}"
    return None


def _timeout_fault(value: object) -> str | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if is_number and 0 < float(value) <= _LONGEST:  # type: ignore[arg-type]
        return None
    return "must be a length of time above 0, and of 24 days at most"


def _total_timeout_fault(value: object) -> str | None:
    return None if value is None else _timeout_fault(value)


def _limit_fault(value: object) -> str | None:
    is_one = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    return None if is_one else "must be a number of bytes, at least 1"


def _references_fault(value: str) -> str | None:
    return next(references.faults(value, key="has a fault"), None)


_CHECKS: dict[str, Callable[[object], str | None]] = {
    "uri": _uri_fault,
    "method": _method_fault,
    "data": _data_fault,
    "content_type": _content_type_fault,
    "headers": _headers_fault,
    "connect_timeout": _timeout_fault,
    "read_timeout": _timeout_fault,
    "total_timeout": _total_timeout_fault,
    "response_limit": _limit_fault,
}
