"""What processes of their own do in the tests of histories and forks."""

import os
import signal
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection, insert, select

from shardwright import forks
from shardwright.history.engine import HistoryDown
from shardwright.history.store import Store
from shardwright.history.tables import AUDIT

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def note(store: Store, who: str) -> None:
    store.audit(at=NOON, who=who, what="w", target="j")


def outlived_by_its_fork(file: str) -> None:
    """Have a forked child that opens the history itself, and close before it does."""
    store = Store(Path(file))
    note(store, "parent")
    (hear, tell), (listen, say) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        own = Store(Path(file))
        note(own, "child, early")
        os.write(tell, b".")
        os.read(listen, 1)
        for _ in range(10):
            note(own, "child, late")
        own.close()
        os._exit(0)
    os.read(hear, 1)
    store.close()
    os.write(say, b".")
    print("child ended", os.waitpid(child, 0)[1], flush=True)


def shares_what_is_open_with_its_fork(where: str) -> None:
    """Go on with a history that a forked child uses as well, as it inherited it."""
    store = Store(where)
    note(store, "parent, early")
    child = os.fork()
    if child == 0:
        for _ in range(5):
            note(store, "child")
        os._exit(0)
    for _ in range(5):
        note(store, "parent, late")
    print("child ended", os.waitpid(child, 0)[1], flush=True)
    note(store, "parent, last")
    store.close()


def forks_in_the_midst_of_writes(file: str, times: int) -> None:
    """Fork again and again while another thread is in a transaction; each child opens the history, and
    writes."""
    forks.WAIT = 60  # a disk may take its time
    store, over = Store(Path(file)), threading.Event()
    go_on, inside = threading.Event(), threading.Event()

    def act(connection: Connection) -> None:
        row = {"at": NOON, "who": "parent", "what": "w", "target": "j", "detail": "", "outcome": "done"}
        connection.execute(insert(AUDIT), row)
        inside.set()
        for _ in range(200):
            connection.scalar(select(AUDIT.c.who))

    def write() -> None:
        while go_on.wait() and not over.is_set():
            store.writing(act)

    thread = threading.Thread(target=write)
    thread.start()
    for _ in range(times):
        inside.clear()
        go_on.set()
        inside.wait()
        child = os.fork()
        if child == 0:
            own = Store(Path(file))
            note(own, "child")
            own.close()
            os._exit(0)
        go_on.clear()  # who begins again and again leaves SQLite no turn for others
        assert os.waitpid(child, 0)[1] == 0
    over.set()
    go_on.set()
    thread.join()
    store.close()
    print("all could", flush=True)


def forks_while_it_is_made(folder: str, times: int) -> None:
    """Fork again and again while another thread makes a history; each child makes one of its own."""
    forks.WAIT = 60  # a disk may take its time
    for n in range(times):
        thread = threading.Thread(target=lambda n=n: Store(Path(folder, f"parent-{n}.db")).close())
        thread.start()
        while thread.is_alive() and not list(Path(folder).glob(f"*parent-{n}.db*")):
            pass  # nothing tells when it has begun
        child = os.fork()
        if child == 0:
            own = Store(Path(folder, f"child-{n}.db"))
            note(own, "child")
            own.close()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        thread.join()
    print("all could", flush=True)


def forks_in_a_long_transaction(file: str) -> None:
    """Fork while another thread does not come out of a transaction; the child tries to open the history."""
    forks.WAIT = 0.05
    store, stands, go_on = Store(Path(file)), threading.Event(), threading.Event()

    def stand(connection: Connection) -> bool:
        stands.set()
        return go_on.wait(60)

    thread = threading.Thread(target=store.reading, args=(stand,))
    thread.start()
    stands.wait()
    child = os.fork()
    if child == 0:
        try:
            Store(Path(file))
        except HistoryDown as error:
            print("child:", error, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    go_on.set()
    thread.join()
    note(store, "parent")
    store.close()
    print("parent could", flush=True)


def is_interrupted_as_it_forks(folder: str) -> None:
    """Get a signal while a fork has some histories and waits for another, and go on with all."""
    forks.WAIT = 60
    busy = Store(Path(folder, "busy.db"))
    before = forks._all_open()
    idle = [Store(Path(folder, f"idle-{n}.db")) for n in range(7)]
    waited_for = [each for each in forks._all_open() if each not in before]
    stands, go_on = threading.Event(), threading.Event()

    def stand(connection: Connection) -> bool:
        stands.set()
        return go_on.wait(60)

    def interrupt() -> None:
        end = time.monotonic() + 1  # should the busy one come first, there is nothing to see
        while time.monotonic() < end and not any(each._inside.locked() for each in waited_for):
            time.sleep(0.001)  # nothing tells that a fork waits
        os.kill(os.getpid(), signal.SIGINT)

    threads = [threading.Thread(target=busy.reading, args=(stand,)), threading.Thread(target=interrupt)]
    threads[0].start()
    stands.wait()
    threads[1].start()
    child = os.fork()  # what a handler raises in the midst of it is printed, and the fork is made
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    go_on.set()
    for thread in threads:
        thread.join()
    for store in (busy, *idle):
        note(store, "parent")
        store.close()
    print("all could", flush=True)
