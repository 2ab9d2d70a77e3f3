"""The desk's bounds: a registry that hangs takes few of the threads that serve all, and not for long."""

import asyncio
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from shardwright.clock import HandClock
from shardwright.console import desk as desks
from shardwright.console import live
from shardwright.console.accounts import Accounts
from shardwright.console.app import Console, build
from shardwright.console.desk import Connections, Desk, Room
from shardwright.console.doors import LEFT_ALONE
from shardwright.console.gate import Gate
from shardwright.console.guard import Front
from shardwright.console.lasts import Lasts
from shardwright.console.live import Watcher
from shardwright.console.refusals import Refusal
from shardwright.console.roles import Role
from shardwright.console.settings import Place
from shardwright.console.static import Static
from shardwright.errors import Unreachable
from shardwright.history import engine
from shardwright.history.engine import HistoryDown
from shardwright.history.store import Store
from shardwright.registry import Registry, connect

from .visiting import Answer, Caller, House

#: More than the threads that serve everybody.
VERY_MANY = 45


class Hanging:
    """A registry that takes its time, and then does not answer, or does."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.clock = HandClock()
        self.asked = threading.Semaphore(0)
        self.answers = threading.Event()
        self.is_well = False
        self.times = 0

    def open(self) -> Registry:
        self.times += 1
        self.asked.release()
        assert self.answers.wait(20)
        if self.is_well:
            return connect(self.url)
        self.clock.advance(desks.PATIENCE)
        raise Unreachable("nobody answers")


@pytest.fixture
def hanging(tmp_path: Path) -> Iterator[Hanging]:
    made = Hanging(f"sqlite://{tmp_path}/registry.db")
    yield made
    made.answers.set()


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(VERY_MANY) as made:
        yield made


@pytest.fixture
def connections(hanging: Hanging) -> Iterator[Connections]:
    made = Connections(hanging.open, hanging.clock)
    yield made
    made.close()


def test_of_very_many_who_ask_a_registry_that_hangs_a_few_wait_and_the_others_are_refused_at_once(
    hanging: Hanging, connections: Connections, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desks, "PATIENCE_IN_LINE", 60.0)
    asked = [pool.submit(_told, connections) for _ in range(VERY_MANY)]
    _until(asked, VERY_MANY - desks.MOST_CONNECTIONS - desks.MOST_IN_LINE)
    assert {each.result() for each in asked if each.done()} == {"busy"}
    hanging.answers.set()
    assert {each.result(20) for each in asked} == {"busy", "nobody answers"}


def test_a_registry_that_did_not_answer_in_time_is_left_alone_for_a_while(
    hanging: Hanging, connections: Connections
) -> None:
    hanging.answers.set()
    assert [_told(connections) for _ in range(3)] == ["nobody answers"] * 3
    assert hanging.times == 1
    hanging.clock.advance(LEFT_ALONE)
    hanging.is_well = True
    assert [_told(connections) for _ in range(2)] == ["well", "well"]


def test_one_at_a_time_tries_whether_a_registry_answers_again(
    hanging: Hanging, connections: Connections, pool: ThreadPoolExecutor
) -> None:
    hanging.answers.set()
    assert _told(connections) == "nobody answers"
    hanging.clock.advance(LEFT_ALONE)
    hanging.answers.clear()
    assert hanging.asked.acquire(timeout=20)
    tries = pool.submit(_told, connections)
    assert hanging.asked.acquire(timeout=20)
    assert _told(connections) == "nobody answers"
    assert not tries.done()
    hanging.is_well = True
    hanging.answers.set()
    assert tries.result(20) == "well"
    assert _told(connections) == "well"


def test_a_registry_that_says_at_once_that_it_is_not_there_may_be_there_the_next_moment(
    tmp_path: Path,
) -> None:
    url = f"sqlite://{tmp_path}/registry.db"
    there: list[bool] = []

    def open_it() -> Registry:
        if not there:
            raise Unreachable("there is no registry")
        return connect(url)

    connections = Connections(open_it, HandClock())
    assert _told(connections) == "there is no registry"
    there.append(True)
    assert _told(connections) == "well"
    connections.close()


def test_of_very_many_who_ask_a_history_that_hangs_one_waits_for_it_and_nobody_asks_it_again_soon(
    pool: ThreadPoolExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask() -> str:
        try:
            with room.history():
                return "well"
        except HistoryDown as error:
            return str(error)

    monkeypatch.setattr(desks, "PATIENCE_IN_LINE", 0.05)
    monkeypatch.setattr(engine, "PATIENCE", 4)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        deaf.setblocking(False)
        history = f"postgresql://127.0.0.1:{deaf.getsockname()[1]}/history"
        room = Room(Place("main", f"sqlite://{tmp_path}/registry.db", history))
        asked = [pool.submit(ask) for _ in range(VERY_MANY)]
        told = Counter(each.result(20) for each in asked)
        busy = "the history is being opened, and has not answered yet: try again in a moment"
        assert told.pop(busy) == VERY_MANY - 1
        ((why, times),) = told.items()
        assert (times, ask()) == (1, why)
        assert "cannot be opened" in why
        deaf.accept()[0].close()
        with pytest.raises(BlockingIOError):
            deaf.accept()
        room.close()


def test_few_wait_for_the_first_look_at_a_registry_that_hangs(
    hanging: Hanging, pool: ThreadPoolExecutor, tmp_path: Path
) -> None:
    def look() -> str:
        try:
            watcher.picture(60)
        except Refusal as refusal:
            return refusal.kind
        except Unreachable as error:
            return str(error)
        return "seen"

    watcher = Watcher(
        "main", hanging.open, Lasts("main", lambda: Store(tmp_path / "history.db", trace=False))
    )
    watcher.start()
    asked = [pool.submit(look) for _ in range(VERY_MANY)]
    _until(asked, VERY_MANY - live.MOST_WAITING)
    assert {each.result() for each in asked if each.done()} == {"busy"}
    hanging.is_well = True
    hanging.answers.set()
    assert {each.result(20) for each in asked} == {"busy", "seen"}
    watcher.stop()


def test_while_one_registry_hangs_those_who_ask_another_are_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desks, "PATIENCE", 4.0)
    with ExitStack() as open_ones:
        deaf = open_ones.enter_context(socket.create_server(("127.0.0.1", 0)))
        dead = Place("dead", f"zookeeper://127.0.0.1:{deaf.getsockname()[1]}/prod", None)
        other = Place("other", f"sqlite://{tmp_path}/registry.db", None)
        connect(other.url).close()
        gate = Gate(Accounts(tmp_path / "accounts.json", HandClock()), {"dead": dead.url, "other": other.url})
        desk = open_ones.enter_context(Desk([dead, other]))
        api = build(gate, desk, Front(), version="7")
        console = Console(api, Front(), Static(tmp_path / "no page"))
        house = House(console, api, gate, HandClock(), [])
        ann, bob = house.somebody({"dead": Role.VIEWER}), house.somebody({"other": Role.VIEWER}, "bob")
        early, answer = asyncio.run(_while_many_ask(ann, "/api/r/dead/jobs/j", bob, "/api/r/other/jobs"))
    assert answer.status == 200
    assert {each.json["kind"] for each in early} <= {"busy"}


async def _while_many_ask(many: Caller, theirs: str, one: Caller, path: str) -> tuple[list[Answer], Answer]:
    """What the many were answered before the one was, and what the one was."""
    asked = [asyncio.create_task(many.ask("GET", theirs)) for _ in range(VERY_MANY)]
    await asyncio.sleep(0)
    answer = await one.ask("GET", path)
    early = [each.result() for each in asked if each.done()]
    await asyncio.gather(*asked)
    return early, answer


def _told(connections: Connections) -> str:
    try:
        with connections.borrowed():
            return "well"
    except Refusal as refusal:
        return refusal.kind
    except Unreachable as error:
        return str(error)


def _until(asked: list["Future[str]"], done: int) -> None:
    """Wait until so many are answered."""
    answered = threading.Semaphore(0)
    for each in asked:
        each.add_done_callback(lambda _: answered.release())
    for _ in range(done):
        assert answered.acquire(timeout=20)
