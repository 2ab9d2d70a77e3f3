"""Visiting the console in this process: the whole of it, with two registries in files, and visitors.

Calls are made of the app itself, as a server would, so that what is sent and answered is seen to the byte,
and a stream of events can be left after its beginning.
"""

import asyncio
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.types import Message, Scope

from shardwright.clock import HandClock
from shardwright.console import oidc
from shardwright.console.accounts import Accounts
from shardwright.console.app import Console, build
from shardwright.console.desk import Desk
from shardwright.console.gate import Gate
from shardwright.console.guard import COOKIE, Front
from shardwright.console.roles import Role
from shardwright.console.routing import Routes
from shardwright.console.settings import Place, SaidOidc
from shardwright.console.static import Static
from shardwright.history import beside
from shardwright.ops.audit import Action
from shardwright.registry import connect

HOST = "console.example"
ORIGIN = f"http://{HOST}"
TOKEN = "the token that was printed"
PASSWORD = "correct horse battery"


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    cookies: tuple[str, ...] = ()
    """Every cookie that the browser is told of, whole."""

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def cookie(self) -> str:
        """The id of the session that the browser is given; empty where it is taken away."""
        return self.headers["set-cookie"].partition(";")[0].removeprefix(f"{COOKIE}=")


@dataclass(frozen=True)
class Caller:
    """Somebody who calls: a browser with or without a session, on the page or elsewhere."""

    house: "House"
    cookie: str = ""
    csrf: str = ""
    origin: str | None = ORIGIN
    more: Mapping[str, str] = field(default_factory=dict)
    address: str = "192.0.2.7"
    scheme: str = "http"

    def but(self, **changes: Any) -> "Caller":
        return replace(self, **changes)

    def get(self, path: str) -> Answer:
        return self.call("GET", path)

    def post(self, path: str, body: object = None) -> Answer:
        return self.call("POST", path, body)

    def patch(self, path: str, body: object) -> Answer:
        return self.call("PATCH", path, body)

    def delete(self, path: str) -> Answer:
        return self.call("DELETE", path)

    def call(self, method: str, path: str, body: object = None) -> Answer:
        data = b"" if body is None else json.dumps(body).encode()
        return self.send(method, path, [data])

    def send(self, method: str, path: str, parts: list[bytes], **headers: str) -> Answer:
        return asyncio.run(self.ask(method, path, parts, **headers))

    async def ask(self, method: str, path: str, parts: Iterable[bytes] = (b"",), **headers: str) -> Answer:
        """The same within a loop, where others call meanwhile."""
        said = {"host": HOST, "content-type": "application/json", **self.more, **headers}
        if self.cookie:
            said["cookie"] = f"{COOKIE}={self.cookie}"
        if self.csrf:
            said["x-shardwright-csrf"] = self.csrf
        if self.origin is not None and method not in ("GET", "HEAD"):
            said["origin"] = self.origin
        path, _, query = path.partition("?")
        scope: Scope = {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "scheme": self.scheme,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in said.items()],
            "client": (self.address, 4711),
            "server": (HOST, 80),
            "root_path": "",
        }
        return await _call(self.house.console, scope, list(parts))

    def sign_in(self, **wish: str) -> "Caller":
        """The same caller, signed in."""
        answer = self.post("/api/login", wish)
        assert answer.status == 200, answer.body
        return self.but(cookie=answer.cookie, csrf=answer.json["csrf"])


async def _call(app: Console, scope: Scope, parts: list[bytes]) -> Answer:
    waiting = [
        {"type": "http.request", "body": part, "more_body": number < len(parts)}
        for number, part in enumerate(parts, 1)
    ]
    started: dict[str, Any] = {}
    body: list[bytes] = []
    left = asyncio.Event()

    async def receive() -> Message:
        if waiting:
            return waiting.pop(0)
        await left.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            started.update(message)
            if (b"content-type", b"text/event-stream; charset=utf-8") in message["headers"]:
                left.set()
        else:
            body.append(message.get("body", b""))

    try:
        await app(scope, receive, send)
    except Exception:  # as a server would: what is answered is answered
        if not started:
            raise
    headers = {name.decode(): value.decode() for name, value in started["headers"]}
    cookies = tuple(value.decode() for name, value in started["headers"] if name == b"set-cookie")
    return Answer(started["status"], headers, b"".join(body), cookies)


@dataclass(frozen=True)
class House:
    """A console, and all that belongs to it."""

    console: Console
    api: FastAPI
    gate: Gate
    clock: HandClock
    audited: list[Action]

    @property
    def stranger(self) -> Caller:
        return Caller(self)

    def somebody(self, roles: Mapping[str, Role], name: str = "ann") -> Caller:
        """Somebody who has signed in with these roles."""
        opens, session = self.gate.sessions.begin(name, stamp="", address="192.0.2.7", roles=dict(roles))
        return Caller(self, opens, session.csrf)

    def with_token(self) -> Caller:
        """Somebody who has signed in with the one-time token."""
        opens, session = self.gate.sessions.begin("", stamp="", address="192.0.2.7", first=True)
        return Caller(self, opens, session.csrf)

    @property
    def admin(self) -> Caller:
        return self.somebody({"*": Role.ADMIN})


@contextmanager
def house(
    folder: Path,
    *,
    front: Front | None = None,
    token: str | None = TOKEN,
    more: tuple[Routes, ...] = (),
    page: Path | None = None,
    vouching: SaidOidc | None = None,
) -> Iterator[House]:
    """A console with the registries `main` and `other`, without an account."""
    files = {name: folder / name / "registry.db" for name in ("main", "other")}
    places = [Place(name, f"sqlite://{file}", beside(file)) for name, file in files.items()]
    for place in places:
        (folder / place.name).mkdir(mode=0o700, exist_ok=True)
        connect(place.url).close()
    clock, audited = HandClock(), list[Action]()
    front = front or Front()
    gate = Gate(
        Accounts(folder / "accounts.json", clock),
        {place.name: place.url for place in places},
        clock=clock,
        tell=audited.append,
        token=token,
        label=vouching.label if vouching else None,
    )
    if vouching is not None:
        more = (*more, oidc.routes_of(oidc.Provider(vouching, clock)))
    with Desk(places) as desk:
        api = build(gate, desk, front, version="7", more=more)
        console = Console(api, front, Static(page or folder / "no page"))
        yield House(console, api, gate, clock, audited)
