"""Signing in and out, and what the page has to know before that."""

from datetime import datetime
from typing import Annotated

from fastapi import Depends, Request, Response
from pydantic import Field

from ..registry.url import parse
from . import refusals, roles
from .gate import Entry, Gate
from .guard import Front
from .models import Document, Wish
from .roles import EVERYWHERE, Role
from .routing import PUBLIC, SIGNED_IN, Routes, Visit
from .sessions import LONGEST
from .sessions import Session as Held

routes = Routes("entry")


def gate(request: Request) -> Gate:
    found = request.app.state.gate
    assert isinstance(found, Gate)
    return found


def front(request: Request) -> Front:
    found = request.app.state.front
    assert isinstance(found, Front)
    return found


TheGate = Annotated[Gate, Depends(gate)]
TheFront = Annotated[Front, Depends(front)]


class SeenRegistry(Document):
    """A registry that somebody may see."""

    name: str
    address: str
    """Without its secrets."""
    role: Role
    history: bool


class Session(Document):
    """Who has signed in, and what they may do."""

    user: str
    csrf: str
    """To be sent as X-Shardwright-CSRF with everything that changes something."""
    admin: bool
    """Whether they keep the accounts."""
    first: bool
    """Whether it is somebody with the one-time token, who may only make the first account."""
    expires: datetime
    """When it is over, if it is not used meanwhile."""
    registries: list[SeenRegistry]


class About(Document):
    """What the page has to know before anybody has signed in."""

    version: str
    first: bool
    """Whether there is no account yet, and the one-time token is wanted."""
    oidc: str | None
    """What to call a sign-in by somebody else's word, if there is one."""
    session: Session | None


class Login(Wish):
    """A user with a password, or the one-time token of the first start."""

    user: Annotated[str, Field(max_length=1000)] | None = None
    password: Annotated[str, Field(max_length=10_000)] | None = None
    token: Annotated[str, Field(max_length=1000)] | None = None


class NewPassword(Wish):
    old: Annotated[str, Field(max_length=10_000)]
    new: Annotated[str, Field(max_length=10_000)]


class Ended(Document):
    """It is done, and there is nothing to tell."""

    done: bool = True


@routes.get("/about", needs=PUBLIC)
def about(request: Request, gate: TheGate) -> About:
    held = request.scope["state"]["session"]
    return About(
        version=request.app.version,
        first=gate.wants_token(),
        oidc=gate.label,
        session=shown(gate, request, held) if held else None,
    )


@routes.post("/login", needs=PUBLIC)
def login(request: Request, response: Response, gate: TheGate, front: TheFront, wish: Login) -> Session:
    address = request.scope["state"]["address"]
    if wish.token is not None and wish.user is None and wish.password is None:
        entry = gate.sign_in_first(wish.token, address)
    elif wish.user is not None and wish.password is not None and wish.token is None:
        entry = gate.sign_in(wish.user, wish.password, address)
    else:
        raise refusals.invalid("sign in with a user and a password, or with the one-time token")
    # The old session, if there was one, is not carried over into the new one: its id may be known to others.
    if old := request.scope["state"]["session"]:
        gate.sessions.end(old.key)
    return opened(gate, front, request, response, entry)


@routes.post("/logout", needs=PUBLIC)
def logout(request: Request, response: Response, visitor: Visit, gate: TheGate, front: TheFront) -> Ended:
    gate.sign_out(visitor)
    response.headers["set-cookie"] = front.cookie("", request.scope, lasts=0)
    return Ended()


@routes.post("/password", needs=SIGNED_IN)
def change_password(
    request: Request, response: Response, visitor: Visit, gate: TheGate, front: TheFront, wish: NewPassword
) -> Session:
    entry = gate.change_own_password(visitor, wish.old, wish.new)
    return opened(gate, front, request, response, entry)


def opened(gate: Gate, front: Front, request: Request, response: Response, entry: Entry) -> Session:
    """Give the browser the session that has begun."""
    response.headers["set-cookie"] = front.cookie(entry.opens, request.scope, lasts=LONGEST)
    return shown(gate, request, entry.session)


def shown(gate: Gate, request: Request, held: Held) -> Session:
    caller = gate.caller(held, held.address)
    desk = request.app.state.desk
    return Session(
        user=held.user,
        csrf=held.csrf,
        admin=caller.roles.get(EVERYWHERE) is Role.ADMIN,
        first=held.first,
        expires=held.expires,
        registries=[
            SeenRegistry(name=name, address=str(parse(url)), role=role, history=desk.has_history(name))
            for name, url in gate.addresses.items()
            if (role := roles.at(caller.roles, name)) is not None
        ],
    )
