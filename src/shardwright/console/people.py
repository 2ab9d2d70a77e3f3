"""Accounts and sessions, for whoever keeps them: the admins of all registries."""

from datetime import datetime
from typing import Annotated

from fastapi import Path
from pydantic import Field

from .accounts import Account
from .entry import Ended, TheGate
from .models import Document, Wish
from .roles import Role
from .routing import Routes, Visit

routes = Routes("people")

Password = Annotated[str, Field(max_length=10_000)]
Roles = Annotated[dict[str, str], Field(max_length=1000)]
UserName = Annotated[str, Path(min_length=1, max_length=100)]


class User(Document):
    """Somebody who may sign in."""

    name: str
    roles: dict[str, Role]
    created: datetime
    locked: bool
    """Whether they have to wait after tries that failed."""


class Users(Document):
    users: list[User]


class NewUser(Wish):
    name: Annotated[str, Field(max_length=1000)]
    password: Password
    roles: Roles


class ChangedUser(Wish):
    password: Password | None = None
    roles: Roles | None = None


class OpenSession(Document):
    """A sign-in that lasts."""

    id: str
    """To end it by; it opens nothing."""
    user: str
    address: str
    began: datetime
    expires: datetime
    own: bool
    """Whether it is the one that asks."""


class OpenSessions(Document):
    sessions: list[OpenSession]


@routes.get("/users", needs=Role.ADMIN)
def list_users(gate: TheGate) -> Users:
    locked = gate.lockout.locked()
    return Users(users=[shown(account, locked) for account in gate.accounts.all()])


@routes.post("/users", needs=Role.ADMIN, first=True)
def add_user(visitor: Visit, gate: TheGate, wish: NewUser) -> User:
    return shown(gate.add(visitor, wish.name, wish.password, wish.roles), gate.lockout.locked())


@routes.patch("/users/{name}", needs=Role.ADMIN)
def change_user(visitor: Visit, gate: TheGate, name: UserName, wish: ChangedUser) -> User:
    return shown(gate.update(visitor, name, wish.password, wish.roles), gate.lockout.locked())


@routes.delete("/users/{name}", needs=Role.ADMIN)
def remove_user(visitor: Visit, gate: TheGate, name: UserName) -> Ended:
    gate.remove(visitor, name)
    return Ended()


@routes.get("/sessions", needs=Role.ADMIN)
def list_sessions(visitor: Visit, gate: TheGate) -> OpenSessions:
    return OpenSessions(
        sessions=[
            OpenSession(
                id=each.key,
                user=each.user,
                address=each.address,
                began=each.began,
                expires=each.expires,
                own=each.key == visitor.session,
            )
            for each in gate.sessions.all()
        ]
    )


@routes.delete("/sessions/{key}", needs=Role.ADMIN)
def end_session(visitor: Visit, gate: TheGate, key: UserName) -> Ended:
    gate.end_session(visitor, key)
    return Ended()


def shown(account: Account, locked: frozenset[str]) -> User:
    return User(
        name=account.name,
        roles=dict(account.roles),
        created=account.created,
        locked=account.name in locked,
    )
