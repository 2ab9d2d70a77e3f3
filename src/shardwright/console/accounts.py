"""Accounts: who may sign in, and with which roles. They are kept in one JSON file that only its owner reads.

A password is kept as its scrypt hash. Whoever names a user that is not there waits as long for the answer as
one who names one that is. The file is read anew when somebody else has written it, as the command line does.
"""

import base64
import contextlib
import fcntl
import hashlib
import hmac
import json
import os
import re
import secrets
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from ..clock import Clock
from ..errors import ShardwrightError
from .roles import EVERYWHERE, Role, Roles

#: Where they are if nobody says otherwise: in the working folder, as the registry in a file is.
FILE = "shardwright-console.json"

SHORTEST_PASSWORD, LONGEST_PASSWORD = 12, 1024
MOST_ACCOUNTS = 10_000

#: What scrypt costs: about 32 MiB and a tenth of a second.
COST = {"n": 2**15, "r": 8, "p": 1}

#: How many passwords are compared at a time, and for how many seconds others wait for that.
AT_ONCE, IN_LINE = 4, 5.0

_MEMORY = 64 * 1024 * 1024
_FORMAT = 1
_LARGEST = 16 * 1024 * 1024

_NAME = re.compile(r"[\w][\w.@+-]{0,99}")
_REGISTRY = re.compile(r"\*|[\w][\w.-]{0,99}")

Answer = TypeVar("Answer")


class AccountError(ShardwrightError, ValueError):
    """An account that cannot be, or is not there: what to do instead."""


class UnknownAccount(AccountError):
    """There is none of that name."""


class TooMany(ShardwrightError):
    """More want to sign in than can be served now."""


class AccountsFileError(ShardwrightError):
    """The file of accounts cannot be used: why, and what to do."""


@dataclass(frozen=True, slots=True)
class Account:
    """Somebody who may sign in."""

    name: str
    password: str
    """Its hash, with the salt and what it cost."""
    roles: Roles
    created: datetime

    @property
    def stamp(self) -> str:
        """Another one as soon as the password or a role is: sessions that were begun before end then."""
        said = json.dumps([self.name, self.password, dict(sorted(self.roles.items())), str(self.created)])
        return hashlib.sha256(said.encode()).hexdigest()

    def __repr__(self) -> str:
        return f"Account({self.name!r}, roles={dict(self.roles)!r})"


class Accounts:
    """The accounts in a file. Calls come from many threads, and other processes write it, too."""

    def __init__(self, file: Path, clock: Clock) -> None:
        self.file = file
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: tuple[int, int, int] | None = None
        self._known: dict[str, Account] = {}
        self._hashing = threading.BoundedSemaphore(AT_ONCE)
        self._nobody = hashed(secrets.token_urlsafe(32))

    # -- questions ----------------------------------------------------------------------------------

    def all(self) -> list[Account]:
        return sorted(self._read().values(), key=lambda account: account.name)

    def find(self, name: str) -> Account | None:
        return self._read().get(name)

    def are_none(self) -> bool:
        return not self._read()

    def check_place(self) -> None:
        """Refuse a file that could not even be made."""
        if not self.file.parent.is_dir():
            raise AccountsFileError(f"there is no folder {self.file.parent} for the accounts: make it first")
        if not os.access(self.file.parent, os.W_OK):
            raise AccountsFileError(
                f"nothing can be written into {self.file.parent}, where accounts are kept"
            )

    def verified(self, name: str, password: str) -> Account | None:
        """The account, if that is its password. A wrong user takes as long as a wrong password."""
        account = self.find(name)
        if not self._hashing.acquire(timeout=IN_LINE):
            raise TooMany("too many sign in at the moment: try again in a moment")
        try:
            is_right = matches(password, account.password if account else self._nobody)
        finally:
            self._hashing.release()
        return account if is_right else None

    # -- changes ------------------------------------------------------------------------------------

    def add(
        self, name: str, password: str, roles: Mapping[str, str], *, only_if_none: bool = False
    ) -> Account:
        """Make an account; the first one only where there is none yet."""
        check_name(name)
        check_password(password, name)
        account = Account(name, hashed(password), checked_roles(roles), self._clock.wall())

        def change(known: dict[str, Account]) -> Account:
            if only_if_none and known:
                raise AccountError("there is an account already: sign in with it")
            if name in known:
                raise AccountError(f"there is an account {name!r} already")
            if len(known) >= MOST_ACCOUNTS:
                raise AccountError(f"there are {MOST_ACCOUNTS:,} accounts, and no room for another")
            known[name] = account
            _check_admin(known)
            return account

        return self._change(change)

    def set_password(self, name: str, password: str) -> Account:
        check_password(password, name)
        return self._replace(name, password=hashed(password))

    def set_roles(self, name: str, roles: Mapping[str, str]) -> Account:
        return self._replace(name, roles=checked_roles(roles))

    def update(self, name: str, password: str | None, roles: Mapping[str, str] | None) -> Account:
        """Change the password, the roles, or both, in one go."""
        changes: dict[str, Any] = {}
        if password is not None:
            check_password(password, name)
            changes["password"] = hashed(password)
        if roles is not None:
            changes["roles"] = checked_roles(roles)
        if not changes:
            raise AccountError("nothing is to be changed: give a password, or roles")
        return self._replace(name, **changes)

    def remove(self, name: str) -> None:
        def change(known: dict[str, Account]) -> None:
            if known.pop(name, None) is None:
                raise _unknown(name)
            _check_admin(known)

        self._change(change)

    # -- inside -------------------------------------------------------------------------------------

    def _replace(self, name: str, **changes: Any) -> Account:
        def change(known: dict[str, Account]) -> Account:
            if name not in known:
                raise _unknown(name)
            known[name] = replace(known[name], **changes)
            _check_admin(known)
            return known[name]

        return self._change(change)

    def _change(self, act: Callable[[dict[str, Account]], Answer]) -> Answer:
        """Change what is known and write it, while nobody else does."""
        # Not under the lock that readers need: another process may take its time.
        with _alone(self.file):
            known = dict(self._read())
            answer = act(known)
            _write(self.file, known)
            with self._lock:
                self._seen = None
                self._current()
            return answer

    def _read(self) -> Mapping[str, Account]:
        with self._lock:
            return self._current()

    def _current(self) -> Mapping[str, Account]:
        """What the file says now; it is read only if it is another one than before."""
        try:
            found = self.file.stat()
        except FileNotFoundError:
            self._seen, self._known = None, {}
            return self._known
        except OSError as error:
            raise AccountsFileError(f"{self.file} cannot be read: {error.strerror}") from error
        mark = (found.st_ino, found.st_mtime_ns, found.st_size)
        if mark != self._seen:
            self._known = _load(self.file)
            self._seen = mark
        return self._known


# What is allowed


def check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise AccountError(
            f"{name!r} cannot be the name of a user: letters, digits and . _ @ + -, at most 100, a letter or "
            "digit first"
        )


def check_password(password: str, name: str) -> None:
    if len(password) < SHORTEST_PASSWORD:
        raise AccountError(f"a password needs at least {SHORTEST_PASSWORD} characters, and this has fewer")
    if len(password) > LONGEST_PASSWORD:
        raise AccountError(f"a password has at most {LONGEST_PASSWORD:,} characters, and this has more")
    if len(set(password)) < 4 or name.lower() in (password.lower(), password.lower()[::-1]):
        raise AccountError("this password is too easy to guess: take another")
    if not _is_text(password):
        raise AccountError("this password has half a character in it: take another")


def checked_roles(roles: Mapping[str, str]) -> Roles:
    """Roles by registry, if they make sense."""
    if not roles:
        raise AccountError('give at least one role, as {"*": "viewer"}')
    for registry in roles:
        if not _REGISTRY.fullmatch(registry):
            raise AccountError(f"{registry!r} is no name of a registry: give one, or * for all")
    try:
        return {registry: Role(role) for registry, role in roles.items()}
    except ValueError as error:
        raise AccountError(f"{error}: there are {', '.join(Role)}") from None


def _check_admin(known: Mapping[str, Account]) -> None:
    if not any(account.roles.get(EVERYWHERE) is Role.ADMIN for account in known.values()):
        raise AccountError(
            "somebody has to be admin of all registries, or nobody could make accounts any more: "
            'give another {"*": "admin"} first'
        )


def _unknown(name: str) -> UnknownAccount:
    return UnknownAccount(f"there is no account {name!r}")


# Passwords


def hashed(password: str) -> str:
    """A password as it is kept: `scrypt$n$r$p$salt$hash`."""
    salt = secrets.token_bytes(16)
    made = _scrypt(password, salt, **COST)
    return "$".join(["scrypt", *map(str, COST.values()), _text(salt), _text(made)])


def matches(password: str, kept: str) -> bool:
    _, n, r, p, salt, wanted = kept.split("$")
    if len(password) > LONGEST_PASSWORD or not _is_text(password):
        password = ""
    made = _scrypt(password, base64.b64decode(salt), n=int(n), r=int(r), p=int(p))
    return hmac.compare_digest(made, base64.b64decode(wanted))


def _scrypt(password: str, salt: bytes, *, n: int, r: int, p: int) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=n, r=r, p=p, maxmem=_MEMORY, dklen=32)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _is_text(said: str) -> bool:
    """Whether it can be encoded: JSON may hold half of a pair."""
    try:
        said.encode()
    except UnicodeEncodeError:
        return False
    return True


# The file


def _load(file: Path) -> dict[str, Account]:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise AccountsFileError(f"{file} cannot be read: {error.strerror}") from error
    try:
        _check_private(file, os.fstat(descriptor))
    except AccountsFileError:
        os.close(descriptor)
        raise
    with os.fdopen(descriptor, "rb") as opened:
        text = opened.read(_LARGEST + 1)
    try:
        return _accounts(json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise AccountsFileError(
            f"{file} is no file of accounts that this version reads ({type(error).__name__}): "
            "put a copy back, or remove it and make the accounts anew"
        ) from error


def _check_private(file: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise AccountsFileError(f"{file} is no ordinary file: name one by --accounts")
    if found.st_uid not in (os.getuid(), 0):
        raise AccountsFileError(f"{file} belongs to another user (uid {found.st_uid}): name one of your own")
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise AccountsFileError(f"{file} can be read or written by others: chmod 600 {file}")


def _accounts(said: Any) -> dict[str, Account]:
    if said["format"] != _FORMAT:
        raise ValueError("another format")
    found = [
        Account(
            each["name"],
            _checked_hash(each["password"]),
            checked_roles(each["roles"]),
            datetime.fromisoformat(each["created"]),
        )
        for each in said["accounts"]
    ]
    return {account.name: account for account in found}


def _checked_hash(kept: str) -> str:
    scheme, n, r, p, salt, wanted = kept.split("$")
    fits = scheme == "scrypt" and 128 * int(n) * int(r) * int(p) < _MEMORY
    if not fits or len(base64.b64decode(wanted)) != 32 or not base64.b64decode(salt):
        raise ValueError("no hash that we make")
    return kept


def _write(file: Path, known: Mapping[str, Account]) -> None:
    """Put the new file in the place of the old one, all at once and for good."""
    said = {
        "format": _FORMAT,
        "accounts": [
            {
                "name": account.name,
                "password": account.password,
                "roles": dict(account.roles),
                "created": account.created.isoformat(),
            }
            for account in known.values()
        ],
    }
    beside = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            json.dump(said, opened, indent=1)
            opened.flush()
            os.fsync(opened.fileno())
        beside.replace(file)
        _sync(file.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise AccountsFileError(f"{file} cannot be written: {error.strerror}") from error


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _alone(file: Path) -> Iterator[None]:
    """While nobody else changes the file: two who read, change and write it would lose one change."""
    beside = file.with_name(f".{file.name}.lock")
    try:
        descriptor = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise AccountsFileError(f"{file} cannot be written: {beside}: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
