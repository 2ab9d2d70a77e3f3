"""What processes of their own do in the tests of the SQLite driver."""

import contextlib
import os
import signal
import sqlite3
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

from shardwright import forks
from shardwright.errors import RegistryError
from shardwright.registry import Create, Landed, Outcome, Registry, Session, State, connect
from shardwright.registry.sqlite import SqliteRegistry, file
from shardwright.registry.sqlite.requests import Question


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


def outlived_by_its_fork(url: str, wal: str) -> None:
    """Commit in turns with a forked child that has opened a registry of its own, and close before it does."""
    registry = connect(url)
    say_landed(registry, "/parent/before")
    ours, theirs = Line(), Line()
    child = os.fork()
    if child == 0:
        own = connect(url)
        for n in range(10):
            say_landed(own, f"/child/{n}")
            ours.tell()
            theirs.hear()
        print("closed, and the log is", "there" if Path(wal).exists() else "gone", flush=True)
        for n in range(10, 20):
            say_landed(own, f"/child/{n}")
        print("third, please", flush=True)
        input()
        say_landed(own, "/child/last")
        own.close()
        os._exit(0)
    for n in range(10):
        ours.hear()
        say_landed(registry, f"/parent/{n}")
        if n == 9:
            registry.close()
        theirs.tell()
    print("child ended", os.waitpid(child, 0)[1], flush=True)


def forker_in_the_midst_of_writes(url: str, times: int) -> None:
    """Fork again and again while the registry's thread writes: each child opens its own, and commits."""
    registry = connect(url)
    for n in range(times):
        underway = [registry.commit(Create(f"/parent/{n}-{m}", "x" * 200_000)) for m in range(4)]
        for _ in range(n % 4):
            registry.wait(underway.pop(0), 60)
        child = os.fork()
        if child == 0:
            own = connect(url, patience=30)
            say_landed(own, f"/child/{n}")
            own.close()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        for future in underway:
            assert isinstance(registry.wait(future, 60), Landed)
    print("all could", flush=True)


def forker_whose_clerk_is_stuck(url: str) -> None:
    """Fork while the registry's thread does not come out of SQLite; the child tries to open its own."""
    forks.WAIT = 0.05
    registry = connect(url)
    assert isinstance(registry, SqliteRegistry)
    stands, go_on = threading.Event(), threading.Event()

    def stand() -> int:
        stands.set()
        return int(go_on.wait(60))

    def ask(file: file.File) -> Callable[[], None]:
        file._connection.plain.create_function("stand", 0, stand)
        file._connection.row("select stand()")
        return lambda: None

    registry._clerk.put(Question(ask, lambda why: None))
    stands.wait()
    child = os.fork()
    if child == 0:
        try:
            connect(url)
        except RegistryError as error:
            print("child:", type(error).__name__, error, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    go_on.set()
    say_landed(registry, "/parent")
    registry.close()


def forker_whose_child_opens_late(url: str) -> None:
    """Fork and close; the child opens a registry of its own much later, when it is told to."""
    registry = connect(url)
    say_landed(registry, "/parent")
    child = os.fork()
    if child == 0:
        input()
        own = connect(url)
        say_landed(own, "/child")
        own.close()
        os._exit(0)
    registry.close()
    print("closed", flush=True)
    print("child ended", os.waitpid(child, 0)[1], flush=True)


class Line:
    """One process waits in it for another that was forked, or has forked it."""

    def __init__(self) -> None:
        self._hear, self._told = os.pipe()

    def tell(self) -> None:
        os.write(self._told, b".")

    def hear(self) -> None:
        os.read(self._hear, 1)


def say_landed(registry: Registry, path: str) -> None:
    outcome = registry.wait(registry.commit(Create(path)), 60)
    print("landed", path, outcome.number if isinstance(outcome, Landed) else outcome, flush=True)


def opener(url: str) -> None:
    """Open the registry, and say whether that went well."""
    registry = connect(url)
    print("open" if registry.session() is not None else "not open", flush=True)
    wait_to_be_ended(registry)


def wait_to_be_ended(registry: Registry) -> None:
    with contextlib.suppress(TimeoutError):
        registry.wait_for(lambda: False, 120)
