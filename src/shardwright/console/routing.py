"""Routes, and who may take them: nothing is open that is not said to be.

    routes = Routes("jobs")

    @routes.get("/r/{registry}/jobs", needs=Role.VIEWER)
    def jobs(visitor: Visit, registry: str) -> Jobs: ...

This is the only way to add a route. `needs` is a role, which counts for the registry in the path, or for all
of them where the path names none; or SIGNED_IN, or PUBLIC, said in so many words. An app with a route that
says nothing, or with one that came in by another way, does not start.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, TypeVar

from fastapi import Depends, FastAPI, Request, Response
from fastapi.responses import JSONResponse

from ..errors import ShardwrightError
from . import refusals, roles
from .refusals import Problem
from .roles import Role, Roles

#: Before the path of every route.
PREFIX = "/api"

Handler = TypeVar("Handler", bound=Callable[..., Any])


class Free(Enum):
    """What a route may need that is no role."""

    PUBLIC = "public"
    SIGNED_IN = "signed in"


PUBLIC = Free.PUBLIC
SIGNED_IN = Free.SIGNED_IN

Need = Role | Free


class Unguarded(ShardwrightError):
    """A route that anybody could take, because nobody has said who may."""


@dataclass(frozen=True, slots=True)
class Visitor:
    """Whoever calls, as far as this call is concerned."""

    name: str
    """The user; empty for one who has not signed in."""
    roles: Roles
    role: Role | None
    """The role in the registry of this route, or in all where it names none."""
    address: str
    """Where the call comes from."""
    session: str = ""
    """The key of the session; it opens nothing."""
    first: bool = False
    """Whether it is somebody with the one-time token, who may only make the first account."""
    lasts: Callable[[], bool] = lambda: False
    """Whether the session still lasts; asking does not prolong it."""

    @property
    def sees_all(self) -> bool:
        """Whether nothing is kept from them, in whichever registry: an admin of all of them."""
        return roles.everywhere(self.roles) is Role.ADMIN

    @property
    def who(self) -> str:
        """As the audit names them."""
        return f"{self.name or 'nobody'} (console)"


@dataclass(frozen=True, slots=True)
class Route:
    """One route as it was declared."""

    method: str
    path: str
    handler: Callable[..., Any]
    needs: Need | None
    first: bool
    """Whether whoever has the one-time token may take it while there is no account."""
    status: int
    response_class: type[Response] | None
    responses: Mapping[int | str, dict[str, Any]]
    tag: str

    @property
    def of_a_registry(self) -> bool:
        return "{registry}" in self.path

    def __str__(self) -> str:
        return f"{self.method} {PREFIX}{self.path}"


class Routes:
    """Routes that belong together, in the order they were declared."""

    def __init__(self, tag: str) -> None:
        self._tag = tag
        self._declared: list[Route] = []

    def __iter__(self) -> Iterator[Route]:
        return iter(self._declared)

    def get(
        self,
        path: str,
        *,
        needs: Need | None = None,
        response_class: type[Response] | None = None,
        responses: Mapping[int | str, dict[str, Any]] | None = None,
    ) -> Callable[[Handler], Handler]:
        return self._declare("GET", path, needs, response_class=response_class, responses=responses)

    def post(
        self, path: str, *, needs: Need | None = None, status: int = 200, first: bool = False
    ) -> Callable[[Handler], Handler]:
        return self._declare("POST", path, needs, status=status, first=first)

    def patch(self, path: str, *, needs: Need | None = None) -> Callable[[Handler], Handler]:
        return self._declare("PATCH", path, needs)

    def delete(self, path: str, *, needs: Need | None = None) -> Callable[[Handler], Handler]:
        return self._declare("DELETE", path, needs)

    def _declare(
        self,
        method: str,
        path: str,
        needs: Need | None,
        *,
        response_class: type[Response] | None = None,
        responses: Mapping[int | str, dict[str, Any]] | None = None,
        status: int = 200,
        first: bool = False,
    ) -> Callable[[Handler], Handler]:
        def declare(handler: Handler) -> Handler:
            self._declared.append(
                Route(method, path, handler, needs, first, status, response_class, responses or {}, self._tag)
            )
            return handler

        return declare


# Who may


def admitted(route: Route, caller: Visitor | None, registry: str | None, known: frozenset[str]) -> Visitor:
    """The visitor as this route is to see them, or a refusal. `caller` is whoever has a session, if anybody;
    `known` are the names of the registries there are."""
    if route.needs is PUBLIC:
        return caller or Visitor("", {}, None, "")
    if caller is None:
        raise refusals.not_signed_in()
    if caller.first:
        if not route.first:
            raise refusals.forbidden(
                "the one-time token is for making the first account, and for nothing else"
            )
        return caller
    if route.needs is SIGNED_IN:
        return caller
    assert isinstance(route.needs, Role)
    held = _held(route, caller.roles, registry, known)
    if held is None or not held.allows(route.needs):
        raise refusals.forbidden(
            f"this needs the role {route.needs}, and {caller.name} is {held or 'none'} here"
        )
    return Visitor(caller.name, caller.roles, held, caller.address, caller.session, lasts=caller.lasts)


def _held(route: Route, held: Roles, registry: str | None, known: frozenset[str]) -> Role | None:
    if not route.of_a_registry:
        return roles.everywhere(held)
    role = roles.at(held, registry or "")
    if registry not in known or role is None:
        raise refusals.no_such_registry(registry or "")
    return role


# Into an app


def visitor(request: Request) -> Visitor:
    """Whoever calls; the route's guard has let them in."""
    found = request.scope["state"]["visitor"]
    assert isinstance(found, Visitor)
    return found


#: How a handler is given its visitor.
Visit = Annotated[Visitor, Depends(visitor)]

_TROUBLES: dict[int | str, dict[str, Any]] = {
    400: {"model": Problem, "description": "It makes no sense, or cannot be done: why."},
    401: {"model": Problem, "description": "Nobody has signed in."},
    403: {"model": Problem, "description": "Not allowed."},
    404: {"model": Problem, "description": "It is not there."},
    409: {"model": Problem, "description": "Refused as things stand now."},
    413: {"model": Problem, "description": "Too much was sent."},
    429: {"model": Problem, "description": "Too many tries."},
    503: {"model": Problem, "description": "The registry or the history is out of reach."},
}


def install(app: FastAPI, every: tuple[Routes, ...]) -> None:
    """Put these routes into an app, each behind its guard. `app.state.gate` says who has a session."""
    app.state.declared = []
    for route in (each for routes in every for each in routes):
        if route.needs is None:
            raise Unguarded(f"{route} does not say who may take it: declare it with needs=, a role or PUBLIC")
        app.add_api_route(
            PREFIX + route.path,
            route.handler,
            methods=[route.method],
            # FastAPI resolves these before any other dependency and before it checks what was sent.
            dependencies=[Depends(_guard(route))],
            status_code=route.status,
            response_class=route.response_class or JSONResponse,
            responses={**_TROUBLES, **route.responses},
            tags=[route.tag],
        )
        app.state.declared.append((app.routes[-1], route))


def check(app: FastAPI) -> None:
    """Refuse an app that has a route which was not declared here."""
    ours = {id(built) for built, _ in app.state.declared}
    for route in app.routes:
        if id(route) not in ours:
            name = getattr(route, "path", repr(route))
            raise Unguarded(f"{name} came in behind the gate's back: declare it by Routes, with needs=")


def declared(app: FastAPI) -> list[Route]:
    """Every route there is, as it was declared."""
    return [route for _, route in app.state.declared]


def _guard(route: Route) -> Callable[[Request], None]:
    def guard(request: Request) -> None:
        gate = request.app.state.gate
        caller = request.scope["state"].get("caller")
        try:
            let_in = admitted(route, caller, request.path_params.get("registry"), gate.registries)
        except refusals.Refusal as refusal:
            gate.note_refusal(caller, request.scope["state"]["address"], str(route), refusal)
            raise
        request.scope["state"]["visitor"] = let_in

    return guard
