"""What processes of their own do in the tests of the SQLite driver."""

import contextlib
import os
import signal
import sqlite3
from collections import deque
from concurrent.futures import Future

from shardwright.errors import RegistryError
from shardwright.registry import Create, Landed, Outcome, Registry, Session, State, connect


def member(url: str, path: str) -> None:
    """Hold an ephemeral node and say what happens to the session, in the order in which we are told."""
    registry = connect(url)

    def say(state: State, session: Session | None) -> None:
        print(state.value, session.id if session is not None else "", flush=True)

    registry.listener = say
    registry.wait(registry.commit(Create(path, str(os.getpid()), ephemeral=True)))
    session = registry.session()
    print("ready", session.id if session is not None else "", flush=True)
    wait_to_be_ended(registry)


def writer(url: str, name: str) -> None:
    """Create node after node, some commits always under way, and say which of them landed, and as what."""
    registry = connect(url)
    registry.wait(registry.commit(Create(f"/storm/alive/{name}", ephemeral=True)))
    print("ready", flush=True)
    underway: deque[tuple[str, Future[Outcome]]] = deque()
    n = 0
    while True:
        while len(underway) < 5:
            path = f"/storm/{name}/{n}"
            underway.append((path, registry.commit(Create(path, str(n)), Create(f"{path}/twin", str(n)))))
            n += 1
        path, future = underway.popleft()
        outcome = registry.wait(future, 60)
        if isinstance(outcome, Landed):
            print("landed", path, outcome.number, flush=True)


def holder(path: str) -> None:
    """Stay in the midst of a write."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=10)
    connection.execute("begin immediate")
    print("held", flush=True)
    signal.pause()


def forker(url: str, path: str) -> None:
    """Hold an ephemeral node, and have a forked child that lives on and tries to use the registry."""
    registry = connect(url)
    registry.wait(registry.commit(Create(path, ephemeral=True)))
    hear, told = os.pipe()
    child = os.fork()
    if child == 0:
        for name, attempt in (
            ("commit", lambda: registry.commit(Create("/from-the-child"))),
            ("read", lambda: registry.read([path])),
            ("session", registry.session),
            ("pump", registry.pump),
        ):
            try:
                attempt()
                print(f"child: {name} went through", flush=True)
            except RegistryError as error:
                print(f"child: {name}: {error}", flush=True)
        registry.close()
        os.write(told, b".")
        signal.pause()
    os.read(hear, 1)
    print("forked it", child, flush=True)
    wait_to_be_ended(registry)


def opener(url: str) -> None:
    """Open the registry, and say whether that went well."""
    registry = connect(url)
    print("open" if registry.session() is not None else "not open", flush=True)
    wait_to_be_ended(registry)


def wait_to_be_ended(registry: Registry) -> None:
    with contextlib.suppress(TimeoutError):
        registry.wait_for(lambda: False, 120)
