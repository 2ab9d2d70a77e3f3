"""Service master: which of my replicas acts for the service?

    master = ServiceMaster("AccountService", version="1.0.0", address="192.168.99.100:9090")

    @master.only                          # runs where we are the master, returns None elsewhere
    def settle(): ...

    with master:
        ...

One of all the processes that do the same is master at any time; when it goes, in order or by `kill -9`,
another is. `master.token` grows with every change: hand it to whatever the master writes to, and let that
refuse smaller ones.

The nodes stand below `root` (`/soa/master`), whatever namespace the registry's address names: give test and
production different roots, or different registries.
"""

import functools
import inspect
import os
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, ParamSpec, TypeVar, overload

from ..errors import RecipeError
from ..registry import Outcome, Registry, Session
from ..runtime import identity
from . import candidacy
from .candidacy import ROOT
from .candidate import Candidate, Told
from .checks import checked_callback, checked_name, checked_root
from .participant import Participant

P = ParamSpec("P")
R = TypeVar("R")


class Masters(Participant[Candidate]):
    """Who is master of what, kept up to date: for a process that asks and stands for nothing itself.

    `registry` is an address as for a `Scheduler`, `root` the node that everything stands below.
    """

    _service: str | None = None
    _address = ""

    def __init__(self, *, registry: str | None = None, root: str = ROOT) -> None:
        self._root = checked_root(root)
        super().__init__(self._service or root[1:], registry)

    def _be_idle(self) -> None:
        super()._be_idle()
        self._masters: dict[str, str] | None = None

    def masters(self) -> dict[str, str]:
        """Everybody's masters: the address by `<service>:<version>`."""
        self._check_runs()
        return dict(self._masters or {})

    def master_of(self, service: str) -> str | None:
        """The address of the master of `<service>:<version>`; None where there is none."""
        if ":" not in service:
            raise RecipeError(f"{service!r} is a service without its version: write '<service>:<version>'")
        return self.masters().get(service)

    def _is_settled(self) -> bool:
        return self._masters is not None

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
        self._masters = None

    def _whom_to_tell(self) -> Told:
        return Told(masters=self._if_ours(self._know), gone=self._if_ours(self._has_gone))

    def _know(self, masters: dict[str, str]) -> None:
        def known() -> None:
            self._masters = masters

        self._publish(known)


class ServiceMaster(Masters):
    """One process that would be the master of a service.

    `address` is what others know it by, such as `host:port`; no two processes may have the same. Without one
    it is this machine's IPv4 address and the process id, `192.168.99.100:4711`. `registry` and `root` are as
    for `Masters`.
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
        if ":" in checked_name("service", service):
            raise RecipeError(
                f"the service {service!r} has a colon in it: its version is said apart, by version='1.0.0'"
            )
        self._service = f"{service}:{checked_name('version', version)}"
        self._given_address = None if address is None else checked_name("address", address)
        self._callbacks: list[Callable[[bool], object]] = []
        super().__init__(registry=registry, root=root)

    def _be_idle(self) -> None:
        super()._be_idle()
        self._token: int | None = None
        self._session: Session | None = None
        self._announced = False
        self._refused: str | None = None

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
        checked_callback("what on_change is given", callback)
        self._callbacks.append(callback)
        return callback

    @overload
    def only(
        self, function: Callable[P, Coroutine[Any, Any, R]]
    ) -> Callable[P, Coroutine[Any, Any, R | None]]: ...
    @overload
    def only(self, function: Callable[P, R]) -> Callable[P, R | None]: ...

    def only(self, function: Callable[P, Any]) -> Callable[P, Any]:
        """A function, or a coroutine function, that runs where we are the master and returns None at once
        elsewhere. It is asked once, before it runs: a long one checks `is_master` again."""
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def soon(*args: P.args, **options: P.kwargs) -> object:
                return await function(*args, **options) if self.is_master else None

            return soon

        @functools.wraps(function)
        def now(*args: P.args, **options: P.kwargs) -> object:
            return function(*args, **options) if self.is_master else None

        return now

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until we are the master; whether we are. False also when somebody stops us meanwhile."""
        self._check_runs()
        self._until(lambda: self._out or self._token is not None, timeout)
        return self.is_master

    def resign(self) -> None:
        """Be master no longer, from now on, and let others go first."""
        self._check_runs()
        self._be(None, None)
        self._post(lambda candidate: candidate.resign())

    def _is_settled(self) -> bool:
        if self._refused is not None:
            raise RecipeError(self._refused)
        return self._announced and super()._is_settled()

    def _patience(self) -> float:
        """Our former self may have to be waited for."""
        timeout = self._part.timeout if self._part is not None else 0.0
        return super()._patience() + candidacy.LINGERS * timeout

    def _make(
        self, registry: Registry, wake: Callable[[], None], commit: Callable[..., Future[Outcome]]
    ) -> Candidate:
        # Not before we start: a program may be loaded, and forked after that.
        self._address = self._given_address or f"{identity.address()}:{os.getpid()}"
        candidate = super()._make(registry, wake, commit)
        candidate.local = replace(candidate.local, announced=self._announced)
        return candidate

    def _forget(self) -> None:
        super()._forget()
        self._be(None, None)
        self._announced, self._refused = False, None

    def _whom_to_tell(self) -> Told:
        self._be(None, None)  # whoever was there before has failed
        return replace(
            super()._whom_to_tell(),
            mastership=self._if_ours(self._be),
            settled=self._if_ours(self._settle),
        )

    def _settle(self, why: str | None) -> None:
        def settled() -> None:
            self._announced, self._refused = why is None, why

        self._publish(settled)

    def _be(self, token: int | None, session: Session | None) -> None:
        def been() -> None:
            changed = (self._token is None) != (token is None)
            self._token, self._session = token, session
            for callback in self._callbacks if changed else ():
                self._teller.tell("what on_change was given", functools.partial(callback, token is not None))

        self._publish(been)
