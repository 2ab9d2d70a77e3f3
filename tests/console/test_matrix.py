"""Every route, for everybody, with and without what a browser has to say: read from the app itself.

Whoever adds a route finds it here, asked by everybody there can be, without a line to be added.
"""

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from fastapi import APIRouter, FastAPI
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Message

from shardwright.clock import HandClock
from shardwright.console import oidc, routing
from shardwright.console.accounts import Accounts
from shardwright.console.app import Console, build
from shardwright.console.desk import Desk
from shardwright.console.gate import Gate
from shardwright.console.guard import Front
from shardwright.console.roles import Role
from shardwright.console.routing import PUBLIC, SIGNED_IN, Route, Routes, Unguarded
from shardwright.console.settings import SaidOidc
from shardwright.console.static import Static

from .visiting import Answer, Caller, House, house

#: Whom there can be, as their roles. None has no session; the word has the one-time token.
PEOPLE: dict[str, Mapping[str, Role] | str | None] = {
    "nobody": None,
    "somebody with the token": "token",
    **{f"{role} of main": {"main": role} for role in Role},
    **{f"{role} of all": {"*": role} for role in Role},
    "admin of other only": {"other": Role.ADMIN},
    "viewer of main, admin of other": {"main": Role.VIEWER, "other": Role.ADMIN},
    "viewer of all, operator of main": {"*": Role.VIEWER, "main": Role.OPERATOR},
}

FILLED = {"registry": "main", "name": "nobody", "key": "none", "address": "192.0.2.1", "service": "none:1"}


#: A provider at which nobody listens: who may call on it is asked here, and not what it says.
VOUCHING = SaidOidc(issuer="http://127.0.0.1:9", client_id="x", roles={"sre": {"*": "admin"}})


def an_app(folder: Path, *more: Routes) -> FastAPI:
    gate = Gate(Accounts(folder / "accounts.json", HandClock()), {})
    return build(gate, Desk(()), more=(*more, oidc.routes_of(oidc.Provider(VOUCHING, HandClock()))))


def routes() -> list[Route]:
    return routing.declared(an_app(Path("/nowhere")))


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house(tmp_path_factory.mktemp("console"), vouching=VOUCHING) as opened:
        yield opened


def caller(here: House, roles: Mapping[str, Role] | str | None) -> Caller:
    if roles is None:
        return here.stranger
    return here.with_token() if isinstance(roles, str) else here.somebody(roles)


def path_of(route: Route) -> str:
    path = routing.PREFIX + route.path
    for name in [part[1:-1].partition(":")[0] for part in path.split("/") if part.startswith("{")]:
        path = path.replace("{" + name + "}", FILLED.get(name, "nothing"))
    return path


def expected(route: Route, roles: Mapping[str, Role] | str | None) -> int | None:
    """How somebody is turned away; None for whoever is let in. Said anew, and not asked of the code."""
    if route.needs is PUBLIC:
        return None
    if roles is None:
        return 401
    if isinstance(roles, str):
        return None if str(route) == "POST /api/users" else 403
    if route.needs is SIGNED_IN:
        return None
    ranks = list(Role)
    if "{registry}" in route.path:
        held = [ranks.index(roles[at]) for at in ("main", "*") if at in roles]
        if not held:
            return 404
    else:
        held = [ranks.index(roles["*"])] if "*" in roles else [-1]
    assert isinstance(route.needs, Role)
    return None if max(held) >= ranks.index(route.needs) else 403


def turned_away(answer: Answer) -> int | None:
    """How somebody was turned away at the gate, if they were."""
    if answer.headers["content-type"] != "application/json":
        return None
    if answer.status in (401, 403):
        return answer.status
    if answer.status == 404 and answer.json["error"].startswith("there is no registry"):
        return 404
    return None


@pytest.mark.parametrize("route", routes(), ids=str)
def test_everybody_is_let_in_or_turned_away_as_the_route_declares(here: House, route: Route) -> None:
    found, wanted = {}, {}
    for name, roles in PEOPLE.items():
        answer = caller(here, roles).call(route.method, path_of(route), {})
        assert answer.status < 500 or answer.status == 503, (name, answer.body)
        found[name], wanted[name] = turned_away(answer), expected(route, roles)
    assert found == wanted


@pytest.mark.parametrize("route", [each for each in routes() if "{registry}" in each.path], ids=str)
def test_a_registry_that_one_may_not_see_is_told_like_one_that_is_not_there(
    here: House, route: Route
) -> None:
    path = path_of(route)
    hidden = here.somebody({"other": Role.ADMIN}).call(route.method, path, {})
    missing = here.admin.call(route.method, path.replace("/r/main/", "/r/nothing/"), {})
    assert (hidden.status, hidden.json["error"]) == (404, "there is no registry 'main' here")
    assert (missing.status, missing.json["error"]) == (404, "there is no registry 'nothing' here")


CHANGING = [each for each in routes() if each.method not in ("GET", "HEAD")]


@pytest.mark.parametrize("route", CHANGING, ids=str)
def test_whatever_changes_something_is_refused_unless_the_page_itself_asks(here: House, route: Route) -> None:
    path, admin = path_of(route), here.admin
    for forged in (
        admin.but(csrf=""),
        admin.but(csrf="wrong"),
        admin.but(csrf=here.admin.csrf),
        admin.but(origin=None),
        admin.but(origin="null"),
        admin.but(origin="http://evil.example"),
        admin.but(origin="https://console.example"),
        admin.but(origin="http://console.example:8080"),
        admin.but(origin="http://console.example.evil.example"),
        admin.but(more={"sec-fetch-site": "cross-site"}),
        admin.but(more={"sec-fetch-site": "same-site"}),
    ):
        answer = forged.call(route.method, path, {})
        assert (answer.status, answer.json["kind"]) == (403, "forbidden"), forged
    told = admin.but(more={"sec-fetch-site": "same-origin"}).call(route.method, path, {})
    assert told.status != 403


@pytest.mark.parametrize("route", routes(), ids=str)
def test_no_answer_lets_another_origin_in(here: House, route: Route) -> None:
    asking = here.admin.but(more={"origin": "http://evil.example"})
    for method in (route.method, "OPTIONS"):
        answer = asking.call(method, path_of(route))
        assert not [name for name in answer.headers if name.startswith("access-control")]


def test_there_are_routes_of_every_need_so_that_this_says_something() -> None:
    needs = {route.needs for route in routes()}
    assert needs == {PUBLIC, SIGNED_IN, *Role}
    public = {str(route) for route in routes() if route.needs is PUBLIC}
    by_another = {"GET /api/oidc/login", "GET /api/oidc/callback"}
    assert public == {"GET /api/about", "POST /api/login", "POST /api/logout", *by_another}


# That an unprotected route cannot come in


def test_a_route_that_does_not_say_who_may_take_it_stops_the_app_from_starting(tmp_path: Path) -> None:
    planted = Routes("planted")

    @planted.get("/r/{registry}/secrets")
    def secrets(registry: str) -> str:
        return "all of them"

    with pytest.raises(Unguarded, match=r"GET /api/r/\{registry\}/secrets does not say who may take it"):
        an_app(tmp_path, planted)


@pytest.mark.parametrize("way", ["get", "add_api_route", "add_route", "mount", "include_router"])
def test_a_route_that_comes_in_by_another_way_stops_the_app_from_starting(tmp_path: Path, way: str) -> None:
    app = an_app(tmp_path)

    def plain(request: Request) -> PlainTextResponse:
        return PlainTextResponse("all of them")

    def secrets() -> str:
        return "all of them"

    if way == "get":
        app.get("/api/secrets")(secrets)
    elif way == "add_api_route":
        app.add_api_route("/api/secrets", secrets)
    elif way == "add_route":
        app.add_route("/api/secrets", plain)
    elif way == "mount":
        app.mount("/api/secrets", Starlette())
    else:
        router = APIRouter()
        router.add_api_route("/api/secrets", secrets)
        app.include_router(router)
    with pytest.raises(Unguarded, match="behind the gate's back"):
        routing.check(app)


def test_a_server_does_not_start_with_such_a_route(tmp_path: Path) -> None:
    app = an_app(tmp_path)
    app.add_api_route("/api/secrets", lambda: "all of them")
    front, said = Front(), list[Message]()

    async def receive() -> Message:
        return {"type": "lifespan.startup"}

    async def send(message: Message) -> None:
        said.append(message)

    asyncio.run(Console(app, front, Static(tmp_path))({"type": "lifespan"}, receive, send))
    assert [message["type"] for message in said] == ["lifespan.startup.failed"]
    assert "/api/secrets came in behind the gate's back" in said[0]["message"]
