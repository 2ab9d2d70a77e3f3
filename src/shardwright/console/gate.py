"""The gate: who comes in. Accounts, sessions and lock-out together, and the audit of all that."""

import hashlib
import hmac
import logging
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from ..clock import Clock, SystemClock
from ..ops import audit
from ..ops.audit import Action, Audit
from ..ops.values import printable
from . import refusals
from .accounts import Account, AccountError, Accounts, AccountsFileError
from .lockout import Lockout
from .refusals import Refusal
from .roles import Roles
from .routing import Visitor
from .sessions import Session, Sessions

log = logging.getLogger("shardwright.console")

#: What the audit is told of people and accounts, which is not for everybody to read.
ABOUT_PEOPLE = frozenset(
    {"login", "logout", "password", "add user", "change user", "remove user", "end session", "call"}
)

#: How long a name may be that somebody claims to be called, in the audit and in lock-out.
LONGEST_NAME = 100

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Entry:
    """Somebody has signed in: the session, and the id that opens it."""

    opens: str
    session: Session


class Gate:
    """Whom to let in, as what."""

    def __init__(
        self,
        accounts: Accounts,
        registries: Mapping[str, str],
        *,
        clock: Clock | None = None,
        tell: Audit = audit.to_log,
        token: str | None = None,
        label: str | None = None,
    ) -> None:
        """`registries` are the addresses by name, `token` the one-time token while there is no account."""
        self.accounts = accounts
        self.addresses = registries
        self.registries = frozenset(registries)
        self.clock = clock or SystemClock()
        self.sessions = Sessions(self.clock)
        self.lockout = Lockout(self.clock)
        self.label = label
        """What a sign-in by somebody else's word is called, where there is one."""
        self._tell = tell
        self._closed = False
        self._token = None if token is None else _digest(token)

    # -- signing in ---------------------------------------------------------------------------------

    def sign_in(self, user: str, password: str, address: str) -> Entry:
        user = user[:LONGEST_NAME]
        with self._trying(user, address):
            account = self.accounts.verified(user, password)
            if account is None:
                self.lockout.failed(user, address)
            else:
                self.lockout.succeeded(user, address)
        if account is None:
            # What was typed as a name may have been a password.
            known = user if self.accounts.find(user) is not None else "an unknown user"
            self.audit(known, "login", address, "refused: wrong user or password")
            raise refusals.not_signed_in("the user or the password is wrong")
        return self._begin(account, address)

    def sign_in_first(self, token: str, address: str) -> Entry:
        """With the one-time token, which is for making the first account only."""
        with self._trying("", address):
            is_right = self.wants_token() and self._is_token(token)
            if not is_right:
                self.lockout.failed("", address)
        if not is_right:
            self.audit("", "login", address, "refused: wrong token")
            raise refusals.not_signed_in("this token is not valid: it was printed when the console started")
        self.audit("", "login", address, audit.DONE, "with the one-time token")
        return Entry(*self.sessions.begin("", stamp="", address=address, first=True))

    def vouched(self, user: str, roles: Roles, address: str) -> Entry:
        """Somebody for whom the provider has vouched. Not one with the name of an account: what either does
        would be told of both."""
        if self.accounts.find(user) is not None:
            raise refusals.forbidden(
                f"there is an account {user!r} here: sign in with its password, or have it removed"
            )
        self.audit(user, "login", address, audit.DONE, "by OpenID Connect")
        return Entry(*self.sessions.begin(user, stamp="", address=address, roles=roles))

    def wants_token(self) -> bool:
        return self._token is not None and self.accounts.are_none()

    def sign_out(self, visitor: Visitor) -> None:
        if self.sessions.end(visitor.session):
            self.audit(visitor.name, "logout", visitor.address, audit.DONE)

    # -- coming back --------------------------------------------------------------------------------

    def session(self, opens: str, *, prolong: bool = True) -> Session | None:
        """The session that a cookie opens, if its user may still come in. It lasts longer for that, unless
        nobody asked."""
        session = self.sessions.used(opens) if prolong else self.sessions.opened(opens)
        if session is None or self._roles(session) is not None:
            return session
        self.sessions.end(session.key)
        return None

    def caller(self, session: Session, address: str) -> Visitor:
        roles = self._roles(session) or {}
        return Visitor(
            session.user,
            roles,
            roles.get("*"),
            address,
            session.key,
            first=session.first,
            lasts=lambda: self._lasts(session.key),
        )

    def close(self) -> None:
        """Have whoever streams end: the console stops."""
        self._closed = True

    def _lasts(self, key: str) -> bool:
        if self._closed:
            return False
        session = self.sessions.find(key)
        try:
            return session is not None and self._roles(session) is not None
        except AccountsFileError as error:  # who may come in cannot be told, so nobody may
            log.error("%s", error)
            return False

    def _roles(self, session: Session) -> Roles | None:
        """What its user may do now; None where the session is over, because the account is another."""
        if session.first:
            return {} if self.accounts.are_none() else None
        if session.roles is not None:
            return session.roles
        account = self.accounts.find(session.user)
        return account.roles if account and account.stamp == session.stamp else None

    # -- accounts -----------------------------------------------------------------------------------

    def add(self, visitor: Visitor, name: str, password: str, roles: Mapping[str, str]) -> Account:
        def act() -> Account:
            account = self.accounts.add(name, password, roles, only_if_none=visitor.first)
            self._token = None
            self.sessions.end_first()
            return account

        return self._changed(visitor, "add user", name, _said(roles), act)

    def update(
        self, visitor: Visitor, name: str, password: str | None, roles: Mapping[str, str] | None
    ) -> Account:
        told = [*(["password"] if password is not None else []), *([_said(roles)] if roles else [])]

        def act() -> Account:
            account = self.accounts.update(name, password, roles)
            self.sessions.end_all_of(name)
            if password is not None:
                self.lockout.forgive(name)
            return account

        return self._changed(visitor, "change user", name, ", ".join(told), act)

    def remove(self, visitor: Visitor, name: str) -> None:
        def act() -> None:
            self.accounts.remove(name)
            self.sessions.end_all_of(name)

        self._changed(visitor, "remove user", name, "", act)

    def change_own_password(self, visitor: Visitor, old: str, new: str) -> Entry:
        """Another password for whoever calls; all their sessions end, and a new one begins."""
        session = self.sessions.find(visitor.session)
        if session is None or session.roles is not None or self.accounts.find(visitor.name) is None:
            raise refusals.invalid(
                f"{visitor.name} has no password here: it is kept by {self.label or 'another'}"
            )
        with self._trying(visitor.name, visitor.address):
            is_right = self.accounts.verified(visitor.name, old) is not None
            if not is_right:
                self.lockout.failed(visitor.name, visitor.address)
        if not is_right:
            self.audit(visitor.name, "password", visitor.name, "refused: wrong password")
            raise refusals.invalid("the old password is wrong")

        def act() -> Account:
            account = self.accounts.set_password(visitor.name, new)
            self.sessions.end_all_of(visitor.name)
            return account

        account = self._changed(visitor, "password", visitor.name, "", act)
        return Entry(*self.sessions.begin(account.name, stamp=account.stamp, address=visitor.address))

    def end_session(self, visitor: Visitor, key: str) -> None:
        session = self.sessions.find(key)
        if session is None or not self.sessions.end(key):
            raise refusals.unknown(f"there is no session {key!r}")
        self.audit(visitor.name, "end session", session.user, audit.DONE, key)

    # -- the audit ----------------------------------------------------------------------------------

    def note_refusal(self, visitor: Visitor | None, address: str, route: str, refusal: Refusal) -> None:
        """Tell of somebody who tried what they may not. One who has not signed in is nobody: telling of each
        such call would let anybody fill the audit."""
        if visitor is None or refusal.status == 401:
            log.info("%s: %s: %s", address, route, refusal.sentence)
            return
        self.audit(visitor.name, "call", route, f"refused: {refusal.sentence}", address)

    def audit(self, who: str, what: str, target: str, outcome: str, detail: str = "") -> None:
        """Note it. An audit that cannot be written hinders nobody from signing in or out, and is told."""
        assert what in ABOUT_PEOPLE, what
        somebody = f"{printable(who) or 'nobody'} (console)"
        action = Action(self.clock.wall(), somebody, what, printable(target), printable(detail), outcome)
        try:
            self._tell(action)
        except Exception as error:
            log.error("the audit could not be told of %s %s: %r", what, target, error)

    # -- inside -------------------------------------------------------------------------------------

    def _changed(
        self, visitor: Visitor, what: str, target: str, detail: str, act: Callable[[], Answer]
    ) -> Answer:
        try:
            answer = act()
        except AccountError as error:
            self.audit(visitor.name, what, target, f"refused: {error}", detail)
            raise
        self.audit(visitor.name, what, target, audit.DONE, detail)
        return answer

    def _begin(self, account: Account, address: str) -> Entry:
        self.audit(account.name, "login", address, audit.DONE)
        return Entry(*self.sessions.begin(account.name, stamp=account.stamp, address=address))

    @contextmanager
    def _trying(self, user: str, address: str) -> Iterator[None]:
        """A try, while this lasts; refused where it has to wait."""
        with self.lockout.trying(user, address) as seconds:
            if seconds:
                # Not to the audit, which anybody could fill so.
                log.info("a sign-in from %s was refused: to wait %s s", printable(address), seconds)
                raise refusals.too_early(seconds)
            yield

    def _is_token(self, token: str) -> bool:
        return self._token is not None and hmac.compare_digest(_digest(token), self._token)


def new_token() -> str:
    """A one-time token for the first start."""
    return secrets.token_urlsafe(24)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="replace")).digest()


def _said(roles: Mapping[str, str] | None) -> str:
    return ", ".join(f"{role} of {registry}" for registry, role in (roles or {}).items())
