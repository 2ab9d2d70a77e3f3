"""HTTP: a run that is a call to a server, which is told of the shard in a header.

The header `shardingContext` is ElasticJob's. Java sends what is beyond ASCII in the bytes of its own file
encoding, and servers read those as Latin-1 or as UTF-8, as they like: only ASCII arrives everywhere. So the
rest goes as JSON's own `\\uXXXX`, which is the same to whoever reads the JSON.

A status from 400 on is a failure; so is being sent elsewhere unless that is allowed, and an answer that
breaks off, is too long or takes too long. Certificates are checked against the system's authorities
(`SSL_CERT_FILE` names others); no proxy is asked. Secrets, that is whatever came by reference, the query and
headers with a telling name, are in no `repr`, message or log. urllib3 reads URLs and answers; its own
connections are not used, as they resolve names themselves and log URLs.
"""

import contextlib
import html
import http.client
import json
import logging
import math
import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from urllib.parse import quote, quote_plus, unquote_plus, urljoin

from .. import references, secrets
from ..errors import ConfigError, Failed, JobError
from ..shard import Shard
from . import egress as ways
from .egress import Egress, Place

log = logging.getLogger(__name__)

WITH_DATA = ("POST", "PUT", "DELETE", "PATCH")
METHODS = ("GET", "HEAD", "OPTIONS", *WITH_DATA)
MOST_REDIRECTS = 5
TO_SPARE = 60.0

_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
_OURS = {"host", "content-length", "transfer-encoding", "connection", "shardingcontext", "content-type", "te"}
_REFERENCE = re.compile(r"\$\{(?:env|file):[^{}]*\}")
_MOVED = (301, 302, 303, 307, 308)
_BEGINNING = 200
_BLOCK = 64 * 1024


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server said."""

    status: int
    content: bytes = field(repr=False)


@dataclass(frozen=True, repr=False)
class Http:
    """A call to a server, as what is run for a shard."""

    uri: str
    method: str = "GET"
    _: KW_ONLY
    data: str | None = None
    """What is sent, in UTF-8."""
    content_type: str | None = None
    """Of the data; None: that of a form, as ElasticJob has it."""
    headers: Iterable[tuple[str, str]] | Mapping[str, str] = ()
    connect_timeout: float = 3.0
    read_timeout: float = 5.0
    """How long the server may be silent."""
    total_timeout: float | None = None
    """How long everything may take together; None: a minute more than the other two. Only the system's
    resolver is not held to it."""
    egress: Egress = Egress()  # noqa: RUF009 - frozen
    response_limit: int = 1024 * 1024
    redirects: bool = False

    def __post_init__(self) -> None:
        try:
            headers = tuple((name, value) for name, value in _pairs(self.headers))
        except (TypeError, ValueError):
            raise JobError("an HTTP job's headers are pairs of a name and a value") from None
        object.__setattr__(self, "headers", headers)
        if isinstance(self.method, str):
            object.__setattr__(self, "method", self.method.strip().upper())
        found = [f"{setting} {why}" for setting, why in _faults(vars(self))]
        if self.data and self.method in METHODS and self.method not in WITH_DATA:
            found.append(
                f"{self.method} sends no data: use one of {', '.join(WITH_DATA)}, or leave the data out"
            )
        if found:
            raise JobError(f"an HTTP job cannot be like this: {'; '.join(found)}")

    @classmethod
    def of_props(cls, props: Mapping[str, str], egress: Egress = Egress()) -> "Http":  # noqa: B008 - frozen
        """The call that ElasticJob's properties describe."""
        given = {_PROPS[key]: value for key, value in props.items() if key in _PROPS and value}
        found = [f"there is no setting {secrets.masked(key)!r:.100}" for key in _unknown(props)]
        found += [f"{key} is missing" for key in ("http.uri", "http.method") if _PROPS[key] not in given]
        settings: dict[str, object] = {
            name: _seconds(value) if name in _TIMEOUTS else value for name, value in given.items()
        }
        found += [f"{_KEYS[setting]} {why}" for setting, why in _faults(settings)]
        if found:
            raise ConfigError("; ".join(found))
        if given["method"].strip().upper() not in WITH_DATA:
            settings.pop("data", None)  # as ElasticJob does
        return cls(**settings, egress=egress)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        return f"Http({_shown_url(self.uri)!r}, {self.method!r})"

    def __call__(self, shard: Shard) -> Answer:
        """Call the server for a shard."""
        line, total = _Line(), self.total_timeout
        if total is None:
            total = self.connect_timeout + self.read_timeout + TO_SPARE
        why = ""
        with shard.on_cancel(line.cut), _alarm(total, line.cut):
            request = self._request(shard)
            try:
                answer = self._answered(line, request)
            except Failed as error:
                why = request.hidden.taken_from(str(error))
        if line.is_cut:
            # Whatever else went wrong: an answer that ends with its connection looks whole when that is cut.
            shard.raise_if_cancelled()
            why = f"it was not over after {total:g} s altogether"
        if why:
            raise Failed(f"{self.method} {_shown_url(self.uri)}: {why}")
        log.debug("%s: shard %d: the server answered %d", shard.job_name, shard.item, answer.status)
        return answer

    def _request(self, shard: Shard) -> "_Request":
        """What is sent, with what its references stand for."""
        hidden: set[str] = set()

        def found(value: str, key: str) -> str:
            def one(reference: re.Match[str]) -> str:
                secret = references.resolve(reference[0], key=key)
                hidden.add(secret)
                return secret

            return _REFERENCE.sub(one, value)

        url = found(self.uri, "http.uri")
        headers = [(name, found(value, name), value) for name, value in _pairs(self.headers)]
        for name, value, _ in headers:
            if why := _of_header_value(value):
                raise Failed(f"the header {name}, as it was found by its reference, {why}")
        data = found(self.data, "http.data").encode(errors="surrogateescape") if self.data else None
        hidden.update(value for name, value, _ in headers if secrets.looks_secret(name))
        hidden.update(_query_of(url))
        if references.has_any(self.uri):
            hidden.update(_pieces_of(url))
        is_private = {
            name for name, _, raw in headers if secrets.looks_secret(name) or references.has_any(raw)
        }
        sent = [_Header(name, value, is_private=name in is_private) for name, value, _ in headers]
        sent.append(_Header("shardingContext", _ascii(shard.sharding_context())))
        if self.content_type is not None or data is not None:
            sent.append(_Header("Content-Type", self.content_type or "application/x-www-form-urlencoded"))
        return _Request(url, self.method, tuple(sent), data, _Hidden.of(hidden))

    def _answered(self, line: "_Line", request: "_Request") -> Answer:
        """What the server says, or the one it sends us to."""
        for _ in range(MOST_REDIRECTS + 1):
            reply = self._exchanged(line, request)
            if not 300 <= reply.status < 400:
                return self._accepted(reply, request)
            if not self.redirects:
                raise Failed(
                    f"it answered {reply.status}{_pointing(reply, request)}: "
                    "give the address that is meant, or allow redirects"
                )
            request = _redirected(request, reply)
        raise Failed(f"it was sent elsewhere more than {MOST_REDIRECTS} times")

    def _accepted(self, reply: "_Reply", request: "_Request") -> Answer:
        if reply.status < 200 or reply.status >= 400:
            said = request.hidden.masked(reply.content.decode(errors="replace"), is_whole=reply.is_whole)
            raise Failed(f"it answered {reply.status}: {said[:_BEGINNING] or '(nothing)'}")
        if not reply.is_whole:
            raise Failed(f"its answer is longer than {self.response_limit:,} bytes: let it say less")
        return Answer(reply.status, reply.content)

    def _exchanged(self, line: "_Line", request: "_Request") -> "_Reply":
        """What the server at one URL says."""
        try:
            place = ways.read(request.url)
        except ValueError as error:
            raise Failed(str(error)) from None
        addresses = self.egress.addresses(place)
        try:
            with _connected(line, place, addresses, self.connect_timeout) as connection:
                connection.settimeout(self.read_timeout)
                return _exchange(connection, place, request, self.response_limit)
        except OSError as error:
            raise Failed(_told(error)) from None


# What may be said of a job


def _faults(settings: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Each setting at fault, and what is wrong with it; the setting itself, which may be a secret, is not
    repeated."""
    for setting, value in settings.items():
        if setting in _CHECKS and (why := _CHECKS[setting](value)):
            yield setting, why


def _of_uri(value: object) -> str | None:
    if not isinstance(value, str) or not value:
        return "must be a text that begins with http:// or https://"
    if references.has_any(value):
        return _of_references(value)  # the rest is seen when it is known
    try:
        ways.read(value)
    except ValueError as error:
        return f"cannot be called: {error}"
    return None


def _of_method(value: object) -> str | None:
    known = isinstance(value, str) and value.strip().upper() in METHODS
    return None if known else f"must be one of {', '.join(METHODS)}"


def _of_data(value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or re.search("[\ud800-\udfff]", value):
        return "must be a text that UTF-8 can carry"
    return _of_references(value)


def _of_content_type(value: object) -> str | None:
    return None if value is None else _of_header_value(value)


def _of_headers(value: object) -> str | None:
    for name, content in value if isinstance(value, tuple) else ():
        if not isinstance(name, str) or not _HEADER.fullmatch(name):
            return "may be named with letters, digits and - only"
        if name.lower() in _OURS:
            return f"may not have {name}, which is sent as the call needs it"
        if why := _of_header_value(content) or _of_references(content):
            return f"[{name!r}] {why}"
    return None


def _of_header_value(value: object) -> str | None:
    if isinstance(value, str) and all(" " <= each <= "~" or each == "\t" for each in value):
        return None
    return "must be a text in ASCII on one line, as a header carries nothing else"


def _of_seconds(value: object) -> str | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if is_number and 0 < float(value) <= threading.TIMEOUT_MAX:  # type: ignore[arg-type]
        return None
    return "must be a length of time above 0"


def _of_total(value: object) -> str | None:
    return None if value is None else _of_seconds(value)


def _of_limit(value: object) -> str | None:
    known = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    return None if known else "must be a number of bytes, at least 1"


def _of_references(value: str) -> str | None:
    return next(references.faults(value, key="has a fault"), None)


_CHECKS: dict[str, Callable[[object], str | None]] = {
    "uri": _of_uri,
    "method": _of_method,
    "data": _of_data,
    "content_type": _of_content_type,
    "headers": _of_headers,
    "connect_timeout": _of_seconds,
    "read_timeout": _of_seconds,
    "total_timeout": _of_total,
    "response_limit": _of_limit,
}
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


def _unknown(props: Mapping[str, str]) -> Iterator[str]:
    return (key for key in props if key.startswith("http.") and key not in _PROPS)


def _seconds(milliseconds: str) -> float | None:
    return int(milliseconds) / 1000 if re.fullmatch(r"[0-9]{1,10}", milliseconds.strip()) else None


def _pairs(headers: Iterable[tuple[str, str]] | Mapping[str, str]) -> Iterable[tuple[str, str]]:
    return headers.items() if isinstance(headers, Mapping) else headers


# What is sent, and what comes back


@dataclass(frozen=True, slots=True)
class _Header:
    name: str
    value: str
    is_private: bool = False
    """Whether it is for the first server's eyes only."""


@dataclass(frozen=True, slots=True)
class _Request:
    url: str
    method: str
    headers: tuple[_Header, ...]
    data: bytes | None
    hidden: "_Hidden"


@dataclass(frozen=True, slots=True)
class _Reply:
    status: int
    location: str | None
    content: bytes
    is_whole: bool


def _redirected(request: _Request, reply: _Reply) -> _Request:
    """What to ask where the server sent us. Another origin is told no secret."""
    if reply.location is None or reply.status not in _MOVED:
        raise Failed(f"it answered {reply.status}, and does not say where to go")
    old = ways.read(request.url)
    try:
        if not reply.location.isascii() or re.search(r"[\x00-\x20\x7f\\]", reply.location):
            raise ValueError("its address is written as none should be")
        url = urljoin(request.url, reply.location)
        new = ways.read(url)
    except ValueError as error:
        raise Failed(f"it answered {reply.status}, and where it points cannot be called: {error}") from None
    if reply.status == 303 or (reply.status in (301, 302) and request.method == "POST"):
        kept = tuple(each for each in request.headers if each.name != "Content-Type")
        method = "HEAD" if request.method == "HEAD" else "GET"
        request = replace(request, method=method, data=None, headers=kept)
    if new.origin == old.origin:
        return replace(request, url=url)
    if request.data is not None or (old.scheme, new.scheme) == ("https", "http"):
        lost = "with the data" if request.data is not None else "without encryption"
        raise Failed(f"it answered {reply.status}{_pointing(reply, request)}, where we do not go {lost}")
    return replace(request, url=url, headers=tuple(each for each in request.headers if not each.is_private))


def _exchange(connection: socket.socket, place: Place, request: _Request, limit: int) -> _Reply:
    """Ask, and hear the answer out up to a limit."""
    import urllib3

    speaker = http.client.HTTPConnection(place.host, place.port)
    speaker.auto_open = 0  # it has this connection, and makes no other
    speaker.sock = connection
    try:
        _ask(speaker, place, request)
        heard = speaker.getresponse()
        answer = urllib3.HTTPResponse(
            body=heard,
            headers=urllib3.HTTPHeaderDict(heard.headers.items()),
            status=heard.status,
            preload_content=False,
            decode_content=False,
            original_response=heard,
            request_method=request.method,
        )
        content = b""
        with contextlib.closing(answer):
            # To the end, for only there it is told whether it came too early.
            while len(content) <= limit and (more := answer.read(_BLOCK)):
                content += more
        return _Reply(heard.status, heard.headers["Location"], content[:limit], len(content) <= limit)
    except urllib3.exceptions.ReadTimeoutError:
        raise TimeoutError from None
    except (http.client.HTTPException, urllib3.exceptions.HTTPError, ValueError) as error:
        # By its name alone: what it says may repeat what was sent.
        raise Failed(f"its answer broke off or is no HTTP ({type(error).__name__})") from None
    finally:
        speaker.close()


def _ask(speaker: http.client.HTTPConnection, place: Place, request: _Request) -> None:
    speaker.putrequest(request.method, place.target, skip_host=True, skip_accept_encoding=True)
    for name, value in (("Host", place.netloc), ("User-Agent", "shardwright"), ("Connection", "close")):
        speaker.putheader(name, value)
    for header in request.headers:
        speaker.putheader(header.name, header.value)
    if request.data is not None:
        speaker.putheader("Content-Length", str(len(request.data)))
    elif request.method in ("POST", "PUT", "PATCH"):
        speaker.putheader("Content-Length", "0")  # some servers refuse those without
    with contextlib.suppress(BrokenPipeError):  # it may have answered before it heard all
        speaker.endheaders(request.data)


# The connection


class _Line:
    """The connection in use, which other threads may cut."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._handle: socket.socket | None = None
        self.is_cut = False

    def cut(self) -> None:
        with self._lock:
            self.is_cut = True
            if self._handle is not None:
                with contextlib.suppress(OSError):  # it has ended by itself
                    self._handle.shutdown(socket.SHUT_RDWR)

    @contextlib.contextmanager
    def in_use(self, connection: socket.socket) -> Iterator[None]:
        # A handle of our own: TLS takes the other over, and what is closed may be somebody else's by then.
        with connection.dup() as handle:
            with self._lock:
                if self.is_cut:
                    raise ConnectionAbortedError
                self._handle = handle
            try:
                yield
            finally:
                with self._lock:
                    self._handle = None


@contextlib.contextmanager
def _connected(
    line: _Line, place: Place, addresses: Iterable[str], timeout: float
) -> Iterator[socket.socket]:
    """A connection to the first of the addresses that takes one, and to no other."""
    failure = OSError()
    for address in addresses:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as plain, line.in_use(plain):
            plain.settimeout(timeout)
            try:
                plain.connect((address, place.port))
            except OSError as error:
                failure = error
                continue
            with _secured(plain, place) as connection:
                yield connection
            return
    raise Failed(f"no connection to {place.netloc}: {_told(failure)}")


def _secured(plain: socket.socket, place: Place) -> socket.socket:
    if place.scheme == "http":
        return plain
    return ssl.create_default_context().wrap_socket(plain, server_hostname=place.host.rstrip("."))


@contextlib.contextmanager
def _alarm(seconds: float, act: Callable[[], None]) -> Iterator[None]:
    """Have something done unless we are out of here in time."""
    timer = threading.Timer(seconds, act)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _told(error: OSError) -> str:
    """What is wrong with a connection, in a few words."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the server's certificate is not accepted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"TLS cannot be spoken with the server ({error.reason or type(error).__name__})"
    if isinstance(error, TimeoutError):
        return "the server was silent for too long"
    return (error.strerror or type(error).__name__).lower()


# What is shown


@dataclass(frozen=True, slots=True)
class _Hidden:
    """What may not be shown, longest first."""

    texts: tuple[str, ...] = field(repr=False)

    @classmethod
    def of(cls, texts: Iterable[str]) -> "_Hidden":
        words = {word for text in texts for word in (text, *text.split()) if len(word) >= 4 or word == text}
        spelt = {form for word in words if word for form in _spellings(word)}
        return cls(tuple(sorted(spelt, key=len, reverse=True)))

    def taken_from(self, text: str) -> str:
        for each in self.texts:
            text = text.replace(each, secrets.MASK)
        return text

    def masked(self, text: str, *, is_whole: bool = True) -> str:
        """What somebody else said, as people may see it, on one line."""
        text = self.taken_from(text)
        if not is_whole and self.texts:
            text = text[: -len(self.texts[0])]  # the beginning of a secret may be the end of what we have
        text = secrets.masked(text[: 20 * _BEGINNING])
        return "".join(each if each.isprintable() else " " for each in text).strip()


def _spellings(word: str) -> Iterator[str]:
    """A text as a server may give it back."""
    yield from (word, quote(word), quote(word, safe=""), quote_plus(word), html.escape(word))
    yield from (json.dumps(word)[1:-1], json.dumps(word, ensure_ascii=False)[1:-1])


def _query_of(url: str) -> Iterator[str]:
    """What is worth hiding of a query: all of it, and each value but the shortest."""
    query = url.partition("#")[0].partition("?")[2]
    values = [query, *(part.partition("=")[2] for part in query.split("&"))]
    yield from (value for value in (*values, *map(unquote_plus, values)) if len(value) >= 4)


def _pieces_of(url: str) -> Iterator[str]:
    """What is worth hiding of a URL that is a secret by itself: all but its host."""
    target = "/" + url.partition("//")[2].partition("/")[2]
    path = target.partition("?")[0]
    yield from (each for each in (url, target, path) if each != "/")
    yield from (segment for segment in path.split("/") if len(segment) >= 8)


def _pointing(reply: _Reply, request: _Request) -> str:
    if reply.location is None:
        return ""
    return f" and points to {_shown_url(request.hidden.masked(reply.location))}"


def _shown_url(url: str) -> str:
    """A URL without login and query."""
    before, mark, _ = url.partition("#")[0].partition("?")
    return secrets.masked(before)[:500] + (f"?{secrets.MASK}" if mark else "")


def _ascii(text: str) -> str:
    """JSON with nothing in it but ASCII that can be seen, and the same to whoever reads it."""
    return re.sub(r"[^ -~]", lambda found: _escaped(found[0]), text)


def _escaped(letter: str) -> str:
    halves = letter.encode("utf-16-be", "surrogatepass").hex(" ", 2).split()
    return "".join(f"\\u{half}" for half in halves)
