"""A little provider of OpenID Connect, on loopback: it publishes what it is, hands out codes, takes them back
once, with the verifier that belongs to them, and signs what it says. It can be told to lie."""

import base64
import hashlib
import hmac
import json
import secrets
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

CLIENT, SECRET = "shardwright", "the client's secret + more"


class Provider:
    """Everybody who asks is let in as `claims` say."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now
        self.key = RSAKey.generate_key(2048, {"kid": "first", "use": "sig"})
        self.published = [self.key]
        self.claims: dict[str, Any] = {"preferred_username": "ann", "groups": ["sre"]}
        self.changed: dict[str, Any] = {}
        """What is said otherwise than it is."""
        self.signs: Callable[[dict[str, Any]], str] = self.sign
        self.asked: list[str] = []
        self.is_away = False
        """Whether it breaks off without an answer whatever it is asked."""
        self.called_otherwise: str | None = None
        self._codes: dict[str, dict[str, str]] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/realm"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def sign(self, claims: dict[str, Any]) -> str:
        return jwt.encode({"alg": "RS256", "kid": self.key.kid}, claims, self.key)

    def sign_with_its_public_key(self, claims: dict[str, Any]) -> str:
        """As a shared secret: whoever takes the algorithm from the token would believe it."""
        said = ".".join(_packed(json.dumps(each).encode()) for each in ({"alg": "HS256"}, claims))
        mark = hmac.digest(self.key.as_pem(private=False), said.encode(), "sha256")
        return f"{said}.{_packed(mark)}"

    def sign_by_a_stranger(self, claims: dict[str, Any]) -> str:
        stranger = RSAKey.generate_key(2048, {"kid": "first"})
        return jwt.encode({"alg": "RS256", "kid": "first"}, claims, stranger)

    def not_sign(self, claims: dict[str, Any]) -> str:
        return ".".join([*(_packed(json.dumps(each).encode()) for each in ({"alg": "none"}, claims)), ""])

    def take_new_keys(self) -> None:
        self.key = RSAKey.generate_key(2048, {"kid": "second", "use": "sig"})
        self.published = [self.key]

    # -- what it answers ----------------------------------------------------------------------------

    def answer(self, path: str, body: str, login: str) -> tuple[int, dict[str, str], str]:
        place, query = urlsplit(path).path.removeprefix("/realm"), urlsplit(path).query
        self.asked.append(place)
        match place:
            case "/.well-known/openid-configuration":
                return 200, {}, json.dumps(self._description())
            case "/keys":
                return 200, {}, json.dumps(KeySet(list(self.published)).as_dict(private=False))
            case "/authorize":
                return self._let_in(dict(parse_qsl(query)))
            case "/token":
                return self._token({name: values[0] for name, values in parse_qs(body).items()}, login)
        return 404, {}, "{}"

    def _description(self) -> dict[str, str]:
        return {
            "issuer": self.called_otherwise or self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
        }

    def _let_in(self, asked: dict[str, str]) -> tuple[int, dict[str, str], str]:
        assert asked["response_type"] == "code"
        assert asked["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe()
        self._codes[code] = asked
        back = urlencode({"code": code, "state": asked["state"]})
        return 302, {"location": f"{asked['redirect_uri']}?{back}"}, ""

    def _token(self, asked: dict[str, str], login: str) -> tuple[int, dict[str, str], str]:
        begun = self._codes.pop(asked["code"], None)
        digest = hashlib.sha256(asked["code_verifier"].encode()).digest()
        challenge = _packed(digest)
        user, _, secret = base64.b64decode(login.removeprefix("Basic ")).decode().partition(":")
        ours = {"client": user, "secret": parse_qs(f"x={secret}")["x"][0]}
        if (
            begun is None
            or begun["code_challenge"] != challenge
            or ours != {"client": CLIENT, "secret": SECRET}
        ):
            return 400, {}, json.dumps({"error": "invalid_grant"})
        assert asked["redirect_uri"] == begun["redirect_uri"]
        now = int(self.now())
        said = {
            "iss": self.issuer,
            "aud": CLIENT,
            "sub": "4711",
            "iat": now,
            "exp": now + 300,
            "nonce": begun["nonce"],
            **self.claims,
            **self.changed,
        }
        return 200, {}, json.dumps({"id_token": self.signs({k: v for k, v in said.items() if v is not None})})


def _packed(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _handler(provider: Provider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer("")

        def do_POST(self) -> None:
            self._answer(self.rfile.read(int(self.headers["content-length"])).decode())

        def _answer(self, body: str) -> None:
            if provider.is_away:
                self.close_connection = True
                return
            status, headers, said = provider.answer(self.path, body, self.headers.get("authorization", ""))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(said.encode())))
            self.end_headers()
            self.wfile.write(said.encode())

        def log_message(self, format: str, *args: object) -> None:
            """Nobody reads it."""

    return Handler
