"""What holds for every call, whichever route it takes, before any of them sees it:

where it is from     only the page itself may change anything: Origin, Sec-Fetch-Site, the CSRF token
who calls            the session that the cookie opens
how much, how long   a body of bounded size that comes within bounded time
how it is answered   headers that keep other pages away, on every answer
"""

import asyncio
import hmac
import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from . import refusals
from .accounts import AccountsFileError
from .gate import Gate
from .refusals import Refusal
from .sessions import Session

COOKIE = "shardwright-session"
CSRF = "x-shardwright-csrf"

#: Said with what the page fetches by itself, while nobody does anything there.
UNATTENDED = "x-shardwright-unattended"

#: The most that may be sent with a call, in bytes, and how long that may take, in seconds.
LARGEST_BODY = 256 * 1024
PATIENCE = 20.0

_WITH_PORT = re.compile(r"\[(?P<v6>[^\[\]]+)\](?::[0-9]+)?|(?P<v4>[0-9.]+):[0-9]+")

SAFE = {"GET", "HEAD", "OPTIONS"}

CSP = (
    "default-src 'self'; script-src 'self'; style-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'; object-src 'none'"
)
HEADERS = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}


@dataclass(frozen=True, slots=True)
class Front:
    """How the console is reached: below which path, and whether a proxy before it is believed."""

    root_path: str = ""
    """Without a slash at its end."""
    proxied: bool = False
    """Whether X-Forwarded-* are a proxy's word; otherwise they are anybody's, and ignored."""

    def origin(self, scope: Scope) -> str:
        """Scheme and host of the page as the browser sees them."""
        headers = headers_of(scope)
        host, scheme = headers.get("host", ""), scope["scheme"]
        if self.proxied:
            host = _last(headers.get("x-forwarded-host")) or host
            scheme = _last(headers.get("x-forwarded-proto")) or scheme
        return f"{scheme}://{host}".lower()

    def address(self, scope: Scope) -> str:
        """Where a call comes from."""
        client = scope.get("client")
        peer = client[0] if client else "somewhere"
        if self.proxied:
            return _without_port(_last(headers_of(scope).get("x-forwarded-for"))[:100]) or peer
        return peer

    def is_secure(self, scope: Scope) -> bool:
        return self.origin(scope).startswith("https://")

    def cookie(self, opens: str, scope: Scope, *, lasts: float) -> str:
        """The header that gives a browser its session, or takes it away (with lasts=0)."""
        secure = "; Secure" if self.is_secure(scope) else ""
        path = self.root_path + "/"
        return f"{COOKIE}={opens}; Path={path}; Max-Age={lasts:.0f}; HttpOnly; SameSite=Strict{secure}"


class Guard:
    """Stands before the API."""

    def __init__(self, app: ASGIApp, gate: Gate, front: Front) -> None:
        self._app = app
        self._gate = gate
        self._front = front

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        address = self._front.address(scope)
        state = scope.setdefault("state", {})
        try:
            session = self._session(scope)
            state["address"] = address
            state["session"] = session
            state["caller"] = self._gate.caller(session, address) if session else None
            self._check_origin(scope, session)
            receive = await _bounded(scope, receive)
        except AccountsFileError as error:
            await refusals.no_accounts(error).answer()(scope, receive, send)
            return
        except Refusal as refusal:
            await refusal.answer()(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _session(self, scope: Scope) -> Session | None:
        headers = headers_of(scope)
        opens = _cookie(headers.get("cookie", ""))
        return self._gate.session(opens, prolong=_is_attended(headers)) if opens else None

    def _check_origin(self, scope: Scope, session: Session | None) -> None:
        """Only the page itself may change anything; a form or a script on another page may not."""
        if scope["method"] in SAFE:
            return
        headers = headers_of(scope)
        if not _same_origin(headers.get("origin"), self._front.origin(scope)):
            raise refusals.forbidden(
                "this call does not come from the console's own page: its Origin has to be that of the page; "
                "behind a proxy, the console is started with --proxy"
            )
        if headers.get("sec-fetch-site", "same-origin") != "same-origin":
            raise refusals.forbidden("this call comes from another site's page")
        said = headers.get(CSRF, "")
        if session is not None and not hmac.compare_digest(said.encode(), session.csrf.encode()):
            raise refusals.forbidden("the header X-Shardwright-CSRF has to be the one of this session")


def with_headers(send: Send, extra: Mapping[str, str]) -> Send:
    """Answer with our headers; what a handler has set itself stays."""

    async def answer(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = list(message.get("headers", []))
            there = {name.lower() for name, _ in headers}
            for name, value in (HEADERS | dict(extra)).items():
                if name.encode() not in there:
                    headers.append((name.encode(), value.encode()))
            message = {**message, "headers": headers}
        await send(message)

    return answer


def headers_of(scope: Scope) -> dict[str, str]:
    """The headers of a call by name; of one that is sent twice the last counts, but for Host, Origin and
    Cookie: what we would take for one, another might take for the other."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1").lower()
        if key in ("host", "origin", CSRF, "sec-fetch-site") and key in found:
            found[key] = "sent twice"
        elif key == "cookie" and key in found:
            found[key] += "; " + value.decode("latin-1")
        else:
            found[key] = value.decode("latin-1")
    return found


def _is_attended(headers: Mapping[str, str]) -> bool:
    """Whether somebody asked for this. Browsers take up a stream again by themselves, and do not say so."""
    return UNATTENDED not in headers and "text/event-stream" not in headers.get("accept", "")


def _last(said: str | None) -> str:
    """What the proxy next to us has said: each one adds its word at the end."""
    return (said or "").split(",")[-1].strip()


def _without_port(said: str) -> str:
    """The address in what a proxy says: some of them add the port, and put IPv6 into brackets for that."""
    found = _WITH_PORT.fullmatch(said)
    if found is None:
        return said
    bare = found["v6"] or found["v4"]
    try:
        ipaddress.ip_address(bare)
    except ValueError:  # something else, for whatever it is good
        return said
    return str(bare)


def _same_origin(said: str | None, ours: str) -> bool:
    if said is None:
        return False
    try:
        theirs, own = urlsplit(said.lower()), urlsplit(ours)
        return (theirs.scheme, theirs.hostname, _port(theirs.scheme, theirs.port)) == (
            own.scheme,
            own.hostname,
            _port(own.scheme, own.port),
        ) and bool(theirs.hostname)
    except ValueError:  # no port that is one
        return False


def _port(scheme: str, port: int | None) -> int | None:
    return port or {"http": 80, "https": 443}.get(scheme)


def _cookie(said: str) -> str:
    """The id of a session in a Cookie header; of two of them neither counts."""
    found = [
        value.strip()
        for name, equals, value in (each.partition("=") for each in said.split(";"))
        if equals and name.strip() == COOKIE
    ]
    return found[0] if len(found) == 1 else ""


async def _bounded(scope: Scope, receive: Receive) -> Receive:
    """Take the body in, all of it, or refuse it; then hand it on as if it came just now."""
    if scope["method"] in SAFE:
        return receive
    announced = headers_of(scope).get("content-length", "0")
    if not announced.isdigit() or int(announced) > LARGEST_BODY:
        raise _too_large()
    try:
        async with asyncio.timeout(PATIENCE):
            body = await _taken(receive)
    except TimeoutError:
        raise Refusal(408, "invalid", f"what was sent took longer than {PATIENCE:.0f} s") from None
    handed = False

    async def again() -> Message:
        nonlocal handed
        if handed:
            return await receive()
        handed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def _taken(receive: Receive) -> bytes:
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise refusals.invalid("the call was broken off")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > LARGEST_BODY:
            raise _too_large()
        if not message.get("more_body"):
            return b"".join(parts)


def _too_large() -> Refusal:
    return refusals.invalid(f"more than {LARGEST_BODY:,} bytes were sent", 413)
