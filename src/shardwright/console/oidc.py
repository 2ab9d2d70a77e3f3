"""Sign-in by somebody else's word: OpenID Connect, the code flow with PKCE, state and nonce.

The provider, and what its claims are worth here, stand in shardwright.toml only. What it says of somebody is
believed if it is signed by one of its keys, is meant for us and for this sign-in, and is not over. Roles come
from a claim each time; there is no account here for whoever comes in like this.

A sign-in that is under way is kept by the browser that began it, sealed, and not here: strangers can begin as
many as they like, and push nobody's out.
"""

import base64
import hashlib
import hmac
import html
import json
import logging
import secrets
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any
from urllib.parse import urlencode, urlsplit

import urllib3
from fastapi import Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from .. import references
from ..clock import Clock
from ..errors import ConfigError
from . import refusals, settings
from .accounts import AccountError, check_name
from .entry import TheFront, TheGate
from .guard import Front, headers_of
from .refusals import Refusal
from .roles import Role, Roles
from .routing import PREFIX, PUBLIC, Routes
from .sessions import LONGEST
from .settings import SaidOidc

log = logging.getLogger("shardwright.console")

COOKIE = "shardwright-oidc"
CALLBACK = "/oidc/callback"

#: For how many seconds a sign-in may be under way, and how many that have ended are remembered.
PATIENCE = 600.0
MOST = 10_000

#: For how many seconds the provider's answers are waited for, how large they may be, how long they are kept.
WITHIN, LARGEST, KEPT = 10.0, 1024 * 1024, 3600.0

#: How many ask the provider at a time, and for how many seconds it is left alone when it does not answer.
AT_ONCE, LEFT_ALONE = 4, 5.0

#: How far its clock may be from ours, in seconds.
LEEWAY = 60

#: Signatures by keys that only the provider has; none by a secret that is shared, and not none at all.
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]


@dataclass(frozen=True, slots=True)
class Begun:
    """A sign-in that is under way."""

    state: str
    nonce: str
    verifier: str
    back: str
    """Where the provider sends the browser back to."""
    began: float


class Provider:
    """Whoever vouches for people."""

    def __init__(self, said: SaidOidc, clock: Clock) -> None:
        self.said = said
        self._clock = clock
        self._granted = settings.checked_roles(said)
        self._http = urllib3.PoolManager(retries=False, timeout=WITHIN)
        self._lock = threading.Lock()
        self._seal = secrets.token_bytes(32)
        self._ended: dict[str, float] = {}
        self._asking = threading.BoundedSemaphore(AT_ONCE)
        self._away_until = 0.0
        self._kept: dict[str, tuple[float, Any]] = {}
        _check_issuer(said.issuer)
        if said.client_secret is not None and not references.has_any(said.client_secret):
            raise ConfigError(
                "console.oidc.client_secret: say where it is, and not what it is: "
                "${env:OIDC_SECRET} or ${file:/run/secrets/oidc}"
            )

    def begin(self, back: str) -> tuple[str, str]:
        """A new sign-in: as the browser is to keep it, and where the browser is to go."""
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        asked = {
            "response_type": "code",
            "client_id": self.said.client_id,
            "redirect_uri": back,
            "scope": self.said.scope,
            "state": state,
            "nonce": nonce,
            "code_challenge": _challenge(verifier),
            "code_challenge_method": "S256",
        }
        where = self._endpoint("authorization_endpoint")
        kept = self._sealed(Begun(state, nonce, verifier, back, self._clock.boot()))
        return kept, f"{where}{'&' if '?' in where else '?'}{urlencode(asked)}"

    def resumed(self, kept: str, state: str) -> Begun:
        """The sign-in that this browser began: another could be made to come in as somebody else. It is good
        for once, and for a while."""
        begun = self._opened(kept)
        if begun is None or not state or not hmac.compare_digest(begun.state.encode(), state.encode()):
            raise refusals.not_signed_in("this sign-in was not begun in this browser: begin it anew")
        boot = self._clock.boot()
        with self._lock:
            if boot - begun.began >= PATIENCE or begun.state in self._ended:
                raise refusals.not_signed_in("this sign-in is over: begin it anew")
            while self._ended and (len(self._ended) >= MOST or self._is_past(boot)):
                del self._ended[next(iter(self._ended))]
            self._ended[begun.state] = boot
        return begun

    def vouched(self, token: str, begun: Begun) -> tuple[str, Roles]:
        """Who it is, by an ID token, and what they may do."""
        claims = self._claims(token)
        if not hmac.compare_digest(str(claims.get("nonce", "")).encode(), begun.nonce.encode()):
            raise refusals.not_signed_in("what the provider says is not about this sign-in")
        user = claims.get(self.said.user_claim)
        try:
            check_name(user if isinstance(user, str) else "")
        except AccountError as error:
            raise refusals.forbidden(f"the claim {self.said.user_claim}: {error}") from None
        roles = self.roles(claims)
        if not roles:
            raise refusals.forbidden(f"{user} has no role here: ask whoever keeps shardwright.toml")
        return str(user), roles

    def roles(self, claims: Mapping[str, Any]) -> Roles:
        """What the claim is worth here: of several groups the highest role in each registry."""
        said = claims.get(self.said.role_claim, [])
        groups = [each for each in (said if isinstance(said, list) else [said]) if isinstance(each, str)]
        found: dict[str, Role] = {}
        for granted in (self._granted[group] for group in groups if group in self._granted):
            for at, role in granted.items():
                if at not in found or role.allows(found[at]):
                    found[at] = role
        return found

    def token(self, code: str, begun: Begun) -> str:
        """The ID token for a code."""
        asked = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": begun.back,
            "code_verifier": begun.verifier,
            "client_id": self.said.client_id,
        }
        headers = {"accept": "application/json", "content-type": "application/x-www-form-urlencoded"}
        if self.said.client_secret is not None:
            secret = references.resolve(self.said.client_secret, key="console.oidc.client_secret")
            login = f"{urlencode({'': self.said.client_id})[1:]}:{urlencode({'': secret})[1:]}"
            headers["authorization"] = f"Basic {base64.b64encode(login.encode()).decode()}"
        answer = self._asked("POST", self._endpoint("token_endpoint"), urlencode(asked), headers)
        token = answer.get("id_token")
        if not isinstance(token, str):
            raise refusals.not_signed_in("the provider has given no ID token")
        return token

    # -- what the provider says ---------------------------------------------------------------------

    def _claims(self, token: str) -> dict[str, Any]:
        """What an ID token says, if it is true, ours, and not over."""
        now = int(self._clock.wall().timestamp())
        registry = jwt.JWTClaimsRegistry(
            now=now,
            leeway=LEEWAY,
            iss={"essential": True, "value": self.said.issuer},
            aud={"essential": True, "value": self.said.client_id},
            sub={"essential": True},
            exp={"essential": True},
            iat={"essential": True},
        )
        try:
            claims = self._decoded(token)
            registry.validate(claims)
        except (JoseError, ValueError, KeyError, TypeError) as error:
            raise refusals.not_signed_in(
                f"the provider's ID token is not valid: {type(error).__name__}"
            ) from error
        audience = claims["aud"]
        several = isinstance(audience, list) and len(audience) > 1
        if (several or "azp" in claims) and claims.get("azp") != self.said.client_id:
            raise refusals.not_signed_in("the provider's ID token is for another")
        return claims

    def _decoded(self, token: str) -> dict[str, Any]:
        try:
            return dict(jwt.decode(token, self._keys(), algorithms=ALGORITHMS).claims)
        except (JoseError, ValueError):
            # The provider may have new keys since we looked.
            return dict(jwt.decode(token, self._keys(anew=True), algorithms=ALGORITHMS).claims)

    def _keys(self, *, anew: bool = False) -> KeySet:
        return KeySet.import_key_set(self._document(self._endpoint("jwks_uri"), anew=anew))

    def _endpoint(self, name: str) -> str:
        document = self._document(f"{self.said.issuer.rstrip('/')}/.well-known/openid-configuration")
        if document.get("issuer") != self.said.issuer:
            raise Refusal(503, "unreachable", "the provider calls itself otherwise than console.oidc.issuer")
        found = document.get(name)
        if not isinstance(found, str) or not _is_safe(found):
            raise Refusal(503, "unreachable", f"the provider names no {name} that can be used")
        return found

    def _document(self, url: str, *, anew: bool = False) -> Any:
        """What the provider has published there; asked for once in a while."""
        with self._lock:
            read, document = self._kept.get(url, (0.0, None))
        if document is not None and not anew and self._clock.boot() - read < KEPT:
            return document
        document = self._asked("GET", url, None, {"accept": "application/json"})
        with self._lock:
            self._kept[url] = (self._clock.boot(), document)
        return document

    def _asked(self, method: str, url: str, body: str | None, headers: dict[str, str]) -> Any:
        """What the provider answers. Few ask at a time, and for a moment nobody does if it is away: anybody
        can begin a sign-in, and the threads that wait are those that serve everybody."""
        if self._clock.boot() < self._away_until:
            raise Refusal(503, "unreachable", "the provider does not answer")
        if not self._asking.acquire(blocking=False):
            raise Refusal(503, "busy", "too many sign in at the moment: try again in a moment")
        try:
            answer = self._http.request(
                method, url, body=body, headers=headers, redirect=False, preload_content=False
            )
            try:
                said = answer.read(LARGEST + 1)
            finally:
                answer.release_conn()
        except urllib3.exceptions.HTTPError as error:
            self._away_until = self._clock.boot() + LEFT_ALONE
            raise Refusal(503, "unreachable", "the provider does not answer") from error
        finally:
            self._asking.release()
        if answer.status == 400 and method == "POST":
            raise refusals.not_signed_in("the provider does not take this sign-in")
        if answer.status != 200 or len(said) > LARGEST:
            raise Refusal(503, "unreachable", f"the provider answers {answer.status} where it should not")
        try:
            document = json.loads(said)
        except ValueError as error:
            raise Refusal(503, "unreachable", "the provider answers with something else than JSON") from error
        if not isinstance(document, dict):
            raise Refusal(503, "unreachable", "the provider answers with another JSON than it should")
        return document

    # -- what the browser keeps ---------------------------------------------------------------------

    def _sealed(self, begun: Begun) -> str:
        said = base64.urlsafe_b64encode(json.dumps(asdict(begun)).encode()).decode()
        return f"{said}.{self._mark(said)}"

    def _opened(self, kept: str) -> Begun | None:
        said, _, mark = kept.rpartition(".")
        if not hmac.compare_digest(self._mark(said).encode(), mark.encode()):
            return None
        return Begun(**json.loads(base64.urlsafe_b64decode(said)))

    def _mark(self, said: str) -> str:
        return hmac.new(self._seal, said.encode(), "sha256").hexdigest()

    def _is_past(self, boot: float) -> bool:
        """Whether the sign-in that ended longest ago could not be tried again any more."""
        return boot - next(iter(self._ended.values())) >= PATIENCE


def routes_of(provider: Provider) -> Routes:
    """The two routes of a sign-in by this provider."""
    routes = Routes("oidc")

    @routes.get("/oidc/login", needs=PUBLIC, response_class=RedirectResponse)
    def begin_oidc(request: Request, front: TheFront) -> Response:
        """Send the browser to the provider."""
        back = f"{front.origin(request.scope)}{front.root_path}{PREFIX}{CALLBACK}"
        try:
            kept, where = provider.begin(back)
        except Refusal as refusal:
            return _page(refusal)
        answer = RedirectResponse(where, 303)
        answer.headers["set-cookie"] = _cookie(kept, front, request, lasts=PATIENCE)
        return answer

    @routes.get(CALLBACK, needs=PUBLIC, response_class=RedirectResponse)
    def end_oidc(
        request: Request,
        gate: TheGate,
        front: TheFront,
        state: Annotated[str, Query(max_length=1000)] = "",
        code: Annotated[str, Query(max_length=10_000)] = "",
    ) -> Response:
        """Take somebody in who comes back from the provider."""
        address = request.scope["state"]["address"]
        try:
            if not code:
                raise refusals.not_signed_in("the provider has not let you in")
            begun = provider.resumed(_kept(request), state)
            token = provider.token(code, begun)
        except Refusal as refusal:
            # Not to the audit, which anybody could fill so.
            log.info("a sign-in by OpenID Connect from %s was refused: %s", address, refusal.sentence)
            return _page(refusal)
        try:
            user, roles = provider.vouched(token, begun)
            entry = gate.vouched(user, roles, address)
        except Refusal as refusal:
            gate.audit("", "login", address, f"refused: {refusal.sentence}", "by OpenID Connect")
            return _page(refusal)
        answer = RedirectResponse(f"{front.root_path}/", 303)
        answer.raw_headers += [
            (b"set-cookie", front.cookie(entry.opens, request.scope, lasts=LONGEST).encode()),
            (b"set-cookie", _cookie("", front, request, lasts=0).encode()),
        ]
        return answer

    return routes


def _kept(request: Request) -> str:
    """What the browser has kept of the sign-in that it began."""
    said = headers_of(request.scope).get("cookie", "").split(";")
    return dict(each.strip().partition("=")[::2] for each in said).get(COOKIE, "")


def _cookie(kept: str, front: Front, request: Request, *, lasts: float) -> str:
    # Lax: the browser comes back from another site, and would not bring a strict one.
    secure = "; Secure" if front.is_secure(request.scope) else ""
    path = f"{front.root_path}{PREFIX}/oidc"
    return f"{COOKIE}={kept}; Path={path}; Max-Age={lasts:.0f}; HttpOnly; SameSite=Lax{secure}"


def _page(refusal: Refusal) -> Response:
    """A refusal for somebody who looks at it in a browser."""
    said = html.escape(refusal.sentence)
    text = f'<!doctype html>\n<meta charset="utf-8">\n<title>Not signed in</title>\n<p>{said}.</p>\n'
    return HTMLResponse(f'{text}<p><a href="../../">Back</a></p>\n', refusal.status)


def _check_issuer(issuer: str) -> None:
    if not _is_safe(issuer):
        raise ConfigError("console.oidc.issuer: it begins with https://")


def _is_safe(url: str) -> bool:
    """Whether nobody on the way could read or change what is sent there."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    local = parts.hostname in ("localhost", "127.0.0.1", "::1")
    return bool(parts.hostname) and (parts.scheme == "https" or (parts.scheme == "http" and local))


def _challenge(verifier: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
