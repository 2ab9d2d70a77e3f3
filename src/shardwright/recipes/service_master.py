"""Service master: which of my replicas acts for the service?

    master = ServiceMaster("AccountService", version="1.0.0", address="192.168.99.100:9090")

    @master.only                          # runs where we are the master, returns None elsewhere
    def settle(): ...

    with master:
        ...

One of all the processes that do the same is master at any time; when it goes, in order or by `kill -9`,
another is. `master.token` grows with every change: hand it to whatever the master writes to, and let that
refuse smaller ones.
"""

import functools
import inspect
import os
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, TypeVar, cast

from ..errors import RecipeError
from ..registry import Outcome, Registry, Session
from ..registry.writes import check_path
from ..runtime import identity
from .candidacy import ROOT
from .candidate import Candidate, Told
from .participant import PATIENCE, Participant, checked_root
from .teller import Teller

F = TypeVar("F", bound=Callable[..., Any])


class Masters(Participant[Candidate]):
    """Who is master of what, kept up to date: for a process that asks and stands for nothing itself.

    `registry` is an address as for a `Scheduler`, `root` the node that everything stands below.
    """

    _service: str | None = None
    _address = ""

    def __init__(self, *, registry: str | None = None, root: str = ROOT) -> None:
        super().__init__(registry)
        self._root = checked_root(root)
        self._masters: dict[str, str] | None = None

    def masters(self) -> dict[str, str]:
        """Everybody's masters: the address by `<service>:<version>`."""
        return dict(self._masters or {})

    def master_of(self, service: str) -> str | None:
        """The address of the master of `<service>:<version>`; None where there is none."""
        return (self._masters or {}).get(service)

    def _settle(self) -> None:
        if not self._until(lambda: self._masters is not None, PATIENCE):
            raise TimeoutError(f"the registry has not told the masters within {PATIENCE:g} s")

    def _make(
        self, registry: Registry, wake: Callable[[], None], commit: Callable[..., Future[Outcome]]
    ) -> Candidate:
        return Candidate(
            registry,
            self._root,
            self._service,
            self._address,
            tell=self._whom_to_tell(),
            card=lambda: identity.new_name(identity.address()),
            wake=wake,
            commit=commit,
        )

    def _forget(self) -> None:
        pass  # what others are was true when it was told

    def _whom_to_tell(self) -> Told:
        return Told(masters=self._know, gone=self._has_gone)

    def _know(self, masters: dict[str, str]) -> None:
        def known() -> None:
            self._masters = masters

        self._tell(known)


class ServiceMaster(Masters):
    """One process that would be the master of a service.

    `address` is what others know it by, such as `host:port`; no two processes may have the same. `registry`
    and `root` are as for `Masters`.
    """

    def __init__(
        self,
        service: str,
        *,
        version: str = "1.0.0",
        address: str | None = None,
        registry: str | None = None,
        root: str = ROOT,
    ) -> None:
        super().__init__(registry=registry, root=root)
        self._service = f"{_name('service', service)}:{_name('version', version)}"
        self._address = _name("address", address or f"{identity.address()}:{os.getpid()}")
        self._teller = Teller(self._service)
        self._callbacks: list[Callable[[bool], object]] = []
        self._token: int | None = None
        self._session: Session | None = None
        self._refused: str | None = None
        self._settled = False

    @property
    def is_master(self) -> bool:
        """Whether we are the master, by our own clock too: also while cut off it ends in time."""
        return self.token is not None

    @property
    def token(self) -> int | None:
        """Grows with every change of master, for ever; None while we are not the master."""
        return self._token if self.lease_left > 0 else None

    @property
    def lease_left(self) -> float:
        """For how many seconds nobody else can be master, if we are; 0 otherwise."""
        session = self._session
        return max(0.0, session.lease_left()) if session is not None and self._token is not None else 0.0

    def on_change(self, callback: Callable[[bool], object]) -> Callable[[bool], object]:
        """From now on have this called with True when we become master and with False when we are no longer:
        one call after the other, in a thread of its own."""
        self._callbacks.append(callback)
        return callback

    def only(self, function: F) -> F:
        """A function, or a coroutine function, that runs where we are the master and returns None at once
        elsewhere."""
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def soon(*args: object, **options: object) -> object:
                return await function(*args, **options) if self.is_master else None

            return cast(F, soon)

        @functools.wraps(function)
        def now(*args: object, **options: object) -> object:
            return function(*args, **options) if self.is_master else None

        return cast(F, now)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until we are the master; whether we are. False also when somebody stops us meanwhile."""
        self._check_runs()
        self._until(lambda: self._out or self._token is not None, timeout)
        return self.is_master

    def resign(self) -> None:
        """Give mastership up and let others go first."""
        self._post(lambda candidate: candidate.resign())

    def stop(self, within: float = 10.0) -> None:
        end = time.monotonic() + within
        super().stop(within)
        self._teller.stop(max(0.0, end - time.monotonic()))

    def _settle(self) -> None:
        if not self._until(lambda: self._settled or self._refused is not None, PATIENCE):
            raise TimeoutError(
                f"{self._service}: not a candidate within {PATIENCE:g} s: the log says what the registry did"
            )
        if self._refused is not None:
            raise RecipeError(self._refused)

    def _make(
        self, registry: Registry, wake: Callable[[], None], commit: Callable[..., Future[Outcome]]
    ) -> Candidate:
        candidate = super()._make(registry, wake, commit)
        candidate.local = replace(candidate.local, announced=self._settled)
        return candidate

    def _forget(self) -> None:
        self._be(None, None)
        self._settled, self._refused = False, None

    def _whom_to_tell(self) -> Told:
        self._be(None, None)  # whoever was there before has failed
        return replace(super()._whom_to_tell(), mastership=self._be, settled=self._is_settled)

    def _is_settled(self, why: str | None) -> None:
        def settled() -> None:
            self._settled, self._refused = why is None, why

        self._tell(settled)

    def _be(self, token: int | None, session: Session | None) -> None:
        def been() -> None:
            now = None if self._out else token
            changed = (self._token is None) != (now is None)
            self._token, self._session = now, session
            for callback in self._callbacks if changed else ():
                self._teller.tell(functools.partial(callback, now is not None))

        self._tell(been)


def _name(what: str, text: str) -> str:
    """A text that can be a node's name."""
    if not text or not isinstance(text, str):
        raise RecipeError(f"the {what} is a text that is not empty, not {text!r}")
    if "/" in text:
        raise RecipeError(f"the {what} {text!r} has a slash in it, which no node's name may have")
    try:
        check_path(f"/{text}")
    except ValueError as error:
        raise RecipeError(f"the {what} {text!r} cannot be a node's name: {error}") from None
    return text
